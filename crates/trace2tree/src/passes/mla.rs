//! AITER's multi-head latent attention: a Python function whose stages are separate operators.

use trace_ingest::EventId;

use super::python_frame::{FrameName, frames, require_frames};
use super::{Problems, has_inserted, outermost};
use crate::edit::PseudoOperator;
use crate::pass::{PassError, TreePass};
use crate::tree::TraceTree;

/// Puts all that a function calls below one operator with the arguments of its first stage, so that the
/// stage, the reduction and the helper kernels count as one attention.
pub(super) struct Mla {
    name: &'static str,
    /// The first stage, which lends its arguments.
    stage: &'static str,
    pseudo: &'static str,
    is_function: fn(FrameName<'_>) -> bool,
}

pub(super) const DECODE: Mla = Mla {
    name: "MLA_Decode",
    stage: "aiter::mla_decode_stage1_asm_fwd",
    pseudo: "pseudo_mla_decode_fwd",
    is_function: |frame| frame.is_in("aiter/mla.py") && frame.function.starts_with("mla_decode_fwd"),
};

pub(super) const PREFILL: Mla = Mla {
    name: "MLA_Prefill",
    stage: "aiter::mla_prefill_ps_asm_fwd",
    pseudo: "pseudo_mla_prefill_fwd",
    is_function: |frame| frame.is_word("mla_fp8_prefill_attn"),
};

impl TreePass for Mla {
    fn name(&self) -> &str {
        self.name
    }

    fn run(&self, tree: &mut TraceTree) -> Result<(), PassError> {
        if !require_frames(tree, self.stage)? {
            return Ok(());
        }
        let mut problems = Problems::new(self.name);
        let mut calls: Vec<(EventId, EventId)> = Vec::new();
        for frame in outermost(tree, frames(tree, self.is_function).into_iter()) {
            if has_inserted(tree, frame, self.pseudo) {
                continue;
            }
            match tree.host_subtree(frame).iter().find(|&&below| tree.trace().name(below) == self.stage) {
                _ if tree.device_events(frame).is_empty() => {
                    problems.add("function without device work left as it is", frame);
                }
                Some(&stage) => calls.push((frame, stage)),
                None => problems.add("function without its first stage left as it is", frame),
            }
        }
        problems.report(tree);
        let mut edit = tree.edit();
        for (frame, stage) in calls {
            let donor = Some(stage);
            let operator = PseudoOperator { name: self.pseudo, donor, ..PseudoOperator::default() };
            let inserted = edit.wrap_children(frame, operator)?;
            edit.charge_with_subtree(inserted)?;
        }
        Ok(())
    }
}
