//! SGLang: prompts without graphs, decode by whole graphs with the head inside.

use crate::held_out::cases::{Blind, Case, check, right};
use crate::held_out::recorder::{Recorder, i, n, t};
use inference_phase::Phase::{self, Decode, Mixed, Prefill};

const HIDDEN: i64 = 4096;
const VOCABULARY: i64 = 151_936;
const TENSILE: &str =
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB1_ULSGRO0_USL1_UIOFGRO0";
const PAGED: &str = "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, __hip_bfloat16>";

fn run(r: &mut Recorder, phase: Phase, text: &str, inside: impl FnOnce(&mut Recorder)) {
    r.frame("sglang/srt/managers/scheduler.py(2103): run_batch", |r| r.step(phase, text, inside));
}

/// The layers as the AMD kernels leave them: `requests` of `tokens` in all.
fn layers(r: &mut Recorder, tokens: i64, requests: i64, time: i64) {
    for _ in 0..6 {
        r.op(
            "aiter::rmsnorm",
            &[t(&[tokens, HIDDEN]), t(&[HIDDEN]), n(0)],
            "_ZN5aiter24add_rmsnorm_quant_kernel",
            time / 20 + 1,
        );
        r.op("aten::mm", &[t(&[tokens, HIDDEN]), t(&[HIDDEN, 6144])], TENSILE, time);
        r.op(
            "sgl_kernel::rotary_embedding",
            &[i(&[tokens]), t(&[tokens, HIDDEN]), t(&[tokens, 1024])],
            "rotary_embedding_kernel",
            time / 30 + 1,
        );
        r.op("aten::view", &[t(&[tokens, HIDDEN])], "store_kvcache<2048l, 4>", time / 100 + 1);
        r.op(
            "aiter::mha_batch_prefill",
            &[t(&[tokens, 32, 128]), t(&[400_000, 8, 128]), t(&[400_000, 8, 128]), i(&[requests + 1])],
            "_ZN7ck_tile6kentryI29FmhaBatchPrefillWithPagedKVCacheKernel",
            time / 4 + 1,
        );
        r.op("aten::mm", &[t(&[tokens, HIDDEN]), t(&[HIDDEN, HIDDEN])], TENSILE, time);
        r.op(
            "aiter::rmsnorm",
            &[t(&[tokens, HIDDEN]), t(&[HIDDEN]), n(0)],
            "_ZN5aiter24add_rmsnorm_quant_kernel",
            time / 20 + 1,
        );
        r.op("aten::mm", &[t(&[tokens, HIDDEN]), t(&[HIDDEN, 24_576])], TENSILE, 4 * time);
        r.op(
            "sgl_kernel::silu_and_mul",
            &[t(&[tokens, 12_288]), t(&[tokens, 24_576])],
            "act_and_mul_kernel",
            time / 10 + 1,
        );
        r.op("aten::mm", &[t(&[tokens, 12_288]), t(&[12_288, HIDDEN])], TENSILE, 2 * time);
    }
}

fn head(r: &mut Recorder, tokens: i64, requests: i64) {
    r.op("aten::index", &[t(&[tokens, HIDDEN]), i(&[requests])], "vectorized_gather_kernel", 3);
    r.op("aten::mm", &[t(&[requests, HIDDEN]), t(&[HIDDEN, VOCABULARY])], TENSILE, 300);
}

fn choose(r: &mut Recorder, requests: i64) {
    r.op("aten::argmax", &[t(&[requests, VOCABULARY]), n(-1), n(0)], "reduce_kernel<512, 1, ArgMaxOps>", 50);
}

fn extend(r: &mut Recorder, tokens: i64, requests: i64) {
    run(r, Prefill, &format!("step[EXTEND bs={requests} toks={tokens}]"), |r| {
        r.frame("sglang/srt/model_executor/model_runner.py(1500): forward_extend", |r| {
            r.op("aten::embedding", &[t(&[VOCABULARY, HIDDEN]), i(&[tokens])], "indexSelectLargeIndex", 10);
            layers(r, tokens, requests, tokens / 20 + 5);
            head(r, tokens, requests);
        });
        choose(r, requests);
        r.op("aten::copy_", &[i(&[requests]), i(&[requests]), n(1)], "Memcpy DtoH (Device -> Pinned)", 2);
    });
}

