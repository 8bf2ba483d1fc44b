//! Triton's unfused mixture of experts: one `matmul_ogs` kernel per projection.

use trace_ingest::{ArgumentValue, EventId};

use super::expert_gemm::ExpertGemm;
use super::{Problems, has_inserted, kernels_by_start, operators, outermost};
use crate::edit::PseudoOperator;
use crate::pass::{PassError, TreePass};
use crate::tree::TraceTree;

const PSEUDO: &str = "pseudo_op::moe_triton_unfused";
const PASS: &str = "MoE_Unfused_Triton";

/// Experts per token where the trace does not tell.
const ASSUMED_TOPK: i64 = 4;

/// How deep below the operator the routing is looked for.
const TOPK_LEVELS: usize = 11;

/// Separates the projections of `vllm::moe_forward`, and the kernel that puts the results together.
pub(super) struct MoeTriton;

impl TreePass for MoeTriton {
    fn name(&self) -> &str {
        PASS
    }

    fn run(&self, tree: &mut TraceTree) -> Result<(), PassError> {
        if !tree.find_by_name("vllm::rocm_aiter_fused_moe").is_empty() {
            return Ok(());
        }
        let mut problems = Problems::new(PASS);
        let mut gemms: Vec<ExpertGemm> = Vec::new();
        let mut scatters: Vec<(EventId, EventId)> = Vec::new();
        for operator in outermost(tree, operators(tree, "vllm::moe_forward")) {
            let products = kernels_by_start(tree, operator, is_product);
            if products.is_empty() || has_inserted(tree, operator, PSEUDO) {
                continue;
            }
            let topk = topk(tree, operator).unwrap_or_else(|| {
                problems.add("no top-k of the routing found, 4 assumed", operator);
                ASSUMED_TOPK
            });
            gemms.extend((0..).zip(products).map(|(index, kernel)| {
                let gated = is_gated(tree.trace().name(kernel));
                ExpertGemm { kernel, operator, index, gated, topk }
            }));
            match kernels_by_start(tree, operator, is_scatter)[..] {
                [] => {}
                [kernel] => scatters.push((operator, kernel)),
                _ => problems.add("several scatter kernels left with the operator", operator),
            }
        }
        problems.report(tree);
        let mut edit = tree.edit();
        for gemm in &gemms {
            gemm.isolate(&mut edit, PSEUDO)?;
        }
        for (operator, kernel) in scatters {
            let kind = ArgumentValue::Text("finalize_matmul_scatter".to_owned());
            let scatter = PseudoOperator {
                name: "pseudo_op::moe_triton_unfused_finalize_matmul_scatter",
                donor: Some(operator),
                attributes: vec![("MoE GEMM type".to_owned(), kind)],
                ..PseudoOperator::default()
            };
            edit.isolate(kernel, scatter)?;
        }
        Ok(())
    }
}

fn is_product(name: &str) -> bool {
    name.to_ascii_lowercase().contains("matmul_ogs")
}

fn is_scatter(name: &str) -> bool {
    name.to_ascii_lowercase().contains("matmul_scatter") && !is_product(name)
}

/// Whether the activation of a gated unit is fused into the product.
fn is_gated(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("_swiglu") || name.contains("_glu")
}

/// Experts per token: the second concrete input of the first routing call (`…TopK…`) below the operator.
fn topk(tree: &TraceTree, operator: EventId) -> Option<i64> {
    let mut pending = vec![(operator, 0)];
    while let Some((event, level)) = pending.pop() {
        if level > 0
            && tree.trace().name(event).contains("TopK")
            && let Some(topk) = second_concrete_input(tree, event)
        {
            return Some(topk);
        }
        if level < TOPK_LEVELS {
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
