//! Columns with the functions that fill them.

use polars::prelude::{DataFrame, PolarsResult};

use tree_perf::{Column, ColumnKind};
use tree_perf::FrameBuilder;

/// A value of a row.
pub(super) enum Cell {
    Text(String),
    Number(f64),
    Whole(u64),
    Flag(bool),
    Missing,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_string())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Cell::Number(number)
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Cell::Whole(number)
    }
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Self {
        Cell::Flag(flag)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Missing, Into::into)
    }
}

/// A column and where its values come from.
pub(super) struct Field<R> {
    column: Column,
    value: fn(&R) -> Cell,
}

/// A column of rows of a type.
pub(super) const fn field<R>(
    name: &'static str,
    kind: ColumnKind,
    description: &'static str,
    value: fn(&R) -> Cell,
) -> Field<R> {
    Field { column: Column::new(name, kind, description), value }
}

/// The descriptions alone.
pub(super) const fn columns<R, const N: usize>(fields: &[Field<R>; N]) -> [Column; N] {
    let mut columns = [fields[0].column; N];
    let mut at = 1;
    while at < N {
        columns[at] = fields[at].column;
        at += 1;
    }
    columns
}

/// The table of some rows; `None` without rows.
pub(super) fn frame<R>(fields: &[Field<R>], rows: &[R]) -> PolarsResult<Option<DataFrame>> {
    if rows.is_empty() {
        return Ok(None);
    }
    let mut frame = FrameBuilder::default();
    for Field { column, value } in fields {
        let cells = rows.iter().map(value);
        match column.kind {
            ColumnKind::Text | ColumnKind::Nested => frame.text(column.name, cells.map(text)),
            ColumnKind::Flag => frame.flag(column.name, cells.map(|cell| matches!(cell, Cell::Flag(true)))),
            ColumnKind::Count | ColumnKind::Identifier => frame.integer(column.name, cells.map(whole)),
            _ => frame.float(column.name, cells.map(number)),
        }
    }
    frame.finish().map(Some)
}

fn text(cell: Cell) -> Option<String> {
    match cell {
        Cell::Text(text) => Some(text),
        _ => None,
    }
}

fn whole(cell: Cell) -> Option<i64> {
    match cell {
        Cell::Whole(whole) => i64::try_from(whole).ok(),
        _ => None,
    }
}

fn number(cell: Cell) -> Option<f64> {
    match cell {
        Cell::Number(number) => Some(number),
        Cell::Whole(whole) => Some(whole as f64),
        _ => None,
    }
}
