//! Rotary position embedding.
//!
//! Each rotated element takes part in one multiplication with a cosine, one with a sine of its partner
//! and one addition: three operations an element ([RoFormer], eq. 34).
//!
//! [RoFormer]: https://arxiv.org/abs/2104.09864

use super::{OpGroup, named, op};
use crate::recorded::{Read, Recorded};
use crate::tensor::{count_value, elements, shape_value};
use crate::{
    Category, ComputeSpec, Family, Figure, OpCall, Parameter, PerfModel, Undefined, Value, element_size,
};

const OPERATIONS_PER_ELEMENT: f64 = 3.0;

/// Bytes of an element where the call does not record its type: the 16-bit types of training and serving.
const ASSUMED_ELEMENT_SIZE: f64 = 2.0;

/// Rotation of query and key elements in place or into a copy.
///
/// ```
/// use perf_models::{PerfModel, RotaryEmbedding};
///
/// // 4096 tokens, 32 heads of queries and 8 of keys, 128 channels of each.
/// let rope = RotaryEmbedding {
///     rotated_elements: 4096 * (32 + 8) * 128,
///     element_type: Some("c10::BFloat16".into()),
///     ..RotaryEmbedding::default()
/// };
/// assert_eq!(rope.flops()?, 3.0 * 20_971_520.0);
/// assert_eq!(rope.bytes()?, 2.0 * 2.0 * 20_971_520.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RotaryEmbedding {
    /// Elements that are rotated, query and key together.
    pub rotated_elements: u64,
    /// Their type; `None` if it was not recorded.
    pub element_type: Option<String>,
    /// Named dimensions that led to the number of elements, for reports.
    pub dimensions: Vec<Parameter>,
}

impl RotaryEmbedding {
    fn known_element_size(&self) -> Option<f64> {
        element_size(self.element_type.as_deref()?).ok()
    }
}

impl PerfModel for RotaryEmbedding {
    /// 3 for each rotated element.
    fn flops(&self) -> Figure {
        Ok(OPERATIONS_PER_ELEMENT * self.rotated_elements as f64)
    }

    /// Every rotated element read and written; the tables of cosines and sines stay in cache.
    fn bytes(&self) -> Figure {
        let size = self.known_element_size().unwrap_or(ASSUMED_ELEMENT_SIZE);
        Ok(2.0 * self.rotated_elements as f64 * size)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(self.element_type.as_deref()?)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = self.dimensions.clone();
        parameters.push(("num_elements", count_value(self.rotated_elements)));
        parameters
    }

    fn assumption(&self) -> Option<String> {
        (self.known_element_size().is_none())
            .then(|| "assumed 2 bytes per element: the element type is unknown".to_owned())
    }
}

/// Rotation of query and key fused with the write of the latent key-value cache of multi-head latent
/// attention ([DeepSeek-V2], section 2.1).
///
/// [DeepSeek-V2]: https://arxiv.org/abs/2405.04434
///
/// ```
/// use perf_models::{FusedRopeAndCache, PerfModel};
///
/// // 64 tokens with 16 heads of queries; the cache is FP8.
/// let rope = FusedRopeAndCache {
///     tokens: 64,
///     query_heads: 16,
///     key_heads: 1,
///     latent_dim: 512,
///     rope_dim: 64,
///     input_type: "c10::BFloat16".into(),
///     cache_type: "c10::Float8_e4m3fn".into(),
///     output_type: None,
/// };
/// assert_eq!(rope.flops()?, 3.0 * 64.0 * 64.0 * (16.0 + 1.0));
/// // Query and key read, query written, key written to the cache.
/// assert_eq!(rope.bytes()?, 64.0 * (512.0 + 64.0) * (2.0 * (16.0 + 1.0) + 2.0 * 16.0 + 1.0));
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FusedRopeAndCache {
    /// Tokens.
    pub tokens: u64,
    /// Heads of the query.
    pub query_heads: u64,
    /// Heads of the key: 1 with a latent cache.
    pub key_heads: u64,
    /// Elements of a head that are copied: the rank of the latent.
    pub latent_dim: u64,
    /// Elements of a head that are rotated.
    pub rope_dim: u64,
    /// Type of query and key.
    pub input_type: String,
    /// Type of the cache.
    pub cache_type: String,
    /// Type of the query that is written; `None` where the operator writes it in the type of the input.
    pub output_type: Option<String>,
}

