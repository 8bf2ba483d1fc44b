//! What the readers of all formats of reports share.

use std::io;
use std::path::{Path, PathBuf};

use hashbrown::HashSet;
use sheets::{Cell, Column, ColumnKind, Table, TableColumn, TableError, Unit, names_a_file};
use thiserror::Error;

/// The names of a table's columns, by the table's name and its headers: workbooks and CSV files may show titles.
pub type ColumnNames<'a> = dyn Fn(&str, Vec<String>) -> Vec<String> + 'a;

/// Cells of a report that are read. A report of a recording with a million events has a tenth of it.
const MOST_CELLS: usize = 10_000_000;

/// Why a report cannot be read.
#[derive(Debug, Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum ReadError {
    /// The file or directory cannot be read.
    #[error("{path}: {source}", path = .path.display())]
    #[diagnostic(code("read-report/io"), help("check that it exists and is readable"))]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A CSV file is damaged.
    #[error("{path}: {source}", path = .path.display())]
    #[diagnostic(code("read-report/csv"), help("recreate the report"))]
    Csv {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: csv::Error,
    },
    /// A workbook is damaged, or is none.
    #[error("{path}: is not a readable workbook: {detail}", path = .path.display())]
    #[diagnostic(code("read-report/workbook"), help("recreate the report"))]
    Workbook {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
    /// A JSON document is damaged, or no report.
    #[error("{path}: is not a JSON report: {source}", path = .path.display())]
    #[diagnostic(code("read-report/json"), help("write one with `tracelens report --output_json_path`"))]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// More than any report has.
    #[error("{path}: has more than {most} {what}, too many for a report", path = .path.display())]
    #[diagnostic(code("read-report/too-large"), help("pass a report"))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        most: usize,
        /// Of what.
        what: &'static str,
    },
    /// A name or a header cannot stand in a table.
    #[error("{path}: {source}", path = .path.display())]
    #[diagnostic(code("read-report/table"))]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: TableError,
    },
}

impl ReadError {
    /// The report that it is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            ReadError::Io { path, .. }
            | ReadError::Csv { path, .. }
            | ReadError::Workbook { path, .. }
            | ReadError::Json { path, .. }
            | ReadError::TooLarge { path, .. }
            | ReadError::Table { path, .. } => path,
        }
    }
}

/// What the readers of all formats share.
pub(super) struct Reader<'a> {
    pub(super) path: &'a Path,
    pub(super) names: &'a ColumnNames<'a>,
    pub(super) is_wanted: &'a dyn Fn(&str, &[String]) -> bool,
    cells_left: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        path: &'a Path,
        names: &'a ColumnNames<'a>,
        is_wanted: &'a dyn Fn(&str, &[String]) -> bool,
    ) -> Self {
        Reader { path, names, is_wanted, cells_left: MOST_CELLS }
    }

    /// Counts the cells of a row that is about to be kept.
    pub(super) fn spend(&mut self, cells: usize) -> Result<(), ReadError> {
        // A row costs something even where it is empty.
        let left = self.cells_left.checked_sub(cells.max(1));
        self.cells_left = left.ok_or_else(|| self.too_large(MOST_CELLS, "cells"))?;
        Ok(())
    }

    pub(super) fn too_large(&self, most: usize, what: &'static str) -> ReadError {
        ReadError::TooLarge { path: self.path.to_path_buf(), most, what }
    }

    pub(super) fn io(&self, source: io::Error) -> ReadError {
        ReadError::Io { path: self.path.to_path_buf(), source }
    }

    /// A table of these columns; headers that occur twice are numbered. `None` where the name is not one of a table.
    pub(super) fn table(
        &self,
        name: &str,
        columns: Vec<(String, Vec<Cell<'static>>)>,
    ) -> Result<Option<Table>, ReadError> {
        if !names_a_file(name) {
            return Ok(None);
        }
        let mut taken = HashSet::new();
        let columns = columns.into_iter().map(|(header, cells)| {
            let mut unique = header.clone();
            let mut copy = 1;
            while !taken.insert(unique.clone()) {
                unique = format!("{header}.{copy}");
                copy += 1;
            }
            column(unique, cells)
        });
        let table = Table::new(name, columns.collect());
        table.map(Some).map_err(|source| ReadError::Table { path: self.path.to_path_buf(), source })
    }
}

/// A column of the narrowest kind that holds the cells: flags, whole numbers, numbers, else texts.
pub(crate) fn column(header: String, cells: Vec<Cell<'static>>) -> TableColumn {
    let (mut flags, mut wholes, mut numbers, mut texts) = (false, false, false, false);
    for cell in &cells {
        match cell {
            Cell::Missing => {}
            Cell::Flag(_) => flags = true,
            Cell::Whole(_) => wholes = true,
            Cell::Number(_) => numbers = true,
            Cell::Text(_) | Cell::Nested(_) => texts = true,
        }
    }
    let kind = match (texts, flags, wholes || numbers) {
        (true, ..) | (_, true, true) => ColumnKind::Text,
        (_, true, false) => ColumnKind::Flag,
        _ if wholes && !numbers => ColumnKind::Whole(Unit::One),
        _ => ColumnKind::Number(Unit::One),
    };
    TableColumn::named(header, Column::new("", kind, ""), cells)
}

/// Whether a text stands for a cell without a value, as spreadsheets and Python write it.
pub(super) fn is_missing(text: &str) -> bool {
    const MISSING: [&str; 14] =
        ["", "NaN", "nan", "-NaN", "-nan", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "None", "NULL", "null"];
    MISSING.contains(&text)
}
