//! `tracelens columns`: what the columns of the sheets mean.

use std::borrow::Cow;

use inference_phase::sheets::phase_sheets;
use metal_perf::{comparison_sheet, metal_sheets};
use rocprof_perf::rocprof_sheets;
use sheets::{Column, Sheet};
use tree_perf::all_sheets;
use xla_perf::jax_sheets;

use crate::console;
use crate::error::Failure;
use crate::wrapping::wrap;

/// What is known of a sheet without a trace.
struct Described {
    /// Report that it is of, where other reports have a sheet of this name.
    report: Option<&'static str>,
    name: Cow<'static, str>,
    current_name: Cow<'static, str>,
    description: Cow<'static, str>,
    columns: Vec<Column>,
}

impl Described {
    fn of<A>(report: Option<&'static str>) -> impl Fn(Sheet<'static, A>) -> Self {
        move |sheet| Described {
            report,
            current_name: sheet.reference_name.map_or(sheet.name.clone(), Cow::Borrowed),
            name: sheet.name,
            description: sheet.description,
            columns: sheet.columns,
        }
    }
}

/// All sheets that any report may have.
fn sheets() -> Vec<Described> {
    let mut all: Vec<Described> = all_sheets().into_iter().map(Described::of(None)).collect();
    all.extend(phase_sheets().into_iter().map(Described::of(None)));
    all.extend(jax_sheets().into_iter().map(Described::of(Some("tracelens jax"))));
    all.extend(rocprof_sheets().into_iter().map(Described::of(Some("tracelens rocprof"))));
    all.extend(metal_sheets().into_iter().map(Described::of(Some("tracelens metal"))));
    all.push(Described::of(Some("tracelens metal"))(comparison_sheet()));
    all
}

pub(crate) fn run(wanted: Option<&str>) -> Result<(), Failure> {
    let all = sheets();
    // Sheets of several reports share a name, under whichever one was asked for.
    let documented =
        |name| all.iter().find(|sheet| sheet.current_name == name).map_or(name, |sheet| sheet.name.as_ref());
    let documented = wanted.map(documented);
    let is_wanted = |sheet: &&Described| documented.is_none_or(|name| name == sheet.name);
    let chosen: Vec<&Described> = all.iter().filter(is_wanted).collect();
    if let (Some(name), true) = (wanted, chosen.is_empty()) {
        let mut known: Vec<&str> = all.iter().map(|sheet| sheet.name.as_ref()).collect();
        let mut seen = std::collections::HashSet::new();
        known.retain(|name| seen.insert(*name));
        return Err(Failure::UnknownSheet { name: name.to_string(), known: known.join(", ") });
    }
    let width = console::style().width.min(110);
    // Sheets that differ in what they show and not in their columns are described together.
    let text: Vec<String> =
        chosen.chunk_by(|a, b| a.columns == b.columns).map(|alike| describe(alike, width)).collect();
    Ok(console::print(text.join("\n"))?)
}

fn describe(sheets: &[&Described], width: usize) -> String {
    let mut text = String::new();
    for (position, sheet) in sheets.iter().enumerate() {
        text.push_str(&sheet.name);
        if let Some(report) = sheet.report {
            text.push_str(&format!(" ({report})"));
        }
        if sheet.current_name != sheet.name {
            // Only the report of PyTorch traces has the option.
            let where_so = if sheet.report.is_none() { "with --sheet-names current" } else { "in TraceLens" };
            text.push_str(&format!(" ({} {where_so})", sheet.current_name));
        }
        text.push('\n');
        // One description for sheets that share it too.
        if sheets.get(position + 1).is_none_or(|next| next.description != sheet.description) {
            wrap(&sheet.description, "  ", "  ", width, &mut text);
        }
    }
    for column in sheets.first().into_iter().flat_map(|sheet| &sheet.columns) {
        text.push_str(&format!("\n  {}\n", column.name));
        wrap(column.description, "      ", "      ", width, &mut text);
    }
    text
}
