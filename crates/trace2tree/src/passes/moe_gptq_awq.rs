//! The mixture of experts with weights quantised by GPTQ or AWQ: one kernel per projection.

use super::expert_gemm::ExpertGemm;
use super::{Problems, has_inserted, kernels_by_start, operators, outermost};
use crate::pass::{PassError, TreePass};
use crate::tree::TraceTree;

const PSEUDO: &str = "pseudo_op::moe_gptq_awq";
const PASS: &str = "MoE_GPTQ_AWQ";

/// Experts per token where the trace does not tell.
const ASSUMED_TOPK: i64 = 8;

/// Separates the two projections of `vllm::outplace_fused_experts`.
pub(super) struct MoeGptqAwq;

impl TreePass for MoeGptqAwq {
    fn name(&self) -> &str {
        PASS
    }

    fn run(&self, tree: &mut TraceTree) -> Result<(), PassError> {
        let mut problems = Problems::new(PASS);
        let mut gemms: Vec<ExpertGemm> = Vec::new();
        for operator in outermost(tree, operators(tree, "vllm::outplace_fused_experts")) {
            let kernels = kernels_by_start(tree, operator, |name| name.contains("fused_moe_kernel_gptq_awq"));
            if kernels.is_empty() || has_inserted(tree, operator, PSEUDO) {
                continue;
            }
            let [up, down] = kernels[..] else {
                problems.add("operator without exactly two GPTQ/AWQ kernels left as it is", operator);
                continue;
            };
            let topk = tree
                .trace()
                .argument(operator, |signature| signature.dims)
                .and_then(|dims| dims.as_list()?.get(4)?.as_list()?.get(1)?.as_int());
            let topk = topk.unwrap_or_else(|| {
                problems.add("no top-k in the operator's shapes, 8 assumed", operator);
                ASSUMED_TOPK
            });
            gemms.push(ExpertGemm { kernel: up, operator, index: 0, gated: true, topk });
            gemms.push(ExpertGemm { kernel: down, operator, index: 1, gated: false, topk });
        }
        problems.report(tree);
        let mut edit = tree.edit();
        for gemm in &gemms {
            gemm.isolate(&mut edit, PSEUDO)?;
        }
        Ok(())
    }
}
