//! Tables of any names and cells, as xlsx, CSV and JSON.
#![no_main]

use std::io::Cursor;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use polars::prelude::{Column, DataFrame};
use report_writers::{CellKind, ColumnFormat, CsvDirectory, Json, Report, Table, Workbook};

#[derive(Arbitrary, Debug)]
enum Cells {
    Booleans(Vec<Option<bool>>),
    Integers(Vec<Option<i64>>),
    Unsigned(Vec<Option<u64>>),
    Floats(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum Kind {
    Text,
    Literal,
    Integer,
    Decimal(u8),
    Number,
    Percent,
    Microseconds,
    Milliseconds,
}

#[derive(Arbitrary, Debug)]
struct Input {
    title: String,
    tables: Vec<(String, Vec<(String, String, Kind, Cells)>)>,
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

fn table(name: String, columns: Vec<(String, String, Kind, Cells)>) -> Option<Table> {
    let height = columns.iter().map(|(.., cells)| cells.len()).min().unwrap_or(0);
    let formats = columns.iter().map(|(_, description, kind, _)| ColumnFormat::new(kind.cell(), description));
    let formats = formats.collect();
    let columns: Vec<Column> =
        columns.into_iter().map(|(name, .., cells)| cells.column(name, height)).collect();
    let frame = DataFrame::new(height, columns).ok()?;
    Table::new(name, frame, formats).ok()
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Cells::Booleans(cells) => cells.len(),
            Cells::Integers(cells) => cells.len(),
            Cells::Unsigned(cells) => cells.len(),
            Cells::Floats(cells) => cells.len(),
            Cells::Texts(cells) => cells.len(),
        }
    }

    fn column(self, name: String, height: usize) -> Column {
        let name = name.into();
        match self {
            Cells::Booleans(cells) => Column::new(name, &cells[..height]),
            Cells::Integers(cells) => Column::new(name, &cells[..height]),
            Cells::Unsigned(cells) => Column::new(name, &cells[..height]),
            Cells::Floats(cells) => Column::new(name, &cells[..height]),
            Cells::Texts(cells) => Column::new(name, &cells[..height]),
        }
    }
}

impl Kind {
    fn cell(self) -> CellKind {
        match self {
            Kind::Text => CellKind::Text,
            Kind::Literal => CellKind::Literal,
            Kind::Integer => CellKind::Integer,
            Kind::Decimal(places) => CellKind::Decimal { places },
            Kind::Number => CellKind::Number,
            Kind::Percent => CellKind::Percent,
            Kind::Microseconds => CellKind::Microseconds,
            Kind::Milliseconds => CellKind::Milliseconds,
        }
    }
}
