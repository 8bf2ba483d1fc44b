use sheets::numbers::counted;

use crate::facts::Program;
use crate::rule::{Claim, Inspection, Part, Rule, Slot};

/// Work that the program does a second time.
pub(super) struct Recompute;

impl Rule for Recompute {
    fn id(&self) -> &'static str {
        "RECOMPUTE"
    }

    fn what(&self) -> &'static str {
        "recomputed activations"
    }

    fn remedy(&self, program: Program) -> &'static str {
        match program {
            Program::Xla => {
                "checkpoint less if memory allows (jax.checkpoint with a policy); XLA rematerializes on its \
                 own when memory is short"
            }
            Program::PyTorch | Program::Native => {
                "checkpoint fewer or cheaper modules if memory allows (selective checkpointing); \
                 recomputation trades this time for activation memory"
            }
        }
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let recomputed = facts
            .works
            .iter()
            .zip(0..)
            .filter(|(work, _)| work.call.is_some_and(|call| facts.calls[call as usize].recomputed));
        let parts: Vec<Part> = recomputed
            .map(|(work, position)| Part { slot: Slot::Work(position), mid: work.exposed })
            .collect();
        let kernels = parts.len();
        if parts.is_empty() {
            return Vec::new();
        }
        let claim = Claim::new("the backward pass", parts)
            .with_range(0.8, 1.0)
            .with_evidence(format!("{} forward work", counted(kernels, "kernel repeats", "kernels repeat")));
        vec![claim]
    }
}