/// What precedes the replay of a graph: the inputs are copied into the graph's buffers.
fn buffers(r: &mut Recorder, requests: i64) {
    r.op("aten::_foreach_copy_", &[t(&[]), t(&[])], "multi_tensor_apply_kernel", 5);
    r.op("aten::cumsum", &[i(&[requests]), n(0)], "DeviceScanKernel", 5);
    r.kernel("create_flashinfer_kv_indices_triton", 5);
}

fn decode(r: &mut Recorder, requests: i64) {
    run(r, Decode, &format!("step[DECODE bs={requests}]"), |r| {
        r.frame("sglang/srt/model_executor/cuda_graph_runner.py(800): replay", |r| {
            buffers(r, requests);
            let layer = [(TENSILE, 30), (PAGED, 50), (TENSILE, 20), ("act_and_mul_kernel", 3), (TENSILE, 30)];
            let all: Vec<_> = std::iter::repeat_n(layer, 6).flatten().chain([(TENSILE, 300)]).collect();
            r.graph(&all);
        });
        choose(r, requests);
        r.op("aten::neg", &[i(&[requests])], "neg_kernel_cuda", 2);
        r.kernel("resolve_future_token_ids_kernel<long>", 2);
    });
}

/// Without graphs every kernel of decode is launched on its own.
fn eager_decode(r: &mut Recorder, requests: i64) {
    run(r, Decode, &format!("step[DECODE bs={requests}]"), |r| {
        r.frame("sglang/srt/model_executor/model_runner.py(1480): forward_decode", |r| {
            r.op("aten::embedding", &[t(&[VOCABULARY, HIDDEN]), i(&[requests])], "indexSelectSmallIndex", 2);
            for _ in 0..6 {
                r.op(
                    "aiter::rmsnorm",
                    &[t(&[requests, HIDDEN]), t(&[HIDDEN]), n(0)],
                    "add_rmsnorm_quant_kernel",
                    3,
                );
                r.op("aten::mm", &[t(&[requests, HIDDEN]), t(&[HIDDEN, 6144])], TENSILE, 15);
                let query = t(&[requests, 32, 128]);
                r.op("aiter::paged_attention_ragged", &[query.clone(), t(&[80_000_000]), query], PAGED, 50);
                r.op("aten::mm", &[t(&[requests, HIDDEN]), t(&[HIDDEN, 24_576])], TENSILE, 50);
                r.op("aten::mm", &[t(&[requests, 12_288]), t(&[12_288, HIDDEN])], TENSILE, 30);
            }
            head(r, requests, requests);
        });
        choose(r, requests);
    });
}

/// The draft model runs several times, then the model verifies what it drafted, then the draft model catches up.
fn speculative(r: &mut Recorder, requests: i64) {
    run(r, Decode, &format!("step[TARGET_VERIFY bs={requests} toks={}]", requests * 4), |r| {
        buffers(r, requests);
        let layer = [(TENSILE, 30), ("flash_fwd_splitkv_kernel", 50), (TENSILE, 30)];
        r.graph(&layer);
        r.op("aten::topk", &[t(&[requests, VOCABULARY]), n(4)], "gatherTopK", 20);
        buffers(r, requests * 4);
        r.graph(&std::iter::repeat_n(layer, 6).flatten().collect::<Vec<_>>());
        r.op("aten::argmax", &[t(&[requests * 4, VOCABULARY]), n(-1)], "reduce_kernel", 50);
        r.op("aten::index", &[t(&[requests * 4, HIDDEN]), i(&[requests * 3])], "vectorized_gather_kernel", 3);
        r.graph(&layer);
        r.op("aten::topk", &[t(&[requests, VOCABULARY]), n(4)], "gatherTopK", 20);
    });
}

