//! Mixtures of experts: AITER's fused kernel and its stages in FlyDSL, and the projections that Triton, GPTQ and AWQ
//! run as one kernel each.

use trace_ingest::{ArgumentValue, Category, EventId};

use super::python_frame::{frames, require_frames};
use super::rule::{Problems, Rule, has_inserted, kernels_by_start, operators, outermost};
use crate::edit::{EditError, PseudoOperator, TreeEdit};
use crate::pass::PassError;
use crate::tree::TraceTree;

/// Separates the fused kernel of `vllm::rocm_aiter_fused_moe`, which does both projections, from the sorting and
/// quantization around it.
pub(super) const FUSED: Rule = Rule { name: "MoE_Fused", run: isolate_fused };

/// Separates the projections of Triton's `vllm::moe_forward`, one `matmul_ogs` kernel each, and the kernel that adds
/// the results up.
pub(super) const TRITON: Rule = Rule { name: "MoE_Unfused_Triton", run: isolate_triton };

/// Separates the two projections of `vllm::outplace_fused_experts`, whose weights GPTQ or AWQ quantized.
pub(super) const GPTQ_AWQ: Rule = Rule { name: "MoE_GPTQ_AWQ", run: isolate_gptq_awq };

/// Names the two stages inside `aiter::fused_moe_` that are written in FlyDSL: they are Python functions.
pub(super) const FLYDSL: Rule = Rule { name: "MoE_Flydsl", run: name_flydsl_stages };

fn isolate_fused(tree: &mut TraceTree, mut problems: Problems) -> Result<(), PassError> {
    const PSEUDO: &str = "pseudo_op::moe_aiter_fused_1stage";
    if tree.find_by_name("vllm::moe_forward").is_empty() {
        return Ok(());
    }
    let mut found: Vec<(EventId, EventId)> = Vec::new();
    for operator in operators(tree, "vllm::rocm_aiter_fused_moe") {
        if has_inserted(tree, operator, PSEUDO) || calls_working_operator(tree, operator) {
            continue;
        }
        match kernels_by_start(tree, operator, is_fused_kernel)[..] {
            _ if tree.device_events(operator).is_empty() => {
                problems.add("operator without device work, left unchanged", operator);
            }
            [kernel] => found.push((operator, kernel)),
            _ => problems.add("operator without exactly one fused kernel, left unchanged", operator),
        }
    }
    problems.report(tree);

    let mut edit = tree.edit();
    for (operator, kernel) in found {
        edit.isolate(kernel, PseudoOperator::new(PSEUDO, operator))?;
    }
    Ok(())
}

fn is_fused_kernel(name: &str) -> bool {
    name.contains("aiter::")
        && name.contains("fmoe")
        && !name.contains("MoeSorting")
        && !name.to_ascii_lowercase().contains("quant")
}

/// Whether operators of the trace inside this one do the work: they have rows of their own then.
fn calls_working_operator(tree: &TraceTree, operator: EventId) -> bool {
    let events = tree.trace().events();
    let works = |below: EventId| {
        events.category(below) == Category::CPU_OP
            && !tree.non_gpu_path(below)
            && !tree.is_pseudo_operator(below)
    };
    tree.host_subtree(operator)[1..].iter().any(|&below| works(below))
}

/// A kernel that multiplies the tokens with the experts' weights.
struct Projection {
    kernel: EventId,
    /// The operator that the inserted one takes its arguments from.
    operator: EventId,
    /// Position among the projections of the operator; the first one is the up projection.
    index: i64,
    /// Whether the up projection computes a gate too.
    gated: bool,
    /// Experts per token.
    topk: i64,
}

impl Projection {
    /// Puts the kernel below an operator named `{family}_up` or `{family}_down`.
    fn isolate(&self, edit: &mut TreeEdit<'_>, family: &str) -> Result<EventId, EditError> {
        let direction = if self.index == 0 { "up" } else { "down" };
        let name = format!("{family}_{direction}");
        let operator = PseudoOperator::new(&name, self.operator).with_attributes([
            ("MoE GEMM type", ArgumentValue::Text(direction.to_owned())),
            ("MoE GEMM index", ArgumentValue::Int(self.index)),
            ("MoE GEMM gated", ArgumentValue::Bool(self.gated)),
            ("MoE topk", ArgumentValue::Int(self.topk)),
        ]);
        edit.isolate(self.kernel, operator)
    }
}

fn isolate_triton(tree: &mut TraceTree, mut problems: Problems) -> Result<(), PassError> {
    const PSEUDO: &str = "pseudo_op::moe_triton_unfused";
    /// Experts per token where the trace does not say.
    const ASSUMED_TOPK: i64 = 4;
    if !tree.find_by_name("vllm::rocm_aiter_fused_moe").is_empty() {
        return Ok(());
    }
    let mut projections: Vec<Projection> = Vec::new();
    let mut scatters: Vec<(EventId, EventId)> = Vec::new();
    for operator in outermost(tree, operators(tree, "vllm::moe_forward")) {
        let kernels = kernels_by_start(tree, operator, is_triton_projection);
        if kernels.is_empty() || has_inserted(tree, operator, PSEUDO) {
            continue;
        }
        let topk = routed_experts(tree, operator).unwrap_or_else(|| {
            problems.add("no routing top-k found, assumed 4", operator);
            ASSUMED_TOPK
        });
        projections.extend((0..).zip(kernels).map(|(index, kernel)| {
            let gated = has_fused_gate(tree.trace().name(kernel));
            Projection { kernel, operator, index, gated, topk }
        }));
        match kernels_by_start(tree, operator, is_triton_scatter)[..] {
            [] => {}
            [kernel] => scatters.push((operator, kernel)),
            _ => problems.add("several scatter kernels kept in the operator", operator),
        }
    }
    problems.report(tree);

    let mut edit = tree.edit();
    for projection in &projections {
        projection.isolate(&mut edit, PSEUDO)?;
    }
    for (operator, kernel) in scatters {
        let kind = ArgumentValue::Text("finalize_matmul_scatter".to_owned());
        let name = "pseudo_op::moe_triton_unfused_finalize_matmul_scatter";
        let scatter = PseudoOperator::new(name, operator).with_attributes([("MoE GEMM type", kind)]);
        edit.isolate(kernel, scatter)?;
    }
    Ok(())
}

