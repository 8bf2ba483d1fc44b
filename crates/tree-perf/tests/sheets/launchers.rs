//! Which operator device work is charged to.

use trace_ingest::{Category, EventArguments};
use tree_perf::AnalysisOptions;

use crate::common::{THEIRS, Table};
use crate::fixture::{Analysed, Fixture};

/// The operator sheet as `name | num_kernels | direct | subtree`, by name.
fn launchers(fixture: Fixture) -> Vec<String> {
    launchers_with(fixture, AnalysisOptions::default())
}

fn launchers_with(fixture: Fixture, options: AnalysisOptions) -> Vec<String> {
    let options = AnalysisOptions { group_by_num_kernels: true, ..options };
    let table = fixture.table_with("ops_all", options);
    let mut rows =
        table.select("name | num_kernels | total_direct_kernel_time_sum | total_subtree_kernel_time_sum");
    rows.sort();
    rows
}

#[test]
fn the_operator_around_a_launch_is_its_launcher() {
    let mut fixture = Fixture::new();
    fixture.call("aten::mm", 0.0, &[("gemm", 7, 1000.0, 50.0)]);
    assert_eq!(launchers(fixture), ["aten::mm | 1 | 50 | 50"]);
}

#[test]
fn launches_of_one_operator_add_up() {
    let mut fixture = Fixture::new();
    fixture.call("aten::sum", 0.0, &[("a", 7, 1000.0, 30.0), ("b", 7, 1040.0, 40.0)]);
    assert_eq!(launchers(fixture), ["aten::sum | 2 | 70 | 70"]);
}

#[test]
fn kernels_that_overlap_count_their_common_time_once() {
    let mut fixture = Fixture::new();
    fixture.call("aten::mm", 0.0, &[("a", 7, 1050.0, 50.0), ("b", 8, 1060.0, 50.0)]);
    assert_eq!(launchers(fixture), ["aten::mm | 2 | 60 | 60"]);
}

#[test]
fn python_frames_in_between_change_nothing() {
    for (depth, in_tree) in [(1, false), (1, true), (3, false), (3, true)] {
        let mut fixture = Fixture::new();
        fixture.op("custom", (0.0, 100.0));
        for level in 0..depth {
            fixture.python("kernel.py(3): launch", (5.0 + f64::from(level), 80.0 - 2.0 * f64::from(level)));
        }
        fixture.launches(20.0, &[("k", 7, 1000.0, 50.0)]);
        let options = AnalysisOptions { include_call_stack: in_tree, ..AnalysisOptions::default() };
        assert_eq!(launchers_with(fixture, options), ["custom | 1 | 50 | 50"], "{depth} frames");
    }
}

#[test]
fn a_call_outside_any_operator_is_its_own_launcher() {
    let mut fixture = Fixture::new();
    fixture.call("aten::mm", 0.0, &[("gemm", 7, 1000.0, 50.0)]);
    fixture.launches(50.0, &[("k", 7, 1100.0, 20.0)]);
    assert_eq!(launchers(fixture), ["aten::mm | 1 | 50 | 50", "cudaLaunchKernel | 1 | 20 | 20"]);
}

#[test]
fn the_inner_operator_is_charged_and_the_outer_one_has_it_in_its_subtree() {
    let mut fixture = Fixture::new();
    fixture.op("aten::conv2d", (0.0, 100.0));
    fixture.launches(1.0, &[("pad", 7, 1000.0, 40.0)]);
    fixture.op("aten::convolution", (10.0, 30.0));
    fixture.launches(11.0, &[("conv", 7, 1050.0, 50.0)]);
    fixture.op("aten::add_", (50.0, 30.0));
    fixture.launches(51.0, &[("add", 7, 1110.0, 5.0)]);
    let expected =
        ["aten::add_ | 1 | 5 | 5", "aten::conv2d | 1 | 40 | 95", "aten::convolution | 1 | 50 | 50"];
    assert_eq!(launchers(fixture), expected);
}

#[test]
fn communication_is_work_of_its_own_and_in_the_figures_of_tracelens_part_of_the_subtree_alone() {
    let fixture = || {
        let mut fixture = Fixture::new();
        fixture.call("c10d::allreduce", 0.0, &[("ncclKernel_AllReduce", 7, 1000.0, 40.0)]);
        fixture.call("mixed", 20.0, &[("gemm", 7, 1100.0, 30.0), ("ncclKernel_AllReduce", 8, 1200.0, 40.0)]);
        fixture
    };
    assert_eq!(
        launchers(fixture()),
        ["c10d::allreduce | 1 | 40 | 40", "mixed | 1 | 30 | 30", "mixed | 1 | 40 | 40"]
    );
    let options = AnalysisOptions { conventions: THEIRS, ..AnalysisOptions::default() };
    assert_eq!(launchers_with(fixture(), options), ["mixed | 1 | 30 | 70"]);
}

