//! Operators that treat each element by itself.

pub(crate) mod binary;
pub(crate) mod gated;
pub(crate) mod resizing;
pub(crate) mod unary;

use super::OpGroup;
use crate::{Category, Family};
use binary::{binary, binary_without_output};
use gated::{Activation, gated};
use resizing::{padding, upsampling};
use unary::{quantization_fp8, quantization_mxfp4_dual, unary};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::BinaryElementwise,
        Category::Elementwise,
        &[
            ("aten::div", binary),
            ("aten::div_", binary),
            ("aten::mul", binary),
            ("aten::mul_", binary),
            ("aten::add", binary),
            ("aten::add_", binary),
            ("aten::sigmoid_backward", binary),
            ("aten::threshold_backward", binary),
            ("LigerSiLUMulFunction", binary_without_output),
        ],
    ),
    OpGroup::modelled(
        Family::UnaryElementwise,
        Category::Elementwise,
        &[
            ("aten::copy", unary),
            ("aten::copy_", unary),
            ("aten::clamp_min", unary),
            ("aten::clamp_min_", unary),
            ("aten::clamp_max", unary),
            ("aten::clamp_max_", unary),
            ("aten::sigmoid", unary),
            ("aten::rsqrt", unary),
            ("aten::silu", unary),
            ("aten::neg", unary),
            ("aten::pow", unary),
            ("aten::replication_pad1d", padding),
            ("aten::replication_pad2d", padding),
            ("aten::replication_pad3d", padding),
            ("aten::upsample_nearest1d", upsampling),
            ("aten::upsample_nearest2d", upsampling),
            ("aten::upsample_nearest3d", upsampling),
            ("aiter::silu_and_mul", |call| gated(call, Activation::Silu)),
            ("_C::silu_and_mul", |call| gated(call, Activation::Silu)),
            ("sgl_kernel::silu_and_mul", |call| gated(call, Activation::Silu)),
            ("aiter::gelu_and_mul", |call| gated(call, Activation::Gelu)),
            ("aiter::gelu_tanh_and_mul", |call| gated(call, Activation::GeluTanh)),
            ("primus_turbo_cpp_extension::quantize_fp8_tensorwise", quantization_fp8),
            ("primus_turbo_cpp_extension::quantize_mxfp4_dual", quantization_mxfp4_dual),
            ("primus_turbo::quantize_fp8_tensorwise", quantization_fp8),
            ("primus_turbo::quantize_mxfp4_dual", quantization_mxfp4_dual),
            ("primus::quantize_mxfp4_dual", quantization_mxfp4_dual),
        ],
    ),
];
