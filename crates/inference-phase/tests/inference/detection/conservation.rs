//! Whatever a trace holds, every device event has one phase and no device time is lost.

use crate::detection::engine::Engine;
use inference_phase::{DetectOptions, Phase};
use proptest::prelude::*;
use trace_ingest::{Category, EventArguments};

/// Something that an engine does.
#[derive(Clone, Debug)]
enum Act {
    Eager(i64, i64),
    Piecewise(i64, i64),
    Graph(usize),
    Annotated(&'static str, i64, i64),
    Framed(&'static str, i64, i64),
    Unlinked(i64),
    Chunk(i64),
    Thread(i64),
    Back(i64),
}

fn act() -> impl Strategy<Value = Act> {
    let tokens = || 0..5000i64;
    let annotation = prop::sample::select(vec![
        "step[DECODE bs=8]",
        "step[MIXED bs=8]",
        "step[IDLE bs=0]",
        "execute_new_0_cached_4",
        "execute_context_1(9)_generation_2(2)",
        "ProfilerStep#1",
    ]);
    let frame = prop::sample::select(vec![
        "sglang/srt/managers/scheduler.py(1): run_batch",
        "sglang/srt/x.py(1): forward_extend",
        "vllm/v1/worker/gpu_model_runner.py(1): sample_tokens",
        "nn.Module: LlamaForCausalLM_0",
    ]);
    prop_oneof![
        (tokens(), 0..300i64).prop_map(|(tokens, rows)| Act::Eager(tokens, rows)),
        (tokens(), 0..300i64).prop_map(|(tokens, rows)| Act::Piecewise(tokens, rows)),
        (0..4usize).prop_map(Act::Graph),
        (annotation, tokens(), 0..300i64).prop_map(|(text, tokens, rows)| Act::Annotated(text, tokens, rows)),
        (frame, tokens(), 0..300i64).prop_map(|(text, tokens, rows)| Act::Framed(text, tokens, rows)),
        (0..100_000i64).prop_map(Act::Unlinked),
        tokens().prop_map(Act::Chunk),
        (1..4i64).prop_map(Act::Thread),
        (0..200_000i64).prop_map(Act::Back),
    ]
}

fn perform(engine: &mut Engine, act: &Act) {
    match *act {
        Act::Eager(tokens, rows) => engine.eager_step(tokens, rows),
        Act::Piecewise(tokens, rows) => engine.piecewise_step(tokens, rows),
        Act::Graph(kernels) => engine.graph(&["gemm", "mmha_kernel", "k", "k"][..kernels]),
        Act::Annotated(text, tokens, rows) => engine.annotate(text, |engine| engine.eager_step(tokens, rows)),
        Act::Framed(text, tokens, rows) => engine.frame(text, |engine| engine.eager_step(tokens, rows)),
        Act::Unlinked(at) => {
            let stream = engine.builder.track(0, 8);
            let none = EventArguments::default();
            let annotation = Category::GPU_USER_ANNOTATION;
            engine.builder.event(annotation, "execute_context_1(9)_generation_2(2)", stream, at, 100, none);
            let kernel = engine.builder.event(Category::KERNEL, "unlinked", stream, at + 10, 50, none);
            engine.kernels.push(kernel);
        }
        Act::Chunk(tokens) => engine.layers(tokens, |engine| engine.attention(tokens)),
        Act::Thread(thread) => engine.thread = thread,
        // Threads run at the same time, and clocks cross.
        Act::Back(by) => engine.now = (engine.now - by).max(0),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_device_event_has_one_phase_and_no_time_is_lost(
        acts in prop::collection::vec(act(), 0..10),
        threshold in -1..20i64,
        use_annotations: bool,
        use_frames: bool,
    ) {
        let mut engine = Engine::new();
        engine.model.layers = 2;
        for act in &acts {
            perform(&mut engine, act);
        }
        let options = DetectOptions { decode_threshold: threshold, max_num_seqs: None, use_annotations, use_frames };
        let found = engine.found_with(&options);
        let (steps, events) = (&found.steps, found.tree.trace().events());

        let mut by_phase = [0i64; 4];
        for &kernel in &found.kernels {
            let phase = steps.phase_of(kernel);
            let step = steps.step_of(kernel);
            prop_assert_eq!(step.map_or(Phase::Unknown, |step| steps.steps()[step].phase), phase);
            by_phase[Phase::ALL.iter().position(|&other| other == phase).unwrap()] += events.duration(kernel);
        }
        prop_assert_eq!(Phase::ALL.map(|phase| steps.time_of(phase)), by_phase);
        let total: i64 = found.kernels.iter().map(|&kernel| events.duration(kernel)).sum();
        prop_assert_eq!(by_phase.iter().sum::<i64>(), total);
        prop_assert_eq!(steps.time_by_source().iter().map(|&(_, time)| time).sum::<i64>(), total);
        let links = steps.links();
        let linked = links.on_thread + links.by_time + links.by_device_annotation + links.none;
        prop_assert_eq!(linked, found.kernels.len() as u64);

        // Steps are in order, and those of one thread do not overlap.
        prop_assert!(steps.steps().is_sorted_by_key(|step| step.start));
        for (at, step) in steps.steps().iter().enumerate() {
            prop_assert!((0.0..=1.0).contains(&step.confidence) && step.start <= step.end);
            let later = steps.steps()[at + 1..].iter().find(|other| other.track == step.track && step.track.is_some());
            prop_assert!(later.is_none_or(|other| step.end <= other.start), "{:?}", steps.steps());
        }
        // The same trace gives the same answer.
        let again = inference_phase::Steps::detect(&found.tree, &options);
        prop_assert_eq!(again.steps(), steps.steps());
    }
}
