//! The ways in which engines, models and set-ups differ.

use crate::detection::engine::{Engine, Found, MODEL, Model};
use inference_phase::Phase::{Decode, Mixed, Prefill, Unknown};
use inference_phase::{DetectOptions, Source};
use trace_ingest::{Category, EventArguments};

/// Runs `prompts` and `decodes` in turn and gives the phases of the kernels of both.
fn run(
    engine: &mut Engine,
    mut prompt: impl FnMut(&mut Engine),
    mut decode: impl FnMut(&mut Engine),
) -> (Vec<usize>, Vec<usize>) {
    let (mut of_prompts, mut of_decodes) = (Vec::new(), Vec::new());
    for turn in 0..8 {
        let begin = engine.kernels.len();
        let is_prompt = turn % 4 == 0;
        if is_prompt {
            prompt(engine)
        } else {
            decode(engine)
        }
        let kernels = begin..engine.kernels.len();
        if is_prompt { of_prompts.extend(kernels) } else { of_decodes.extend(kernels) }
    }
    (of_prompts, of_decodes)
}

/// Part of these kernels whose steps process prompts, or do not.
fn part(found: &Found, kernels: &[usize], bears_context: bool) -> f64 {
    let sides = found.sides();
    let right = kernels.iter().filter(|&&kernel| sides[kernel] == Some(bears_context)).count();
    right as f64 / kernels.len() as f64
}

/// Checks that all kernels of prompts and all of decodes are found to be that.
fn check(mut engine: Engine, prompt: impl FnMut(&mut Engine), decode: impl FnMut(&mut Engine)) {
    let (of_prompts, of_decodes) = run(&mut engine, prompt, decode);
    let found = engine.blind();
    let steps = found.steps.steps();
    let short: Vec<_> = steps.iter().map(|step| (step.start, step.phase, step.source)).collect();
    assert_eq!(part(&found, &of_prompts, true), 1.0, "{short:?}");
    assert_eq!(part(&found, &of_decodes, false), 1.0, "{short:?}");
}

#[test]
fn eager_engines() {
    check(Engine::new(), |engine| engine.eager_step(1800, 3), |engine| engine.eager_step(32, 32));
}

#[test]
fn graphs_in_pieces_with_padding() {
    // 33 requests are padded to the size of a graph.
    check(Engine::new(), |engine| engine.piecewise_step(2048, 34), |engine| engine.piecewise_step(40, 33));
}

#[test]
fn whole_graphs_with_the_head_outside() {
    let decode = |engine: &mut Engine| {
        engine.graph(&["gemm", "flash_fwd_splitkv_kernel", "gemm"]);
        engine.op("aten::index", "index_kernel", &[&[64, 4096], &[60]]);
        engine.head(60);
    };
    check(Engine::new(), |engine| engine.eager_step(1800, 3), decode);
}

#[test]
fn whole_graphs_with_the_head_inside() {
    let decode = |engine: &mut Engine| {
        engine.graph(&["gemm", "void paged_attention_ll4mi_QKV_mfma16_kernel<0>", "Cijk_USL1"]);
        engine.op("aten::argmax", "reduce_kernel", &[&[32, 128_256], &[], &[]]);
    };
    check(Engine::new(), |engine| engine.eager_step(1800, 3), decode);
}

#[test]
fn whole_graphs_one_after_the_other_with_tokens_chosen_inside() {
    let mut engine = Engine::new();
    for _ in 0..5 {
        engine.launch("cudaMemcpyAsync", &["Memcpy HtoD"]);
        engine.graph(&["gemm", "mmha_kernel", "top_p_kernel"]);
    }
    let found = engine.blind();
    assert_eq!((found.only_phase(), found.phases().len()), (Decode, 5));
}

#[test]
fn several_passes_scheduled_in_one_step() {
    let mut engine = Engine::new();
    engine.frame("vllm/worker/multi_step_model_runner.py(5): execute_model", |engine| {
        for _ in 0..8 {
            engine.graph(&["gemm", "vllm::paged_attention_v1_kernel"]);
            engine.op("aten::argmax", "reduce_kernel", &[&[16, 128_256], &[], &[]]);
        }
    });
    let found = engine.found();
    assert_eq!((found.only_phase(), found.phases().len()), (Decode, 1));
}

