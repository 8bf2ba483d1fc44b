//! Kernels of inference engines exactly as TraceLens decides them, also where it is wrong.

use super::class::{KindRule, rule};
use super::has;

/// Kind of work of a kernel by its name as TraceLens says it.
#[must_use]
pub fn tracelens_engine_kernel(name: &str) -> &'static str {
    let lower = name.to_lowercase();
    by_prefix(&lower)
        .or_else(|| BEFORE_FRAMEWORKS.iter().find_map(|rule| rule.decide(&lower)))
        .or_else(|| cache(&lower))
        .or_else(|| AFTER_CACHE.iter().find_map(|rule| rule.decide(&lower)))
        .or_else(|| by_start(name))
        .or_else(|| framework(&lower).map(|(_, custom)| custom))
        .unwrap_or("Uncategorized")
}

/// Up to the first `_`, else up to the first blank, else twenty characters.
fn prefix(lower: &str) -> &str {
    let cut = lower.find('_').or_else(|| lower.find(' '));
    let cut = cut.or_else(|| lower.char_indices().nth(20).map(|(at, _)| at));
    &lower[..cut.unwrap_or(lower.len())]
}

fn by_prefix(lower: &str) -> Option<&'static str> {
    let gemm = |category| {
        if lower.contains("splitk") {
            "GEMM-SplitK"
        } else if has(lower, &["fp4", "int4", "f4"]) {
            "GEMM-FP4"
        } else if has(lower, &["fp8", "int8", "f8"]) {
            "GEMM-FP8"
        } else {
            category
        }
    };
    let attention = |[generic, forward, backward]: [&'static str; 3]| {
        if has(lower, &["fwd", "forward"]) {
            forward
        } else if has(lower, &["bwd", "backward"]) {
            backward
        } else {
            generic
        }
    };
    Some(match prefix(lower) {
        "cijk" => gemm("GEMM-CK"),
        "sgemm" | "dgemm" | "hgemm" | "gemm" => gemm("GEMM-Generic"),
        "cutlass" => gemm("GEMM-CUTLASS"),
        "cublas" => gemm("GEMM-cuBLAS"),
        "rocblas" | "hipblas" => gemm("GEMM-ROCm"),
        "fmha" | "flash" => attention(["Attention-Generic", "Attention-Forward", "Attention-Backward"]),
        "paged" | "pagedattention" => {
            attention(["PagedAttention-Generic", "PagedAttention-Forward", "PagedAttention-Backward"])
        }
        "rmsnorm" => "Norm-RMS",
        "layernorm" => "Norm-Layer",
        "batchnorm" => "Norm-Batch",
        "softmax" => "Activation-Softmax",
        "gelu" => "Activation-GELU",
        "silu" => "Activation-SiLU",
        "rope" | "rotary" => "RoPE-Generic",
        "transpose" => "Memory-Transpose",
        "memcpy" => "Memory-Copy",
        "memset" => "Memory-Set",
        "triton" => "Triton-Custom",
        _ => return None,
    })
}

