//! JSON documents, read back with an independent parser.

use std::sync::Arc;

use report_writers::{Json, Report, WriteError, Writer};
use serde_json::{Value, json};
use sheets::{Caveat, Cell, Column, ColumnKind, Nested, Table, TableColumn, Unit};

use super::column;

const TIME: ColumnKind = ColumnKind::Number(Unit::Milliseconds);

fn written(report: &Report) -> String {
    let mut bytes = Vec::new();
    Json.write_to(report, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn parsed(report: &Report) -> Value {
    serde_json::from_str(&written(report)).unwrap()
}

fn report(title: &str, columns: Vec<TableColumn>) -> Report {
    Report::new(title, vec![Table::new("ops", columns).unwrap()]).unwrap()
}

#[test]
fn cells_keep_their_types() {
    let named = Column::new("name", ColumnKind::Text, "Name.");
    let columns = vec![
        TableColumn::new(named, ["a \"b\" µ\n".into(), Cell::Missing]),
        column("count", ColumnKind::Count, [i64::MAX, 0]),
        column("ms", TIME, [60.0, f64::NAN]),
        column("ratio", ColumnKind::Number(Unit::One), [f64::INFINITY, f64::NEG_INFINITY]),
        column("known", ColumnKind::Flag, [Some(true), None]),
    ];
    assert_eq!(
        parsed(&report("t \"1\"", columns)),
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
                    ["a \"b\" µ\n", i64::MAX, 60.0, "inf", true],
                    [null, 0, null, "-inf", null],
                ],
            }},
        })
    );
}

#[test]
fn caveats_stand_at_their_table_or_column() {
    let columns = vec![column("ms", TIME, [1.0]), column("count", ColumnKind::Count, [1])];
    let mut table = Table::new("ops", columns).unwrap();
    let caveat = |text: &str| Arc::new(Caveat { brief: String::new(), text: text.to_owned() });
    table.add_caveat(&caveat("The file \"ends\" early."));
    for text in ["Too small.", "Twice."] {
        table.add_caveat_to(&caveat(text), |column| column.name() == "ms");
    }
    let parsed = parsed(&Report::new("t", vec![table]).unwrap());
    let table = &parsed["tables"]["ops"];
    assert_eq!(table["caveats"], json!(["The file \"ends\" early."]));
    assert_eq!(table["columns"][0]["caveats"], json!(["Too small.", "Twice."]));
    assert_eq!(table["columns"][1], json!({"name": "count", "description": ""}));
}

#[test]
fn lists_and_records_are_json_and_texts_stay_texts() {
    use Nested::{Flag, List, None, Number, Record, Text, Tuple, Whole};
    let record = |mean| {
        let entries = [("name", Text("k".into())), ("count", Whole(2)), ("mean", Number(mean))];
        Record(entries.map(|(key, value)| (key.into(), value)).to_vec())
    };
    let nested = [
        Tuple(vec![Tuple(vec![Whole(1), Whole(2)]), Tuple(vec![Text("x".into())]), Tuple(vec![])]),
        List(vec![record(0.5), record(f64::INFINITY), record(f64::NAN)]),
        List(vec![None, Flag(true)]),
        Text("aten::mm".into()),
    ];
    let text = ["(1, 2)", "[]", "None", ""];
    let columns = vec![column("nested", ColumnKind::Nested, &nested), column("text", ColumnKind::Text, text)];
    assert_eq!(
        parsed(&report("t", columns))["tables"]["ops"]["rows"],
        json!([
            [[[1, 2], ["x"], []], text[0]],
            [
                [
                    {"name": "k", "count": 2, "mean": 0.5},
                    {"name": "k", "count": 2, "mean": "inf"},
                    {"name": "k", "count": 2, "mean": null},
                ],
                text[1],
            ],
            [[null, true], text[2]],
            ["aten::mm", text[3]],
        ])
    );
}

#[test]
fn floats_survive_to_the_last_bit() {
    let values = [0.1 + 0.2, 1.123046875e-05, 1e16, 5e-324, f64::MAX, -0.0];
    let document = written(&report("t", vec![column("f", TIME, values)]));
    let numbers: Vec<u64> = document
        .lines()
        .filter_map(|line| line.trim().trim_end_matches(',').strip_prefix('[')?.strip_suffix(']'))
        .map(|number| number.parse::<f64>().unwrap().to_bits())
        .collect();
    assert_eq!(numbers, values.map(f64::to_bits));
}

#[test]
fn tables_keep_their_order_and_rows_their_lines() {
    let table = |name: &str, columns| Table::new(name, columns).unwrap();
    let numbers = |cells: &[i64]| {
        let described = Column::new("n", ColumnKind::Count, "N.");
        vec![TableColumn::new(described, cells.iter().map(|&cell| cell.into()))]
    };
    let tables = vec![table("z", numbers(&[1, 2])), table("a", vec![]), table("m", numbers(&[]))];
    let report = Report::new("t", tables).unwrap();
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
