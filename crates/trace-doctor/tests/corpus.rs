//! What fires on recorded and generated traces.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests

use std::io::Read;
use std::path::Path;

use testdata::corpus;
use testdata::random::Random;
use trace_doctor::{Diagnosis, Severity};
use trace_ingest::{ReadOptions, read_path};
use trace2tree::{TraceTree, TreeOptions};

fn diagnosis(path: &Path) -> Diagnosis {
    let trace = read_path(path, &ReadOptions::default()).unwrap();
    Diagnosis::new(&TraceTree::build(trace, &TreeOptions::default())).unwrap()
}

/// What is the case in most recordings: no allocations, no waits, no steps.
const COMMON: [&str; 3] = ["R7", "R9", "R12"];

/// Rules that fire apart from [`COMMON`], the worst first, with their severity, count and total, then guarded rules.
fn fires(path: &Path) -> String {
    let diagnosis = diagnosis(path);
    let findings = diagnosis.findings.iter().filter(|finding| !COMMON.contains(&finding.rule.id));
    let findings = findings.map(|finding| {
        let of = finding.of.map_or_else(String::new, |of| format!("/{of}"));
        format!("{} {} {}{of}", finding.rule.id, finding.severity, finding.count)
    });
    let guarded = diagnosis.guarded.iter().map(|(rule, count)| format!("{} guarded {count}", rule.id));
    findings.chain(guarded).collect::<Vec<_>>().join(", ")
}

#[test]
fn recorded_traces_have_what_was_measured_in_them() {
    for (case, expected) in [
        ("kineto/cuda-event-sync/trace.json.gz", "F4 note 3/5, R4 note 10, I3 info 17/17"),
        (
            "kineto/cupti-range/trace.json.gz",
            "L1 error 104/104, R3 warning 375, W6 note 1, F4 note 0/0, R4 note 375",
        ),
        ("kineto/execution-trace/trace.json.gz", "R3 warning 28, F4 note 4/4, R4 note 28, I3 info 19/19"),
        (
            "kineto/integer-us-rank1/trace.json.gz",
            "R10 warning 10/10, F4 note 424/1154, R4 note 2302, R8 note 1154, I3 info 2308/2308",
        ),
        (
            "kineto/mtia-inference/trace.json.gz",
            "W1 note 9, W6 note 7, R4 note 10346, R6 guarded 974, W3 guarded 1, L4 guarded 1, L6 guarded 244, S1 guarded 974, S3 guarded 110, \
             I1 guarded 62",
        ),
        (
            "kineto/pytorch-1.9-resnet50/trace.json.gz",
            "F4 note 5778/9096, R4 note 23646, R6 note 9096, W4 info 568",
        ),
        ("pytorch/h100-falconsai-vit/trace.json.gz", "L2 guarded 49"),
        ("pytorch/h100-owlv2-large/trace.json.gz", "O1 info 2, L2 guarded 305"),
        ("pytorch/h100-qwen1.5-0.5b/trace.json.gz", "W2 warning 509/1707, W4 info 79"),
        ("pytorch/mi210-gpu-only/trace.json.gz", "R1 warning 562, R6 note 562"),
        ("pytorch/mi300-bert-small/trace.json.gz", ""),
        ("pytorch/mi300-qwen1.5-0.5b/trace.json.gz", "W2 warning 463/1517, C2 warning 1054, W4 info 143"),
        ("pytorch/mi300-timesformer/trace.json.gz", "O2 info 42334/3591"),
        ("pytorch/normalization-layers/trace.json.gz", "O2 info 6004/978"),
        ("pytorch/torch-compile-triton/trace.json.gz", "R4 note 41"),
        ("inference/sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz", "O2 info 821/61, S3 guarded 1"),
        (
            "inference/sglang-qwen3-8b-decode/capture_traces/bs_32_rank0.json.gz",
            "O2 info 54073/3556, L2 guarded 544",
        ),
        (
            "inference/vllm-prefilldecode-piecewise/graph_execution.json.gz",
            "O2 info 17038/642, S3 guarded 25",
        ),
        (
            "inference/vllm-prefilldecode-piecewise/capture_traces/graph_capture_rank_0.1773709679453551615.pt.trace.json.gz",
            "O2 info 110876/3611, L2 guarded 361",
        ),
        ("inference/xdit-sd-3.5/profile_trace_rank_0.json.gz", ""),
    ] {
        let Some(path) = corpus(case) else { return };
        assert_eq!(fires(&path), expected, "{case}");
    }
}

/// A file that is cut always says so, wherever that is.
#[test]
fn a_cut_recording_is_always_found_to_be_cut() {
    const CUTS: u64 = 100;
    let Some(path) = corpus("pytorch/h100-owlv2-large/trace.json.gz") else { return };
    let packed = std::fs::read(&path).unwrap();
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut plain).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(12);
    for (whole, name) in [(packed, "cut.json.gz"), (plain, "cut.json")] {
        // Before the first event there is no trace to examine; and without its last bytes, white space, none is cut.
        let (first, last) = (whole.len() as u64 / 100, whole.len() as u64 - 10);
        for _ in 0..CUTS {
            let cut = random.between(first, last);
            let path = folder.path().join(name);
            std::fs::write(&path, &whole[..cut as usize]).unwrap();
            let diagnosis = diagnosis(&path);
            let worst = &diagnosis.findings[0];
            assert_eq!((worst.rule.id, worst.severity), ("F1", Severity::Error), "{name} cut at byte {cut}");
        }
    }
}

#[test]
fn doubts_are_about_the_worst_finding() {
    let Some(path) = corpus("pytorch/mi300-qwen1.5-0.5b/trace.json.gz") else { return };
    assert_eq!(
        diagnosis(&path).doubts().unwrap(),
        "recording: 463 of 1,517 device events (13.32 ms, 30.9% of device time) were queued before the recording \
         began and have no launch in the file: kernel times of operators are too small (W2, and 1 more; sheet recording)"
    );
    let Some(path) = corpus("pytorch/h100-falconsai-vit/trace.json.gz") else { return };
    assert_eq!(diagnosis(&path).doubts(), None);
}

#[test]
fn traces_of_the_project_have_what_their_recipes_put_into_them() {
    for (case, expected) in [
        ("generated/cuda_training_step.json.gz", "W5 note 1/4, W4 info 11, S3 guarded 3"),
        ("generated/rocm_training_step.json.gz", "L5 warning 15/366, W5 note 1/4, W4 info 17, S3 guarded 3"),
        ("generated/cuda_serving.json.gz", "S3 guarded 9"),
        ("recorded/cpu/gloo_collectives_rank1.json.gz", "W1 note 1, R4 note 198, R2 info 198, L4 guarded 1"),
        ("recorded/cpu/stacks_modules.json.gz", "R2 info 1122, L4 guarded 1"),
        ("recorded/cpu/iterations_slow_first.json.gz", "W5 note 2/5, R4 note 2094, R2 info 2094"),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(case);
        assert_eq!(fires(&path), expected, "{case}");
    }
}
