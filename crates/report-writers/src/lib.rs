#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod csv_directory;
pub mod heat_map;
mod json;
pub mod page;
mod picture;
mod report;
pub mod roofline_chart;
mod shorten;
pub mod stacked_time;
pub mod step_timeline;
pub mod terminal;
mod workbook;
mod writer;

pub use csv_directory::CsvDirectory;
pub use json::{JsonTable, write_json};
pub use picture::DrawError;
pub use report::{Report, ReportError};
pub use shorten::shortened_apart;
pub use workbook::Workbook;
pub use writer::{WRITERS, Warning, WriteError, Writer, Written, writer_by_name};
