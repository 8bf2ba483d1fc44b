//! The sheets of a profile: kernels, timelines, calls of libraries, copies and allocations of memory, the program's
//! ranges, launches, and hardware counters.

pub(crate) mod calls;
mod counter_metrics;
mod counters;
pub(crate) mod kernels;
mod launch_shapes;
mod markers;
mod memory;
pub(crate) mod timeline;

use operator_sheets::{iteration_groups_sheet, iterations_sheet};
use sheets::Sheet;

use crate::analysis::RocprofAnalysis;
use crate::pftrace::pftrace_sheets;

/// The sheets of a profile, in order.
pub fn rocprof_sheets<'a>() -> Vec<Sheet<'a, RocprofAnalysis>> {
    let mut sheets = vec![timeline::together()];
    sheets.extend(kernels::summary_sheets());
    sheets.push(kernels::details());
    sheets.extend(kernels::short());
    sheets.push(timeline::by_agent());
    sheets.push(iterations_sheet());
    sheets.push(iteration_groups_sheet());
    sheets.extend(records());
    sheets.extend(pftrace_sheets());
    sheets
}

/// The sheets of records that a profile may lack; a sheet without records is left out.
pub(crate) fn records<'a>() -> [Sheet<'a, RocprofAnalysis>; 8] {
    [
        calls::by_function(),
        calls::with_gpu_events(),
        memory::copies(),
        memory::allocations(),
        markers::sheet(),
        launch_shapes::sheet(),
        counters::sheet(),
        counter_metrics::sheet(),
    ]
}
