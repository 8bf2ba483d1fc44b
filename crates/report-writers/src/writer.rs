//! The one trait of all output formats.

use std::io;
use std::path::{Path, PathBuf};

use atomic_file::AtomicFile;
use rust_xlsxwriter::XlsxError;
use thiserror::Error;

use crate::report::Report;

/// An output format.
pub trait Writer: Sync {
    /// The format's name, as a user would type it: `xlsx`, `csv`.
    fn name(&self) -> &'static str;

    /// How names of its files end, without the dot; `None` for formats of one file per table, which go to a directory.
    fn extension(&self) -> Option<&'static str>;

    /// Writes `report` to `destination`: a file, or for formats of one file per table a
    /// directory, which is made if missing. What is already there is replaced, file by file, when all is
    /// written; a file that could not be written or replaced is as it was.
    fn write(&self, report: &Report, destination: &Path) -> Result<Written, WriteError>;
}

/// What a writer did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The files written, in table order.
    pub paths: Vec<PathBuf>,
    /// Where the files differ from the tables because the format has a limit.
    pub warnings: Vec<Warning>,
}

/// A difference between a table and its written form that a limit of the format forced.
#[derive(Debug, Clone, PartialEq, Eq, Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum Warning {
    /// Texts longer than a cell can hold were cut and end in `…`.
    #[error(
        "{table}: {cells} {} of {column} truncated to {limit} characters, the limit of a workbook cell",
        if *.cells == 1 { "text" } else { "texts" }
    )]
    #[diagnostic(code("writing/text-cut"), severity(Warning), help("write CSV or JSON instead"))]
    TextCut {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// How many cells were cut.
        cells: usize,
        /// The most UTF-16 code units a cell holds.
        limit: usize,
    },
    /// Rows beyond the format's limit are missing.
    #[error("{rows} {} missing at the end of `{table}`: a sheet holds at most {limit}", if *.rows == 1 { "row is" } else { "rows are" })]
    #[diagnostic(code("writing/rows-cut"), severity(Warning), help("write CSV or JSON instead"))]
    RowsCut {
        /// The table.
        table: String,
        /// How many rows are missing.
        rows: usize,
        /// The most rows a sheet holds, header not counted.
        limit: usize,
    },
    /// Columns beyond the format's limit are missing.
    #[error("{columns} {} missing at the end of `{table}`: a sheet holds at most {limit}", if *.columns == 1 { "column is" } else { "columns are" })]
    #[diagnostic(code("writing/columns-cut"), severity(Warning), help("write CSV or JSON instead"))]
    ColumnsCut {
        /// The table.
        table: String,
        /// How many columns are missing.
        columns: usize,
        /// The most columns a sheet holds.
        limit: usize,
    },
    /// The sheet has another name than the table, because the table's name is too long or holds
    /// a character that sheet names cannot hold.
    #[error(
        "table `{table}` is in sheet `{sheet}`: sheet names allow 31 characters and none of [ ] : * ? / \\"
    )]
    #[diagnostic(code("writing/sheet-renamed"), severity(Warning))]
    SheetRenamed {
        /// The table.
        table: String,
        /// Its sheet's name.
        sheet: String,
    },
}

/// A report that could not be written.
#[derive(Debug, Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum WriteError {
    /// The output directory could not be made.
    #[error("cannot create directory `{}`: {source}", path.display())]
    #[diagnostic(
        code("write/create-directory"),
        help(
            "check that no file has this name and that its parent is writable, or choose another directory"
        )
    )]
    CreateDirectory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be opened for writing.
    #[error("cannot create `{}`: {source}", path.display())]
    #[diagnostic(
        code("write/create"),
        help("check that its directory exists and is writable, and that no other program has the file open")
    )]
    Create {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Writing stopped half-way; a file that was there before is as it was.
    #[error("cannot write `{}`: {source}", path.display())]
    #[diagnostic(
        code("write/write"),
        help("free up space, or choose another path; the previous content is unchanged")
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A table that an earlier run left could not be removed.
    #[error("cannot remove `{}`, left by an earlier run: {source}", path.display())]
    #[diagnostic(
        code("write/remove-stale"),
        help("delete it, or its rows will be mistaken for part of this report")
    )]
    RemoveStale {
        /// The stale file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The workbook could not be assembled.
    #[error("cannot write workbook `{}`: {source}", path.display())]
    #[diagnostic(code("write/workbook"), help("write CSV or JSON instead"))]
    Workbook {
        /// The workbook.
        path: PathBuf,
        /// What the workbook library said.
        source: Box<XlsxError>,
    },
}

impl WriteError {
    /// An I/O fault while the content of `path` was written.
    pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write { path: path.to_owned(), source }
    }
}

/// Begins the file that is to be at `path`.
pub(crate) fn create_file(path: &Path) -> Result<AtomicFile, WriteError> {
    AtomicFile::create(path).map_err(|source| WriteError::Create { path: path.to_owned(), source })
}