#[test]
fn a_share_of_the_vocabulary_per_rank() {
    let model = Model { qkv: 768, feed_forward: 1792, vocabulary: [16_032, 128_256], ..MODEL };
    let engine = || Engine { model, ..Engine::new() };
    check(engine(), |engine| engine.eager_step(1800, 3), |engine| engine.eager_step(32, 32));
    // Without anything that embeds or chooses tokens.
    let step = |engine: &mut Engine, tokens: i64, rows: i64| {
        engine.layers(tokens, |engine| engine.attention(tokens));
        engine.mm(rows, 4096, 16_032);
    };
    check(engine(), |engine| step(engine, 1800, 3), |engine| step(engine, 32, 32));
}

#[test]
fn a_vocabulary_narrower_than_the_feed_forward_layer() {
    let model = Model { hidden: 8192, qkv: 10_240, feed_forward: 28_672, vocabulary: [32_000; 2], ..MODEL };
    let step = |engine: &mut Engine, tokens: i64, rows: i64| {
        engine.layers(tokens, |engine| engine.attention(tokens));
        engine.mm(rows, 8192, 32_000);
    };
    check(Engine { model, ..Engine::new() }, |engine| step(engine, 1800, 3), |engine| step(engine, 32, 32));
}

#[test]
fn low_precision_projections_pad_their_rows() {
    let step = |engine: &mut Engine, tokens: i64, rows: i64| {
        engine.embedding(tokens);
        for _ in 0..4 {
            let padded = tokens.max(17);
            engine.op("_C::rms_norm", "rms_norm", &[&[tokens, 4096], &[tokens, 4096], &[4096]]);
            engine.op(
                "_C::cutlass_scaled_mm",
                "cutlass_kernel",
                &[&[padded, 6144], &[padded, 4096], &[4096, 6144], &[padded, 1], &[1, 6144]],
            );
            engine.attention(tokens);
        }
        engine.head(rows);
    };
    check(Engine::new(), |engine| step(engine, 900, 1), |engine| step(engine, 1, 1));
}

#[test]
fn packed_weights_tell_their_rows_at_least() {
    let step = |engine: &mut Engine, tokens: i64, rows: i64| {
        for _ in 0..4 {
            engine.op("_C::gptq_marlin_gemm", "Marlin", &[&[tokens, 4096], &[256, 12_288], &[32, 6144]]);
            engine.op("flash::attention", "flash_fwd_kernel", &[]);
        }
        engine.head(rows);
    };
    check(Engine::new(), |engine| step(engine, 900, 1), |engine| step(engine, 8, 8));
}

#[test]
fn a_rank_without_head_never_calls_a_prompt_decode() {
    // Multi-head latent attention: a projection of 24576 outputs per layer that nothing reads as they are.
    let model = Model { hidden: 7168, qkv: 24_576, ..MODEL };
    for tokens in [600, 8192] {
        let mut engine = Engine { model, ..Engine::new() };
        for _ in 0..3 {
            engine.layers(tokens, |engine| engine.attention(tokens));
            engine.launch("ncclSend", &["ncclDevKernel_SendRecv"]);
        }
        assert!([Prefill, Unknown].contains(&engine.blind().only_phase()), "{tokens}");
    }
    // Among steps of both kinds the small ones that recur are decode.
    let step = |engine: &mut Engine, tokens: i64| engine.layers(tokens, |engine| engine.attention(tokens));
    let engine = Engine { model, ..Engine::new() };
    check(engine, |engine| step(engine, 1500), |engine| step(engine, 32));
}

