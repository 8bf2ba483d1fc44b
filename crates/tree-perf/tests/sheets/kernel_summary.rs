//! Kernels with the operator that launched them.

use testdata::trace::correlated;
use trace_ingest::Category;
use tree_perf::AnalysisOptions;

use crate::common::{Table, conventions};
use crate::fixture::{Analysed, Fixture};
use crate::launchers::every_kind_of_launcher;

const SHEET: &str = "kernel_summary";

fn options() -> AnalysisOptions {
    AnalysisOptions { kernel_summary: true, ..AnalysisOptions::default() }
}

#[test]
fn kernels_are_under_the_launcher_of_the_operator_sheets() {
    for (are_theirs, [runtime, graph, communication]) in
        [(true, ["runtime", "graph", "other"]), (false, ["other", "other", "communication"])]
    {
        let rows = every_kind_of_launcher()
            .table_with(SHEET, AnalysisOptions { conventions: conventions(are_theirs), ..options() })
            .select("Parent op category | Parent cpu_op | Kernel name | Kernel duration (µs)_sum | Linked");
        let expected = [
            // The reference says `execute` here, and `outer` in its operator sheets.
            "other | outer | fused | 9 | True".to_owned(),
            format!("{runtime} | cudaLaunchKernel | orphanK | 7.5 | True"),
            format!("{communication} | custom::mix | ncclDevKernel_AllReduce | 6 | True"),
            "other | custom::mix | kA | 5 | True".to_owned(),
            format!("{graph} | cudaGraphLaunch | g2 | 4 | True"),
            format!("{graph} | cudaGraphLaunch | g1 | 3 | True"),
            "- | - | early | 2 | False".to_owned(),
        ];
        assert_eq!(rows, expected);
    }
}

#[test]
fn every_parent_is_a_row_of_the_operator_summary() {
    let mut fixture = Fixture::new();
    // `execute` outside any operator, and a call inside another call.
    fixture.call("execute", 0.0, &[("a", 7, 1000.0, 9.0)]);
    fixture.op("op", (20.0, 30.0));
    fixture.launch("cudaLaunchKernelExC", (25.0, 10.0), 98);
    fixture.launch("cuLaunchKernelEx", (26.0, 5.0), 99);
    fixture.device(Category::KERNEL, ("b", 7, 1020.0, 8.0), 99);
    fixture.call("op", 60.0, &[("c", 7, 1040.0, 7.0)]);
    let analysis = fixture.analyse(options());
    let names = |sheet: &str, column: &str| {
        let mut names = Table::of_sheet(&analysis, sheet).select(column);
        names.sort();
        names.dedup();
        names
    };
    assert_eq!(names("ops_summary", "name"), ["cuLaunchKernelEx", "cudaLaunchKernel", "op"]);
    assert_eq!(names(SHEET, "Parent cpu_op"), names("ops_summary", "name"));
}

#[test]
fn kernels_are_summed_by_operator_name_and_stream() {
    let mut fixture = Fixture::new();
    fixture.call("aten::mm", 0.0, &[("gemm", 7, 1000.0, 10.0), ("gemm", 8, 1000.0, 4.0)]);
    fixture.call("aten::mm", 20.0, &[("gemm", 7, 1100.0, 20.0)]);
    fixture.call("aten::bmm", 40.0, &[("gemm", 7, 1154.0, 6.0)]);
    let rows = fixture.table_with(SHEET, options()).select(
        "Parent cpu_op | Kernel stream | Kernel duration (µs)_sum \
         | Kernel duration (µs)_count | Kernel duration (µs)_mean | Kernel duration (µs)_min \
         | Kernel duration (µs)_max | Percent of kernels time (%) | Percent of total time (%)",
    );
    let expected = [
        "aten::mm | 7 | 30 | 2 | 15 | 10 | 20 | 75 | 18.75",
        "aten::bmm | 7 | 6 | 1 | 6 | 6 | 6 | 15 | 3.75",
        "aten::mm | 8 | 4 | 1 | 4 | 4 | 4 | 10 | 2.5",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn copies_and_fills_are_no_kernels() {
    let mut fixture = Fixture::new();
    fixture.op("aten::copy_", (0.0, 10.0));
    fixture.launch("cudaMemcpyAsync", (1.0, 1.0), 99);
    fixture.device(Category::GPU_MEMCPY, ("Memcpy HtoD", 7, 1000.0, 5.0), 99);
    assert!(Table::build(&fixture.analyse(options()), SHEET).is_none());
}

#[test]
fn kernels_without_a_launch_have_no_parent() {
    let mut fixture = Fixture::new();
    fixture.op("aten::mm", (0.0, 10.0));
    fixture.unlinked(("early", 7, 1000.0, 5.0));
    let table = fixture.table_with(SHEET, options());
    let rows = table.select(
        "Parent op category | Kernel name | Percent of kernels time (%) \
         | Percent of total time (%) | Linked",
    );
    assert_eq!(rows, ["- | early | 100 | 100 | False"]);
    assert!(!table.headers.iter().any(|header| header == "Parent cpu_op"), "no kernel has an operator");
}

#[test]
fn operators_that_start_together_keep_their_categories() {
    let mut fixture = Fixture::new();
    let elementwise = "void at::native::vectorized_elementwise_kernel";
    // The inner operator of one thread and an operator of another thread start with the outer operator, and
    // the device ran their work in the opposite order.
    fixture.op("outer", (0.0, 100.0));
    fixture.op("inner", (0.0, 20.0));
    fixture.op_on(2, "other thread", (0.0, 20.0));
    fixture.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", (1, 2), (5.0, 1.0), correlated(90));
    fixture.device(Category::KERNEL, (elementwise, 7, 1000.0, 3.0), 90);
    fixture.launch_kernels("cudaLaunchKernel", (10.0, 1.0), &[(elementwise, 7, 1010.0, 2.0)]);
    fixture.launch_kernels("cudaLaunchKernel", (50.0, 1.0), &[(elementwise, 7, 1020.0, 1.0)]);
    let rows = fixture.table_with(SHEET, options()).select("Parent op category | Parent cpu_op");
    assert_eq!(rows, ["elementwise | other thread", "elementwise | inner", "elementwise | outer"]);
}

#[test]
fn the_sheet_is_left_out_unless_asked_for() {
    let analysis = every_kind_of_launcher().analyse(AnalysisOptions::default());
    assert!(Table::build(&analysis, SHEET).is_none());
}
