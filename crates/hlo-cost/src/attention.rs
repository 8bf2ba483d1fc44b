//! Fused attention of Transformer Engine and of cuDNN.

use perf_models::{
    Attention, AttentionMask, Figure, MaskAlignment, Parameter, PerfModel, Undefined, Value, finite,
};

use crate::backend_config::BackendConfig;
use crate::contraction::{array_operand, extent, extents, other_extents};
use crate::{ArrayShape, DotDimensionNumbers, HloCost, HloKind, InstructionRef, bytes};

/// A call of fused attention.
pub(crate) struct FusedAttention {
    attention: Attention,
    backward: bool,
    bias: bool,
    layout: Option<&'static str>,
    assumption: Option<String>,
}

type Found = Result<FusedAttention, (HloKind, Undefined)>;

/// The attention that a custom call computes, or why it cannot be told; `None` where it is none.
pub(crate) fn model(of: InstructionRef<'_>) -> Option<Found> {
    if of.opcode != "custom-call" {
        return None;
    }
    let target = of.custom_call_target.as_str();
    let kind = HloKind::from_target(target);
    if !matches!(kind, HloKind::AttentionForward | HloKind::AttentionBackward) {
        return None;
    }
    let backward = kind == HloKind::AttentionBackward;
    let config = BackendConfig::read(&of.backend_config);
    let found = if target.contains("fused_attn") {
        transformer_engine(of, &config, backward)
    } else if target.contains("cudnn$fmha") {
        cudnn(of, &config, backward)
    } else {
        Err(Undefined::no_formula(format!("no formula for the custom call {target}")))
    };
    Some(found.map_err(|reason| (kind, reason)))
}

/// The cost of the call.
pub(crate) fn cost(of: InstructionRef<'_>, found: Found) -> HloCost {
    match found {
        Ok(found) => found.into_cost(),
        Err((kind, reason)) => HloCost { bytes: bytes::of(of), ..HloCost::undefined(kind, reason) },
    }
}

impl FusedAttention {
    fn into_cost(self) -> HloCost {
        let Self { attention, backward, bias, layout, assumption } = self;
        let finite = |figure: Figure| figure.and_then(finite);
        let mut parameters: Vec<Parameter> = attention.parameters();
        parameters.push(("bias", bias.into()));
        if let Some(layout) = layout {
            parameters.push(("qkv_layout", layout.into()));
        }
        HloCost {
            kind: if backward { HloKind::AttentionBackward } else { HloKind::AttentionForward },
            flops: finite(if backward { attention.backward_flops() } else { attention.flops() }),
            vector_flops: 0.0,
            bytes: finite(if backward { attention.backward_bytes() } else { attention.bytes() }),
            spec: attention.compute_spec(),
            parameters,
            assumption,
        }
    }
}

/// Layouts of query, key and value, by the number that Transformer Engine gives them
/// (`NVTE_QKV_Layout` in its `fused_attn.h`): S sequence, B batch, T tokens of all sequences, H heads,
/// D elements of a head; a number stands for tensors in one.
const LAYOUTS: [&str; 15] = [
    "SB3HD",
    "SBH3D",
    "SBHD_SB2HD",
    "SBHD_SBH2D",
    "SBHD_SBHD_SBHD",
    "BS3HD",
    "BSH3D",
    "BSHD_BS2HD",
    "BSHD_BSH2D",
    "BSHD_BSHD_BSHD",
    "T3HD",
    "TH3D",
    "THD_T2HD",
    "THD_TH2D",
    "THD_THD_THD",
];

/// Transformer Engine states every dimension in the attributes of the call, whatever the layout.
///
/// Masks by number (`NVTE_Mask_Type`): 0 none, 1 padding, 2 causal, 3 padding and causal, 4 and 5 the causal
/// ones that end at the last key.
fn transformer_engine(
    of: InstructionRef<'_>,
    config: &BackendConfig,
    backward: bool,
) -> Result<FusedAttention, Undefined> {
    let stated = |name: &str| config.attribute(name).and_then(Value::as_int);
    let count = |name: &'static str| {
        stated(name)
            .and_then(|count| u64::try_from(count).ok())
            .ok_or_else(|| Undefined::arguments(format!("the backend configuration has no {name}")))
    };
    let query = array_operand(of, 0)?;
    // Older releases state one dimension for both, the oldest none.
    let head_dim = |name| count(name).or_else(|_| count("head_dim"));
    let query_dim =
        || query.dimensions.last().copied().ok_or_else(|| Undefined::arguments("the query is a scalar"));
    let mask_type = stated("mask_type")
        .ok_or_else(|| Undefined::arguments("the backend configuration has no mask_type"))?;
    let window = |name| stated(name).and_then(|size| u64::try_from(size).ok());
    let mask = AttentionMask {
        causal: matches!(mask_type, 2..=5),
        alignment: if mask_type >= 4 { MaskAlignment::BottomRight } else { MaskAlignment::TopLeft },
        window_left: window("window_size_left"),
        window_right: window("window_size_right"),
    };
    let heads = count("attn_heads")?;
    let layout = stated("qkv_layout").and_then(|number| LAYOUTS.get(usize::try_from(number).ok()?).copied());
    let packed = layout.is_some_and(|layout| layout.starts_with('T'));
    let element_type = query.element_type.torch_name();
    Ok(FusedAttention {
        attention: Attention {
            batch: count("input_batch")?,
            query_length: count("q_max_seqlen")?,
            query_heads: heads,
            key_length: count("kv_max_seqlen")?,
            key_heads: count("num_gqa_groups").unwrap_or(heads),
            head_dim: head_dim("qk_head_dim").or_else(|_| query_dim())?,
            value_head_dim: head_dim("v_head_dim").or_else(|_| query_dim())?,
            mask,
            recomputes_scores: true,
            query_type: element_type.clone(),
            key_type: element_type,
            ..Attention::default()
        },
        backward,
        // 0 is no bias in `NVTE_Bias_Type`.
        bias: stated("bias_type").is_some_and(|number| number != 0),
        layout,
        assumption: unrecorded_lengths(packed, matches!(mask_type, 1 | 3 | 5)),
    })
}

