//! Manifold-constrained hyper-connections.

use super::OpGroup;
use crate::{Category, Family};

pub(super) const GROUPS: &[OpGroup] = &[OpGroup::modelled(
    Family::HyperConnection,
    Category::HyperConnection,
    &[
        "aiter::mhc_post",
        "aiter::mhc_pre_gemm_sqrsum",
        "aiter::mhc_pre_big_fuse_rmsnorm",
        "aiter::mhc_fused_post_pre_gemm_sqrsum",
    ],
)];
