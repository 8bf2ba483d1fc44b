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

use crate::pass::{PassError, TreePass, run_passes};
use crate::tree::TraceTree;

mod attention;
mod moe;
mod python_frame;
mod rule;
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
