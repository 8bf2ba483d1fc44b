//! Compares sheets with those of a reference implementation on a corpus of recorded traces.
#![allow(clippy::print_stderr)] // how much agrees

use operator_sheets::KernelOptions;
use perf_models::CommunicationPatterns;
use trace2tree::LinkBy;
use tree_perf::{Analysis, AnalysisOptions, pytorch_sheets};

use super::conformance::{Comparison, Reference, Verdicts};
use crate::common::{THEIRS, Table};

/// Sheets that the reference does not have.
const ADDED_SHEETS: &[&str] =
    &["gpu_timeline_per_device", "host_ops", "coverage", "roofline", "roofline_points"];

/// Columns that the reference does not have. Those of the roofline it has too, when it is given an architecture;
/// here they follow from the device that the trace names.
const ADDED_COLUMNS: &[&str] = &[
    "Linked",
    "reason",
    "note",
    "nested",
    "nested_count",
    "Roofline Bound",
    "Roofline Bound_first",
    "Roofline Time (µs)_first",
    "Pct Roofline_mean",
    "Pct Roofline_median",
    "Pct Roofline_std",
    "Pct Roofline_min",
    "Pct Roofline_max",
];

#[test]
fn sheets_agree_with_the_reference_cell_by_cell() {
    let Some(folder) = testdata::corpus("pytorch") else { return };
    let cases = super::cases(&folder);
    assert!(!cases.is_empty(), "no cases in {}", folder.display());
    let mut verdicts = Verdicts::new(include_str!("meant.txt"), ADDED_COLUMNS);
    for case in &cases {
        let options = AnalysisOptions {
            link_by: LinkBy::Flow,
            kernel_summary: true,
            kernels: KernelOptions { short_kernel_study: true, ..KernelOptions::default() },
            conventions: THEIRS,
            communication: CommunicationPatterns::tracelens(),
            ..AnalysisOptions::default()
        };
        let folder = folder.join(case);
        let analysis = Analysis::new(super::read(&folder.join("trace.json.gz")), options);
        let references = super::tables(&folder.join("reference"));
        for (sheet, comparison) in compare(&analysis, &references) {
            verdicts.add(case, &sheet, comparison);
        }
    }
    eprintln!("{} cases: {} cells exact, {} within the clock", cases.len(), verdicts.exact, verdicts.clock);
    let wrong = verdicts.wrong();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// All sheets of a case with their references.
fn compare(analysis: &Analysis, references: &[(String, Reference)]) -> Vec<(String, Comparison)> {
    let difference = |what: &str| {
        let mut comparison = Comparison::default();
        comparison.differ("rows", "", what.to_owned());
        comparison
    };
    let mut compared = Vec::new();
    for sheet in pytorch_sheets() {
        let name = sheet.reference_name.unwrap_or(&sheet.name);
        let reference = references.iter().find(|(reference, _)| reference == name);
        let comparison = match (reference, Table::build(analysis, &sheet.name)) {
            (Some((_, reference)), Some(ours)) => reference.compare(&ours),
            (Some((_, reference)), None) if !reference.is_empty() => difference("the sheet is missing"),
            (None, Some(ours)) if !ours.rows.is_empty() && !ADDED_SHEETS.contains(&name) => {
                difference("a sheet that the reference lacks")
            }
            _ => continue,
        };
        compared.push((name.to_owned(), comparison));
    }
    for (name, _) in references {
        let made = pytorch_sheets().iter().any(|sheet| sheet.reference_name.unwrap_or(&sheet.name) == name);
        if !made {
            compared.push((name.clone(), difference("no such sheet is made")));
        }
    }
    compared
}
