//! Compares sheets with those of a reference implementation on a corpus of recorded traces.
//!
//! The corpus is not part of the repository: `TRACE_CORPUS` names it, or it lies beside the workspace.
//! Without it the comparison is skipped, except under `CI=true`, where that is a failure.
#![allow(clippy::unwrap_used, clippy::print_stderr)] // helpers of tests

mod common;
mod conformance;
mod corpus;

use common::Table;
use conformance::{Comparison, Reference};
use trace2tree::LinkBy;
use tree_perf::{Analysis, AnalysisOptions, PYTORCH_SHEETS};

/// Tables of the reference that this crate does not make: those of modelled operators.
const NOT_MADE: &[&str] = &[
    "unified_perf_summary",
    "GEMM",
    "SDPA_fwd",
    "CONV_fwd",
    "BinaryElementwise",
    "UnaryElementwise",
    "Normalization",
    "Reduce_fwd",
];

/// Columns that the reference does not have.
const ADDED_COLUMNS: &[(&str, &str)] = &[("kernel_summary", "Linked")];

/// A difference that is meant.
#[derive(Debug)]
struct Meant {
    case: &'static str,
    sheet: &'static str,
    /// A column, or `rows` or `columns`.
    column: &'static str,
    /// How many cells differ.
    cells: usize,
    #[expect(dead_code, reason = "for the reader")]
    why: &'static str,
}

const MEANT: &[Meant] = &[Meant {
    case: "normalization-layers",
    sheet: "ops_unique_args",
    column: "trunc_kernel_details",
    cells: 1,
    why: "The mean of four kernels is 4.115 µs. The reference computes 4.114999999999999 from durations in doubles \
          and rounds it to 4.11; the exact mean rounds to 4.12.",
}];

#[test]
fn sheets_agree_with_the_reference_cell_by_cell() {
    let Some(corpus) = corpus::folder() else { return };
    let cases = corpus::cases(&corpus.join("pytorch"));
    assert!(!cases.is_empty(), "no cases in {}", corpus.display());
    let (mut exact, mut clock, mut wrong) = (0, 0, Vec::new());
    let mut met = vec![0; MEANT.len()];
    for case in &cases {
        let options = AnalysisOptions {
            link_by: LinkBy::Flow,
            kernel_summary: true,
            short_kernel_study: true,
            ..AnalysisOptions::default()
        };
        let folder = corpus.join("pytorch").join(case);
        let analysis = Analysis::new(corpus::read(&folder.join("trace.json.gz")), options);
        let references = corpus::tables(&folder.join("reference"));
        for (sheet, comparison) in compare(&analysis, &references) {
            exact += comparison.exact;
            clock += comparison.clock;
            for (column, what) in comparison.differences {
                if ADDED_COLUMNS.contains(&(sheet.as_str(), column.as_str())) {
                    continue;
                }
                let is_this =
                    |meant: &Meant| (meant.case, meant.sheet, meant.column) == (case, &sheet, &column);
                match MEANT.iter().position(is_this) {
                    Some(position) => met[position] += 1,
                    None => wrong.push(format!("{case} {sheet} [{column}]: {what}")),
                }
            }
        }
    }
    eprintln!("{} cases: {exact} cells exact, {clock} within the clock", cases.len());
    for (meant, met) in MEANT.iter().zip(met) {
        if met != meant.cells {
            wrong.push(format!("{met} cells differ of those that are listed: {meant:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// All sheets of a case with their references.
fn compare(analysis: &Analysis, references: &[(String, Reference)]) -> Vec<(String, Comparison)> {
    let difference = |what: &str| Comparison {
        differences: vec![("rows".to_owned(), what.to_owned())],
        ..Comparison::default()
    };
    let mut compared = Vec::new();
    for sheet in PYTORCH_SHEETS {
        assert!(!NOT_MADE.contains(&sheet.current_name), "{} is made", sheet.name);
        let name = sheet.current_name;
        let reference = references.iter().find(|(reference, _)| reference == name);
        let comparison = match (reference, Table::build(analysis, sheet.name)) {
            (Some((_, reference)), Some(ours)) => reference.compare(&ours),
            (Some((_, reference)), None) if !reference.is_empty() => difference("the sheet is missing"),
            (None, Some(ours)) if !ours.rows.is_empty() => difference("a sheet that the reference lacks"),
            _ => continue,
        };
        compared.push((name.to_owned(), comparison));
    }
    for (name, _) in references {
        let made = PYTORCH_SHEETS.iter().any(|sheet| sheet.current_name == name);
        if !made && !NOT_MADE.contains(&name.as_str()) {
            compared.push((name.clone(), difference("no such sheet is made")));
        }
    }
    compared
}
