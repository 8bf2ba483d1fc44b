//! Tables of any names and cells: what is written reads back, in every format. The same kind of tables is fuzzed
//! (`fuzz/fuzz_targets/report_tables.rs`).

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::io::Cursor;

use calamine::{Reader, Xlsx};
use polars::prelude::{Column, DataFrame};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use report_writers::{CellKind, ColumnFormat, CsvDirectory, Json, Report, Table, Workbook};

/// Rows of every table.
const ROWS: usize = 4;

/// Text with what formats and programs make something of: quotes, breaks, formulas, controls.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[=+@'\"\\-,;\t\r\n\u{1}<>&a1]{0,12}"]
}

fn cells() -> impl Strategy<Value = Column> {
    prop_oneof![
        vec(option::of(any::<bool>()), ROWS).prop_map(|cells| Column::new("".into(), cells)),
        vec(option::of(any::<i64>()), ROWS).prop_map(|cells| Column::new("".into(), cells)),
        vec(option::of(any::<u64>()), ROWS).prop_map(|cells| Column::new("".into(), cells)),
        vec(option::of(proptest::num::f64::ANY), ROWS).prop_map(|cells| Column::new("".into(), cells)),
        vec(option::of(text()), ROWS).prop_map(|cells| Column::new("".into(), cells)),
    ]
}

fn kind() -> impl Strategy<Value = CellKind> {
    prop_oneof![
        Just(CellKind::Text),
        Just(CellKind::Literal),
        Just(CellKind::Integer),
        any::<u8>().prop_map(|places| CellKind::Decimal { places }),
        Just(CellKind::Number),
        Just(CellKind::Percent),
        Just(CellKind::Microseconds),
        Just(CellKind::Milliseconds),
    ]
}

/// A table of at least one column; `None` when the names are refused.
fn table() -> impl Strategy<Value = Option<Table>> {
    let column = (text(), text(), kind(), cells());
    ("[a-zA-Z<&='µ ]{1,40}", vec(column, 1..5)).prop_map(|(name, columns)| {
        let formats = columns.iter().map(|(_, about, kind, _)| ColumnFormat::new(*kind, about)).collect();
        let named = columns.into_iter().map(|(name, .., cells)| cells.with_name(name.into())).collect();
        Table::new(&name, DataFrame::new(ROWS, named).ok()?, formats).ok()
    })
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
            prop_assert_eq!(records.len(), 1 + ROWS, "{}", String::from_utf8_lossy(&bytes));
            for (position, column) in table.frame().columns().iter().enumerate() {
                let Ok(texts) = column.str() else { continue };
                for (row, record) in records[1..].iter().enumerate() {
                    let (written, text) = (&record[position], texts.get(row).unwrap_or_default());
                    prop_assert_eq!(written.strip_prefix('\'').filter(|rest| *rest == text).unwrap_or(written), text);
                    let is_formula = written.starts_with(['=', '+', '-', '@']) && written.len() > 1;
                    prop_assert!(!is_formula || written.parse::<f64>().is_ok(), "{}", written);
                }
            }
        }

        let mut json = Vec::new();
        Json.write_to(&report, &mut json).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&json).unwrap();
        prop_assert_eq!(document["tables"].as_object().map(serde_json::Map::len), Some(report.tables().len()));

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
