//! What names of operators and kernels say of the phases of a language model's inference.

use super::is_library_gemm;
use crate::{Family, family};

/// What kind of call an operator's name stands for, as far as phases are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseOperator {
    /// Rows of a table by token.
    Embedding,
    /// Activations by a weight.
    Projection,
    /// Normalization of activations over their last dimension.
    Norm,
    /// Rows picked out of activations, such as the last token of every request.
    Selection,
    /// Attention whose first input has the sequences in this place.
    Attention(AttentionLayout),
    /// Choice of a token among a vocabulary. `sure` where nothing else in a language model reads such a width.
    Sampling {
        /// Not so of `topk` and `sort`, which sparse attention uses over its keys.
        sure: bool,
    },
    /// Work of models of images, which have neither prompts nor generated tokens.
    Image,
    /// Anything else.
    Other,
}

/// How attention's inputs are laid out when they have four dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionLayout {
    /// Batch, heads, tokens, width.
    HeadsFirst,
    /// Batch, tokens, heads, width.
    TokensFirst,
    /// Batch, tokens, heads, width, and keys in pages whose shape says nothing of their number.
    PagedKeys,
}

/// What an operator's or kernel's name says of the phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseWords {
    /// Attention of prompts.
    pub context: bool,
    /// Attention of one new token, or few, per request.
    pub generation: bool,
    /// Attention of any kind.
    pub attention: bool,
    /// Attention that says nothing of its kind, and not only the end of one that was split.
    pub plain_attention: bool,
    /// A word of the prompt's phase anywhere in the name.
    pub weak_context: bool,
    /// A word of the generation's phase anywhere in the name.
    pub weak_generation: bool,
    /// The name belongs to an inference engine.
    pub engine: bool,
}

/// Writes to the cache of keys and values; both phases do that for every new token.
const CACHE_WRITES: [&str; 7] = [
    "reshape_and_cache",
    "cache_op",
    "store_cache",
    "store_kv",
    "kv_cache_update",
    "set_kv_buffer",
    "concat_and_cache",
];

fn is_cache_write(lower: &str) -> bool {
    CACHE_WRITES.iter().any(|part| lower.contains(part))
}

impl PhaseOperator {
    /// What an operator of this name does.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        operator(name, &name.to_ascii_lowercase())
    }
}

impl PhaseWords {
    /// What the name of an operator or a kernel says.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        words(name, &name.to_ascii_lowercase())
    }
}

fn operator(text: &str, lower: &str) -> PhaseOperator {
    if lower.contains("backward") || is_cache_write(lower) {
        return PhaseOperator::Other;
    }
    let base = lower.rsplit("::").next().unwrap_or(lower);
    match base {
        "embedding" => return PhaseOperator::Embedding,
        "index" => return PhaseOperator::Selection,
        "argmax" | "softmax" | "_softmax" | "log_softmax" | "_log_softmax" => {
            return PhaseOperator::Sampling { sure: true };
        }
        "topk" | "sort" => return PhaseOperator::Sampling { sure: false },
        "conv2d" | "conv3d" | "convolution" | "cudnn_convolution" | "miopen_convolution" | "group_norm" => {
            return PhaseOperator::Image;
        }
        _ => {}
    }
    if ["rmsnorm", "rms_norm", "layernorm", "layer_norm"].iter().any(|part| base.contains(part)) {
        return PhaseOperator::Norm;
    }
    if words(text, lower).attention {
        return PhaseOperator::Attention(if base.contains("scaled_dot_product") {
            AttentionLayout::HeadsFirst
        } else if lower.contains("kvcache") || lower.contains("paged") {
            AttentionLayout::PagedKeys
        } else {
            AttentionLayout::TokensFirst
        });
    }
    // Experts see each token several times, in an order of their own.
    if ["moe", "expert", "grouped", "bmm"].iter().any(|part| lower.contains(part)) {
        return PhaseOperator::Other;
    }
    let is_projection = family(text) == Some(Family::Gemm)
        || tokens(base).any(|token| matches!(token, "mm" | "addmm" | "gemm" | "matmul" | "linear"));
    if is_projection { PhaseOperator::Projection } else { PhaseOperator::Other }
}

/// Namespaces of operators of inference engines and their kernel libraries.
const ENGINES: [&str; 8] = [
    "vllm::",
    "sglang::",
    "sgl_kernel::",
    "sglang_profiler::",
    "tgi::",
    "trtllm::",
    "aiter::",
    "flashinfer::",
];

