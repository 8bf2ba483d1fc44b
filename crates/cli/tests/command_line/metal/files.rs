//! What is written, and only when it was asked for.

use super::place::{column, operations, place, printed, records};
use crate::program::Sheets;

#[test]
fn nothing_is_written_unless_asked() {
    let place = place();
    printed(&place, &["--ignore-signposts"]);
    assert_eq!(place.files("."), ["ops.csv", "trace.json"]);
    place.run("metal ops.csv --csv out.csv").exits_with(0);
    assert_eq!(place.files("."), ["ops.csv", "out.csv", "trace.json"]);
}

#[test]
fn operations_go_to_a_file_instead_of_the_terminal() {
    let place = place();
    let outcome = printed(&place, &["--ignore-signposts", "--csv", "out.csv"]);
    assert!(!outcome.out.contains("OP Code") && outcome.out.contains("wrote out.csv"), "{outcome:#?}");
    let rows = records(&place.bytes("out.csv"));
    assert!(rows.len() > 70 && rows[0].contains_key("Advice") && !rows[0].contains_key("Raw OP Code"));
    let rows = operations(&place, &["--no-advice", "--raw-op-codes"]);
    assert!(!rows[0].contains_key("Advice"));
    assert!(column(&rows, "Raw OP Code").iter().all(|code| !code.is_empty()));
}

#[test]
fn the_summary_has_a_file_of_its_own() {
    let place = place();
    let base = ["metal", "ops.csv", "--ignore-signposts", "--quiet"];
    let run = |options: &[&str]| place.run(&[&base[..], options].concat()).exits_with(0);
    run(&["--summary-file", "sum.csv"]);
    let rows = records(&place.bytes("sum.csv"));
    assert!(rows[0].contains_key("Device Time Sum [μs]"), "{rows:?}");
    run(&["--stacked-csv", "old.csv"]);
    assert_eq!(place.bytes("old.csv"), place.bytes("sum.csv"));
    run(&["--summary-file", "category.csv", "--group-by", "category"]);
    assert!(records(&place.bytes("category.csv")).len() < rows.len());
}

#[test]
fn the_summary_may_be_drawn() {
    let place = place();
    let draw = |options: &[&str]| {
        let base = ["metal", "ops.csv", "--ignore-signposts", "--quiet", "--summary-svg", "s.svg"];
        place.run(&[&base[..], options].concat()).exits_with(0);
        String::from_utf8(place.bytes("s.svg")).unwrap()
    };
    let one = draw(&[]);
    assert!(one.starts_with("<svg") && one.contains("MatmulDeviceOperation") && one.contains("CCL"), "{one}");
    let apart = draw(&["--no-merge-devices"]);
    assert!((0..4).all(|device| apart.contains(&format!("Dev {device}"))));
    assert_ne!(draw(&["--classic-colors"]), one);
}

#[test]
fn tables_go_where_they_were_asked_to() {
    let place = place();
    let outputs =
        ["--output_xlsx_path", "o.xlsx", "--output_csvs_dir", "sheets", "--output-json-path", "o.json"];
    place.run(&[&["metal", "ops.csv", "--quiet"], &outputs[..]].concat()).exits_with(0);
    assert!(place.files(".").contains(&"o.xlsx".to_owned()));
    let sheets = Sheets::parse(&String::from_utf8(place.bytes("o.json")).unwrap());
    assert_eq!(place.files("sheets").len(), sheets.names().len());
    for sheet in ["ops", "summary"] {
        assert!(sheets.has(sheet), "{:?}", sheets.names());
    }
    let printed = place.run("metal ops.csv --json").exits_with(0);
    assert_eq!(Sheets::parse(&printed.out).names(), sheets.names());
}

#[test]
fn a_comparison_is_a_table_too() {
    let place = place();
    std::fs::copy(place.path("ops.csv"), place.path("before.csv")).unwrap();
    let outcome = place.run("metal ops.csv --json --baseline before.csv").exits_with(0);
    let sheets = Sheets::parse(&outcome.out);
    assert!(sheets.has("ops_vs_baseline"), "{:?}", sheets.names());
    assert!(!sheets.rows("ops_vs_baseline").is_empty());
}
