//! Kernels of inference engines by our rules: the first that fits decides.

use super::has;

/// One rule: what it looks for, and which categories it tells apart.
pub(super) struct KindRule {
    /// Any of these parts makes the rule decide.
    pub(super) any: &'static [&'static str],
    /// But none of these may be there.
    pub(super) unless: &'static [&'static str],
    /// Categories by further parts, the first that fits.
    pub(super) kinds: &'static [(&'static [&'static str], &'static str)],
    /// The category otherwise.
    pub(super) otherwise: &'static str,
}

/// A rule without exceptions.
pub(super) const fn rule(
    any: &'static [&'static str],
    kinds: &'static [(&'static [&'static str], &'static str)],
    otherwise: &'static str,
) -> KindRule {
    KindRule { any, unless: &[], kinds, otherwise }
}

/// Rotary position embeddings.
pub(super) const ROPE: KindRule = rule(
    &["rope", "rotary"],
    &[(&["cached"], "RoPE-Cached"), (&["gqa", "grouped"], "RoPE-GQA")],
    "RoPE-Generic",
);

impl KindRule {
    pub(super) fn decide(&self, text: &str) -> Option<&'static str> {
        (has(text, self.any) && !has(text, self.unless)).then(|| {
            let kind = self.kinds.iter().find(|(parts, _)| has(text, parts));
            kind.map_or(self.otherwise, |&(_, category)| category)
        })
    }
}

/// Kind of work of a kernel, copy or fill by its name, such as `GEMM-Tensile`, `Attention-Forward`, `Comm-AllReduce`;
/// `Uncategorized` where nothing in the name says it.
#[must_use]
pub fn engine_kernel(name: &str) -> &'static str {
    let words = words(name);
    RULES.iter().find_map(|rule| rule.decide(&words)).unwrap_or("Uncategorized")
}

/// The words of a name in lower case, each between blanks: parts of the rules with blanks around them are whole words.
/// `ncclDevKernel_AllReduce_Sum` is ` nccl dev kernel all reduce sum `.
fn words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 16);
    words.push(' ');
    let mut before = ' ';
    for c in name.chars() {
        let starts_word = c.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit());
        if (starts_word || !c.is_ascii_alphanumeric()) && !words.ends_with(' ') {
            words.push(' ');
        }
        if c.is_ascii_alphanumeric() {
            words.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    words
}

