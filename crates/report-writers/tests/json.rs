//! JSON documents, read back with an independent parser.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use polars::prelude::{DataFrame, df};
use report_writers::{CellKind, ColumnFormat, Json, Report, Table, WriteError, Writer};
use serde_json::{Value, json};

fn written(report: &Report) -> String {
    let mut bytes = Vec::new();
    Json.write_to(report, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn parsed(report: &Report) -> Value {
    serde_json::from_str(&written(report)).unwrap()
}

#[test]
fn cells_keep_their_types() {
    let frame = df!(
        "name" => [Some("a \"b\" µ\n"), None],
        "count" => [Some(u64::MAX), Some(0)],
        "ms" => [Some(60.0), Some(f64::NAN)],
        "ratio" => [f64::INFINITY, f64::NEG_INFINITY],
        "known" => [Some(true), None],
    )
    .unwrap();
    let formats = ["Name.", "", "", "", ""].map(|text| ColumnFormat::new(CellKind::Text, text)).to_vec();
    let report = Report::new("t \"1\"", vec![Table::new("ops", frame, formats).unwrap()]).unwrap();
    assert_eq!(
        parsed(&report),
        json!({
            "title": "t \"1\"",
            "tables": {"ops": {
                "columns": [
                    {"name": "name", "description": "Name."},
                    {"name": "count", "description": ""},
                    {"name": "ms", "description": ""},
                    {"name": "ratio", "description": ""},
                    {"name": "known", "description": ""},
                ],
                "rows": [
                    ["a \"b\" µ\n", u64::MAX, 60.0, "inf", true],
                    [null, 0, null, "-inf", null],
                ],
            }},
        })
    );
}

#[test]
fn only_literal_columns_are_read_as_literals() {
    let text = ["((1, 2), ('x',))", "[{'name': 'k', 'count': 2, 'mean': 0.5}]", "aten::mm", ""];
    let frame = df!("literal" => text, "text" => text).unwrap();
    let formats = vec![ColumnFormat::new(CellKind::Literal, ""), ColumnFormat::new(CellKind::Text, "")];
    let report = Report::new("t", vec![Table::new("ops", frame, formats).unwrap()]).unwrap();
    assert_eq!(
        parsed(&report)["tables"]["ops"]["rows"],
        json!([
            [[[1, 2], ["x"]], text[0]],
            [[{"name": "k", "count": 2, "mean": 0.5}], text[1]],
            ["aten::mm", "aten::mm"],
            ["", ""],
        ])
    );
}

#[test]
fn floats_survive_to_the_last_bit() {
    let values = [0.1 + 0.2, 1.123046875e-05, 1e16, 5e-324, f64::MAX, -0.0];
    let frame = df!("f" => values).unwrap();
    let formats = vec![ColumnFormat::new(CellKind::Decimal { places: 2 }, "")];
    let report = Report::new("t", vec![Table::new("t", frame, formats).unwrap()]).unwrap();
    let document = written(&report);
    let numbers: Vec<u64> = document
        .lines()
        .filter_map(|line| line.trim().trim_end_matches(',').strip_prefix('[')?.strip_suffix(']'))
        .map(|number| number.parse::<f64>().unwrap().to_bits())
        .collect();
    assert_eq!(numbers, values.map(f64::to_bits));
}

#[test]
fn tables_keep_their_order_and_rows_their_lines() {
    let table = |name: &str, frame: DataFrame| {
        let formats = vec![ColumnFormat::new(CellKind::Integer, "N."); frame.width()];
        Table::new(name, frame, formats).unwrap()
    };
    let report = Report::new(
        "t",
        vec![
            table("z", df!("n" => [1i64, 2]).unwrap()),
            table("a", DataFrame::empty()),
            table("m", df!("n" => Vec::<i64>::new()).unwrap()),
        ],
    )
    .unwrap();
    assert_eq!(
        written(&report),
        r#"{
  "title": "t",
  "tables": {
    "z": {
      "columns": [
        {"name": "n", "description": "N."}
      ],
      "rows": [
        [1],
        [2]
      ]
    },
    "a": {
      "columns": [],
      "rows": []
    },
    "m": {
      "columns": [
        {"name": "n", "description": "N."}
      ],
      "rows": []
    }
  }
}
"#
    );
}

#[test]
fn a_report_without_tables_is_still_a_document() {
    assert_eq!(parsed(&Report::new("t", Vec::new()).unwrap()), json!({"title": "t", "tables": {}}));
}

#[test]
fn a_missing_directory_is_an_error_that_names_the_file() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("missing/report.json");
    let error = Json.write(&Report::new("t", Vec::new()).unwrap(), &path).unwrap_err();
    assert!(matches!(error, WriteError::Create { .. }));
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
}
