//! The handbook's page of all columns, in Markdown.

use sheets::{Column, ColumnKind};
use trace_ingest::RecordingKind;

use crate::known_sheets::{KnownSheet, ReportOf, known_sheets};

/// Columns of all sheets, by report.
#[must_use]
pub fn columns_page() -> String {
    let mut text = "# Columns\n\nColumns of all sheets, by report.\n".to_owned();
    let sheets = known_sheets();
    for (report, title) in [
        (ReportOf::Recording(RecordingKind::Trace), "PyTorch traces"),
        (ReportOf::Recording(RecordingKind::XPlane), "XPlane profiles"),
        (ReportOf::Recording(RecordingKind::Rocprof), "rocprofv3 profiles"),
        (
            ReportOf::Recording(RecordingKind::Nsys),
            "Nsight Systems, in addition to the sheets of PyTorch traces",
        ),
        (ReportOf::Recording(RecordingKind::TenstorrentOps), "Tenstorrent operations"),
        (ReportOf::Job, "Multi-rank jobs"),
        (ReportOf::Comparison, "Run comparisons"),
        (ReportOf::Trees, "Tree comparisons"),
    ] {
        text.push_str(&format!("\n## {title}\n"));
        let mut left: Vec<&KnownSheet> = sheets.iter().filter(|sheet| sheet.report == report).collect();
        // Sheets with the same columns are described together, where the first of them stands.
        while let Some(first) = left.first().copied() {
            let (same, others) = left.into_iter().partition(|sheet| sheet.columns == first.columns);
            left = others;
            describe(&mut text, first, &same);
        }
    }
    text
}

fn describe(text: &mut String, first: &KnownSheet, sheets: &[&KnownSheet]) {
    match sheets.len() {
        1 => text.push_str(&format!("\n### `{}`\n\n{}\n", first.name, first.description)),
        all => {
            text.push_str(&format!("\n### `{}` and {} more\n\n", first.name, all - 1));
            for sheet in sheets {
                text.push_str(&format!("- `{}`: {}\n", sheet.name, sheet.description));
            }
        }
    }
    for sheet in sheets {
        if let Some(name) = sheet.reference_name {
            text.push_str(&format!("\nIn TraceLens, `{}` is `{name}`.\n", sheet.name));
        }
    }
    text.push_str("\n| column | in JSON | unit | meaning |\n| --- | --- | --- | --- |\n");
    for (column, (title, meaning)) in first.columns.iter().zip(first.described()) {
        let meaning = meaning.replace('|', "\\|").replace('<', "&lt;");
        text.push_str(&format!("{} {meaning} |\n", row_start(column, &title)));
    }
}

/// The title, the name where it is another, and the unit.
fn row_start(column: &Column, title: &str) -> String {
    let name = if title == column.name { String::new() } else { format!("`{}`", column.name) };
    format!("| {title} | {name} | {} |", unit(column))
}

fn unit(column: &Column) -> String {
    let unit = match column.kind {
        ColumnKind::Text => "text",
        ColumnKind::Nested => "list or record",
        ColumnKind::Names => "list of names",
        ColumnKind::Count => "count",
        ColumnKind::Identifier => "identifier",
        ColumnKind::Flag => "True or False",
        ColumnKind::Whole(unit) | ColumnKind::Number(unit) => unit.symbol(),
    };
    column.per.map_or_else(|| unit.to_owned(), |per| format!("{unit} per {per}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sheet_and_every_column_is_on_the_page() {
        let page = columns_page();
        for sheet in known_sheets() {
            let name = &sheet.name;
            let stands = [format!("### `{name}`"), format!("- `{name}`: {}", sheet.description)];
            assert!(stands.iter().any(|line| page.contains(line)), "{name}");
            for column in &sheet.columns {
                assert!(page.contains(&format!("\n{}", row_start(column, &sheet.title(column)))), "{name}");
            }
        }
    }
}
