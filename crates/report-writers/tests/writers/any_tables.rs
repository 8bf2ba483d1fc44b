//! Tables of any names and cells: what is written reads back, in every format. The same kind of tables is fuzzed
//! (`fuzz/fuzz_targets/report_tables.rs`).

use std::io::Cursor;

use calamine::{Reader, Xlsx};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use report_writers::{CsvDirectory, JsonTable, Report, Workbook, write_json};
use sheets::{Cell, Column, ColumnKind, Nested, Table, TableColumn, Unit, escaped, is_obeyed};

/// Rows of every table.
const ROWS: usize = 4;

/// Text with what formats and programs make something of: quotes, breaks, formulas, controls.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[=+@'\"\\-,;\t\r\n\u{1}<>&a1]{0,12}"]
}

/// Cells of a column with the kind of the column.
fn cells() -> impl Strategy<Value = (ColumnKind, Vec<Cell<'static>>)> {
    fn of<T: Into<Cell<'static>>>(
        kind: ColumnKind,
    ) -> impl Fn(Vec<Option<T>>) -> (ColumnKind, Vec<Cell<'static>>) {
        move |cells| (kind, cells.into_iter().map(Into::into).collect())
    }
    let list = vec(text().prop_map(Nested::Text), 0..3).prop_map(Nested::List);
    prop_oneof![
        vec(option::of(any::<bool>()), ROWS).prop_map(of(ColumnKind::Flag)),
        vec(option::of(any::<i64>()), ROWS).prop_map(of(ColumnKind::Count)),
        vec(option::of(any::<i64>()), ROWS).prop_map(of(ColumnKind::Whole(Unit::Bytes))),
        vec(option::of(proptest::num::f64::ANY), ROWS).prop_map(of(ColumnKind::Number(Unit::Milliseconds))),
        vec(option::of(proptest::num::f64::ANY), ROWS).prop_map(of(ColumnKind::Number(Unit::Mebibytes))),
        vec(option::of(text()), ROWS).prop_map(of(ColumnKind::Text)),
        vec(option::of(list), ROWS).prop_map(of(ColumnKind::Nested)),
    ]
}

/// A table of at least one column; `None` when the names are refused.
fn table() -> impl Strategy<Value = Option<Table>> {
    let description = prop_oneof![Just(""), Just("<&> \"'\t\r\n\u{1}"), Just("Time in µs.")];
    let column = (text(), description, cells()).prop_map(|(name, description, (kind, cells))| {
        TableColumn::named(name, Column::new("", kind, description), cells)
    });
    ("[a-zA-Z<&='µ ]{1,40}", vec(column, 1..5)).prop_map(|(name, columns)| Table::new(name, columns).ok())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_written_reads_back(tables in vec(table(), 1..4)) {
        let tables: Vec<Table> = tables.into_iter().flatten().collect();
        let Ok(report) = Report::new("any", tables) else { return Ok(()) };

        for table in report.tables() {
            let mut bytes = Vec::new();
            CsvDirectory.write_table(table, &mut bytes).unwrap();
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&bytes[..]);
            let records: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
            let text = String::from_utf8(bytes.clone()).unwrap();
            prop_assert_eq!(records.len(), 1 + ROWS, "{}", text);
            // A row is a line, and nothing else in it is obeyed.
            prop_assert_eq!(text.lines().count(), 1 + ROWS, "{}", text);
            prop_assert!(!text.replace('\n', "").contains(is_obeyed), "{}", text);
            for (position, column) in table.columns().iter().enumerate() {
                if column.kind() != ColumnKind::Text {
                    continue;
                }
                for (row, record) in records[1..].iter().enumerate() {
                    let cell = column.cell(row);
                    let text = cell.text();
                    let (written, text) = (&record[position], &*escaped(&text));
                    prop_assert_eq!(written.strip_prefix('\'').filter(|rest| *rest == text).unwrap_or(written), text);
                    let is_formula = written.starts_with(['=', '+', '-', '@']) && written.len() > 1;
                    prop_assert!(!is_formula || written.parse::<f64>().is_ok(), "{}", written);
                }
            }
        }

        let mut json = Vec::new();
        let tables: Vec<JsonTable<'_>> = report.tables().iter().map(JsonTable::whole).collect();
        write_json(&tables, &mut json).unwrap();
        let text = std::str::from_utf8(&json).unwrap();
        prop_assert!(!text.replace('\n', "").contains(is_obeyed), "{}", text);
        let document: serde_json::Value = serde_json::from_slice(&json).unwrap();
        prop_assert_eq!(document.as_array().map(Vec::len), Some(report.tables().len()));

        let mut workbook = Cursor::new(Vec::new());
        Workbook.write_to(&report, &mut workbook).unwrap();
        let mut workbook = Xlsx::new(Cursor::new(workbook.into_inner())).unwrap();
        let sheets = workbook.sheet_names();
        prop_assert!(sheets.len() >= report.tables().len());
        for sheet in sheets {
            let formulas = workbook.worksheet_formula(&sheet).unwrap();
            prop_assert!(formulas.used_cells().next().is_none(), "a formula in {}", sheet);
        }
    }
}
