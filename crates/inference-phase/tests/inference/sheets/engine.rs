//! Sheets of a small engine: a step of prompts, then a step of generation by a captured graph.

use inference_phase::Phase;
use inference_phase::methods::DetectionMethod;
use inference_phase::sheets::{PhaseAnalysis, PhaseMethod, PhaseNotice, PhaseOptions, phase_sheets};
use inference_phase::tracelens::Method;
use trace_ingest::{Category, EventArguments, TraceBuilder, TrackId};
use tree_perf::{Analysis, AnalysisOptions};

use crate::sheets::table::{headers, kernel_time_us, rows, sheet};

const PREFILL: &str = "execute_context_2(100)_generation_0(0)";
const DECODE: &str = "execute_context_0(0)_generation_4(4)";

/// A trace under construction; times in µs.
struct Engine {
    builder: TraceBuilder,
    thread: TrackId,
    stream: TrackId,
    correlation: i64,
    device: i64,
}

impl Engine {
    fn new() -> Self {
        let mut builder = TraceBuilder::new();
        let (thread, stream) = (builder.track(1, 1), builder.track(0, 7));
        Engine { builder, thread, stream, correlation: 0, device: 10_000 }
    }

    fn host(&mut self, category: Category, name: &str, start: i64, end: i64) {
        let none = EventArguments::default();
        self.builder.event(category, name, self.thread, start * 1000, (end - start) * 1000, none);
    }

    /// A call that launches kernels, one after the other on the device, far behind the host.
    fn launch(&mut self, call: &str, start: i64, kernels: &[(&str, i64)]) {
        self.correlation += 1;
        let linked = EventArguments { correlation: Some(self.correlation), ..EventArguments::default() };
        self.builder.event(Category::CUDA_RUNTIME, call, self.thread, start * 1000, 2000, linked);
        for &(kernel, duration) in kernels {
            let on_stream = EventArguments { stream: Some(7), ..linked };
            let start = self.device * 1000;
            self.builder.event(Category::KERNEL, kernel, self.stream, start, duration * 1000, on_stream);
            self.device += duration;
        }
    }

    fn analysis(self, kernel_summary: bool) -> Analysis {
        let options = AnalysisOptions { kernel_summary, ..AnalysisOptions::default() };
        Analysis::new(self.builder.finish(), options)
    }
}

fn served() -> Analysis {
    let mut engine = Engine::new();
    engine.host(Category::USER_ANNOTATION, PREFILL, 0, 100);
    engine.host(Category::CPU_OP, "aten::mm", 10, 20);
    engine.launch("cudaLaunchKernel", 12, &[("Cijk_Alik_Bljk_USL1", 300)]);
    engine.host(Category::CPU_OP, "aiter::mha_batch_prefill", 30, 40);
    engine.launch("cudaLaunchKernel", 32, &[("fmha_fwd", 100)]);
    engine.host(Category::USER_ANNOTATION, DECODE, 200, 300);
    engine.launch("cudaGraphLaunch", 210, &[("Cijk_Alik_Bljk_USL1", 40), ("pa_decode", 10)]);
    engine.analysis(true)
}

fn phases(analysis: &Analysis, method: PhaseMethod) -> PhaseAnalysis<'_> {
    PhaseAnalysis::new(analysis, PhaseOptions { method, ..PhaseOptions::default() })
}

#[test]
fn each_phase_has_its_operators() {
    let analysis = served();
    let phases = phases(&analysis, PhaseMethod::default());
    let columns = "Kernel categories | name | total_direct_kernel_time_ms | Count | Percentage (%)";
    let prefill = sheet(&phases, "ops_summary_prefill").unwrap();
    assert_eq!(
        rows(&prefill, columns),
        [
            "GEMM-Tensile | aten::mm | 0.300 | 1 | 75.000",
            "Attention-Forward | aiter::mha_batch_prefill | 0.100 | 1 | 25.000",
        ]
    );
    assert_eq!(rows(&prefill, "Cumulative Percentage (%)"), ["75.000", "100.000"]);
    let decode = sheet(&phases, "ops_summary_decode").unwrap();
    assert_eq!(
        rows(&decode, columns),
        ["GEMM-Tensile, PagedAttention-Compute | cudaGraphLaunch | 0.050 | 1 | 100.000"]
    );
    assert!(sheet(&phases, "ops_summary_mixed").is_none());
    assert!(sheet(&phases, "ops_summary_unknown").is_none());
    assert!(phases.notices().is_empty(), "{:?}", phases.notices());
}

