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
    Diagnosis::new(&TraceTree::build(trace, &TreeOptions::default()))
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
    for row in include_str!("corpus.txt").lines().filter(|line| !line.starts_with('#')) {
        let (case, expected) = row.split_once("=>").unwrap();
        let case = case.trim();
        let Some(path) = corpus(case) else { return };
        assert_eq!(fires(&path), expected.trim(), "{case}");
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
        "recording: 463 of 1,517 device events (13.32 ms, 30.9% of device time) were queued before the \
         recording began and have no launch in the file: operator kernel times are too short (W2; also C2; \
         sheet recording)"
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
        assert_eq!(fires(&path), expected.trim(), "{case}");
    }
}
