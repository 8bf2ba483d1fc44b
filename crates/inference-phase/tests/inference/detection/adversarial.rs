//! Traces made to mislead a detector of phases.

use crate::detection::engine::{Engine, Found};
use inference_phase::Phase::{Decode, Mixed, Prefill, Unknown};
use inference_phase::{Phase, Source};
use trace_ingest::{Category, EventArguments};

/// One step, alone, with nothing but its calls to go by.
fn blind(step: impl FnOnce(&mut Engine)) -> Found {
    let mut engine = Engine::new();
    step(&mut engine);
    engine.blind()
}

fn sighted(annotation: &str, step: impl FnOnce(&mut Engine)) -> Found {
    let mut engine = Engine::new();
    engine.annotate(annotation, step);
    engine.found()
}

#[test]
fn decode_of_a_large_batch_is_decode() {
    for requests in [256, 512, 1024] {
        assert_eq!(blind(|engine| engine.eager_step(requests, requests)).only_phase(), Decode, "{requests}");
    }
}

#[test]
fn a_prompt_of_seven_tokens_is_not_decode() {
    let step = |engine: &mut Engine| engine.eager_step(7, 1);
    assert_eq!(sighted("execute_context_1(7)_generation_0(0)", step).only_phase(), Prefill);
    assert!([Prefill, Unknown].contains(&blind(step).only_phase()));
}

#[test]
fn a_chunk_beside_running_requests_is_mixed() {
    let step = |engine: &mut Engine| engine.piecewise_step(544, 32);
    assert_eq!(sighted("execute_context_1(512)_generation_31(31)", step).only_phase(), Mixed);
    assert!(blind(step).has_prompts_and_no_phase());
    // The chunk is less than ten times the batch.
    assert!(blind(|engine| engine.piecewise_step(2048, 257)).has_prompts_and_no_phase());
    assert!(blind(|engine| engine.eager_step(95, 32)).has_prompts_and_no_phase());
}

#[test]
fn verification_of_drafted_tokens_is_decode() {
    assert_eq!(blind(|engine| engine.eager_step(128, 128)).only_phase(), Decode);
    assert_eq!(
        sighted("step[TARGET_VERIFY bs=32]", |engine| engine.eager_step(128, 128)).only_phase(),
        Decode
    );
}

#[test]
fn a_chunk_without_logits_is_not_decode() {
    let chunk = |engine: &mut Engine, tokens: i64| {
        engine.embedding(tokens);
        engine.layers(tokens, |engine| engine.attention(tokens));
    };
    for tokens in [8192, 512] {
        let alone = blind(|engine| chunk(engine, tokens));
        assert!([Prefill, Unknown].contains(&alone.only_phase()), "{tokens}");
        // Between decode steps it must not take these with it either.
        let mut engine = Engine::new();
        engine.eager_step(32, 32);
        let begin = engine.kernels.len();
        chunk(&mut engine, tokens);
        let end = engine.kernels.len();
        engine.eager_step(32, 32);
        let found = engine.blind();
        let phases = found.kernel_phases();
        assert!(phases[begin..end].iter().all(|phase| [Prefill, Unknown].contains(phase)), "{tokens}");
        assert!(phases[..begin].iter().chain(&phases[end..]).all(|&phase| phase == Decode), "{tokens}");
    }
}

#[test]
fn a_chunk_without_logits_or_embedding_ends_where_the_number_of_tokens_changes() {
    let mut engine = Engine::new();
    engine.layers(4096, |engine| engine.attention(4096));
    let end = engine.kernels.len();
    engine.layers(32, |engine| engine.attention(32));
    engine.head(32);
    let sides = engine.blind().sides();
    assert!(sides[..end].iter().all(|&side| side == Some(true)));
    assert!(sides[end..].iter().all(|&side| side == Some(false)));
}

#[test]
fn numbers_in_the_names_of_gemms_say_nothing() {
    // Every projection of the engine's launches a kernel named after its tuning (`USL1`, `SL128`).
    assert!(blind(|engine| engine.eager_step(4000, 4)).has_prompts_and_no_phase());
    assert_eq!(blind(|engine| engine.mm(4000, 4096, 6144)).only_phase(), Unknown);
}

