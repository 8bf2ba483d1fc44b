//! The sheets of a recorded rocprofv3 profile against TraceLens's own, and figures known by heart.

use std::path::PathBuf;

use operator_sheets::KernelOptions;
use rocprof_perf::{
    Conventions, Cumulation, KernelCategories, Processes, RocprofAnalysis, RocprofOptions, TimeUnits,
    TimelineRule, rocprof_sheets,
};
use sheets::Layout;
use trace_ingest::ReadOptions;
use trace_ingest::rocprof::read_profile;

use crate::common::Table;
use crate::conformance::{Reference, Verdicts};

fn analysis(options: RocprofOptions) -> Option<(PathBuf, RocprofAnalysis)> {
    let folder = testdata::corpus("rocprof/mi300-allreduce")?;
    let profile = read_profile(&folder.join("908_results.json.gz"), &ReadOptions::default()).unwrap();
    Some((folder, RocprofAnalysis::new(profile, options)))
}

fn everything() -> RocprofOptions {
    RocprofOptions {
        kernels: KernelOptions { kernel_details: true, short_kernel_study: true, ..KernelOptions::default() },
        ..RocprofOptions::default()
    }
}

/// Those that the reference has.
fn short_categories() -> Conventions {
    Conventions { categories: KernelCategories::Short, ..Conventions::default() }
}

fn table(analysis: &RocprofAnalysis, name: &str) -> Table {
    let sheets = rocprof_sheets();
    let sheet = sheets.iter().find(|sheet| sheet.name == name).unwrap();
    Table::new(&sheet.table_in(analysis, Layout::Listed).unwrap().unwrap())
}

#[test]
fn sheets_agree_with_tracelens_cell_by_cell() {
    for (folder, options) in [("reference", RocprofOptions::default()), ("reference-full", everything())] {
        let conventions = Conventions { timeline: TimelineRule::Processes, ..short_categories() };
        let options = RocprofOptions { conventions, ..options };
        let Some((case, analysis)) = analysis(options) else { return };
        let mut verdicts = Verdicts::new("", &[]);
        for (name, file) in testdata::csv_files(&case.join(folder)) {
            let (reference, ours) = (Reference::read(&file), table(&analysis, &name));
            assert_eq!(ours.headers, reference.headers, "{name}");
            verdicts.add(folder, &name, reference.compare(&ours));
        }
        let (exact, clock) = (verdicts.exact, verdicts.clock);
        let wrong = verdicts.wrong();
        assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
        assert!(exact > 500 && clock == 0, "{folder}: {exact} cells exact, {clock} within the clock");
    }
}

#[test]
fn categories_are_those_of_reports_of_traces() {
    let Some((_, analysis)) = analysis(RocprofOptions::default()) else { return };
    let columns = "op category | Count | total_direct_kernel_time_ms";
    assert_eq!(
        table(&analysis, "kernel_summary_by_category").select(columns),
        [
            "communication | 1310 | 4158.756678",
            "elementwise | 22871 | 109.74336",
            "GEMM | 5350 | 65.5905",
            "copy/fill | 6884 | 29.638214",
            "multi_tensor_apply | 500 | 22.654245",
            "reduce | 2050 | 18.415745",
            "NORM_bwd | 2550 | 16.195949",
            "SDPA_bwd | 400 | 6.432385",
            "NORM_fwd | 850 | 4.257679",
            "sort/index | 500 | 4.017591",
            "SDPA_fwd | 400 | 3.909163",
            "embedding | 250 | 2.129869",
        ]
    );
}

#[test]
fn kernels_one_by_one_are_in_order() {
    let Some((_, analysis)) = analysis(everything()) else { return };
    let details = table(&analysis, "kernel_details");
    let (durations, dispatches) = (details.numbers("Kernel duration (µs)"), details.numbers("dispatch_id"));
    assert_eq!(durations.len(), 43_915);
    let keys: Vec<(f64, f64)> =
        durations.into_iter().zip(dispatches).map(|(duration, dispatch)| (-duration, dispatch)).collect();
    assert!(keys.is_sorted());
    let columns = "Kernel duration (µs) | stream | dispatch_id | grid_x | block_x | agent_id | thread_id";
    let rows = details.select(columns);
    assert_eq!(rows[0], "733003.332 | 565 | 2809 | 26624 | 256 | 37946 | 908");
    assert_eq!(rows[5], "127681.08 | 0 | 43915 | 256 | 256 | 37946 | 908");
}

