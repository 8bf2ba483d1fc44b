//! Operators of captured graphs: they have kernels and shapes, and took no time on the host.

use trace_ingest::{Category, EventArguments};
use trace2tree::{Graft, RecordedCalls, TraceTree, TreeOptions};
use tree_perf::{Analysis, AnalysisOptions};

use crate::common::Table;
use crate::fixture::Fixture;

const UNIFIED: &str = "unified_perf_summary";

/// Two replays of a captured operator, and beside them the same operator run eagerly when `eager`.
fn table(eager: bool) -> Table {
    let options = TreeOptions { python_frames: true, ..TreeOptions::default() };
    let mut capture = Fixture::new();
    capture.op_with_dims("aten::mm", (0.0, 50.0), &[&[32, 8], &[8, 16]]);
    let launch = capture.launch("hipLaunchKernel", (10.0, 5.0), 1);
    let capture = TraceTree::build(capture.builder.finish(), &options);
    let calls = RecordedCalls::copy(&capture, &[launch], |_| true).unwrap();

    let mut replay = Fixture::new();
    let launches = [0.0, 100.0].map(|at| {
        let launch = replay.launch("hipGraphLaunch", (at, 40.0), at as i64);
        let arguments = EventArguments {
            correlation: Some(at as i64),
            device: Some(0),
            stream: Some(7),
            ..EventArguments::default()
        };
        (launch, replay.event(Category::KERNEL, "gemm", (0, 7), (at + 500.0, 20.0), arguments))
    });
    if eager {
        replay.op_with_dims("aten::mm", (300.0, 50.0), &[&[32, 8], &[8, 16]]);
        replay.launches(310.0, &[("gemm", 7, 800.0, 20.0)]);
    }
    let mut tree = TraceTree::build(replay.builder.finish(), &options);
    let grafts =
        launches.map(|(launch, kernel)| Graft { launch, calls: &calls, device_events: vec![(0, kernel)] });
    tree.edit().graft(&grafts).unwrap();
    Table::of_sheet(&Analysis::from_tree(tree, AnalysisOptions::default()), UNIFIED)
}

const COLUMNS: &str = "name | Input Dims | operation_count | Kernel Time (µs)_sum | total_duration_us \
     | mean_duration_us | duration_us_max";

#[test]
fn captured_operators_have_shapes_and_no_time_on_the_host() {
    assert_eq!(table(false).select(COLUMNS), ["aten::mm | ((32, 8), (8, 16)) | 2 | 40 | - | - | -"]);
}

#[test]
fn beside_captured_calls_only_those_that_ran_count_on_the_host() {
    assert_eq!(table(true).select(COLUMNS), ["aten::mm | ((32, 8), (8, 16)) | 3 | 60 | 50 | 50 | 50"]);
}
