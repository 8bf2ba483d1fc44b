//! The sheets of a profile: kernels and timelines; and what else it says of calls of libraries, copies and allocations of
//! memory, the program's ranges, launches, and what the hardware counted.

pub(crate) mod calls;
mod counter_metrics;
mod counters;
mod durations;
pub(crate) mod kernels;
mod launch_shapes;
mod markers;
mod memory;
pub(crate) mod timeline;

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
    sheets.extend(records());
    sheets.extend(pftrace_sheets());
    sheets
}

/// Those that are there when the profile has records for them.
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
