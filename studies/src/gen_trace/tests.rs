//! What holds for every generated trace, checked on small ones.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use inference_phase::split::{self, StepShape};
use iterations::LevelKind;
use serde_json::Value;
use trace_ingest::ReadOptions;

use super::*;

const SMALL: Options = Options {
    length: Length::Events(3_000),
    flavour: Flavour::Cuda,
    workload: Workload::Training,
    seed: 11,
    python_frames: true,
    layout: Layout::Lines,
    is_marked: true,
    plants: Plants { counters: false, leak: false, loses_memory_events: false },
};
const SERVING: Options = Options { workload: Workload::Serving, ..SMALL };
const FLAVOURS: [Flavour; 2] = [Flavour::Cuda, Flavour::Rocm];

fn bytes(options: Options) -> Vec<u8> {
    let mut out = Vec::new();
    generate(options, &mut out).expect("generated");
    out
}

fn events(options: Options) -> Vec<Value> {
    let mut document: Value = serde_json::from_slice(&bytes(options)).expect("valid JSON");
    match document["traceEvents"].take() {
        Value::Array(events) => events,
        other => panic!("traceEvents is {other}"),
    }
}

fn text<'e>(event: &'e Value, key: &str) -> &'e str {
    event[key].as_str().unwrap_or_default()
}

/// Nanoseconds, from the decimal text of a time.
fn nanoseconds(event: &Value, key: &str) -> u64 {
    (event[key].as_f64().expect(key) * 1000.0).round() as u64
}

fn category_events<'e>(events: &'e [Value], category: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| text(event, "cat") == category).collect()
}

/// Complete events of these categories, by row, as `(start, end)` in order of start.
fn rows(events: &[Value], categories: &[&str]) -> BTreeMap<(u64, u64), Vec<(u64, u64)>> {
    let mut rows: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for event in events.iter().filter(|event| categories.contains(&text(event, "cat"))) {
        let row = (event["pid"].as_u64().expect("pid"), event["tid"].as_u64().expect("tid"));
        let start = nanoseconds(event, "ts");
        rows.entry(row).or_default().push((start, start + nanoseconds(event, "dur")));
    }
    rows.values_mut().for_each(|spans| spans.sort_by_key(|&(start, end)| (start, std::cmp::Reverse(end))));
    rows
}

#[test]
fn number_of_events_is_exact_for_both_flavours_with_and_without_frames() {
    for flavour in FLAVOURS {
        for python_frames in [true, false] {
            for count in [100, 101, 137, 200, 999, 1_000, 3_000, 7_777] {
                for workload in [Workload::Training, Workload::Serving] {
                    let length = Length::Events(count);
                    let options = Options { length, flavour, python_frames, workload, ..SMALL };
                    assert_eq!(events(options).len() as u64, count, "{options:?}");
                }
            }
        }
    }
}

#[test]
fn number_of_events_is_exact_for_all_programs_with_and_without_marks() {
    for workload in Workload::ALL {
        for is_marked in [true, false] {
            for count in [101, 2_000] {
                let length = Length::Events(count);
                let options = Options { length, workload, is_marked, ..SMALL };
                assert_eq!(events(options).len() as u64, count, "{options:?}");
            }
        }
    }
}

#[test]
fn too_few_events_are_refused() {
    let error =
        generate(Options { length: Length::Events(99), ..SMALL }, &mut Vec::new()).expect_err("refused");
    assert_eq!(error.to_string(), "a trace has at least 100 events");
}

#[test]
fn same_seed_gives_the_same_bytes_and_another_seed_does_not() {
    assert_eq!(bytes(SMALL), bytes(SMALL));
    assert_ne!(bytes(SMALL), bytes(Options { seed: 12, ..SMALL }));
}

#[test]
fn compact_layout_holds_the_same_events_in_fewer_bytes() {
    let compact = Options { layout: Layout::Compact, ..SMALL };
    assert_eq!(events(compact), events(SMALL));
    assert!(bytes(compact).len() < bytes(SMALL).len());
    assert!(!bytes(compact).contains(&b'\n'));
}

