//! Models and set-ups that engines treat differently: low precision, experts, latent attention, images, adapters,
//! penalties, drafts, and traces without shapes.

use crate::held_out::cases::{Blind, Case, check, right};
use crate::held_out::recorder::{Recorder, i, n, t};
use inference_phase::Phase::{self, Decode, Prefill};

const HIDDEN: i64 = 4096;
const VOCABULARY: i64 = 129_280;

/// One step of `tokens` of which `rows` get logits; `layer` is called four times.
struct Pass {
    phase: Phase,
    tokens: i64,
    rows: i64,
}

fn pass(phase: Phase, tokens: i64, rows: i64) -> Pass {
    Pass { phase, tokens, rows }
}

impl Pass {
    fn annotation(&self) -> String {
        match self.phase {
            Prefill => format!("execute_context_{}({})_generation_0(0)", self.rows, self.tokens),
            _ => format!("execute_context_0(0)_generation_{}({})", self.rows, self.tokens),
        }
    }

    fn around(&self, r: &mut Recorder, inside: impl FnOnce(&mut Recorder)) {
        r.step(self.phase, &self.annotation(), |r| {
            r.frame("vllm/v1/worker/gpu_model_runner.py(2511): execute_model", inside);
        });
    }

    fn embed(&self, r: &mut Recorder) {
        r.op("aten::embedding", &[t(&[VOCABULARY, HIDDEN]), i(&[self.tokens])], "indexSelectLargeIndex", 5);
    }

    fn attend(&self, r: &mut Recorder) {
        let query = t(&[self.tokens, 32, 128]);
        r.op(
            "vllm::unified_attention_with_output",
            &[query.clone(), query.clone(), query.clone(), query],
            "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<>>>",
            self.tokens / 20 + 10,
        );
    }

    fn mm(&self, r: &mut Recorder, inner: i64, outer: i64) {
        r.linear(self.tokens, inner, outer, "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", self.tokens / 8 + 20);
    }

    fn head(&self, r: &mut Recorder) {
        r.op("aten::index", &[t(&[self.tokens, HIDDEN]), i(&[self.rows])], "vectorized_gather_kernel", 3);
        r.linear(self.rows, HIDDEN, VOCABULARY, "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", 150 + self.rows);
    }

    fn choose(&self, r: &mut Recorder) {
        r.op(
            "aten::argmax",
            &[t(&[self.rows, VOCABULARY]), n(-1), n(0)],
            "reduce_kernel<512, 1, ArgMaxOps>",
            20,
        );
    }

    fn whole(&self, r: &mut Recorder, layer: impl Fn(&Pass, &mut Recorder)) {
        self.around(r, |r| {
            self.embed(r);
            (0..4).for_each(|_| layer(self, r));
            self.head(r);
            self.choose(r);
        });
    }
}

/// Prompts, then decodes of this batch, of a model with this layer.
fn serve(r: &mut Recorder, batch: i64, layer: impl Fn(&Pass, &mut Recorder)) {
    pass(Prefill, 3000, 3).whole(r, &layer);
    (0..4).for_each(|_| pass(Decode, batch, batch).whole(r, &layer));
}

/// Only the head is a product that the framework knows.
fn scaled(pass: &Pass, r: &mut Recorder) {
    let rows = pass.tokens;
    for (inner, outer) in [(HIDDEN, 6144), (HIDDEN, HIDDEN), (HIDDEN, 28_672), (14_336, HIDDEN)] {
        r.op(
            "_C::dynamic_per_token_scaled_fp8_quant",
            &[t(&[rows, inner]), t(&[rows, inner]), t(&[rows, 1])],
            "dynamic_per_token_scaled_fp8_quant_kernel",
            3,
        );
        r.op(
            "_C::cutlass_scaled_mm",
            &[t(&[rows, outer]), t(&[rows, inner]), t(&[inner, outer]), t(&[rows, 1]), t(&[outer, 1])],
            "void cutlass::device_kernel<vllm::sm90_fp8_gemm>",
            rows / 10 + 15,
        );
        if outer == 6144 {
            pass.attend(r);
        }
    }
}

/// Quantized weights whose products say their rows as numbers; no norm says more.
fn marlin(pass: &Pass, r: &mut Recorder) {
    let rows = pass.tokens;
    for (inner, outer) in [(HIDDEN, 6144), (HIDDEN, HIDDEN), (HIDDEN, 28_672), (14_336, HIDDEN)] {
        r.op(
            "_C::gptq_marlin_gemm",
            &[
                t(&[rows, inner]),
                t(&[]),
                i(&[inner / 16, outer * 2]),
                t(&[inner / 128, outer]),
                n(rows),
                n(outer),
                n(inner),
            ],
            "void marlin::Marlin<__nv_bfloat16, 256, 4, 16, 4>",
            rows / 8 + 15,
        );
        if outer == 6144 {
            pass.attend(r);
        }
    }
}

