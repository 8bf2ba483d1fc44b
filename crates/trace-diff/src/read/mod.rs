//! Reports that were written before: directories of CSV files, workbooks, JSON.

mod csv_directory;
mod json;
mod reader;
mod workbook;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sheets::Table;

use reader::Reader;
pub use reader::{ColumnNames, ReadError};

/// How a report is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// A directory with a CSV file per table.
    CsvDirectory,
    /// An xlsx workbook with a sheet per table.
    Workbook,
    /// The JSON document of this workspace's reports.
    Json,
}

/// The format of the report at `path`; `None` where it is none, such as a recording.
pub fn report_format(
    path: &Path,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Option<ReportFormat>, ReadError> {
    let failed = |source| ReadError::Io { path: path.to_path_buf(), source };
    if path.is_dir() {
        let tables = csv_directory::table_files(path)?;
        let is_report = tables.iter().any(|(name, _)| is_wanted(name));
        return Ok(is_report.then_some(ReportFormat::CsvDirectory));
    }
    let mut head = Vec::new();
    File::open(path).map_err(failed)?.take(4096).read_to_end(&mut head).map_err(failed)?;
    Ok(match head.as_slice() {
        head if head.starts_with(b"PK\x03\x04") => {
            workbook::is_workbook(path).then_some(ReportFormat::Workbook)
        }
        head if json::is_report(head) => Some(ReportFormat::Json),
        _ => None,
    })
}

/// The tables of a report that `is_wanted` by name and names of columns, in the order of the report.
///
/// # Errors
/// When the report cannot be read or is larger than any report.
pub fn read_report(
    path: &Path,
    format: ReportFormat,
    names: &ColumnNames<'_>,
    is_wanted: &dyn Fn(&str, &[String]) -> bool,
) -> Result<Vec<Table>, ReadError> {
    let mut reader = Reader::new(path, names, is_wanted);
    match format {
        ReportFormat::CsvDirectory => csv_directory::read(&mut reader),
        ReportFormat::Workbook => workbook::read(&mut reader),
        ReportFormat::Json => json::read(&mut reader),
    }
}
