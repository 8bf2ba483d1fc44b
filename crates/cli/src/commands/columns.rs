//! `tracelens columns`: what the columns of the sheets mean.

use tree_perf::{Sheet, pytorch_sheets};

use crate::console;
use crate::error::Failure;
use crate::wrapping::wrap;

pub(crate) fn run(wanted: Option<&str>) -> Result<(), Failure> {
    let sheets: Vec<&Sheet> = pytorch_sheets()
        .iter()
        .copied()
        .filter(|sheet| wanted.is_none_or(|name| name == sheet.name || name == sheet.current_name))
        .collect();
    if let (Some(name), true) = (wanted, sheets.is_empty()) {
        let known: Vec<&str> = pytorch_sheets().iter().map(|sheet| sheet.name).collect();
        return Err(Failure::UnknownSheet { name: name.to_string(), known: known.join(", ") });
    }
    let width = console::style().width.min(110);
    // Sheets that differ in what they show and not in their columns are described together.
    let text: Vec<String> = sheets
        .chunk_by(|a, b| std::ptr::eq(a.columns, b.columns))
        .map(|alike| describe(alike, width))
        .collect();
    Ok(console::print(text.join("\n"))?)
}

fn describe(sheets: &[&Sheet], width: usize) -> String {
    let mut text = String::new();
    for sheet in sheets {
        text.push_str(sheet.name);
        if sheet.current_name != sheet.name {
            text.push_str(&format!(" ({} with --sheet-names current)", sheet.current_name));
        }
        text.push('\n');
        wrap(sheet.description, "  ", "  ", width, &mut text);
    }
    for column in sheets.first().map_or(&[][..], |sheet| sheet.columns) {
        text.push_str(&format!("\n  {}\n", column.name));
        wrap(column.description, "      ", "      ", width, &mut text);
    }
    text
}
