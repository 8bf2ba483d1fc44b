//! The roofs of the device and the operators below them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use perf_models::architecture;
use trace_ingest::{ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisOptions};

use crate::common::Table;
use crate::fixture::{Analysed, Fixture, Input};

const ROOFS: &str = "roofline";
const POINTS: &str = "roofline_points";
const UNIFIED: &str = "unified_perf_summary";

/// A generated trace, whose device is known.
fn generated(flavour: &str, options: AnalysisOptions) -> Analysis {
    let file = format!("../../testdata/generated/{flavour}_training_step.json.gz");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    Analysis::new(read_path(&path, &ReadOptions::default()).unwrap(), options)
}

/// Rows of some columns by their `ex_UID`, where all of them have a value.
fn by_first_call(table: &Table, columns: &str) -> BTreeMap<String, Vec<String>> {
    let cells = |row: String| row.split(" | ").map(str::to_owned).collect::<Vec<String>>();
    let rows = table.select(&format!("ex_UID | {columns}")).into_iter().map(cells);
    rows.filter(|row| row.iter().all(|cell| cell != "-"))
        .map(|row| (row[0].clone(), row[1..].to_vec()))
        .collect()
}

#[test]
fn the_points_are_the_rows_of_the_unified_table_that_have_a_place() {
    for flavour in ["cuda", "rocm"] {
        let options =
            AnalysisOptions { architecture: architecture("MI300X").cloned(), ..AnalysisOptions::default() };
        let analysis = generated(flavour, options);
        let columns = "FLOPS/Byte | TFLOPS/s_mean | Pct Roofline_mean | Percentage (%)";
        let points = by_first_call(&Table::of_sheet(&analysis, POINTS), columns);
        assert!(points.len() > 20, "{flavour}: {}", points.len());
        let mut unified = by_first_call(
            &Table::of_sheet(&analysis, UNIFIED),
            &format!("{columns} | Compute Spec | Roofline Time (µs)_first"),
        );
        let number = |text: &String| text.parse::<f64>().unwrap();
        unified.retain(|_, row| number(&row[0]) > 0.0 && number(&row[1]) > 0.0);
        let keys = |rows: &BTreeMap<String, Vec<String>>| rows.keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(keys(&points), keys(&unified), "{flavour}");
        for (first, point) in &points {
            for (at, column) in columns.split(" | ").enumerate() {
                let (found, expected) = (number(&point[at]), number(&unified[first][at]));
                assert!((found - expected).abs() <= 1e-9 * expected, "{flavour} {first} {column}: {found}");
            }
        }
    }
}

#[test]
fn points_stand_by_peak_and_then_by_time() {
    let analysis = generated("cuda", AnalysisOptions::default());
    let table = Table::of_sheet(&analysis, POINTS);
    let specs = table.select("Compute Spec");
    let times = table.numbers("Kernel Time (ms)_sum");
    let mut seen: Vec<(String, f64)> = Vec::new();
    for (row, spec) in specs.iter().enumerate() {
        match seen.last_mut() {
            Some((last, sum)) if last == spec => {
                assert!(times[row] <= times[row - 1], "row {row}");
                *sum += times[row];
            }
            _ => seen.push((spec.clone(), times[row])),
        }
    }
    let distinct: BTreeSet<&String> = specs.iter().collect();
    assert_eq!(seen.len(), distinct.len(), "a peak stands in two places: {seen:?}");
    assert!(seen.len() > 1 && seen.is_sorted_by(|a, b| a.1 >= b.1), "{seen:?}");
}