impl PerfModel for FusedRopeAndCache {
    /// 3 for each rotated element of query and key.
    fn flops(&self) -> Figure {
        let heads = self.query_heads as f64 + self.key_heads as f64;
        Ok(OPERATIONS_PER_ELEMENT * self.tokens as f64 * self.rope_dim as f64 * heads)
    }

    /// Query and key read, query written, key written to the cache in the cache's type.
    fn bytes(&self) -> Figure {
        let input = element_size(&self.input_type)?;
        let cache = element_size(&self.cache_type).unwrap_or(input);
        let output = self.output_type.as_deref().and_then(|name| element_size(name).ok()).unwrap_or(input);
        let head = self.tokens as f64 * (self.latent_dim as f64 + self.rope_dim as f64);
        let (query, key) = (self.query_heads as f64 * head, self.key_heads as f64 * head);
        Ok((query + key) * input + query * output + key * cache)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.input_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = vec![
            ("T", count_value(self.tokens)),
            ("QH", count_value(self.query_heads)),
            ("KH", count_value(self.key_heads)),
            ("D_lora", count_value(self.latent_dim)),
            ("D_pe", count_value(self.rope_dim)),
            ("dtype_in", Value::from(self.input_type.as_str())),
            ("dtype_kv", Value::from(self.cache_type.as_str())),
        ];
        if let Some(output_type) = &self.output_type {
            parameters.push(("dtype_out", Value::from(output_type.as_str())));
        }
        parameters
    }
}

/// One tensor of (sequence, batch, heads, head dimension).
fn one_tensor(call: &OpCall<'_>) -> Read {
    let shape = call.dimensions(0)?;
    let &[sequence, batch, heads, head_dim, ..] = shape.as_slice() else {
        return Err(Undefined::arguments(format!("Input Dims[0] has {} dimensions, not 4", shape.len())));
    };
    Ok(Recorded::new(RotaryEmbedding {
        rotated_elements: saturating_elements(&shape),
        element_type: call.type_of(0).ok().map(str::to_owned),
        dimensions: vec![
            ("seq_len", count_value(sequence)),
            ("batch", count_value(batch)),
            ("heads", count_value(heads)),
            ("head_dim", count_value(head_dim)),
        ],
    }))
}

/// Outputs first, then the two tensors to rotate.
fn two_channels(call: &OpCall<'_>) -> Read {
    let (x, y) = (call.dimensions(2)?, call.dimensions(3)?);
    Ok(Recorded::new(RotaryEmbedding {
        rotated_elements: saturating_elements(&x).saturating_add(saturating_elements(&y)),
        element_type: call.type_of(0).ok().map(str::to_owned),
        dimensions: vec![("x_shape", shape_value(&x)), ("y_shape", shape_value(&y))],
    }))
}

