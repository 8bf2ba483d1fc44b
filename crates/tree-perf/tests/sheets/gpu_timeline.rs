//! Where the device's time went.

use trace_ingest::Category;
use tree_perf::{AnalysisOptions, Conventions, UnlinkedRule};

use crate::fixture::{Analysed, Fixture};

const COLUMNS: &str = "type | time ms | percent";

/// `(category, name, stream, start, duration)`
fn device_events(events: &[(Category, &str, i64, f64, f64)]) -> Fixture {
    let mut fixture = Fixture::new();
    for (position, &(category, name, stream, start, duration)) in events.iter().enumerate() {
        let correlation = fixture.correlation();
        fixture.launch("cudaLaunchKernel", (position as f64, 0.5), correlation);
        fixture.device(category, (name, stream, start, duration), correlation);
    }
    fixture
}

#[test]
fn a_copy_after_a_kernel_is_exposed() {
    let fixture = device_events(&[
        (Category::KERNEL, "gemm", 7, 1000.0, 100.0),
        (Category::GPU_MEMCPY, "Memcpy DtoH (Device -> Pinned)", 8, 1200.0, 50.0),
    ]);
    let expected = [
        "computation_time | 0.1 | 40",
        "exposed_comm_time | 0 | 0",
        "exposed_memcpy_time | 0.05 | 20",
        "busy_time | 0.15 | 60",
        "idle_time | 0.1 | 40",
        "total_time | 0.25 | 100",
        "total_comm_time | 0 | 0",
        "total_memcpy_time | 0.05 | 20",
    ];
    assert_eq!(fixture.table("gpu_timeline").select(COLUMNS), expected);
}

#[test]
fn communication_under_a_kernel_is_hidden() {
    let fixture = device_events(&[
        (Category::KERNEL, "gemm", 7, 1000.0, 100.0),
        (Category::KERNEL, "ncclDevKernel_AllReduce", 8, 1050.0, 150.0),
    ]);
    let table = fixture.table("gpu_timeline");
    assert_eq!(table.select("type | time ms")[1], "exposed_comm_time | 0.1");
    assert_eq!(table.select("type | time ms")[6], "total_comm_time | 0.15");
}

#[test]
fn idle_time_is_split_at_the_threshold_that_was_asked_for() {
    // A gap of 50 µs.
    for (threshold, micro, long) in [(30.0, 0.0, 0.05), (50.0, 0.0, 0.05), (50.5, 0.05, 0.0)] {
        let fixture = device_events(&[
            (Category::KERNEL, "a", 7, 1000.0, 50.0),
            (Category::KERNEL, "b", 7, 1100.0, 50.0),
        ]);
        let options = AnalysisOptions { micro_idle_thresh_us: Some(threshold), ..AnalysisOptions::default() };
        let rows = fixture.table_with("gpu_timeline", options).select("type | time ms");
        let expected = [format!("micro_idle_time | {micro}"), format!("macro_idle_time | {long}")];
        assert_eq!(rows[4..6], expected, "threshold {threshold}");
        assert_eq!(rows.len(), 9);
    }
}

#[test]
fn a_span_of_length_zero_has_times_and_no_percentages() {
    let fixture = device_events(&[(Category::KERNEL, "k", 7, 1005.0, 0.0)]);
    for row in fixture.table("gpu_timeline").select("time ms | percent") {
        assert_eq!(row, "0 | -");
    }
}

#[test]
fn events_without_a_launch_count_but_under_the_rules_of_the_reference() {
    for (include, unlinked, total) in [
        (false, UnlinkedRule::Counted, "total_time | 0.3"),
        (false, UnlinkedRule::LeftOut, "total_time | 0.1"),
        (true, UnlinkedRule::LeftOut, "total_time | 0.3"),
    ] {
        let mut fixture = device_events(&[(Category::KERNEL, "gemm", 7, 1200.0, 100.0)]);
        fixture.unlinked(("before the recording", 7, 1000.0, 20.0));
        let conventions = Conventions { unlinked, ..Conventions::default() };
        let options =
            AnalysisOptions { include_unlinked_kernels: include, conventions, ..AnalysisOptions::default() };
        let analysis = fixture.analyse(options);
        let coverage = analysis.coverage();
        assert_eq!((coverage.linked_events, coverage.unlinked_events), (1, 1));
        assert_eq!((coverage.linked_time_us, coverage.unlinked_time_us), (100.0, 20.0));
        let table = crate::common::Table::of_sheet(&analysis, "gpu_timeline");
        assert_eq!(table.select("type | time ms")[5], total);
    }
}

#[test]
fn each_device_of_several_has_its_own_rows() {
    let mut fixture = device_events(&[(Category::KERNEL, "gemm", 7, 1000.0, 100.0)]);
    let one_device = crate::common::Table::build(
        &device_events(&[(Category::KERNEL, "gemm", 7, 1000.0, 100.0)]).analyse(AnalysisOptions::default()),
        "gpu_timeline_per_device",
    );
    assert!(one_device.is_none());

    fixture.launch("cudaLaunchKernel", (50.0, 0.5), 99);
    let arguments = trace_ingest::EventArguments {
        correlation: Some(99),
        device: Some(1),
        stream: Some(7),
        ..trace_ingest::EventArguments::default()
    };
    fixture.event(Category::KERNEL, "gemm", (1, 7), (1050.0, 30.0), arguments);
    let analysis = fixture.analyse(AnalysisOptions::default());
    let rows = crate::common::Table::build(&analysis, "gpu_timeline_per_device").unwrap();
    let rows = rows.select("device | type | time ms");
    assert_eq!(rows.len(), 16);
    // One process uses both, so that both have its window.
    assert_eq!((rows[5].as_str(), rows[13].as_str()), ("0 | total_time | 0.1", "1 | total_time | 0.1"));
    assert_eq!(rows[11], "1 | busy_time | 0.03");
    let shared = |analysis: &tree_perf::Analysis| {
        analysis.timelines_of_devices().iter().map(|of| of.shares_window).collect::<Vec<_>>()
    };
    assert_eq!(shared(&analysis), [true, true]);
    let one_device = device_events(&[(Category::KERNEL, "gemm", 7, 1000.0, 100.0)]);
    assert_eq!(shared(&one_device.analyse(AnalysisOptions::default())), [false]);
}
