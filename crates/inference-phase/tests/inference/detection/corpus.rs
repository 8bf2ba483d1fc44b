//! Recorded traces of engines, with and without what says their phases.
//!
//! The corpus is not part of the repository; `testdata` says where it lies and what its absence means.

use std::path::Path;

use inference_phase::Phase::{Decode, Mixed, Prefill, Unknown};
use inference_phase::{DetectOptions, Phase, Source, Steps};
use trace_ingest::{EventId, ReadOptions};
use trace2tree::{TraceTree, TreeOptions};

const BLIND: DetectOptions =
    DetectOptions { decode_threshold: 10, max_num_seqs: None, use_annotations: false, use_frames: true };
const NO_STACK: DetectOptions = DetectOptions { use_frames: false, ..BLIND };

/// Phases with the part of the device time that each has, of what was launched while recording, largest first; and all
/// of that time in microseconds. What was launched before has no phase.
fn shares(tree: &TraceTree, options: &DetectOptions) -> (Vec<(Phase, f64)>, f64) {
    let steps = Steps::detect(tree, options);
    let events = tree.trace().events();
    let time = |all: &[EventId]| all.iter().map(|&event| events.duration(event)).sum::<i64>();
    let (linked, unlinked) = (time(tree.linked_device_events()), time(tree.unlinked_device_events()));
    assert_eq!(Phase::ALL.iter().map(|&phase| steps.time_of(phase)).sum::<i64>(), linked + unlinked);
    let of_linked = |phase| steps.time_of(phase) - if phase == Unknown { unlinked } else { 0 };
    let mut shares: Vec<(Phase, f64)> = Phase::ALL
        .into_iter()
        .map(|phase| (phase, of_linked(phase) as f64 / linked as f64))
        .filter(|share| share.1 > 0.0)
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    (shares, tree.trace().to_microseconds(linked))
}

fn read(path: &Path) -> TraceTree {
    TraceTree::build(trace_ingest::read_path(path, &ReadOptions::default()).unwrap(), &TreeOptions::default())
}

#[test]
fn recorded_steps_are_found_with_and_without_annotations() {
    for (file, annotated, inferred, microseconds) in [
        ("inference/sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz", Decode, Decode, 9778.618),
        // Its attention has one kernel for prompts and generation.
        ("inference/vllm-prefilldecode-piecewise/graph_execution.json.gz", Mixed, Unknown, 156_085.793),
        // The model without its head, in a framework that keeps a dimension of requests.
        ("pytorch/h100-qwen1.5-0.5b/trace.json.gz", Prefill, Prefill, f64::NAN),
        ("pytorch/mi300-qwen1.5-0.5b/trace.json.gz", Prefill, Prefill, f64::NAN),
    ] {
        let Some(path) = testdata::corpus(file) else { continue };
        let tree = read(&path);
        for (options, phase) in
            [(&DetectOptions::default(), annotated), (&BLIND, inferred), (&NO_STACK, inferred)]
        {
            let (shares, total) = shares(&tree, options);
            assert!(shares[0].0 == phase && shares[0].1 > 0.9999, "{file} {options:?}: {shares:?}");
            assert!(microseconds.is_nan() || (total - microseconds).abs() < 1.0, "{file}: {total}");
        }
    }
}

/// A recommender and language models in training have lookups, attention and logits as a server has, and no phase.
#[test]
fn training_is_neither_prefill_nor_decode() {
    let generated = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated"));
    let corpus = ["kineto/integer-us-rank1/trace.json.gz"].into_iter().filter_map(testdata::corpus);
    let own = ["cuda_training_step.json.gz", "rocm_training_step.json.gz"].map(|file| generated.join(file));
    for path in own.into_iter().chain(corpus) {
        let tree = read(&path);
        for options in [DetectOptions::default(), BLIND, NO_STACK] {
            let (shares, _) = shares(&tree, &options);
            assert_eq!(shares, [(Unknown, 1.0)], "{}", path.display());
        }
    }
}

#[test]
fn annotated_steps_carry_their_source_and_load() {
    let mixed = testdata::corpus("inference/vllm-prefilldecode-piecewise/graph_execution.json.gz");
    let Some(mixed) = mixed else { return };
    let tree = read(&mixed);
    let steps = Steps::detect(&tree, &DetectOptions::default());
    let [step] = steps.steps() else { panic!("{:?}", steps.steps()) };
    assert_eq!((step.source, step.confidence, steps.inferred_share()), (Source::Annotation, 1.0, 0.0));
    let load = step.load;
    assert_eq!((load.context_requests, load.context_tokens), (Some(9), Some(8155)));
    assert_eq!((load.generation_requests, load.generation_tokens), (Some(37), Some(37)));
}

#[test]
fn models_of_images_have_no_phase() {
    for case in [
        "pytorch/h100-falconsai-vit/trace.json.gz",
        "pytorch/h100-owlv2-large/trace.json.gz",
        "inference/xdit-sd-3.5/profile_trace_rank_0.json.gz",
    ] {
        let Some(path) = testdata::corpus(case) else { continue };
        let (shares, _) = shares(&read(&path), &DetectOptions::default());
        // One of them encodes a text as well.
        assert!(shares[0].0 == Unknown && shares[0].1 > 0.99, "{case}: {shares:?}");
    }
}

#[test]
fn every_trace_of_the_corpus_keeps_its_device_time() {
    let Some(corpus) = testdata::corpus("pytorch") else { return };
    let mut seen = 0;
    for folder in std::fs::read_dir(corpus).unwrap() {
        let path = folder.unwrap().path().join("trace.json.gz");
        if path.is_file() {
            let tree = read(&path);
            for options in [&DetectOptions::default(), &NO_STACK] {
                // Fails when time is lost.
                let (shares, total) = shares(&tree, options);
                assert!(total == 0.0 || (shares.iter().map(|share| share.1).sum::<f64>() - 1.0).abs() < 1e-9);
            }
            seen += 1;
        }
    }
    assert!(seen > 0);
}
