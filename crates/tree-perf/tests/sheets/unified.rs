//! The unified table and coverage: which operator accounts for a device event, and what is said of it.

use perf_models::architecture;
use testdata::trace::correlated;
use trace_ingest::Category;
use tree_perf::AnalysisOptions;

use crate::common::Table;
use crate::fixture::{Analysed, Fixture, Input};

const UNIFIED: &str = "unified_perf_summary";
const SYNTHETIC: &str = "(Synthetic Op)";

/// `name | time` of the rows.
fn times(fixture: Fixture) -> Vec<String> {
    fixture.table(UNIFIED).select("name | Kernel Time (µs)_sum")
}

#[test]
fn every_device_event_is_in_one_row() {
    // One launcher rule for all sheets; operators that communicate as well as compute have a row for each.
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
    let rows = Table::of_sheet(&analysis, UNIFIED).select("name | Kernel Time (µs)_sum");
    let expected = [
        "outer | 9".to_owned(),
        format!("hipLaunchKernel->orphanK {SYNTHETIC} | 7.5"),
        "custom::mix | 6".to_owned(),
        "custom::mix | 5".to_owned(),
        format!("cudaGraphLaunch->g2 {SYNTHETIC} | 4"),
        format!("cudaGraphLaunch->g1 {SYNTHETIC} | 3"),
    ];
    assert_eq!(rows, expected);
    let columns = "status | name | operation_count | Kernel Time (µs)_sum";
    let rest = Table::of_sheet(&analysis, "coverage").select(columns).split_off(expected.len() - 1);
    assert_eq!(rest, ["communication | custom::mix | 1 | 6", "unlinked | unlinked | 1 | 2"]);
}

#[test]
fn a_call_has_what_its_own_model_says() {
    let mut fixture = Fixture::new();
    fixture.op("wrapper", (0.0, 30.0));
    let inputs: [Input<'_>; 2] = [(&[2, 3], "float", ""), (&[3, 5], "float", "")];
    let arguments = fixture.arguments(&inputs);
    fixture.event(Category::CPU_OP, "aten::mm", (1, 1), (1.0, 20.0), arguments);
    fixture.launches(3.0, &[("a", 7, 1000.0, 5.0), ("b", 7, 1003.0, 4.0)]);
    let analysis = fixture.analyse(AnalysisOptions::default());
    let call = |name: &str, backward| analysis.modelled_call(analysis.tree().find_by_name(name)[0], backward);
    let product = call("aten::mm", false);
    assert_eq!((product.device_events.len(), product.time_us), (2, 7.0));
    assert_eq!(product.figures.unwrap().gflops(), 2.0 * 2.0 * 3.0 * 5.0 / 1e9);
    assert!(product.parameters.iter().any(|(name, _)| *name == "M") && product.reason.is_none());
    // Nothing was launched for a backward.
    assert_eq!(call("aten::mm", true).device_events, []);
    let wrapper = call("wrapper", false);
    assert!(wrapper.figures.is_none() && wrapper.reason.is_some());
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
    let mut fixture = Fixture::new();
    fixture.op("driven", (0.0, 10.0));
    fixture.event(Category::CUDA_DRIVER, "cuLaunchKernel", (1, 1), (1.0, 1.0), correlated(90));
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
        trace().table_with(UNIFIED, options).select("name | Kernel Time (µs)_sum")
    };
    let expected =
        ["aten::mm | 5".to_owned(), "leaf | 4".to_owned(), format!("cudaLaunchKernel->bare {SYNTHETIC} | 3")];
    assert_eq!(rows(false), expected);
    assert_eq!(rows(true), expected);
}

