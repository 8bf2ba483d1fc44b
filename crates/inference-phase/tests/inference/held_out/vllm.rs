//! vLLM: eager, graphs in pieces, whole graphs; dense models and experts; parallel ranks.

use crate::held_out::cases::{Blind, Case, check, right};
use crate::held_out::recorder::{Recorder, i, n, t};
use inference_phase::Phase::{self, Decode, Mixed, Prefill};

/// Widths of a model on one rank.
#[derive(Clone, Copy)]
struct Model {
    layers: i64,
    hidden: i64,
    heads: i64,
    key_heads: i64,
    width: i64,
    feed_forward: i64,
    vocabulary: i64,
}

const QWEN3_8B: Model = Model {
    layers: 6,
    hidden: 4096,
    heads: 32,
    key_heads: 8,
    width: 128,
    feed_forward: 12_288,
    vocabulary: 151_936,
};
/// The projection of its feed-forward layers, 57344 wide, is wider than its vocabulary.
const LLAMA2_70B: Model = Model {
    layers: 6,
    hidden: 8192,
    heads: 64,
    key_heads: 8,
    width: 128,
    feed_forward: 28_672,
    vocabulary: 32_000,
};
const LLAMA3_70B_OF_8: Model = Model {
    layers: 6,
    hidden: 8192,
    heads: 8,
    key_heads: 1,
    width: 128,
    feed_forward: 3584,
    vocabulary: 16_032,
};

/// Its share of the vocabulary is as wide as its activations, and its activations times 32 are another vocabulary.
const MISTRAL_7B_OF_8: Model = Model {
    layers: 6,
    hidden: 4096,
    heads: 4,
    key_heads: 1,
    width: 128,
    feed_forward: 1792,
    vocabulary: 4096,
};
/// The width of its activations is a power of two that divides its vocabulary.
const TEKKEN_8B: Model = Model { vocabulary: 131_072, feed_forward: 14_336, ..QWEN3_8B };

const NVJET: &str = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT";

/// How a step is executed.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Eager,
    /// Graphs between attentions, of this many tokens with padding.
    Pieces(i64),
    /// One graph, of this many tokens with padding.
    Whole(i64),
}

/// What a step has to do.
#[derive(Clone, Copy)]
struct Work {
    context: [i64; 2],
    generation: [i64; 2],
}

const fn prompts(requests: i64, tokens: i64) -> Work {
    Work { context: [requests, tokens], generation: [0, 0] }
}

const fn decodes(requests: i64) -> Work {
    Work { context: [0, 0], generation: [requests, requests] }
}

impl Work {
    fn tokens(self) -> i64 {
        self.context[1] + self.generation[1]
    }

    fn requests(self) -> i64 {
        self.context[0] + self.generation[0]
    }

    fn phase(self) -> Phase {
        match (self.context[0] > 0, self.generation[0] > 0) {
            (true, true) => Mixed,
            (true, false) => Prefill,
            _ => Decode,
        }
    }

    fn annotation(self) -> String {
        let ([cr, ct], [gr, gt]) = (self.context, self.generation);
        format!("execute_context_{cr}({ct})_generation_{gr}({gt})")
    }
}

/// Microseconds of a product of so many rows.
fn product(rows: i64, inner: i64, outer: i64) -> i64 {
    (inner * outer / 4_000_000).max(rows * inner * outer / 300_000_000).max(3)
}

fn inputs(r: &mut Recorder, work: Work) {
    let (tokens, requests) = (work.tokens(), work.requests());
    for _ in 0..3 {
        r.op("aten::copy_", &[i(&[tokens]), i(&[tokens]), n(1)], "Memcpy HtoD (Pinned -> Device)", 1);
    }
    r.op("aten::copy_", &[i(&[requests + 1]), i(&[requests + 1]), n(1)], "Memcpy HtoD (Pinned -> Device)", 1);
    r.op(
        "aten::copy_",
        &[i(&[requests, 2248]), i(&[requests, 2248]), n(1)],
        "Memcpy HtoD (Pinned -> Device)",
        2,
    );
    r.op(
        "aten::index_select",
        &[i(&[2_301_952]), n(0), i(&[tokens])],
        "void at::native::indexSelectSmallIndex",
        2,
    );
}