#[test]
fn the_roofs_meet_the_slope_at_their_ridges_and_span_all_points() {
    let analysis = generated("cuda", AnalysisOptions::default());
    let roofs = Table::of_sheet(&analysis, ROOFS);
    let points = Table::of_sheet(&analysis, POINTS);
    let (at, height) = (roofs.numbers("FLOPS/Byte"), roofs.numbers("Attainable TFLOPS/s"));
    let kinds = roofs.select("point");
    // 3350 GB/s of an H100.
    assert_eq!(roofs.select("Compute Spec | label | point")[0], "- | memory: 3350 GB/s | start");
    for row in 0..kinds.len() {
        match kinds[row].as_str() {
            "start" | "ridge" => assert!((height[row] - at[row] * 3.35).abs() < 1e-9 * height[row], "{row}"),
            "end" => assert!(height[row] == height[row - 1] && at[row] > at[row - 1], "{row}"),
            other => panic!("{other}"),
        }
    }
    let specs: BTreeSet<String> = points.select("Compute Spec").into_iter().collect();
    let roofed: BTreeSet<String> = roofs.select("Compute Spec").into_iter().skip(2).collect();
    assert_eq!(specs, roofed);
    let labels = roofs.select("label");
    assert!(
        labels.iter().any(|label| label == "matrix_bf16: 989.4 TFLOP/s, ridge 295.3 FLOP/byte"),
        "{labels:?}"
    );
    let (left, right) = (at[0], at.iter().copied().fold(0.0, f64::max));
    assert!(points.numbers("FLOPS/Byte").iter().all(|at| (left..right).contains(at)), "{left} {right}");
    assert_eq!(at[1], *at[2..].iter().step_by(2).max_by(|a, b| a.total_cmp(b)).unwrap(), "the highest ridge");
}

#[test]
fn a_point_under_the_slope_is_held_against_the_bandwidth() {
    let mut fixture = Fixture::new();
    // 2·32·64·128 FLOPs and 4·(32·64 + 64·128 + 32·128) bytes in 5 µs.
    fixture.mm(0.0, &[("k", 7, 1000.0, 5.0)]);
    fixture.call_with_dims("aten::unknown", 20.0, &[&[2, 2]], &[("k", 7, 1100.0, 15.0)]);
    let options =
        AnalysisOptions { architecture: architecture("MI300X").cloned(), ..AnalysisOptions::default() };
    let table = Table::of_sheet(&fixture.analyse(options), POINTS);
    let row = table.select("name | op category | Compute Spec | Input Dims | operation_count | ex_UID");
    assert_eq!(row, ["aten::mm | GEMM | matrix_fp32 | ((32, 64), (64, 128)) | 1 | 0"]);
    let intensity = 524_288.0 / 57_344.0;
    for (column, expected) in [
        ("FLOPS/Byte", intensity),
        ("TFLOPS/s_mean", 0.1048576),
        // 5300 GB/s.
        ("Attainable TFLOPS/s", 5.3 * intensity),
        ("Pct Roofline_mean", 0.1048576 / (5.3 * intensity) * 100.0),
        ("Kernel Time (ms)_sum", 0.005),
        ("Percentage (%)", 25.0),
    ] {
        let found = table.numbers(column)[0];
        assert!((found - expected).abs() < 1e-12 * expected.max(1.0), "{column}: {found}, not {expected}");
    }
}

#[test]
fn a_roof_that_stands_in_for_another_says_so() {
    let mut fixture = Fixture::new();
    let half: Input<'_> = (&[1024, 1024], "c10::BFloat16", "");
    fixture.modelled_call("aten::add", 0.0, &[half, half, (&[], "Scalar", "1")], &[("k", 7, 1000.0, 5.0)]);
    // States no peak for vectors of 16 bits.
    let options =
        AnalysisOptions { architecture: architecture("B200").cloned(), ..AnalysisOptions::default() };
    let roofs = Table::of_sheet(&fixture.analyse(options), ROOFS);
    assert_eq!(roofs.select("Compute Spec | Peak Spec")[2..], ["vector_bf16 | vector_fp32"; 2]);
    let label = &roofs.select("label")[2];
    assert!(label.starts_with("vector_bf16 (compared with vector_fp32): 75 TFLOP/s, ridge "), "{label}");
}

#[test]
fn without_an_architecture_or_a_model_there_is_neither_sheet() {
    let mut known = Fixture::new();
    known.mm(0.0, &[("k", 7, 1000.0, 5.0)]);
    let mut unknown = Fixture::new();
    unknown.call("aten::unknown", 0.0, &[("k", 7, 1000.0, 5.0)]);
    let mi300x =
        AnalysisOptions { architecture: architecture("MI300X").cloned(), ..AnalysisOptions::default() };
    for analysis in [known.analyse(AnalysisOptions::default()), unknown.analyse(mi300x)] {
        assert_eq!(analysis.roofs(), []);
        for sheet in [ROOFS, POINTS] {
            assert!(Table::build(&analysis, sheet).is_none(), "{sheet}");
        }
    }
}
