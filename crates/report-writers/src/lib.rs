#![doc = include_str!("../README.md")]

mod cell;
mod chart;
mod csv_directory;
mod error;
mod float_text;
mod json;
mod literal;
mod palette;
mod report;
pub mod roofline_chart;
mod table;
pub mod terminal;
mod workbook;
mod writer;

pub use chart::{Chart, ChartKind, SeriesFrom};
pub use csv_directory::CsvDirectory;
pub use error::{TableError, WriteError};
pub use json::Json;
pub use report::Report;
pub use table::{CellKind, ColumnFormat, Table};
pub use workbook::Workbook;
pub use writer::{WRITERS, Warning, Writer, Written, writer_by_name};
