//! JSON documents, read back with an independent parser.

use std::collections::BTreeMap;
use std::sync::Arc;

use report_writers::{JsonTable, write_json};
use serde_json::{Value, json};
use sheets::{Caveat, Cell, Column, ColumnKind, Nested, Role, Table, TableColumn, Unit};

use super::column;

const TIME: ColumnKind = ColumnKind::Number(Unit::Milliseconds);

fn written(columns: Vec<TableColumn>) -> String {
    let table = Table::new("ops", columns).unwrap();
    let mut bytes = Vec::new();
    let document = BTreeMap::from([("tables", [JsonTable::whole(&table)])]);
    write_json(&document, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn parsed(columns: Vec<TableColumn>) -> Value {
    let mut document: Value = serde_json::from_str(&written(columns)).unwrap();
    document["tables"][0].take()
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
    let table = parsed(columns);
    assert_eq!(
        table["rows"],
        json!([["a \"b\" µ\n", "0x7fffffffffffffff", 60.0, null, true], [null, 0, null, null, null]])
    );
    // Every null has its reason.
    let absent: Vec<Value> = table["absent"].as_array().unwrap().clone();
    let of = |column: &str| {
        let found = absent.iter().find(|absent| absent["column"] == column).unwrap();
        (found["rows"].clone(), found["code"].clone())
    };
    assert_eq!(of("name"), (json!([1]), json!("not-applicable")));
    assert_eq!(of("ratio"), (json!("all"), json!("infinite")));
    assert_eq!(absent.len(), 4);
}

#[test]
fn columns_say_what_they_hold() {
    let named = Column::new("name", ColumnKind::Text, "Name.");
    let columns = vec![
        TableColumn::new(named, ["mm".into(), "add".into()]),
        column("time_min", TIME, [1.0, 2.0]),
        column("count", ColumnKind::Count, [1, 2]),
        column("GB/s", ColumnKind::Number(Unit::GigabytesPerSecond), [1.0, f64::NAN]),
    ];
    let table = parsed(columns);
    assert_eq!(table["key"], json!(["name"]));
    let columns = table["columns"].as_array().unwrap();
    let said: Vec<Value> = columns
        .iter()
        .map(|column| json!([column["kind"], column["unit"], column["aggregate"], column["nullable"]]))
        .collect();
    assert_eq!(
        said,
        [
            json!(["text", null, "key", false]),
            json!(["duration", "ms", "min", false]),
            json!(["count", "1", "sum", false]),
            json!(["rate", "GB/s", "none", true]),
        ]
    );
    let twice = TableColumn::new(named, ["mm".into(), "mm".into()]);
    assert_eq!(parsed(vec![twice])["key"], json!([]), "rows of one name are told apart by nothing");
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
    let table = serde_json::to_value(JsonTable::whole(&table)).unwrap();
    assert_eq!(table["caveats"], json!(["The file \"ends\" early."]));
    assert_eq!(table["columns"][0]["caveats"], json!(["Too small.", "Twice."]));
    assert_eq!(table["columns"][1].get("caveats"), None);
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
        parsed(columns)["rows"],
        json!([
            [[[1, 2], ["x"], []], text[0]],
            [
                [
                    {"name": "k", "count": 2, "mean": 0.5},
                    {"name": "k", "count": 2, "mean": null},
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
    let document = written(vec![column("f", TIME, values)]);
    let numbers: Vec<u64> = document
        .lines()
        .filter_map(|line| line.trim().trim_end_matches(',').strip_prefix('[')?.strip_suffix(']'))
        .map(|number| number.parse::<f64>().unwrap().to_bits())
        .collect();
    assert_eq!(numbers, values.map(f64::to_bits));
}

#[test]
fn a_page_has_the_key_of_the_whole_table() {
    let named = |name, cells: [&str; 3]| {
        TableColumn::new(Column::text(name, "Name.").with_role(Role::Name), cells.map(Into::into))
    };
    let origin = Column::text("stream", "Stream.").with_role(Role::Provenance);
    let origin = TableColumn::new(origin, ["7", "7", "13"].map(Into::into));
    let whole = Table::new("ops", vec![named("name", ["mm", "add", "mm"]), origin]).unwrap();
    let key = |columns: &[usize], rows: &[usize]| {
        let rows = whole.part(columns, rows).unwrap();
        JsonTable::part(&whole, rows, 3, None, Vec::new()).key().to_vec()
    };
    // The first two rows alone would be told apart by their names.
    assert_eq!(key(&[0, 1], &[0, 1]), JsonTable::whole(&whole).key());
    assert_eq!(key(&[0, 1], &[0, 1]), ["name", "stream"]);
    assert_eq!(key(&[0], &[0, 1]), [""; 0], "names alone do not find a row");
}

#[test]
fn a_row_is_a_line() {
    let described = Column::new("n", ColumnKind::Count, "N.");
    assert_eq!(
        written(vec![TableColumn::new(described, [1, 2].map(Into::into))]),
        r#"{
  "tables": [
    {
      "name": "ops",
      "title": null,
      "key": [],
      "caveats": [],
      "columns": [
        {"name": "n", "kind": "count", "unit": "1", "per": null, "aggregate": "none", "nullable": false, "description": "N."}
      ],
      "rows": [
        [1],
        [2]
      ],
      "rows_total": 2,
      "rows_returned": 2,
      "next": null,
      "sort": [],
      "absent": []
    }
  ]
}
"#
    );
}