#[test]
fn a_kernel_of_context_in_a_decode_step_changes_nothing() {
    let step = |engine: &mut Engine| {
        engine.embedding(64);
        engine.layers(64, |engine| {
            engine.op("aten::add", "some_elementwise_PersistentContext", &[&[64, 4096]]);
            engine.op("trtllm::attention", "fmhaSm100Kernel_QkvBf16_PersistentContext", &[&[64, 32, 128]]);
        });
        engine.head(64);
    };
    assert_eq!(blind(step).only_phase(), Decode);
    assert_eq!(sighted("step[DECODE bs=64]", step).only_phase(), Decode);
}

#[test]
fn an_annotation_around_steps_that_is_none_changes_nothing() {
    let mut engine = Engine::new();
    engine.annotate("ProfilerStep#7", |engine| {
        engine.annotate("execute_context_2(900)_generation_0(0)", |engine| engine.eager_step(900, 2));
        engine.annotate("## Call CompiledFxGraph ##", |engine| {
            engine.annotate("execute_context_0(0)_generation_2(2)", |engine| engine.eager_step(2, 2));
        });
    });
    let found = engine.found();
    assert_eq!(found.phases(), [Prefill, Decode]);
    assert_eq!(found.sources(), [Source::Annotation; 2]);
    assert_eq!(found.steps.inferred_share(), 0.0);
}

#[test]
fn two_engine_threads_each_have_their_steps() {
    let mut engine = Engine::new();
    engine.annotate("step[EXTEND bs=2 toks=900]", |engine| engine.eager_step(900, 2));
    let first = engine.kernels.len();
    // The other engine's step begins while the first one's is under way.
    (engine.now, engine.thread) = (5000, 2);
    engine.annotate("step[DECODE bs=8]", |engine| engine.eager_step(8, 8));
    // A third thread launches while both are: whose step it is nobody can say.
    (engine.now, engine.thread) = (10_000, 3);
    let helper = engine.kernels.len();
    engine.launch("cudaMemcpyAsync", &["Memcpy HtoD"]);
    let found = engine.found();
    let phases = found.kernel_phases();
    assert!(phases[..first].iter().all(|&phase| phase == Prefill));
    assert!(phases[first..helper].iter().all(|&phase| phase == Decode));
    assert_eq!(phases[helper], Unknown);
    assert_eq!((found.steps.links().none, found.steps.links().by_time), (1, 0));
}

#[test]
fn a_helper_thread_is_linked_by_time_to_the_only_step_under_way() {
    let mut engine = Engine::new();
    engine.annotate("step[DECODE bs=8]", |engine| engine.eager_step(8, 8));
    engine.thread = 2;
    engine.now = 5000;
    engine.launch("cudaMemcpyAsync", &["Memcpy HtoD"]);
    let found = engine.found();
    assert_eq!(found.only_phase(), Decode);
    assert_eq!(found.steps.links().by_time, 1);
}

#[test]
fn a_trace_of_the_device_alone_is_unknown() {
    let mut engine = Engine::new();
    let stream = engine.builder.track(0, 7);
    for name in
        ["void paged_attention_ll4mi_QKV_mfma16_kernel<0>", "BatchPrefillWithPagedKVCacheKernel", "gemm"]
    {
        let kernel = engine.builder.event(Category::KERNEL, name, stream, 0, 100, EventArguments::default());
        engine.kernels.push(kernel);
    }
    let found = engine.found();
    assert_eq!(found.only_phase(), Unknown);
    assert!(found.steps.steps().is_empty());
    assert_eq!((found.steps.inferred_share(), found.steps.links().none), (1.0, 3));
}

