//! What a kernel does, by its name.
//!
//! The table has rules that never decide, because another one above them always does, and no type for many common kernels:
//! reductions, for example, are `Unknown` (AQ15).

use std::sync::LazyLock;

use regex::bytes::{RegexSet, RegexSetBuilder};

/// Type of kernels that no rule knows.
const UNKNOWN: &str = "Unknown";

/// Priority, pattern, type. The highest priority decides, of equal ones the first.
const RULES: &[(u8, &str, &str)] = &[
    (30, "memcpy", "MemCpy"),
    (25, "swiglu|swiGlu", "MoE GateUp+SwiGLU GEMM"),
    (25, "fmoe.*g1u1.*silu|fmoe.*silu", "MoE GEMM+SiLU (aiter)"),
    (22, "kernel_moe_gemm|MoeGemmBlockScale", "MoE GEMM (CK)"),
    (20, "Rmsnorm|rmsnorm2d", "RMSNorm"),
    (20, "layer_norm|layernorm", "LayerNorm"),
    (20, "l2norm_fwd|l2norm_kernel", "L2Norm"),
    (20, "rsqrt.*mean.*pow|mean.*mul.*pow.*rsqrt", "RMSNorm (fused triton)"),
    (20, "_to_copy_add.*mean.*rsqrt", "RMSNorm (fused triton)"),
    (20, "fused__to_copy_add_mean_moe_forward_shared.*pow.*rsqrt", "RMSNorm (shared expert + norm)"),
    (20, "attention_[23]d|unified_attention", "Attention (AMD unified)"),
    (20, r"fmha[Ss]m\d+|fmhaSm100f", "Attention (NVIDIA fmha)"),
    (20, "paged_attention|PagedAttention", "Attention (paged)"),
    (20, "flash_attn|flash_fwd", "Attention (flash)"),
    (20, "reduce_segments", "Attention Reduce"),
    (20, "reshape_and_cache_flash|reshape_and_cache", "KV Cache Store"),
    (20, "chunk_gated_delta_rule_fwd", "Linear Attention (chunk delta)"),
    (20, "chunk_fwd_kernel_o", "Linear Attention (chunk fwd)"),
    (20, "chunk_scaled_dot_kkt", "Linear Attention (chunk kkt)"),
    (20, "chunk_local_cumsum", "Linear Attention (chunk cumsum)"),
    (20, "fused_recurrent_gated_delta_rule", "Linear Attention (recurrent delta)"),
    (20, "recompute_w_u_fwd", "Linear Attention (recompute wu)"),
    (20, r"merge_\d+x\d+_to_\d+x\d+_inverse", "Linear Attention (merge inverse)"),
    (20, "_causal_conv1d_fwd|_causal_conv1d_update", "Causal Conv1D"),
    (20, "fused_gdn_gating", "GDN Gating"),
    (20, "finalize.*scatter|_finalize_matmul|finalizeKernel", "MoE Finalize"),
    (20, "topk_forward", "MoE TopK"),
    (20, "topkGatingSoftmax", "MoE TopK Gating"),
    (20, "bitmatrix|_sum_bitmatrix", "MoE BitMatrix"),
    (20, "combined_routing_memset", "MoE Routing Memset"),
    (20, "combined_routing_compute", "MoE Routing Compute"),
    (20, "routingIndicesCluster|routingRenormalize", "MoE Routing (fused)"),
    (20, "MoeSorting", "MoE Sorting"),
    (20, "constant_pad.*moe|moe_forward", "MoE Pad"),
    (20, "quantize_with_block_size", "MoE Quantize"),
    (20, "act_and_mul_kernel.*silu_kernel", "Activation (SiLU+Mul)"),
    (20, "embedding", "Elementwise"),
    (20, "gather_kernel|vectorized_gather", "Elementwise"),
    (18, "fused__to_copy_abs.*mean.*pow.*rsqrt", "RMSNorm (fused triton)"),
    (18, "fused__to_copy_add.*mean.*pow.*rsqrt", "RMSNorm (fused triton)"),
    (18, "fused__to_copy_add_mean.*mul.*pow.*rsqrt", "RMSNorm (fused triton)"),
    (18, "fused_add_copy__mean.*pow", "RMSNorm (fused triton residual)"),
    (18, "fused__to_copy_add_copy__mean.*pow", "RMSNorm (fused triton residual)"),
    (18, "per_token_group_quant|dynamic_per_group_scaled_quant", "Quantize (per-group)"),
    (18, "silu_and_mul|silu_mul|SiluAndMul", "Activation (SiLU+Mul)"),
    (18, "activationDeepSeekKernel", "Activation (DeepSeek fused)"),
    (18, "fused_mul_sigmoid", "Activation (SiLU)"),
    (18, "rotary|rope", "Rotary Embedding"),
    (15, r"\bsilu\b|swish", "Activation (SiLU)"),
    (15, r"\bgelu\b", "Activation (GELU)"),
    (15, "splitKreduce", "GEMM"),
    (15, "top_k|top_p|sampling|topk_topp", "Elementwise"),
    (15, "CUDAFunctorOnSelf_add<int>", "Elementwise"),
    (12, "__amd_rocclr_copyBuffer", "Elementwise"),
    (12, "memcpy32_post", "Elementwise"),
    (12, "copy_page_indices", "Elementwise"),
    (12, "_matmul_ogs.*mxfp4", "GEMM"),
    (12, "_gemm_a16_w16", "GEMM"),
    (12, "nvjet_tst", "GEMM"),
    (12, "wvSplitK", "GEMM"),
    (12, "Cijk_", "GEMM"),
    (12, "kernel_gemm_xdl_cshuffle", "GEMM"),
    (10, "vectorized_elementwise_kernel.*FillFunctor", "Elementwise"),
    (10, r"direct_copy_kernel|_to_copy\b", "Elementwise"),
    (10, "CatArrayBatchedCopy", "Elementwise"),
    (10, r"_gemm_a\d+w\d+", "GEMM"),
    (10, "bmm_MxE4m3.*MxE2m1", "GEMM"),
    (10, "bmm_Bfloat16.*MxE2m1", "GEMM"),
    (10, "cublasLt|cublas", "GEMM"),
    (10, "rocm_aiter_gemm_a8w8", "GEMM"),
    (8, "elementwise.*add|FunctorOnSelf_add", "Elementwise"),
    (8, "elementwise.*mul", "Elementwise"),
    (8, "triton_poi_fused.*clamp.*div.*rocm_aiter_gemm", "GEMM"),
    (8, "triton_per_fused.*abs.*clamp.*div.*max.*rocm_aiter_gemm", "GEMM"),
    (5, "elementwise", "Elementwise"),
    (5, "gemm|matmul|bmm", "GEMM"),
];

