//! Where the arguments of each attention operator stand.

use super::mask::{AttentionMask, MaskAlignment};
use super::model::{Attention, PackedSequences};
use crate::recorded::{Backward, Read, Recorded};
use crate::tensor::strides_value;
use crate::{OpCall, Parameter, Undefined, Value};

/// Argument positions of an attention operator.
pub(super) struct Layout {
    /// Position of the queries; keys and values follow.
    query: usize,
    shape: Shape,
    causal: Causal,
    /// How far before the causal flag the dropout stands.
    dropout_before_causal: Option<usize>,
    alignment: MaskAlignment,
    /// How far behind the causal flag the two sides of the window stand.
    window_after_causal: Option<usize>,
    /// Strides are parameters of its rows.
    strides: bool,
    /// Element types are a parameter of its rows.
    types: bool,
    recomputes_scores: bool,
    backward: bool,
}

/// What the dimensions of queries, keys and values are.
enum Shape {
    /// (batch, length, heads, head dimension).
    LengthThenHeads,
    /// (batch, heads, length, head dimension).
    HeadsThenLength,
    /// (length, heads, head dimension) of all sequences one after the other.
    Packed {
        /// Position of the queries' offsets; the keys' follow.
        offsets: usize,
        /// Position of the longest length of queries; that of keys follows.
        longest: usize,
    },
}

