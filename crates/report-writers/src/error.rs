//! What can go wrong, in words that say what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use rust_xlsxwriter::XlsxError;
use thiserror::Error;

/// A table or report that cannot be built as described.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// The name cannot be a file name.
    #[error(
        "`{name}` cannot name a table; use 1 to 250 bytes without / \\ : * ? \" < > | or control \
         characters and without a dot or space at either end"
    )]
    Name {
        /// The refused name.
        name: String,
    },
    /// Two tables of a report have the same name, upper and lower case not distinguished.
    #[error("the report has two tables named `{name}` (case does not distinguish names); rename one")]
    DuplicateName {
        /// The name of the second table.
        name: String,
    },
    /// Not one format per column.
    #[error(
        "table `{table}` has {frame_columns} columns but {formats} column formats; give one format per \
         column, in order"
    )]
    ColumnCount {
        /// The table.
        table: String,
        /// Columns of the frame.
        frame_columns: usize,
        /// Formats given.
        formats: usize,
    },
    /// A column's dtype has no cell form.
    #[error(
        "column `{column}` of table `{table}` has dtype {dtype}, which no report format can hold; cast it \
         to Boolean, Int64, UInt32, UInt64, Float64 or String"
    )]
    UnsupportedType {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Its dtype.
        dtype: String,
    },
    /// A chart names a column that the table lacks.
    #[error("chart `{chart}` needs column `{column}`, which table `{table}` does not have")]
    ChartColumn {
        /// The table.
        table: String,
        /// The chart's title.
        chart: String,
        /// The missing column.
        column: String,
    },
    /// A chart draws points from a table that the report lacks.
    #[error("chart `{chart}` of table `{table}` needs table `{points}`, which the report does not have")]
    ChartTable {
        /// The chart's table.
        table: String,
        /// The chart's title.
        chart: String,
        /// The missing table.
        points: String,
    },
    /// A chart draws a column that holds no numbers.
    #[error(
        "chart `{chart}` cannot draw column `{column}` of table `{table}`: its dtype is {dtype}, not a number"
    )]
    ChartValues {
        /// The table.
        table: String,
        /// The chart's title.
        chart: String,
        /// The column.
        column: String,
        /// Its dtype.
        dtype: String,
    },
}

/// A report that could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The output directory could not be made.
    #[error(
        "cannot create directory `{}`: {source}; check that no file has this name and that you may write to \
         its parent, or choose another directory",
        path.display()
    )]
    CreateDirectory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be opened for writing.
    #[error(
        "cannot create `{}`: {source}; check that its directory exists, that you may write to it, and that \
         no other program holds the file open",
        path.display()
    )]
    Create {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Writing stopped half-way; a file that was there before is as it was.
    #[error(
        "cannot write `{}`: {source}; what was there before is unchanged, make room or choose another place",
        path.display()
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A table that an earlier run left could not be removed.
    #[error(
        "cannot remove `{}`, left by an earlier run: {source}; remove it yourself, or its rows will be taken \
         for part of this report",
        path.display()
    )]
    RemoveStale {
        /// The stale file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The workbook could not be assembled.
    #[error("cannot write workbook `{}`: {source}; write csv or json instead", path.display())]
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
