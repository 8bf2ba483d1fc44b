//! The columns are documented: in the code, and from there in the README.

use std::fmt::Write;
use std::path::Path;

use sheets::{ChartShape, Column, ColumnKind, Sheet};
use tree_perf::{Analysis, all_sheets};

const BEGIN: &str = "<!-- columns: written by the test `the_readme_lists_the_columns` -->\n";
const END: &str = "<!-- end of columns -->\n";

fn unit(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Text => "text",
        ColumnKind::Nested => "list or record",
        ColumnKind::Count => "count",
        ColumnKind::Identifier => "identifier",
        ColumnKind::Flag => "True or False",
        ColumnKind::Whole(unit) | ColumnKind::Number(unit) => unit.symbol(),
    }
}

fn reference() -> String {
    let mut text = String::new();
    let sheets = all_sheets();
    // Sheets with the same columns are described together, where the first of them stands.
    let mut described: Vec<&[Column]> = Vec::new();
    for first in &sheets {
        if described.contains(&first.columns.as_slice()) {
            continue;
        }
        described.push(&first.columns);
        let same: Vec<&Sheet<'_, Analysis>> =
            sheets.iter().filter(|sheet| sheet.columns == first.columns).collect();
        let others = same.len() - 1;
        if let [sheet] = same[..] {
            writeln!(text, "\n### `{}`\n\n{}", sheet.name, sheet.description).unwrap();
        } else {
            writeln!(text, "\n### `{}` and {others} more\n", first.name).unwrap();
            for sheet in &same {
                writeln!(text, "- `{}`: {}", sheet.name, sheet.description).unwrap();
            }
        }
        for sheet in same {
            let Some(reference_name) = sheet.reference_name else { continue };
            let name = &sheet.name;
            writeln!(text, "\nWith `--sheet-names current` `{name}` is called `{reference_name}`.").unwrap();
        }
        text.push_str("\n| column | unit | meaning |\n| --- | --- | --- |\n");
        for column in &first.columns {
            let meaning = column.description.replace('|', "\\|");
            writeln!(text, "| `{}` | {} | {meaning} |", column.name, unit(column.kind)).unwrap();
        }
    }
    text.push('\n');
    text
}

#[test]
fn the_readme_lists_the_columns() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).expect("the README has the marker before the columns");
    let (listed, after) = rest.split_once(END).expect("the README has the marker after the columns");
    let current = reference();
    if listed == current {
        return;
    }
    if std::env::var_os("UPDATE_README").is_some_and(|value| value == "1") {
        std::fs::write(&path, [before, BEGIN, &current, END, after].concat()).unwrap();
        return;
    }
    let stale = listed.lines().zip(current.lines()).find(|(listed, current)| listed != current);
    panic!(
        "the column reference of crates/tree-perf/README.md is stale, first at {stale:#?}\n\
         UPDATE_README=1 cargo test -p tree-perf --test sheets the_readme_lists_the_columns"
    );
}

#[test]
fn charts_show_columns_of_their_sheets() {
    for sheet in all_sheets() {
        let Some(chart) = sheet.chart else { continue };
        let (any, numbers) = chart.columns();
        for name in any.into_iter().chain(numbers) {
            assert!(sheet.column(name).is_some(), "{}: {name}", sheet.name);
        }
        if let ChartShape::Scatter { points, .. } = chart.shape {
            let other = crate::common::sheet(points.table);
            for name in [points.x, points.y, points.groups, points.labels, points.weights] {
                assert!(other.column(name).is_some(), "{}: {name}", other.name);
            }
        }
    }
}
