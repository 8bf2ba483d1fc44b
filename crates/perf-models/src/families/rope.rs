//! Rotary position embedding.

use super::OpGroup;
use crate::{Category, Family};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::Rope,
        Category::RopeForward,
        &["FusedRoPEFunc", "aiter::rope_cached_positions_2c_fwd_impl", "sgl_kernel::rotary_embedding"],
    ),
    OpGroup::modelled(
        Family::FusedRope,
        Category::RopeForward,
        &["aiter::fused_qk_rope_concat_and_cache_mla", "aiter::fused_qk_rope_cat_and_cache_mla"],
    ),
    OpGroup::category_only(Category::RopeBackward, &["FusedRoPEFuncBackward"]),
    OpGroup::category_only(
        Category::FusedRope,
        &[
            "aiter::unified_attention_with_output_base->_fused_qk_rope_reshape_and_cache_kernel (Synthetic Op)",
            "aiter::v4_attention_with_output->_inverse_rope_gptj_kernel (Synthetic Op)",
            "aiter::v4_attention_with_output->qk_norm_rope_H32_D512_RD64_flydsl (Synthetic Op)",
            "aiter::v4_attention_with_output->qk_norm_rope_H64_D512_RD64_flydsl (Synthetic Op)",
            "aiter::v4_attention_with_output->hca_norm_rope_scatter_D512_RD64_R128_KB1_rmsbf16_flydsl (Synthetic Op)",
        ],
    ),
];
