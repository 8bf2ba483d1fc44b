use std::error::Error;
use std::sync::Arc;

use perf_models::{ComputeSpec, Figure, OpCall, Parameter, PerfModel, Undefined};
use trace_ingest::{Category, EventArguments, TraceBuilder};
use trace2tree::{PseudoOperator, TraceTree};

use super::*;
use crate::{AnalysisExtension, AnalysisOptions, ExtensionModel, TreeChanges};

/// A trace in the making: one thread, one stream, times in µs.
#[derive(Default)]
struct Timeline {
    builder: TraceBuilder,
    correlation: i64,
}

impl Timeline {
    fn event(&mut self, category: Category, name: &str, at: (i64, i64), arguments: EventArguments) {
        let track = match category.is_device() {
            true => self.builder.track(0, 7),
            false => self.builder.track(1, 1),
        };
        self.builder.event(category, name, track, at.0 * 1000, at.1 * 1000, arguments);
    }

    fn op(&mut self, name: &str, at: (i64, i64)) {
        self.event(Category::CPU_OP, name, at, EventArguments::default());
    }

    /// A call with the kernels that it launches.
    fn launch(&mut self, call: &str, at: i64, kernels: &[(&str, i64)]) {
        self.correlation += 1;
        let arguments = EventArguments { correlation: Some(self.correlation), ..EventArguments::default() };
        self.event(Category::CUDA_RUNTIME, call, (at, 2), arguments);
        for (position, &(kernel, duration)) in (0..).zip(kernels) {
            let arguments = EventArguments { device: Some(0), stream: Some(7), ..arguments };
            let start = 1000 * self.correlation + 200 * position;
            self.event(Category::KERNEL, kernel, (start, duration), arguments);
        }
    }
}

/// Names of the charged operators with their device time in µs; `->` where one device event is left over.
fn charged(analysis: &Analysis) -> Vec<(String, f64)> {
    let trace = analysis.trace();
    let row = |charged: ChargedOperator| {
        let arrow = if charged.is_leftover { "->" } else { "" };
        let time = trace2tree::busy_time(trace.events(), charged.device_events.iter().copied());
        (format!("{}{arrow}", trace.name(charged.operator)), trace.to_microseconds(time))
    };
    charged_operators(analysis).into_iter().map(row).collect()
}

fn rows<'a>(rows: &[(&'a str, f64)]) -> Vec<(String, f64)> {
    rows.iter().map(|&(name, time): &(&'a str, f64)| (name.to_owned(), time)).collect()
}

#[test]
fn an_operator_inserted_above_one_kernel_of_a_graph_launch_is_charged_with_it() {
    let mut timeline = Timeline::default();
    timeline.op("vllm::moe_forward", (0, 100));
    let kernels = [("_matmul_ogs_up", 50), ("_matmul_ogs_down", 40), ("_matmul_scatter", 7), ("silu", 3)];
    timeline.launch("hipGraphLaunch", 10, &kernels);
    let options = AnalysisOptions { enable_pseudo_ops: true, ..AnalysisOptions::default() };
    assert_eq!(
        charged(&Analysis::new(timeline.builder.finish(), options)),
        rows(&[
            ("pseudo_op::moe_triton_unfused_up", 50.0),
            ("pseudo_op::moe_triton_unfused_down", 40.0),
            ("pseudo_op::moe_triton_unfused_finalize_matmul_scatter", 7.0),
            ("vllm::moe_forward->", 3.0),
        ])
    );
}

#[test]
fn parts_of_an_operator_that_only_our_tables_have_are_charged_in_its_place() {
    const EXPERTS: &str = "vllm::outplace_fused_experts";
    for (enable_pseudo_ops, expected) in [
        (false, rows(&[(EXPERTS, 103.0)])),
        (
            true,
            rows(&[
                ("pseudo_op::moe_gptq_awq_up", 50.0),
                ("pseudo_op::moe_gptq_awq_down", 50.0),
                (&format!("{EXPERTS}->"), 3.0),
            ]),
        ),
    ] {
        let mut timeline = Timeline::default();
        timeline.op(EXPERTS, (0, 100));
        let kernels =
            [("fused_moe_kernel_gptq_awq", 50), ("act_and_mul_kernel", 3), ("fused_moe_kernel_gptq_awq", 50)];
        timeline.launch("cudaLaunchKernel", 10, &kernels);
        let options = AnalysisOptions { enable_pseudo_ops, ..AnalysisOptions::default() };
        assert_eq!(charged(&Analysis::new(timeline.builder.finish(), options)), expected);
    }
}

/// Isolates every kernel whose name ends in `_part`, and models those parts and `layer`.
struct Parts;

#[derive(Debug)]
struct OneFlop;

impl PerfModel for OneFlop {
    fn flops(&self) -> Figure {
        Ok(1.0)
    }

    fn bytes(&self) -> Figure {
        Ok(1.0)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        None
    }

    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }
}

impl AnalysisExtension for Parts {
    fn change_tree(&self, tree: &mut TraceTree) -> Result<TreeChanges, Box<dyn Error + Send + Sync>> {
        let parts = tree.linked_device_events().iter().copied();
        let parts: Vec<_> = parts.filter(|&event| tree.trace().name(event).ends_with("_part")).collect();
        let mut edit = tree.edit();
        for part in parts {
            edit.isolate(part, PseudoOperator { name: "part", ..PseudoOperator::default() })?;
        }
        Ok(TreeChanges::default())
    }

    fn has_model(&self, operator: &str) -> bool {
        ["part", "layer"].contains(&operator)
    }

    fn model(&self, _call: &OpCall<'_>) -> Option<Result<ExtensionModel, Undefined>> {
        Some(Ok(ExtensionModel { model: Arc::new(OneFlop), family: None, category: "mine".to_owned() }))
    }
}

#[test]
fn a_modelled_operator_is_not_charged_with_what_modelled_operators_inserted_in_it_are() {
    let mut timeline = Timeline::default();
    timeline.op("layer", (0, 100));
    timeline.op("inner", (1, 50));
    timeline.launch("cudaLaunchKernel", 10, &[("norm", 15)]);
    timeline.launch("cudaLaunchKernel", 20, &[("gemm_part", 50)]);
    timeline.launch("cudaLaunchKernel", 60, &[("bias", 5)]);
    timeline.op("layer", (200, 100));
    timeline.launch("cudaLaunchKernel", 210, &[("only_part", 30)]);
    let extension = Box::new(Parts);
    let analysis = Analysis::with_extension(timeline.builder.finish(), AnalysisOptions::default(), extension);
    assert_eq!(
        charged(&analysis),
        rows(&[("layer", 20.0), ("part", 50.0), ("part", 30.0)]),
        "the second layer does nothing else"
    );
}
