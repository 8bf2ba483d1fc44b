//! Every example runs on the trace that it takes by default.

#![allow(clippy::unwrap_used)] // a test helper may stop at a fault

use std::process::Command;

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn load_and_walk_prints_a_subtree_and_a_chain() {
    let text = output(env!("CARGO_BIN_EXE_load_and_walk"), &[]);
    assert!(text.contains("└── UID: ") && text.contains("1-up:"), "{text}");
}

#[test]
fn find_node_shows_where_calls_come_from() {
    let text = output(env!("CARGO_BIN_EXE_find_node"), &[]);
    assert!(text.contains("calls of aten::mm") && text.contains("event "), "{text}");
}

#[test]
fn linear_gpu_time_sums_forward_and_backward() {
    let text = output(env!("CARGO_BIN_EXE_linear_gpu_time"), &[]);
    let time = |label: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(label)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    assert!(time("forward:") > 0.0 && time("backward:") > 0.0, "{text}");
}

#[test]
fn device_timeline_lists_streams() {
    let text = output(env!("CARGO_BIN_EXE_device_timeline"), &[]);
    assert!(text.lines().count() >= 2 && text.contains("device 0 stream"), "{text}");
}

#[test]
fn own_report_writes_a_workbook() {
    let directory = tempfile::tempdir().unwrap();
    let workbook = directory.path().join("own.xlsx");
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/generated/rocm_training_step.json.gz");
    output(env!("CARGO_BIN_EXE_own_report"), &[trace, workbook.to_str().unwrap()]);
    assert!(std::fs::read(&workbook).unwrap().starts_with(b"PK"));
}