/// Positions, query, key, size of a head, table of cosines and sines. Query and key are (tokens, heads ×
/// head) or (tokens, heads, head).
fn positions_query_key(call: &OpCall<'_>) -> Read {
    let (query, key) = (call.dimensions(1)?, call.dimensions(2)?);
    let recorded_head = call.written_value(3);
    let head: u64 = if recorded_head.is_empty() {
        query.last().copied().ok_or_else(|| Undefined::arguments("Input Dims[1] is empty"))?
    } else {
        recorded_head.parse().map_err(|_| {
            Undefined::arguments(format!("Concrete Inputs[3] {recorded_head:?} is not a head size"))
        })?
    };
    if head == 0 {
        return Err(Undefined::arguments("the head size is 0"));
    }
    let table = call.dimensions(4).unwrap_or_default();
    let rotated_of_head = if table.len() > 1 { table[1] } else { head };
    let [tokens, query_row @ ..] = query.as_slice() else {
        return Err(Undefined::arguments("Input Dims[1] is empty"));
    };
    let key_row = key.get(1..).unwrap_or_default();
    let key_heads = if key_row.is_empty() { 0 } else { saturating_elements(key_row) / head };
    let heads = (saturating_elements(query_row) / head).saturating_add(key_heads);
    Ok(Recorded::new(RotaryEmbedding {
        rotated_elements: tokens.saturating_mul(heads).saturating_mul(rotated_of_head),
        element_type: call.type_of(1).ok().map(str::to_owned),
        dimensions: Vec::new(),
    }))
}

/// Query latent, query to rotate, key latent, key to rotate, cache.
fn latent_cache(call: &OpCall<'_>) -> Result<FusedRopeAndCache, Undefined> {
    let [tokens, query_heads, latent_dim] = call.dimensions_of(0)?;
    let input_type = call.type_of(0)?.to_owned();
    Ok(FusedRopeAndCache {
        tokens,
        query_heads,
        key_heads: 1,
        latent_dim,
        rope_dim: call.dimension(1, 2)?,
        cache_type: named_type(call, 4).unwrap_or_else(|| input_type.clone()),
        input_type,
        output_type: None,
    })
}

fn latent_cache_with_key_heads(call: &OpCall<'_>) -> Read {
    let key_heads = call.dimension(2, 1)?;
    Ok(Recorded::new(FusedRopeAndCache { key_heads, ..latent_cache(call)? }))
}

fn latent_cache_with_output(call: &OpCall<'_>) -> Read {
    let model = latent_cache(call)?;
    let output_type = Some(named_type(call, 5).unwrap_or_else(|| model.input_type.clone()));
    Ok(Recorded::new(FusedRopeAndCache { output_type, ..model }))
}

fn named_type(call: &OpCall<'_>, index: usize) -> Option<String> {
    call.type_of(index).ok().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The parameter is a whole number; a float as large as the limit would print otherwise.
fn saturating_elements(shape: &[u64]) -> u64 {
    elements(shape) as u64
}

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::Rope,
        Category::RopeForward,
        &[
            op("FusedRoPEFunc", one_tensor),
            op("aiter::rope_cached_positions_2c_fwd_impl", two_channels),
            op("sgl_kernel::rotary_embedding", positions_query_key),
        ],
    ),
    OpGroup::modelled(
        Family::FusedRope,
        Category::RopeForward,
        &[
            op("aiter::fused_qk_rope_concat_and_cache_mla", latent_cache_with_output),
            op("aiter::fused_qk_rope_cat_and_cache_mla", latent_cache_with_key_heads),
        ],
    ),
    OpGroup::ours(Family::Rope, Category::RopeForward, &[op("_C::rotary_embedding", positions_query_key)]),
    OpGroup::category_only(Category::RopeBackward, &[named("FusedRoPEFuncBackward")]),
    OpGroup::category_only(
        Category::FusedRope,
        &[
            named(
                "aiter::unified_attention_with_output_base->_fused_qk_rope_reshape_and_cache_kernel (Synthetic Op)",
            ),
            named("aiter::v4_attention_with_output->_inverse_rope_gptj_kernel (Synthetic Op)"),
            named("aiter::v4_attention_with_output->qk_norm_rope_H32_D512_RD64_flydsl (Synthetic Op)"),
            named("aiter::v4_attention_with_output->qk_norm_rope_H64_D512_RD64_flydsl (Synthetic Op)"),
            named(
                "aiter::v4_attention_with_output->hca_norm_rope_scatter_D512_RD64_R128_KB1_rmsbf16_flydsl (Synthetic Op)",
            ),
        ],
    ),
];