#[test]
fn packed_sequences_tell_requests_by_their_offsets() {
    let step = |engine: &mut Engine, tokens: i64, requests: i64| {
        engine.layers(tokens, |engine| {
            let query: &[i64] = &[tokens, 32, 128];
            let offsets: &[i64] = &[requests + 1];
            engine.op(
                "flash_attn::_flash_attn_varlen_forward",
                "flash_fwd",
                &[query, query, query, offsets, offsets],
            );
        });
    };
    check(Engine::new(), |engine| step(engine, 1500, 4), |engine| step(engine, 32, 32));
}

#[test]
fn attention_for_both_kinds_shows_nothing_of_generation_beside_prompts() {
    let step = |tokens: i64, rows: i64, attention: fn(&mut Engine, i64)| {
        let mut engine = Engine::new();
        engine.embedding(tokens);
        engine.layers(tokens, |engine| attention(engine, tokens));
        engine.head(rows);
        engine.blind()
    };
    let unified = |engine: &mut Engine, tokens: i64| engine.attention(tokens);
    let of_prompts = |engine: &mut Engine, tokens: i64| {
        engine.op("flash_attn::varlen_prefill", "flash_prefill_kernel", &[&[tokens, 32, 128]]);
    };
    assert!(step(8192, 46, unified).has_prompts_and_no_phase());
    // A single request is a prompt alone, and so are requests that only attention of prompts runs for.
    assert_eq!(step(900, 1, unified).only_phase(), Prefill);
    assert_eq!(step(8192, 46, of_prompts).only_phase(), Prefill);
}

#[test]
fn what_the_engine_can_run_at_a_time_tells_a_prompt_on_a_rank_without_head() {
    let model = Model { hidden: 7168, qkv: 24_576, ..MODEL };
    let found = |max_num_seqs| {
        let mut engine = Engine { model, ..Engine::new() };
        engine.embedding(700);
        engine.layers(700, |engine| engine.attention(700));
        engine.found_with(&DetectOptions { max_num_seqs, ..DetectOptions::default() })
    };
    assert_eq!(found(None).sides()[0], None);
    assert_eq!(found(Some(256)).sides()[0], None);
    assert!(found(Some(64)).has_prompts_and_no_phase());
}

#[test]
fn attention_of_prompts_and_of_the_rest_in_one_step_is_mixed() {
    let found = {
        let mut engine = Engine::new();
        engine.embedding(931);
        engine.layers(931, |engine| {
            engine.op("flash_attn::varlen_prefill", "flash_prefill_kernel", &[&[900, 32, 128]]);
            engine.op("_C::paged_attention_v2", "paged_attention_v2_kernel", &[&[31, 32, 128]]);
        });
        engine.head(32);
        engine.blind()
    };
    assert_eq!((found.only_phase(), found.phases().len()), (Mixed, 1));
}

/// A pass of a framework that keeps a dimension of requests and computes logits of all tokens.
fn dense_step(engine: &mut Engine, batch: i64, queries: i64, keys: i64) {
    engine.op("aten::embedding", "gather", &[&[151_936, 1024], &[batch, queries]]);
    for _ in 0..4 {
        engine.op("aten::linear", "gemm", &[&[batch, queries, 1024], &[1024, 1024], &[1024]]);
        let (query, key): (&[i64], &[i64]) = (&[batch, 16, queries, 64], &[batch, 16, keys, 64]);
        engine.op("aten::scaled_dot_product_attention", "flash_fwd_kernel", &[query, key, key]);
        engine.op("aten::linear", "gemm", &[&[batch, queries, 1024], &[2816, 1024]]);
        engine.op("aten::linear", "gemm", &[&[batch, queries, 2816], &[1024, 2816]]);
    }
    engine.op("aten::linear", "gemm", &[&[batch, queries, 1024], &[151_936, 1024]]);
    engine.op("aten::argmax", "reduce", &[&[batch, 151_936]]);
}

#[test]
fn frameworks_that_compute_logits_of_all_tokens() {
    let mut keys = 559;
    let decode = |engine: &mut Engine| {
        keys += 1;
        dense_step(engine, 16, 1, keys);
    };
    check(Engine::new(), |engine| dense_step(engine, 16, 559, 559), decode);
    // A prompt of a few tokens in one piece.
    let mut engine = Engine::new();
    dense_step(&mut engine, 1, 7, 7);
    assert_eq!(engine.blind().only_phase(), Prefill);
}

