//! Matrix multiplication in groups of different sizes.

use super::OpGroup;
use crate::{Category, Family};

pub(super) const GROUPS: &[OpGroup] = &[OpGroup::modelled(
    Family::GroupedGemm,
    Category::GroupedGemmForward,
    &[
        "primus_turbo::grouped_gemm",
        "primus_turbo::grouped_gemm_impl",
        "primus_turbo::grouped_gemm_variable_k",
        "primus_turbo::grouped_gemm_variable_k_impl",
        "primus_turbo_cpp_extension::grouped_gemm",
        "primus_turbo_cpp_extension::grouped_gemm_variable_k",
        "primus_turbo_cpp_extension::ck_grouped_gemm",
        "primus_turbo_cpp_extension::ck_grouped_gemm_variable_k",
    ],
)];