#[test]
fn calls_without_figures_keep_their_row_and_say_why() {
    // Nothing disappears because a model has no formula or arguments are missing.
    let mut fixture = Fixture::new();
    fixture.call("aten::mm", 0.0, &[("gemm", 7, 1000.0, 30.0)]);
    fixture.call("aten::instance_norm_backward", 20.0, &[("norm", 7, 1100.0, 20.0)]);
    fixture.call("custom::op", 40.0, &[("k", 7, 1200.0, 10.0)]);
    let table = fixture.table(UNIFIED);
    let rows = table.select("name | has_perf_model | Kernel Time (µs)_sum | GFLOPS | perf_params");
    let expected = [
        "aten::mm | True | 30 | - | -",
        "aten::instance_norm_backward | True | 20 | - | -",
        "custom::op | False | 10 | - | -",
    ];
    assert_eq!(rows, expected);
    let reasons = table.select("reason");
    assert!(reasons.iter().all(|reason| reason != "-"), "{reasons:?}");
    assert_eq!(reasons[2], "no performance model for this operator");
}

#[test]
fn coverage_tells_what_is_known_of_the_time() {
    let mut fixture = Fixture::new();
    fixture.mm(0.0, &[("gemm", 7, 1000.0, 40.0)]);
    // Less than the 0.0108 µs that the bytes take at 5300 GB/s, but they fit the cache; less than the 0.0032 µs that
    // the arithmetic takes at 163.4 TFLOP/s, too.
    fixture.mm(20.0, &[("gemm", 7, 1100.0, 0.005)]);
    fixture.mm(30.0, &[("gemm", 7, 1110.0, 0.002)]);
    let unsized_type: [Input<'_>; 2] = [(&[8, 8], "c10::Strange", ""), (&[8, 8], "c10::Strange", "")];
    fixture.modelled_call("aten::mm", 40.0, &unsized_type, &[("gemm", 7, 1200.0, 20.0)]);
    fixture.call("custom::op", 60.0, &[("k", 7, 1300.0, 10.0)]);
    fixture.call("c10d::allreduce_", 80.0, &[("ncclDevKernel_AllReduce", 8, 1400.0, 15.0)]);
    fixture.unlinked(("lost", 7, 1500.0, 14.993));
    let options =
        AnalysisOptions { architecture: architecture("MI300X").cloned(), ..AnalysisOptions::default() };
    let table = fixture.table_with("coverage", options);
    let rows =
        table.select("status | name | op category | operation_count | Kernel Time (µs)_sum | Percentage (%)");
    let expected = [
        "modelled | aten::mm | GEMM | 1 | 40 | 40",
        "in cache | aten::mm | GEMM | 1 | 0.005 | 0.005",
        "above peak | aten::mm | GEMM | 1 | 0.002 | 0.002",
        "bytes not known | aten::mm | GEMM | 1 | 20 | 20",
        "no model | custom::op | other | 1 | 10 | 10",
        "communication | c10d::allreduce_ | communication | 1 | 15 | 15",
        "unlinked | lost | - | 1 | 14.993 | 14.993",
    ];
    assert_eq!(rows, expected);
    assert_eq!(table.numbers("Cumulative Percentage (%)").pop(), Some(100.0));
    let reasons = table.select("reason");
    assert_eq!(reasons[0], "-");
    assert!(reasons[3].contains("c10::Strange"), "{reasons:?}");
}

#[test]
fn an_operator_named_execute_accounts_for_nothing_itself() {
    // One rule for all sheets: its work is the operator's above it, else the call's.
    let mut fixture = Fixture::new();
    fixture.op("execute", (0.0, 10.0));
    fixture.launches(1.0, &[("alone", 7, 1000.0, 9.0)]);
    // With a modelled operator beside it, so that the operator above is not charged as a whole.
    fixture.op("outer", (20.0, 60.0));
    fixture.mm(21.0, &[("gemm", 7, 1100.0, 5.0)]);
    fixture.op("execute", (40.0, 30.0));
    fixture.op("execute", (41.0, 20.0));
    fixture.launches(42.0, &[("graph", 7, 1200.0, 7.0)]);
    let options = AnalysisOptions { kernel_summary: true, ..AnalysisOptions::default() };
    let analysis = fixture.analyse(options);
    let expected = [
        format!("cudaLaunchKernel->alone {SYNTHETIC} | 9"),
        format!("outer->graph {SYNTHETIC} | 7"),
        "aten::mm | 5".to_owned(),
    ];
    assert_eq!(Table::of_sheet(&analysis, UNIFIED).select("name | Kernel Time (µs)_sum"), expected);
    let launchers = Table::of_sheet(&analysis, "ops_summary");
    let expected = ["cudaLaunchKernel | 0.009", "outer | 0.007", "aten::mm | 0.005"];
    assert_eq!(launchers.select("name | total_direct_kernel_time_ms"), expected);
    let parents = Table::of_sheet(&analysis, "kernel_summary").select("Parent cpu_op | Kernel name");
    assert_eq!(parents, ["cudaLaunchKernel | alone", "outer | graph", "aten::mm | gemm"]);
}

/// Attention of an inference engine: 96 queries of 8 heads of 64 over a cache of as many heads.
const CACHED: &[Input<'_>] = &[
    (&[96, 8, 64], "c10::BFloat16", ""),
    (&[96, 8, 64], "c10::BFloat16", ""),
    (&[96, 8, 64], "c10::BFloat16", ""),
];

#[test]
fn attention_over_a_cache_gets_its_work_from_the_step_around_it() {
    let attention = "vllm::unified_attention_with_output";
    let step = "execute_2_context_1(sq64sk64sqsq4096sqsk4096)_generation_1(sq1sk100sqsq1sqsk100)";
    let table = |annotations: &[&str]| {
        let mut fixture = Fixture::new();
        for (depth, annotation) in annotations.iter().enumerate() {
            let span = (depth as f64, 100.0 - 2.0 * depth as f64);
            fixture.annotation(annotation, 1, span);
        }
        fixture.modelled_call(attention, 20.0, CACHED, &[("attend", 7, 1000.0, 10.0)]);
        fixture.table(UNIFIED)
    };
    // Heads times both depths, over the pairs of the prompt less half of its square and those of the
    // request that is extended: 8·128·(2·4096 − 4096 + 2·100) FLOPs.
    let gflops = format!("{}", 8.0 * 128.0 * (4096.0 + 200.0) / 1e9);
    let columns = "name | op category | GFLOPS | reason";
    let expected = [format!("{attention} | InferenceAttention | {gflops} | -")];
    assert_eq!(table(&[step]).select(columns), expected);
    // The profiler's own step around the engine's does not hide it.
    assert_eq!(table(&["ProfilerStep#4", step]).select(columns), expected);
    for annotations in [&[][..], &["ProfilerStep#4"]] {
        let without = table(annotations);
        assert_eq!(without.select("name | GFLOPS | Kernel Time (µs)_sum"), [format!("{attention} | - | 10")]);
        assert_ne!(without.select("reason"), ["-"]);
    }
}

#[test]
fn a_note_stands_only_beside_figures() {
    // Gated delta attention: without a step its rows are counted, which is an assumption; a step without
    // tokens leaves no figure that anything could be assumed for.
    let inputs: &[Input<'_>] = &[
        (&[64, 8192], "c10::BFloat16", ""),
        (&[64, 32], "c10::BFloat16", ""),
        (&[64, 32], "c10::BFloat16", ""),
        (&[64, 32, 128], "c10::BFloat16", ""),
    ];
    let empty = "execute_0_context_0(sq0sk0sqsq0sqsk0)_generation_0(sq0sk0sqsq0sqsk0)";
    let cells = |step: Option<&str>, column: &str| {
        let mut fixture = Fixture::new();
        if let Some(step) = step {
            fixture.annotation(step, 1, (0.0, 100.0));
        }
        fixture.modelled_call("vllm::gdn_attention_core", 20.0, inputs, &[("gdn", 7, 1000.0, 10.0)]);
        fixture.table(UNIFIED).select(column).remove(0)
    };
    assert_ne!((cells(None, "GFLOPS").as_str(), cells(None, "note").as_str()), ("-", "-"));
    assert_eq!(cells(None, "reason"), "-");
    assert_eq!([cells(Some(empty), "GFLOPS"), cells(Some(empty), "note")], ["-", "-"]);
    assert_eq!(cells(Some(empty), "reason"), "the enclosing step has no token count");
}
