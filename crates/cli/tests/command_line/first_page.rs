//! The first page of reports: what fits one screen.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The page of a recording on a terminal of so many columns.
fn page(recording: &Path, columns: usize, options: &[&str]) -> String {
    let place = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tracelens"))
        .arg("report")
        .arg(recording)
        .args(["--output_csvs_dir", "sheets"])
        .args(options)
        .current_dir(place.path())
        .env("LANG", "C.UTF-8")
        .env_remove("LC_ALL")
        .env("COLUMNS", columns.to_string())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn check(recordings: &[PathBuf]) {
    assert!(!recordings.is_empty());
    for recording in recordings {
        let shown = recording.display();
        let first = page(recording, 100, &[]);
        assert!((3..=40).contains(&first.lines().count()), "{shown}: {first}");
        for (columns, text) in [(100, &first), (60, &page(recording, 60, &[]))] {
            // Bars and prose; tables have the width of their figures.
            let is_prose = |line: &&str| !line.contains("  ") || line.contains('█');
            let longest = text.lines().filter(is_prose).map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= columns, "{shown} at {columns}: {text}");
        }
        let all = page(recording, 100, &["-v"]);
        assert!(all.lines().count() >= first.lines().count(), "{shown}: {all}");
        // What it says first is the same.
        assert_eq!(first.lines().next(), all.lines().next(), "{shown}");
    }
}

#[test]
fn a_page_of_mostly_warm_up_says_so_and_what_the_steady_steps_did() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recorded/h200");
    let slow_first = page(&testdata.join("iterations_slow_first.json.gz"), 100, &[]);
    let words = slow_first.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("93.2% of the window is warm-up; the 4 steady steps alone: busy 4.1%, idle 95.9%"),
        "{slow_first}"
    );
    // What recurs is first, then what is in warm-up.
    let [recurs, once] = ["[IDLE-LAUNCH", "cause not recorded, in warm-up"].map(|text| words.find(text));
    assert!(recurs.is_some() && recurs < once, "{slow_first}");
    let usual = page(&testdata.join("transformer_step.json.gz"), 100, &[]);
    assert!(!usual.contains("warm-up;"), "{usual}");
}

#[test]
fn first_pages_have_40_lines_and_keep_to_the_width() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let names = [
        "generated/cuda_serving.json.gz",
        "generated/cuda_training_step.json.gz",
        "generated/rocm_training_step.json.gz",
        "generated/metal_ops.csv",
        "generated/rocprof/run_results.json.gz",
        "generated/nsys/run.sqlite",
        "recorded/h200/compiled_triton.json.gz",
        "recorded/h200/cuda_graph_replay.json.gz",
        "recorded/h200/experts_step.json.gz",
        "recorded/h200/jax_step.xplane.pb",
        "recorded/h200/nsys/transformer_step.sqlite",
    ];
    check(&names.map(|name| testdata.join(name)));
}

#[test]
fn first_pages_of_the_corpus_have_40_lines() {
    let names = [
        "pytorch/normalization-layers/trace.json.gz",
        "pytorch/h100-qwen1.5-0.5b/trace.json.gz",
        "kineto/integer-us-rank1/trace.json.gz",
        "nsys/h100-2gpu-1s/trace.sqlite",
        "field/recordings/mi300x-fused-ranks/trace.json.gz",
        "field/recordings/nsys-a100-cloverleaf/trace.sqlite",
        "field/recordings/ascend-level1-rank0/trace_view.json.gz",
        "rocprof/mi300-allreduce/908_results.json.gz",
        "metal/bh20_oft_integral_image_trace/ops.csv",
        "metal/bh_64_clip_encoder_1/ops.csv",
        "metal/bh_8xp150_deepseek_v3_d_p/ops.csv",
        "metal/ops_perf_results_2025_09_18_11_39_20/ops.csv",
        "jax/mi300-conv3d-jax06/trace.xplane.pb",
        "jax/tpu-v6e-inference/trace.xplane.pb",
    ];
    let recordings: Vec<PathBuf> = names.iter().filter_map(|name| testdata::corpus(name)).collect();
    if !recordings.is_empty() {
        check(&recordings);
    }
}