const BEFORE_FRAMEWORKS: &[KindRule<&str>] = &[
    rule(
        &["paged_attention", "pagedattention"],
        &[
            (&["reduce"], "PagedAttention-Reduce"),
            (&["qkv", "kernel", "prefill", "decode"], "PagedAttention-Compute"),
        ],
        "PagedAttention-Generic",
    ),
    rule(&["chunked_prefill", "continuous_batch", "batch_decode"], &[], "InferenceBatching"),
    rule(
        &[
            "gemm",
            "cijk",
            "matmul",
            "cublas",
            "nvjet",
            "mfma",
            "wmma",
            "tensor_op",
            "cutlass",
            "rocblas",
            "hipblas",
            "matrix_multiply",
        ],
        &[
            (&["f4gemm", "fp4", "int4"], "GEMM-FP4"),
            (&["f8gemm", "fp8", "int8"], "GEMM-FP8"),
            (&["cijk"], "GEMM-CK"),
            (&["cublas"], "GEMM-cuBLAS"),
            (&["cutlass"], "GEMM-CUTLASS"),
            (&["rocblas", "hipblas"], "GEMM-ROCm"),
            (&["nvjet"], "GEMM-NVJET"),
            (&["mfma"], "GEMM-MFMA"),
            (&["wmma"], "GEMM-WMMA"),
            (&["splitk"], "GEMM-SplitK"),
            (&["tensor_op"], "GEMM-TensorOp"),
        ],
        "GEMM-Generic",
    ),
    rule(
        &["attention", "fmha", "flash", "attn", "sdpa", "scaled_dot_product"],
        &[
            (&["fwd", "forward", "fprop"], "Attention-Forward"),
            (&["bwd", "backward", "bprop"], "Attention-Backward"),
        ],
        "Attention-Generic",
    ),
    rule(
        &["conv", "winograd", "im2col", "fillbuffer"],
        &[(&["fwd", "forward"], "Conv-Forward"), (&["bwd", "backward"], "Conv-Backward")],
        "Conv-Generic",
    ),
    rule(
        &["fused"],
        &[
            (&["add", "rmsnorm", "layernorm", "norm"], "Fused-AddNorm"),
            (&["qk", "rope", "cache"], "Fused-QKRoPECache"),
            (&["mlp", "ffn"], "Fused-MLP"),
        ],
        "Fused-Generic",
    ),
    rule(
        &["norm"],
        &[(&["rms"], "Norm-RMS"), (&["layer"], "Norm-Layer"), (&["batch"], "Norm-Batch")],
        "Norm-Generic",
    ),
    rule(
        &["relu", "gelu", "silu", "swish", "sigmoid", "tanh", "softmax", "act_and_mul", "activation"],
        &[
            (&["act_and_mul"], "Activation-Gated"),
            (&["silu", "swish"], "Activation-SiLU"),
            (&["gelu"], "Activation-GELU"),
            (&["softmax"], "Activation-Softmax"),
        ],
        "Activation-Generic",
    ),
    rule(&["elementwise", "pointwise", "add", "mul", "div", "sub", "scalar"], &[], "Elementwise"),
    rule(&["reduce", "sum", "mean", "max", "min"], &[], "Reduce"),
    rule(
        &[
            "copy",
            "memset",
            "transpose",
            "permute",
            "reshape",
            "cast",
            "convert",
            "fill_buffer",
            "data_transfer",
            "memcpy",
        ],
        &[
            (&["transpose", "permute"], "Memory-Transpose"),
            (&["copy", "data_transfer"], "Memory-Copy"),
            (&["memset", "fill_buffer"], "Memory-Set"),
            (&["reshape", "cast", "convert"], "Memory-Reshape"),
        ],
        "Memory-Copy",
    ),
    rule(
        &[
            "nccl",
            "rccl",
            "msccl",
            "allreduce",
            "allgather",
            "reducescatter",
            "broadcast",
            "send",
            "recv",
            "barrier",
            "alltoall",
        ],
        &[
            (&["allreduce"], "Comm-AllReduce"),
            (&["allgather"], "Comm-AllGather"),
            (&["reducescatter"], "Comm-ReduceScatter"),
            (&["alltoall"], "Comm-AllToAll"),
            (&["send"], "Comm-Send"),
            (&["recv"], "Comm-Recv"),
            (&["broadcast"], "Comm-Broadcast"),
            (&["barrier"], "Comm-Barrier"),
        ],
        "Comm-Generic",
    ),
    rule(
        &["quant", "fp8", "int8", "int4", "fp4", "scale", "per_group", "per_channel"],
        &[
            (&["per_group", "per_channel"], "Quant-PerGroup"),
            (&["dynamic"], "Quant-Dynamic"),
            (&["dequant"], "Dequant"),
            (&["weight"], "Quant-Weight"),
            (&["act"], "Quant-Activation"),
        ],
        "Quant-Generic",
    ),
    rule(
        &["rope", "rotary"],
        &[(&["cached"], "RoPE-Cached"), (&["gqa", "grouped"], "RoPE-GQA")],
        "RoPE-Generic",
    ),
];

/// Names with `cache` go by the framework where nothing else is said.
fn cache(lower: &str) -> Option<&'static str> {
    const CACHE: KindRule<&str> = KindRule {
        any: &["cache"],
        unless: &["paged"],
        kinds: &[
            (&["reshape"], "KVCache-Reshape"),
            (&["append", "update"], "KVCache-Update"),
            (&["compress", "prune"], "KVCache-Compression"),
        ],
        otherwise: "KVCache-Generic",
    };
    let category = CACHE.decide(lower)?;
    let framework_cache = framework(lower).filter(|_| category == CACHE.otherwise);
    Some(framework_cache.map_or(category, |(cache, _)| cache))
}

