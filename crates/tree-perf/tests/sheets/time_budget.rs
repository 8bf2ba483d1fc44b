//! Where the time of devices went.

use trace_ingest::Category;
use tree_perf::AnalysisOptions;

use crate::fixture::Fixture;

const PARTS: [&str; 7] =
    ["Idle (ms)", "Sync (ms)", "Other Calls (ms)", "Launch (ms)", "Host (ms)", "Queued (ms)", "Unknown (ms)"];

/// A gap of 100 µs: 20 in the program, 10 waiting (with another call inside), 15 in another call, 30 in the program, 5
/// launching, 20 in the queue.
fn one_gap() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.launch("cudaLaunchKernel", (0.0, 5.0), 1);
    fixture.device(Category::KERNEL, ("a", 7, 100.0, 100.0), 1);
    fixture.launch("cudaStreamSynchronize", (220.0, 10.0), 0);
    fixture.launch("cuStreamGetCaptureInfo", (222.0, 2.0), 0);
    fixture.launch("cudaMalloc", (230.0, 15.0), 0);
    fixture.launch("cudaLaunchKernel", (275.0, 5.0), 2);
    fixture.device(Category::KERNEL, ("b", 7, 300.0, 50.0), 2);
    fixture
}

#[test]
fn a_gap_is_what_the_launching_thread_did() {
    let causes = one_gap().table_with("gpu_gap_causes", AnalysisOptions::default());
    let all = causes.select(&[&["length", "Count"], &PARTS[..]].concat());
    assert_eq!(
        all,
        [
            "100 µs to 1 ms | 1 | 0.1 | 0.01 | 0.015 | 0.005 | 0.05 | 0.02 | 0",
            "all | 1 | 0.1 | 0.01 | 0.015 | 0.005 | 0.05 | 0.02 | 0"
        ]
    );
    let options = AnalysisOptions { waits: true, ..AnalysisOptions::default() };
    let gaps = one_gap().table_with("gpu_gaps", options);
    assert_eq!(gaps.select(&["cause", "next op", "next call"]), ["host | b | cudaLaunchKernel"]);
}

#[test]
fn a_budget_adds_up_to_the_window() {
    let budget = one_gap().table_with("time_budget", AnalysisOptions::default());
    let columns = ["range", "Wall (ms)", "Compute (ms)", "Exposed Copies (ms)", "Host (ms)", "Queued (ms)"];
    assert_eq!(budget.select(&columns), ["- | 0.25 | 0.15 | 0 | 0.05 | 0.02"]);
}

#[test]
fn work_without_a_launch_ends_a_gap_of_unknown_cause() {
    let mut fixture = one_gap();
    fixture.device(Category::KERNEL, ("c", 7, 400.0, 10.0), 99);
    let options = AnalysisOptions { include_unlinked_kernels: true, ..AnalysisOptions::default() };
    let unknown = fixture.table_with("gpu_gap_causes", options).select(&["length", "Unknown (ms)"]);
    assert_eq!(unknown.last().map(String::as_str), Some("all | 0.05"));
}
