#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod conventions;
mod hta;
mod tracelens_comparison;

pub use conventions::{Conventions, hta, tracelens, tt_perf_report};
pub use hta::{Hta, hta_sheets, read_as_hta};
pub use tracelens_comparison::{ParityError, ParityNotice, ParityTables, SheetGroup, compare_as_tracelens};