const AFTER_CACHE: &[KindRule<&str>] = &[
    rule(
        &["embedding", "lookup", "gather", "scatter", "index"],
        &[(&["gather"], "Indexing-Gather"), (&["scatter"], "Indexing-Scatter")],
        "Indexing-Generic",
    ),
    rule(
        &[
            "sample", "topk", "topp", "beam", "argmax", "argmin", "sampling", "select", "choice", "greedy",
            "nucleus",
        ],
        &[
            (&["topk", "top_k"], "Sampling-TopK"),
            (&["topp", "top_p", "nucleus"], "Sampling-TopP"),
            (&["argmax", "argmin", "greedy"], "Sampling-ArgMax"),
            (&["beam"], "Sampling-Beam"),
        ],
        "Sampling-Generic",
    ),
    rule(&["speculative", "draft", "verify_tokens"], &[], "SpeculativeDecoding"),
    rule(&["radix", "prefix_cache", "tree_attention"], &[], "PrefixCaching"),
    rule(&["logits", "token_gen", "next_token"], &[], "TokenGeneration"),
    rule(&["triton"], &[], "Triton-Custom"),
    rule(&["flashinfer", "flash_infer"], &[], "FlashInfer"),
];

fn by_start(name: &str) -> Option<&'static str> {
    if name.starts_with("_fwd_kernel") {
        Some("Kernel-Forward")
    } else {
        name.starts_with("_bwd_kernel").then_some("Kernel-Backward")
    }
}

/// Frameworks by parts of the namespace, each with the categories of its caches and of its other kernels.
const FRAMEWORKS: [(&[&str], &str, &str); 9] = [
    (&["vllm"], "KVCache-vLLM", "vLLM-Custom"),
    (&["sglang", "sgl"], "KVCache-SGLang", "SGLang-Custom"),
    (&["tgi", "text_generation"], "KVCache-TGI", "TGI-Custom"),
    (&["transformers", "hf", "huggingface"], "KVCache-HuggingFace", "HuggingFace-Custom"),
    (&["tensorrt", "trt"], "KVCache-TensorRT", "TensorRT-Custom"),
    (&["onnx", "ort"], "KVCache-ONNX", "ONNX-Custom"),
    (&["deepspeed", "ds"], "KVCache-Generic", "DeepSpeed-Custom"),
    (&["megatron", "mcore"], "KVCache-Generic", "Megatron-Custom"),
    (&["fairscale", "fair"], "KVCache-Generic", "FairScale-Custom"),
];

fn framework(lower: &str) -> Option<(&'static str, &'static str)> {
    let (namespace, _) = lower.split_once("::")?;
    let (_, cache, custom) = FRAMEWORKS.into_iter().find(|(parts, ..)| has(namespace, parts))?;
    Some((cache, custom))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_at_underscores_before_blanks() {
        for (name, expected) in [
            ("memcpy htod (a_b)", "memcpy htod (a"),
            ("memcpy htod", "memcpy"),
            ("_x", ""),
            ("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrst"),
            ("ab", "ab"),
        ] {
            assert_eq!(prefix(name), expected);
        }
    }

    #[test]
    fn categories_are_those_of_the_reference() {
        for (name, category) in [
            ("Memcpy HtoD (Host -> Device)", "Memory-Copy"),
            ("void vllm::reshape_and_cache_flash_kernel<x>", "Attention-Generic"),
            ("ncclDevKernel_AllReduce_Sum", "Reduce"),
            ("ncclDevKernel_Generic", "Comm-Generic"),
            ("_topk_forward", "Sampling-TopK"),
            ("triton_poi_fused_0", "Triton-Custom"),
            ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128", "GEMM-FP4"),
            ("flash_fwd_splitkv_kernel", "Attention-Forward"),
            ("Cijk_Alik_Bljk_f8_x", "GEMM-FP8"),
            ("Cijk_Alik_Bljk_BBS_BH", "GEMM-CK"),
            ("paged_attention_ll4mi_QKV_mfma16_kernel", "PagedAttention-Generic"),
            ("void paged_attention_ll4mi_reduce_kernel", "PagedAttention-Reduce"),
            ("__amd_rocclr_fillBufferAligned", "Conv-Generic"),
            ("aiter::rmsnorm", "Norm-RMS"),
            ("void vllm::act_and_mul_kernel<silu>", "Activation-Gated"),
            ("vllm::store_cache", "KVCache-vLLM"),
            ("store_cache", "KVCache-Generic"),
            ("vllm::x", "vLLM-Custom"),
            ("megatron::x", "Megatron-Custom"),
            ("_fwd_kernel_stage", "Kernel-Forward"),
            ("rotary_gqa", "RoPE-Generic"),
            ("x", "Uncategorized"),
        ] {
            assert_eq!(tracelens_engine_kernel(name), category, "{name}");
        }
    }
}