#[test]
fn document_says_what_was_recorded_on_which_device() {
    for (flavour, device, version) in [
        (Flavour::Cuda, "NVIDIA H100 80GB HBM3", "cupti_version"),
        (Flavour::Rocm, "AMD Instinct MI300X", "roctracer_version"),
    ] {
        let document: Value =
            serde_json::from_slice(&bytes(Options { flavour, ..SMALL })).expect("valid JSON");
        assert_eq!(document["schemaVersion"], 1);
        assert_eq!(document["deviceProperties"][0]["name"], device);
        assert!(document[version].is_number());
        assert_eq!(document["distributedInfo"]["world_size"], 8);
        assert_eq!(document["distributedInfo"]["pg_config"][0]["ranks"].as_array().map(Vec::len), Some(8));
    }
}

#[test]
fn host_events_nest_on_every_thread() {
    let host = ["cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver"];
    for flavour in FLAVOURS {
        let rows = rows(&events(Options { flavour, ..SMALL }), &host);
        assert_eq!(rows.len(), 2, "main thread and autograd's");
        for spans in rows.values() {
            let mut open: Vec<(u64, u64)> = Vec::new();
            for &(start, end) in spans {
                open.retain(|outer| outer.1 > start);
                assert!(
                    open.iter().all(|outer| outer.0 < start && end < outer.1),
                    "{start} {end} in {open:?}"
                );
                open.push((start, end));
            }
        }
    }
}

