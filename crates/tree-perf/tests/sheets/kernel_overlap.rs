//! Operators told apart by what ran beside them.

use trace_ingest::{Category, EventArguments};
use tree_perf::{AnalysisOptions, Conventions, UnlinkedRule};

use crate::common::Table;
use crate::fixture::{Analysed, Fixture, Input, Kernel};

const SHEET: &str = "ops_all_kl_overlap";

fn options() -> AnalysisOptions {
    AnalysisOptions { include_overlap_info: true, ..AnalysisOptions::default() }
}

/// `name | names beside it | share`, by name.
fn overlaps(fixture: Fixture) -> Vec<String> {
    let mut rows =
        fixture.table_with(SHEET, options()).select("name | overlapping_kernel_names | overlap_pct_mean");
    rows.sort();
    rows
}

/// Operators `A`, `B`, … each with its kernels.
fn operators(kernels: &[&[Kernel<'_>]]) -> Fixture {
    let mut fixture = Fixture::new();
    for (position, (kernels, name)) in kernels.iter().zip(["A", "B", "C"]).enumerate() {
        fixture.call(name, position as f64 * 20.0, kernels);
    }
    fixture
}

#[test]
fn kernels_overlap_across_streams_from_one_microsecond_on() {
    let a: Kernel<'_> = ("ka", 7, 1000.0, 100.0);
    for (case, b, shared) in [
        ("touching", ("kb", 8, 1100.0, 50.0), None),
        ("apart", ("kb", 8, 1200.0, 50.0), None),
        ("same stream", ("kb", 7, 1050.0, 100.0), None),
        ("less than a microsecond", ("kb", 8, 1099.2, 10.0), None),
        ("of no length", ("kb", 8, 1050.0, 0.0), None),
        ("exactly a microsecond", ("kb", 8, 1099.0, 100.0), Some(("0.01", "0.01"))),
        ("partial", ("kb", 8, 1050.0, 150.0), Some(("0.5", "0.33"))),
        ("contained", ("kb", 8, 1050.0, 25.0), Some(("0.25", "1"))),
        ("identical", ("kb", 8, 1000.0, 100.0), Some(("1", "1"))),
    ] {
        let expected = match shared {
            None => ["A | - | -".to_owned(), "B | - | -".to_owned()],
            Some((of_a, of_b)) => [format!("A | ['kb'] | {of_a}"), format!("B | ['ka'] | {of_b}")],
        };
        assert_eq!(overlaps(operators(&[&[a], &[b]])), expected, "{case}");
    }
}

#[test]
fn an_unknown_stream_is_unlike_every_other() {
    let mut fixture = operators(&[&[("ka", 7, 1000.0, 100.0)]]);
    fixture.op("B", (50.0, 10.0));
    let linked = EventArguments { correlation: Some(99), ..EventArguments::default() };
    fixture.launch("cudaLaunchKernel", (51.0, 1.0), 99);
    fixture.event(Category::KERNEL, "kb", (0, 7), (1050.0, 100.0), linked);
    assert_eq!(overlaps(fixture), ["A | ['kb'] | 0.5", "B | ['ka'] | 0.5"]);
}

#[test]
fn kernels_of_one_operator_do_not_overlap_each_other() {
    let mut fixture =
        operators(&[&[("gemmA", 7, 1050.0, 50.0), ("gemmB", 8, 1060.0, 50.0)], &[("add", 7, 1250.0, 50.0)]]);
    fixture.call("C", 50.0, &[("kfoo", 8, 1260.0, 10.0)]);
    assert_eq!(overlaps(fixture), ["A | - | -", "B | ['kfoo'] | 0.2", "C | ['add'] | 1"]);
}

#[test]
fn kernels_of_calls_outside_operators_overlap_like_those_of_operators() {
    let mut fixture = operators(&[&[("ka", 7, 1000.0, 100.0)]]);
    fixture.launches(50.0, &[("bare", 8, 1050.0, 100.0), ("bare too", 9, 1050.0, 100.0)]);
    let expected = [
        "A | ['bare', 'bare too'] | 0.5",
        "cudaLaunchKernel | ['ka', 'bare too'] | 1",
        "cudaLaunchKernel | ['ka', 'bare'] | 1",
    ];
    assert_eq!(overlaps(fixture), expected);
}

#[test]
fn the_share_is_of_the_operators_own_run_time() {
    for (b, of_a, of_b) in
        [(("kb", 8, 1050.0, 100.0), "0.25", "0.5"), (("kb", 8, 1050.0, 200.0), "0.5", "0.5")]
    {
        let kernels = [("ka", 7, 1000.0, 100.0), ("ka", 7, 1200.0, 100.0)];
        let expected = [format!("A | ['kb'] | {of_a}"), format!("B | ['ka'] | {of_b}")];
        assert_eq!(overlaps(operators(&[&kernels, &[b]])), expected);
    }
}

#[test]
fn partners_are_named_by_start_and_listed_with_their_share() {
    let trace = operators(&[
        &[("ka", 7, 1000.0, 100.0)],
        &[("late", 8, 1060.0, 25.0)],
        &[("early", 9, 1010.0, 25.0), ("late", 9, 1070.0, 10.0)],
    ]);
    let table = trace.table_with(SHEET, options());
    let row = table.rows.iter().position(|row| row[0].as_deref() == Some("A")).unwrap();
    let of_a = |column: &str| table.select(column)[row].clone();
    assert_eq!(of_a("overlapping_kernel_names"), "['early', 'late']");
    // Two kernels `late`, 25 and 10 µs long, beside 25 and 10 of 100 µs; what both share counts once.
    assert_eq!(of_a("overlap_pct_mean"), "0.5");
    assert_eq!(
        of_a("trunc_overlapping_kernels_details"),
        "[{'name': 'late', 'stream': 8, 'mean_duration_us': 17.5}, \
         {'name': 'early', 'stream': 9, 'mean_duration_us': 25.0}]"
    );
    let details = of_a("overlapping_kernels_details_summary");
    assert!(
        details.starts_with("[{'name': 'late', 'stream': 8, 'overlap_pct': 0.18, 'count': 1, "),
        "{details}"
    );
    assert!(
        details.contains("{'name': 'early', 'stream': 9, 'overlap_pct': 0.25, 'count': 1, "),
        "{details}"
    );
}

#[test]
fn calls_with_different_partners_are_different_rows() {
    let mut fixture = Fixture::new();
    fixture.call("A", 0.0, &[("ka", 7, 1000.0, 100.0)]);
    fixture.call("A", 20.0, &[("ka", 7, 2000.0, 100.0)]);
    fixture.call("A", 40.0, &[("ka", 7, 3000.0, 100.0)]);
    fixture.call("B", 60.0, &[("kb", 8, 2000.0, 50.0)]);
    fixture.call("B", 80.0, &[("kb", 8, 3000.0, 60.0)]);
    let rows = fixture.table_with(SHEET, options()).select(
        "name | overlapping_kernel_names | operation_count | overlap_pct_mean \
         | overlap_pct_median | overlap_pct_std | overlap_pct_min | overlap_pct_max",
    );
    let expected = [
        "A | ['kb'] | 2 | 0.55 | 0.55 | 0.07071067811865475 | 0.5 | 0.6",
        "B | ['ka'] | 2 | 1 | 1 | 0 | 1 | 1",
        "A | - | 1 | - | - | - | - | -",
    ];
    assert_eq!(rows.len(), 3);
    for expected in expected {
        assert!(rows.iter().any(|row| row == expected), "{expected} is not among {rows:#?}");
    }
}

#[test]
fn overlap_is_the_same_whichever_sheet_is_made_first() {
    let trace = || operators(&[&[("ka", 7, 1000.0, 100.0)], &[("kb", 8, 1050.0, 150.0)]]);
    let first = trace().table_with(SHEET, options());
    let analysis = trace().analyse(options());
    for sheet in ["gpu_timeline", "ops_summary", "ops_all"] {
        Table::of_sheet(&analysis, sheet);
    }
    assert_eq!(Table::of_sheet(&analysis, SHEET).rows, first.rows);
}

#[test]
fn kernels_without_a_launch_take_part_only_when_they_count() {
    for (unlinked, expected) in
        [(UnlinkedRule::LeftOut, "A | - | -"), (UnlinkedRule::Counted, "A | ['early'] | 0.5")]
    {
        let mut fixture = operators(&[&[("ka", 7, 1000.0, 100.0)]]);
        fixture.unlinked(("early", 8, 950.0, 100.0));
        let conventions = Conventions { unlinked, ..Conventions::default() };
        let options = AnalysisOptions { conventions, ..options() };
        let rows =
            fixture.table_with(SHEET, options).select("name | overlapping_kernel_names | overlap_pct_mean");
        assert_eq!(rows, [expected]);
    }
}

#[test]
fn the_sheet_is_left_out_unless_asked_for() {
    let analysis = operators(&[&[("ka", 7, 1000.0, 100.0)]]).analyse(AnalysisOptions::default());
    assert!(Table::build(&analysis, SHEET).is_none());
}

#[test]
fn rows_that_only_differ_in_their_partners_stand_together() {
    let mut fixture = Fixture::new();
    let small: &[Input<'_>] = &[(&[2, 2], "float", ""), (&[2, 2], "float", "")];
    // 30 beside another kernel and 25 alone: 55 together, which is more than 40.
    fixture.mm(0.0, &[("gemm", 7, 1000.0, 30.0)]);
    fixture.mm(20.0, &[("gemm", 7, 2000.0, 25.0)]);
    fixture.modelled_call("aten::mm", 40.0, small, &[("gemm", 7, 3000.0, 40.0)]);
    fixture.call("other", 60.0, &[("beside", 8, 1010.0, 5.0)]);
    let analysis = fixture.analyse(options());
    let columns = "overlapping_kernel_names | Kernel Time (µs)_sum";
    let rows = Table::of_sheet(&analysis, "unified_perf_summary_kl_overlap").select(columns);
    assert_eq!(rows, ["['beside'] | 30", "- | 25", "- | 40", "['gemm'] | 5"]);
    let columns = "overlapping_kernel_names_first | Kernel Time (µs)_sum";
    let rows = Table::of_sheet(&analysis, "GEMM_kl_overlap").select(columns);
    assert_eq!(rows, ["['beside'] | 30", "- | 25", "- | 40"]);
}
