//! Rooflines of recorded traces on an architecture that was asked for, by formula and by hand.

use perf_models::{PeakBasis, architecture};
use tree_perf::{Analysis, AnalysisOptions, pytorch_sheets};

use super::read;
use crate::common::Table;

/// Measured peaks of MI300X in 10¹² operations per second, as far as the traces here need them.
const PEAKS: [(&str, f64); 6] = [
    ("matrix_bf16", 708.0),
    ("matrix_fp32", 163.0),
    ("vector_bf16", 163.0),
    ("vector_fp16", 163.0),
    ("vector_fp32", 81.0),
    ("vector_fp64", 40.0),
];

/// Its memory bandwidth in bytes per µs.
const BYTES_PER_US: f64 = 5_300_000.0;

/// A case analysed for MI300X; `None` where it is absent.
fn on_mi300x(case: &str) -> Option<Analysis> {
    let options = AnalysisOptions {
        architecture: architecture("MI300X").cloned(),
        peak_basis: Some(PeakBasis::Achievable),
        ..AnalysisOptions::default()
    };
    let trace = testdata::corpus(&format!("pytorch/{case}/trace.json.gz"))?;
    Some(Analysis::new(read(&trace), options))
}

fn near(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * a.abs().max(b.abs())
}

/// A cell as a number; `None` where it is empty.
fn number(table: &Table, row: usize, column: &str) -> Option<f64> {
    table.select(column)[row].parse().ok()
}

/// Checks the roofline columns of a sheet; how many rows have them.
fn check(table: &Table, sheet: &str) -> usize {
    let named = |column: &str| {
        let first = format!("{column}_first");
        if table.headers.contains(&first) { first } else { column.to_owned() }
    };
    let (gflops, mebibytes) = (named("GFLOPS"), named("Data Moved (MB)"));
    let bound = named("Roofline Bound");
    let mut checked = 0;
    for row in 0..table.rows.len() {
        let cell = |column: &str| number(table, row, column);
        let what = format!("{sheet}: {}", table.select(&format!("name | Compute Spec | {bound}"))[row]);
        let (Some(flops), Some(bytes)) = (cell(&gflops), cell(&mebibytes)) else {
            assert_eq!(cell("Roofline Time (µs)_first"), None, "{what}");
            continue;
        };
        let spec = &table.select("Compute Spec")[row];
        let peak = PEAKS.iter().find(|(known, _)| known == spec).map(|&(_, peak)| peak);
        assert!(peak.is_some() || spec == "-", "{what}");
        let compute = peak.map_or(0.0, |peak| flops * 1e3 / peak);
        let memory = bytes * 1024.0 * 1024.0 / BYTES_PER_US;
        let least = compute.max(memory);
        let expected = if compute >= memory { "COMPUTE_BOUND" } else { "MEMORY_BOUND" };
        assert_eq!(table.select(&bound)[row], expected, "{what}");
        assert!(near(cell("Roofline Time (µs)_first").unwrap(), least, 1e-12), "{what}");
        // The share is largest where the call is fastest. A call that ran nothing has none.
        let of_fastest =
            cell("Kernel Time (µs)_min").filter(|&time| time > 0.0).map(|time| least / time * 100.0);
        let of_slowest =
            cell("Kernel Time (µs)_max").filter(|&time| time > 0.0).map(|time| least / time * 100.0);
        if let (Some(of_fastest), Some(of_slowest)) = (of_fastest, of_slowest) {
            assert!(near(cell("Pct Roofline_max").unwrap(), of_fastest, 1e-12), "{what}");
            assert!(near(cell("Pct Roofline_min").unwrap(), of_slowest, 1e-12), "{what}");
        }
        assert_eq!(cell("Pct Roofline_mean").is_some(), of_slowest.is_some(), "{what}");
        checked += 1;
    }
    checked
}

#[test]
fn every_row_with_work_has_the_roofline_of_its_work() {
    let Some(analysis) = on_mi300x("mi300-qwen1.5-0.5b") else { return };
    let mut checked = Vec::new();
    for sheet in pytorch_sheets() {
        let Some(table) = Table::build(&analysis, &sheet.name) else { continue };
        if table.headers.iter().any(|header| header.starts_with("Roofline Bound")) {
            checked.push((sheet.name.to_string(), check(&table, &sheet.name)));
        }
    }
    let expected = [
        "unified_perf_summary",
        "GEMM",
        "SDPA_fwd",
        "BinaryElementwise",
        "UnaryElementwise",
        "Reduce_fwd",
        "TensorTraffic",
    ];
    assert_eq!(checked.iter().map(|(sheet, _)| sheet.as_str()).collect::<Vec<_>>(), expected);
    assert!(checked.iter().all(|&(_, rows)| rows > 0), "{checked:?}");
}

#[test]
fn the_roofline_of_a_matrix_product_by_hand() {
    let Some(analysis) = on_mi300x("mi300-qwen1.5-0.5b") else { return };
    let table = Table::of_sheet(&analysis, "GEMM");
    let sizes = table.select("name | param: M | param: N | param: K | Compute Spec | Roofline Bound_first");
    let wanted = "aten::mm | 8944 | 2816 | 1024 | matrix_bf16 | COMPUTE_BOUND";
    let row = sizes.iter().position(|sizes| sizes == wanted).unwrap_or_else(|| panic!("{sizes:#?}"));
    // 2·8944·2816·1024 = 51 581 550 592 FLOPs at 708e12 a second; 71.0078125 MiB at 5300e9 bytes a second
    // take 14.05 µs.
    let least = 51_581_550_592.0 / 708e6;
    let cell = |column: &str| number(&table, row, column).unwrap();
    assert_eq!((cell("GFLOPS_first"), cell("Data Moved (MB)_first")), (51.581550592, 71.0078125));
    assert!(near(cell("Roofline Time (µs)_first"), least, 1e-12) && near(least, 72.8553, 1e-6), "{least}");
    assert!(cell("Pct Roofline_mean") > 30.0 && cell("Pct Roofline_max") < 100.0);
}

#[test]
fn rooflines_agree_with_figures_of_the_reference() {
    let Some(analysis) = on_mi300x("h100-falconsai-vit") else { return };
    let gemm = Table::of_sheet(&analysis, "GEMM");
    let sizes = gemm.select("name | param: M | param: N | param: K");
    let row = sizes.iter().position(|sizes| sizes == "aten::addmm | 788 | 768 | 768").unwrap();
    assert!(near(number(&gemm, row, "Roofline Time (µs)_first").unwrap(), 1.313796338983051, 1e-12));
    // Measured by the reference in doubles.
    assert!(near(number(&gemm, row, "Pct Roofline_mean").unwrap(), 15.80365150214341, 2e-3));
    let norm = Table::of_sheet(&analysis, "Normalization");
    let rows = norm.select("name | Data Moved (MB)_first | Roofline Bound_first");
    let row =
        rows.iter().position(|row| row == "aten::layer_norm | 2.317535400390625 | MEMORY_BOUND").unwrap();
    // The reference counts statistics of channels instead of those of rows: 0.4585 µs.
    assert!(near(number(&norm, row, "Roofline Time (µs)_first").unwrap(), 0.4585116981132075, 1e-12));
}