fn attention(r: &mut Recorder, model: Model, tokens: i64, time: i64) {
    let query = t(&[tokens, model.heads, model.width]);
    let key = t(&[tokens, model.key_heads, model.width]);
    r.call("vllm::unified_attention_with_output", &[query.clone(), key.clone(), key.clone(), query], |r| {
        let cache = t(&[50_000, 16, model.key_heads, model.width]);
        r.op(
            "_C_cache_ops::reshape_and_cache_flash",
            &[key.clone(), key, cache.clone(), cache, i(&[tokens])],
            "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>",
            3,
        );
        r.kernel("kernel_unified_attention_2d", time);
    });
}

fn attention_time(work: Work) -> i64 {
    work.context[1] * work.context[1] / 200_000 + work.generation[1] + 5
}

fn eager_layers(r: &mut Recorder, model: Model, work: Work) {
    let (rows, hidden) = (work.tokens(), model.hidden);
    let Model { heads, key_heads, width, feed_forward, .. } = model;
    for _ in 0..model.layers {
        r.op(
            "_C::fused_add_rms_norm",
            &[t(&[rows, hidden]), t(&[rows, hidden]), t(&[hidden]), n(0)],
            "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>",
            rows / 100 + 2,
        );
        let qkv = (heads + 2 * key_heads) * width;
        r.linear(rows, hidden, qkv, NVJET, product(rows, hidden, qkv));
        r.op(
            "_C::rotary_embedding",
            &[
                i(&[rows]),
                t(&[rows, heads * width]),
                t(&[rows, key_heads * width]),
                n(128),
                t(&[40_960, 128]),
            ],
            "void vllm::rotary_embedding_kernel<c10::BFloat16, true>",
            rows / 300 + 2,
        );
        attention(r, model, rows, attention_time(work));
        r.linear(rows, heads * width, hidden, NVJET, product(rows, heads * width, hidden));
        r.linear(rows, hidden, 2 * feed_forward, NVJET, product(rows, hidden, 2 * feed_forward));
        r.op(
            "_C::silu_and_mul",
            &[t(&[rows, feed_forward]), t(&[rows, 2 * feed_forward])],
            "void vllm::act_and_mul_kernel<c10::BFloat16>",
            rows / 100 + 2,
        );
        r.linear(rows, feed_forward, hidden, NVJET, product(rows, feed_forward, hidden));
    }
}

/// The rows that need logits, the head and the choice of tokens.
fn head(r: &mut Recorder, model: Model, padded: i64, rows: i64) {
    let Model { hidden, vocabulary, .. } = model;
    r.op(
        "aten::index",
        &[t(&[padded, hidden]), i(&[rows])],
        "void at::native::vectorized_gather_kernel<16, long>",
        3,
    );
    r.linear(rows, hidden, vocabulary, NVJET, product(rows, hidden, vocabulary));
}

fn sample(r: &mut Recorder, vocabulary: i64, rows: i64) {
    let logits = t(&[rows, vocabulary]);
    r.call("aten::to", &[logits.clone(), n(6)], |r| {
        r.op(
            "aten::copy_",
            &[logits.clone(), logits.clone(), n(0)],
            "vectorized_elementwise_kernel<4, bfloat16tofloat32>",
            rows / 8 + 2,
        );
    });
    r.op(
        "aten::div_",
        &[logits.clone(), t(&[rows, 1])],
        "vectorized_elementwise_kernel<4, div>",
        rows / 8 + 2,
    );
    r.op(
        "aten::sort",
        &[logits.clone(), n(-1), n(0)],
        "at_cuda_detail::cub::DeviceSegmentedRadixSortKernel",
        rows + 20,
    );
    r.op("aten::softmax", &[logits.clone(), n(-1), n(6)], "void cunn_SoftMaxForward<4>", rows / 4 + 3);
    r.op(
        "aten::exponential_",
        &[logits.clone(), n(1)],
        "distribution_elementwise_grid_stride_kernel",
        rows / 8 + 2,
    );
    r.op(
        "aten::argmax",
        &[logits, n(-1), n(0)],
        "void at::native::reduce_kernel<512, 1, ArgMaxOps>",
        rows / 8 + 5,
    );
    r.op("aten::copy_", &[i(&[rows, 1]), i(&[rows, 1]), n(1)], "Memcpy DtoH (Device -> Pinned)", 1);
}

