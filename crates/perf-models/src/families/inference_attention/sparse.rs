//! Attention to a selection of the cached keys.

use super::layout::{InferenceCall, Step, generation_keys, generation_only, query_dimensions, step};
use super::model::{InferenceAttention, assumed_size, size_or};
use crate::recorded::{Read, Recorded};
use crate::tensor::count_value;
use crate::{ComputeSpec, Figure, OpCall, Parameter, PerfModel, Value};

/// What a layer of DeepSeek-V4 attends to beside its last tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// Nothing: its last tokens only.
    Window,
    /// The best of every four tokens' compressed keys.
    CompressedTopk,
    /// All compressed keys of 128 tokens each.
    HeavilyCompressed,
}

/// A model's dimensions that a call does not record.
struct Configuration {
    name: &'static str,
    index_topk: u64,
    heads: u64,
}

const WINDOW: u64 = 128;
const HEAD_DIM: u64 = 512;
const PRO: Configuration = Configuration { name: "DeepSeek-V4-Pro", index_topk: 1024, heads: 128 };
const FLASH: Configuration = Configuration { name: "DeepSeek-V4-Flash", index_topk: 512, heads: 64 };

/// A step's generation requests in a layer of DeepSeek-V4; keys and values are one latent of one head.
pub(super) fn deepseek_v4(call: &OpCall<'_>, selection: Selection) -> Read {
    let step = generation_only(step(call));
    let recorded = |name| call.attribute(name).and_then(Value::count).filter(|&number| number > 0);
    let mut notes: Vec<String> = step.assumption.iter().cloned().collect();
    let model =
        call.attribute("v4_model_name").and_then(Value::as_text).unwrap_or_default().to_ascii_lowercase();
    let known = [PRO, FLASH].into_iter().find(|known| model.contains(&known.name.to_ascii_lowercase()));
    let assumed_model = known.is_none();
    let configuration = known.unwrap_or(FLASH);
    let heads = recorded("v4_H_Q").unwrap_or_else(|| {
        let heads = configuration.heads / recorded("v4_tp").unwrap_or(1);
        notes.push(format!("assumed {} query heads", heads.max(1)));
        heads.max(1)
    });
    let window = recorded("v4_window").unwrap_or_else(|| {
        notes.push(format!("assumed a window of {WINDOW} tokens"));
        WINDOW
    });
    let topk = recorded("v4_index_topk");
    if selection == Selection::CompressedTopk && topk.is_none() {
        notes.push(format!("assumed top-k {}", configuration.index_topk));
    }
    if assumed_model {
        notes.push(format!("assumed {}", configuration.name));
    }
    let head_dim = recorded("v4_d_h").unwrap_or(HEAD_DIM);
    let attended = attended(selection, &step, window, topk.unwrap_or(configuration.index_topk));
    let generation_tokens = step.statistics.as_ref().map_or(0, |statistics| statistics.generation.queries);
    let query_tokens = call.dimension(0, 0).ok().filter(|&tokens| tokens > 0);
    let attention = InferenceAttention {
        query_tokens: query_tokens.unwrap_or(u64::try_from(generation_tokens).unwrap_or(0)),
        query_heads: heads,
        key_tokens: generation_keys(&step),
        key_heads: 1,
        head_dim,
        value_head_dim: head_dim,
        statistics: step.statistics,
        sliding_window: attended,
        shared_latent: true,
        query_type: "c10::bfloat16".to_owned(),
        key_type: "c10::bfloat16".to_owned(),
        ..InferenceAttention::default()
    };
    InferenceCall { notes, window_parameter: true, ..InferenceCall::new(attention, None) }.recorded()
}