/// Ten experts per token, whose rows are gathered one by one.
fn experts(pass: &Pass, r: &mut Recorder) {
    let (rows, spread) = (pass.tokens, pass.tokens * 10);
    pass.mm(r, HIDDEN, 6144);
    pass.attend(r);
    pass.mm(r, HIDDEN, HIDDEN);
    pass.mm(r, HIDDEN, 512);
    r.op(
        "_moe_C::topk_softmax",
        &[t(&[rows, 10]), i(&[rows, 10]), i(&[rows, 10]), t(&[rows, 512])],
        "topkGating",
        3,
    );
    r.op("aten::index", &[t(&[rows, HIDDEN]), i(&[spread])], "vectorized_gather_kernel", rows / 20 + 2);
    r.op("aten::mm", &[t(&[spread, HIDDEN]), t(&[HIDDEN, 2048])], "deep_gemm::sm90_bf16_gemm", rows / 2 + 50);
    r.op("aten::mm", &[t(&[spread, 1024]), t(&[1024, HIDDEN])], "deep_gemm::sm90_bf16_gemm", rows / 4 + 30);
    r.op("aten::index", &[t(&[spread, HIDDEN]), i(&[spread])], "vectorized_gather_kernel", rows / 20 + 2);
    r.op("aten::sum", &[t(&[rows, 10, HIDDEN]), n(1)], "reduce_kernel", rows / 20 + 2);
}

/// Latent attention absorbs a projection in decode, and expands the keys of a prompt.
fn latent(pass: &Pass, r: &mut Recorder) {
    let rows = pass.tokens;
    pass.mm(r, HIDDEN, 2112);
    pass.mm(r, 1536, 24_576);
    let query = t(&[rows, 128, 192]);
    r.call(
        "vllm::unified_attention_with_output",
        &[query.clone(), t(&[rows, 512]), t(&[rows, 1, 64]), query],
        |r| {
            if pass.phase == Prefill {
                r.op("aten::mm", &[t(&[rows, 512]), t(&[512, 32_768])], "nvjet_tst", rows / 8);
                r.kernel(
                    "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<>>>",
                    rows / 10,
                );
            } else {
                r.op("aten::bmm", &[t(&[128, rows, 128]), t(&[128, 128, 512])], "nvjet_tst", 12);
                r.kernel("void sm90::flash_fwd_splitkv_mla_kernel<>", 40);
                r.kernel("void flash_fwd_mla_combine_kernel<>", 4);
                r.op("aten::bmm", &[t(&[128, rows, 512]), t(&[128, 512, 128])], "nvjet_tst", 12);
            }
        },
    );
    pass.mm(r, 16_384, HIDDEN);
    pass.mm(r, HIDDEN, 36_864);
    pass.mm(r, 18_432, HIDDEN);
}

fn adapted(pass: &Pass, r: &mut Recorder) {
    let rows = pass.tokens;
    pass.mm(r, HIDDEN, 6144);
    r.op(
        "vllm::lora_shrink",
        &[t(&[rows, HIDDEN]), t(&[8, 1, 16, HIDDEN]), t(&[3, rows, 16])],
        "_lora_shrink_kernel",
        6,
    );
    r.op(
        "vllm::lora_expand",
        &[t(&[3, rows, 16]), t(&[8, 1, HIDDEN, 16]), t(&[rows, 6144])],
        "_lora_expand_kernel",
        6,
    );
    pass.attend(r);
    pass.mm(r, HIDDEN, HIDDEN);
    pass.mm(r, HIDDEN, 28_672);
    pass.mm(r, 14_336, HIDDEN);
}

fn dense(pass: &Pass, r: &mut Recorder) {
    pass.mm(r, HIDDEN, 6144);
    pass.attend(r);
    pass.mm(r, HIDDEN, HIDDEN);
    pass.mm(r, HIDDEN, 28_672);
    pass.mm(r, 14_336, HIDDEN);
}

/// Images become tokens of the prompt before the model runs.
fn images(r: &mut Recorder) {
    for _ in 0..4 {
        r.linear(16_384, 1280, 3840, "sm90_xmma_gemm", 500);
        let query = t(&[4, 16, 4096, 80]);
        r.op(
            "aten::_scaled_dot_product_flash_attention",
            &[query.clone(), query.clone(), query],
            "flash_fwd_kernel",
            600,
        );
        r.linear(16_384, 1280, 5120, "sm90_xmma_gemm", 500);
        r.linear(16_384, 5120, 1280, "sm90_xmma_gemm", 500);
    }
    r.linear(4096, 5120, HIDDEN, "sm90_xmma_gemm", 200);
}

