#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod compare;
mod keys;
mod limit;
mod markdown;
mod names;
mod read;
mod repeated;
mod rules;
mod tables;
mod tree;
mod waterfall;

pub use compare::{
    CompareNotice, CompareOptions, Comparison, Figures, Joined, Match, Row, Side, Status, compare,
};
pub use limit::{Exceeded, Limit, NoLimit, Unknown};
pub use markdown::markdown;
pub use names::NameClasses;
pub use read::{ColumnNames, ReadError, ReportFormat, read_report, report_format};
pub use repeated::{Repeated, RepeatedPart};
pub use rules::{Subject, is_compared};
pub use tables::{TIME_CHANGE, all_comparison_sheets, comparison_sheets};
pub use tree::{
    Confidence, DiffOptions, LedgerItem, LedgerLine, Likeness, NodeKind, Relation, RepeatedWork, TreeDiff,
    UnitGroup, UnitStatus, UnitWork, device_rows_sheet, tree_diff_sheets,
};
pub use waterfall::{Step, waterfall};
