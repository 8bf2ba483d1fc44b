//! FLOPs and bytes of attention over a key-value cache.

use crate::annotation::StepStatistics;
use crate::tensor::count_value;
use crate::{ComputeSpec, Figure, Parameter, PerfModel, Undefined, Value, element_size};

/// Attention of one layer in a step of an inference engine, over cached keys and values.
///
/// The shapes of a call say how many tokens the step has, not how they are spread over requests, and the
/// cost of attention is a sum over requests of new tokens times tokens attended to. That sum comes from
/// the engine's annotation of the step ([`IterationAnnotation`](crate::IterationAnnotation)).
///
/// * FLOPs: two per score and head dimension for `Q Kᵀ` and again for `P V`. A context request computes
///   all scores of its new tokens with its cached ones and, being causal, half of those among its new
///   tokens; a generation request computes all.
/// * Bytes: queries read and outputs written, keys and values of new tokens, and the cached keys and
///   values once per request.
///
/// ```
/// use perf_models::{InferenceAttention, PerfModel, StepStatistics, TokenStatistics};
///
/// // 32 requests generate a token each, over 55086 cached tokens in all.
/// let step = StepStatistics {
///     context: TokenStatistics::default(),
///     generation: TokenStatistics { queries: 32, keys: 55086, squared_queries: 32, query_key_pairs: 55086 },
/// };
/// let decode = InferenceAttention {
///     query_tokens: 32,
///     query_heads: 64,
///     key_tokens: 32,
///     key_heads: 8,
///     head_dim: 64,
///     value_head_dim: 64,
///     statistics: Ok(step),
///     causal_context: true,
///     sliding_window: None,
///     shared_latent: false,
///     query_type: "c10::BFloat16".into(),
///     key_type: "c10::BFloat16".into(),
/// };
/// assert_eq!(decode.flops()?, 2.0 * 64.0 * (64.0 + 64.0) * 55086.0);
/// // Queries and outputs of 64 heads, then new and cached keys and values of 8.
/// assert_eq!(decode.bytes()?, 2.0 * (32.0 * 64.0 * 128.0 + 55086.0 * 8.0 * 128.0));
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InferenceAttention {
    /// Rows of the query tensor; may count padding, no figure depends on it.
    pub query_tokens: u64,
    /// Heads of the queries.
    pub query_heads: u64,
    /// Rows of the key tensor; no figure depends on it.
    pub key_tokens: u64,
    /// Heads of keys and values.
    pub key_heads: u64,
    /// Elements of a query and of a key in one head.
    pub head_dim: u64,
    /// Elements of a value in one head.
    pub value_head_dim: u64,
    /// Token counts of the step, or what is missing to have them.
    pub statistics: Result<StepStatistics, Undefined>,
    /// New tokens of context requests do not attend to later ones.
    pub causal_context: bool,
    /// Number of keys that a query attends to at most; `None` for all.
    pub sliding_window: Option<u64>,
    /// Keys and values are one tensor in the cache, as in multi-head latent attention
    /// ([DeepSeek-V2](https://arxiv.org/abs/2405.04434), section 2.1).
    pub shared_latent: bool,
    /// Element type of queries and outputs, as PyTorch names it.
    pub query_type: String,
    /// Element type of cached keys and values.
    pub key_type: String,
}

impl Default for InferenceAttention {
    fn default() -> Self {
        Self {
            query_tokens: 0,
            query_heads: 0,
            key_tokens: 0,
            key_heads: 0,
            head_dim: 0,
            value_head_dim: 0,
            statistics: Ok(StepStatistics::default()),
            causal_context: true,
            sliding_window: None,
            shared_latent: false,
            query_type: String::new(),
            key_type: String::new(),
        }
    }
}

/// Bytes of an element of a type that may be unknown: then those of `otherwise`.
pub(super) fn size_or(element_type: &str, otherwise: f64) -> f64 {
    element_size(element_type).unwrap_or(otherwise)
}

/// What is assumed where the type of queries has no known size.
pub(super) fn assumed_size(query_type: &str) -> Option<String> {
    element_size(query_type).is_err().then(|| "assumed 2-byte elements".to_owned())
}

