//! Hugging Face `generate`, TGI, TensorRT-LLM: no annotations, or their own.

use crate::held_out::cases::{Case, check, right};
use crate::held_out::recorder::{Recorder, i, n, t};
use inference_phase::Phase::{self, Decode, Prefill};

const HIDDEN: i64 = 2048;
const VOCABULARY: i64 = 50_304;

/// A call of a model of the `transformers` package; logits of the last token only where `is_last`.
fn transformers(r: &mut Recorder, phase: Phase, batch: i64, queries: i64, keys: i64, is_last: bool) {
    let rows = batch * queries;
    let linear = |r: &mut Recorder, inner: i64, outer: i64| {
        r.call("aten::linear", &[t(&[batch, queries, inner]), t(&[outer, inner]), i(&[])], |r| {
            r.call("aten::matmul", &[t(&[batch, queries, inner]), t(&[inner, outer])], |r| {
                r.op(
                    "aten::mm",
                    &[t(&[rows, inner]), t(&[inner, outer])],
                    "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
                    rows / 10 + 5,
                );
            });
        });
    };
    r.step(phase, "forward", |r| {
        r.frame("nn.Module: LlamaForCausalLM_0", |r| {
            r.op("aten::embedding", &[t(&[VOCABULARY, HIDDEN]), i(&[batch, queries])], "indexSelect", 3);
            for _ in 0..4 {
                let hidden = t(&[batch, queries, HIDDEN]);
                r.op("aten::pow", &[hidden.clone(), n(2)], "pow_tensor_scalar", 2);
                r.op("aten::mean", &[hidden.clone(), n(-1)], "reduce_kernel<MeanOps>", 2);
                r.op("aten::mul", &[hidden.clone(), hidden.clone()], "mul", 2);
                linear(r, HIDDEN, 3 * HIDDEN);
                let (query, key) = (t(&[batch, 16, queries, 128]), t(&[batch, 16, keys, 128]));
                r.op("aten::cat", &[key.clone(), query.clone()], "CatArrayBatchedCopy", 2);
                r.call(
                    "aten::scaled_dot_product_attention",
                    &[query.clone(), key.clone(), key.clone()],
                    |r| {
                        r.op(
                            "aten::_scaled_dot_product_flash_attention",
                            &[query, key.clone(), key],
                            "void pytorch_flash::flash_fwd_kernel",
                            rows / 10 + 5,
                        );
                    },
                );
                linear(r, HIDDEN, HIDDEN);
                linear(r, HIDDEN, 16_384);
                linear(r, 8192, HIDDEN);
            }
            let rows = if is_last { batch } else { rows };
            r.op(
                "aten::mm",
                &[t(&[rows, HIDDEN]), t(&[HIDDEN, VOCABULARY])],
                "ampere_bf16_s16816gemm",
                rows / 4 + 40,
            );
        });
    });
    r.op("aten::argmax", &[t(&[batch, VOCABULARY]), n(-1)], "reduce_kernel", 5);
    r.op("aten::cat", &[i(&[batch, keys]), i(&[batch, 1])], "CatArrayBatchedCopy", 2);
}

/// Text Generation Inference packs prompts like vLLM, and its attention is no operator.
fn tgi(r: &mut Recorder, phase: Phase, tokens: i64, requests: i64) {
    let kernel = "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n";
    r.step(phase, if phase == Prefill { "prefill" } else { "decode_token" }, |r| {
        r.op("aten::embedding", &[t(&[32_000, 4096]), i(&[tokens])], "indexSelect", 3);
        for _ in 0..4 {
            r.kernel("void vllm::fused_add_rms_norm_kernel<c10::Half>", 3);
            r.linear(tokens, 4096, 6144, kernel, tokens / 10 + 10);
            r.kernel("void vllm::reshape_and_cache_kernel<unsigned short>", 2);
            if phase == Prefill {
                r.kernel("void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>", tokens / 20);
            } else {
                r.kernel("void vllm::paged_attention_v2_kernel<unsigned short, 128, 16>", 30);
                r.kernel("void vllm::paged_attention_v2_reduce_kernel<unsigned short, 128>", 4);
            }
            r.linear(tokens, 4096, 4096, kernel, tokens / 10 + 10);
            r.linear(tokens, 4096, 28_672, kernel, tokens / 5 + 30);
            r.linear(tokens, 14_336, 4096, kernel, tokens / 10 + 20);
        }
        if phase == Prefill {
            r.op("aten::index", &[t(&[tokens, 4096]), i(&[requests])], "index", 3);
        }
        r.linear(requests, 4096, 32_000, kernel, 60);
        r.op("aten::log_softmax", &[t(&[requests, 32_000]), n(-1)], "softmax", 5);
        r.op("aten::argmax", &[t(&[requests, 32_000]), n(-1)], "reduce_kernel", 5);
    });
}

