//! Matrix multiplication.

mod engine;
mod layout;
pub(crate) mod model;

use super::OpGroup;
use crate::{Category, Family};
use engine::{
    a8w8, a16w16, a16w16_assembly, a16w16_atomic, afp4_wfp4, batched_a8w8, batched_a16_wfp4, unquantized,
};
use layout::{
    Operands, ScaledNumbers, a4w4, batched, cublas_scaled_mm, dynamic_quantization, hipblaslt,
    int8_linear_matmul, linear_layer, plain, scaled_mm, transformer_engine,
};

/// `mm(self, mat2)`.
const MM: Operands = Operands { a: 0, b: 1, bias: false };
/// `addmm(self, mat1, mat2)`: what is added counts as one row.
const ADDMM: Operands = Operands { a: 1, b: 2, bias: true };

pub(super) const GROUPS: &[OpGroup] = &[OpGroup::modelled(
    Family::Gemm,
    Category::Gemm,
    &[
        ("aten::mm", |call| plain(call, &MM)),
        ("aten::addmm", |call| plain(call, &ADDMM)),
        ("aten::_scaled_mm", scaled_mm),
        ("aten::bmm", |call| batched(call, &MM)),
        ("aten::baddbmm", |call| batched(call, &ADDMM)),
        ("trtllm::cublas_scaled_mm", cublas_scaled_mm),
        ("bitsandbytes::int8_linear_matmul", int8_linear_matmul),
        ("tex_ts::te_gemm_ts", transformer_engine),
        ("vllm::gemm_with_dynamic_quant", dynamic_quantization),
        ("vllm::rocm_aiter_triton_gemm_a8w8_blockscale", a8w8),
        ("vllm::_rocm_aiter_preshuffled_per_token_w8a8_gemm", a8w8),
        ("vllm::rocm_unquantized_gemm", unquantized),
        ("_Linear_yfwd_mm", linear_layer),
        ("_LinearBackward_xgrad_mm", linear_layer),
        ("_LinearBackward_wgrad_mm", linear_layer),
        ("_LayerNormLinear_yfwd_mm", linear_layer),
        ("_LayerNormLinearBackward_xgrad_mm", linear_layer),
        ("_LayerNormLinearBackward_wgrad_mm", linear_layer),
        ("primus_turbo_cpp_extension::hipblaslt_gemm_fp8", |call| hipblaslt(call, ScaledNumbers::Fp8)),
        ("primus_turbo_cpp_extension::hipblaslt_gemm_fp4", |call| hipblaslt(call, ScaledNumbers::PackedFp4)),
        ("primus_turbo::hipblaslt_gemm_fp8", |call| hipblaslt(call, ScaledNumbers::Fp8)),
        ("primus_turbo::hipblaslt_gemm_fp4", |call| hipblaslt(call, ScaledNumbers::PackedFp4)),
        ("aiter::gemm_a4w4", a4w4),
        ("aiter::_gemm_a4w4_asm", a4w4),
        ("aiter::batched_gemm_a16wfp4_", batched_a16_wfp4),
        ("aiter::gemm_a8w8_blockscale_ck", a8w8),
        ("aiter::gemm_a8w8_blockscale_cktile", a8w8),
        ("aiter::gemm_a8w8_blockscale_bpreshuffle_ck", a8w8),
        ("aiter::gemm_a8w8_blockscale_bpreshuffle_cktile", a8w8),
        ("aiter::flatmm_a8w8_blockscale_asm", a8w8),
        ("aiter::gfx950_a8w8_blockscale_asm", a8w8),
        ("aiter::gemm_a8w8_ck", a8w8),
        ("aiter::gemm_a8w8_bpreshuffle_ck", a8w8),
        ("aiter::gemm_a8w8_bpreshuffle", a8w8),
        ("aiter::gemm_a16w16", a16w16),
        ("aiter::gemm_a16w16_atomic_", a16w16_atomic),
        ("aiter::_gemm_a16w16_asm", a16w16_assembly),
        ("aiter::gemm_afp4wfp4_", afp4_wfp4),
        ("aiter::_gemm_a8w8_blockscale_bpreshuffle_asm", a8w8),
        ("sglang_profiler::fp8_utils_gemm_a8w8_blockscale", a8w8),
        ("sglang_profiler::gemm_a8w8_blockscale_gemm_a8w8_blockscale", a8w8),
        ("sglang_profiler::gemm_kernels_flydsl_hgemm", a16w16_atomic),
        (
            "sglang_profiler::batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant_batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant",
            batched_a8w8,
        ),
    ],
)];