impl InferenceAttention {
    fn statistics(&self) -> Result<StepStatistics, Undefined> {
        let statistics = self.statistics.clone()?;
        if statistics.context.queries <= 0 && statistics.generation.queries <= 0 {
            return Err(Undefined::no_formula("the enclosing step has no token count"));
        }
        Ok(statistics)
    }

    /// `pairs` of generation requests, or as many as the window lets their queries see.
    fn seen(&self, pairs: i64, statistics: &StepStatistics) -> f64 {
        self.capped(pairs as f64, statistics.generation.queries)
    }

    fn capped(&self, pairs: f64, queries: i64) -> f64 {
        match self.sliding_window {
            Some(window) if window > 0 && queries > 0 => pairs.min(queries as f64 * window as f64),
            _ => pairs,
        }
    }

    pub(super) fn shape_parameters(&self) -> Vec<Parameter> {
        let key_heads = count_value(self.key_heads);
        vec![
            ("B", 1.into()),
            ("N_Q", count_value(self.query_tokens)),
            ("H_Q", count_value(self.query_heads)),
            ("H_V", key_heads.clone()),
            ("H_K", key_heads.clone()),
            ("N_KV", count_value(self.key_tokens)),
            ("H_KV", key_heads),
            ("d_h_qk", count_value(self.head_dim)),
            ("d_h_v", count_value(self.value_head_dim)),
            ("dropout", 0.0.into()),
            ("causal", false.into()),
            ("flash_impl", true.into()),
        ]
    }

    /// Token counts; none where the step does not say.
    pub(super) fn statistics_parameters(&self) -> Vec<Parameter> {
        let count =
            |of: fn(&StepStatistics) -> i64| self.statistics.as_ref().map_or(Value::None, |s| of(s).into());
        vec![
            ("c_sq", count(|s| s.context.queries)),
            ("c_sk", count(|s| s.context.keys)),
            ("c_sqsq", count(|s| s.context.squared_queries)),
            ("c_sqsk", count(|s| s.context.query_key_pairs)),
            ("g_sq", count(|s| s.generation.queries)),
            ("g_sk", count(|s| s.generation.keys)),
            ("g_sqsq", count(|s| s.generation.squared_queries)),
            ("g_sqsk", count(|s| s.generation.query_key_pairs)),
        ]
    }
}

impl PerfModel for InferenceAttention {
    /// `2·(head_dim + value_head_dim)` for each pair of query and key that is computed, in each head.
    fn flops(&self) -> Figure {
        let statistics = self.statistics()?;
        let context = &statistics.context;
        let hidden = if self.causal_context { context.squared_queries as f64 / 2.0 } else { 0.0 };
        let context_pairs = self.capped(context.query_key_pairs as f64 - hidden, context.queries).max(0.0);
        let generation_pairs = self.seen(statistics.generation.query_key_pairs, &statistics).max(0.0);
        let per_pair = 2.0 * self.query_heads as f64 * (self.head_dim as f64 + self.value_head_dim as f64);
        Ok(per_pair * (context_pairs + generation_pairs))
    }

    /// Queries, outputs, new and cached keys and values, each once.
    fn bytes(&self) -> Figure {
        let statistics = self.statistics()?;
        let (context, generation) = (&statistics.context, &statistics.generation);
        let query_size = size_or(&self.query_type, 2.0);
        let key_size = size_or(&self.key_type, query_size);
        let query_row = self.query_heads as f64 * (self.head_dim as f64 + self.value_head_dim as f64);
        let value_dim = if self.shared_latent { 0.0 } else { self.value_head_dim as f64 };
        let key_row = self.key_heads as f64 * (self.head_dim as f64 + value_dim);
        let new = context.queries.max(0) as f64 + generation.queries.max(0) as f64;
        let cached = (context.keys as f64 - context.queries as f64).max(0.0)
            + (self.seen(generation.keys, &statistics) - generation.queries as f64).max(0.0);
        Ok(new * (query_row + key_row) * query_size + cached * key_row * key_size)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::matrix(&self.query_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = self.shape_parameters();
        parameters.extend(self.statistics_parameters());
        parameters.push(("dtype_Q", self.query_type.as_str().into()));
        parameters.push(("dtype_KV", self.key_type.as_str().into()));
        if let Some(window) = self.sliding_window {
            parameters.push(("sliding_window", count_value(window)));
        }
        parameters
    }

    fn assumption(&self) -> Option<String> {
        assumed_size(&self.query_type)
    }
}