/// Ranks that share the experts gather the tokens of all of them for the feed-forward layers only.
fn shared_experts(r: &mut Recorder, phase: Phase, own: i64, all: i64, requests: i64) {
    let mode = if phase == Decode { "DECODE" } else { "EXTEND" };
    run(r, phase, &format!("step[{mode} bs={requests} toks={own}]"), |r| {
        r.op("aten::embedding", &[t(&[VOCABULARY, HIDDEN]), i(&[own])], "indexSelectSmallIndex", 2);
        for _ in 0..4 {
            r.op(
                "sgl_kernel::fused_add_rmsnorm",
                &[t(&[own, HIDDEN]), t(&[own, HIDDEN]), t(&[HIDDEN])],
                "FusedAddRMSNormKernel",
                3,
            );
            r.op("aten::mm", &[t(&[own, HIDDEN]), t(&[HIDDEN, 6144])], "nvjet_tst_64x8_64x16", 20);
            r.op(
                "sgl_kernel::fwd",
                &[t(&[own, 32, 128]), t(&[9000, 64, 8, 128]), t(&[9000, 64, 8, 128]), i(&[requests + 1])],
                "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<>>>",
                20,
            );
            r.op("aten::mm", &[t(&[own, HIDDEN]), t(&[HIDDEN, HIDDEN])], "nvjet_tst_64x8_64x16", 15);
            r.op(
                "c10d::_allgather_base_",
                &[t(&[all, HIDDEN]), t(&[own, HIDDEN])],
                "ncclDevKernel_AllGather_RING_LL",
                30,
            );
            r.op("aten::mm", &[t(&[all, HIDDEN]), t(&[HIDDEN, 256])], "nvjet_tst_64x8_64x16", 5);
            r.op(
                "sglang::inplace_fused_experts",
                &[t(&[all, HIDDEN]), t(&[32, 3072, HIDDEN])],
                "fused_moe_kernel",
                200,
            );
            r.op(
                "c10d::_reduce_scatter_base_",
                &[t(&[own, HIDDEN]), t(&[all, HIDDEN])],
                "ncclDevKernel_ReduceScatter",
                30,
            );
        }
        head(r, own, requests);
        choose(r, requests);
    });
}

const CASES: &[Case] = &[
    right("prompts of 15360 tokens", |r| extend(r, 15_360, 15)),
    right("prompts, then three decodes", |r| {
        extend(r, 15_360, 15);
        (0..3).for_each(|_| decode(r, 32));
    }),
    right("prompts, then twenty decodes", |r| {
        extend(r, 15_360, 15);
        (0..20).for_each(|_| decode(r, 32));
    }),
    right("prompts and decodes in turn", |r| {
        for turn in 0..6 {
            extend(r, 600 + 40 * turn, 1);
            decode(r, 8 + turn);
        }
    }),
    right("decodes, then prompts", |r| {
        (0..5).for_each(|_| decode(r, 32));
        extend(r, 4000, 2);
        (0..5).for_each(|_| decode(r, 34));
    }),
    right("two prompts, one after the other", |r| {
        extend(r, 8192, 3);
        extend(r, 8192, 4);
        decode(r, 7);
    }),
    right("decode without graphs", |r| {
        extend(r, 900, 1);
        (0..8).for_each(|_| eager_decode(r, 48));
    }),
    right("decode of one request without graphs", |r| (0..8).for_each(|_| eager_decode(r, 1))),
    right("drafted tokens", |r| {
        extend(r, 3000, 4);
        (0..6).for_each(|_| speculative(r, 4));
    }),
    right("drafted tokens alone", |r| (0..6).for_each(|_| speculative(r, 4))),
    right("chunks beside requests", |r| {
        for _ in 0..2 {
            run(r, Mixed, "step[MIXED bs=20 toks=2067]", |r| {
                r.frame("sglang/srt/model_executor/model_runner.py(1500): forward_extend", |r| {
                    r.op(
                        "aten::embedding",
                        &[t(&[VOCABULARY, HIDDEN]), i(&[2067])],
                        "indexSelectLargeIndex",
                        10,
                    );
                    layers(r, 2067, 20, 100);
                    head(r, 2067, 20);
                });
                choose(r, 20);
            });
            (0..4).for_each(|_| decode(r, 20));
        }
    }),
    right("decode of ranks that gather the tokens of all for the experts", |r| {
        shared_experts(r, Prefill, 4096, 32_768, 2);
        (0..4).for_each(|_| shared_experts(r, Decode, 8, 128, 8));
    }),
    right("decode alone of ranks that gather the tokens of all for the experts", |r| {
        (0..4).for_each(|_| shared_experts(r, Decode, 8, 128, 8));
    }),
    Case {
        name: "a chunk in the middle of a prompt, then its last",
        record: |r| {
            run(r, Prefill, "step[EXTEND bs=1 toks=8192]", |r| {
                r.frame("sglang/srt/model_executor/model_runner.py(1500): forward_extend", |r| {
                    r.op(
                        "aten::embedding",
                        &[t(&[VOCABULARY, HIDDEN]), i(&[8192])],
                        "indexSelectLargeIndex",
                        10,
                    );
                    layers(r, 8192, 1, 500);
                    head(r, 8192, 1);
                });
            });
            extend(r, 100, 1);
            (0..3).for_each(|_| decode(r, 1));
        },
        framed: Blind::Right,
        bare: Blind::Right,
    },
];

#[test]
fn sglang_steps_are_found() {
    check(CASES, true);
}