#[test]
fn each_phase_has_its_kernels() {
    let analysis = served();
    let phases = phases(&analysis, PhaseMethod::default());
    let columns = "Parent cpu_op | Kernel name | Kernel stream | Kernel duration (µs)_sum \
         | Percent of kernels time (%)";
    let prefill = sheet(&phases, "kernel_summary_prefill").unwrap();
    assert_eq!(
        rows(&prefill, columns),
        [
            "aten::mm | Cijk_Alik_Bljk_USL1 | 7 | 300.000 | 75.000",
            "aiter::mha_batch_prefill | fmha_fwd | 7 | 100.000 | 25.000",
        ]
    );
    let decode = sheet(&phases, "kernel_summary_decode").unwrap();
    assert_eq!(
        rows(&decode, columns),
        [
            "cudaGraphLaunch | Cijk_Alik_Bljk_USL1 | 7 | 40.000 | 80.000",
            "cudaGraphLaunch | pa_decode | 7 | 10.000 | 20.000",
        ]
    );
    assert_eq!(
        headers(&decode),
        "Kernel name | Kernel duration (µs)_sum | Percent of kernels time (%) | Kernel duration (µs)_count \
         | Kernel duration (µs)_mean | Kernel duration (µs)_min | Kernel duration (µs)_max \
         | Parent op category | Parent cpu_op | Kernel stream"
    );
}

#[test]
fn kernel_sheets_are_written_on_demand_only() {
    let mut engine = Engine::new();
    engine.host(Category::USER_ANNOTATION, DECODE, 0, 100);
    engine.launch("cudaGraphLaunch", 10, &[("gemm", 40)]);
    let analysis = engine.analysis(false);
    let phases = phases(&analysis, PhaseMethod::default());
    assert!(sheet(&phases, "ops_summary_decode").is_some());
    assert!(sheet(&phases, "kernel_summary_decode").is_none());
}

#[test]
fn phases_and_steps_are_summed_up() {
    let analysis = served();
    let phases = phases(&analysis, PhaseMethod::default());
    let summary = sheet(&phases, "phase_summary").unwrap();
    let columns = "phase | kernel_time_us | percent_of_kernel_time | steps | requests | tokens \
         | gpu_events | busy_time_us | mean_step_gpu_us | tokens_per_s | source | confidence";
    assert_eq!(headers(&summary), columns);
    assert_eq!(
        rows(&summary, columns),
        [
            "Prefill | 400.000 | 88.889 | 1 | 2 | 100 | 2 | 400.000 | 400.000 | 250000.000 | annotation | 1.000",
            "Decode | 50.000 | 11.111 | 1 | 4 | 4 | 2 | 50.000 | 50.000 | 80000.000 | annotation | 1.000",
        ]
    );
    let steps = sheet(&phases, "step_summary").unwrap();
    assert_eq!(
        rows(&steps, &headers(&steps)),
        [
            format!(
                "0 | Prefill | 400.000 | 2 | 100 | 0 | 0 | 0.000 | 100.000 | 10000.000 | 10400.000 | 2 | 0 | {PREFILL} | yes | annotation | 1.000"
            ),
            format!(
                "1 | Decode | 50.000 | 0 | 0 | 4 | 4 | 200.000 | 100.000 | 10400.000 | 10450.000 | 2 | 1 | {DECODE} | no | annotation | 1.000"
            ),
        ]
    );
}

#[test]
fn a_call_over_several_steps_is_divided_by_what_each_launched() {
    let mut engine = Engine::new();
    engine.host(Category::CPU_OP, "engine::serve", 0, 1000);
    engine.host(Category::USER_ANNOTATION, PREFILL, 10, 100);
    engine.launch("cudaLaunchKernel", 20, &[("a", 300)]);
    engine.host(Category::USER_ANNOTATION, DECODE, 200, 300);
    // Both steps' kernels at once for the last 100 µs of the first.
    engine.device -= 100;
    engine.launch("cudaLaunchKernel", 210, &[("b", 140)]);
    let analysis = engine.analysis(false);
    let phases = phases(&analysis, PhaseMethod::default());
    let time = |name: &str| sheet(&phases, name).map(|table| kernel_time_us(&table).round());
    assert_eq!(analysis.launchers().map(|row| row.direct_time).collect::<Vec<_>>(), [340_000]);
    assert_eq!((time("ops_summary_prefill"), time("ops_summary_decode")), (Some(300.0), Some(40.0)));
    let decode = sheet(&phases, "ops_summary_decode").unwrap();
    assert_eq!(rows(&decode, "Kernel categories | name | Count"), ["Uncategorized | engine::serve | 1"]);
}

