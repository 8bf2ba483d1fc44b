//! Iterations of real recordings. The numbers of marked steps were counted in the files' text, those of other
//! iterations in what the files say of the program: batches of its data loader, calls of its model.

use std::path::Path;

use iterations::{DetectOptions, Iterations, Level, LevelKind, Reason};
use testdata::corpus;
use trace_ingest::{ReadOptions, read_path};
use trace2tree::{TraceTree, TreeOptions};

const STRIPPED: DetectOptions =
    DetectOptions { use_recorded_steps: false, use_annotations: false, use_frames: true };
const WITHOUT_FRAMES: DetectOptions = DetectOptions { use_frames: false, ..STRIPPED };

fn tree(path: &Path) -> TraceTree {
    let trace = read_path(path, &ReadOptions::default()).unwrap();
    TraceTree::build(trace, &TreeOptions { python_frames: true, ..TreeOptions::default() })
}

fn of_project(name: &str) -> TraceTree {
    tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name))
}

fn count(found: &Iterations) -> usize {
    found.steps().map_or(0, |steps| steps.iterations.len())
}

/// Numbers of steps as recorded, without marks and annotations, and without Python frames too.
fn counts(tree: &TraceTree) -> [usize; 3] {
    [DetectOptions::default(), STRIPPED, WITHOUT_FRAMES]
        .map(|options| count(&Iterations::detect(tree, &options)))
}

fn level(found: &Iterations, kind: LevelKind) -> &Level {
    found.levels().iter().find(|level| level.kind == kind).unwrap()
}

/// Largest distance between boundaries of whole steps, as a share of the median step.
fn largest_error(tree: &TraceTree) -> f64 {
    let [marked, found] = [DetectOptions::default(), WITHOUT_FRAMES]
        .map(|options| Iterations::detect(tree, &options).steps().unwrap().iterations.clone());
    let mut lengths: Vec<i64> = marked.iter().map(|step| step.end - step.start).collect();
    lengths.sort_unstable();
    let both = marked.iter().zip(&found).filter(|(marked, _)| marked.whole);
    let distance = both.map(|(marked, found)| (marked.start - found.start).abs()).max().unwrap();
    distance as f64 / lengths[lengths.len() / 2] as f64
}

#[test]
fn marked_training_has_as_many_steps_without_its_marks() {
    for (case, steps) in [("kineto/pytorch-1.9-resnet50", 6), ("kineto/integer-us-rank1", 2)] {
        let Some(folder) = corpus(case) else { return };
        let tree = tree(&folder.join("trace.json.gz"));
        assert_eq!(counts(&tree), [steps; 3], "{case}");
    }
}

#[test]
fn boundaries_without_marks_are_those_of_the_marks() {
    for case in ["kineto/pytorch-1.9-resnet50", "kineto/integer-us-rank1"] {
        let Some(folder) = corpus(case) else { return };
        let error = largest_error(&tree(&folder.join("trace.json.gz")));
        assert!(error < 0.01, "{case}: {error}");
    }
}

#[test]
fn one_pass_of_a_model_is_one_marked_step_and_no_step_without_the_mark() {
    for case in [
        "h100-falconsai-vit",
        "h100-qwen1.5-0.5b",
        "mi300-bert-small",
        "mi300-qwen1.5-0.5b",
        "mi300-timesformer",
    ] {
        let Some(folder) = corpus(&format!("pytorch/{case}")) else { return };
        let tree = tree(&folder.join("trace.json.gz"));
        assert_eq!(counts(&tree), [1, 0, 0], "{case}");
        for options in [STRIPPED, WITHOUT_FRAMES] {
            let found = Iterations::detect(&tree, &options);
            assert_eq!(found.reason(), &Reason::SinglePass(Some(LevelKind::Layer)), "{case}");
        }
    }
}

#[test]
fn five_batches_in_one_recorded_step_are_a_level_below() {
    let Some(folder) = corpus("pytorch/h100-owlv2-large") else { return };
    let tree = tree(&folder.join("trace.json.gz"));
    assert_eq!(counts(&tree), [1, 5, 5]);
    let batches = Iterations::detect(&tree, &DetectOptions::default());
    let batches = &level(&batches, LevelKind::Pass).iterations;
    let found = Iterations::detect(&tree, &WITHOUT_FRAMES);
    // The loader was called a sixth time and had no batch.
    for (batch, pass) in batches.iter().zip(&found.steps().unwrap().iterations) {
        let length = (batch.end - batch.start) as f64;
        assert!((batch.start - pass.start).abs() as f64 <= 0.01 * length);
    }
}