fn is_triton_projection(name: &str) -> bool {
    name.to_ascii_lowercase().contains("matmul_ogs")
}

fn is_triton_scatter(name: &str) -> bool {
    name.to_ascii_lowercase().contains("matmul_scatter") && !is_triton_projection(name)
}

/// Whether the activation of a gated unit is fused into the projection.
fn has_fused_gate(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("_swiglu") || name.contains("_glu")
}

/// Experts per token: the second concrete input of the first routing call (`…TopK…`) below the operator.
fn routed_experts(tree: &TraceTree, operator: EventId) -> Option<i64> {
    /// How deep below the operator the routing is looked for.
    const LEVELS: usize = 11;
    let mut pending = vec![(operator, 0)];
    while let Some((event, level)) = pending.pop() {
        if level > 0
            && tree.trace().name(event).contains("TopK")
            && let Some(topk) = second_concrete_input(tree, event)
        {
            return Some(topk);
        }
        if level < LEVELS {
            pending.extend(tree.children(event).iter().rev().map(|&child| (child, level + 1)));
        }
    }
    None
}

fn second_concrete_input(tree: &TraceTree, event: EventId) -> Option<i64> {
    let concrete = tree.trace().argument(event, |signature| signature.concrete)?;
    match concrete.as_list()?.get(1)? {
        ArgumentValue::Int(value) => Some(*value),
        ArgumentValue::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn isolate_gptq_awq(tree: &mut TraceTree, mut problems: Problems) -> Result<(), PassError> {
    const PSEUDO: &str = "pseudo_op::moe_gptq_awq";
    /// Experts per token where the trace does not say.
    const ASSUMED_TOPK: i64 = 8;
    let mut projections: Vec<Projection> = Vec::new();
    for operator in outermost(tree, operators(tree, "vllm::outplace_fused_experts")) {
        let kernels = kernels_by_start(tree, operator, |name| name.contains("fused_moe_kernel_gptq_awq"));
        if kernels.is_empty() || has_inserted(tree, operator, PSEUDO) {
            continue;
        }
        let [up, down] = kernels[..] else {
            problems.add("operator without exactly two GPTQ/AWQ kernels, left unchanged", operator);
            continue;
        };
        let topk = tree
            .trace()
            .argument(operator, |signature| signature.dims)
            .and_then(|dims| dims.as_list()?.get(4)?.as_list()?.get(1)?.as_int());
        let topk = topk.unwrap_or_else(|| {
            problems.add("no top-k in the operator's shapes, assumed 8", operator);
            ASSUMED_TOPK
        });
        projections.push(Projection { kernel: up, operator, index: 0, gated: true, topk });
        projections.push(Projection { kernel: down, operator, index: 1, gated: false, topk });
    }
    problems.report(tree);

    let mut edit = tree.edit();
    for projection in &projections {
        projection.isolate(&mut edit, PSEUDO)?;
    }
    Ok(())
}

fn name_flydsl_stages(tree: &mut TraceTree, mut problems: Problems) -> Result<(), PassError> {
    const OPERATOR: &str = "aiter::fused_moe_";
    /// Function of the frame, and name of the operator inserted above it.
    const STAGES: [(&str, &str); 2] = [
        ("flydsl_moe_stage1", "pseudo_op::moe_flydsl_stage1"),
        ("flydsl_moe_stage2", "pseudo_op::moe_flydsl_stage2"),
    ];
    if !require_frames(tree, OPERATOR)? {
        return Ok(());
    }
    let trace = tree.trace();
    let mut stages = Vec::new();
    for (function, pseudo) in STAGES {
        for frame in outermost(tree, frames(tree, |name| name.function == function)) {
            let is_done = |above: EventId| tree.is_pseudo_operator(above) && trace.name(above) == pseudo;
            if tree.parent(frame).is_some_and(is_done) {
                continue;
            }
            match tree.ancestors(frame).find(|&above| trace.name(above) == OPERATOR) {
                Some(donor) => stages.push((frame, donor, function, pseudo)),
                None => problems.add("stage outside aiter::fused_moe_, left unchanged", frame),
            }
        }
    }
    problems.report(tree);

    let mut edit = tree.edit();
    for (frame, donor, function, pseudo) in stages {
        let stage = [("MoE flydsl stage", ArgumentValue::Text(function.to_owned()))];
        let inserted = edit.insert_above(frame, PseudoOperator::new(pseudo, donor).with_attributes(stage))?;
        edit.charge_with_subtree(inserted)?;
    }
    Ok(())
}