fn unrecorded_lengths(packed: bool, padded: bool) -> Option<String> {
    if packed {
        Some("assumed one full sequence per batch row: lengths are known only on the device".into())
    } else if padded {
        Some("assumed no padding: lengths are known only on the device".into())
    } else {
        None
    }
}

/// cuDNN has query, key and value as the first three operands in both directions; the configuration says
/// which of their dimensions are which, as dimension numbers of the multiplications that it fuses.
fn cudnn(
    of: InstructionRef<'_>,
    config: &BackendConfig,
    backward: bool,
) -> Result<FusedAttention, Undefined> {
    let root = "/cudnn_fmha_backend_config";
    let numbers = |name: &str| {
        config
            .dot(&format!("{root}/{name}_dot_dimension_numbers"))
            .ok_or_else(|| Undefined::arguments(format!("the backend configuration has no {name}")))
    };
    let [query, key, value] = [array_operand(of, 0)?, array_operand(of, 1)?, array_operand(of, 2)?];
    let parts = if backward {
        // dK = dSᵀ Q sums over queries, dQ = dS K over keys, dP = dO Vᵀ over a value's elements.
        let q = Operand::right(query, &numbers("bmm1_grad_gemm1")?)?;
        let k = Operand::right(key, &numbers("bmm1_grad_gemm2")?)?;
        let v = Operand::right(value, &numbers("bmm2_grad_gemm2")?)?;
        [(q.batch, q.summed, q.rest), (k.batch, k.summed, k.rest), (v.batch, v.rest, v.summed)]
    } else {
        let scores = numbers("bmm1")?;
        let q = Operand::left(query, &scores)?;
        let k = Operand::right(key, &scores)?;
        let v = Operand::right(value, &numbers("bmm2")?)?;
        [(q.batch, q.rest, q.summed), (k.batch, k.rest, k.summed), (v.batch, v.summed, v.rest)]
    };
    let [(q_batch, queries, head_dim), (k_batch, keys, _), (_, _, value_head_dim)] = parts;
    let (&[batch, query_heads], &[_, key_heads]) = (&q_batch[..], &k_batch[..]) else {
        return Err(Undefined::arguments("query and key lack the batch and head dimensions"));
    };
    let mask_type = config.text(&format!("{root}/mask_type")).unwrap_or("NO_MASK");
    let stated_causal = config.json(&format!("{root}/is_causal_mask")).and_then(serde_json::Value::as_bool);
    // A window of one is the query's own key.
    let window = config.number(&format!("{root}/sliding_window_length")).filter(|length| *length >= 1.0);
    let flash = config.json(&format!("{root}/is_flash_attention")).and_then(serde_json::Value::as_bool);
    let packed = config.number(&format!("{root}/max_seg_per_batch")).is_some_and(|count| count > 1.0);
    Ok(FusedAttention {
        attention: Attention {
            batch,
            query_length: product(&queries),
            query_heads,
            key_length: product(&keys),
            key_heads,
            head_dim: product(&head_dim),
            value_head_dim: product(&value_head_dim),
            mask: AttentionMask {
                causal: mask_type.contains("CAUSAL") || stated_causal == Some(true),
                alignment: MaskAlignment::TopLeft,
                window_left: window.map(|length| length as u64 - 1),
                window_right: None,
            },
            recomputes_scores: flash.unwrap_or(true),
            query_type: query.element_type.torch_name(),
            key_type: key.element_type.torch_name(),
            ..Attention::default()
        },
        backward,
        bias: of.custom_call_target.contains("Bias"),
        layout: None,
        assumption: unrecorded_lengths(packed, mask_type.contains("PADDING")),
    })
}

fn product(extents: &[u64]) -> u64 {
    extents.iter().fold(1, |product, &extent| product.saturating_mul(extent))
}

/// The dimensions of an operand of a multiplication by their part in it.
struct Operand {
    batch: Vec<u64>,
    summed: Vec<u64>,
    rest: Vec<u64>,
}

impl Operand {
    fn left(array: &ArrayShape, numbers: &DotDimensionNumbers) -> Result<Self, Undefined> {
        Self::of(array, &numbers.lhs_batch, &numbers.lhs_contracting)
    }

    fn right(array: &ArrayShape, numbers: &DotDimensionNumbers) -> Result<Self, Undefined> {
        Self::of(array, &numbers.rhs_batch, &numbers.rhs_contracting)
    }

    fn of(array: &ArrayShape, batch: &[i64], summed: &[i64]) -> Result<Self, Undefined> {
        for &axis in batch.iter().chain(summed) {
            extent(&array.dimensions, axis)?;
        }
        Ok(Self {
            batch: extents(&array.dimensions, batch)?,
            summed: extents(&array.dimensions, summed)?,
            rest: other_extents(&array.dimensions, &[batch, summed]),
        })
    }
}
