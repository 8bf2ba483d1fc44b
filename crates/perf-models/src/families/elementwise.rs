//! Operators that treat each element by itself.

pub(crate) mod binary;
pub(crate) mod gated;
pub(crate) mod resizing;
pub(crate) mod unary;

use super::traffic::pointwise::{binary, copy, fraction, quotient, same_type, with_operand};
use super::{OpGroup, op};
use crate::{Activation, Category, Family};
use binary::binary_without_output;
use gated::gated;
use resizing::{padding, upsampling};
use unary::{quantization_fp8, quantization_mxfp4_dual};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::BinaryElementwise,
        Category::Elementwise,
        &[
            op("aten::div", quotient),
            op("aten::div_", quotient),
            op("aten::mul", binary),
            op("aten::mul_", binary),
            op("aten::add", binary),
            op("aten::add_", binary),
            op("aten::sigmoid_backward", binary),
            op("aten::threshold_backward", binary),
            op("LigerSiLUMulFunction", binary_without_output),
        ],
    ),
    OpGroup::modelled(
        Family::UnaryElementwise,
        Category::Elementwise,
        &[
            op("aten::copy", copy),
            op("aten::copy_", copy),
            op("aten::clamp_min", with_operand),
            op("aten::clamp_min_", with_operand),
            op("aten::clamp_max", with_operand),
            op("aten::clamp_max_", with_operand),
            op("aten::sigmoid", fraction),
            op("aten::rsqrt", fraction),
            op("aten::silu", same_type),
            op("aten::neg", same_type),
            op("aten::pow", with_operand),
            op("aten::replication_pad1d", padding),
            op("aten::replication_pad2d", padding),
            op("aten::replication_pad3d", padding),
            op("aten::upsample_nearest1d", upsampling),
            op("aten::upsample_nearest2d", upsampling),
            op("aten::upsample_nearest3d", upsampling),
            op("aiter::silu_and_mul", |call| gated(call, Activation::Silu)),
            op("_C::silu_and_mul", |call| gated(call, Activation::Silu)),
            op("sgl_kernel::silu_and_mul", |call| gated(call, Activation::Silu)),
            op("aiter::gelu_and_mul", |call| gated(call, Activation::Gelu)),
            op("aiter::gelu_tanh_and_mul", |call| gated(call, Activation::GeluTanh)),
            op("primus_turbo_cpp_extension::quantize_fp8_tensorwise", quantization_fp8),
            op("primus_turbo_cpp_extension::quantize_mxfp4_dual", quantization_mxfp4_dual),
            op("primus_turbo::quantize_fp8_tensorwise", quantization_fp8),
            op("primus_turbo::quantize_mxfp4_dual", quantization_mxfp4_dual),
            op("primus::quantize_mxfp4_dual", quantization_mxfp4_dual),
        ],
    ),
    OpGroup::ours(
        Family::UnaryElementwise,
        Category::Elementwise,
        &[
            op("_C::gelu_and_mul", |call| gated(call, Activation::Gelu)),
            op("_C::gelu_tanh_and_mul", |call| gated(call, Activation::GeluTanh)),
            op("sgl_kernel::gelu_and_mul", |call| gated(call, Activation::Gelu)),
            op("sgl_kernel::gelu_tanh_and_mul", |call| gated(call, Activation::GeluTanh)),
            op("aten::reflection_pad1d", padding),
            op("aten::reflection_pad2d", padding),
            op("aten::reflection_pad3d", padding),
        ],
    ),
];
