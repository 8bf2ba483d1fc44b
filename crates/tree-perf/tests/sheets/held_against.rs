//! What work is held against: peaks of a basis, links of copies, the arithmetic that kernels name, caches.

use perf_models::{PeakBasis, architecture};
use tree_perf::{Analysis, AnalysisOptions};

use crate::common::{THEIRS, Table, conventions};
use crate::fixture::{Analysed, Fixture, Input};

const UNIFIED: &str = "unified_perf_summary";

fn on(device: &str) -> AnalysisOptions {
    AnalysisOptions { architecture: architecture(device).cloned(), ..AnalysisOptions::default() }
}

/// `aten::copy_` of 63e6 bytes of FP32 with a recorded copy of 1000 µs.
fn copied(fixture: &mut Fixture, at: f64, name: &str, bytes: Option<u64>) {
    let tensor: Input<'_> = (&[15_750_000], "float", "");
    fixture.modelled_call("aten::copy_", at, &[tensor, tensor, (&[], "Scalar", "False")], &[]);
    let correlation = fixture.correlation();
    fixture.launch("cudaMemcpyAsync", (at + 1.0, 1.0), correlation);
    fixture.transfer((name, 7, 1000.0 + at * 100.0, 1000.0), bytes, correlation);
}

#[test]
fn a_copy_is_held_against_the_link_that_it_uses() {
    let host = "compared with PCIe 5.0 x16 (63 GB/s in one direction)";
    let peer = "compared with NVLink 4 (450 GB/s in one direction)";
    // 63e6 bytes: over 63 GB/s, over 450 GB/s, and read and written at 3350 GB/s.
    let cases = [
        (
            "Memcpy HtoD (Pinned -> Device)",
            "LINK_BOUND",
            63.0,
            1000.0,
            format!("copy to the device, pinned memory, {host}"),
        ),
        (
            "Memcpy DtoH (Device -> Pageable)",
            "LINK_BOUND",
            63.0,
            1000.0,
            format!("copy to the host, pageable memory, {host}"),
        ),
        (
            "Memcpy PtoP (Device -> Device)",
            "LINK_BOUND",
            63.0,
            140.0,
            format!("copy between devices, {peer}"),
        ),
        ("Memcpy DtoD (Device -> Device)", "MEMORY_BOUND", 126.0, 126e6 / 3350e3, "-".to_owned()),
    ];
    for (name, bound, megabytes, time_us, note) in cases {
        let mut fixture = Fixture::new();
        copied(&mut fixture, 0.0, name, Some(63_000_000));
        let analysis = fixture.analyse(on("h100"));
        for (sheet, suffix) in [(UNIFIED, ""), ("UnaryElementwise", "_first")] {
            let table = Table::of_sheet(&analysis, sheet);
            let bound_column = format!("Roofline Bound{suffix}");
            assert_eq!(
                table.select(&format!("name | {bound_column} | note")),
                [format!("aten::copy_ | {bound} | {note}")]
            );
            let moved = table.numbers(&format!("Data Moved (MB){suffix}"))[0] * 1024.0 * 1024.0;
            assert!((moved - megabytes * 1e6).abs() < 1e-3, "{name}: {moved}");
            let least = table.numbers("Roofline Time (µs)_first")[0];
            assert!((least - time_us).abs() < 1e-9, "{name} {sheet}: {least}");
        }
        let coverage = Table::of_sheet(&analysis, "coverage").select("status | op category");
        assert_eq!(coverage, ["modelled | copy/fill"]);
    }
}

#[test]
fn a_copy_of_unknown_size_says_so_and_is_never_held_against_the_memory() {
    let mut fixture = Fixture::new();
    copied(&mut fixture, 0.0, "Memcpy HtoD (Pinned -> Device)", None);
    let table = fixture.table_with(UNIFIED, on("h100"));
    let row = table.select("Roofline Bound | TB/s_mean | reason");
    assert_eq!(row, ["- | - | the copy size is not recorded"]);
}

#[test]
fn a_copy_over_a_link_of_unknown_rate_has_its_rate_and_no_roofline() {
    let mut fixture = Fixture::new();
    copied(&mut fixture, 0.0, "Memcpy HtoD (Pinned -> Device)", Some(63_000_000));
    let table = fixture.table_with(UNIFIED, on("gb200"));
    let row = table.select("Roofline Bound | TB/s_mean | note");
    assert_eq!(row, ["- | 0.063 | copy to the device, pinned memory; GB200 has no bandwidth for that link"]);
}

#[test]
fn with_the_figures_of_tracelens_copies_are_what_their_model_says() {
    let mut fixture = Fixture::new();
    copied(&mut fixture, 0.0, "Memcpy HtoD (Pinned -> Device)", Some(63_000_000));
    let table = fixture.table_with(UNIFIED, AnalysisOptions { conventions: THEIRS, ..on("h100") });
    assert_eq!(table.select("Roofline Bound | note"), ["MEMORY_BOUND | -"]);
    let moved = table.numbers("Data Moved (MB)")[0] * 1024.0 * 1024.0;
    assert!((moved - 126e6).abs() < 1e-3, "{moved}");
}

