//! One module per sheet, or per sheets that share their rows: columns with what fills them, and the function that finds
//! the rows.

pub(crate) mod coll_analysis;
pub(crate) mod coverage;
pub(crate) mod gpu_timeline;
pub(crate) mod kernel_summary;
pub(crate) mod ops_all;
pub(crate) mod ops_summary;
pub(crate) mod rooflines;
pub(crate) mod short_kernels;
pub(crate) mod unified_perf_summary;