#[test]
fn work_on_one_stream_does_not_overlap_and_starts_after_its_launch() {
    for flavour in FLAVOURS {
        let events = events(Options { flavour, ..SMALL });
        let rows = rows(&events, &["kernel", "gpu_memcpy", "gpu_memset"]);
        assert_eq!(rows.len(), 2, "compute and communication");
        for spans in rows.values() {
            assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
        let launches: BTreeMap<u64, u64> = events
            .iter()
            .filter(|event| matches!(text(event, "cat"), "cuda_runtime" | "cuda_driver"))
            .map(|event| {
                (event["args"]["correlation"].as_u64().expect("correlation"), nanoseconds(event, "ts"))
            })
            .collect();
        for kernel in category_events(&events, "kernel") {
            let correlation = kernel["args"]["correlation"].as_u64().expect("correlation");
            assert!(nanoseconds(kernel, "ts") > launches[&correlation]);
        }
    }
}

#[test]
fn collectives_overlap_with_computation() {
    for flavour in FLAVOURS {
        let rows = rows(&events(Options { flavour, ..SMALL }), &["kernel"]);
        let mut streams = rows.values();
        let (first, second) = (streams.next().expect("a stream"), streams.next().expect("another"));
        assert!(first.iter().any(|a| second.iter().any(|b| a.0 < b.1 && b.0 < a.1)));
    }
}

#[test]
fn correlation_ids_are_unique_but_for_the_kernels_of_a_graph() {
    for (flavour, graph_launch) in [(Flavour::Cuda, "cudaGraphLaunch"), (Flavour::Rocm, "hipGraphLaunch")] {
        let events = events(Options { flavour, ..SMALL });
        let correlation = |event: &Value| event["args"]["correlation"].as_u64().expect("correlation");
        let mut calls = BTreeSet::new();
        let mut graphs = BTreeSet::new();
        for category in ["cuda_runtime", "cuda_driver"] {
            for call in category_events(&events, category) {
                assert!(calls.insert(correlation(call)), "{call}");
                if text(call, "name") == graph_launch {
                    graphs.insert(correlation(call));
                }
            }
        }
        let mut kernels: BTreeMap<u64, usize> = BTreeMap::new();
        for kernel in category_events(&events, "kernel") {
            assert!(calls.contains(&correlation(kernel)));
            *kernels.entry(correlation(kernel)).or_default() += 1;
        }
        assert!(!graphs.is_empty());
        for (id, count) in kernels {
            assert_eq!(count > 1, graphs.contains(&id), "{count} kernels of {id}");
        }
    }
}

#[test]
fn flows_follow_the_recorders_rules() {
    for (flavour, without_start) in [
        (Flavour::Cuda, &["cudaEventRecord", "cudaStreamIsCapturing", "cudaFuncSetAttribute"][..]),
        (Flavour::Rocm, &["hipMemsetAsync", "hipGraphLaunch", "hipDeviceSynchronize", "hipEventRecord"][..]),
    ] {
        let events = events(Options { flavour, ..SMALL });
        let mut flows: BTreeMap<(u64, u64, u64), Vec<String>> = BTreeMap::new();
        for flow in category_events(&events, "ac2g") {
            let key = ["id", "pid", "tid"].map(|key| flow[key].as_u64().expect(key));
            flows.entry(key.into()).or_default().push(text(flow, "ph").to_owned());
        }
        for event in &events {
            let on_device = match text(event, "cat") {
                "cuda_runtime" | "cuda_driver" => false,
                "kernel" | "gpu_memcpy" | "gpu_memset" => true,
                _ => continue,
            };
            let key = [&event["args"]["correlation"], &event["pid"], &event["tid"]]
                .map(|value| value.as_u64().expect("number"));
            let name = text(event, "name");
            let phases = &flows[&key.into()];
            if on_device {
                assert!(phases.iter().all(|phase| phase == "f"), "{name}: {phases:?}");
            } else if name.contains("Launch") && !name.contains("Graph") || name.contains("Memcpy") {
                assert_eq!(phases, &["s"], "{name}");
            } else if without_start.contains(&name) {
                assert_eq!(phases, &["f"], "{name}");
            }
        }
    }
}

#[test]
fn backward_ops_bear_the_sequence_number_of_an_earlier_op_on_the_main_thread() {
    let events = events(SMALL);
    let mut forward: BTreeMap<u64, u64> = BTreeMap::new();
    let mut backward: BTreeMap<u64, u64> = BTreeMap::new();
    for op in category_events(&events, "cpu_op") {
        let Some(number) = op["args"]["Sequence number"].as_u64() else { continue };
        if op["args"]["Fwd thread id"] == 0 {
            forward.insert(number, nanoseconds(op, "ts"));
        } else if text(op, "name").starts_with("autograd::engine::evaluate_function: ") {
            backward.insert(number, nanoseconds(op, "ts"));
        }
    }
    assert!(backward.len() > 20);
    for (number, start) in &backward {
        assert!(forward[number] < *start);
    }
    assert_eq!(category_events(&events, "fwdbwd").len(), 2 * backward.len());
}

#[test]
fn python_frames_name_their_parent_and_can_be_left_out() {
    let events = events(SMALL);
    let frames = category_events(&events, "python_function");
    let ids: BTreeSet<u64> =
        frames.iter().map(|frame| frame["args"]["Python id"].as_u64().expect("id")).collect();
    assert_eq!(ids.len(), frames.len());
    let parents: Vec<&Value> = frames.iter().map(|frame| &frame["args"]["Python parent id"]).collect();
    assert_eq!(parents.iter().filter(|parent| parent.is_null()).count(), 1);
    assert!(parents.iter().filter_map(|parent| parent.as_u64()).all(|parent| ids.contains(&parent)));
    assert!(frames.iter().any(|frame| {
        text(frame, "name").starts_with("nn.Module: Linear_") && frame["args"]["Python module id"].is_u64()
    }));
    let without = super::tests::events(Options { python_frames: false, ..SMALL });
    assert!(category_events(&without, "python_function").is_empty());
}

#[test]
fn whole_steps_hold_every_kind_of_event() {
    for flavour in FLAVOURS {
        let events = events(Options { flavour, ..SMALL });
        for category in [
            "user_annotation",
            "gpu_user_annotation",
            "gpu_memcpy",
            "gpu_memset",
            "cpu_instant_event",
            "Trace",
        ] {
            assert!(!category_events(&events, category).is_empty(), "{category}");
        }
        let names: BTreeSet<&str> = events.iter().map(|event| text(event, "name")).collect();
        for name in [
            "aten::linear",
            "aten::addmm",
            "aten::_flash_attention_forward",
            "aten::native_layer_norm",
            "aten::gelu",
            "aten::copy_",
            "aten::zero_",
            "aten::fill_",
            "autograd::engine::evaluate_function: AddmmBackward0",
            "aten::_fused_adamw_",
            "c10d::allreduce_",
            "record_param_comms",
            "Iteration Start: PyTorch Profiler",
        ] {
            assert!(names.contains(name), "{name}");
        }
        let collective = category_events(&events, "kernel")
            .into_iter()
            .find(|kernel| text(kernel, "name").starts_with("nccl"))
            .expect("a collective");
        assert_eq!(collective["args"]["Collective name"], "allreduce");
        assert_eq!(collective["args"]["Process Group Ranks"], "[0, 1, 2, 3, 4, 5, 6, 7]");
    }
}

#[test]
fn times_are_microseconds_of_thirteen_digits_with_three_decimals() {
    let text = String::from_utf8(bytes(SMALL)).expect("text");
    let mut seen = 0;
    for start in text.split("\"ts\": ").skip(1) {
        let number = start.split([',', '\n']).next().expect("number");
        let (whole, decimals) = number.split_once('.').expect("decimals");
        assert_eq!((whole.len(), decimals.len()), (13, 3), "{number}");
        seen += 1;
    }
    assert_eq!(seen, 3_000);
}

#[test]
fn served_steps_are_annotated_and_generate_by_graph() {
    for flavour in FLAVOURS {
        let events = events(Options { flavour, ..SERVING });
        let steps: Vec<&Value> = category_events(&events, "user_annotation");
        let [mut prompts, mut generation, mut both] = [0; 3];
        for step in &steps {
            let name = text(step, "name");
            let inside = |event: &&Value| {
                nanoseconds(event, "ts") > nanoseconds(step, "ts")
                    && nanoseconds(event, "ts") < nanoseconds(step, "ts") + nanoseconds(step, "dur")
                    && event["pid"] == step["pid"]
                    && event["tid"] == step["tid"]
            };
            let count = |part: &str| {
                events.iter().filter(inside).filter(|event| text(event, "name").contains(part)).count()
            };
            let kind = match (name.contains("context_0("), name.contains("generation_0(")) {
                (false, true) => &mut prompts,
                (true, false) => &mut generation,
                (false, false) => &mut both,
                (true, true) => panic!("{name} does nothing"),
            };
            *kind += 1;
            let graphs = count("GraphLaunch");
            assert_eq!(graphs, usize::from(name.contains("context_0(")), "{name}");
            assert_eq!(count("vllm::unified_attention_with_output"), 4 * (1 - graphs), "{name}");
            assert_eq!(count("aten::argmax"), 1, "{name}");
        }
        assert!(prompts >= 2 && generation >= 6 && both >= 1, "{prompts} {generation} {both}");
        let launched: BTreeSet<u64> = category_events(&events, "kernel")
            .iter()
            .map(|kernel| kernel["args"]["correlation"].as_u64().expect("correlation"))
            .collect();
        assert!(launched.len() < category_events(&events, "kernel").len(), "graphs launch many kernels");
    }
}

/// A whole run and the truth about it.
fn run(workload: Workload, seed: u64, is_marked: bool) -> (Vec<Value>, Truth) {
    let mut out = Vec::new();
    let truth = write_run(Run { workload, seed }, is_marked, &mut out).expect("generated");
    let mut document: Value = serde_json::from_slice(&out).expect("valid JSON");
    match document["traceEvents"].take() {
        Value::Array(events) => (events, truth),
        other => panic!("traceEvents is {other}"),
    }
}

const SEEDS: std::ops::Range<u64> = 0..4;

/// Host start of the launch and duration of everything on the device, in nanoseconds.
fn launched(events: &[Value]) -> Vec<(u64, u64)> {
    let correlation = |event: &Value| event["args"]["correlation"].as_u64().expect("correlation");
    let calls: BTreeMap<u64, u64> = events
        .iter()
        .filter(|event| matches!(text(event, "cat"), "cuda_runtime" | "cuda_driver"))
        .map(|event| (correlation(event), nanoseconds(event, "ts")))
        .collect();
    events
        .iter()
        .filter(|event| matches!(text(event, "cat"), "kernel" | "gpu_memcpy" | "gpu_memset"))
        .map(|event| (calls[&correlation(event)], nanoseconds(event, "dur")))
        .collect()
}

#[test]
fn truth_gives_each_iteration_the_device_time_that_was_launched_in_it() {
    for workload in Workload::ALL {
        for seed in SEEDS {
            let (events, truth) = run(workload, seed, true);
            let launched = launched(&events);
            let inside = |stretch: truth::Stretch| -> u64 {
                let is_inside = |launch: &u64| (stretch.start..stretch.end).contains(launch);
                launched.iter().filter(|(launch, _)| is_inside(launch)).map(|(_, time)| time).sum()
            };
            assert!(truth.iterations_at(truth.steps).count() > 1, "{workload:?} {seed}");
            for iteration in &truth.iterations {
                assert!(iteration.whole && iteration.stretch.device > 0, "{workload:?} {seed}");
                assert_eq!(iteration.stretch.device, inside(iteration.stretch), "{workload:?} {seed}");
            }
            for insertion in &truth.insertions {
                assert_eq!(insertion.stretch.device, inside(insertion.stretch), "{workload:?} {seed}");
            }
            let steps: u64 = truth.iterations_at(truth.steps).map(|step| step.stretch.device).sum();
            let inserted: u64 = truth.insertions.iter().map(|insertion| insertion.stretch.device).sum();
            let all: u64 = launched.iter().map(|(_, time)| time).sum();
            assert_eq!(steps + inserted + truth.device_outside, all, "{workload:?} {seed}");
        }
    }
}

#[test]
fn steps_of_the_truth_follow_each_other_and_hold_their_parts() {
    for workload in Workload::ALL {
        for seed in SEEDS {
            let (_, truth) = run(workload, seed, false);
            let mut stretches: Vec<truth::Stretch> =
                truth.iterations_at(truth.steps).map(|step| step.stretch).collect();
            stretches.extend(truth.insertions.iter().map(|insertion| insertion.stretch));
            stretches.sort_by_key(|stretch| stretch.start);
            assert!(stretches.windows(2).all(|pair| pair[0].end < pair[1].start), "{workload:?} {seed}");
            let mut parts = BTreeMap::new();
            for part in &truth.iterations {
                let Some(within) = part.within else { continue };
                let whole = &truth.iterations[within];
                assert!(whole.stretch.start <= part.stretch.start && part.stretch.end <= whole.stretch.end);
                assert!(part.stretch.device < whole.stretch.device);
                *parts.entry(within).or_insert(0) += 1;
            }
            let has_parts = matches!(workload, Workload::TrainingAccumulation | Workload::Diffusion);
            assert_eq!(parts.len(), if has_parts { truth.iterations_at(truth.steps).count() } else { 0 });
            assert!(parts.values().all(|&count| count > 1), "{workload:?} {seed}");
        }
    }
}

#[test]
fn marks_are_around_the_steps_of_the_truth() {
    for workload in Workload::ALL {
        for seed in SEEDS {
            let (events, truth) = run(workload, seed, true);
            let is_mark = |name: &str| name.starts_with("ProfilerStep#") || name.starts_with("execute_");
            let mut marks: Vec<(u64, u64)> = category_events(&events, "user_annotation")
                .into_iter()
                .filter(|event| is_mark(text(event, "name")))
                .map(|event| {
                    let start = nanoseconds(event, "ts");
                    (start, start + nanoseconds(event, "dur"))
                })
                .collect();
            marks.sort_unstable();
            let steps: Vec<&truth::TrueIteration> = truth.iterations_at(truth.steps).collect();
            assert_eq!(marks.len(), steps.len(), "{workload:?} {seed}");
            for ((start, end), step) in marks.into_iter().zip(steps) {
                assert!(start < step.stretch.start && step.stretch.end < end, "{workload:?} {seed}");
            }
        }
    }
}

#[test]
fn unmarked_runs_are_the_same_without_any_mark() {
    let is_mark = |event: &Value| matches!(text(event, "cat"), "user_annotation" | "gpu_user_annotation");
    for workload in Workload::ALL {
        for seed in SEEDS {
            let (mut marked, truth) = run(workload, seed, true);
            let (unmarked, same_truth) = run(workload, seed, false);
            assert!(marked.iter().any(is_mark));
            marked.retain(|event| !is_mark(event));
            assert!(marked == unmarked, "{workload:?} {seed}");
            assert!(!unmarked.iter().any(|event| text(event, "name").starts_with("ProfilerStep")));
            assert_eq!(format!("{truth:?}"), format!("{same_truth:?}"));
        }
    }
}

#[test]
fn programs_do_what_they_are_named_after() {
    let names = |events: &[Value]| -> Vec<String> {
        events.iter().map(|event| text(event, "name").to_owned()).collect()
    };
    for seed in SEEDS {
        let of = |workload| run(workload, seed, false);
        let has = |events: &[Value], part: &str| names(events).iter().any(|name| name.contains(part));
        let (events, _) = of(Workload::Recommender);
        assert!(has(&events, "split_embedding_codegen_forward") && has(&events, "c10d::alltoall_base_"));
        assert!(has(&events, "autograd::engine::evaluate_function: BmmBackward0"));
        let (events, truth) = of(Workload::Diffusion);
        assert!(
            has(&events, "aten::upsample_nearest2d")
                && has(&events, "aten::_scaled_dot_product_flash_attention")
        );
        assert!(truth.iterations_at(LevelKind::DenoisingStep).count() >= 8);
        let (_, truth) = of(Workload::TrainingSlowStart);
        let steps: Vec<u64> =
            truth.iterations_at(LevelKind::Step).map(|step| step.stretch.end - step.stretch.start).collect();
        assert!(steps[0] > 30_000_000 && steps[1..].iter().all(|step| steps[0] > *step), "{steps:?}");
    }
    let insertions = |workload, what| {
        let inserted = |seed| run(workload, seed, false).1.insertions.iter().any(|one| one.what == what);
        SEEDS.filter(|&seed| inserted(seed)).count()
    };
    assert!(insertions(Workload::TrainingEvaluation, truth::Inserted::Evaluation) >= 3);
    assert!(insertions(Workload::TrainingCheckpoint, truth::Inserted::Checkpoint) >= 3);
    let phases: BTreeSet<&str> = SEEDS
        .flat_map(|seed| run(Workload::ServingSteady, seed, false).1.iterations)
        .filter_map(|step| step.phase().map(|phase| phase.as_str()))
        .collect();
    assert_eq!(phases.into_iter().collect::<Vec<_>>(), ["Decode", "Mixed", "Prefill"]);
}

#[test]
fn evaluation_records_no_gradients() {
    let (events, truth) = run(Workload::TrainingEvaluation, 0, false);
    let evaluation = truth.insertions.iter().find(|one| one.what == truth::Inserted::Evaluation);
    let truth::Stretch { start, end, .. } = evaluation.expect("an evaluation").stretch;
    let ops: Vec<&Value> = category_events(&events, "cpu_op")
        .into_iter()
        .filter(|op| (start..end).contains(&nanoseconds(op, "ts")))
        .collect();
    assert!(ops.iter().any(|op| text(op, "name") == "aten::addmm"));
    assert!(ops.iter().all(|op| op["args"]["Sequence number"].is_null()));
}

#[test]
fn a_run_has_as_many_steps_as_were_asked_for() {
    for workload in Workload::ALL {
        let options = Options { length: Length::Steps(Some(3)), workload, ..SMALL };
        let truth = generate(options, &mut Vec::new()).expect("generated");
        assert_eq!(truth.iterations_at(truth.steps).count(), 3, "{workload:?}");
    }
}

#[test]
fn a_step_that_the_trace_cuts_is_not_whole() {
    for workload in Workload::ALL {
        let options = Options { length: Length::Events(6_000), workload, ..SMALL };
        let truth = generate(options, &mut Vec::new()).expect("generated");
        let steps: Vec<bool> = truth.iterations_at(truth.steps).map(|step| step.whole).collect();
        assert!(!steps.is_empty(), "{workload:?}");
        assert!(steps[..steps.len() - 1].iter().all(|whole| *whole), "{workload:?}");
    }
}

#[test]
fn truth_is_written_as_json() {
    let truth = run(Workload::ServingAgentic, 3, false).1;
    let mut out = Vec::new();
    truth.write("serving-agentic", 3, &mut out).expect("written");
    let written: Value = serde_json::from_slice(&out).expect("valid JSON");
    assert_eq!(written["program"], "language model");
    assert_eq!(written["steps"], "engine step");
    let first = &truth.iterations[0];
    let json = &written["iterations"][0];
    assert_eq!(json["start_ns"], first.stretch.start);
    assert_eq!(json["device_ns"], first.stretch.device);
    assert_eq!(json["phase"], "Prefill");
    assert!(json["new_tokens"].as_u64() > Some(100) && json["whole"] == true);
}

#[test]
fn all_device_work_of_a_run_is_linked_to_its_launch() {
    let mut file = tempfile::Builder::new().suffix(".json").tempfile().expect("file");
    for workload in Workload::ALL {
        for seed in SEEDS {
            file.as_file_mut().set_len(0).expect("emptied");
            io::Seek::rewind(&mut file).expect("rewound");
            write_run(Run { workload, seed }, true, &mut file).expect("generated");
            let trace =
                trace_ingest::read_path(file.path(), &trace_ingest::ReadOptions::default()).expect("read");
            assert!(trace.warnings().is_empty(), "{workload:?} {seed}: {:?}", trace.warnings());
            let tree = trace2tree::TraceTree::build(trace, &trace2tree::TreeOptions::default());
            assert!(tree.warnings().is_empty(), "{workload:?} {seed}: {:?}", tree.warnings());
            assert!(tree.unlinked_device_events().is_empty(), "{workload:?} {seed}");
            assert!(!tree.linked_device_events().is_empty(), "{workload:?} {seed}");
        }
    }
}

#[test]
fn the_command_of_a_run_writes_the_same_trace() {
    use clap::Parser;
    #[derive(Parser)]
    struct Parsed {
        #[command(flatten)]
        arguments: Arguments,
    }
    let folder = tempfile::tempdir().expect("folder");
    for (workload, seed) in [(Workload::Diffusion, 2), (Workload::ServingSteady, 5)] {
        let given = Run { workload, seed };
        let command = given.command(false);
        let path = folder.path().join("trace.json");
        let words = command.split(' ').skip(2).chain(["--out", path.to_str().expect("text")]);
        let parsed = Parsed::try_parse_from(words).unwrap_or_else(|error| panic!("{command}: {error}"));
        super::run(&parsed.arguments).expect("written");
        let mut expected = Vec::new();
        write_run(given, false, &mut expected).expect("generated");
        assert!(std::fs::read(&path).expect("read") == expected, "{command}");
    }
}

/// The traces kept in the repository; `testdata/generated/README.md` gives the same commands.
#[test]
fn kept_traces_are_those_that_the_generator_writes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/generated");
    let training = Options { length: Length::Events(3_060), seed: 1, ..SMALL };
    for (name, options) in [
        ("cuda_training_step.json.gz", training),
        ("rocm_training_step.json.gz", Options { flavour: Flavour::Rocm, ..training }),
        ("cuda_serving.json.gz", Options { length: Length::Events(2_000), seed: 1, ..SERVING }),
    ] {
        let file = File::open(folder.join(name)).expect(name);
        let mut kept = Vec::new();
        flate2::read::GzDecoder::new(file).read_to_end(&mut kept).expect(name);
        assert!(kept == bytes(options), "{name} differs: write it again as its README says");
    }
}

