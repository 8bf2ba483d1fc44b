//! The operator sheets: what is grouped, how it is summed, in which order.

use testdata::trace::correlated;
use trace_ingest::{Category, EventArguments};
use tree_perf::AnalysisOptions;

use crate::common::Table;
use crate::fixture::{Analysed, Fixture};

/// Two streams under one operator, an elementwise kernel, and an operator without recorded arguments.
fn three_operators() -> Fixture {
    let mut fixture = Fixture::new();
    let gemms = [("gemmA", 7, 1050.0, 50.0), ("gemmB", 8, 1060.0, 50.0)];
    fixture.call_with_dims("aten::mm", 0.0, &[&[32, 64], &[64, 128]], &gemms);
    let elementwise = [("void at::native::elementwise_kernel", 7, 1250.0, 50.0)];
    fixture.call_with_dims("aten::add", 20.0, &[&[32, 128], &[32, 128]], &elementwise);
    fixture.call("aten::foo", 40.0, &[("kfoo", 8, 1260.0, 10.0)]);
    fixture
}

#[test]
fn operators_are_summed_by_name() {
    let rows = three_operators()
        .table("ops_summary")
        .select("name | total_direct_kernel_time_ms | Count | Categories | Percentage (%)");
    assert_eq!(rows[0], "aten::mm | 0.06 | 1 | GEMM | 50");
    assert_eq!(rows[1], "aten::add | 0.05 | 1 | elementwise | 41.66666666666667");
    assert_eq!(rows[2], "aten::foo | 0.01 | 1 | other | 8.333333333333332");
}

#[test]
fn categories_are_summed_over_operators() {
    let mut fixture = three_operators();
    fixture.call("aten::bar", 60.0, &[("kbar", 8, 1400.0, 80.0)]);
    let rows = fixture.table("ops_summary_by_category").select(
        "op category | Count | total_direct_kernel_time_ms | Percentage (%) \
         | Cumulative Percentage (%)",
    );
    let expected =
        ["other | 2 | 0.09 | 45 | 45", "GEMM | 1 | 0.06 | 30 | 75", "elementwise | 1 | 0.05 | 25 | 100"];
    assert_eq!(rows, expected);
}

#[test]
fn equal_times_are_in_the_order_of_their_keys() {
    let mut fixture = Fixture::new();
    for (position, name) in ["zeta", "aten::mm", "alpha"].into_iter().enumerate() {
        let at = position as f64 * 20.0;
        fixture.call(name, at, &[("k", 7, 1000.0 + at, 5.0)]);
    }
    let analysis = fixture.analyse(AnalysisOptions::default());
    assert_eq!(Table::of_sheet(&analysis, "ops_summary").select("name"), ["alpha", "aten::mm", "zeta"]);
    // Calls with arguments come in the order of their first call.
    assert_eq!(Table::of_sheet(&analysis, "ops_all").select("name"), ["zeta", "aten::mm", "alpha"]);

    let mut fixture = Fixture::new();
    fixture.call("plain", 0.0, &[("k", 7, 1000.0, 5.0)]);
    fixture.call("aten::mm", 20.0, &[("k", 7, 1100.0, 5.0)]);
    let categories = fixture.table("ops_summary_by_category").select("op category");
    assert_eq!(categories, ["GEMM", "other"]);
}

#[test]
fn calls_differ_by_arguments_and_thread() {
    let mut fixture = Fixture::new();
    fixture.call_with_dims("aten::mm", 0.0, &[&[2, 2]], &[("k", 7, 1000.0, 1.0)]);
    fixture.call_with_dims("aten::mm", 20.0, &[&[4, 4]], &[("k", 7, 1010.0, 2.0)]);
    fixture.call_with_dims("aten::mm", 40.0, &[&[2, 2]], &[("k", 7, 1020.0, 3.0)]);
    fixture.op_on(2, "aten::mm", (60.0, 10.0));
    fixture.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", (1, 2), (61.0, 1.0), correlated(99));
    fixture.device(Category::KERNEL, ("k", 7, 1030.0, 0.5), 99);
    fixture.builder.process(1, Some("python"), Some("CPU"));
    fixture.builder.thread(1, 2, "autograd");
    let rows = fixture.table("ops_all").select(
        "process_name | process_label | thread_name | Input Dims | Input type | Input Strides \
         | Concrete Inputs | operation_count",
    );
    let expected = [
        "python | CPU | Unknown | ((2, 2),) | ('float',) | ((2, 1),) | ('',) | 2",
        "python | CPU | Unknown | ((4, 4),) | ('float',) | ((4, 1),) | ('',) | 1",
        "python | CPU | autograd | - | - | - | - | 1",
    ];
    assert_eq!(rows, expected);
}

/// Three calls whose kernels take 10, 14, and 14 + 3 µs.
fn unequal_kernel_lists() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.call("aten::mm", 0.0, &[("g", 7, 1000.0, 10.0)]);
    fixture.call("aten::mm", 20.0, &[("g", 7, 1100.0, 14.0)]);
    fixture.call("aten::mm", 40.0, &[("g", 7, 1200.0, 14.0), ("tail", 7, 1300.0, 3.0)]);
    fixture
}

#[test]
fn statistics_are_over_calls() {
    let table = unequal_kernel_lists().table("ops_all");
    let statistics = ["mean", "median", "std", "min", "max", "sum"]
        .map(|statistic| table.select(&format!("total_direct_kernel_time_{statistic}"))[0].clone());
    assert_eq!(statistics, ["13.666666666666666", "14", "3.5118845842842465", "10", "17", "41"]);
    assert_eq!(table.select("operation_count | ex_UID"), ["3 | 0"]);

    let mut once = Fixture::new();
    once.call("aten::mm", 0.0, &[("g", 7, 1000.0, 10.0)]);
    let spread = once.table("ops_all").select("total_direct_kernel_time_std");
    assert_eq!(spread, ["-"], "one call has no spread");
}

