//! Linear attention by the gated delta rule.

use super::layout::step;
use crate::recorded::{Read, Recorded};
use crate::tensor::count_value;
use crate::{ComputeSpec, Figure, OpCall, Parameter, PerfModel, Undefined, element_size};

/// Bytes of an element in the 16-bit types that the kernels run in.
const ELEMENT_SIZE: f64 = 2.0;

/// The gated delta rule ([Yang et al. 2024](https://arxiv.org/abs/2412.06464)): a state of
/// `head_dim x value_head_dim` per value head takes in one token after the other.
///
/// FLOPs: 7 per token and element of the state (decay, read-out by the key, update by the outer product,
/// read-out by the query). Bytes: keys, values, outputs and two gates per token and head, of 2 bytes
/// each whatever the element type; the state's own traffic is not counted.
///
/// ```
/// use perf_models::{GatedDeltaAttention, PerfModel};
///
/// let decode = GatedDeltaAttention {
///     context_tokens: 0,
///     generation_tokens: 64,
///     key_heads: 16,
///     value_heads: 32,
///     head_dim: 128,
///     value_head_dim: 128,
///     element_type: "c10::BFloat16".into(),
///     token_source: None,
/// };
/// assert_eq!(decode.flops()?, 7.0 * 64.0 * 32.0 * 128.0 * 128.0);
/// assert_eq!(decode.bytes()?, 2.0 * 64.0 * 32.0 * (128.0 + 2.0 * 128.0 + 2.0));
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GatedDeltaAttention {
    /// Tokens of context requests.
    pub context_tokens: u64,
    /// Tokens of generation requests.
    pub generation_tokens: u64,
    /// Heads of queries and keys.
    pub key_heads: u64,
    /// Heads of values.
    pub value_heads: u64,
    /// Elements of a query and of a key in one head.
    pub head_dim: u64,
    /// Elements of a value in one head.
    pub value_head_dim: u64,
    /// Element type of the queries, keys and values, as PyTorch names it: decides the precision, not the bytes.
    pub element_type: String,
    /// Where the token counts are from, if not from the engine.
    pub token_source: Option<String>,
}

/// `(queries, keys and values in one row, gates of value heads, gates, output)`.
///
/// Without an annotation all rows count, padding too: only their number matters.
pub(super) fn gated_delta(call: &OpCall<'_>) -> Read {
    let (rows, row_length) = (call.dimension(0, 0)?, call.dimension(0, 1)?);
    let value_heads = call.dimension(1, 1)?;
    let value_head_dim = call.dimension(3, 2)?;
    let key_heads = value_heads / 2;
    let queries_and_keys = row_length.checked_sub(value_heads.saturating_mul(value_head_dim));
    let head_dim = queries_and_keys.and_then(|both| (both / 2).checked_div(key_heads)).ok_or_else(|| {
        Undefined::arguments(format!(
            "rows of {row_length} elements cannot hold {value_heads} value heads of size {value_head_dim} and their \
             keys"
        ))
    })?;
    let step = step(call);
    let (context_tokens, generation_tokens, token_source) = match &step.statistics {
        Ok(statistics) => {
            let count = |tokens: i64| u64::try_from(tokens).unwrap_or(0);
            (count(statistics.context.queries), count(statistics.generation.queries), step.assumption)
        }
        Err(_) => {
            (rows, 0, Some("number of tokens taken from the number of rows, including padding".to_owned()))
        }
    };
    Ok(Recorded::new(GatedDeltaAttention {
        context_tokens,
        generation_tokens,
        key_heads,
        value_heads,
        head_dim,
        value_head_dim,
        element_type: call.type_of(0).unwrap_or_default().to_owned(),
        token_source,
    }))
}

impl GatedDeltaAttention {
    fn tokens(&self) -> Result<f64, Undefined> {
        let tokens = self.context_tokens as f64 + self.generation_tokens as f64;
        if tokens > 0.0 {
            Ok(tokens)
        } else {
            Err(Undefined::no_formula("the enclosing step has no token count"))
        }
    }
}

impl PerfModel for GatedDeltaAttention {
    /// 7 for each token and element of the state.
    fn flops(&self) -> Figure {
        Ok(self.tokens()? * self.value_heads as f64 * 7.0 * self.value_head_dim as f64 * self.head_dim as f64)
    }

    /// 2 for each element of keys, values and outputs, and for the two gates.
    fn bytes(&self) -> Figure {
        let row = self.head_dim as f64 + 2.0 * self.value_head_dim as f64 + 2.0;
        Ok(self.tokens()? * self.value_heads as f64 * row * ELEMENT_SIZE)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::matrix(&self.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let key_heads = count_value(self.key_heads);
        let (context, generation) = (count_value(self.context_tokens), count_value(self.generation_tokens));
        vec![
            ("B", 1.into()),
            ("N_Q", count_value(self.context_tokens.saturating_add(self.generation_tokens))),
            ("H_Q", key_heads.clone()),
            ("N_KV", 0.into()),
            ("H_KV", key_heads.clone()),
            ("H_V", count_value(self.value_heads)),
            ("H_K", key_heads),
            ("d_h_qk", count_value(self.head_dim)),
            ("d_h_v", count_value(self.value_head_dim)),
            ("c_sq", context.clone()),
            ("c_sk", context),
            ("c_sqsq", 0.into()),
            ("c_sqsk", 0.into()),
            ("g_sq", generation.clone()),
            ("g_sk", generation),
            ("g_sqsq", 0.into()),
            ("g_sqsk", 0.into()),
            ("dtype_Q", self.element_type.as_str().into()),
        ]
    }

    fn assumption(&self) -> Option<String> {
        let heads = "assumed two value heads per key head".to_owned();
        let is_counted = element_size(&self.element_type) == Ok(ELEMENT_SIZE);
        let size = (!is_counted).then(|| format!("assumed {ELEMENT_SIZE}-byte elements"));
        Some(self.token_source.iter().cloned().chain([heads]).chain(size).collect::<Vec<_>>().join("; "))
    }
}
