//! Pseudo operators: names for the parts of kernel sequences that the trace records as one operator, or only
//! as Python frames.
//!
//! All rules work alike: they choose events of the built tree, warn of those that they leave as they are, then insert
//! in one edit. A rule recognises what it inserted before and leaves it alone, so running the passes twice adds
//! nothing.
//!
//! Two rules of TraceLens are not here, those for the KV-cache dtype of `_rocm_C::paged_attention` and
//! `aiter::paged_attention_v1`. They would insert no operator: the dtype is an argument of these operators, which a
//! model can read.

use std::collections::{BTreeMap, BTreeSet};

use trace_ingest::{Category, EventId};

use crate::pass::{PassError, TreePass, run_passes};
use crate::tree::TraceTree;

mod attention;
mod moe;
mod python_frame;
mod sglang_names;

#[cfg(test)]
mod tests;

pub use sglang_names::normalise_names;

/// The passes that insert pseudo operators, in the order in which they are to run; the first one does not
/// insert but normalises names ([`normalise_names`]).
///
/// Those of multi-head latent attention (`MLA_Decode`, `MLA_Prefill`), of `MoE_Flydsl` and of
/// `V4_Paged_Decode` look at Python frames: the tree must be built with
/// [`crate::TreeOptions::python_frames`]. When their operators are there and the frames are not, they fail and
/// say so.
pub fn pseudo_operator_passes() -> &'static [&'static dyn TreePass] {
    const PASSES: &[&dyn TreePass] = &[
        &sglang_names::NORMALISE_NAMES,
        &moe::FUSED,
        &moe::TRITON,
        &moe::GPTQ_AWQ,
        &moe::FLYDSL,
        &attention::MLA_DECODE,
        &attention::MLA_PREFILL,
        &attention::V4_PAGED_DECODE,
    ];
    PASSES
}

/// Runs all [`pseudo_operator_passes`]; the failures, with the names of their passes. What they left as it
/// was, they add to the tree's warnings.
pub fn insert_pseudo_operators(tree: &mut TraceTree) -> Vec<(String, PassError)> {
    run_passes(tree, pseudo_operator_passes())
}

/// A pass of this crate: what it leaves as it is or assumes, it adds to its problems.
struct Rule {
    name: &'static str,
    run: fn(&mut TraceTree, Problems) -> Result<(), PassError>,
}

impl TreePass for Rule {
    fn name(&self) -> &str {
        self.name
    }

    fn run(&self, tree: &mut TraceTree) -> Result<(), PassError> {
        (self.run)(tree, Problems { pass: self.name, events: BTreeMap::new() })
    }
}

/// Events that a pass left as they are or assumed something for, by problem.
struct Problems {
    pass: &'static str,
    events: BTreeMap<&'static str, Vec<EventId>>,
}

impl Problems {
    fn add(&mut self, problem: &'static str, event: EventId) {
        self.events.entry(problem).or_default().push(event);
    }

    /// Adds them to the tree's warnings.
    fn report(self, tree: &mut TraceTree) {
        for (problem, events) in self.events {
            tree.warn_of(self.pass, problem, &events);
        }
    }
}

/// The operators (`cpu_op`) of this name, in file order.
fn operators<'t>(tree: &'t TraceTree, name: &str) -> impl Iterator<Item = EventId> + 't {
    let events = tree.trace().events();
    tree.find_by_name(name).iter().copied().filter(|&event| events.category(event) == Category::CPU_OP)
}

/// The events that lie below no other of them, so that nothing counts twice.
fn outermost(tree: &TraceTree, events: impl IntoIterator<Item = EventId>) -> Vec<EventId> {
    let all: BTreeSet<EventId> = events.into_iter().collect();
    all.iter().copied().filter(|&event| !tree.ancestors(event).any(|above| all.contains(&above))).collect()
}

/// Whether an earlier run inserted an operator whose name starts so below the event.
fn has_inserted(tree: &TraceTree, event: EventId, name: &str) -> bool {
    tree.host_subtree(event)
        .iter()
        .any(|&below| tree.is_pseudo_operator(below) && tree.trace().name(below).starts_with(name))
}

/// The kernels below an event whose name `wanted` accepts, by start.
fn kernels_by_start(tree: &TraceTree, event: EventId, wanted: impl Fn(&str) -> bool) -> Vec<EventId> {
    let (trace, events) = (tree.trace(), tree.trace().events());
    let mut kernels = tree.device_events(event).to_vec();
    kernels.retain(|&device| events.category(device) == Category::KERNEL && wanted(trace.name(device)));
    kernels.sort_by_key(|&kernel| (events.start(kernel), kernel));
    kernels
}
