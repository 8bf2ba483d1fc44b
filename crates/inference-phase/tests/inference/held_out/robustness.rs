//! Whatever a trace holds, nothing fails and every device event has exactly one phase.

use inference_phase::{DetectOptions, Phase, Steps};
use proptest::prelude::*;
use trace_ingest::{ArgumentValue, Category, EventArguments, TraceBuilder};
use trace2tree::{TraceTree, TreeOptions};

/// An event without regard for what could be.
#[derive(Clone, Debug)]
struct Event {
    category: usize,
    name: usize,
    row: (i64, i64),
    start: i64,
    duration: i64,
    correlation: Option<i64>,
    dims: Option<Vec<Vec<i64>>>,
    is_list: bool,
}

const CATEGORIES: [Category; 8] = [
    Category::CPU_OP,
    Category::CUDA_RUNTIME,
    Category::KERNEL,
    Category::GPU_MEMCPY,
    Category::GPU_MEMSET,
    Category::USER_ANNOTATION,
    Category::GPU_USER_ANNOTATION,
    Category::PYTHON_FUNCTION,
];

const NAMES: [&str; 26] = [
    "step[DECODE bs=32]",
    "step[EXTEND bs=0 toks=0]",
    "step[IDLE]",
    "execute_context_1(9)_generation_2(2)",
    "execute_context_99999999999999999999(1)_generation_1(1)",
    "execute_new_1_cached_3",
    "execute_1_context_1(sq1sk1sqsq1sqsk1)_generation_0(sq0sk0sqsq0sqsk0)",
    "aten::mm",
    "aten::addmm",
    "aten::embedding",
    "aten::argmax",
    "aten::topk",
    "aten::index",
    "_C::fused_add_rms_norm",
    "_C::cutlass_scaled_mm",
    "aten::_scaled_dot_product_flash_attention",
    "vllm::unified_attention_with_output",
    "cudaGraphLaunch",
    "cudaLaunchKernel",
    "Memcpy DtoH (Device -> Pinned)",
    "void paged_attention_ll4mi_QKV_mfma16_kernel<0>",
    "flash_fwd_kernel",
    "vllm/v1/worker/gpu_model_runner.py(2511): execute_model",
    "vllm/v1/worker/gpu_model_runner.py(2760): sample_tokens",
    "sglang/srt/x.py(1): forward_extend",
    "",
];

/// Extents that are none among those that are.
fn extent() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(0),
        Just(-1),
        Just(i64::MAX),
        Just(i64::MIN),
        Just(8192),
        Just(32_000),
        Just(128_256),
        1..64i64
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let small = || prop_oneof![4 => 0..40i64, 1 => -3..0i64];
    let id =
        prop::option::of(prop_oneof![6 => 0..12i64, 1 => Just(-1), 1 => Just(i64::MIN), 1 => Just(i64::MAX)]);
    let dims = prop::option::of(prop::collection::vec(prop::collection::vec(extent(), 0..5), 0..5));
    let row = (prop_oneof![Just(0), Just(1), Just(-1)], prop_oneof![Just(1), Just(7), Just(-7)]);
    (
        0..CATEGORIES.len(),
        0..NAMES.len(),
        row,
        small(),
        prop_oneof![2 => Just(0), 6 => 0..30i64],
        id,
        dims,
        any::<bool>(),
    )
        .prop_map(|(category, name, row, start, duration, correlation, dims, is_list)| Event {
            category,
            name,
            row,
            start,
            duration,
            correlation,
            dims,
            is_list,
        })
}

fn trace(all: &[Event]) -> trace_ingest::Trace {
    let mut builder = TraceBuilder::new();
    for event in all {
        let signature = event.dims.as_ref().map(|dims| {
            let list = |dims: &Vec<i64>| {
                ArgumentValue::List(dims.iter().map(|&dim| ArgumentValue::Int(dim)).collect())
            };
            // Now and then there is something else where shapes should be.
            let shapes = match event.is_list {
                true => ArgumentValue::List(dims.iter().map(list).collect()),
                false => ArgumentValue::Text("[]".into()),
            };
            builder.signature([Some(shapes), None, None, None])
        });
        let arguments =
            EventArguments { correlation: event.correlation, signature, ..EventArguments::default() };
        let track = builder.track(event.row.0, event.row.1);
        let category = CATEGORIES[event.category];
        builder.event(category, NAMES[event.name], track, event.start, event.duration, arguments);
    }
    builder.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_events_give_every_device_event_one_phase(
        all in prop::collection::vec(event(), 0..80),
        decode_threshold in prop_oneof![Just(i64::MIN), Just(i64::MAX), -2..20i64],
        max_num_seqs in prop_oneof![Just(None), Just(Some(i64::MIN)), Just(Some(i64::MAX)), (-2..20i64).prop_map(Some)],
        use_annotations: bool,
        use_frames: bool,
    ) {
        let tree = TraceTree::build(trace(&all), &TreeOptions::default());
        let steps = Steps::detect(&tree, &DetectOptions { decode_threshold, max_num_seqs, use_annotations, use_frames });
        let events = tree.trace().events();
        let device: Vec<_> = events.ids().filter(|&event| events.category(event).is_device()).collect();
        let of_phase = |phase| {
            device.iter().filter(|&&event| steps.phase_of(event) == phase).map(|&event| events.duration(event)).sum::<i64>()
        };
        for phase in Phase::ALL {
            prop_assert_eq!(of_phase(phase), steps.time_of(phase));
        }
        let all_time: i64 = device.iter().map(|&event| events.duration(event)).sum();
        prop_assert_eq!(Phase::ALL.into_iter().map(of_phase).sum::<i64>(), all_time);
        prop_assert_eq!(steps.time_by_source().iter().map(|&(_, time)| time).sum::<i64>(), all_time);
        for event in events.ids() {
            match steps.step_of(event) {
                Some(step) => prop_assert!(events.category(event).is_device() && step < steps.steps().len()),
                None => prop_assert_eq!(steps.phase_of(event), Phase::Unknown),
            }
        }
        let links = steps.links();
        let linked = links.on_thread + links.by_time + links.by_device_annotation + links.none;
        prop_assert_eq!(linked, device.len() as u64);
        for step in steps.steps() {
            prop_assert!(step.start <= step.end && (0.0..=1.0).contains(&step.confidence));
            prop_assert!(step.phase == Phase::Unknown || step.has_prompts == step.phase.bears_context());
        }
        let again = Steps::detect(&tree, &DetectOptions { decode_threshold, max_num_seqs, use_annotations, use_frames });
        prop_assert_eq!(again.steps(), steps.steps());
    }
}
