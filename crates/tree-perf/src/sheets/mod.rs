//! One module per sheet, or per sheets that share their rows: columns with what fills them, and the function that finds
//! the rows.

pub(crate) mod annotations;
pub(crate) mod coll_analysis;
pub(crate) mod concurrency;
pub(crate) mod coverage;
pub(crate) mod device_counters;
pub(crate) mod frequent_sequences;
pub(crate) mod gpu_timeline;
mod gpu_utilization;
pub(crate) mod host_ops;
pub(crate) mod idle_causes;
pub(crate) mod kernel_details;
pub(crate) mod kernel_summary;
pub(crate) mod launches;
pub(crate) mod memory;
pub(crate) mod ops_all;
pub(crate) mod ops_summary;
pub(crate) mod rooflines;
mod series;
pub(crate) mod short_kernels;
mod time_budget;
pub(crate) mod unified_perf_summary;

use operator_sheets::{iteration_groups_sheet, iterations_sheet, roofline_points_sheet, roofline_sheet};
use sheets::Sheet;

use crate::analysis::Analysis;
use crate::options::ReportLayout;

/// The sheets of the PyTorch report, in order.
pub fn pytorch_sheets<'a>() -> Vec<Sheet<'a, Analysis>> {
    sheets_of(ReportLayout::Standard)
}

/// The sheets of the report of an inference engine's trace, in order: those of the PyTorch report, but
/// normalizations have another name.
pub fn inference_sheets<'a>() -> Vec<Sheet<'a, Analysis>> {
    sheets_of(ReportLayout::Inference)
}

/// The sheets of all reports, each once, those with the same columns together.
pub fn all_sheets<'a>() -> Vec<Sheet<'a, Analysis>> {
    let mut all = pytorch_sheets();
    for (position, sheet) in inference_sheets().into_iter().enumerate() {
        if !all.iter().any(|known| known.name == sheet.name) {
            all.insert(position, sheet);
        }
    }
    all
}

/// Where the time of each device went: in the whole recording, in each iteration, and the causes of its gaps.
#[must_use]
pub fn budget_sheets<'a>() -> Vec<Sheet<'a, Analysis>> {
    vec![time_budget::sheet(), time_budget::causes_sheet()]
}

fn sheets_of<'a>(layout: ReportLayout) -> Vec<Sheet<'a, Analysis>> {
    let before = [
        gpu_timeline::sheet(),
        gpu_timeline::sheet_per_device(),
        time_budget::sheet(),
        time_budget::causes_sheet(),
        iterations_sheet(),
        iteration_groups_sheet(),
        ops_summary::sheet_by_category(),
        ops_summary::sheet(),
        host_ops::sheet(),
        ops_all::sheet(),
        ops_all::sheet_with_overlap(),
        unified_perf_summary::sheet(),
        unified_perf_summary::sheet_with_overlap(),
        coverage::sheet(),
        roofline_sheet(),
        roofline_points_sheet(
            "Rows of unified_perf_summary that have a roofline: those with FLOPs, bytes, time and a \
             reference peak of the architecture. Grouped by peak; the peaks, and the rows within each, are \
             sorted by kernel time, longest first. Omitted without an architecture.",
        ),
    ];
    let memory_and_counters = [
        memory::failures_sheet(),
        memory::summary_sheet(),
        memory::owners_sheet(),
        memory::blocks_sheet(),
        memory::timeline_sheet(),
        memory::steps_sheet(),
        device_counters::sheet(),
        device_counters::timeline_sheet(),
        device_counters::energy_sheet(),
    ];
    let after = [
        kernel_summary::sheet(),
        kernel_details::sheet(),
        short_kernels::histogram_sheet(),
        short_kernels::details_sheet(),
        time_budget::gaps_sheet(),
        gpu_utilization::sheet(),
        idle_causes::sheet(),
        idle_causes::sheet_per_stream(),
        launches::queue_length_sheet(),
        launches::queue_length_timeline_sheet(),
        launches::launch_delay_sheet(),
        launches::delay_histogram_sheet(),
        frequent_sequences::sheet(),
        concurrency::overlap_matrix_sheet(),
        concurrency::copy_bandwidth_sheet(),
        concurrency::copy_bandwidth_timeline_sheet(),
        annotations::sheet(),
        coll_analysis::sheet(),
    ];
    before.into_iter().chain(rooflines::sheets(layout)).chain(after).chain(memory_and_counters).collect()
}