/// The patterns of [`RULES`]; that they can be compiled is tested.
static PATTERNS: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let patterns = RULES.iter().map(|(_, pattern, _)| pattern);
    RegexSetBuilder::new(patterns).case_insensitive(true).unicode(false).build().ok()
});

/// What a kernel of this name does, such as `GEMM`; `Unknown` where no rule says it.
#[must_use]
pub fn kernel_class(name: &str) -> &'static str {
    deciding_rule(name).map_or(UNKNOWN, |rule| RULES[rule].2)
}

fn deciding_rule(name: &str) -> Option<usize> {
    let matches = PATTERNS.as_ref()?.matches(name.as_bytes());
    // The first of the highest: a later one must be higher.
    matches.iter().reduce(|best, rule| if RULES[rule].0 > RULES[best].0 { rule } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules that another one always comes before.
    const SHADOWED: [&str; 5] = [
        "fused__to_copy_add_mean_moe_forward_shared.*pow.*rsqrt",
        "fused__to_copy_add.*mean.*pow.*rsqrt",
        "fused__to_copy_add_mean.*mul.*pow.*rsqrt",
        "memcpy32_post",
        "rocm_aiter_gemm_a8w8",
    ];

    #[test]
    fn every_rule_that_is_not_shadowed_decides_a_name() {
        let cases = [
            ("memcpy32_kernel", "MemCpy"),
            ("bmm_SwiGlu_tile", "MoE GateUp+SwiGLU GEMM"),
            ("fmoe_bf16_silu_1tg", "MoE GEMM+SiLU (aiter)"),
            ("_ZN2ck15kernel_moe_gemmI", "MoE GEMM (CK)"),
            ("ck_tile::Rmsnorm2dFwd", "RMSNorm"),
            ("vectorized_layer_norm_kernel", "LayerNorm"),
            ("l2norm_fwd_kernel", "L2Norm"),
            ("triton_red_fused_mean_mul_pow_rsqrt_0", "RMSNorm (fused triton)"),
            ("triton_red_fused__to_copy_add_mean_rsqrt_1", "RMSNorm (fused triton)"),
            ("triton_red_fused_rsqrt_mean_pow", "RMSNorm (fused triton)"),
            ("kernel_unified_attention_2d", "Attention (AMD unified)"),
            ("fmhaSm90aKernel_Qkv", "Attention (NVIDIA fmha)"),
            ("paged_attention_ll4mi", "Attention (paged)"),
            ("flash_fwd_splitkv", "Attention (flash)"),
            ("reduce_segments", "Attention Reduce"),
            ("vllm::reshape_and_cache_flash_kernel", "KV Cache Store"),
            ("chunk_gated_delta_rule_fwd_kernel_h", "Linear Attention (chunk delta)"),
            ("chunk_fwd_kernel_o", "Linear Attention (chunk fwd)"),
            ("chunk_scaled_dot_kkt_fwd", "Linear Attention (chunk kkt)"),
            ("chunk_local_cumsum_scalar", "Linear Attention (chunk cumsum)"),
            ("fused_recurrent_gated_delta_rule_fwd", "Linear Attention (recurrent delta)"),
            ("recompute_w_u_fwd_kernel", "Linear Attention (recompute wu)"),
            ("merge_16x16_to_64x64_inverse_kernel", "Linear Attention (merge inverse)"),
            ("_causal_conv1d_update_kernel", "Causal Conv1D"),
            ("fused_gdn_gating_kernel", "GDN Gating"),
            ("finalizeKernelVecLoad", "MoE Finalize"),
            ("_topk_forward", "MoE TopK"),
            ("topkGatingSoftmax<8>", "MoE TopK Gating"),
            ("_sum_bitmatrix_rows", "MoE BitMatrix"),
            ("_combined_routing_memset", "MoE Routing Memset"),
            ("_combined_routing_compute", "MoE Routing Compute"),
            ("routingIndicesClusterKernel", "MoE Routing (fused)"),
            ("ck_tile::MoeSortingKernel", "MoE Sorting"),
            ("triton_poi_constant_pad_nd_moe_0", "MoE Pad"),
            ("quantize_with_block_size", "MoE Quantize"),
            ("act_and_mul_kernel<c10::BFloat16, silu_kernel>", "Activation (SiLU+Mul)"),
            ("triton_poi_fused_embedding_0", "Elementwise"),
            ("vectorized_gather_kernel", "Elementwise"),
            ("triton_red_fused__to_copy_abs_mean_pow_rsqrt_0", "RMSNorm (fused triton)"),
            ("triton_red_fused_add_copy__mean_pow_0", "RMSNorm (fused triton residual)"),
            ("triton_red_fused__to_copy_add_copy__mean_pow_0", "RMSNorm (fused triton residual)"),
            ("per_token_group_quant_8bit", "Quantize (per-group)"),
            ("silu_and_mul_kernel", "Activation (SiLU+Mul)"),
            ("activationDeepSeekKernel", "Activation (DeepSeek fused)"),
            ("triton_poi_fused_mul_sigmoid_0", "Activation (SiLU)"),
            ("rotary_kernel_neox", "Rotary Embedding"),
            ("at::native::(anonymous namespace)::silu kernel", "Activation (SiLU)"),
            ("at::native::gelu kernel", "Activation (GELU)"),
            ("cublasLt::splitKreduce_kernel", "GEMM"),
            ("_topk_topp_kernel", "Elementwise"),
            ("CUDAFunctorOnSelf_add<int>", "Elementwise"),
            ("__amd_rocclr_copyBuffer", "Elementwise"),
            ("copy_page_indices_kernel", "Elementwise"),
            ("_matmul_ogs_NNT_bf16xmxfp4", "GEMM"),
            ("_gemm_a16_w16_kernel", "GEMM"),
            ("nvjet_tst_128x64", "GEMM"),
            ("wvSplitK_hf_sml", "GEMM"),
            ("Cijk_Ailk_Bljk_BBS_BH", "GEMM"),
            ("kernel_gemm_xdl_cshuffle_v3", "GEMM"),
            ("vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>", "Elementwise"),
            ("direct_copy_kernel_cuda", "Elementwise"),
            ("CatArrayBatchedCopy_contig", "Elementwise"),
            ("_gemm_a8w8_blockscale", "GEMM"),
            ("bmm_MxE4m3_MxE2m1E2m1", "GEMM"),
            ("bmm_Bfloat16_MxE2m1E2m1", "GEMM"),
            ("cublasGemv", "GEMM"),
            ("triton_rocm_aiter_gemm_a8w8", "GEMM"),
            ("elementwise_kernel<CUDAFunctor_add<float>>", "Elementwise"),
            ("elementwise_kernel<BinaryFunctor<MulFunctor>>", "Elementwise"),
            ("triton_poi_fused_clamp_div_rocm_aiter_gemm_0", "GEMM"),
            ("triton_per_fused_abs_clamp_div_max_rocm_aiter_gemm_0", "GEMM"),
            ("elementwise_kernel<rsqrt>", "Elementwise"),
            ("ampere_sgemm_128x64", "GEMM"),
            ("reduce_kernel<512, 1>", UNKNOWN),
        ];
        for (name, class) in cases {
            assert_eq!(kernel_class(name), class, "{name}");
        }
        let decided: Vec<usize> = cases.iter().filter_map(|(name, _)| deciding_rule(name)).collect();
        for (rule, (_, pattern, _)) in RULES.iter().enumerate() {
            assert_eq!(decided.contains(&rule), !SHADOWED.contains(pattern), "{pattern}");
        }
    }

    #[test]
    fn the_highest_priority_decides() {
        // `memcpy` stands above `memcpy32_post`, which therefore never decides; `rope` matches inside other words.
        assert_eq!(kernel_class("memcpy32_post"), "MemCpy");
        assert_eq!(kernel_class("elementwise_kernel<europe>"), "Rotary Embedding");
    }

    #[test]
    fn rules_stand_by_priority() {
        assert!(PATTERNS.is_some());
        assert!(RULES.is_sorted_by(|a, b| a.0 >= b.0));
    }
}