#[test]
fn single_methods_label_calls_and_say_what_they_leave_open() {
    let analysis = served();
    let phases = phases(&analysis, PhaseMethod::Ours(DetectionMethod::KernelNames));
    let summary = sheet(&phases, "phase_summary").unwrap();
    assert_eq!(
        rows(&summary, "phase | steps | kernel_time_us | source | confidence"),
        [
            "Prefill | - | 100.000 | kernel_names | -",
            "Decode | - | 50.000 | kernel_names | -",
            "Unknown | - | 300.000 | none | -",
        ]
    );
    assert!(sheet(&phases, "step_summary").is_none());
    assert!(sheet(&phases, "kernel_summary_unknown").is_some());
    let [PhaseNotice::Undecided { method, percent }] = phases.notices()[..] else {
        panic!("{:?}", phases.notices())
    };
    assert_eq!((method, (percent * 10.0).round()), (DetectionMethod::KernelNames, 667.0));
}

#[test]
fn legacy_sheets_have_the_words_and_labels_of_the_reference() {
    let analysis = served();
    let phases = phases(&analysis, PhaseMethod::TraceLens(Method::Named(DetectionMethod::Hybrid)));
    let columns = "Kernel categories | name | total_direct_kernel_time_sum | Count";
    let decode = sheet(&phases, "ops_summary_decode").unwrap();
    assert_eq!(
        rows(&decode, columns),
        ["GEMM-CK | aten::mm | 300.000 | 1", "GEMM-CK, Uncategorized | cudaGraphLaunch | 50.000 | 1",]
    );
    assert!(sheet(&phases, "kernel_summary_decode").is_none());
    assert_eq!(phases.notices(), [PhaseNotice::TraceLens { method: Method::Named(DetectionMethod::Hybrid) }]);
}

#[test]
fn inferred_phases_are_told_from_stated_ones() {
    let mut engine = Engine::new();
    engine.host(Category::CPU_OP, "vllm::x", 0, 100);
    engine.launch("cudaGraphLaunch", 10, &[("paged_attention_ll4mi_QKV", 40), ("gemm", 60)]);
    let analysis = engine.analysis(false);
    let phases = phases(&analysis, PhaseMethod::default());
    let notices = phases.notices();
    let [PhaseNotice::Inferred { by, unknown_percent, prompts_percent: 0.0 }] = &notices[..] else {
        panic!("{notices:?}")
    };
    let inferred: f64 = by.iter().map(|(_, percent)| percent).sum();
    assert!((inferred + unknown_percent - 100.0).abs() < 1e-9, "{notices:?}");
    assert!(notices[0].to_string().contains("100.0% of device time is inferred"), "{}", notices[0]);
}

#[test]
fn a_trace_of_the_device_alone_has_unknown_phases_and_says_so() {
    let mut builder = TraceBuilder::new();
    let stream = builder.track(0, 7);
    builder.event(Category::KERNEL, "pa_decode", stream, 0, 5000, EventArguments::default());
    let analysis = Analysis::new(builder.finish(), AnalysisOptions::default());
    for method in [
        PhaseMethod::default(),
        PhaseMethod::Ours(DetectionMethod::KernelNames),
        PhaseMethod::TraceLens(Method::Union),
    ] {
        let phases = phases(&analysis, method);
        assert_eq!(phases.notices(), [PhaseNotice::DeviceOnly], "{method}");
        let summary = sheet(&phases, "phase_summary").unwrap();
        let found = rows(&summary, "phase | gpu_events | kernel_time_us | busy_time_us | source");
        assert_eq!(found, ["Unknown | 1 | 0.000 | 5.000 | none"], "{method}");
        assert_eq!(phases.phases()[0].phase, Phase::Unknown);
    }
}

#[test]
fn a_trace_without_device_work_has_no_sheets() {
    let mut engine = Engine::new();
    engine.host(Category::CPU_OP, "aten::mm", 0, 10);
    let analysis = engine.analysis(true);
    for method in [PhaseMethod::default(), PhaseMethod::TraceLens(Method::Union)] {
        let phases = phases(&analysis, method);
        assert!(phase_sheets().iter().all(|sheet| sheet.table(&phases).unwrap().is_none()), "{method}");
        assert!(phases.phases().is_empty());
    }
}
