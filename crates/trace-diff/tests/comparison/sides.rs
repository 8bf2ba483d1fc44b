//! Reports to compare: made by hand, and of the corpus.

use sheets::{Cell, Column, ColumnKind, Table, TableColumn, Unit};
use trace_diff::{ReportFormat, Side, is_compared, read_report};

/// A table of texts and numbers: columns named in a line, rows in others.
pub(crate) fn table<const N: usize>(
    name: &str,
    headers: [&'static str; N],
    rows: &[[Cell<'static>; N]],
) -> Table {
    let column = |(position, header): (usize, &&'static str)| {
        let cells = rows.iter().map(|row| row[position].clone());
        let is_text = rows.iter().any(|row| matches!(row[position], Cell::Text(_)));
        let kind = if is_text { ColumnKind::Text } else { ColumnKind::Number(Unit::One) };
        TableColumn::new(Column::new(header, kind, ""), cells)
    };
    Table::new(name, headers.iter().enumerate().map(column).collect()).unwrap()
}

/// A report of the corpus; `None` without the corpus.
pub(crate) fn corpus_report(name: &str) -> Option<Side> {
    let folder = testdata::corpus(&format!("pytorch/{name}/reference"))?;
    let tables = read_report(&folder, ReportFormat::CsvDirectory, &|_, names| names, &is_compared).unwrap();
    Some(Side { name: name.split('-').next().unwrap().to_owned(), tables, steps: None, repeated: Vec::new() })
}

pub(crate) fn side(name: &str, tables: Vec<Table>) -> Side {
    Side { name: name.to_owned(), tables, steps: None, repeated: Vec::new() }
}
