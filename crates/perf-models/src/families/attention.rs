//! Scaled dot-product attention of training and of plain inference.

mod layout;
mod mask;
mod model;
mod recorded;

pub use mask::{AttentionMask, MaskAlignment};
pub use model::{Attention, PackedSequences};

pub(super) use layout::{flag, length, window};

use super::OpGroup;
use crate::{Category, Family};
use layout::{
    AITER, AITER_MHA_BACKWARD, AITER_WRAPPER, AITER_WRAPPER_BACKWARD, FLASH, FLASH_BACKWARD, FLASH_VARLEN,
    FLASH_VARLEN_BACKWARD, TORCH_FLASH, aiter_backward, attention, evoformer, flash_3, torch_efficient,
};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::Sdpa,
        Category::SdpaForward,
        &[
            ("FlashAttnFunc", |call| attention(call, &FLASH)),
            ("EvoformerAttention", evoformer),
            ("flash_attn::_flash_attn_forward", |call| attention(call, &FLASH)),
            ("flash_attn::_flash_attn_varlen_forward", |call| attention(call, &FLASH_VARLEN)),
            ("aten::_scaled_dot_product_cudnn_attention", torch_efficient),
            ("aten::_scaled_dot_product_efficient_attention", torch_efficient),
            ("aten::_scaled_dot_product_flash_attention", |call| attention(call, &TORCH_FLASH)),
            ("aiter::_flash_attn_forward", |call| attention(call, &AITER)),
            ("aiter::wrapper_fmha_v3_fwd", |call| attention(call, &AITER_WRAPPER)),
            ("aiter::mha_fwd", |call| attention(call, &AITER)),
            ("aiter::fmha_v3_fwd", |call| attention(call, &AITER)),
            ("flash_attn_3::fwd", flash_3),
        ],
    ),
    OpGroup::modelled(
        Family::Sdpa,
        Category::SdpaBackward,
        &[
            ("flash_attn::_flash_attn_backward", |call| attention(call, &FLASH_BACKWARD)),
            ("flash_attn::_flash_attn_varlen_backward", |call| attention(call, &FLASH_VARLEN_BACKWARD)),
            ("aiter::_flash_attn_backward", aiter_backward),
            ("aiter::wrapper_fmha_v3_bwd", |call| attention(call, &AITER_WRAPPER_BACKWARD)),
            ("aiter::mha_bwd", |call| attention(call, &AITER_MHA_BACKWARD)),
        ],
    ),
    OpGroup::category_only(Category::SdpaForward, &["aten::_efficient_attention_forward"]),
    OpGroup::category_only(
        Category::SdpaBackward,
        &[
            "FlashAttnFuncBackward",
            "FusedAttnFuncBackward",
            "aten::_scaled_dot_product_cudnn_attention_backward",
            "aten::_scaled_dot_product_efficient_attention_backward",
            "aten::_scaled_dot_product_flash_attention_backward",
            "aten::_efficient_attention_backward",
        ],
    ),
];
