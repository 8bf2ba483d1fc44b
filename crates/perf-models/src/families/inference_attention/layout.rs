//! Where the arguments of each attention operator of inference engines stand.

use super::model::InferenceAttention;
use crate::annotation::{IterationAnnotation, StepStatistics, TokenStatistics};
use crate::families::attention::{PackedSequences, length, window};
use crate::recorded::{Read, Recorded};
use crate::tensor::count_value;
use crate::{OpCall, Undefined, Value};

/// A call's token counts, with what they rest on.
pub(super) struct Step {
    pub(super) statistics: Result<StepStatistics, Undefined>,
    pub(super) assumption: Option<String>,
}

/// The token counts of the step around a call.
pub(super) fn step(call: &OpCall<'_>) -> Step {
    let annotation = call.annotation.and_then(IterationAnnotation::parse);
    let statistics = match (call.annotation, &annotation) {
        (_, Some(step)) => step
            .chunk_statistics()
            .ok_or_else(|| Undefined::arguments("the enclosing step's annotation has no context lengths")),
        (Some(_), None) => Err(Undefined::arguments("the enclosing annotation comes from an unknown engine")),
        (None, None) => Err(Undefined::arguments("no step annotation encloses the call")),
    };
    Step { statistics, assumption: annotation.and_then(|step| step.assumption()).map(str::to_owned) }
}

/// Generation requests only: the kernel runs no others.
pub(super) fn generation_only(step: Step) -> Step {
    let statistics = step.statistics.map(|statistics| StepStatistics {
        context: TokenStatistics::default(),
        generation: statistics.generation,
    });
    Step { statistics, ..step }
}

/// `(query, key, value, ...)`, each (tokens, heads, head dimension).
pub(super) fn unified(call: &OpCall<'_>) -> Read {
    InferenceCall::read(call, step(call))?.recorded()
}

/// As [`unified`], with values of another head dimension than keys.
pub(super) fn with_value_tensor(call: &OpCall<'_>) -> Read {
    InferenceCall::read(call, step(call))?.with_value_tensor(call).recorded()
}

/// What follows queries, keys and values in aiter's operators over sequences of different lengths.
pub(super) struct KeyLengths {
    /// The offsets of the sequences of queries; those of keys follow.
    offsets: usize,
    /// The longest length of queries; that of keys follows.
    longest: usize,
    /// Values have a head dimension of their own.
    value_tensor: bool,
    /// The keys are the whole cache, not those of this call.
    whole_cache: bool,
}

impl KeyLengths {
    pub(super) const MHA_VARLEN: Self =
        Self { offsets: 3, longest: 5, value_tensor: false, whole_cache: false };
    pub(super) const FMHA_V3_VARLEN: Self = Self { value_tensor: true, ..Self::MHA_VARLEN };
    pub(super) const BATCH_PREFILL: Self =
        Self { longest: 6, value_tensor: true, whole_cache: true, ..Self::MHA_VARLEN };

    /// The flag that makes the mask causal follows that of clearing outputs: the first two flags in a row
    /// after the lengths. Releases have different numbers of arguments before them.
    fn causal(&self, call: &OpCall<'_>) -> Option<usize> {
        let after_lengths = self.longest + 2;
        let count = call.concrete.map_or(0, <[Value]>::len);
        let named = |index| {
            let text = call.written_value(index);
            text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")
        };
        (after_lengths + 1..count).find(|&index| named(index - 1) && named(index))
    }

    /// The token counts that the lengths of the sequences give.
    fn step(&self, call: &OpCall<'_>, attention: &InferenceAttention) -> Result<(Step, bool), Undefined> {
        let packed = PackedSequences {
            query_sequences: call.dimension(self.offsets, 0)?.saturating_sub(1),
            key_sequences: call.dimension(self.offsets + 1, 0)?.saturating_sub(1),
            longest_query: length(call, self.longest)?,
            longest_key: length(call, self.longest + 1)?,
        };
        let causal = call.required_flag(
            self.causal(call).ok_or_else(|| Undefined::arguments("no causal flag recorded"))?,
        )?;
        let keys = if self.whole_cache {
            packed.key_sequences.saturating_mul(packed.longest_key)
        } else {
            attention.key_tokens
        };
        let mut sums = [0.0; 4];
        for sequences in packed.lengths(attention.query_tokens as f64, keys as f64) {
            let (queries, keys) = (sequences.queries, sequences.keys);
            for (sum, term) in sums.iter_mut().zip([queries, keys, queries * queries, queries * keys]) {
                *sum += sequences.count * term;
            }
        }
        // The casts saturate.
        let [queries, keys_seen, squared_queries, query_key_pairs] = sums.map(|sum| sum as i64);
        let tokens = TokenStatistics { queries, keys: keys_seen, squared_queries, query_key_pairs };
        let (context, generation) = if packed.longest_query <= 1 {
            (TokenStatistics::default(), tokens)
        } else {
            (tokens, TokenStatistics::default())
        };
        let mut notes = vec!["token counts taken from the sequence lengths of the call".to_owned()];
        if self.whole_cache {
            notes.push("assumed all contexts as long as the longest".to_owned());
        }
        notes.extend(packed.assumption(attention.query_tokens, keys));
        let statistics = Ok(StepStatistics { context, generation });
        Ok((Step { statistics, assumption: Some(notes.join("; ")) }, causal))
    }
}

