//! Scaled dot-product attention of training and of plain inference.

use super::OpGroup;
use crate::{Category, Family};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::Sdpa,
        Category::SdpaForward,
        &[
            "FlashAttnFunc",
            "EvoformerAttention",
            "flash_attn::_flash_attn_forward",
            "flash_attn::_flash_attn_varlen_forward",
            "aten::_scaled_dot_product_cudnn_attention",
            "aten::_scaled_dot_product_efficient_attention",
            "aten::_scaled_dot_product_flash_attention",
            "aiter::_flash_attn_forward",
            "aiter::wrapper_fmha_v3_fwd",
            "aiter::mha_fwd",
            "aiter::fmha_v3_fwd",
            "flash_attn_3::fwd",
        ],
    ),
    OpGroup::modelled(
        Family::Sdpa,
        Category::SdpaBackward,
        &[
            "flash_attn::_flash_attn_backward",
            "flash_attn::_flash_attn_varlen_backward",
            "aiter::_flash_attn_backward",
            "aiter::wrapper_fmha_v3_bwd",
            "aiter::mha_bwd",
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