/// Keys that a query attends to.
fn attended(selection: Selection, step: &Step, window: u64, topk: u64) -> Option<u64> {
    let generation = step.statistics.as_ref().ok()?.generation;
    let context = (generation.queries > 0).then(|| generation.keys.max(0) as f64 / generation.queries as f64);
    // The casts saturate.
    let compressed = |ratio: f64| context.map(|context| (context / ratio).ceil() as u64);
    match selection {
        Selection::Window => Some(window),
        Selection::CompressedTopk => {
            Some(window.saturating_add(compressed(4.0).map_or(topk, |compressed| compressed.min(topk))))
        }
        Selection::HeavilyCompressed => Some(compressed(128.0).map_or(0, |keys| window.saturating_add(keys))),
    }
}

/// Prefill of DeepSeek-V4, whose queries attend to given keys of one latent.
///
/// FLOPs: `4 head_dim` per query head and pair. Bytes: queries, outputs, and a latent per pair.
///
/// ```
/// use perf_models::{PerfModel, SparsePrefillAttention};
///
/// // 100 queries of 64 heads, each attending to 128 latents.
/// let prefill = SparsePrefillAttention {
///     query_tokens: 100,
///     query_heads: 64,
///     head_dim: 512,
///     pairs: 100 * 128,
///     query_type: "c10::BFloat16".into(),
///     key_type: "c10::BFloat16".into(),
/// };
/// assert_eq!(prefill.flops()?, 12_800.0 * 64.0 * 4.0 * 512.0);
/// assert_eq!(prefill.bytes()?, 2.0 * 512.0 * (2.0 * 100.0 * 64.0 + 12_800.0));
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparsePrefillAttention {
    /// Queries.
    pub query_tokens: u64,
    /// Heads of the queries.
    pub query_heads: u64,
    /// Elements of a query, a key and a value.
    pub head_dim: u64,
    /// Pairs of a query and a key that it attends to.
    pub pairs: u64,
    /// Element type of queries and outputs, as PyTorch names it.
    pub query_type: String,
    /// Element type of the latents.
    pub key_type: String,
}

/// `(query, latent, key indices, ..., further key indices)`.
pub(super) fn sparse_prefill(call: &OpCall<'_>) -> Read {
    let [query_tokens, query_heads, head_dim] = query_dimensions(call)?;
    let query_type = call.type_of(0).unwrap_or_default();
    Ok(Recorded::new(SparsePrefillAttention {
        query_tokens,
        query_heads,
        head_dim,
        pairs: call.dimension(2, 0)?.saturating_add(call.dimension(5, 0)?),
        query_type: query_type.to_owned(),
        key_type: call.type_of(1).unwrap_or(query_type).to_owned(),
    }))
}

impl PerfModel for SparsePrefillAttention {
    fn flops(&self) -> Figure {
        Ok(self.pairs as f64 * self.query_heads as f64 * 4.0 * self.head_dim as f64)
    }

    fn bytes(&self) -> Figure {
        let query_size = size_or(&self.query_type, 2.0);
        let key_size = size_or(&self.key_type, query_size);
        let queries = self.query_tokens as f64 * self.query_heads as f64 * self.head_dim as f64;
        Ok(2.0 * queries * query_size + self.pairs as f64 * self.head_dim as f64 * key_size)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::matrix(if self.query_type.is_empty() { "c10::BFloat16" } else { &self.query_type })
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            ("B", 1.into()),
            ("N_Q", count_value(self.query_tokens)),
            ("H_Q", count_value(self.query_heads)),
            ("H_V", 1.into()),
            ("H_K", 1.into()),
            ("N_KV", count_value(self.pairs)),
            ("H_KV", 1.into()),
            ("d_h_qk", count_value(self.head_dim)),
            ("d_h_v", count_value(self.head_dim)),
            ("dropout", 0.0.into()),
            ("causal", false.into()),
            ("flash_impl", true.into()),
            ("prefill_pairs", count_value(self.pairs)),
            ("dtype_Q", self.query_type.as_str().into()),
            ("dtype_KV", self.key_type.as_str().into()),
        ]
    }

    fn assumption(&self) -> Option<String> {
        assumed_size(&self.query_type)
    }
}