/// `(q, k, v, cu_seqlens_q, cu_seqlens_k, ..., max_seqlen_q, max_seqlen_k, ...)`.
///
/// Without an annotation the recorded lengths say as much as those of a training kernel do.
pub(super) fn variable_length(call: &OpCall<'_>, lengths: &KeyLengths) -> Read {
    let mut inference = InferenceCall::read(call, step(call))?;
    if lengths.value_tensor {
        inference = inference.with_value_tensor(call);
    }
    if inference.attention.statistics.is_err()
        && let Ok((step, causal)) = lengths.step(call, &inference.attention)
    {
        inference.attention.statistics = step.statistics;
        inference.attention.causal_context = causal;
        inference.notes.extend(step.assumption);
    }
    if !inference.window_parameter
        && let Some(causal) = lengths.causal(call)
        && let [Some(left), _] = window(call, causal + 1)
    {
        // The window counts keys before a query's own.
        inference.attention.sliding_window = Some(left.saturating_add(1));
        inference.window_parameter = true;
    }
    inference.recorded()
}

/// The elements of a value in DeepSeek's latent, which are the first of its 576.
const LATENT_VALUE_DIM: u64 = 512;
const LATENT_KEY_DIM: u64 = 576;

/// `(q, latent cache, ...)` of multi-head latent attention: keys are the latent with its rotary part, values
/// the latent without. Some later tensor is the output or its parts, whose rows have a value's length.
pub(super) fn latent(call: &OpCall<'_>) -> Read {
    let mut inference = InferenceCall::read(call, step(call))?;
    let head_dim = inference.attention.head_dim;
    let output = (2..call.input_count())
        .filter_map(|input| call.dimensions(input).ok())
        .filter(|shape| shape.len() >= 3)
        .filter_map(|shape| shape.last().copied())
        .find(|&value_head_dim| value_head_dim > 1 && value_head_dim <= head_dim);
    if let Some(value_head_dim) = output {
        inference.attention.value_head_dim = value_head_dim;
    } else if head_dim == LATENT_KEY_DIM {
        inference.assume_latent_value();
    }
    inference.attention.shared_latent = true;
    inference.recorded()
}

/// `tilelang_sparse_fwd(q, latent cache, indices, scale, d_v)`, counted as if it attended to all keys.
pub(super) fn tilelang_sparse(call: &OpCall<'_>) -> Read {
    let mut inference = InferenceCall::read(call, step(call))?;
    match call.positive_integer(4) {
        Some(value_head_dim) => inference.attention.value_head_dim = value_head_dim,
        None => inference.assume_latent_value(),
    }
    inference.attention.shared_latent = true;
    inference.notes.push("assumed that queries attend to all keys, not a selection".to_owned());
    inference.recorded()
}

/// `paged_attention_ragged(out, workspace, query, key_cache, value_cache, ...)`.
pub(super) fn paged_ragged(call: &OpCall<'_>) -> Read {
    let [query_tokens, query_heads, head_dim] = call.dimensions_of(2)?;
    let step = step(call);
    let key_tokens = step.statistics.as_ref().map_or(0, |statistics| {
        let keys = statistics.context.keys.saturating_add(statistics.generation.keys);
        u64::try_from(keys).unwrap_or(0)
    });
    let query_type = call.type_of(2).unwrap_or_default().to_owned();
    let attention = InferenceAttention {
        query_tokens,
        query_heads,
        key_tokens,
        key_heads: from_end(call, 3, 2)?,
        head_dim,
        value_head_dim: from_end(call, 4, 1)?,
        statistics: step.statistics,
        sliding_window: given_window(call),
        key_type: query_type.clone(),
        query_type,
        ..InferenceAttention::default()
    };
    InferenceCall { key_type_parameter: false, ..InferenceCall::new(attention, step.assumption) }.recorded()
}

/// `pa_decode_gluon(output, query, key_cache, ...)`: the window is the 20th argument.
pub(super) fn paged_decode(call: &OpCall<'_>) -> Read {
    let [query_tokens, query_heads, head_dim] = query_dimensions(call)?;
    let step = generation_only(step(call));
    let query_type = call.type_of(0).unwrap_or_default().to_owned();
    let key_type = call.type_of(2).ok().filter(|name| !name.is_empty()).unwrap_or(&query_type).to_owned();
    let given = given_window(call);
    let recorded_window = call.concrete_integer(19).unwrap_or(0);
    let attention = InferenceAttention {
        query_tokens,
        query_heads,
        key_tokens: generation_keys(&step),
        key_heads: call.dimension(2, 1)?,
        head_dim,
        value_head_dim: head_dim,
        statistics: step.statistics,
        sliding_window: given.or(u64::try_from(recorded_window).ok()).filter(|&window| window > 0),
        query_type,
        key_type,
        ..InferenceAttention::default()
    };
    let mut inference = InferenceCall::new(attention, step.assumption);
    inference.window_parameter = true;
    inference.recorded_window = given.is_none().then_some(recorded_window);
    inference.recorded()
}

