#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod compare;
mod keys;
mod names;
mod read;
mod rules;

pub use compare::{
    CompareNotice, CompareOptions, Comparison, Figures, Joined, Match, Row, Side, Status, compare,
};
pub use names::NameClasses;
pub use read::{ReadError, ReportFormat, read_report, report_format};
pub use rules::{Subject, is_compared};