#[test]
fn work_of_several_kinds_is_divided_by_kind_and_adds_up() {
    let mut fixture = Fixture::new();
    // The second product runs beside the end of the attention, for 5 µs alone.
    fixture.op("CompiledFunctionBackward", (0.0, 50.0));
    fixture.launches(
        1.0,
        &[
            ("flash_bwd_dq_dk_dv_loop_kernel", 7, 1000.0, 20.0),
            ("nvjet_tst_128x64", 8, 1015.0, 10.0),
            ("triton_poi_fused_add_0", 7, 1030.0, 4.0),
            ("nvjet_tst_128x64", 7, 1040.0, 10.0),
        ],
    );
    fixture.call(
        "aten::mm",
        60.0,
        &[("Memset (Device)", 7, 1060.0, 1.0), ("sm90_xmma_gemm", 7, 1062.0, 8.0)],
    );
    let analysis = fixture.analyse(AnalysisOptions::default());
    let columns = "name | op category | total_direct_kernel_time_sum | total_subtree_kernel_time_sum";
    let calls = Table::of_sheet(&analysis, "ops_all").select(columns);
    assert_eq!(
        calls,
        [
            "CompiledFunctionBackward | SDPA_bwd | 20 | 20",
            "CompiledFunctionBackward | GEMM | 15 | 15",
            "aten::mm | GEMM | 9 | 9",
            "CompiledFunctionBackward | triton | 4 | 4",
        ]
    );
    let operators = Table::of_sheet(&analysis, "ops_summary").select("name | Count | Categories");
    assert_eq!(operators, ["CompiledFunctionBackward | 1 | GEMM, SDPA_bwd, triton", "aten::mm | 1 | GEMM"]);
    let categories = Table::of_sheet(&analysis, "ops_summary_by_category");
    assert_eq!(
        categories.select("op category | Count | total_direct_kernel_time_ms"),
        ["GEMM | 2 | 0.024", "SDPA_bwd | 1 | 0.02", "triton | 1 | 0.004"]
    );
    let unified = Table::of_sheet(&analysis, "unified_perf_summary");
    assert_eq!(
        unified.select("name | op category | Kernel Time (µs)_sum"),
        [
            "CompiledFunctionBackward | SDPA_bwd | 20",
            "CompiledFunctionBackward | GEMM | 20",
            "aten::mm | GEMM | 9",
            "CompiledFunctionBackward | triton | 4",
        ]
    );
}

#[test]
fn all_kernels_of_a_graph_launch_are_charged_to_it() {
    for name in ["cudaGraphLaunch", "hipGraphLaunch"] {
        let mut fixture = Fixture::new();
        fixture.op("aten::mm", (0.0, 5.0));
        fixture.launch(name, (10.0, 5.0), 77);
        for (start, duration) in [(1000.0, 20.0), (1030.0, 30.0), (1070.0, 40.0)] {
            fixture.device(Category::KERNEL, ("k", 7, start, duration), 77);
        }
        assert_eq!(launchers(fixture), [format!("{name} | 3 | 90 | 90")]);
    }
}

#[test]
fn execute_passes_its_work_on_to_the_operator_above() {
    let mut fixture = Fixture::new();
    fixture.op("conv_bn_fused", (0.0, 100.0));
    fixture.call("execute", 10.0, &[("conv", 7, 1000.0, 80.0)]);
    assert_eq!(launchers(fixture), ["conv_bn_fused | 1 | 80 | 80"]);
}

#[test]
fn copies_and_fills_linked_by_external_id_are_kernels_of_their_operator() {
    let mut fixture = Fixture::new();
    let external =
        |id| EventArguments { external_id: Some(id), stream: Some(7), ..EventArguments::default() };
    for (id, op, call, category, name, at) in [
        (1, "aten::copy_", "cudaMemcpyAsync", Category::GPU_MEMCPY, "Memcpy HtoD", 0.0),
        (2, "aten::zero_", "cudaMemsetAsync", Category::GPU_MEMSET, "Memset (Device)", 20.0),
    ] {
        fixture.event(Category::CPU_OP, op, (1, 1), (at, 10.0), external(id));
        fixture.event(Category::CUDA_RUNTIME, call, (1, 1), (at + 1.0, 2.0), external(id));
        fixture.event(category, name, (0, 7), (1000.0 + at, 4.0), external(id));
    }
    assert_eq!(launchers(fixture), ["aten::copy_ | 1 | 4 | 4", "aten::zero_ | 1 | 4 | 4"]);
}

/// An operator with kernels and communication, a graph launch, a call outside any operator, `execute` below
/// an operator, and a kernel without a launch.
pub(crate) fn every_kind_of_launcher() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.launches(0.0, &[("orphanK", 7, 1000.0, 7.5)]);
    fixture.launch("cudaGraphLaunch", (10.0, 5.0), 77);
    fixture.device(Category::KERNEL, ("g1", 7, 1100.0, 3.0), 77);
    fixture.device(Category::KERNEL, ("g2", 7, 1110.0, 4.0), 77);
    fixture.call("custom::mix", 20.0, &[("kA", 7, 1200.0, 5.0), ("ncclDevKernel_AllReduce", 8, 1300.0, 6.0)]);
    fixture.op("outer", (40.0, 30.0));
    fixture.call("execute", 50.0, &[("fused", 7, 1400.0, 9.0)]);
    fixture.unlinked(("early", 7, 900.0, 2.0));
    fixture
}

#[test]
fn operators_graph_launches_and_bare_calls_share_one_table() {
    let rows = every_kind_of_launcher()
        .table("ops_summary")
        .select("name | total_direct_kernel_time_ms | total_subtree_kernel_time_ms");
    let expected = [
        "custom::mix | 0.011 | 0.011",
        "outer | 0.009 | 0.009",
        "cudaLaunchKernel | 0.0075 | 0.0075",
        "cudaGraphLaunch | 0.007 | 0.007",
        "(launched before recording) | 0.002 | 0.002",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn work_with_a_call_that_is_no_launch_was_not_launched_before_the_recording() {
    let mut fixture = every_kind_of_launcher();
    let correlation = fixture.correlation();
    fixture.event(
        Category::CPU_OP,
        "executor::run",
        (1, 2),
        (1.0, 2.0),
        testdata::trace::correlated(correlation),
    );
    fixture.device(Category::KERNEL, ("ran", 7, 950.0, 2.0), correlation);
    let rows = fixture.table("ops_summary").select("name | Count");
    assert!(rows.contains(&"(launched before recording) | 1".to_owned()), "{rows:?}");
    assert!(rows.contains(&"(launch not recorded) | 1".to_owned()), "{rows:?}");
}