/// Position of the flag that makes the mask causal.
enum Causal {
    /// Always recorded.
    At(usize),
    /// Not causal where its text is empty.
    DefaultsToFalse(&'static [usize]),
    /// Causal where it is not recorded, as the training of language models is. The first position that
    /// holds a flag counts.
    AssumedIfMissing(&'static [usize]),
}

/// `(q, k, v, dropout_p, softmax_scale, causal, window_size_left, window_size_right, ...)`.
pub(super) const FLASH: Layout = Layout {
    query: 0,
    shape: Shape::LengthThenHeads,
    causal: Causal::At(5),
    dropout_before_causal: Some(2),
    alignment: MaskAlignment::BottomRight,
    window_after_causal: Some(1),
    strides: true,
    types: true,
    recomputes_scores: true,
    backward: false,
};

/// `(dout, q, k, v, out, softmax_lse, dq, dk, dv, dropout_p, softmax_scale, causal, ...)`; without
/// `dropout_p` the flag stands one earlier.
pub(super) const FLASH_BACKWARD: Layout =
    Layout { query: 1, causal: Causal::AssumedIfMissing(&[11, 10]), backward: true, ..FLASH };

/// `(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale, causal, ...)`.
pub(super) const FLASH_VARLEN: Layout =
    Layout { shape: Shape::Packed { offsets: 3, longest: 5 }, causal: Causal::At(9), ..FLASH };

/// `(dout, q, k, v, out, softmax_lse, dq, dk, dv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
/// dropout_p, softmax_scale, causal, ...)`.
pub(super) const FLASH_VARLEN_BACKWARD: Layout = Layout {
    query: 1,
    shape: Shape::Packed { offsets: 9, longest: 11 },
    causal: Causal::At(15),
    backward: true,
    ..FLASH
};

/// `(query, key, value, dropout_p, is_causal, return_debug_mask, scale)`.
pub(super) const TORCH_FLASH: Layout = Layout {
    shape: Shape::HeadsThenLength,
    causal: Causal::DefaultsToFalse(&[4]),
    dropout_before_causal: Some(1),
    window_after_causal: None,
    strides: false,
    ..FLASH
};

/// `(grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, ...)`.
pub(super) const TORCH_FLASH_BACKWARD: Layout =
    Layout { query: 1, causal: Causal::DefaultsToFalse(&[11]), backward: true, ..TORCH_FLASH };

/// `(query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, return_debug_mask, scale,
/// window_size_left, window_size_right, ...)`.
const TORCH_FLASH_FORWARD: Layout = Layout {
    causal: Causal::DefaultsToFalse(&[8]),
    dropout_before_causal: Some(1),
    window_after_causal: Some(3),
    strides: false,
    ..FLASH
};

/// As [`TORCH_FLASH_FORWARD`], with the tokens of all sequences one after the other.
const TORCH_FLASH_FORWARD_PACKED: Layout =
    Layout { shape: Shape::Packed { offsets: 3, longest: 5 }, ..TORCH_FLASH_FORWARD };

/// Reads a call of the operator inside of PyTorch's flash attention, which programs may call themselves.
pub(super) fn torch_flash_forward(call: &OpCall<'_>) -> Read {
    let is_packed = call.has_dimensions(3);
    attention(call, if is_packed { &TORCH_FLASH_FORWARD_PACKED } else { &TORCH_FLASH_FORWARD })
}

/// `(query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, ...)`.
const TORCH_EFFICIENT: Layout = Layout {
    causal: Causal::DefaultsToFalse(&[6]),
    alignment: MaskAlignment::TopLeft,
    recomputes_scores: false,
    ..TORCH_FLASH
};

/// `(grad_out, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p, grad_input_mask,
/// is_causal, ...)`.
pub(super) const TORCH_EFFICIENT_BACKWARD: Layout = Layout {
    query: 1,
    causal: Causal::DefaultsToFalse(&[11]),
    dropout_before_causal: Some(2),
    backward: true,
    ..TORCH_EFFICIENT
};

/// `(grad_out, query, key, value, out, logsumexp, philox_seed, philox_offset, attn_bias, cum_seq_q, cum_seq_k, max_q,
/// max_k, dropout_p, is_causal, ...)`; early releases have neither seeds nor bias there.
pub(super) const TORCH_CUDNN_BACKWARD: Layout =
    Layout { query: 1, causal: Causal::DefaultsToFalse(&[14, 11]), backward: true, ..TORCH_EFFICIENT };

/// Reads a call of PyTorch's memory-efficient or cuDNN backend.
///
/// Input 3 is a tensor, so that its value is not recorded. Earlier releases had no such bias: there stood the
/// dropout of cuDNN's, the flag for the logarithms of the sums of the memory-efficient one.
pub(super) fn torch_efficient(call: &OpCall<'_>) -> Read {
    let third = call.written_value(3);
    let has_dropout = third.parse::<f64>().is_ok();
    let without_bias = Layout {
        causal: Causal::DefaultsToFalse(&[4]),
        dropout_before_causal: has_dropout.then_some(1),
        ..TORCH_EFFICIENT
    };
    attention(call, if third.is_empty() { &TORCH_EFFICIENT } else { &without_bias })
}

/// Reads a call of the operator inside of PyTorch's memory-efficient attention:
/// `(query, key, value, bias, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, custom_mask_type,
/// compute_log_sumexp, scale, seqlen_k, window_size)`. With offsets the batch is one row of all sequences.
pub(super) fn torch_efficient_forward(call: &OpCall<'_>) -> Read {
    const OFFSETS: usize = 4;
    const MASK: usize = 9;
    let layout = Layout { shape: Shape::LengthThenHeads, ..TORCH_EFFICIENT };
    let mut attention = shapes(call, &layout)?;
    if call.dimension(OFFSETS, 0).is_ok() {
        attention.packed = Some(packed(call, OFFSETS, 6)?);
    }
    let kind = call.written_value(MASK);
    let (causal, alignment) = match kind.as_ref() {
        "0" => (false, MaskAlignment::TopLeft),
        "1" => (true, MaskAlignment::TopLeft),
        "2" => (true, MaskAlignment::BottomRight),
        other => {
            return Err(Undefined::arguments(format!(
                "Concrete Inputs[{MASK}] {other:?} is not a mask type"
            )));
        }
    };
    // The window counts a query's own key.
    let window = call.written_value(13).parse::<u64>().ok().filter(|&keys| keys > 0);
    attention.mask =
        AttentionMask { causal, alignment, window_left: window.map(|keys| keys - 1), window_right: None };
    attention.query_type = call.type_of(0)?.to_owned();
    attention.key_type = call.type_of(1)?.to_owned();
    let mut parameters = attention.shape_parameters();
    parameters.push(("dropout", number(call, 8).into()));
    let types = attention.types_parameter();
    Ok(recorded(attention, parameters, Some(types)))
}

/// Reads a call of SageAttention: `(query, key, value, output, query_scale, key_scale, ..., tensor_layout, is_causal,
/// qk_quant_gran, sm_scale, return_lse)`, the first of the scalars at `scalars`. Queries and keys are INT8. Values are
/// FP16, or FP8 in a layout of their own, so that lengths are those of the keys and the output.
pub(super) fn sage(call: &OpCall<'_>, scalars: usize) -> Read {
    let flag = |at: usize| match call.written_value(at).as_ref() {
        "0" | "False" => Ok(false),
        "1" | "True" => Ok(true),
        other => Err(Undefined::arguments(format!("Concrete Inputs[{at}] {other:?} is neither 0 nor 1"))),
    };
    let heads_first = flag(scalars)?;
    let dimensions = |input| dimensions(call, input, heads_first);
    let [batch, query_length, query_heads, head_dim] = dimensions(0)?;
    let [key_batch, key_length, key_heads, key_head_dim] = dimensions(1)?;
    let [output_batch, output_length, output_heads, value_head_dim] = dimensions(3)?;
    consistent([(batch, key_batch), (batch, output_batch), (head_dim, key_head_dim)])?;
    consistent([(query_length, output_length), (query_heads, output_heads)])?;
    let attention = Attention {
        batch,
        query_length,
        query_heads,
        key_length,
        key_heads,
        head_dim,
        value_head_dim,
        mask: AttentionMask {
            causal: flag(scalars + 1)?,
            alignment: MaskAlignment::TopLeft,
            ..AttentionMask::default()
        },
        query_type: call.type_of(0)?.to_owned(),
        key_type: call.type_of(1)?.to_owned(),
        value_type: call.type_of(2)?.to_owned(),
        ..Attention::default()
    };
    let (parameters, types) = (attention.shape_parameters(), attention.types_parameter());
    let note =
        "rated against the peak of the query type, which the scores use; the value product uses another type";
    Ok(recorded(attention, parameters, Some(types)).with_note(note.to_owned()))
}

/// `(q, k, v, dropout_p, softmax_scale, is_causal, window_size_left, window_size_right, ...)`.
pub(super) const AITER: Layout =
    Layout { causal: Causal::DefaultsToFalse(&[5]), strides: false, types: false, ..FLASH };

/// As [`AITER`], after the output.
pub(super) const AITER_WRAPPER: Layout = Layout { query: 1, causal: Causal::DefaultsToFalse(&[6]), ..AITER };

/// `(dout, q, k, v, out, softmax_lse, dq, dk, dv, dbias, dropout_p, softmax_scale, causal, ...)`; early
/// releases have no `dbias`.
const AITER_BACKWARD: Layout =
    Layout { query: 1, causal: Causal::DefaultsToFalse(&[12, 11]), backward: true, ..AITER };

/// `(dout, q, k, v, out, softmax_lse, dropout_p, softmax_scale, is_causal, ...)`.
pub(super) const AITER_MHA_BACKWARD: Layout =
    Layout { causal: Causal::DefaultsToFalse(&[8]), ..AITER_BACKWARD };

/// As [`AITER_MHA_BACKWARD`], with a buffer before the dropout.
pub(super) const AITER_WRAPPER_BACKWARD: Layout =
    Layout { causal: Causal::DefaultsToFalse(&[9]), ..AITER_BACKWARD };

/// `(q, k, v, k_new, v_new, q_v, out, cu_seqlens_q, cu_seqlens_k, ..., max_seqlen_q (12), max_seqlen_k,
/// ..., softmax_scale, causal (24), window_size_left, window_size_right, ...)`.
const FLASH_3: Layout =
    Layout { dropout_before_causal: None, causal: Causal::DefaultsToFalse(&[24]), ..AITER };

/// As [`FLASH_3`], with the tokens of all sequences one after the other.
const FLASH_3_PACKED: Layout = Layout { shape: Shape::Packed { offsets: 7, longest: 12 }, ..FLASH_3 };

/// Reads a call of flash-attention 3, which has one operator for both shapes.
pub(super) fn flash_3(call: &OpCall<'_>) -> Read {
    let is_packed = call.dimensions(FLASH_3.query)?.len() == 3;
    attention(call, if is_packed { &FLASH_3_PACKED } else { &FLASH_3 })
}

/// Reads a call of aiter's backward pass. Where three inputs are recorded they are the queries, keys and
/// values: a gradient without what it belongs to has no shapes to fit.
pub(super) fn aiter_backward(call: &OpCall<'_>) -> Read {
    let without_gradient = Layout { query: 0, ..AITER_BACKWARD };
    attention(call, if call.input_count() == 3 { &without_gradient } else { &AITER_BACKWARD })
}

pub(super) fn attention(call: &OpCall<'_>, layout: &Layout) -> Read {
    let mut attention = shapes(call, layout)?;
    let (causal, causal_at, assumed_causal) = causal(call, &layout.causal)?;
    attention.mask =
        AttentionMask { causal, alignment: layout.alignment, window_left: None, window_right: None };
    if let Some(after) = layout.window_after_causal {
        [attention.mask.window_left, attention.mask.window_right] = window(call, causal_at + after);
    }
    attention.recomputes_scores = layout.recomputes_scores;
    attention.query_type = call.type_of(layout.query).unwrap_or_default().to_owned();
    attention.key_type = call.type_of(layout.query + 1).unwrap_or_default().to_owned();
    let mut parameters = attention.shape_parameters();
    if layout.strides {
        for (name, input) in ["q_stride", "k_stride", "v_stride"].into_iter().zip(layout.query..) {
            parameters.push((name, strides_value(call.strides_of(input).ok().as_deref())));
        }
    }
    let dropout = layout.dropout_before_causal.map(|before| number(call, causal_at.saturating_sub(before)));
    parameters.push(("dropout", dropout.unwrap_or(0.0).into()));
    let types = layout.types.then(|| attention.types_parameter());
    let backward = if layout.backward { Backward::ThisCall } else { Backward::AsModelled };
    let note = assumed_causal.then(|| "assumed a causal mask".to_owned());
    Ok(recorded(attention, parameters, types).with_notes(note).with_backward(backward))
}

/// The call with its mask, element types and lengths behind the parameters that stand first.
fn recorded(attention: Attention, mut parameters: Vec<Parameter>, types: Option<Parameter>) -> Recorded {
    parameters.push(("causal", attention.mask.causal.into()));
    parameters.push(("flash_impl", attention.recomputes_scores.into()));
    parameters.extend(types);
    parameters.extend(attention.length_parameters());
    Recorded::new(attention).with_parameters(parameters)
}

/// Reads `EvoformerAttention(q, k, v, biases...)`: (batch, sequences, residues, heads, head dimension).
pub(super) fn evoformer(call: &OpCall<'_>) -> Read {
    let [batch, sequences, residues, heads, head_dim] = call.dimensions_of(0)?;
    let element_type = call.type_of(0)?.to_owned();
    let attention = Attention {
        batch: batch.saturating_mul(sequences),
        query_length: residues,
        query_heads: heads,
        key_length: residues,
        key_heads: heads,
        head_dim,
        value_head_dim: head_dim,
        query_type: element_type.clone(),
        key_type: element_type.clone(),
        ..Attention::default()
    };
    let types = ("dtype_A_B", Value::List(vec![element_type.into()]));
    Ok(recorded(attention.clone(), attention.shape_parameters(), Some(types)))
}

fn shapes(call: &OpCall<'_>, layout: &Layout) -> Result<Attention, Undefined> {
    let (query, key, value) = (layout.query, layout.query + 1, layout.query + 2);
    if let Shape::Packed { offsets, longest } = layout.shape {
        let [query_length, query_heads, head_dim] = call.dimensions_of(query)?;
        let [key_length, key_heads, key_head_dim] = call.dimensions_of(key)?;
        let [value_length, value_heads, value_head_dim] = call.dimensions_of(value)?;
        consistent([(key_length, value_length), (key_heads, value_heads), (head_dim, key_head_dim)])?;
        return Ok(Attention {
            batch: 1,
            query_length,
            query_heads,
            key_length,
            key_heads,
            head_dim,
            value_head_dim,
            packed: Some(packed(call, offsets, longest)?),
            ..Attention::default()
        });
    }
    let heads_first = matches!(layout.shape, Shape::HeadsThenLength);
    let dimensions = |input| dimensions(call, input, heads_first);
    let [batch, query_length, query_heads, head_dim] = dimensions(query)?;
    let [key_batch, key_length, key_heads, key_head_dim] = dimensions(key)?;
    let [value_batch, value_length, value_heads, value_head_dim] = dimensions(value)?;
    consistent([(batch, key_batch), (batch, value_batch), (key_heads, value_heads)])?;
    consistent([(key_length, value_length), (head_dim, key_head_dim)])?;
    Ok(Attention {
        batch,
        query_length,
        query_heads,
        key_length,
        key_heads,
        head_dim,
        value_head_dim,
        ..Attention::default()
    })
}

/// Batch, length, heads and head dimension of an input, whose second dimension is the heads or the length.
fn dimensions(call: &OpCall<'_>, input: usize, heads_first: bool) -> Result<[u64; 4], Undefined> {
    let [batch, second, third, head_dim] = call.dimensions_of(input)?;
    Ok(if heads_first { [batch, third, second, head_dim] } else { [batch, second, third, head_dim] })
}

/// Lengths of sequences from the positions of the queries' offsets and of their longest length; the keys' follow each.
fn packed(call: &OpCall<'_>, offsets: usize, longest: usize) -> Result<PackedSequences, Undefined> {
    Ok(PackedSequences {
        query_sequences: call.dimension(offsets, 0)?.saturating_sub(1),
        key_sequences: call.dimension(offsets + 1, 0)?.saturating_sub(1),
        longest_query: length(call, longest)?,
        longest_key: length(call, longest + 1)?,
    })
}

fn consistent<const N: usize>(pairs: [(u64, u64); N]) -> Result<(), Undefined> {
    match pairs.iter().find(|(one, other)| one != other) {
        None => Ok(()),
        Some((one, other)) => Err(Undefined::arguments(format!(
            "queries, keys and values have inconsistent shapes: {one} is not {other}"
        ))),
    }
}

/// Whether the mask is causal, where that stands, and whether it is only assumed.
fn causal(call: &OpCall<'_>, causal: &Causal) -> Result<(bool, usize, bool), Undefined> {
    let candidates = match causal {
        Causal::At(at) => std::slice::from_ref(at),
        Causal::DefaultsToFalse(candidates) | Causal::AssumedIfMissing(candidates) => candidates,
    };
    if let Some((causal, at)) = candidates.iter().find_map(|&at| Some((call.required_flag(at).ok()?, at))) {
        return Ok((causal, at, false));
    }
    let &[at, ..] = candidates else {
        return Err(Undefined::arguments("the position of the causal flag is unknown"));
    };
    match (causal, call.concrete_text(at)) {
        (Causal::DefaultsToFalse(_), Ok("" | "None")) => Ok((false, at, false)),
        (Causal::AssumedIfMissing(_), Ok("") | Err(_)) => Ok((true, at, true)),
        (_, Ok(text)) => Err(Undefined::arguments(format!(
            "Concrete Inputs[{at}] {text:?} does not say whether the mask is causal"
        ))),
        (_, Err(undefined)) => Err(undefined),
    }
}

/// The number that input `index` was recorded as; 0 where there is none.
fn number(call: &OpCall<'_>, index: usize) -> f64 {
    call.written_value(index).parse().ok().filter(|number: &f64| number.is_finite()).unwrap_or_default()
}

/// The length that input `index` was recorded as: `4096`, also `4096.0`.
pub(crate) fn length(call: &OpCall<'_>, index: usize) -> Result<u64, Undefined> {
    let text = call.written_value(index);
    match text.parse::<f64>() {
        // The cast saturates.
        Ok(length) if length >= 0.0 => Ok(length as u64),
        _ => Err(Undefined::arguments(format!("Concrete Inputs[{index}] {text:?} is not a length"))),
    }
}

/// The two sides of a sliding window: two numbers from position `at`, or a pair there. Negative is unbounded.
pub(crate) fn window(call: &OpCall<'_>, at: usize) -> [Option<u64>; 2] {
    let side = |text: &str| text.trim().parse::<i64>().ok().and_then(|keys| u64::try_from(keys).ok());
    let first = call.written_value(at);
    let pair = first.trim_start_matches(['(', '[']).trim_end_matches([')', ']']).split_once(',');
    match pair {
        Some((left, right)) => [side(left), side(right)],
        None => [side(&first), side(&call.written_value(at + 1))],
    }
}