#[test]
fn kernels_are_listed_position_by_position_and_other_lengths_are_skipped() {
    let analysis = unequal_kernel_lists().analyse(AnalysisOptions::default());
    let table = Table::of_sheet(&analysis, "ops_all");
    let details = "[{'name': 'g', 'stream': 7, 'count': 2, 'total_duration_us': 24.0, 'mean_duration_us': 12.0, \
                   'median_duration_us': 12.0, 'std_dev_duration_us': 2.0, 'min_duration_us': 10.0, \
                   'max_duration_us': 14.0}]";
    assert_eq!(table.select("kernel_details_summary"), [details]);
    let shortened = "[{'name': 'g', 'stream': 7, 'mean_duration_us': 12.0}]";
    assert_eq!(table.select("trunc_kernel_details"), [shortened]);
    let notices: Vec<String> = analysis.notices().iter().map(ToString::to_string).collect();
    assert_eq!(notices.len(), 1);
    assert!(notices[0].starts_with("1 of 3 calls"), "{notices:?}");
}

#[test]
fn grouping_by_number_of_kernels_tells_unequal_lists_apart() {
    let options = AnalysisOptions { group_by_num_kernels: true, ..AnalysisOptions::default() };
    let analysis = unequal_kernel_lists().analyse(options);
    let rows = Table::of_sheet(&analysis, "ops_all")
        .select("num_kernels | operation_count | total_direct_kernel_time_sum | ex_UID");
    assert_eq!(rows, ["1 | 2 | 24 | 0", "2 | 1 | 17 | 6"]);
    assert_eq!(analysis.notices(), []);
}

#[test]
fn kernel_lists_are_ascending_and_long_names_are_cut() {
    let long = "k".repeat(65);
    let mut fixture = Fixture::new();
    fixture.call("op", 0.0, &[("slow", 7, 1000.0, 9.0), (&long, 7, 1010.0, 1.115), ("slow", 7, 1020.0, 2.0)]);
    let list = fixture.table("ops_all").select("trunc_kernel_details");
    let expected = format!(
        "[{{'name': '{}...', 'stream': 7, 'mean_duration_us': 1.12}}, {{'name': 'slow', 'stream': 7, \
         'mean_duration_us': 2.0}}, {{'name': 'slow', 'stream': 7, 'mean_duration_us': 9.0}}]",
        "k".repeat(64)
    );
    assert_eq!(list, [expected]);
}

#[test]
fn cutting_to_the_first_rows_leaves_shares_and_first_occurrences_as_they_are() {
    let options = |topk_ops| AnalysisOptions {
        topk_ops,
        include_first_occurrence_time: true,
        ..AnalysisOptions::default()
    };
    let columns = "name | Percentage (%) | Cumulative Percentage (%) | first_occurrence_time";
    let trace = || {
        let mut fixture = Fixture::new();
        fixture.call("early", 0.0, &[("k", 7, 1000.0, 10.0)]);
        fixture.call("late", 20.0, &[("k", 7, 1100.0, 30.0)]);
        fixture
    };
    let whole = trace().table_with("ops_all", options(None)).select(columns);
    assert_eq!(whole, ["late | 75 | 75 | 20", "early | 25 | 100 | 0"]);
    for (rows, topk) in [(0, 0), (1, 1), (2, 2), (2, 9)] {
        let cut = trace().table_with("ops_all", options(Some(topk))).select(columns);
        assert_eq!(cut, whole[..rows]);
    }
}

#[test]
fn first_occurrence_is_the_earliest_call_counted_from_the_first_of_the_sheet() {
    let mut fixture = Fixture::new();
    for (name, at) in [("a", 5000.0), ("a", 2000.0), ("b", 9000.0), ("b", 7000.0), ("c", 4000.0)] {
        fixture.call(name, at, &[("k", 7, 20_000.0 + at, 1.0)]);
    }
    let options = AnalysisOptions { include_first_occurrence_time: true, ..AnalysisOptions::default() };
    let mut rows = fixture.table_with("ops_all", options).select("name | first_occurrence_time");
    rows.sort();
    assert_eq!(rows, ["a | 0", "b | 5000", "c | 2000"]);
}

#[test]
fn operators_that_took_no_time_have_no_shares() {
    let mut fixture = Fixture::new();
    fixture.call("op", 0.0, &[("k", 7, 1000.0, 0.0)]);
    let analysis = fixture.analyse(AnalysisOptions::default());
    for sheet in ["ops_summary_by_category", "ops_summary", "ops_all"] {
        let shares = Table::of_sheet(&analysis, sheet).select("Percentage (%) | Cumulative Percentage (%)");
        assert_eq!(shares, ["- | -"], "{sheet}");
    }
}

#[test]
fn recorded_but_empty_arguments_are_the_same_as_none() {
    let mut fixture = Fixture::new();
    fixture.call("op", 0.0, &[("k", 7, 1000.0, 1.0)]);
    let signature = Some(fixture.builder.signature([None, None, None, None]));
    let arguments = EventArguments { signature, ..EventArguments::default() };
    fixture.event(Category::CPU_OP, "op", (1, 1), (20.0, 10.0), arguments);
    fixture.launches(21.0, &[("k", 7, 1010.0, 1.0)]);
    assert_eq!(fixture.table("ops_all").select("operation_count | Input Dims"), ["2 | -"]);
}
