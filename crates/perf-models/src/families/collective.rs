//! Collectives that inference engines implement themselves.

use super::OpGroup;
use crate::{Category, Family};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::CustomCollective,
        Category::CustomCollective,
        &[
            "aiter::fused_allreduce_rmsnorm",
            "aiter::fused_allreduce_rmsnorm_",
            "aiter::reduce_scatter",
            "aiter::all_gather_reg",
            "_C_custom_ar::all_reduce",
            "_C_custom_ar::qr_all_reduce",
            "sgl_kernel::all_reduce_reg",
            "sgl_kernel::qr_all_reduce",
            "sglang::reg_all_gather_into_tensor",
        ],
    ),
    OpGroup::category_only(
        Category::CustomCollective,
        &[
            "aiter::allgather_lastdim<std::bfloat16_t, 2>(aiter::RankData*, aiter::RankSignals, aiter::Signal*, std::bfloat16_t*, int, int, int) (Synthetic Op)",
            "aiter::allgather_lastdim<std::bfloat16_t, 4>(aiter::RankData*, aiter::RankSignals, aiter::Signal*, std::bfloat16_t*, int, int, int) (Synthetic Op)",
        ],
    ),
];
