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
pub use json::{JsonTable, write_json, write_json_line};
pub use picture::DrawError;
pub use report::{Report, ReportError};
pub use shorten::shortened_apart;
pub use workbook::Workbook;
pub use writer::{Warning, WriteError, Writer, Written};

/// Every format, in the order in which help texts list them.
pub static WRITERS: &[&dyn Writer] = &[&Workbook, &CsvDirectory];

/// The format called `name`.
#[must_use]
pub fn writer_by_name(name: &str) -> Option<&'static dyn Writer> {
    WRITERS.iter().copied().find(|writer| writer.name() == name)
}