/// Windows of agents' steps are as near to the mix of all as the README of inference-phase says, and nearer than as many
/// steps in a row.
#[test]
fn windows_of_agents_have_the_mix_of_their_steps() {
    const LENGTH: usize = 8;
    const SEEDS: u64 = 20;
    let (mut of_windows, mut in_a_row) = ([0.0; 3], [0.0; 3]);
    for seed in 0..SEEDS {
        let mut file = tempfile::Builder::new().suffix(".json").tempfile().expect("file");
        let run = Run { workload: Workload::ServingAgentic, seed };
        let truth = write_run(run, true, &mut file).expect("written");
        let trace = trace_ingest::read_path(file.path(), &ReadOptions::default()).expect("read");
        let steps = split::annotated_steps(&trace);
        let batches = truth.iterations_at(truth.steps).filter_map(|step| step.batch);
        for (step, batch) in steps.iter().zip(batches) {
            let statistics = step.work.statistics.expect("statistics");
            let cached = [statistics.context, statistics.generation].map(|of| of.keys - of.queries);
            let found = [step.work.requests(), step.work.batch_size, cached.iter().sum()];
            let real = [batch.requests(), batch.tokens(), batch.cached_tokens];
            assert_eq!(found.map(|count| count as u64), real);
        }
        let shapes: Vec<_> = steps.iter().map(|step| StepShape::new(&step.work)).collect();
        let windows = split::mix_windows(&shapes, LENGTH, of_windows.len());
        for (at, (of_windows, in_a_row)) in of_windows.iter_mut().zip(&mut in_a_row).enumerate() {
            // Where another window would not bring the mix nearer, there is none.
            let last = windows.get(at).or(windows.last()).expect("a window");
            *of_windows += last.distance.together / SEEDS as f64;
            let first = &shapes[..(LENGTH * (at + 1)).min(shapes.len())];
            *in_a_row += split::distance(first, &shapes) / SEEDS as f64;
        }
    }
    println!("mean distances of windows of {LENGTH} steps {of_windows:.3?}, in a row {in_a_row:.3?}");
    for (found, said) in
        of_windows.into_iter().chain(in_a_row).zip([0.357, 0.251, 0.187, 0.695, 0.455, 0.294])
    {
        assert!((found - said).abs() < 0.001, "{of_windows:?} {in_a_row:?}");
    }
}

