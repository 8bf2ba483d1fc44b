//! Time of the host by operator.

use std::path::Path;

use proptest::prelude::*;
use trace_ingest::{Category, EventArguments, ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisOptions};

use crate::common::Table;
use crate::fixture::{Analysed, Fixture};

fn recorded(name: &str) -> Analysis {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recorded/cpu").join(name);
    Analysis::new(read_path(&path, &ReadOptions::default()).unwrap(), AnalysisOptions::default())
}

fn nanoseconds(table: &Table, column: &str) -> i64 {
    table.numbers(column).iter().map(|us| (us * 1e3).round() as i64).sum()
}

/// Durations of the operators that no other encloses, in ns.
fn outermost(analysis: &Analysis) -> i64 {
    let tree = analysis.tree();
    tree.operator_roots().iter().map(|&root| analysis.trace().events().duration(root)).sum()
}

#[test]
fn recorded_steps_have_the_times_of_their_operators() {
    for (name, calls, self_ns, operators) in [
        (
            "transformer_step.json.gz",
            1_751.0,
            8_754_847,
            &[
                "aten::_scaled_dot_product_flash_attention_for_cpu_backward | 2 | 2103.736 | 2144.236",
                "aten::mm | 19 | 2006.819 | 2010.006",
                "aten::mul_ | 56 | 247.311 | 381.118",
            ][..],
        ),
        ("conv_net_step.json.gz", 503.0, 43_132_713, &["aten::convolution_backward | 5 | 15345.764"]),
    ] {
        let analysis = recorded(name);
        let table = Table::of_sheet(&analysis, "host_ops");
        assert_eq!(table.numbers("calls").iter().sum::<f64>(), calls, "{name}");
        assert_eq!(nanoseconds(&table, "self_us"), self_ns, "{name}");
        assert_eq!(outermost(&analysis), self_ns, "{name}");
        let rows = table.select("name | calls | self_us | total_us");
        for expected in operators {
            assert!(rows.iter().any(|row| row.starts_with(expected)), "{expected}: {rows:#?}");
        }
        for sheet in ["ops_summary", "ops_summary_by_category", "unified_perf_summary"] {
            let table = Table::of_sheet(&analysis, sheet);
            assert_eq!(nanoseconds(&table, "host_us"), self_ns, "{sheet} of {name}");
            assert!(!table.headers.iter().any(|header| header.to_lowercase().contains("kernel")), "{sheet}");
        }
    }
}

#[test]
fn an_operator_has_its_time_without_those_directly_inside_and_calls_are_its_own() {
    let mut fixture = Fixture::new();
    fixture.op("outer", (0.0, 100.0));
    fixture.op("inner", (10.0, 40.0));
    fixture.op("leaf", (20.0, 10.0));
    fixture.launch("cudaStreamSynchronize", (60.0, 30.0), 1);
    // The same name on another thread, of which the first knows nothing.
    fixture.event(Category::CPU_OP, "leaf", (1, 2), (30.0, 5.0), EventArguments::default());
    let analysis = fixture.analyse(AnalysisOptions::default());
    let table = Table::of_sheet(&analysis, "host_ops");
    assert_eq!(
        table.select("name | calls | self_us | total_us | call_us_min | call_us_max | threads"),
        [
            "outer | 1 | 60 | 100 | 100 | 100 | 1",
            "inner | 1 | 30 | 40 | 40 | 40 | 1",
            "leaf | 2 | 15 | 15 | 5 | 10 | 2"
        ]
    );
    assert!(Table::build(&analysis, "gpu_timeline").is_none());
}

#[test]
fn with_device_work_of_operators_host_times_are_there_on_request() {
    for (host_ops, rows) in [(false, None), (true, Some(1))] {
        let mut fixture = Fixture::new();
        fixture.call("aten::mm", 0.0, &[("gemm", 7, 1000.0, 20.0)]);
        let analysis = fixture.analyse(AnalysisOptions { host_ops, ..AnalysisOptions::default() });
        assert_eq!(Table::build(&analysis, "host_ops").map(|table| table.rows.len()), rows);
        let summary = Table::of_sheet(&analysis, "ops_summary");
        assert!(!summary.headers.contains(&"host_us".to_owned()), "{:?}", summary.headers);
    }
}

proptest! {
    #[test]
    fn times_of_operators_add_up_to_those_of_the_outermost(
        spans in prop::collection::vec((0..4_i64, 0..2_000_i64, 0..1_000_i64, 0..5_usize), 0..60)
    ) {
        let mut fixture = Fixture::new();
        for &(thread, start, length, name) in &spans {
            let (start, length) = (start as f64 / 10.0, length as f64 / 10.0);
            let name = ["a", "b", "c", "d", "e"][name];
            fixture.event(Category::CPU_OP, name, (1, thread), (start, length), EventArguments::default());
        }
        let analysis = fixture.analyse(AnalysisOptions::default());
        let table = Table::build(&analysis, "host_ops");
        prop_assert_eq!(table.is_some(), !spans.is_empty());
        let total = table.as_ref().map_or(0, |table| nanoseconds(table, "self_us"));
        prop_assert_eq!(total, outermost(&analysis));
    }
}

#[test]
fn steps_without_device_work_have_the_hosts_time_and_no_figures_of_a_device() {
    let analysis = recorded("iterations_images.json.gz");
    let table = Table::of_sheet(&analysis, "iterations");
    assert_eq!(table.rows.len(), 10);
    assert_eq!(table.numbers("duration (ms)"), table.numbers("host duration (ms)"));
    let of_device = [
        "busy (ms)",
        "computation (ms)",
        "exposed communication (ms)",
        "exposed copies (ms)",
        "idle (ms)",
        "kernels",
        "launches",
        "device start (ms)",
        "device span (ms)",
    ];
    for column in of_device {
        assert!(table.select(column).iter().all(|cell| cell == "-"), "{column}");
    }
}