#[test]
fn a_single_image_has_its_denoising_steps() {
    let Some(folder) = corpus("inference/xdit-sd-3.5") else { return };
    let tree = tree(&folder.join("profile_trace_rank_0.json.gz"));
    assert_eq!(counts(&tree), [1, 4, 4]);
    let found = Iterations::detect(&tree, &DetectOptions::default());
    assert_eq!(found.program(), iterations::Program::Diffusion);
    assert_eq!(level(&found, LevelKind::DenoisingStep).iterations.len(), 4);
    assert_eq!(Iterations::detect(&tree, &STRIPPED).reason(), &Reason::OneImage);
}

#[test]
fn engines_steps_are_those_that_they_annotate() {
    for (case, file) in [
        ("inference/sglang-qwen3-8b-decode", "sglang_Qwen3-8B_decode.json.gz"),
        ("inference/vllm-prefilldecode-piecewise", "graph_execution.json.gz"),
    ] {
        let Some(folder) = corpus(case) else { return };
        let tree = tree(&folder.join(file));
        assert_eq!(counts(&tree), [1, 0, 0], "{case}");
        let found = Iterations::detect(&tree, &DetectOptions::default());
        assert_eq!(found.steps().unwrap().kind, LevelKind::EngineStep);
        assert_eq!(found.program(), iterations::Program::LanguageModel);
    }
}

#[test]
fn graphs_that_an_engine_captures_are_no_steps() {
    let Some(folder) = corpus("inference/vllm-prefilldecode-piecewise") else { return };
    let captured =
        std::fs::read_dir(folder.join("capture_traces")).unwrap().map(|entry| entry.unwrap().path());
    let trace = captured.filter(|path| path.extension().is_some_and(|is| is == "gz")).last().unwrap();
    let tree = tree(&trace);
    assert_eq!(counts(&tree), [0; 3]);
    assert_eq!(Iterations::detect(&tree, &WITHOUT_FRAMES).reason(), &Reason::Capture);
}

#[test]
fn layers_that_are_tried_three_times_over_are_three_iterations() {
    let Some(folder) = corpus("pytorch/normalization-layers") else { return };
    assert_eq!(counts(&tree(&folder.join("trace.json.gz"))), [3; 3]);
}

#[test]
fn kernels_of_unknown_origin_have_no_sure_period() {
    let Some(folder) = corpus("pytorch/mi210-gpu-only") else { return };
    assert_eq!(counts(&tree(&folder.join("trace.json.gz"))), [0; 3]);
}

#[test]
fn runs_of_the_program_that_a_tpu_executes_most_are_iterations() {
    let Some(folder) = corpus("jax/tpu-v6e-inference") else { return };
    let found = Iterations::detect(&tree(&folder.join("trace.xplane.pb")), &DetectOptions::default());
    let steps = found.steps().unwrap();
    assert_eq!(
        (steps.kind, steps.name.as_str(), steps.iterations.len()),
        (LevelKind::ProgramRun, "jit_f", 100)
    );
}

#[test]
fn calls_of_a_compiled_function_are_iterations() {
    let Some(folder) = corpus("jax/mi300-conv3d-jax06") else { return };
    let found = Iterations::detect(&tree(&folder.join("trace.xplane.pb")), &DetectOptions::default());
    let steps = found.steps().unwrap();
    // The program called it ten times; of the last five calls no kernel was recorded.
    assert_eq!(
        (steps.kind, steps.name.as_str(), steps.iterations.len()),
        (LevelKind::ProgramRun, "jit_forward_3d_conv", 10)
    );
}

#[test]
fn steps_that_jax_annotates_are_recorded_steps() {
    let found = Iterations::detect(&of_project("recorded/cpu/jax_step.xplane.pb"), &DetectOptions::default());
    assert_eq!((count(&found), found.steps().unwrap().name.as_str()), (2, "train"));
}

#[test]
fn generated_runs_have_as_many_steps_without_their_marks() {
    for (name, steps) in [
        ("generated/cuda_training_step.json.gz", 4),
        ("generated/rocm_training_step.json.gz", 4),
        ("generated/cuda_serving.json.gz", 13),
    ] {
        let tree = of_project(name);
        assert_eq!(counts(&tree), [steps; 3], "{name}");
        let error = largest_error(&tree);
        assert!(error < 0.01, "{name}: {error}");
    }
}

#[test]
fn one_recorded_step_of_training_is_one() {
    for name in ["transformer_step", "conv_net_step"] {
        let tree = of_project(&format!("recorded/cpu/{name}.json.gz"));
        assert_eq!(counts(&tree), [1; 3], "{name}");
    }
}

#[test]
fn loops_of_many_programs_have_as_many_iterations_without_their_marks() {
    for (name, iterations) in [("diffusion", 3), ("evaluation", 6), ("images", 10), ("slow_first", 5)] {
        let tree = of_project(&format!("recorded/cpu/iterations_{name}.json.gz"));
        assert_eq!(counts(&tree), [iterations; 3], "{name}");
    }
}