/// What the allocator did, in the order of time.
fn allocations(options: Options) -> Vec<Value> {
    let mut found: Vec<Value> =
        events(options).into_iter().filter(|event| text(event, "name") == "[memory]").collect();
    found.sort_by_key(|event| (nanoseconds(event, "ts"), event["args"]["Ev Idx"].as_u64()));
    found
}

fn argument(event: &Value, key: &str) -> i64 {
    event["args"][key].as_i64().expect(key)
}

/// Changes of the total that the size of the block does not explain.
fn breaks(allocations: &[Value]) -> usize {
    let is_break = |pair: &&[Value]| {
        let change = argument(&pair[1], "Total Allocated") - argument(&pair[0], "Total Allocated");
        change != argument(&pair[1], "Bytes")
    };
    allocations.windows(2).filter(is_break).count()
}

#[test]
fn every_deallocation_is_of_a_live_block_and_every_total_is_the_sum() {
    for (flavour, device_type) in [(Flavour::Cuda, 1), (Flavour::Rocm, 6)] {
        for count in [500, 3_001, 9_000] {
            let allocations = allocations(Options { flavour, length: Length::Events(count), ..SMALL });
            assert_eq!(breaks(&allocations), 0, "{flavour:?} {count}");
            let mut live: BTreeMap<i64, i64> = BTreeMap::new();
            for event in &allocations {
                let (bytes, address) = (argument(event, "Bytes"), argument(event, "Addr"));
                match bytes {
                    0.. => assert_eq!(live.insert(address, bytes), None, "{event}"),
                    _ => assert_eq!(live.remove(&address), Some(-bytes), "{event}"),
                }
                assert_eq!(argument(event, "Device Type"), device_type);
                let slack = argument(event, "Total Reserved") - argument(event, "Total Allocated");
                assert!(slack >= 0, "{event}");
            }
            let highest = |key| allocations.iter().map(|event| argument(event, key)).max().unwrap_or(0);
            assert!(highest("Total Reserved") < highest("Total Allocated") + (20 << 20));
        }
    }
}

