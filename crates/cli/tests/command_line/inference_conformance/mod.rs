//! Compares the inference report, as the program writes it, with that of a reference implementation on recorded
//! traces of engines, graph captures included.
//!
//! The recordings are not part of the repository; `testdata` says where they lie and what their absence means.
#![allow(clippy::print_stderr)] // how much agrees

#[path = "../../../../tree-perf/tests/conformance/mod.rs"]
mod conformance;

use std::path::{Path, PathBuf};
use std::process::Command;

use conformance::{Comparison, Reference, Verdicts};

use crate::common::Table;

/// Sheets that the reference does not have.
const ADDED_SHEETS: &[&str] = &["gpu_timeline_per_device", "coverage", "roofline", "roofline_points"];

/// Columns that the reference does not have. Those of the roofline it has too, when it is given an architecture;
/// here they follow from the device that the trace names.
const ADDED_COLUMNS: &[&str] = &[
    "Linked",
    "reason",
    "note",
    "nested",
    "nested_count",
    "num_kernels",
    "entry_point",
    "call_stack_full",
    "Roofline Bound",
    "Roofline Bound_first",
    "Roofline Time (µs)_first",
    "Pct Roofline_mean",
    "Pct Roofline_median",
    "Pct Roofline_std",
    "Pct Roofline_min",
    "Pct Roofline_max",
];

/// The tables in a folder, by name.
fn tables(folder: &Path) -> Vec<(String, PathBuf)> {
    testdata::csv_files(folder).collect()
}

/// A table that the program wrote.
fn table(path: &Path) -> Table {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let headers = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let cell = |cell: &str| (!cell.is_empty()).then(|| cell.to_owned());
    let rows = reader.records().map(|record| record.unwrap().iter().map(cell).collect()).collect();
    Table { headers, rows }
}

/// Writes the report of a case with the options that the reference was given, and what only we can tell left out.
fn write(case: &Path, output: &Path) {
    let is_trace = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "gz");
    let trace = testdata::entries(case).into_iter().find(is_trace).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tracelens"));
    command.arg("inference").arg(trace).arg("--output_csvs_dir").arg(output);
    let captures = case.join("capture_traces");
    if captures.is_dir() {
        command.arg("--capture_folder").arg(captures);
    }
    let options = [
        "--enable_pseudo_ops",
        "--group_by_parent_module",
        "--group_by_num_kernels",
        "--include_call_stack",
        "--disable_coll_analysis",
        "--quiet",
    ];
    let ended = command
        .args(options)
        .args(["--link-by", "flow", "--sheet-names", "current", "--parity", "tracelens"])
        .output()
        .unwrap();
    assert!(ended.status.success(), "{case:?}: {}", String::from_utf8_lossy(&ended.stderr));
}

fn compare(
    case: &str,
    references: &[(String, PathBuf)],
    ours: &[(String, PathBuf)],
    verdicts: &mut Verdicts,
) {
    let difference = |what: &str| {
        let mut comparison = Comparison::default();
        comparison.differ("rows", "", what.to_owned());
        comparison
    };
    for (name, path) in references {
        let reference = Reference::read(path);
        let comparison = match ours.iter().find(|(ours, _)| ours == name) {
            Some((_, path)) => reference.compare(&table(path)),
            None if reference.is_empty() => continue,
            None => difference("the sheet is missing"),
        };
        verdicts.add(case, name, comparison);
    }
    for (name, path) in ours {
        let is_known =
            ADDED_SHEETS.contains(&name.as_str()) || references.iter().any(|(known, _)| known == name);
        if !is_known && !table(path).rows.is_empty() {
            verdicts.add(case, name, difference("a sheet that the reference lacks"));
        }
    }
}

#[test]
fn inference_reports_of_the_corpus_agree_with_the_reference_cell_by_cell() {
    let Some(corpus) = testdata::corpus("inference") else { return };
    let output = tempfile::tempdir().unwrap();
    let mut verdicts = Verdicts::new(include_str!("meant.txt"), ADDED_COLUMNS);
    let mut cases = 0;
    for case in testdata::entries(&corpus).iter().filter(|case| case.join("perf_csvs").is_dir()) {
        let name = case.file_name().unwrap().to_str().unwrap();
        let folder = output.path().join(name);
        write(case, &folder);
        compare(name, &tables(&case.join("perf_csvs")), &tables(&folder), &mut verdicts);
        cases += 1;
    }
    assert!(cases > 0, "no cases in {}", corpus.display());
    eprintln!("{cases} cases: {} cells exact, {} within the clock", verdicts.exact, verdicts.clock);
    let wrong = verdicts.wrong();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