/// A compiled engine: no operators, kernels and graphs only.
fn tensorrt(r: &mut Recorder, phase: Phase, is_replayed: bool) {
    let attention = if phase == Prefill {
        ("fmha_v2_flash_attention_bf16_64_128_S_qkv_128_causal_tma_ws_sm90_kernel", 400)
    } else {
        ("void tensorrt_llm::kernels::mmha::masked_multihead_attention_kernel<__nv_bfloat16>", 30)
    };
    let gemm = ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", 300);
    let all: Vec<_> = (0..6).flat_map(|_| [gemm, attention, gemm]).collect();
    r.step(phase, "executeContext", |r| {
        if is_replayed {
            r.graph(&all);
        } else {
            all.iter().for_each(|&(kernel, time)| r.kernel(kernel, time));
        }
        r.kernel("void tensorrt_llm::kernels::topKStage1<float>", 5);
        r.kernel("Memcpy DtoH (Device -> Pinned)", 2);
    });
}

/// PyTorch's compiled model: prompts compiled without graphs, decode in one graph.
fn compiled(r: &mut Recorder) {
    for turn in 0..2 {
        r.step(Prefill, "prefill", |r| {
            r.range("Torch-Compiled Region: 0/0", |r| {
                r.kernel("triton_poi_fused_embedding_0", 3);
                for _ in 0..4 {
                    r.op(
                        "aten::mm",
                        &[t(&[300 + turn, HIDDEN]), t(&[HIDDEN, 6144])],
                        "ampere_bf16_s16816gemm",
                        100,
                    );
                    let query = t(&[1, 16, 300 + turn, 128]);
                    r.op(
                        "aten::_scaled_dot_product_efficient_attention",
                        &[query.clone(), query.clone(), query],
                        "fmha_cutlassF_bf16_aligned_64x128_rf_sm80",
                        60,
                    );
                    r.op(
                        "aten::mm",
                        &[t(&[300 + turn, HIDDEN]), t(&[HIDDEN, HIDDEN])],
                        "ampere_bf16_s16816gemm",
                        60,
                    );
                }
                r.op("aten::mm", &[t(&[1, HIDDEN]), t(&[HIDDEN, VOCABULARY])], "ampere_bf16_s16816gemm", 80);
            });
            r.op("aten::argmax", &[t(&[1, VOCABULARY]), n(-1)], "reduce_kernel", 5);
        });
        for _ in 0..10 {
            r.step(Decode, "decode", |r| {
                r.range("Torch-Compiled Region: 1/0", |r| {
                    r.graph(&[
                        ("triton_red_fused_mm_0", 80),
                        ("fmha_cutlassF", 20),
                        ("triton_red_fused_mm_1", 80),
                    ]);
                });
                r.op("aten::argmax", &[t(&[1, VOCABULARY]), n(-1)], "reduce_kernel", 5);
            });
        }
    }
}

const CASES: &[Case] = &[
    right("transformers, logits of the last token", |r| {
        transformers(r, Prefill, 4, 300, 300, true);
        (0..6).for_each(|at| transformers(r, Decode, 4, 1, 301 + at, true));
    }),
    right("transformers, logits of all tokens", |r| {
        transformers(r, Prefill, 4, 300, 300, false);
        (0..6).for_each(|at| transformers(r, Decode, 4, 1, 301 + at, false));
    }),
    right("transformers, a large batch of decode", |r| {
        (0..6).for_each(|at| transformers(r, Decode, 64, 1, 301 + at, true));
    }),
    right("transformers, two prompts", |r| {
        for _ in 0..2 {
            transformers(r, Prefill, 2, 40, 40, true);
            (0..3).for_each(|at| transformers(r, Decode, 2, 1, 41 + at, true));
        }
    }),
    right("TGI", |r| {
        tgi(r, Prefill, 2500, 5);
        (0..5).for_each(|_| tgi(r, Decode, 30, 30));
        tgi(r, Prefill, 400, 1);
        (0..5).for_each(|_| tgi(r, Decode, 31, 31));
    }),
    right("TensorRT-LLM, prompts launched and decode replayed", |r| {
        tensorrt(r, Prefill, false);
        (0..5).for_each(|_| tensorrt(r, Decode, true));
    }),
    right("TensorRT-LLM, all launched", |r| {
        tensorrt(r, Prefill, false);
        (0..5).for_each(|_| tensorrt(r, Decode, false));
        tensorrt(r, Prefill, false);
    }),
    right("a compiled model", compiled),
];

#[test]
fn frameworks_are_told_apart() {
    check(CASES, false);
}
