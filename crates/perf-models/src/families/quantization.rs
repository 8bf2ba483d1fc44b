//! Quantization with a scale for each token, tensor or group of elements.

use super::OpGroup;
use crate::{Category, Family};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::BinaryElementwise,
        Category::GroupQuant,
        &[
            "aiter::dynamic_per_token_scaled_quant",
            "aiter::dynamic_per_group_scaled_quant",
            "aiter::dynamic_per_tensor_quant",
            "vllm::triton_per_token_group_quant_fp8",
        ],
    ),
    OpGroup::modelled(
        Family::GroupQuant,
        Category::GroupQuant,
        &[
            "aiter::fused_dynamic_mx_quant_moe_sort_hip",
            "aiter::dynamic_per_group_scaled_quant_fp4",
            "sglang_profiler::fused_mxfp4_quant_fused_flatten_mxfp4_quant",
            "sglang_profiler::quant_dynamic_mxfp4_quant",
        ],
    ),
    // The quantization model with the category of the sort that it is fused with.
    OpGroup::modelled(
        Family::GroupQuant,
        Category::MoeAuxiliary,
        &["aiter::fused_dynamic_mxfp4_quant_moe_sort_hip"],
    ),
];