fn words(text: &str, lower: &str) -> PhaseWords {
    let mut words = PhaseWords {
        engine: ENGINES.iter().any(|engine| lower.starts_with(engine)),
        ..PhaseWords::default()
    };
    if is_cache_write(lower) || is_library_gemm(lower) {
        return words;
    }
    let camel = camel_case(text);
    let has = |wanted: &[&str]| tokens(&camel).any(|token| wanted.contains(&token));
    let contains = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    words.attention = has(&["attention", "attn", "sdpa", "mha", "fmha", "mla", "mmha", "gqa", "xqa"])
        || contains(&[
            "scaled_dot_product",
            "pagedattention",
            "flash_fwd",
            "flashattn",
            "pa_decode",
            "paged_kv",
        ]);
    let prefill = has(&["prefill", "batchprefill", "chunkedprefill"]);
    let decode = has(&["decode", "decoding", "batchdecode", "flashdecode", "flashdecoding"]);
    let attention = words.attention;
    // A name with both, such as `chunked_prefill_paged_decode`, is of code for both.
    let both = prefill && decode;
    // Causal attention of this library reads whole prompts; encoders have it without the mask.
    let causal = contains(&["fmha_v2"]) && contains(&["causal"]);
    words.context = !both
        && (prefill || causal || (has(&["context"]) && has(&["fmha", "mha", "attention", "attn"])))
        && !contains(&["forgen"]);
    words.generation = !both
        && !words.context
        && ((decode && (attention || contains(&["flash", "paged"])))
            // One query token per sequence is all that these kernels take.
            || contains(&[
                "paged_attention_ll4mi",
                "paged_attention_v1",
                "paged_attention_v2",
                "pa_decode",
                "mla_decode",
                "batch_decode",
                "flash_decoding",
                "masked_multihead_attention",
                "kernel_unified_attention_3d",
                "splitkv_mla",
                "fwd_grouped_kernel_stage",
                "fwd_kernel_stage",
                "forgen",
            ])
            || has(&["mmha", "xqa"]));
    // Inductor names kernels after the operators around them.
    words.plain_attention = attention
        && !words.context
        && !words.generation
        && !lower.starts_with("triton_")
        && !has(&["combine", "reduce", "merge", "metadata"]);
    words.weak_context =
        words.context || (!both && has(&["prefill", "prompt"])) || contains(&["first_token"]);
    words.weak_generation = words.generation
        || (!both && (decode || has(&["autoregressive", "generation"])))
        || contains(&["single_token", "token_generation"]);
    words
}

/// PhaseWords of a name: runs of letters, cut at everything else.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphabetic()).filter(|token| !token.is_empty())
}

/// `BatchDecodeWithPagedKVCache` as `batch decode with paged kvcache`.
fn camel_case(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 8);
    let mut follows_lowercase = false;
    for c in text.chars() {
        if c.is_ascii_uppercase() && follows_lowercase {
            words.push(' ');
        }
        follows_lowercase = c.is_ascii_lowercase() || c.is_ascii_digit();
        words.push(c.to_ascii_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str) -> (bool, bool) {
        let words = PhaseWords::from_name(name);
        (words.context, words.generation)
    }

    #[test]
    fn attention_names_say_the_phase_in_whole_words_only() {
        for (name, context, generation) in [
            ("aiter::mha_batch_prefill", true, false),
            ("fmha_v2_flash_attention_bf16_64_128_S_qkv_128_causal_tma_ws_sm90_kernel", true, false),
            ("fmha_v2_flash_attention_fp16_64_64_S_qkv_64_sm80_kernel", false, false),
            ("void flashinfer::BatchPrefillWithPagedKVCacheKernel<x>", true, false),
            ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<x>", false, true),
            ("fmhaSm100Kernel_QkvE4m3H128PagedKvCausalVarSeqQ128Kv128PersistentContext", true, false),
            ("fmhaSm100Kernel_QkvE4m3H128PagedKvDenseVarSeqQ8Kv128StaticSwapsAbForGen", false, true),
            ("void paged_attention_ll4mi_QKV_mfma16_kernel<0>", false, true),
            ("vllm::paged_attention_v2_kernel", false, true),
            ("mla_decode_stage1_asm_fwd", false, true),
            ("_fwd_grouped_kernel_stage1", false, true),
            ("vllm::chunked_prefill_paged_decode", false, false),
            ("at::native::PersistentContext_elementwise", false, false),
            ("Cijk_Alik_Bljk_BBS_BH_USL1_SL128_decode", false, false),
            ("vllm::reshape_and_cache_flash_kernel", false, false),
            ("store_kvcache_decode", false, false),
            ("flash_fwd_kernel", false, false),
            ("mha_varlen_fwd", false, false),
            ("aten::bytes_decoder", false, false),
        ] {
            assert_eq!(said(name), (context, generation), "{name}");
        }
    }

    #[test]
    fn operators_are_told_apart_by_what_they_do() {
        let kind = PhaseOperator::from_name;
        for name in [
            "aten::mm",
            "aten::addmm",
            "_C::cutlass_scaled_mm",
            "vllm::rocm_unquantized_gemm",
            "aten::linear",
        ] {
            assert_eq!(kind(name), PhaseOperator::Projection, "{name}");
        }
        for name in ["aiter::rmsnorm", "_C::fused_add_rms_norm", "aten::layer_norm"] {
            assert_eq!(kind(name), PhaseOperator::Norm, "{name}");
        }
        for name in
            ["vllm::moe_forward", "aten::bmm", "_C_cache_ops::reshape_and_cache_flash", "aten::mm_backward"]
        {
            assert_eq!(kind(name), PhaseOperator::Other, "{name}");
        }
        assert_eq!(
            kind("vllm::unified_attention_with_output"),
            PhaseOperator::Attention(AttentionLayout::TokensFirst)
        );
        assert_eq!(
            kind("aten::_scaled_dot_product_flash_attention"),
            PhaseOperator::Attention(AttentionLayout::HeadsFirst)
        );
    }
}
