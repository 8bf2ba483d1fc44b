//! Tables of any names and cells, as xlsx, CSV and JSON.
#![no_main]

use std::io::Cursor;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use report_writers::{CsvDirectory, Json, Report, Workbook};
use sheets::{Cell, Column, ColumnKind, Nested, Table, TableColumn, Unit};

#[derive(Arbitrary, Debug)]
enum Cells {
    Flags(Vec<Option<bool>>),
    Counts(Vec<Option<i64>>),
    Numbers(NumberUnit, Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
    Lists(Vec<Option<Vec<String>>>),
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum NumberUnit {
    Percent,
    Microseconds,
    Mebibytes,
    One,
}

#[derive(Arbitrary, Debug)]
struct Input {
    title: String,
    tables: Vec<(String, Vec<(String, bool, Cells)>)>,
}

fuzz_target!(|input: Input| {
    let tables = input.tables.into_iter().filter_map(|(name, columns)| table(name, columns)).collect();
    let Ok(report) = Report::new(input.title, tables) else { return };
    let mut workbook = Cursor::new(Vec::new());
    if let Err(error) = Workbook.write_to(&report, &mut workbook) {
        let _ = error.to_string();
    }
    let mut json = Vec::new();
    Json.write_to(&report, &mut json).expect("memory takes everything");
    for table in report.tables() {
        CsvDirectory.write_table(table, Vec::new()).expect("memory takes everything");
    }
});

fn table(name: String, columns: Vec<(String, bool, Cells)>) -> Option<Table> {
    let height = columns.iter().map(|(.., cells)| cells.len()).min().unwrap_or(0);
    let columns = columns.into_iter().map(|(name, is_described, cells)| {
        let description = if is_described { "<&>\"'\t\r\n\u{1} in µs." } else { "" };
        let (kind, cells) = cells.typed();
        TableColumn::named(name, Column::new("", kind, description), cells.into_iter().take(height))
    });
    Table::new(name, columns.collect()).ok()
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Cells::Flags(cells) => cells.len(),
            Cells::Counts(cells) => cells.len(),
            Cells::Numbers(_, cells) => cells.len(),
            Cells::Texts(cells) => cells.len(),
            Cells::Lists(cells) => cells.len(),
        }
    }

    fn typed(self) -> (ColumnKind, Vec<Cell<'static>>) {
        fn typed<T: Into<Cell<'static>>>(cells: Vec<Option<T>>) -> Vec<Cell<'static>> {
            cells.into_iter().map(Into::into).collect()
        }
        let list = |items: Vec<String>| Nested::List(items.into_iter().map(Nested::Text).collect());
        match self {
            Cells::Flags(cells) => (ColumnKind::Flag, typed(cells)),
            Cells::Counts(cells) => (ColumnKind::Count, typed(cells)),
            Cells::Numbers(unit, cells) => (ColumnKind::Number(unit.unit()), typed(cells)),
            Cells::Texts(cells) => (ColumnKind::Text, typed(cells)),
            Cells::Lists(cells) => {
                (ColumnKind::Nested, typed(cells.into_iter().map(|cell| cell.map(list)).collect()))
            }
        }
    }
}

impl NumberUnit {
    fn unit(self) -> Unit {
        match self {
            NumberUnit::Percent => Unit::Percent,
            NumberUnit::Microseconds => Unit::Microseconds,
            NumberUnit::Mebibytes => Unit::Mebibytes,
            NumberUnit::One => Unit::One,
        }
    }
}
