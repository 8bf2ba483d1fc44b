//! Attention whose parts only Python frames show: AITER's multi-head latent attention and DeepSeek-V4's sparse paged
//! decode.

use trace_ingest::{ArgumentValue, EventId};

use super::python_frame::{FrameName, frames, require_frames};
use super::rule::{Problems, Rule, has_inserted, outermost};
use crate::edit::PseudoOperator;
use crate::pass::PassError;
use crate::tree::TraceTree;

/// Puts the stages of AITER's `mla_decode_fwd` below one operator.
pub(super) const MLA_DECODE: Rule = Rule {
    name: "MLA_Decode",
    run: |tree, problems| {
        let is_function = |frame: FrameName<'_>| {
            frame.is_in("aiter/mla.py") && frame.function.starts_with("mla_decode_fwd")
        };
        wrap_stages(tree, problems, "aiter::mla_decode_stage1_asm_fwd", "pseudo_mla_decode_fwd", is_function)
    },
};

/// Puts the stages of AITER's `mla_fp8_prefill_attn` below one operator.
pub(super) const MLA_PREFILL: Rule = Rule {
    name: "MLA_Prefill",
    run: |tree, problems| {
        let is_function = |frame: FrameName<'_>| frame.is_word("mla_fp8_prefill_attn");
        wrap_stages(tree, problems, "aiter::mla_prefill_ps_asm_fwd", "pseudo_mla_prefill_fwd", is_function)
    },
};

/// Names the calls of `sparse_attn_v4_paged_decode`, a function that launches its kernels itself, by the attention
/// that the layer uses.
pub(super) const V4_PAGED_DECODE: Rule = Rule { name: "V4_Paged_Decode", run: wrap_paged_decodes };

/// Puts all that a function calls below the operator `pseudo` with the arguments of its first `stage`, so that the
/// stage, the reduction and the helper kernels count as one attention.
fn wrap_stages(
    tree: &mut TraceTree,
    mut problems: Problems,
    stage: &str,
    pseudo: &str,
    is_function: impl Fn(FrameName<'_>) -> bool,
) -> Result<(), PassError> {
    if !require_frames(tree, stage)? {
        return Ok(());
    }
    let mut calls: Vec<(EventId, EventId)> = Vec::new();
    for frame in outermost(tree, frames(tree, is_function)) {
        if has_inserted(tree, frame, pseudo) {
            continue;
        }
        match tree.host_subtree(frame).iter().find(|&&below| tree.trace().name(below) == stage) {
            _ if tree.device_events(frame).is_empty() => {
                problems.add("function without device work, left unchanged", frame);
            }
            Some(&stage) => calls.push((frame, stage)),
            None => problems.add("function without its first stage, left unchanged", frame),
        }
    }
    problems.report(tree);

    let mut edit = tree.edit();
    for (frame, stage) in calls {
        let inserted = edit.wrap_children(frame, PseudoOperator::new(pseudo, stage))?;
        edit.charge_with_subtree(inserted)?;
    }
    Ok(())
}

/// What the trace does not say about the run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Deployment {
    model: Option<String>,
    /// Ranks that share the heads.
    tensor_parallel: i64,
}

impl Deployment {
    /// From the variables `TL_MODEL` and `TL_TP`, the latter 1 unless set.
    fn from_environment() -> Result<Self, PassError> {
        Deployment::new(std::env::var("TL_MODEL").ok(), std::env::var("TL_TP").ok().as_deref())
    }

    fn new(model: Option<String>, tensor_parallel: Option<&str>) -> Result<Self, PassError> {
        let tensor_parallel = match tensor_parallel {
            None => 1,
            Some(text) => text
                .trim()
                .parse()
                .map_err(|_| PassError::Unmet(format!("TL_TP is not an integer: {text:?}")))?,
        };
        Ok(Deployment { model, tensor_parallel })
    }
}

/// A call of the paged decode.
struct Call {
    frame: EventId,
    donor: EventId,
    index: i64,
    layer: Layer,
}

/// What the kernel names of one attention say about it.
#[derive(Debug, PartialEq, Eq)]
struct Layer {
    mode: &'static str,
    /// Query heads and their size.
    heads: Option<(i64, i64)>,
}

impl Layer {
    /// Sliding window, compressed sparse or heavily compressed attention, by the compression kernels.
    fn from_kernels(kernels: &[&str]) -> Layer {
        let any = |prefix: &str| kernels.iter().any(|name| name.starts_with(prefix));
        let mode = if any("hca_") {
            "hca"
        } else if any("fused_compress_attn") || any("_update_compressor_states_kernel") {
            "csa"
        } else {
            "swa"
        };
        Layer { mode, heads: kernels.iter().find_map(|name| heads(name)) }
    }
}