#[test]
fn a_graph_replay_is_decode_with_and_without_what_follows_it() {
    let kernels = ["gemm", "void paged_attention_ll4mi_QKV_mfma16_kernel<0>", "gemm"];
    assert_eq!(blind(|engine| engine.graph(&kernels)).only_phase(), Decode);
    assert_eq!(blind(|engine| engine.graph(&["k1", "k2"])).only_phase(), Decode);
    // Tokens are chosen outside of the graph.
    let chosen = blind(|engine| {
        engine.graph(&["k1", "k2"]);
        engine.op("aten::argmax", "reduce_kernel", &[&[32, 151_936], &[], &[]]);
    });
    assert_eq!((chosen.only_phase(), chosen.phases().len()), (Decode, 1));
    // Kernels of prompts in a graph serve single tokens too.
    assert_eq!(
        blind(|engine| engine.graph(&["gemm", "BatchPrefillWithPagedKVCacheKernel"])).only_phase(),
        Decode
    );
    assert_eq!(sighted("step[MIXED bs=4]", |engine| engine.graph(&kernels)).only_phase(), Mixed);
}

#[test]
fn nested_annotations_are_one_step_with_the_fields_of_the_one_that_says_most() {
    let mut engine = Engine::new();
    engine.annotate(
        "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk900sqsq32sqsk900)",
        |engine| {
            engine.launch("cudaMemcpyAsync", &["Memcpy HtoD"]);
            engine.annotate("step[DECODE bs=31]", |engine| engine.eager_step(32, 32));
        },
    );
    let found = engine.found();
    assert_eq!(found.only_phase(), Decode);
    let [step] = found.steps.steps() else { panic!("{:?}", found.steps.steps()) };
    assert_eq!((step.load.generation_requests, step.load.generation_tokens), (Some(32), Some(32)));
}

#[test]
fn idle_and_image_steps_have_no_phase_whatever_they_run() {
    for annotation in ["step[IDLE bs=0]", "step[PREBUILT bs=4]", "execute_diffusion_1_1024x1024"] {
        let found = sighted(annotation, |engine| engine.eager_step(900, 2));
        assert_eq!(
            (found.only_phase(), found.sources()),
            (Unknown, vec![Source::Annotation]),
            "{annotation}"
        );
    }
}

#[test]
fn modes_come_before_numbers() {
    for annotation in ["step[MIXED bs=2]", "step[MIXED bs=4 dp=1]", "decode[bs=128 tok=384 p=2 d=126]"] {
        assert_eq!(sighted(annotation, |engine| engine.eager_step(8, 8)).only_phase(), Mixed, "{annotation}");
    }
}

#[test]
fn logits_of_a_whole_prompt_do_not_make_it_decode() {
    let found = blind(|engine| {
        engine.embedding(900);
        engine.layers(900, |engine| engine.attention(900));
        engine.mm(900, 4096, 128_256);
        engine.op("aten::argmax", "reduce_kernel", &[&[1, 128_256], &[], &[]]);
    });
    assert_eq!(found.only_phase(), Prefill);
}

#[test]
fn work_outside_of_marked_steps_belongs_to_none() {
    let mut engine = Engine::new();
    engine.annotate("step[DECODE bs=8]", |engine| engine.eager_step(8, 8));
    engine.op("aten::add", "elementwise", &[&[8]]);
    let found = engine.found();
    assert_eq!(found.steps.step_of(found.kernels[0]), Some(0));
    assert_eq!(found.steps.step_of(*found.kernels.last().unwrap()), None);
}

#[test]
fn an_unsure_annotation_gives_way_to_what_the_step_shows() {
    for (annotation, tokens, rows, expected) in [
        ("execute_new_0_cached_32", 32, 32, Decode),
        // The rest of a prompt that was begun in an earlier step.
        ("execute_new_0_cached_32", 2048, 32, Unknown),
        ("execute_new_1_cached_0", 900, 1, Prefill),
        ("execute_new_1_cached_31", 931, 32, Mixed),
    ] {
        let found = sighted(annotation, |engine| engine.eager_step(tokens, rows));
        assert_eq!(found.only_phase(), expected, "{annotation} {tokens}");
    }
    let alone = sighted("execute_new_0_cached_32", |engine| engine.launch("cudaLaunchKernel", &["k"]));
    assert_eq!((alone.only_phase(), alone.steps.steps()[0].confidence), (Decode, 0.6));
}

#[test]
fn a_trace_without_steps_has_none() {
    let found = Engine::new().found();
    assert!(found.steps.steps().is_empty() && found.steps.time_by_source().is_empty());
    assert_eq!(Phase::ALL.map(|phase| found.steps.time_of(phase)), [0; 4]);
}
