//! Operators that treat each element by itself.

use super::OpGroup;
use crate::{Category, Family};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::BinaryElementwise,
        Category::Elementwise,
        &[
            "aten::div",
            "aten::div_",
            "aten::mul",
            "aten::mul_",
            "aten::add",
            "aten::add_",
            "aten::sigmoid_backward",
            "aten::threshold_backward",
            "LigerSiLUMulFunction",
        ],
    ),
    OpGroup::modelled(
        Family::UnaryElementwise,
        Category::Elementwise,
        &[
            "aten::copy",
            "aten::copy_",
            "aten::clamp_min",
            "aten::clamp_min_",
            "aten::clamp_max",
            "aten::clamp_max_",
            "aten::sigmoid",
            "aten::rsqrt",
            "aten::silu",
            "aten::neg",
            "aten::pow",
            "aten::replication_pad1d",
            "aten::replication_pad2d",
            "aten::replication_pad3d",
            "aten::upsample_nearest1d",
            "aten::upsample_nearest2d",
            "aten::upsample_nearest3d",
            "aiter::silu_and_mul",
            "_C::silu_and_mul",
            "sgl_kernel::silu_and_mul",
            "aiter::gelu_and_mul",
            "aiter::gelu_tanh_and_mul",
            "primus_turbo_cpp_extension::quantize_fp8_tensorwise",
            "primus_turbo_cpp_extension::quantize_mxfp4_dual",
            "primus_turbo::quantize_fp8_tensorwise",
            "primus_turbo::quantize_mxfp4_dual",
            "primus::quantize_mxfp4_dual",
        ],
    ),
];
