//! What inference engines do around their matrix multiplications: routing of experts, storing keys and values.

use super::{OpCall, OpGroup, Read, Tensor, TensorTraffic, like, movement, op, plain};
use crate::{Category, Family, Softmax, Undefined};

pub(in crate::families) const GROUPS: &[OpGroup] = &[
    OpGroup::ours(
        Family::TensorTraffic,
        Category::MoeAuxiliary,
        &[
            op("_moe_C::topk_softmax", |call| topk_softmax(call, 3)),
            op("sgl_kernel::topk_softmax", |call| topk_softmax(call, 2)),
            op("_moe_C::moe_align_block_size", aligned),
            op("sgl_kernel::moe_align_block_size", aligned),
            op("_moe_C::moe_sum", sum_of_experts),
        ],
    ),
    OpGroup::ours(
        Family::TensorTraffic,
        Category::InferenceAttention,
        &[
            op("_C_cache_ops::reshape_and_cache", keys_and_values),
            op("_C_cache_ops::reshape_and_cache_flash", keys_and_values),
            op("_C_cache_ops::concat_and_cache_mla", latent),
        ],
    ),
];

/// `topk_softmax(topk_weights!, topk_indices!, [token_expert_indices!,] gating_output, …)`: softmax of each row, and a
/// comparison of each element.
fn topk_softmax(call: &OpCall<'_>, gating: usize) -> Read {
    let logits = call.tensor(gating)?;
    let written: Vec<Tensor> = (0..gating).map(|index| call.tensor(index)).collect::<Result<_, _>>()?;
    let flops = (Softmax::OPERATIONS + 1.0) * logits.elements();
    plain(Ok(TensorTraffic { read: vec![logits], written, flops }))
}

/// `moe_align_block_size(topk_ids, num_experts, block_size, sorted_token_ids!, experts_ids!, num_tokens_post_pad!, …)`.
fn aligned(call: &OpCall<'_>) -> Read {
    let written: Vec<Tensor> = (3..6).map(|index| call.tensor(index)).collect::<Result<_, _>>()?;
    plain(Ok(movement([call.tensor(0)?], written)))
}

/// `moe_sum(input, output!)`: the results of the experts of each token are added up.
fn sum_of_experts(call: &OpCall<'_>) -> Read {
    let (input, output) = (call.tensor(0)?, call.tensor(1)?);
    let flops = input.elements();
    plain(Ok(TensorTraffic { read: vec![input], written: vec![output], flops }))
}

/// `reshape_and_cache_flash(key, value, key_cache!, value_cache!, slot_mapping, …)`: keys and values of new tokens in
/// the type of the cache.
fn keys_and_values(call: &OpCall<'_>) -> Read {
    let [key, value, key_cache, value_cache, slots] = [0, 1, 2, 3, 4].map(|index| call.tensor(index));
    let (key, value) = (key?, value?);
    let written = [like(&key, &key_cache?.element_type), like(&value, &value_cache?.element_type)];
    plain(Ok(movement([slots?, key, value], written)))
}

/// `concat_and_cache_mla(kv_c, k_pe, kv_cache!, slot_mapping, …)`: latent and rotated key of new tokens.
fn latent(call: &OpCall<'_>) -> Read {
    let [latent, rotated, cache, slots] = [0, 1, 2, 3].map(|index| call.tensor(index));
    let (latent, rotated, cache) = (latent?, rotated?, cache?);
    if latent.shape.first() != rotated.shape.first() {
        return Err(Undefined::arguments("latent and key have different token counts"));
    }
    let written = [like(&latent, &cache.element_type), like(&rotated, &cache.element_type)];
    plain(Ok(movement([slots?, latent, rotated], written)))
}