fn piece(model: Model, rows: i64) -> [(&'static str, i64); 4] {
    [
        (NVJET, product(rows, model.hidden, model.feed_forward)),
        ("triton_poi_fused_mul_silu_0", rows / 100 + 1),
        (NVJET, product(rows, model.feed_forward, model.hidden)),
        ("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_1", rows / 100 + 1),
    ]
}

fn whole(model: Model, rows: i64) -> Vec<(&'static str, i64)> {
    let layer = piece(model, rows).into_iter().chain([
        ("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>", 2),
        ("void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>", 8),
    ]);
    std::iter::repeat_n(layer, model.layers as usize).flatten().collect()
}

/// A step of the engine as the runner of the second version executes it.
fn step(r: &mut Recorder, model: Model, kind: Kind, work: Work) {
    r.step(work.phase(), &work.annotation(), |r| {
        r.frame("vllm/v1/worker/gpu_model_runner.py(2511): execute_model", |r| {
            inputs(r, work);
            let padded = match kind {
                Kind::Eager => {
                    embedding(r, model, work.tokens());
                    eager_layers(r, model, work);
                    work.tokens()
                }
                Kind::Pieces(padded) => {
                    r.graph(&[("triton_poi_fused_embedding_0", 3)]);
                    for _ in 0..model.layers {
                        attention(r, model, padded, attention_time(work));
                        r.graph(&piece(model, padded));
                    }
                    padded
                }
                Kind::Whole(padded) => {
                    r.graph(&whole(model, padded));
                    padded
                }
            };
            head(r, model, padded, work.requests());
        });
        r.frame("vllm/v1/worker/gpu_model_runner.py(2760): sample_tokens", |r| {
            sample(r, model.vocabulary, work.requests());
        });
    });
}

fn embedding(r: &mut Recorder, model: Model, tokens: i64) {
    r.call("aten::embedding", &[t(&[model.vocabulary, model.hidden]), i(&[tokens])], |r| {
        r.op(
            "aten::index_select",
            &[t(&[model.vocabulary, model.hidden]), n(0), i(&[tokens])],
            "void at::native::indexSelectLargeIndex",
            tokens / 100 + 2,
        );
    });
}

fn eager(r: &mut Recorder, model: Model, work: Work) {
    step(r, model, Kind::Eager, work);
}

fn several(r: &mut Recorder, times: usize, mut one: impl FnMut(&mut Recorder)) {
    for _ in 0..times {
        one(r);
    }
}

const CASES: &[Case] = &[
    right("a prompt of 888 tokens, eager", |r| eager(r, QWEN3_8B, prompts(1, 888))),
    right("decode of one request, eager", |r| several(r, 3, |r| eager(r, QWEN3_8B, decodes(1)))),
    right("prompt, then decode of one request, eager", |r| {
        eager(r, QWEN3_8B, prompts(1, 888));
        several(r, 10, |r| eager(r, QWEN3_8B, decodes(1)));
    }),
    right("prompts among decode of a large batch, eager", |r| {
        eager(r, QWEN3_8B, prompts(16, 8192));
        several(r, 5, |r| eager(r, QWEN3_8B, decodes(256)));
        eager(r, QWEN3_8B, prompts(3, 700));
        several(r, 5, |r| eager(r, QWEN3_8B, decodes(259)));
    }),
    right("a chunk of 2048 beside 31 requests", |r| {
        let mixed = Work { context: [1, 2017], generation: [31, 31] };
        step(r, QWEN3_8B, Kind::Pieces(2048), mixed);
        several(r, 20, |r| step(r, QWEN3_8B, Kind::Whole(32), decodes(32)));
    }),
    right("a short prompt beside many requests, eager", |r| {
        eager(r, QWEN3_8B, Work { context: [1, 700], generation: [255, 255] });
        several(r, 5, |r| eager(r, QWEN3_8B, decodes(256)));
    }),
    right("feed-forward wider than the vocabulary", |r| {
        eager(r, LLAMA2_70B, prompts(2, 1500));
        several(r, 5, |r| eager(r, LLAMA2_70B, decodes(64)));
    }),
    right("feed-forward wider than the vocabulary, decode alone", |r| {
        several(r, 5, |r| eager(r, LLAMA2_70B, decodes(64)));
    }),
    right("feed-forward wider than the vocabulary, prompts alone", |r| {
        several(r, 2, |r| eager(r, LLAMA2_70B, prompts(2, 1500)));
    }),
    right("a vocabulary that layers' widths divide", |r| {
        eager(r, TEKKEN_8B, prompts(4, 6000));
        several(r, 5, |r| eager(r, TEKKEN_8B, decodes(48)));
        eager(r, TEKKEN_8B, prompts(48, 6000));
    }),
    right("a share of the vocabulary as wide as activations", |r| {
        let mut step = |work: Work| {
            r.step(work.phase(), &work.annotation(), |r| {
                r.frame("vllm/v1/worker/gpu_model_runner.py(2511): execute_model", |r| {
                    inputs(r, work);
                    embedding(r, MISTRAL_7B_OF_8, work.tokens());
                    eager_layers(r, MISTRAL_7B_OF_8, work);
                    head(r, MISTRAL_7B_OF_8, work.tokens(), work.requests());
                    r.op(
                        "vllm::all_gather",
                        &[t(&[work.requests(), 4096])],
                        "ncclDevKernel_AllGather_RING_LL",
                        15,
                    );
                    sample(r, 32_768, work.requests());
                });
            });
        };
        step(prompts(4, 6000));
        (0..5).for_each(|_| step(decodes(48)));
        step(prompts(2, 300));
    }),
    right("one rank of eight", |r| {
        eager(r, LLAMA3_70B_OF_8, prompts(4, 6000));
        several(r, 5, |r| eager(r, LLAMA3_70B_OF_8, decodes(100)));
    }),
    right("whole graphs after eager prompts", |r| {
        eager(r, QWEN3_8B, prompts(4, 6000));
        several(r, 20, |r| step(r, QWEN3_8B, Kind::Whole(104), decodes(100)));
    }),
    right("whole graphs alone", |r| several(r, 3, |r| step(r, QWEN3_8B, Kind::Whole(32), decodes(32)))),
    right("pieces alone in decode", |r| several(r, 3, |r| step(r, QWEN3_8B, Kind::Pieces(40), decodes(33)))),
    right("pieces for prompts and decode", |r| {
        step(r, QWEN3_8B, Kind::Pieces(512), prompts(2, 505));
        several(r, 6, |r| step(r, QWEN3_8B, Kind::Pieces(8), decodes(7)));
        step(r, QWEN3_8B, Kind::Pieces(512), Work { context: [1, 480], generation: [6, 6] });
    }),
    right("eight drafted tokens are verified per request", |r| {
        // The logits of every drafted token are needed.
        let verify = Work { context: [0, 0], generation: [16, 144] };
        several(r, 4, |r| {
            r.step(Decode, &verify.annotation(), |r| {
                r.frame("vllm/v1/worker/gpu_model_runner.py(2511): execute_model", |r| {
                    inputs(r, verify);
                    embedding(r, QWEN3_8B, 144);
                    eager_layers(r, QWEN3_8B, verify);
                    head(r, QWEN3_8B, 144, 144);
                    sample(r, QWEN3_8B.vocabulary, 144);
                });
            });
        });
    }),
    Case {
        name: "a prompt of seven tokens",
        record: |r| eager(r, QWEN3_8B, prompts(1, 7)),
        framed: Blind::Undecidable("seven tokens could be drafted ones of one request"),
        bare: Blind::Undecidable("seven tokens could be drafted ones of one request"),
    },
    Case {
        name: "a rank of a pipeline that has no head",
        record: |r| {
            let mut rank = |work: Work| {
                r.step(work.phase(), &work.annotation(), |r| {
                    r.frame("vllm/v1/worker/gpu_model_runner.py(2511): execute_model", |r| {
                        inputs(r, work);
                        embedding(r, QWEN3_8B, work.tokens());
                        eager_layers(r, QWEN3_8B, work);
                        r.op("c10d::send", &[t(&[work.tokens(), 4096])], "ncclDevKernel_SendRecv", 20);
                    });
                });
            };
            rank(prompts(3, 4000));
            (0..4).for_each(|_| rank(decodes(32)));
        },
        framed: Blind::Undecidable("no logits are computed on this rank"),
        bare: Blind::Undecidable("no logits are computed on this rank"),
    },
];

#[test]
fn vllm_steps_are_found() {
    check(CASES, true);
}
