//! Scaled dot-product attention of training and of plain inference.

mod layout;
mod mask;
mod model;

pub use mask::{AttentionMask, MaskAlignment};
pub use model::{Attention, PackedSequences};

pub(super) use layout::{length, window};

use super::{BackwardWork, OpGroup, Row, named, op};
use crate::recorded::Read;
use crate::{Category, Family, OpCall};
use layout::{
    AITER, AITER_MHA_BACKWARD, AITER_WRAPPER, AITER_WRAPPER_BACKWARD, FLASH, FLASH_BACKWARD, FLASH_VARLEN,
    FLASH_VARLEN_BACKWARD, TORCH_CUDNN_BACKWARD, TORCH_EFFICIENT_BACKWARD, TORCH_FLASH, TORCH_FLASH_BACKWARD,
    aiter_backward, attention, evoformer, flash_3, sage, torch_efficient, torch_efficient_forward,
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
        &[
            op("aten::_flash_attention_forward", torch_flash_forward),
            op("aten::_efficient_attention_forward", torch_efficient_forward),
            sage_6("sageattention::qk_int8_sv_f16_accum_f32_attn"),
            sage_6("sageattention::qk_int8_sv_f16_accum_f16_attn"),
            sage_6("sageattention::qk_int8_sv_f16_accum_f16_attn_inst_buf"),
            sage_6("sageattention_sm90::qk_int8_sv_f8_accum_f32_attn_inst_buf"),
            sage_7("sageattention::qk_int8_sv_f16_accum_f16_fuse_v_mean_attn"),
            sage_7("sageattention_sm89::qk_int8_sv_f8_accum_f32_fuse_v_scale_attn"),
            sage_7("sageattention_sm89::qk_int8_sv_f8_accum_f32_fuse_v_scale_attn_inst_buf"),
            sage_7("sageattention_sm89::qk_int8_sv_f8_accum_f16_fuse_v_scale_attn_inst_buf"),
            sage_7("sageattention_sm90::qk_int8_sv_f8_accum_f32_fuse_v_scale_attn_inst_buf"),
            sage_8("sageattention_sm89::qk_int8_sv_f8_accum_f32_fuse_v_scale_fuse_v_mean_attn"),
        ],
    ),
    // TraceLens knows their work where autograd links them to a forward call, which a compiled program does not.
    OpGroup::ours(
        Family::Sdpa,
        Category::SdpaBackward,
        &[
            backward("aten::_scaled_dot_product_cudnn_attention_backward", |call| {
                attention(call, &TORCH_CUDNN_BACKWARD)
            }),
            backward("aten::_scaled_dot_product_efficient_attention_backward", |call| {
                attention(call, &TORCH_EFFICIENT_BACKWARD)
            }),
            backward("aten::_scaled_dot_product_flash_attention_backward", |call| {
                attention(call, &TORCH_FLASH_BACKWARD)
            }),
        ],
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

/// An operator that is backward work itself.
const fn backward(name: &'static str, read: fn(&OpCall<'_>) -> Read) -> Row {
    op(name, read).backward_work(BackwardWork::Itself)
}

/// An operator of SageAttention without scale or mean of the values.
const fn sage_6(name: &'static str) -> Row {
    op(name, |call| sage(call, 6)).backward_work(BackwardWork::NotCounted)
}

/// With one of them.
const fn sage_7(name: &'static str) -> Row {
    op(name, |call| sage(call, 7)).backward_work(BackwardWork::NotCounted)
}

/// With both.
const fn sage_8(name: &'static str) -> Row {
    op(name, |call| sage(call, 8)).backward_work(BackwardWork::NotCounted)
}