#[test]
fn the_threshold_is_new_tokens_per_request() {
    let found = |threshold: i64| {
        let mut engine = Engine::new();
        engine.eager_step(64 * 16, 64);
        let options = DetectOptions { decode_threshold: threshold, ..DetectOptions::default() };
        engine.found_with(&options)
    };
    assert!(found(10).has_prompts_and_no_phase());
    assert_eq!(found(16).only_phase(), Decode);
}

#[test]
fn models_that_only_embed_are_not_decode() {
    let mut engine = Engine::new();
    for _ in 0..3 {
        engine.op("aten::embedding", "gather", &[&[30_522, 768], &[8, 128]]);
        for _ in 0..4 {
            let query: &[i64] = &[8, 12, 128, 64];
            engine.op("aten::linear", "gemm", &[&[8, 128, 768], &[768, 768]]);
            engine.op("aten::scaled_dot_product_attention", "flash_fwd_kernel", &[query, query, query]);
        }
    }
    assert_eq!(engine.blind().only_phase(), Prefill);
}

#[test]
fn models_of_images_have_no_phase() {
    let mut engine = Engine::new();
    for _ in 0..3 {
        engine.op("aten::conv2d", "conv", &[&[1, 3, 224, 224], &[768, 3, 16, 16]]);
        for _ in 0..4 {
            let query: &[i64] = &[1, 12, 197, 64];
            engine.op("aten::linear", "gemm", &[&[1, 197, 768], &[768, 768]]);
            engine.op("aten::scaled_dot_product_attention", "flash_fwd_kernel", &[query, query, query]);
        }
    }
    assert_eq!(engine.blind().only_phase(), Unknown);
}

#[test]
fn a_trace_that_begins_and_ends_within_steps() {
    let mut engine = Engine::new();
    // The rest of a decode step.
    engine.attention(32);
    engine.mm(32, 4096, 4096);
    engine.head(32);
    for _ in 0..3 {
        engine.eager_step(32, 32);
    }
    // A decode step whose logits were not recorded any more.
    engine.embedding(32);
    engine.layers(32, |engine| engine.attention(32));
    assert_eq!(engine.blind().only_phase(), Decode);
}

#[test]
fn frames_of_engines_mark_steps_and_say_their_phase() {
    const RUN_BATCH: &str = "/sgl/python/sglang/srt/managers/scheduler.py(2919): run_batch";
    const EXTEND: &str = "sglang/srt/model_executor/model_runner.py(3): forward_extend";
    const VERIFY: &str = "sglang/srt/speculative/eagle_worker.py(7): verify";
    let mut engine = Engine::new();
    let work = |engine: &mut Engine| engine.launch("cudaLaunchKernel", &["k"]);
    engine.frame(RUN_BATCH, |engine| {
        engine.frame(EXTEND, work);
        work(engine);
    });
    engine.frame(RUN_BATCH, |engine| {
        engine.frame("sglang/srt/model_executor/cuda_graph_runner.py(9): replay", |engine| {
            engine.graph(&["k"])
        });
    });
    engine.frame(RUN_BATCH, |engine| engine.frame(VERIFY, |engine| engine.frame(EXTEND, work)));
    engine.frame("text_generation_server/server.py(90): Prefill", work);
    engine.frame("vllm/v1/worker/gpu_model_runner.py(5): execute_model", |engine| {
        engine.frame("vllm/v1/attention/backends/mla/common.py(8): _forward_prefill", work);
        engine.frame("vllm/v1/attention/backends/mla/common.py(9): _forward_decode", work);
        // Methods of Python's own with such names are everywhere.
        engine.frame("<built-in method extend of list object at 0x7f>", work);
    });
    let found = engine.found();
    assert_eq!(found.phases(), [Prefill, Decode, Decode, Prefill, Mixed]);
    assert_eq!(found.sources(), [Source::EngineFrames; 5]);
    assert!(found.steps.links().none == 0);
}