/// The first three dimensions of input 0: tokens, heads, head dimension.
pub(super) fn query_dimensions(call: &OpCall<'_>) -> Result<[u64; 3], Undefined> {
    let query = call.dimensions(0)?;
    let shape = query.first_chunk().copied();
    shape.ok_or_else(|| Undefined::arguments(format!("Input Dims[0] has {} dimensions, not 3", query.len())))
}

/// Keys that generation requests attend to.
pub(super) fn generation_keys(step: &Step) -> u64 {
    step.statistics.as_ref().map_or(0, |statistics| u64::try_from(statistics.generation.keys).unwrap_or(0))
}

/// The number of keys that a query of this layer sees, where someone says so: the operators of some engines
/// do not record it. Positive.
fn given_window(call: &OpCall<'_>) -> Option<u64> {
    call.attribute("sliding_window")?.count().filter(|&window| window > 0)
}

fn from_end(call: &OpCall<'_>, input: usize, back: usize) -> Result<u64, Undefined> {
    let shape = call.dimensions(input)?;
    shape.len().checked_sub(back).and_then(|axis| shape.get(axis).copied()).ok_or_else(|| {
        Undefined::arguments(format!("Input Dims[{input}] has {} dimensions, fewer than {back}", shape.len()))
    })
}

/// An attention call with what only its rows show.
#[derive(Debug)]
pub(super) struct InferenceCall {
    pub(super) attention: InferenceAttention,
    /// What its figures rest on.
    pub(super) notes: Vec<String>,
    pub(super) key_type_parameter: bool,
    pub(super) window_parameter: bool,
    /// The window as recorded, where that can say that there is none.
    pub(super) recorded_window: Option<i64>,
}

impl InferenceCall {
    pub(super) fn new(attention: InferenceAttention, assumption: Option<String>) -> Self {
        Self {
            window_parameter: attention.sliding_window.is_some(),
            attention,
            notes: assumption.into_iter().collect(),
            key_type_parameter: true,
            recorded_window: None,
        }
    }

    fn read(call: &OpCall<'_>, step: Step) -> Result<Self, Undefined> {
        let [query_tokens, query_heads, head_dim] = call.dimensions_of(0)?;
        let keys = call.dimensions(1)?;
        let &[.., key_tokens, key_heads, value_head_dim] = keys.as_slice() else {
            return Err(Undefined::arguments(format!(
                "Input Dims[1] has {} dimensions, fewer than 3",
                keys.len()
            )));
        };
        let query_type = call.type_of(0).unwrap_or_default();
        let cache_type =
            call.attribute("k_cache_dtype").and_then(Value::as_text).filter(|name| !name.is_empty());
        let key_type = cache_type.or_else(|| call.type_of(1).ok()).unwrap_or(query_type);
        let attention = InferenceAttention {
            query_tokens,
            query_heads,
            key_tokens,
            key_heads,
            head_dim,
            value_head_dim,
            statistics: step.statistics,
            sliding_window: given_window(call),
            query_type: query_type.to_owned(),
            key_type: key_type.to_owned(),
            ..InferenceAttention::default()
        };
        Ok(Self::new(attention, step.assumption))
    }

    /// Values have the head dimension of input 2, if that is a tensor.
    fn with_value_tensor(mut self, call: &OpCall<'_>) -> Self {
        if let Some(&value_head_dim) = call.dimensions(2).unwrap_or_default().last() {
            self.attention.value_head_dim = value_head_dim;
        }
        self
    }

    fn assume_latent_value(&mut self) {
        self.attention.value_head_dim = LATENT_VALUE_DIM;
        self.notes.push(format!("assumed {LATENT_VALUE_DIM} elements per value"));
    }

    pub(super) fn recorded(self) -> Read {
        let attention = self.attention;
        let mut parameters = attention.shape_parameters();
        parameters.extend(attention.statistics_parameters());
        parameters.push(("dtype_Q", attention.query_type.as_str().into()));
        if self.key_type_parameter {
            parameters.push(("dtype_KV", attention.key_type.as_str().into()));
        }
        if self.window_parameter {
            let window = self.recorded_window.map(Value::Int).or(attention.sliding_window.map(count_value));
            parameters.push(("sliding_window", window.unwrap_or(Value::None)));
        }
        Ok(Recorded::new(attention).with_parameters(parameters).with_notes(self.notes))
    }
}