/// Heads and head size in a kernel's name: `…qk_norm_rope_H32_D512_RD64…`.
fn heads(name: &str) -> Option<(i64, i64)> {
    name.match_indices("qk_norm_rope_H").find_map(|(start, marker)| {
        let (heads, rest) = number(&name[start + marker.len()..])?;
        let (size, rest) = number(rest.strip_prefix("_D")?)?;
        number(rest.strip_prefix("_RD")?)?;
        Some((heads, size))
    })
}

/// The number that a text starts with, and what follows it.
fn number(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn wrap_paged_decodes(tree: &mut TraceTree, mut problems: Problems) -> Result<(), PassError> {
    const OPERATOR: &str = "aiter::v4_attention_with_output";
    if !require_frames(tree, OPERATOR)? {
        return Ok(());
    }
    let deployment = Deployment::from_environment()?;
    let (trace, events) = (tree.trace(), tree.trace().events());
    let mut frames = outermost(
        tree,
        frames(tree, |name| name.is_in("paged_decode.py") && name.is_word("sparse_attn_v4_paged_decode")),
    );
    frames.sort_by_key(|&frame| (trace.tracks().get(events.track(frame)), events.start(frame)));
    let mut calls = Vec::new();
    for (index, frame) in (0..).zip(frames) {
        if has_inserted(tree, frame, "pseudo_v4_paged_decode_") {
            continue;
        }
        match tree.ancestors(frame).find(|&above| trace.name(above) == OPERATOR) {
            _ if tree.device_events(frame).is_empty() => {
                problems.add("function without device work, left unchanged", frame);
            }
            None => problems.add("function outside aiter::v4_attention_with_output, left unchanged", frame),
            Some(donor) => {
                let kernels = tree.device_events_in_file_order(donor);
                let names: Vec<&str> = kernels.iter().map(|&kernel| trace.name(kernel)).collect();
                calls.push(Call { frame, donor, index, layer: Layer::from_kernels(&names) });
            }
        }
    }
    problems.report(tree);

    let mut edit = tree.edit();
    for Call { frame, donor, index, layer } in calls {
        let model = deployment.model.clone().map_or(ArgumentValue::Null, ArgumentValue::Text);
        let mut attributes = vec![
            ("v4_mode", ArgumentValue::Text(layer.mode.to_owned())),
            ("v4_call_index", ArgumentValue::Int(index)),
            ("v4_model_name", model),
            ("v4_tp", ArgumentValue::Int(deployment.tensor_parallel)),
        ];
        if let Some((heads, size)) = layer.heads {
            attributes.push(("v4_H_Q", ArgumentValue::Int(heads)));
            attributes.push(("v4_d_h", ArgumentValue::Int(size)));
        }
        let pseudo = format!("pseudo_v4_paged_decode_{}", layer.mode);
        let operator = PseudoOperator::new(&pseudo, donor).with_attributes(attributes);
        let inserted = edit.wrap_children(frame, operator)?;
        edit.charge_with_subtree(inserted)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_tell_the_mode_and_the_heads() {
        for (kernels, mode, heads) in [
            (&["qk_norm_rope_H32_D512_RD64_flydsl", "_swa_write_kernel"][..], "swa", Some((32, 512))),
            (&["fused_compress_attn_D512_RD64"], "csa", None),
            (&["_update_compressor_states_kernel"], "csa", None),
            (&["fused_compress_attn_D512", "hca_compress_forward_D512"], "hca", None),
            (&["my_hca_kernel", "qk_norm_rope_H_D512_RD64", "qk_norm_rope_H8_D64"], "swa", None),
            (&["qk_norm_rope_H8_D64_RD4", "qk_norm_rope_H16_D64_RD4"], "swa", Some((8, 64))),
        ] {
            assert_eq!(Layer::from_kernels(kernels), Layer { mode, heads }, "{kernels:?}");
        }
    }

    #[test]
    fn the_environment_names_the_model_and_the_ranks() {
        let unset = Deployment::new(None, None).unwrap();
        assert_eq!((unset.model, unset.tensor_parallel), (None, 1));
        assert_eq!(Deployment::new(None, Some(" 8 ")).unwrap().tensor_parallel, 8);
        let error = Deployment::new(None, Some("eight")).unwrap_err();
        assert_eq!(error.to_string(), "TL_TP is not an integer: \"eight\"");
    }
}
