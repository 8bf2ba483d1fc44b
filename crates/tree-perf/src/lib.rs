#![doc = include_str!("../README.md")]
// A derive macro of the script host expands to `unsafe`.
#![cfg_attr(not(feature = "starlark"), forbid(unsafe_code))]

mod analysis;
mod analysis_extension;
mod call_groups;
mod call_overlap;
mod call_stack;
mod charged_operators;
mod column;
mod device;
mod extended_operators;
#[cfg(feature = "starlark")]
pub mod extension;
mod frame;
pub mod jax;
mod kernel_records;
mod launchers;
mod models;
mod notice;
mod options;
mod report;
pub mod rocprof;
mod roofline_members;
mod roofs;
mod sanity_check;
mod sheet;
mod sheets;
mod short_kernel_histogram;
mod step_annotations;
mod unified;

pub use analysis::{Analysis, Coverage};
pub use analysis_extension::{AnalysisExtension, ExtensionModel, TreeChanges};
pub use column::{Column, ColumnKind, Unit};
pub use frame::FrameBuilder;
pub use launchers::LauncherRow;
pub use notice::Notice;
pub use operator_sheets::OpCategory;
pub use operator_sheets::{Roof, RooflinePoint};
pub use options::{AnalysisOptions, ReportLayout};
pub use report::{all_sheets, inference_sheets, pytorch_sheets};
pub use sanity_check::{CountMismatch, KernelSums, SanityCheck};
pub use sheet::{ChartShape, ScatterPoints, Sheet, SheetChart};
pub use sheets::kernel_summary::{KernelRow, KernelTable};
