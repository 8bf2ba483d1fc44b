#![doc = include_str!("../README.md")]

mod analysis;
mod call_overlap;
mod call_stack;
mod charged_operators;
mod column;
mod device;
#[cfg(feature = "starlark")]
pub mod extension;
mod figures;
mod frame;
mod kernel_list;
mod kernel_records;
mod launchers;
mod models;
mod notice;
mod options;
mod places;
mod sheet;
mod sheets;
mod unified;

pub use analysis::{Analysis, Coverage};
pub use column::{Column, ColumnKind};
pub use notice::Notice;
pub use options::AnalysisOptions;
pub use sheet::{ChartShape, Sheet, SheetChart, pytorch_sheets};
