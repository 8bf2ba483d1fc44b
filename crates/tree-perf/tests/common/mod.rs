//! A sheet as text, cell by cell, for tests to read.
#![allow(dead_code)] // each test program uses a part

use polars::prelude::{DataFrame, DataType};
use sheets::Sheet;
use tree_perf::{Analysis, all_sheets};

/// A sheet that was built.
pub(crate) struct Table {
    pub(crate) headers: Vec<String>,
    /// Cells row by row; null is `None`.
    pub(crate) rows: Vec<Vec<Option<String>>>,
}

/// The sheet with this name.
pub(crate) fn sheet<'a>(name: &str) -> Sheet<'a, Analysis> {
    all_sheets().into_iter().find(|sheet| sheet.name == name).unwrap_or_else(|| panic!("no sheet {name}"))
}

impl Table {
    /// Builds a sheet; `None` when the report leaves it out.
    pub(crate) fn build(analysis: &Analysis, name: &str) -> Option<Table> {
        sheet(name).table(analysis).unwrap().map(|table| Table::of(&table.to_dataframe().unwrap()))
    }

    /// Builds a sheet that must be there.
    pub(crate) fn of_sheet(analysis: &Analysis, name: &str) -> Table {
        Table::build(analysis, name).unwrap_or_else(|| panic!("{name} was left out"))
    }

    pub(crate) fn of(frame: &DataFrame) -> Table {
        let columns: Vec<Vec<Option<String>>> = frame
            .columns()
            .iter()
            .map(|column| match column.dtype() {
                DataType::String => {
                    column.str().unwrap().iter().map(|cell| cell.map(str::to_owned)).collect()
                }
                DataType::Int64 => {
                    column.i64().unwrap().iter().map(|cell| cell.map(|n| n.to_string())).collect()
                }
                DataType::Float64 => {
                    column.f64().unwrap().iter().map(|cell| cell.map(|x| x.to_string())).collect()
                }
                DataType::Boolean => column.bool().unwrap().iter().map(|cell| cell.map(flag)).collect(),
                other => panic!("no sheet has columns of type {other}"),
            })
            .collect();
        let row = |row: usize| columns.iter().map(|column| column[row].clone()).collect();
        Table {
            headers: frame.get_column_names().into_iter().map(|name| name.to_string()).collect(),
            rows: (0..frame.height()).map(row).collect(),
        }
    }

    fn position(&self, column: &str) -> usize {
        self.headers
            .iter()
            .position(|header| header == column)
            .unwrap_or_else(|| panic!("no column {column:?} among {:?}", self.headers))
    }

    /// The rows, each as the cells of some columns joined by ` | `; null is `-`.
    pub(crate) fn select(&self, columns: &[&str]) -> Vec<String> {
        let positions: Vec<usize> = columns.iter().map(|column| self.position(column)).collect();
        let line = |row: &Vec<Option<String>>| {
            positions.iter().map(|&at| row[at].as_deref().unwrap_or("-")).collect::<Vec<_>>().join(" | ")
        };
        self.rows.iter().map(line).collect()
    }

    /// The numbers of a column; panics on null.
    pub(crate) fn numbers(&self, column: &str) -> Vec<f64> {
        let at = self.position(column);
        self.rows.iter().map(|row| row[at].as_ref().unwrap().parse().unwrap()).collect()
    }
}

/// Python's spelling, as reports print it.
fn flag(value: bool) -> String {
    if value { "True".to_owned() } else { "False".to_owned() }
}
