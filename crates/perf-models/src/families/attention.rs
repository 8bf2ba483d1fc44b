//! Scaled dot-product attention of training and of plain inference.

mod layout;
mod mask;
mod model;

pub use mask::{AttentionMask, MaskAlignment};
pub use model::{Attention, PackedSequences};

pub(super) use layout::{length, window};

use super::{BackwardWork, OpGroup, named, op};
use crate::{Category, Family};
use layout::{
    AITER, AITER_MHA_BACKWARD, AITER_WRAPPER, AITER_WRAPPER_BACKWARD, FLASH, FLASH_BACKWARD, FLASH_VARLEN,
    FLASH_VARLEN_BACKWARD, TORCH_FLASH, aiter_backward, attention, evoformer, flash_3, torch_efficient,
    torch_flash_forward,
};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::Sdpa,
        Category::SdpaForward,
        &[
            op("FlashAttnFunc", |call| attention(call, &FLASH)),
            op("EvoformerAttention", evoformer),
            op("flash_attn::_flash_attn_forward", |call| attention(call, &FLASH)),
            op("flash_attn::_flash_attn_varlen_forward", |call| attention(call, &FLASH_VARLEN)),
            op("aten::_scaled_dot_product_cudnn_attention", torch_efficient),
            op("aten::_scaled_dot_product_efficient_attention", torch_efficient),
            op("aten::_scaled_dot_product_flash_attention", |call| attention(call, &TORCH_FLASH)),
            op("aiter::_flash_attn_forward", |call| attention(call, &AITER)),
            op("aiter::wrapper_fmha_v3_fwd", |call| attention(call, &AITER_WRAPPER)),
            op("aiter::mha_fwd", |call| attention(call, &AITER)),
            op("aiter::fmha_v3_fwd", |call| attention(call, &AITER)),
            op("flash_attn_3::fwd", flash_3),
        ],
    ),
    OpGroup::modelled(
        Family::Sdpa,
        Category::SdpaBackward,
        &[
            op("flash_attn::_flash_attn_backward", |call| attention(call, &FLASH_BACKWARD)),
            op("flash_attn::_flash_attn_varlen_backward", |call| attention(call, &FLASH_VARLEN_BACKWARD))
                .backward_work(BackwardWork::Itself),
            op("aiter::_flash_attn_backward", aiter_backward),
            op("aiter::wrapper_fmha_v3_bwd", |call| attention(call, &AITER_WRAPPER_BACKWARD)),
            op("aiter::mha_bwd", |call| attention(call, &AITER_MHA_BACKWARD)),
        ],
    ),
    OpGroup::ours(
        Family::Sdpa,
        Category::SdpaForward,
        &[op("aten::_flash_attention_forward", torch_flash_forward)],
    ),
    OpGroup::category_only(Category::SdpaForward, &[named("aten::_efficient_attention_forward")]),
    OpGroup::category_only(
        Category::SdpaBackward,
        &[
            named("FlashAttnFuncBackward"),
            named("FusedAttnFuncBackward"),
            named("aten::_scaled_dot_product_cudnn_attention_backward"),
            named("aten::_scaled_dot_product_efficient_attention_backward"),
            named("aten::_scaled_dot_product_flash_attention_backward"),
            named("aten::_efficient_attention_backward"),
        ],
    ),
];
