//! RMS normalization of inference engines, alone or fused with addition or quantization.

use super::OpGroup;
use crate::{Category, Family};

pub(super) const GROUPS: &[OpGroup] = &[OpGroup::modelled(
    Family::RmsNorm,
    Category::RmsNorm,
    &[
        "aiter::fused_add_rmsnorm_pad_",
        "aiter::rms_norm",
        "aiter::rmsnorm",
        "aiter::rmsnorm2d_fwd_ck",
        "aiter::rmsnorm2d_fwd_with_add_ck",
        "aiter::add_rmsnorm",
        "aiter::rmsnorm2d_fwd_with_dynamicquant_ck",
        "aiter::_fuse_rmsnorm_fp4_quant",
        "aiter::rmsnorm_quant",
        "vllm::rocm_aiter_rmsnorm_fp8_group_quant",
        "vllm::rocm_aiter_rmsnorm_with_add_fp8_group_quant",
        "vllm::rocm_aiter_triton_add_rmsnorm_pad",
        "sglang_profiler::fused_mxfp4_quant_fused_rms_mxfp4_quant",
    ],
)];
