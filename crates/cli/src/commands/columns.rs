//! `tracelens columns`: what the columns of the sheets mean.

use tree_perf::{PYTORCH_SHEETS, Sheet};

use crate::console;
use crate::error::Failure;

pub(crate) fn run(wanted: Option<&str>) -> Result<(), Failure> {
    let sheets: Vec<&Sheet> = PYTORCH_SHEETS
        .iter()
        .copied()
        .filter(|sheet| wanted.is_none_or(|name| name == sheet.name || name == sheet.current_name))
        .collect();
    if let (Some(name), true) = (wanted, sheets.is_empty()) {
        let known: Vec<&str> = PYTORCH_SHEETS.iter().map(|sheet| sheet.name).collect();
        return Err(Failure::UnknownSheet { name: name.to_string(), known: known.join(", ") });
    }
    let width = console::style().width.min(110);
    let text: Vec<String> = sheets.into_iter().map(|sheet| describe(sheet, width)).collect();
    Ok(console::print(text.join("\n"))?)
}

fn describe(sheet: &Sheet, width: usize) -> String {
    let mut text = String::new();
    text.push_str(sheet.name);
    if sheet.current_name != sheet.name {
        text.push_str(&format!(" ({} with --sheet-names current)", sheet.current_name));
    }
    text.push('\n');
    wrap(sheet.description, 2, width, &mut text);
    for column in sheet.columns {
        text.push_str(&format!("\n  {}\n", column.name));
        wrap(column.description, 6, width, &mut text);
    }
    text
}

/// Adds `text` in lines of at most `width` characters, each indented.
fn wrap(text: &str, indent: usize, width: usize, out: &mut String) {
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            out.push('\n');
            used = 0;
        }
        if used == 0 {
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_at_words_and_indented() {
        let mut out = String::new();
        wrap("one two three four", 2, 11, &mut out);
        assert_eq!(out, "  one two\n  three\n  four\n");
    }
}
