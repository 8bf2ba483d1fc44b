//! `tracelens columns`: what the columns of the sheets mean.

use inference_phase::sheets::phase_sheets;
use metal_perf::{comparison_sheet, metal_sheets};
use tree_perf::jax::jax_sheets;
use tree_perf::rocprof::rocprof_sheets;
use tree_perf::{Column, Sheet, all_sheets};

use crate::console;
use crate::error::Failure;
use crate::wrapping::wrap;

/// What is known of a sheet without a trace.
struct Described {
    /// Report that it is of, where other reports have a sheet of this name.
    report: Option<&'static str>,
    name: String,
    current_name: String,
    description: String,
    columns: Vec<Column>,
}

/// All sheets that any report may have.
fn sheets() -> Vec<Described> {
    let of_reports = all_sheets().into_iter().map(described);
    let of_phases = phase_sheets().into_iter().map(described);
    let of_profiles = jax_sheets().iter().map(|sheet| described_by("tracelens jax", sheet));
    let of_rocprof = rocprof_sheets().iter().map(|sheet| described_by("tracelens rocprof", sheet));
    let of_metal = metal_sheets().iter().map(|sheet| described_by("tracelens metal", sheet));
    let of_comparison = [described_by("tracelens metal", comparison_sheet())];
    of_reports
        .chain(of_phases)
        .chain(of_profiles)
        .chain(of_rocprof)
        .chain(of_metal)
        .chain(of_comparison)
        .collect()
}

fn described<A>(sheet: sheets::Sheet<'_, A>) -> Described {
    Described {
        report: None,
        current_name: sheet.reference_name.map_or_else(|| sheet.name.to_string(), str::to_owned),
        name: sheet.name.into_owned(),
        description: sheet.description.into_owned(),
        columns: sheet.columns,
    }
}

fn described_by<A>(report: &'static str, sheet: &Sheet<A>) -> Described {
    Described {
        report: Some(report),
        name: sheet.name.to_owned(),
        current_name: sheet.current_name.to_owned(),
        description: sheet.description.to_owned(),
        columns: sheet.columns.to_vec(),
    }
}

pub(crate) fn run(wanted: Option<&str>) -> Result<(), Failure> {
    let all = sheets();
    // Sheets of several reports share a name, under whichever one was asked for.
    let documented = wanted.map(|name| {
        all.iter().find(|sheet| sheet.current_name == name).map_or(name, |sheet| sheet.name.as_str())
    });
    let is_wanted = |sheet: &&Described| documented.is_none_or(|name| name == sheet.name);
    let chosen: Vec<&Described> = all.iter().filter(is_wanted).collect();
    if let (Some(name), true) = (wanted, chosen.is_empty()) {
        let mut known: Vec<&str> = all.iter().map(|sheet| sheet.name.as_str()).collect();
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
            text.push_str(&format!(" ({} with --sheet-names current)", sheet.current_name));
        }
        text.push('\n');
        // One description for sheets that share it too.
        if sheets.get(position + 1).is_none_or(|next| next.description != sheet.description) {
            wrap(&sheet.description, "  ", "  ", width, &mut text);
        }
    }
    for column in sheets.first().map_or(&[][..], |sheet| &sheet.columns) {
        text.push_str(&format!("\n  {}\n", column.name));
        wrap(column.description, "      ", "      ", width, &mut text);
    }
    text
}
