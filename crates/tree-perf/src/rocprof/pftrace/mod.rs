//! The tables that are known from Perfetto traces of `rocprofv3`, made from a profile of any format: activity of the
//! GPUs (`category_summary`, `xla_top`, `pftrace_kernel_summary`, `hip_summary`), HIP calls with their kernels
//! (`api_kernel_summary`) and memory copies by size (`memory_copy_by_copy_bytes`). They are made when
//! [`RocprofOptions::pftrace`](super::RocprofOptions::pftrace) has options for them. All times in these tables are
//! nanoseconds unless a header says otherwise.

mod api_kernel_pairs;
mod api_kernel_summary;
mod category_summary;
mod communication_overlap;
mod display_names;
mod gpu_kernels;
mod hip_summary;
mod kernel_class;
mod kernel_summary;
mod memory_copies;
mod notice;
mod options;
mod records;
#[cfg(test)]
mod tests;
mod timing_columns;
mod xla_top;

pub use notice::PftraceOmission;
pub use options::{
    HipGrouping, KernelBaseline, KernelGrouping, KernelPattern, KernelPatternError, PftraceOptions,
};
pub(super) use records::PftraceRecords;

use super::analysis::RocprofAnalysis;
use crate::sheet::Sheet;

/// The sheets, in order.
pub(super) static SHEETS: [&Sheet<RocprofAnalysis>; 6] = [
    &category_summary::SHEET,
    &xla_top::SHEET,
    &kernel_summary::SHEET,
    &hip_summary::SHEET,
    &api_kernel_summary::SHEET,
    &memory_copies::SHEET,
];
