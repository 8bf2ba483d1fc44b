//! Attention and mixtures of experts.

use super::exception::{Exception, Ours};

const fn exception(
    op: &'static str,
    args: &'static str,
    field: &'static str,
    quirk: &'static str,
    ours: Ours,
    why: &'static str,
) -> Exception {
    Exception { op, args, field, quirk, ours, why }
}

/// The call has figures or shapes though no annotation of a step is around it.
const fn without_step(call: (&'static str, &'static str), field: &'static str, ours: Ours) -> Exception {
    exception(call.0, call.1, field, "03b #1", ours, WITHOUT_STEP)
}

/// The figures of [`CACHE`] come from the lengths that it records.
const fn recorded_lengths(field: &'static str, ours: Ours) -> Exception {
    exception(CACHE.0, CACHE.1, field, "03b #1", ours, LENGTHS)
}

const WITHOUT_STEP: &str = "shapes and types are known without the step's token counts";
const LENGTHS: &str = "the call records the lengths of its sequences itself";
const FLOAT: &str = "elements of float have four bytes";
const TYPED: &str = "the types of queries and keys are recorded";
const PACKED: &str = "the sequences do not attend to each other in the backward pass either";
const LATENT: &str = "keys and values are one latent in the cache, read once";

const INFERENCE_PARAMETERS: Ours = Ours::Text(
    "B, N_Q, H_Q, H_V, H_K, N_KV, H_KV, d_h_qk, d_h_v, dropout, causal, flash_impl, \
     c_sq, c_sk, c_sqsq, c_sqsk, g_sq, g_sk, g_sqsq, g_sqsk, dtype_Q, dtype_KV",
);
const COUNTS: &str = "param: c_sq | param: c_sk | param: c_sqsq | param: c_sqsk | \
     param: g_sq | param: g_sk | param: g_sqsq | param: g_sqsk | param: _no_perf";
const KEY_HEADS: &str = "param: H_K | param: H_V | param: H_KV";
const HEAD_DIMS: &str = "param: d_h_qk | param: d_h_v";
const LENGTH: &str = "param: N_Q | param: N_KV";
const TYPES: &str = "param: dtype_Q | param: dtype_KV";

const GPT_OSS: (&str, &str) = ("vllm::unified_attention_with_output", "[8192, 64, 64]");
const FP8: (&str, &str) = ("vllm::unified_attention_with_output", "[888, 8, 64]");
const CACHE: (&str, &str) = ("aiter::mha_batch_prefill", "[835874, 8, 128]");

