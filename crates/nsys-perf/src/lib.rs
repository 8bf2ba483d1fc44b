#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod analysis;
mod finding;
mod ranges;
mod rows;
mod sheets;

pub use analysis::{NsysAnalysis, NsysOptions, Thread};
pub use finding::{NsysFinding, nsys_findings};
pub use ranges::{NvtxInstance, NvtxRanges};
pub use rows::{LaunchedKernel, OverheadSum, SyncFinding};
pub use sheets::{nsys_sheets, nsys_stats_sheets};