#[test]
fn leaks_lost_events_and_counters_are_planted_when_asked_for() {
    let length = Length::Steps(Some(5));
    let sound = Options { length, ..SMALL };
    let end = |options| argument(allocations(options).last().expect("allocations"), "Total Allocated");
    let leaking = Options { plants: Plants { leak: true, ..Plants::default() }, ..sound };
    assert_eq!(end(leaking) - end(sound), 5 * (4 << 20));
    assert_eq!(breaks(&allocations(leaking)), 0);

    let lossy = Options { plants: Plants { loses_memory_events: true, ..Plants::default() }, ..sound };
    let lost = allocations(sound).len() - allocations(lossy).len();
    assert!(lost > 0 && lost.abs_diff(breaks(&allocations(lossy))) <= 1, "{lost}");

    let counting = Options { plants: Plants { counters: true, ..Plants::default() }, ..sound };
    let samples: Vec<Value> = events(counting).into_iter().filter(|event| text(event, "ph") == "C").collect();
    let powers: Vec<&Value> = samples.iter().filter(|sample| text(sample, "name") == "Power (W)").collect();
    assert!(powers.len() > 20 && 2 * powers.len() == samples.len());
    for pair in powers.windows(2) {
        assert_eq!(nanoseconds(pair[1], "ts") - nanoseconds(pair[0], "ts"), 1_000_000);
        assert!(pair[0]["args"][""].is_number() && text(pair[0], "pid") == "GPU 0 Counters");
    }
}
