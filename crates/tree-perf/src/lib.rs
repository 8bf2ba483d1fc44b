#![doc = include_str!("../README.md")]

mod analysis;
mod call_stack;
mod column;
mod device;
mod frame;
mod kernel_list;
mod kernel_records;
mod launchers;
mod notice;
mod options;
mod sheet;
mod sheets;

pub use analysis::{Analysis, Coverage};
pub use column::{Column, ColumnKind};
pub use notice::Notice;
pub use options::AnalysisOptions;
pub use sheet::{ChartShape, PYTORCH_SHEETS, Sheet, SheetChart};
