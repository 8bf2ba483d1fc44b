#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod cell;
mod chart;
mod csv_directory;
mod error;
mod float_text;
mod formula_guard;
mod group_columns;
mod json;
mod label_room;
mod literal;
mod palette;
mod picture;
mod report;
pub mod roofline_chart;
mod scatter;
pub mod stacked_time;
pub mod step_timeline;
mod table;
pub mod terminal;
mod workbook;
mod writer;

pub use chart::{Chart, ChartKind, SeriesFrom};
pub use csv_directory::CsvDirectory;
pub use error::{TableError, WriteError};
pub use group_columns::GroupColumns;
pub use json::Json;
pub use picture::DrawError;
pub use report::Report;
pub use scatter::{ScatterAxis, ScatterChart, ScatterPoints, ScatterWeights};
pub use table::{CellKind, ColumnFormat, Table};
pub use workbook::Workbook;
pub use writer::{WRITERS, Warning, Writer, Written, writer_by_name};