pub(crate) const EXCEPTIONS: &[Exception] = &[
    exception("FlashAttnFunc", "float", "bytes", "03 #6", Ours::Figure(335_544_320.0), FLOAT),
    exception("FlashAttnFunc", "float", "bytes_bwd", "03 #6", Ours::Figure(536_870_912.0), FLOAT),
    exception(
        "aten::_scaled_dot_product_cudnn_attention",
        "float",
        "bytes",
        "03 #6",
        Ours::Figure(335_544_320.0),
        FLOAT,
    ),
    exception(
        "aten::_scaled_dot_product_cudnn_attention",
        "float",
        "bytes_bwd",
        "03 #6",
        Ours::Figure(536_870_912.0),
        FLOAT,
    ),
    exception("aiter::_flash_attn_backward", "*", "spec", "03 #9", Ours::Text("matrix_bf16"), TYPED),
    exception("aiter::_flash_attn_forward", "*", "spec", "03 #9", Ours::Text("matrix_bf16"), TYPED),
    exception("aiter::fmha_v3_fwd", "*", "spec", "03 #9", Ours::Text("matrix_bf16"), TYPED),
    exception("aiter::mha_bwd", "*", "spec", "03 #9", Ours::Text("matrix_bf16"), TYPED),
    exception("aiter::wrapper_fmha_v3_*", "*", "spec", "03 #9", Ours::Text("matrix_bf16"), TYPED),
    exception("flash_attn_3::fwd", "*", "spec", "03 #9", Ours::Text("matrix_bf16"), TYPED),
    exception(
        "flash_attn::_flash_attn_varlen_backward",
        "*",
        "flops_bwd",
        "03 #10",
        Ours::Figure(458_077_073_024.0),
        PACKED,
    ),
    exception(
        "flash_attn::_flash_attn_varlen_forward",
        "[5], [5]",
        "flops_bwd",
        "03 #10",
        Ours::Figure(458_077_073_024.0),
        PACKED,
    ),
    exception(
        "flash_attn::_flash_attn_varlen_forward",
        "[5], [2]",
        "flops",
        "03 #10",
        // 4096 queries of the longest sequence and three times 1365 of the others.
        Ours::Figure(4.0 * 32.0 * 128.0 * (4096.0 + 3.0 * 1365.0) * 8192.0),
        "the only sequence of keys is shared by those of queries",
    ),
    exception(
        "flash_attn::_flash_attn_varlen_forward",
        "[5], [2]",
        "flops_bwd",
        "03 #10",
        // Five products, and the sums over three further heads of queries in each of the four sequences.
        Ours::Figure(
            10.0 * 32.0 * 128.0 * (4096.0 + 3.0 * 1365.0) * 8192.0 + 4.0 * 2.0 * 8192.0 * 128.0 * 3.0,
        ),
        PACKED,
    ),
    // Real calls whose trace has no annotations of steps.
    without_step(FP8, "params", INFERENCE_PARAMETERS),
    without_step(FP8, "spec", Ours::Text("matrix_fp8")),
    without_step(FP8, COUNTS, Ours::Absent),
    without_step(FP8, LENGTH, Ours::Text("888")),
    without_step(FP8, "param: H_Q", Ours::Text("8")),
    without_step(FP8, KEY_HEADS, Ours::Text("1")),
    without_step(FP8, HEAD_DIMS, Ours::Text("64")),
    without_step(FP8, "param: dtype_Q", Ours::Text("c10::Float8_e4m3fn")),
    without_step(FP8, "param: dtype_KV", Ours::Text("c10::BFloat16")),
    without_step(GPT_OSS, "params", INFERENCE_PARAMETERS),
    without_step(GPT_OSS, "spec", Ours::Text("matrix_bf16")),
    without_step(GPT_OSS, COUNTS, Ours::Absent),
    without_step(GPT_OSS, LENGTH, Ours::Text("8192")),
    without_step(GPT_OSS, "param: H_Q", Ours::Text("64")),
    without_step(GPT_OSS, KEY_HEADS, Ours::Text("8")),
    without_step(GPT_OSS, HEAD_DIMS, Ours::Text("64")),
    without_step(GPT_OSS, TYPES, Ours::Text("c10::BFloat16")),
    // 15 sequences of 1024 tokens; as an engine's annotation of such a step says too.
    recorded_lengths("flops", Ours::Figure(128_849_018_880.0)),
    recorded_lengths("bytes", Ours::Figure(314_572_800.0)),
    recorded_lengths("param: c_sq | param: c_sk", Ours::Text("15360")),
    recorded_lengths("param: c_sqsq | param: c_sqsk", Ours::Text("15728640")),
    without_step(CACHE, "params", INFERENCE_PARAMETERS),
    without_step(CACHE, "spec", Ours::Text("matrix_bf16")),
    without_step(CACHE, "param: _no_perf", Ours::Absent),
    without_step(CACHE, "param: N_Q", Ours::Text("15360")),
    without_step(CACHE, "param: N_KV", Ours::Text("835874")),
    without_step(CACHE, "param: H_Q", Ours::Text("32")),
    without_step(CACHE, KEY_HEADS, Ours::Text("8")),
    without_step(CACHE, HEAD_DIMS, Ours::Text("128")),
    without_step(CACHE, TYPES, Ours::Text("c10::BFloat16")),
    // 64 queries of 16 heads, and 131072 latents of 576.
    exception(
        "pseudo_mla_decode_fwd",
        "*",
        "param: d_h_v",
        "03b #2",
        Ours::Text("512"),
        "values are the latent without its rotary part",
    ),
    exception(
        "pseudo_mla_decode_fwd",
        "*",
        "flops",
        "03b #2",
        Ours::Figure(2.0 * 16.0 * (576.0 + 512.0) * 131_072.0),
        "values are the latent without its rotary part",
    ),
    exception(
        "pseudo_mla_decode_fwd",
        "*",
        "bytes",
        "03b #4",
        Ours::Figure(2.0 * (64.0 * 16.0 * (576.0 + 512.0) + 131_072.0 * 576.0)),
        LATENT,
    ),
    exception(
        "sglang_profiler::tilelang_kernel_tilelang_sparse_fwd",
        "*",
        "bytes",
        "03b #4",
        Ours::Figure(2.0 * (64.0 * 16.0 * (576.0 + 512.0) + 131_072.0 * 576.0)),
        LATENT,
    ),
    // 64 queries of 16 heads, each with its window's latents of 512.
    exception(
        "pseudo_v4_paged_decode_swa",
        "*",
        "bytes",
        "03b #4",
        Ours::Figure(2.0 * 512.0 * (64.0 * 16.0 * 2.0 + 64.0 * 128.0)),
        LATENT,
    ),
    exception(
        "pseudo_v4_paged_decode_csa",
        "*",
        "bytes",
        "03b #4",
        Ours::Figure(2.0 * 512.0 * (64.0 * 16.0 * 2.0 + 64.0 * 640.0)),
        LATENT,
    ),
    exception(
        "pseudo_v4_paged_decode_hca",
        "*",
        "bytes",
        "03b #4",
        Ours::Figure(2.0 * 512.0 * (64.0 * 16.0 * 2.0 + 64.0 * 144.0)),
        LATENT,
    ),
    exception(
        "pseudo_op::moe_triton_unfused_up",
        "\"name\": \"x\"",
        "bytes",
        "04 #13",
        Ours::Figure(
            // Tokens in, 31.55 of 32 experts' matrices twice, tokens out to four experts each.
            2.0 * 32.0 * 3072.0 + 31.55392521479414 * 2.0 * 3072.0 * 3072.0 * 2.0 + 2.0 * 32.0 * 3072.0 * 4.0,
        ),
        "weights of a kernel that names no type are taken as wide as activations",
    ),
    exception(
        "pseudo_op::moe_triton_unfused_up",
        "\"name\": \"x\"",
        "spec",
        "04 #13",
        Ours::Text("matrix_bf16"),
        "weights of a kernel that names no type are taken as activations",
    ),
];
