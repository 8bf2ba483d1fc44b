//! The tables that are known from Perfetto traces of `rocprofv3`, made from a profile of any format: activity of the
//! GPUs (`category_summary`, `xla_top`, `pftrace_kernel_summary`, `hip_summary`), HIP calls with their kernels
//! (`api_kernel_summary`) and memory copies by size (`memory_copy_by_copy_bytes`). They are made when
//! [`RocprofOptions::pftrace`](crate::RocprofOptions::pftrace) has options for them. All times in these tables are
//! nanoseconds unless a header says otherwise.

mod activity;
pub(crate) mod gpu_kernels;
pub(crate) mod hip_launches;
mod launches;
mod summaries;

use sheets::Sheet;

use crate::analysis::RocprofAnalysis;

/// The sheets, in order.
pub(crate) fn pftrace_sheets<'a>() -> [Sheet<'a, RocprofAnalysis>; 6] {
    [
        activity::category_summary(),
        activity::xla_top(),
        summaries::kernel_summary(),
        summaries::hip_summary(),
        launches::api_kernel_summary(),
        launches::memory_copies(),
    ]
}
