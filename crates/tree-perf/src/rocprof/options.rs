//! What an analysis of a `rocprofv3` profile is asked to do.

use std::num::NonZeroUsize;

use trace_ingest::rocprof::KernelNames;

use super::pftrace::PftraceOptions;

/// Options of an analysis and of the sheets made from it. The defaults are those of the report.
#[derive(Clone, Debug)]
pub struct RocprofOptions {
    /// Leave out the sheets `kernel_summary` and `kernel_summary_by_category`.
    pub disable_kernel_summary: bool,
    /// Add a sheet with a row per dispatch.
    pub kernel_details: bool,
    /// Add the sheets of kernels shorter than the threshold.
    pub short_kernel_study: bool,
    /// Kernels shorter than this are short, in µs.
    pub short_kernel_threshold_us: f64,
    /// Bins of the histogram of short kernels.
    pub short_kernel_histogram_bins: NonZeroUsize,
    /// Rows of `kernel_details` from the top; all when `None`.
    pub topk_kernels: Option<usize>,
    /// Which of a kernel's names stands in the sheets. Kernels with one name are one row.
    pub kernel_names: KernelNames,
    /// Figures as the reference tool prints them, for comparison, where they are known to be wrong: times in
    /// nanoseconds (or microseconds) under headers that say µs (or ms), percentages cumulated before rows are sorted,
    /// the threshold of short kernels taken as nanoseconds, communication that reduces called a reduction, and of
    /// several processes only the first.
    pub parity: bool,
    /// Options of the tables that are made of Perfetto traces; no such table when `None`.
    pub pftrace: Option<PftraceOptions>,
}

impl Default for RocprofOptions {
    fn default() -> Self {
        RocprofOptions {
            disable_kernel_summary: false,
            kernel_details: false,
            short_kernel_study: false,
            short_kernel_threshold_us: 10.0,
            short_kernel_histogram_bins: NonZeroUsize::MIN.saturating_add(99),
            topk_kernels: None,
            kernel_names: KernelNames::default(),
            parity: false,
            pftrace: None,
        }
    }
}
