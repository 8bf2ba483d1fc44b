//! The unified table and coverage: which operator accounts for a device event, and what is said of it.

use perf_models::architecture;
use trace_ingest::{Category, EventArguments};
use tree_perf::AnalysisOptions;

use crate::common::Table;
use crate::fixture::{Fixture, Input};

const UNIFIED: &str = "unified_perf_summary";
const SYNTHETIC: &str = "(Synthetic Op)";

/// `name | time` of the rows.
fn times(fixture: Fixture) -> Vec<String> {
    fixture.table(UNIFIED).select(&["name", "Kernel Time (µs)_sum"])
}

#[test]
fn every_device_event_is_in_one_row() {
    // 02 section 20 F, with one launcher rule for all sheets (02 Q2) and operators that communicate as well
    // as compute kept whole (02 Q4).
    let mut fixture = Fixture::new();
    fixture.launch("hipLaunchKernel", (0.0, 1.0), 90);
    fixture.device(Category::KERNEL, ("orphanK", 7, 1000.0, 7.5), 90);
    fixture.launch("cudaGraphLaunch", (10.0, 1.0), 91);
    fixture.device(Category::KERNEL, ("g1", 7, 1010.0, 3.0), 91);
    fixture.device(Category::KERNEL, ("g2", 7, 1020.0, 4.0), 91);
    fixture.call("custom::mix", 20.0, &[("kA", 7, 1030.0, 5.0), ("ncclKernel_AllReduce", 8, 1040.0, 6.0)]);
    fixture.op("outer", (40.0, 20.0));
    fixture.op("execute", (41.0, 18.0));
    fixture.launches(42.0, &[("graph", 7, 1050.0, 9.0)]);
    fixture.unlinked(("unlinked", 7, 1100.0, 2.0));
    let analysis = fixture.analyse(AnalysisOptions::default());
    let rows = Table::of_sheet(&analysis, UNIFIED).select(&["name", "Kernel Time (µs)_sum"]);
    let expected = [
        "outer | 9".to_owned(),
        format!("hipLaunchKernel->orphanK {SYNTHETIC} | 7.5"),
        "custom::mix | 5".to_owned(),
        format!("cudaGraphLaunch->g2 {SYNTHETIC} | 4"),
        format!("cudaGraphLaunch->g1 {SYNTHETIC} | 3"),
    ];
    assert_eq!(rows, expected);
    let columns = ["status", "name", "operation_count", "Kernel Time (µs)_sum"];
    let rest = Table::of_sheet(&analysis, "coverage").select(&columns).split_off(expected.len());
    assert_eq!(rest, ["communication | ncclKernel_AllReduce | 1 | 6", "unlinked | unlinked | 1 | 2"]);
}

