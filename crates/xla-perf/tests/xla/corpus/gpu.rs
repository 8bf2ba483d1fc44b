//! The sheets of a recorded JAX profile against those of TraceLens, and figures known by heart.

use sheets::Layout;
use std::collections::BTreeSet;
use std::path::PathBuf;

use trace_ingest::ReadOptions;
use trace_ingest::xplane::read_profile;
use xla_perf::{Conventions, JaxAnalysis, JaxOptions, WorkRule, jax_finding, jax_sheets};

use super::conformance::Verdicts;
use super::{folder, tables};
use crate::common::Table;

const CASE: &str = "mi300-conv3d-jax06";

/// Columns that TraceLens does not have.
const ADDED_COLUMNS: &[&str] = &["gpus"];

fn analysis(work: WorkRule) -> Option<(PathBuf, JaxAnalysis)> {
    let case = folder(CASE)?;
    let profile = read_profile(&case.join("trace.xplane.pb"), &ReadOptions::default()).unwrap();
    Some((
        case,
        JaxAnalysis::new(
            profile,
            JaxOptions {
                conventions: Conventions { work, ..Conventions::default() },
                ..JaxOptions::default()
            },
        ),
    ))
}

fn table(analysis: &JaxAnalysis, name: &str) -> Table {
    let sheets = jax_sheets();
    let sheet = sheets.iter().find(|sheet| sheet.name == name).unwrap();
    Table::new(&sheet.table_in(analysis, Layout::Listed).unwrap().unwrap())
}

/// `meant` is what differs.
fn check(work: WorkRule, meant: &str) {
    let Some((case, analysis)) = analysis(work) else { return };
    let mut verdicts = Verdicts::new(meant, ADDED_COLUMNS);
    for (name, reference) in tables(&case.join("reference")) {
        assert!(!reference.is_empty(), "{name}");
        let mut ours = table(&analysis, &name);
        if name == "gpu_timeline" {
            // TraceLens has the GPUs in the order of a hash table, ours are in that of their ids.
            ours.rows.rotate_left(8);
        }
        verdicts.add(CASE, &name, reference.compare(&ours));
    }
    let (exact, clock) = (verdicts.exact, verdicts.clock);
    let wrong = verdicts.wrong();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    // Times are whole picoseconds on both sides; a rate may be near another one by chance.
    assert!(
        exact > 700 && (clock == 0 || !meant.is_empty()),
        "{exact} cells exact, {clock} within the clock"
    );
}

#[test]
fn sheets_with_the_figures_of_the_reference_are_its_sheets() {
    check(WorkRule::LibraryKernel, "");
}

#[test]
fn sheets_differ_from_the_reference_where_it_is_wrong() {
    check(WorkRule::Instruction, include_str!("meant.txt"));
}

#[test]
fn figures_of_a_recorded_convolution_are_right() {
    let Some((_, analysis)) = analysis(WorkRule::Instruction) else { return };
    for line in include_str!("convolution.txt").lines().filter(|line| !line.starts_with('#')) {
        let (asked, expected) = line.split_once(" => ").unwrap();
        let (row, columns) = asked.split_once(": ").unwrap();
        let (sheet, row) = row.split_once(' ').unwrap();
        let rows = table(&analysis, sheet).select(columns);
        assert_eq!(rows[row.parse::<usize>().unwrap()], expected, "{asked}");
    }
    let finding = jax_finding(&analysis).unwrap();
    assert_eq!(
        (finding.category.as_ref().map(|(name, _)| name.as_str()), finding.operator.as_str()),
        (Some("data_movement"), "input_transpose_fusion")
    );
}

#[test]
fn every_kernel_is_in_one_call_and_every_call_in_one_row() {
    let Some((_, analysis)) = analysis(WorkRule::Instruction) else { return };
    let mut kernels: Vec<usize> = analysis.calls().iter().flat_map(|call| call.kernels.clone()).collect();
    kernels.sort_unstable();
    assert_eq!(kernels, (0..analysis.device_events().len()).collect::<Vec<_>>());
    let calls: f64 = table(&analysis, "ops_all").numbers("operation_count").iter().sum();
    assert_eq!(calls as usize, analysis.calls().len());
    let of_summary: f64 = table(&analysis, "ops_summary").numbers("Count").iter().sum();
    assert_eq!(of_summary, calls);
    let of_sheets: f64 =
        ["op_conv", "op_xla"].iter().flat_map(|name| table(&analysis, name).numbers("name_count")).sum();
    // All but the copies.
    assert_eq!(of_sheets, 20.0);
    let names: Vec<_> = jax_sheets().into_iter().map(|sheet| sheet.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
}

#[test]
fn keywords_keep_what_comes_from_them_and_nothing_is_no_fault() {
    let Some((case, _)) = analysis(WorkRule::Instruction) else { return };
    for (keyword, kernels) in [("conv_general_dilated", 10), ("no such operation", 0)] {
        let profile = read_profile(&case.join("trace.xplane.pb"), &ReadOptions::default()).unwrap();
        let options =
            JaxOptions { kernel_metadata_keyword_filters: vec![keyword.to_owned()], ..JaxOptions::default() };
        let analysis = JaxAnalysis::new(profile, options);
        let rows = table(&analysis, "kernel_launchers").rows.len();
        assert!(if kernels == 0 { rows == 0 } else { rows >= kernels && rows < 25 }, "{keyword}: {rows}");
        let warned = analysis.notices().iter().any(|notice| notice.to_string().contains(keyword));
        assert_eq!(warned, kernels == 0);
        for sheet in jax_sheets() {
            sheet.table(&analysis).unwrap();
        }
    }
}
