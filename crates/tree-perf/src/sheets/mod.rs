//! One module per sheet: its columns with their meaning, and the function that makes it.

pub(crate) mod coll_analysis;
pub(crate) mod coverage;
pub(crate) mod gpu_timeline;
pub(crate) mod kernel_summary;
pub(crate) mod ops_all;
pub(crate) mod ops_summary;
pub(crate) mod ops_summary_by_category;
pub(crate) mod roofline;
pub(crate) mod rooflines;
pub(crate) mod short_kernels;
pub(crate) mod unified_perf_summary;
