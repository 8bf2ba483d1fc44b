//! `tracelens info columns`: what the columns of the sheets mean.

use answers::{KnownSheet, ReportOf, known_sheets};
use serde_json::json;
use trace_ingest::RecordingKind;

use crate::console;
use crate::context::Context;
use crate::error::Failure;
use crate::wrapping::wrap;

/// Report that a sheet is of, where other reports have a sheet of its name.
fn report(sheet: &KnownSheet) -> Option<&'static str> {
    match sheet.report {
        ReportOf::Recording(RecordingKind::Trace) => None,
        ReportOf::Recording(RecordingKind::Nsys) => Some("tracelens nsys"),
        ReportOf::Recording(RecordingKind::XPlane) => Some("tracelens jax"),
        ReportOf::Recording(RecordingKind::Rocprof) => Some("tracelens rocprof"),
        ReportOf::Recording(RecordingKind::TenstorrentOps) => Some("tracelens metal"),
        ReportOf::Job => Some("tracelens ranks"),
        ReportOf::Comparison => Some("tracelens compare"),
        ReportOf::Trees => Some("tracelens diff"),
    }
}

pub(crate) fn run(wanted: Option<&str>, json: bool, context: &Context<'_>) -> Result<(), Failure> {
    let all = known_sheets();
    // Sheets of several reports share a name, under whichever one was asked for.
    let documented = |name| {
        all.iter().find(|sheet| sheet.reference_name == Some(name)).map_or(name, |sheet| sheet.name.as_ref())
    };
    let documented = wanted.map(documented);
    let is_wanted = |sheet: &&KnownSheet| documented.is_none_or(|name| name == sheet.name);
    let chosen: Vec<&KnownSheet> = all.iter().filter(is_wanted).collect();
    if let (Some(name), true) = (wanted, chosen.is_empty()) {
        let mut known: Vec<&str> = all.iter().map(|sheet| sheet.name.as_ref()).collect();
        let mut seen = std::collections::HashSet::new();
        known.retain(|name| seen.insert(*name));
        return Err(Failure::UnknownSheet { name: name.to_string(), known: known.join(", ") });
    }
    if json {
        let sheets: Vec<_> = chosen.iter().map(|sheet| sheet.to_json(None)).collect();
        return context.print_result(context.about(&[]), &json!({ "sheets": sheets }));
    }
    let width = context.style().width.min(110);
    // Sheets that differ in what they show and not in their columns are described together.
    let text: Vec<String> =
        chosen.chunk_by(|a, b| a.columns == b.columns).map(|alike| describe(alike, width)).collect();
    Ok(console::print(text.join("\n"))?)
}

fn describe(sheets: &[&KnownSheet], width: usize) -> String {
    let mut text = String::new();
    for (position, sheet) in sheets.iter().enumerate() {
        text.push_str(&sheet.name);
        if let Some(report) = report(sheet) {
            text.push_str(&format!(" ({report})"));
        }
        if let Some(name) = sheet.reference_name {
            // Only in the report of PyTorch traces does the option change names.
            let is_trace = sheet.report == ReportOf::Recording(RecordingKind::Trace);
            let reference_place = if is_trace { "with --sheet-names current" } else { "in TraceLens" };
            text.push_str(&format!(" ({name} {reference_place})"));
        }
        text.push('\n');
        // One description for sheets that share it too.
        if sheets.get(position + 1).is_none_or(|next| next.description != sheet.description) {
            wrap(&sheet.description, "  ", "  ", width, &mut text);
        }
    }
    let Some(sheet) = sheets.first() else { return text };
    for (column, (title, meaning)) in sheet.columns.iter().zip(sheet.described()) {
        let name = if title == column.name { String::new() } else { format!(", in JSON {}", column.name) };
        text.push_str(&format!("\n  {title}{name}\n"));
        wrap(&meaning, "      ", "      ", width, &mut text);
    }
    text
}