/// In this order because a part of one kind of work's names is in another's: reductions between devices, attention
/// written with a matrix library, normalization fused with additions.
const RULES: &[KindRule] = &[
    rule(&[" memcpy "], &[], "Memory-Copy"),
    rule(&[" memset ", "fillbuffer", "fill buffer"], &[], "Memory-Set"),
    rule(
        &[
            "nccl",
            "rccl",
            "nvshmem",
            "allreduce",
            "all reduce",
            "allgather",
            "all gather",
            "reducescatter",
            "reduce scatter",
            "alltoall",
            "all to all",
            "cross device reduce",
            "quickreduce",
            "quick reduce",
        ],
        &[
            (
                &["allreduce", "all reduce", "cross device reduce", "quickreduce", "quick reduce"],
                "Comm-AllReduce",
            ),
            (&["allgather", "all gather"], "Comm-AllGather"),
            (&["reducescatter", "reduce scatter"], "Comm-ReduceScatter"),
            (&["alltoall", "all to all"], "Comm-AllToAll"),
            (&[" send"], "Comm-Send"),
            (&[" recv"], "Comm-Recv"),
            (&["broadcast"], "Comm-Broadcast"),
            (&["barrier"], "Comm-Barrier"),
        ],
        "Comm-Generic",
    ),
    rule(&[" triton poi ", " triton red ", " triton per "], &[], "Triton-Custom"),
    rule(
        &[
            "reshape and cache",
            "store cache",
            "store kv",
            "concat and cache",
            "set kv buffer",
            "kv cache",
            "kvcache update",
        ],
        &[
            (&["rope", "rotary"], "Fused-QKRoPECache"),
            (&["attention", " attn", " mha", "fmha", "batch prefill", "batch decode"], "Attention-Generic"),
            (&["reshape"], "KVCache-Reshape"),
            (&["store", "set", "update", "append", "concat"], "KVCache-Update"),
        ],
        "KVCache-Generic",
    ),
    rule(
        &["paged attention", "pagedattention", "paged attn", " pa decode", " pa reduce"],
        &[(&["reduce"], "PagedAttention-Reduce")],
        "PagedAttention-Compute",
    ),
    rule(
        &[
            "attention",
            "fmha",
            " attn",
            " mha",
            " mla ",
            "flash fwd",
            "flash bwd",
            "flash attn",
            "flashattn",
            "sdpa",
            "scaled dot product",
            "batch prefill",
            "batch decode",
            "mha varlen",
        ],
        &[
            (&["bwd", "backward", "bprop"], "Attention-Backward"),
            (&["fwd", "forward", "fprop"], "Attention-Forward"),
        ],
        "Attention-Generic",
    ),
    rule(
        &[
            " conv ",
            "conv1d",
            "conv2d",
            "conv3d",
            "convolution",
            "convolve",
            "winograd",
            "im2col",
            "im2d2 col",
            "implicit gemm",
            " dgrad ",
            " wgrad ",
        ],
        &[
            (&["bwd", "backward", "dgrad", "wgrad"], "Conv-Backward"),
            (&["fwd", "forward", "fprop"], "Conv-Forward"),
        ],
        "Conv-Generic",
    ),
    rule(
        &[
            "gemm",
            " cijk ",
            "matmul",
            "cublas",
            "nvjet",
            " mfma",
            " wmma",
            "tensor op",
            "rocblas",
            "hipblas",
            "wv split",
            "wv splt",
            "splitkreduce",
            "split kreduce",
            " gemv",
            " mm ",
            "cutlass",
        ],
        &[
            (&["mxfp4", "fp4", "int4", "f4gemm"], "GEMM-FP4"),
            (&["fp8", "int8", "f8gemm", "i8gemm", " f8"], "GEMM-FP8"),
            (&[" cijk "], "GEMM-Tensile"),
            (&["cublas"], "GEMM-cuBLAS"),
            (&["nvjet"], "GEMM-NVJET"),
            (&["cutlass"], "GEMM-CUTLASS"),
            (&["rocblas", "hipblas"], "GEMM-ROCm"),
            (&["splitk", "split k", "wv splt", "wv split"], "GEMM-SplitK"),
            (&[" mfma"], "GEMM-MFMA"),
            (&[" wmma"], "GEMM-WMMA"),
            (&["tensor op"], "GEMM-TensorOp"),
        ],
        "GEMM-Generic",
    ),
    rule(&[" moe ", "moe align", "expert", "grouped topk"], &[], "MoE-Generic"),
    rule(&[" moments", "gamma beta", "fused params", "internal gradients"], &[], "Norm-Generic"),
    rule(&["adamw", " adam ", "optimizer", " lamb "], &[], "Optimizer"),
    rule(
        &[" fused "],
        &[
            (&["norm"], "Fused-AddNorm"),
            (&["rope", "rotary", " qk "], "Fused-QKRoPECache"),
            (&["mlp", "ffn"], "Fused-MLP"),
        ],
        "Fused-Generic",
    ),
    rule(
        &[
            "rmsnorm",
            "rms norm",
            "layernorm",
            "layer norm",
            "batchnorm",
            "batch norm",
            "groupnorm",
            "group norm",
            " norm ",
            "norm2d",
            "norm kernel",
        ],
        &[
            (&["rms"], "Norm-RMS"),
            (&["layernorm", "layer norm"], "Norm-Layer"),
            (&["batchnorm", "batch norm"], "Norm-Batch"),
        ],
        "Norm-Generic",
    ),
    ROPE,
    rule(
        &["act and mul", "relu", "gelu", "silu", "swish", "sigmoid", "tanh", "softmax", "activation"],
        &[
            (&["act and mul", "silu and mul", "gelu and mul"], "Activation-Gated"),
            (&["silu", "swish"], "Activation-SiLU"),
            (&["gelu"], "Activation-GELU"),
            (&["softmax"], "Activation-Softmax"),
        ],
        "Activation-Generic",
    ),
    rule(
        &["quant", "per token group", "per group", "per channel"],
        &[
            (&["dequant"], "Dequant"),
            (&["per group", "per token group", "per channel"], "Quant-PerGroup"),
            (&["dynamic"], "Quant-Dynamic"),
            (&["weight"], "Quant-Weight"),
            (&[" act "], "Quant-Activation"),
        ],
        "Quant-Generic",
    ),
    rule(
        &[
            "topk",
            "top k",
            "topp",
            "top p ",
            "argmax",
            "arg max",
            "argmin",
            "arg min",
            "sampling",
            "multinomial",
            " sample ",
            "nucleus",
            " beam ",
        ],
        &[
            (&["topk", "top k"], "Sampling-TopK"),
            (&["topp", "top p ", "nucleus"], "Sampling-TopP"),
            (&["argmax", "arg max", "argmin", "arg min"], "Sampling-ArgMax"),
            (&[" beam "], "Sampling-Beam"),
        ],
        "Sampling-Generic",
    ),
    KindRule {
        any: &["embedding", " index", "gather", "scatter"],
        // Element by element, each told its place.
        unless: &["elementwise kernel with index"],
        kinds: &[(&["gather"], "Indexing-Gather"), (&["scatter"], "Indexing-Scatter")],
        otherwise: "Indexing-Generic",
    },
    rule(&[" sort", "onesweep"], &[], "Sorting"),
    rule(&[" max pool ", " avg pool ", "pooling"], &[], "Pooling"),
    rule(&["transpose", "permute"], &[], "Memory-Transpose"),
    rule(&[" copy", "memcpy"], &[], "Memory-Copy"),
    rule(&["elementwise", "pointwise", "multi tensor"], &[], "Elementwise"),
    rule(&[" reduce", " sum", " mean", " max ", " min ", "cumsum", " scan"], &[], "Reduce"),
    rule(&[" add ", " mul ", " div ", " sub ", " scalar ", " fill ", " where "], &[], "Elementwise"),
    rule(&["memset", " fill"], &[], "Memory-Set"),
    rule(&["reshape", " cast ", " convert"], &[], "Memory-Reshape"),
    rule(&["speculative", " draft ", "verify tokens"], &[], "SpeculativeDecoding"),
    rule(&["logits", "token gen", "next token"], &[], "TokenGeneration"),
    rule(&["flashinfer"], &[], "FlashInfer"),
    rule(&["triton"], &[], "Triton-Custom"),
    rule(&["vllm"], &[], "vLLM-Custom"),
    rule(&["sglang", " sgl "], &[], "SGLang-Custom"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_at_signs_and_capitals() {
        assert_eq!(words("ncclDevKernel_AllReduce_Sum"), " nccl dev kernel all reduce sum ");
        assert_eq!(words("void f<int, 4>(x)"), " void f int 4 x ");
        assert_eq!(words(""), " ");
    }

    #[test]
    fn names_get_the_category_of_their_work() {
        for (name, category) in [
            ("Cijk_Alik_Bljk_BBS_BH_MT256x256x64_USL1", "GEMM-Tensile"),
            ("Cijk_Alik_Bljk_F8BS_BH", "GEMM-FP8"),
            ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "Comm-AllReduce"),
            ("ncclDevKernel_ReduceScatter_Sum", "Comm-ReduceScatter"),
            ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "Comm-Send"),
            ("void vllm::cross_device_reduce_1stage<bf16, 2>", "Comm-AllReduce"),
            ("void vllm::reshape_and_cache_flash_kernel<x>", "KVCache-Reshape"),
            ("paged_attention_ll4mi_QKV_mfma16_kernel", "PagedAttention-Compute"),
            ("paged_attention_ll4mi_reduce_kernel", "PagedAttention-Reduce"),
            ("flash_fwd_splitkv_kernel", "Attention-Forward"),
            ("void pytorch_flash::flash_bwd_dq_dk_dv_loop_kernel<x>", "Attention-Backward"),
            ("void flashinfer::BatchPrefillWithPagedKVCacheKernel<x>", "Attention-Generic"),
            ("fmha_cutlassF_bf16_aligned", "Attention-Generic"),
            ("Memcpy HtoD (Host -> Device)", "Memory-Copy"),
            ("Memset (Device)", "Memory-Set"),
            ("__amd_rocclr_fillBufferAligned", "Memory-Set"),
            ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128", "GEMM-FP4"),
            ("nvjet_tst_256x128_64x4_1x2_h_bz_TNT", "GEMM-NVJET"),
            ("wvSplitK_hf_sml_", "GEMM-SplitK"),
            ("triton_poi_fused_add_0", "Triton-Custom"),
            ("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>", "Elementwise"),
            ("void at::native::reduce_kernel<512, 1, at::native::MeanOps>", "Reduce"),
            ("void at::native::reduce_kernel<512, 1, at::native::ArgMaxOps>", "Sampling-ArgMax"),
            ("void vllm::fused_add_rms_norm_kernel<x>", "Fused-AddNorm"),
            ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<x>", "Norm-Layer"),
            ("void vllm::act_and_mul_kernel<bf16, silu>", "Activation-Gated"),
            ("void at::native::indexSelectLargeIndex<x>", "Indexing-Generic"),
            ("_topk_forward", "Sampling-TopK"),
            (
                "void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange>",
                "Elementwise",
            ),
            ("void at::native::(anonymous namespace)::max_pool_forward_nchw<x>", "Pooling"),
            ("void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float>", "Norm-Generic"),
            ("void at::native::(anonymous namespace)::ComputeFusedParamsCUDAKernel<float>", "Norm-Generic"),
            ("Im2d2Col_v2", "Conv-Generic"),
            ("store_kvcache<2048l>", "KVCache-Update"),
            ("void cudnn::winograd_nonfused::winogradForwardData4x4<x>", "Conv-Forward"),
            ("my_kernel", "Uncategorized"),
            ("", "Uncategorized"),
        ] {
            assert_eq!(engine_kernel(name), category, "{name}");
        }
    }

    #[test]
    fn no_rule_repeats_a_part_or_is_empty() {
        for rule in RULES {
            assert!(!rule.any.is_empty(), "{}", rule.otherwise);
            assert!(rule.kinds.iter().all(|(parts, _)| !parts.is_empty()), "{}", rule.otherwise);
            assert!(!has("", rule.any));
        }
    }
}
