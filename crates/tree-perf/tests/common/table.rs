//! A table as text, cell by cell, for tests to read.
#![allow(dead_code)] // each test program uses a part

use sheets::Cell;

/// A table that was made.
pub(crate) struct Table {
    pub(crate) headers: Vec<String>,
    /// Cells row by row; a missing one is `None`.
    pub(crate) rows: Vec<Vec<Option<String>>>,
}

impl Table {
    pub(crate) fn new(table: &sheets::Table) -> Table {
        let cell = |cell: Cell<'_>| match cell {
            Cell::Missing => None,
            Cell::Number(number) => Some(number.to_string()),
            cell => Some(cell.text().into_owned()),
        };
        let columns = table.columns();
        Table {
            headers: columns.iter().map(|column| column.name().to_owned()).collect(),
            rows: (0..table.height())
                .map(|row| columns.iter().map(|column| cell(column.cell(row))).collect())
                .collect(),
        }
    }

    fn position(&self, column: &str) -> usize {
        self.headers
            .iter()
            .position(|header| header == column)
            .unwrap_or_else(|| panic!("no column {column:?} among {:?}", self.headers))
    }

    /// The rows, each as the cells of some columns joined by ` | `, as the names of the columns are; a missing cell
    /// is `-`.
    pub(crate) fn select(&self, columns: &str) -> Vec<String> {
        let positions: Vec<usize> = columns.split(" | ").map(|column| self.position(column)).collect();
        let line = |row: &Vec<Option<String>>| {
            positions.iter().map(|&at| row[at].as_deref().unwrap_or("-")).collect::<Vec<_>>().join(" | ")
        };
        self.rows.iter().map(line).collect()
    }

    /// The numbers of a column; panics on a missing one.
    pub(crate) fn numbers(&self, column: &str) -> Vec<f64> {
        let at = self.position(column);
        self.rows.iter().map(|row| row[at].as_ref().unwrap().parse().unwrap()).collect()
    }
}
