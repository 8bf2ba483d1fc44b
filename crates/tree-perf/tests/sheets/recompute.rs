//! Work that activation checkpointing did again.

use operator_sheets::KernelOptions;
use tree_perf::AnalysisOptions;

use crate::common::Table;
use crate::fixture::{Analysed, Fixture};

const FRAME: &str = "torch/utils/checkpoint.py(1110): recompute_fn";

fn options(detect_recompute: bool) -> AnalysisOptions {
    AnalysisOptions {
        detect_recompute,
        kernel_summary: true,
        kernels: KernelOptions { short_kernel_study: true, ..KernelOptions::default() },
        include_overlap_info: true,
        ..AnalysisOptions::default()
    }
}

/// The forward's `aten::mm`, then the same again below the recomputing frame.
fn checkpointed() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.call("aten::mm", 0.0, &[("gemm", 7, 1000.0, 100.0)]);
    fixture.python(FRAME, (20.0, 30.0));
    fixture.call("aten::mm", 25.0, &[("gemm", 7, 1100.0, 50.0)]);
    fixture.call("aten::add", 60.0, &[("add", 7, 1200.0, 50.0)]);
    fixture
}

#[test]
fn each_part_has_its_own_timeline() {
    let rows = checkpointed()
        .table_with("gpu_timeline", options(true))
        .select("type | time ms | percent | is_recompute");
    assert_eq!(rows.len(), 16);
    assert_eq!(rows[0], "computation_time | 0.15 | 60 | False");
    assert_eq!(rows[5], "total_time | 0.25 | 100 | False");
    assert_eq!(rows[8], "computation_time | 0.05 | 100 | True");
    assert_eq!(rows[13], "total_time | 0.05 | 100 | True");
}

#[test]
fn a_part_without_events_has_no_timeline() {
    let mut fixture = Fixture::new();
    fixture.call("aten::mm", 0.0, &[("gemm", 7, 1000.0, 100.0)]);
    let flags = fixture.table_with("gpu_timeline", options(true)).select("is_recompute");
    assert_eq!(flags, ["False"; 8]);
}

#[test]
fn operators_are_told_apart_by_recomputation() {
    let analysis = checkpointed().analyse(options(true));
    let rows = |sheet: &str, columns: &str| Table::of_sheet(&analysis, sheet).select(columns);
    let by_name = "name | is_recompute | total_direct_kernel_time_ms";
    let expected = ["aten::mm | False | 0.1", "aten::add | False | 0.05", "aten::mm | True | 0.05"];
    assert_eq!(rows("ops_summary", by_name), expected);
    let by_name = "name | is_recompute | total_direct_kernel_time_sum";
    let expected = ["aten::mm | False | 100", "aten::mm | True | 50", "aten::add | False | 50"];
    assert_eq!(rows("ops_all", by_name), expected);
    assert_eq!(rows("ops_all_kl_overlap", by_name), expected);
    let by_category = "op category | is_recompute | total_direct_kernel_time_ms";
    let expected = ["GEMM | False | 0.1", "GEMM | True | 0.05", "elementwise | False | 0.05"];
    assert_eq!(rows("ops_summary_by_category", by_category), expected);
}

#[test]
fn nothing_tells_of_recomputation_unless_asked_for() {
    let analysis = checkpointed().analyse(options(false));
    for sheet in tree_perf::pytorch_sheets() {
        if let Some(table) = Table::build(&analysis, &sheet.name) {
            assert!(!table.headers.iter().any(|header| header == "is_recompute"), "{}", sheet.name);
        }
    }
    assert_eq!(Table::of_sheet(&analysis, "ops_summary").rows.len(), 2);
}

#[test]
fn sheets_of_kernels_and_shares_of_the_total_are_of_the_whole_trace() {
    let trace = || {
        let mut fixture = checkpointed();
        let short = [("short", 7, 1120.0, 4.0), ("ncclDevKernel", 8, 1130.0, 5.0)];
        fixture.call_with_dims("aten::sum", 80.0, &[&[2]], &short);
        fixture
    };
    let analysis = trace().analyse(options(true));
    let kernels = Table::of_sheet(&analysis, "kernel_summary");
    assert_eq!(
        kernels.select("Kernel name | Percent of total time (%)"),
        ["gemm | 60", "add | 20", "ncclDevKernel | 2", "short | 1.6"],
        "of 250 µs"
    );
    let whole = trace().analyse(options(false));
    for sheet in ["kernel_summary", "short_kernels_histogram", "short_kernels_all_details", "coll_analysis"] {
        let [told_apart, together] = [&analysis, &whole].map(|analysis| Table::of_sheet(analysis, sheet));
        assert_eq!((told_apart.headers, told_apart.rows), (together.headers, together.rows), "{sheet}");
    }
}

#[test]
fn kernels_of_both_parts_overlap_each_other() {
    let mut fixture = Fixture::new();
    fixture.call("aten::mm", 0.0, &[("gemm", 7, 1000.0, 100.0)]);
    fixture.python(FRAME, (20.0, 30.0));
    fixture.call("aten::add", 25.0, &[("add", 8, 1050.0, 50.0)]);
    let rows = fixture
        .table_with("ops_all_kl_overlap", options(true))
        .select("name | overlapping_kernel_names | is_recompute | overlap_pct_mean");
    assert_eq!(rows, ["aten::mm | ['add'] | False | 0.5", "aten::add | ['gemm'] | True | 1"]);
}

#[test]
fn sheets_of_models_tell_recomputed_calls_apart() {
    let mut fixture = Fixture::new();
    fixture.mm(0.0, &[("gemm", 7, 1000.0, 100.0)]);
    fixture.python(FRAME, (20.0, 30.0));
    fixture.mm(25.0, &[("gemm", 7, 1100.0, 50.0)]);
    fixture.mm(60.0, &[("gemm", 7, 1200.0, 10.0)]);
    let analysis = fixture.analyse(AnalysisOptions { include_overlap_info: true, ..options(true) });
    let columns = "name | is_recompute | Kernel Time (µs)_sum";
    for sheet in ["unified_perf_summary", "unified_perf_summary_kl_overlap", "GEMM", "GEMM_kl_overlap"] {
        let rows = Table::of_sheet(&analysis, sheet).select(columns);
        assert_eq!(rows, ["aten::mm | False | 110", "aten::mm | True | 50"], "{sheet}");
    }
}