#[test]
fn figures_of_the_reference_are_its_raw_ones() {
    let raw = Conventions {
        units: TimeUnits::AThousandthBelow,
        cumulation: Cumulation::AsFound,
        processes: Processes::First,
        ..short_categories()
    };
    let Some((_, analysis)) = analysis(RocprofOptions { conventions: raw, ..everything() }) else { return };
    let columns = "name | Count | Mean Kernel Time (µs) | Median Kernel Time (µs) | Min Kernel Time (µs) \
         | Max Kernel Time (µs) | Total Kernel Time (ms) | Category";
    let summary = table(&analysis, "kernel_summary");
    let rows = summary.select(columns);
    assert_eq!(rows.len(), 44);
    assert_eq!(
        rows[0],
        "ncclDevKernel_Generic_1 | 1310 | 3174623.4183206107 | 1217193 | 70280 | 733003332 | 4158756.678 | COMM"
    );
    assert_eq!(
        rows[43],
        "compute_num_of_partial_segments | 50 | 2656.04 | 2060 | 600 | 8800 | 132.802 | Other"
    );
    let cumulated = summary.numbers("Cumulative Percentage (%)");
    assert!((cumulated[0] - 97.710_911_456_853_4).abs() < 1e-9, "{}", cumulated[0]);
    assert!((cumulated[43] - 2.399_052_689_735_417).abs() < 1e-9, "{}", cumulated[43]);

    let categories = table(&analysis, "kernel_summary_by_category");
    assert_eq!(
        categories.select("op category | Count | total_direct_kernel_time_ms"),
        [
            "COMM | 1310 | 4158756.678",
            "Elementwise | 21571 | 103507.352",
            "GEMM | 5350 | 65590.5",
            "Other | 7813 | 63265.169",
            "Reduction | 2050 | 18963.593",
            "Memory | 3671 | 16590.646",
            "Normalization | 1750 | 11158.277",
            "Attention | 400 | 3909.163",
        ]
    );
    let expected = [
        93.7169791473618,
        96.04731185229309,
        97.52399620687687,
        99.57305949657659,
        100.00000000000001,
        97.89751291098247,
        98.14872692932373,
        0.08800969411146116,
    ];
    for (ours, expected) in categories.numbers("Cumulative Percentage (%)").into_iter().zip(expected) {
        assert!((ours - expected).abs() < 1e-9, "{ours} {expected}");
    }
    assert!(table(&analysis, "short_kernels_summary").rows.is_empty(), "no kernel is as short as 10 ns");
    assert_eq!(
        table(&analysis, "gpu_timeline").select("type | time ms"),
        [
            "total_time | 15122.023494",
            "kernel | 4233.112334",
            "memory | 0",
            "busy_time | 4233.112334",
            "idle | 10888.91116",
        ]
    );
}

#[test]
fn the_gpu_that_communicates_hides_little_of_it() {
    let Some((_, analysis)) = analysis(RocprofOptions::default()) else { return };
    assert_eq!(
        table(&analysis, "gpu_timeline_by_agent").select("agent | gpu | type | time ms"),
        [
            "37946 | 0 | total_time | 15122.023494",
            "37946 | 0 | kernel | 4233.112334",
            "37946 | 0 | memory | 0",
            "37946 | 0 | busy_time | 4233.112334",
            "37946 | 0 | idle | 10888.91116",
            "37946 | 0 | computation_time | 281.681933",
            "37946 | 0 | comm_time | 4158.756678",
            "37946 | 0 | exposed_comm_time | 3951.430401",
            "37946 | 0 | exposed_memcpy_time | 0",
        ]
    );
}

#[test]
fn another_threshold_and_other_bins_are_other_short_kernels() {
    for (threshold, bins, names, counts) in [
        (10.0, 5, 37, vec![3718.0, 10986.0, 13764.0, 4060.0, 3440.0]),
        (5.0, 10, 20, vec![94.0, 364.0, 698.0, 1917.0, 2689.0, 2704.0, 2333.0, 2459.0, 2807.0, 4608.0]),
    ] {
        let options = RocprofOptions {
            kernels: KernelOptions {
                short_kernel_threshold_us: threshold,
                short_kernel_histogram_bins: std::num::NonZeroUsize::new(bins).unwrap(),
                ..everything().kernels
            },
            ..everything()
        };
        let Some((_, analysis)) = analysis(options) else { return };
        assert_eq!(table(&analysis, "short_kernels_summary").rows.len(), names);
        assert_eq!(table(&analysis, "short_kernel_histogram").numbers("count"), counts);
    }
}