#[test]
fn fp32_products_are_held_against_the_arithmetic_that_the_kernel_names() {
    let told = "judging by its name, the kernel runs FP32 math";
    let cases = [
        ("ampere_sgemm_32x32_tn", "h100", false, "vector_fp32", format!("{told} without matrix units"), 66.9),
        (
            "cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4",
            "h100",
            false,
            "matrix_tf32",
            format!("{told} as TF32"),
            494.7,
        ),
        (
            "k",
            "h100",
            false,
            "matrix_fp32",
            "compared with matrix_tf32: the trace does not say whether FP32 math runs as TF32".to_owned(),
            494.7,
        ),
        // With matrix units for FP32; with neither; as TraceLens has it.
        ("Cijk_Ailk_Bljk_S_B_MT16x16x128", "mi300x", false, "matrix_fp32", "-".to_owned(), 163.4),
        ("volta_sgemm_128x32_nt", "v100", false, "vector_fp32", format!("{told} without matrix units"), 15.7),
        ("ampere_sgemm_32x32_tn", "h100", true, "matrix_fp32", "-".to_owned(), 494.7),
    ];
    for (kernel, device, are_theirs, spec, note, tflops) in cases {
        let mut fixture = Fixture::new();
        let square: Input<'_> = (&[4096, 4096], "float", "");
        fixture.modelled_call("aten::mm", 0.0, &[square, square], &[(kernel, 7, 1000.0, 20_000.0)]);
        let analysis =
            fixture.analyse(AnalysisOptions { conventions: conventions(are_theirs), ..on(device) });
        for sheet in [UNIFIED, "GEMM"] {
            let table = Table::of_sheet(&analysis, sheet);
            assert_eq!(table.select("Compute Spec | note"), [format!("{spec} | {note}")], "{kernel} {sheet}");
            let least = 2.0 * 4096_f64.powi(3) / (tflops * 1e6);
            let found = table.numbers("Roofline Time (µs)_first")[0];
            assert!((found - least).abs() < 1e-9 * least, "{kernel} {device} {sheet}: {found}, not {least}");
        }
    }
}

#[test]
fn a_cache_explains_calls_that_are_faster_than_the_memory() {
    let call = |elements: i64, time: f64| {
        let mut fixture = Fixture::new();
        let tensor = &[elements][..];
        let inputs: [Input<'_>; 3] = [(tensor, "float", ""), (tensor, "float", ""), (&[], "Scalar", "1")];
        fixture.modelled_call("aten::add", 0.0, &inputs, &[("add", 7, 1000.0, time)]);
        fixture.analyse(on("h100"))
    };
    let rows = |analysis: &Analysis| {
        let coverage = Table::of_sheet(analysis, "coverage").select("status").remove(0);
        (coverage, Table::of_sheet(analysis, UNIFIED).select("note").remove(0))
    };
    // 12 bytes an element: 12e6 bytes take 3.58 µs of an H100's memory, 120e6 bytes do not fit its 50 MiB.
    let note = "faster than memory: the data fits in the 50 MiB cache";
    assert_eq!(rows(&call(1_000_000, 2.0)), ("in cache".to_owned(), note.to_owned()));
    assert_eq!(rows(&call(1_000_000, 5.0)), ("modelled".to_owned(), "-".to_owned()));
    assert_eq!(rows(&call(10_000_000, 20.0)), ("above peak".to_owned(), "-".to_owned()));
}

#[test]
fn the_basis_decides_which_peak_counts() {
    let roofline = |options: AnalysisOptions| {
        let mut fixture = Fixture::new();
        let square: Input<'_> = (&[4096, 4096], "c10::BFloat16", "");
        fixture.modelled_call("aten::mm", 0.0, &[square, square], &[("k", 7, 1000.0, 1000.0)]);
        let analysis = fixture.analyse(options);
        let roof = Table::of_sheet(&analysis, "roofline").select("Peak Basis").remove(2);
        let time = Table::of_sheet(&analysis, UNIFIED).numbers("Roofline Time (µs)_first")[0];
        (roof, (2.0 * 4096_f64.powi(3) / time / 1e6 * 10.0).round() / 10.0)
    };
    let mi300x = || on("mi300x");
    let with = |peak_basis| AnalysisOptions { peak_basis: Some(peak_basis), ..mi300x() };
    let (nominal, achievable) = (("nominal".to_owned(), 1307.4), ("achievable".to_owned(), 708.0));
    assert_eq!(roofline(mi300x()), nominal);
    assert_eq!(roofline(with(PeakBasis::Achievable)), achievable);
    // TraceLens knows the achievable ones only.
    assert_eq!(roofline(AnalysisOptions { conventions: THEIRS, ..mi300x() }), achievable);
    assert_eq!(roofline(AnalysisOptions { conventions: THEIRS, ..with(PeakBasis::Nominal) }), nominal);
}
