//! AITER's fused mixture of experts: both projections in one kernel.

use trace_ingest::{Category, EventId};

use super::{Problems, has_inserted, kernels_by_start, operators};
use crate::edit::PseudoOperator;
use crate::pass::{PassError, TreePass};
use crate::tree::TraceTree;

const OPERATOR: &str = "vllm::rocm_aiter_fused_moe";
const PSEUDO: &str = "pseudo_op::moe_aiter_fused_1stage";
const PASS: &str = "MoE_Fused";

/// Separates the fused kernel of `vllm::rocm_aiter_fused_moe` from the sorting and quantisation around it.
pub(super) struct MoeFused;

impl TreePass for MoeFused {
    fn name(&self) -> &str {
        PASS
    }

    fn run(&self, tree: &mut TraceTree) -> Result<(), PassError> {
        if tree.find_by_name("vllm::moe_forward").is_empty() {
            return Ok(());
        }
        let mut problems = Problems::new(PASS);
        let mut found: Vec<(EventId, EventId)> = Vec::new();
        for operator in operators(tree, OPERATOR) {
            if has_inserted(tree, operator, PSEUDO) || calls_working_operator(tree, operator) {
                continue;
            }
            match kernels_by_start(tree, operator, is_fused_kernel)[..] {
                _ if tree.device_events(operator).is_empty() => {
                    problems.add("operator without device work left as it is", operator);
                }
                [kernel] => found.push((operator, kernel)),
                _ => problems.add("operator without exactly one fused kernel left as it is", operator),
            }
        }
        problems.report(tree);
        let mut edit = tree.edit();
        for (operator, kernel) in found {
            let donor = Some(operator);
            edit.isolate(kernel, PseudoOperator { name: PSEUDO, donor, ..PseudoOperator::default() })?;
        }
        Ok(())
    }
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
