//! The tables of Holistic Trace Analysis of small traces; those of recordings are held against its figures.

use trace_ingest::{Category, EventArguments, MemoryTransfer};
use tree_perf::AnalysisOptions;

use crate::common::Table;
use crate::fixture::Fixture;

fn options() -> AnalysisOptions {
    AnalysisOptions { hta: true, ..AnalysisOptions::default() }
}

#[test]
fn time_series_have_a_row_for_each_change() {
    let mut fixture = Fixture::new();
    for (launch, start) in [(10.0, 30.0), (20.0, 40.0)] {
        let correlation = fixture.correlation();
        fixture.launch("cudaLaunchKernel", (launch, 1.0), correlation);
        fixture.device(Category::KERNEL, ("k", 7, start, 5.0), correlation);
    }
    for (start, rate) in [(50.0, 2.0), (55.0, 3.0)] {
        let arguments = EventArguments {
            correlation: Some(fixture.correlation()),
            stream: Some(8),
            transfer: Some(MemoryTransfer { bandwidth_gb_per_s: Some(rate), ..MemoryTransfer::default() }),
            ..EventArguments::default()
        };
        fixture.event(
            Category::GPU_MEMCPY,
            "Memcpy HtoD (Pinned -> Device)",
            (0, 8),
            (start, 10.0),
            arguments,
        );
    }
    let analysis = fixture.analyse(options());
    let queue = Table::of_sheet(&analysis, "hta_queue_length_time_series");
    let rows = queue.select(&["rank", "ts", "pid", "tid", "stream", "queue_length"]);
    assert_eq!(
        rows,
        [
            "0 | 0 | 0 | 7 | 7 | 1",
            "0 | 10 | 0 | 7 | 7 | 2",
            "0 | 20 | 0 | 7 | 7 | 1",
            "0 | 30 | 0 | 7 | 7 | 0"
        ]
    );
    let rates = Table::of_sheet(&analysis, "hta_memory_bw_time_series");
    let rows = rates.select(&["rank", "ts", "pid", "name", "memory_bw_gbps"]);
    let expected = [
        "40 | 0 | Memcpy HtoD | 2",
        "45 | 0 | Memcpy HtoD | 5",
        "50 | 0 | Memcpy HtoD | 3",
        "55 | 0 | Memcpy HtoD | 0",
    ];
    assert_eq!(rows, expected.map(|row| format!("0 | {row}")));
    let summary = Table::of_sheet(&analysis, "hta_memory_bw_summary");
    assert_eq!(summary.select(&["name", "count", "max"]), ["Memcpy HtoD | 3 | 5"]);
}

#[test]
fn a_kernel_has_the_shortest_annotation_of_its_row() {
    let mut fixture = Fixture::new();
    let on_stream = |fixture: &mut Fixture, name, start, duration| {
        let correlation = fixture.correlation();
        fixture.device(Category::KERNEL, (name, 7, start, duration), correlation);
    };
    on_stream(&mut fixture, "before", 0.0, 10.0);
    on_stream(&mut fixture, "around", 10.0, 100.0);
    on_stream(&mut fixture, "inside", 50.0, 5.0);
    on_stream(&mut fixture, "outer alone", 120.0, 5.0);
    for (name, span) in [("inner", (40.0, 20.0)), ("outer", (10.0, 200.0))] {
        fixture.event(Category::GPU_USER_ANNOTATION, name, (0, 7), span, EventArguments::default());
    }
    let table = fixture.table_with("hta_gpu_kernels_with_user_annotations", options());
    assert_eq!(
        table.select(&["ts", "dur", "stream", "s_name", "user_annotation"]),
        [
            "0 | 10 | 7 | before | -",
            "10 | 100 | 7 | around | inner",
            "50 | 5 | 7 | inside | inner",
            "120 | 5 | 7 | outer alone | outer",
        ]
    );
}

#[test]
fn sequences_are_of_the_outermost_operators_of_a_name() {
    let mut fixture = Fixture::new();
    let call = |fixture: &mut Fixture, at: f64, kernels: &[&str]| {
        fixture.op("aten::conv2d", (at, 50.0));
        // An operator of the name inside another does not count.
        fixture.op("aten::conv2d_inner", (at + 1.0, 40.0));
        for (position, name) in kernels.iter().enumerate() {
            let correlation = fixture.correlation();
            let start = at + 2.0 + 5.0 * position as f64;
            fixture.launch("cudaLaunchKernel", (start, 1.0), correlation);
            fixture.device(Category::KERNEL, (name, 7, start + 100.0, 4.0), correlation);
        }
    };
    call(&mut fixture, 0.0, &["a", "b", "c"]);
    call(&mut fixture, 60.0, &["a", "b"]);
    call(&mut fixture, 120.0, &["a", "b", "c"]);
    call(&mut fixture, 180.0, &["a", "b", "d"]);
    let asked = AnalysisOptions { hta_sequences_of: Some("conv2d".to_owned()), ..options() };
    let table = fixture.table_with("hta_frequent_kernel_sequences", asked);
    assert_eq!(
        table.select(&["pattern", "count", "GPU kernel duration (us)", "CPU op duration (us)"]),
        ["aten::conv2d|a|b|c | 2 | 24 | 100", "aten::conv2d|a|b|d | 1 | 12 | 50"]
    );
}