#[test]
fn choosing_tokens_on_its_own_belongs_to_the_step_before() {
    let mut engine = Engine::new();
    engine.annotate("execute_context_1(900)_generation_0(0)", |engine| engine.eager_step(900, 1));
    engine.frame("vllm/v1/worker/gpu_model_runner.py(5): sample_tokens", |engine| {
        engine.op("aten::topk", "topk_kernel", &[&[1, 128_256]]);
    });
    engine.annotate("execute_context_0(0)_generation_1(1)", |engine| engine.eager_step(1, 1));
    let found = engine.found();
    assert_eq!(found.phases(), [Prefill, Decode]);
    assert_eq!(found.steps.links().none, 0);
}

#[test]
fn a_loop_of_generation_is_cut_at_its_calls_of_the_model() {
    let mut engine = Engine::new();
    let mut call = |queries: i64, keys: i64| {
        engine.frame("nn.Module: Qwen2ForCausalLM_0", |engine| dense_step(engine, 2, queries, keys));
        engine.op("aten::cat", "cat_kernel", &[]);
    };
    call(30, 30);
    call(1, 31);
    call(1, 32);
    let found = engine.found();
    assert_eq!(found.phases(), [Prefill, Decode, Decode]);
    assert_eq!(found.steps.links().none, 0);
}

#[test]
fn kernels_without_launch_are_in_the_range_that_the_profiler_copied_to_the_device() {
    let mut engine = Engine::new();
    engine
        .annotate("execute_context_1(9)_generation_0(0)", |engine| engine.launch("cudaLaunchKernel", &["k"]));
    let (stream, start) = (engine.builder.track(0, 7), 1_000_000);
    for (name, at) in [
        ("execute_context_1(9)_generation_0(0)", start),
        // Its host side was not recorded.
        ("execute_context_0(0)_generation_4(4)", start + 100),
    ] {
        let none = EventArguments::default();
        engine.builder.event(Category::GPU_USER_ANNOTATION, name, stream, at, 100, none);
        let kernel = engine.builder.event(Category::KERNEL, "unlinked", stream, at + 10, 50, none);
        engine.kernels.push(kernel);
    }
    let found = engine.found();
    assert_eq!(found.kernel_phases(), [Prefill, Prefill, Decode]);
    assert_eq!(found.steps.step_of(found.kernels[1]), Some(0));
    let last = found.steps.steps().last().unwrap();
    assert_eq!((last.track, found.steps.links().by_device_annotation), (None, 2));
}

#[test]
fn names_are_a_last_resort_where_no_shapes_were_recorded() {
    let mut engine = Engine::new();
    engine.annotate("step[EXTEND", |engine| engine.launch("cudaLaunchKernel", &["prompt_kernel", "gemm"]));
    let found = engine.found();
    assert_eq!((found.only_phase(), found.sources()), (Prefill, vec![Source::Names]));
    assert!(found.steps.steps()[0].confidence < 0.5 && found.steps.inferred_share() == 1.0);
}

#[test]
fn eager_passes_among_replayed_ones_are_prompts_where_no_shapes_were_recorded() {
    let prompt = |engine: &mut Engine| {
        for _ in 0..4 {
            engine.launch("cudaLaunchKernel", &["gemm"]);
            engine.launch("cudaLaunchKernel", &["flash_fwd_kernel"]);
        }
    };
    check(Engine::new(), prompt, |engine| engine.graph(&["gemm", "flash_fwd_splitkv_kernel", "gemm"]));
    // Alone they are not known.
    let mut engine = Engine::new();
    prompt(&mut engine);
    assert_eq!(engine.blind().only_phase(), Unknown);
}

#[test]
fn tensorrt_llm_steps_are_read_from_their_ranges() {
    let mut engine = Engine::new();
    engine.annotate("[Executor] _forward_step 3: 1 ctx reqs, 4 gen reqs", |engine| engine.graph(&["k"]));
    assert_eq!(engine.found().only_phase(), Mixed);
}