fn penalties(r: &mut Recorder, rows: i64) {
    let logits = t(&[rows, VOCABULARY]);
    r.op("aten::zeros", &[n(rows), n(VOCABULARY + 1)], "fill", 5);
    r.op(
        "aten::scatter_add_",
        &[i(&[rows, VOCABULARY + 1]), n(1), i(&[rows, 2000]), i(&[rows, 2000])],
        "scatter",
        20,
    );
    r.op("aten::mul", &[logits.clone(), logits.clone()], "mul", 20);
    r.op("aten::log_softmax", &[logits.clone(), n(-1)], "softmax", 20);
    r.op("aten::topk", &[logits.clone(), n(20)], "gatherTopK", 40);
    r.op("aten::ge", &[logits.clone(), t(&[rows, 1])], "ge", 20);
    r.op("aten::sum", &[logits, n(-1)], "sum", 20);
}

/// A draft layer proposes three tokens after every step of the model.
fn draft(r: &mut Recorder, tokens: i64, requests: i64) {
    for at in 0..3 {
        let one = pass(Decode, if at == 0 { tokens } else { requests }, requests);
        one.embed(r);
        one.mm(r, 2 * HIDDEN, HIDDEN);
        dense(&one, r);
        one.head(r);
        one.choose(r);
    }
}

const CASES: &[Case] = &[
    right("8-bit products", |r| serve(r, 40, scaled)),
    right("8-bit products, decode alone", |r| (0..3).for_each(|_| pass(Decode, 40, 40).whole(r, scaled))),
    right("8-bit products, a prompt alone", |r| pass(Prefill, 700, 1).whole(r, scaled)),
    right("4-bit weights", |r| serve(r, 40, marlin)),
    right("experts with ten rows per token", |r| serve(r, 64, experts)),
    right("experts with ten rows per token, decode alone", |r| {
        (0..3).for_each(|_| pass(Decode, 64, 64).whole(r, experts));
    }),
    right("latent attention", |r| serve(r, 64, latent)),
    right("latent attention, decode alone", |r| (0..3).for_each(|_| pass(Decode, 64, 64).whole(r, latent))),
    right("adapters", |r| serve(r, 12, adapted)),
    right("images in a prompt", |r| {
        for _ in 0..2 {
            let prompt = pass(Prefill, 4300, 2);
            prompt.around(r, |r| {
                images(r);
                prompt.embed(r);
                (0..4).for_each(|_| dense(&prompt, r));
                prompt.head(r);
                prompt.choose(r);
            });
            (0..3).for_each(|_| pass(Decode, 2, 2).whole(r, dense));
        }
    }),
    right("penalties and log probabilities", |r| {
        for (phase, tokens, rows) in [(Prefill, 900, 4), (Decode, 4, 4), (Decode, 4, 4)] {
            let one = pass(phase, tokens, rows);
            one.around(r, |r| {
                one.embed(r);
                (0..4).for_each(|_| dense(&one, r));
                one.head(r);
                penalties(r, rows);
                one.choose(r);
            });
        }
    }),
    Case {
        name: "a draft layer after every step",
        record: |r| {
            for (phase, tokens, rows, requests) in
                [(Prefill, 3000, 3, 3), (Decode, 12, 12, 3), (Decode, 12, 12, 3)]
            {
                let one = pass(phase, tokens, rows);
                one.around(r, |r| {
                    one.embed(r);
                    (0..12).for_each(|_| dense(&one, r));
                    one.head(r);
                    one.choose(r);
                    draft(r, tokens, requests);
                });
            }
        },
        framed: Blind::Right,
        bare: Blind::AtLeast(0.8, "what a draft layer does after a prompt looks like a step of decode"),
    },
    Case {
        name: "logits of all tokens of a prompt",
        record: |r| {
            pass(Prefill, 2000, 2000).whole(r, dense);
            (0..3).for_each(|_| pass(Decode, 4, 4).whole(r, dense));
        },
        framed: Blind::AtLeast(0.18, "known miss: the prompt is taken for drafted tokens of many requests"),
        bare: Blind::AtLeast(0.18, "known miss: the prompt is taken for drafted tokens of many requests"),
    },
    right("a draft of one rank with less of the vocabulary", |r| {
        // Gathered logits are cut to the vocabulary, which is not a multiple of the ranks.
        for (phase, tokens, rows) in [(Prefill, 900, 4), (Decode, 4, 4), (Decode, 4, 4)] {
            let one = pass(phase, tokens, rows);
            one.around(r, |r| {
                one.embed(r);
                (0..4).for_each(|_| dense(&one, r));
                r.op("aten::index", &[t(&[tokens, HIDDEN]), i(&[rows])], "vectorized_gather_kernel", 3);
                r.linear(rows, HIDDEN, 16_192, "sm90_xmma_gemm", 30);
                r.op("vllm::all_gather", &[t(&[rows, 16_192])], "ncclDevKernel_AllGather_RING_LL", 15);
                one.choose(r);
            });
        }
    }),
];

#[test]
fn models_and_set_ups_are_told_apart() {
    check(CASES, true);
}