#[test]
fn the_outermost_modelled_operator_accounts_for_all_below_it() {
    let mut fixture = Fixture::new();
    fixture.op("wrapper", (0.0, 30.0));
    let inputs: [Input<'_>; 2] = [(&[2, 2], "float", ""), (&[2, 2], "float", "")];
    let arguments = fixture.arguments(&inputs);
    fixture.event(Category::CPU_OP, "aten::mm", (1, 1), (1.0, 20.0), arguments);
    fixture.op("aten::inner", (2.0, 10.0));
    fixture.launches(3.0, &[("a", 7, 1000.0, 5.0), ("ncclKernel", 7, 1010.0, 2.0)]);
    // The wrapper's own launch is left over: it has a modelled operator below it.
    fixture.launches(25.0, &[("b", 7, 1100.0, 3.0)]);
    assert_eq!(times(fixture), ["aten::mm | 7".to_owned(), format!("wrapper->b {SYNTHETIC} | 3")]);
}

#[test]
fn launches_of_the_driver_are_launches() {
    // 02 Q3.
    let mut fixture = Fixture::new();
    fixture.op("driven", (0.0, 10.0));
    let launched = EventArguments { correlation: Some(90), ..EventArguments::default() };
    fixture.event(Category::CUDA_DRIVER, "cuLaunchKernel", (1, 1), (1.0, 1.0), launched);
    fixture.device(Category::KERNEL, ("k", 7, 1000.0, 5.0), 90);
    assert_eq!(times(fixture), ["driven | 5"]);
}

#[test]
fn python_frames_change_no_row() {
    let trace = || {
        let mut fixture = Fixture::new();
        fixture.python("module.py(1): forward", (0.0, 100.0));
        fixture.op("outer", (1.0, 40.0));
        fixture.python("deeper.py(1): call", (2.0, 35.0));
        fixture.mm(3.0, &[("gemm", 7, 1000.0, 5.0)]);
        fixture.call("leaf", 20.0, &[("k", 7, 1100.0, 4.0)]);
        fixture.python("inside.py(1): launch", (60.0, 20.0));
        fixture.launches(61.0, &[("bare", 7, 1200.0, 3.0)]);
        fixture
    };
    let rows = |include_call_stack| {
        let options = AnalysisOptions { include_call_stack, ..AnalysisOptions::default() };
        trace().table_with(UNIFIED, options).select(&["name", "Kernel Time (µs)_sum"])
    };
    let expected =
        ["aten::mm | 5".to_owned(), "leaf | 4".to_owned(), format!("cudaLaunchKernel->bare {SYNTHETIC} | 3")];
    assert_eq!(rows(false), expected);
    assert_eq!(rows(true), expected);
}

#[test]
fn calls_without_figures_keep_their_row_and_say_why() {
    // 02 Q19: nothing disappears because a model has no formula or arguments are missing.
    let mut fixture = Fixture::new();
    fixture.call("aten::mm", 0.0, &[("gemm", 7, 1000.0, 30.0)]);
    fixture.call("aten::instance_norm_backward", 20.0, &[("norm", 7, 1100.0, 20.0)]);
    fixture.call("custom::op", 40.0, &[("k", 7, 1200.0, 10.0)]);
    let table = fixture.table(UNIFIED);
    let rows = table.select(&["name", "has_perf_model", "Kernel Time (µs)_sum", "GFLOPS", "perf_params"]);
    let expected = [
        "aten::mm | True | 30 | - | -",
        "aten::instance_norm_backward | True | 20 | - | -",
        "custom::op | False | 10 | - | -",
    ];
    assert_eq!(rows, expected);
    let reasons = table.select(&["reason"]);
    assert!(reasons.iter().all(|reason| reason != "-"), "{reasons:?}");
    assert_eq!(reasons[2], "no model knows this operator");
}

#[test]
fn coverage_tells_what_is_known_of_the_time() {
    let mut fixture = Fixture::new();
    fixture.mm(0.0, &[("gemm", 7, 1000.0, 40.0)]);
    // Less than the 0.0108 µs that the bytes take at 5300 GB/s.
    fixture.mm(20.0, &[("gemm", 7, 1100.0, 0.005)]);
    let unsized_type: [Input<'_>; 2] = [(&[8, 8], "c10::Strange", ""), (&[8, 8], "c10::Strange", "")];
    fixture.modelled_call("aten::mm", 40.0, &unsized_type, &[("gemm", 7, 1200.0, 20.0)]);
    fixture.call("custom::op", 60.0, &[("k", 7, 1300.0, 10.0)]);
    fixture.call("c10d::allreduce_", 80.0, &[("ncclDevKernel_AllReduce", 8, 1400.0, 15.0)]);
    fixture.unlinked(("lost", 7, 1500.0, 14.995));
    let options =
        AnalysisOptions { architecture: architecture("MI300X").cloned(), ..AnalysisOptions::default() };
    let table = fixture.table_with("coverage", options);
    let rows = table.select(&[
        "status",
        "name",
        "op category",
        "operation_count",
        "Kernel Time (µs)_sum",
        "Percentage (%)",
    ]);
    let expected = [
        "modelled | aten::mm | GEMM | 1 | 40 | 40",
        "above peak | aten::mm | GEMM | 1 | 0.005 | 0.005",
        "partly modelled | aten::mm | GEMM | 1 | 20 | 20",
        "unmodelled | custom::op | other | 1 | 10 | 10",
        "communication | ncclDevKernel_AllReduce | - | 1 | 15 | 15",
        "unlinked | lost | - | 1 | 14.995 | 14.995",
    ];
    assert_eq!(rows, expected);
    assert_eq!(table.numbers("Cumulative Percentage (%)").pop(), Some(100.0));
    let reasons = table.select(&["reason"]);
    assert_eq!(reasons[0], "-");
    assert!(reasons[2].contains("c10::Strange"), "{reasons:?}");
}
