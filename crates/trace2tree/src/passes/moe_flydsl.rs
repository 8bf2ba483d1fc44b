//! The two stages of AITER's mixture of experts written in FlyDSL, which are Python functions.

use trace_ingest::{ArgumentValue, EventId};

use super::python_frame::{frames, require_frames};
use super::{Problems, outermost};
use crate::edit::PseudoOperator;
use crate::pass::{PassError, TreePass};
use crate::tree::TraceTree;

const OPERATOR: &str = "aiter::fused_moe_";
const PASS: &str = "MoE_Flydsl";

/// Function of the frame, and name of the operator inserted above it.
const STAGES: [(&str, &str); 2] = [
    ("flydsl_moe_stage1", "pseudo_op::moe_flydsl_stage1"),
    ("flydsl_moe_stage2", "pseudo_op::moe_flydsl_stage2"),
];

/// Names the stages inside `aiter::fused_moe_`.
pub(super) struct MoeFlydsl;

struct Stage {
    frame: EventId,
    donor: EventId,
    function: &'static str,
    pseudo: &'static str,
}

impl TreePass for MoeFlydsl {
    fn name(&self) -> &str {
        PASS
    }

    fn run(&self, tree: &mut TraceTree) -> Result<(), PassError> {
        if !require_frames(tree, OPERATOR)? {
            return Ok(());
        }
        let mut problems = Problems::new(PASS);
        let mut stages = Vec::new();
        for (function, pseudo) in STAGES {
            let calls = frames(tree, |name| name.function == function);
            for frame in outermost(tree, calls.into_iter()) {
                let is_done =
                    |above: EventId| tree.is_pseudo_operator(above) && tree.trace().name(above) == pseudo;
                if tree.parent(frame).is_some_and(is_done) {
                    continue;
                }
                match tree.ancestors(frame).find(|&above| tree.trace().name(above) == OPERATOR) {
                    Some(donor) => stages.push(Stage { frame, donor, function, pseudo }),
                    None => problems.add("stage outside aiter::fused_moe_ left as it is", frame),
                }
            }
        }
        problems.report(tree);
        let mut edit = tree.edit();
        for Stage { frame, donor, function, pseudo } in stages {
            let stage = ArgumentValue::Text(function.to_owned());
            let operator = PseudoOperator {
                name: pseudo,
                donor: Some(donor),
                attributes: vec![("MoE flydsl stage".to_owned(), stage)],
                ..PseudoOperator::default()
            };
            let inserted = edit.insert_above(frame, operator)?;
            edit.charge_with_subtree(inserted)?;
        }
        Ok(())
    }
}
