//! Kernels by name, by category, one by one, and short ones.

use std::num::NonZeroUsize;

use trace_ingest::rocprof::KernelNames;

use super::{everything, reference, small, with_short_categories};
use crate::fixture::{Recorded, built, headers, rows};
use crate::{RocprofNotice, RocprofOptions, rocprof_notices};

#[test]
fn kernels_by_name_have_exact_figures_in_microseconds() {
    let columns = "name | Count | Mean Kernel Time (µs) | Median Kernel Time (µs) | \
        Std Kernel Time (µs) | Min Kernel Time (µs) | Max Kernel Time (µs) | Percentage (%) | \
        Cumulative Percentage (%) | Total Kernel Time (ms) | Category";
    let analysis = small(Some((0, 1000))).analyse(RocprofOptions::default());
    assert_eq!(headers(&built(&analysis, "kernel_summary").unwrap()).join(" | "), columns);
    assert_eq!(
        rows(&analysis, "kernel_summary", columns),
        [
            "a_gemm | 2 | 0.0065 | 0.0065 | 0.0021213203435596424 | 0.005 | 0.008 | 39.39393939393939 | 39.39393939393939 | 1.3e-5 | GEMM",
            "reduce<float> | 1 | 0.007 | 0.007 | - | 0.007 | 0.007 | 21.21212121212121 | 60.60606060606061 | 7e-6 | reduce",
            "raw.kd | 1 | 0.005 | 0.005 | - | 0.005 | 0.005 | 15.151515151515152 | 75.75757575757575 | 5e-6 | other",
            "unknown_kernel_9 | 1 | 0.005 | 0.005 | - | 0.005 | 0.005 | 15.151515151515152 | 90.9090909090909 | 5e-6 | other",
            " | 1 | 0.003 | 0.003 | - | 0.003 | 0.003 | 9.090909090909092 | 100.0 | 3e-6 | other",
        ]
    );
}

#[test]
fn kernels_by_name_as_the_reference_has_them() {
    let analysis = small(Some((0, 1000))).analyse(reference());
    let columns = "name | Count | Mean Kernel Time (µs) | Std Kernel Time (µs) | \
        Min Kernel Time (µs) | Max Kernel Time (µs) | Percentage (%) | Cumulative Percentage (%) | \
        Total Kernel Time (ms)";
    assert_eq!(
        rows(&analysis, "kernel_summary", columns),
        [
            "a_gemm | 2 | 6.5 | 2.1213203435596424 | 5 | 8 | 39.39393939393939 | 48.484848484848484 | 0.013",
            "reduce<float> | 1 | 7.0 | - | 7 | 7 | 21.21212121212121 | 84.84848484848484 | 0.007",
            "raw.kd | 1 | 5.0 | - | 5 | 5 | 15.151515151515152 | 63.63636363636364 | 0.005",
            "unknown_kernel_9 | 1 | 5.0 | - | 5 | 5 | 15.151515151515152 | 100.0 | 0.005",
            " | 1 | 3.0 | - | 3 | 3 | 9.090909090909092 | 9.090909090909092 | 0.003",
        ]
    );
    let columns = "op category | Count | total_direct_kernel_time_ms | Cumulative Percentage (%)";
    assert_eq!(
        rows(&analysis, "kernel_summary_by_category", columns),
        [
            "GEMM | 2 | 0.013 | 39.39393939393939",
            "Other | 3 | 0.013 | 78.78787878787878",
            "Reduction | 1 | 0.007 | 100.0",
        ]
    );
}

#[test]
fn kernels_by_category_are_the_sums_of_kernels_by_name() {
    let analysis = small(Some((0, 1000))).analyse(RocprofOptions::default());
    let columns = "op category | Count | total_direct_kernel_time_ms | Percentage (%) | \
        Cumulative Percentage (%)";
    assert_eq!(
        rows(&analysis, "kernel_summary_by_category", columns),
        [
            "GEMM | 2 | 1.3e-5 | 39.39393939393939 | 39.39393939393939",
            "other | 3 | 1.3e-5 | 39.39393939393939 | 78.78787878787878",
            "reduce | 1 | 7e-6 | 21.21212121212121 | 100.0",
        ]
    );
}

#[test]
fn kernels_of_one_name_have_a_row_for_each_kind_of_work() {
    let recorded = || {
        let mut recorded = Recorded::new(Some((0, 100)));
        for (id, formatted) in [
            (1, "void ck_tile::kentry<256, ck_tile::FmhaFwdKernel<Shape> >(Args)"),
            (2, "void ck_tile::kentry<256, ck_tile::GemmKernel<Shape> >(Args)"),
            (3, "void ck_tile::kentry<512, ck_tile::GemmKernel<Shape> >(Args)"),
        ] {
            let kernel = recorded.kernel(id, [None, Some(formatted), Some("kentry")]);
            recorded.dispatch(kernel, None, 0, 10 * id as i64);
        }
        recorded
    };
    let summary = |options| {
        let analysis = recorded().analyse(options);
        let by_category = rows(&analysis, "kernel_summary_by_category", "op category | Count");
        (rows(&analysis, "kernel_summary", "name | Count | Category"), by_category)
    };
    assert_eq!(
        summary(RocprofOptions::default()),
        (
            vec!["kentry | 2 | GEMM".to_owned(), "kentry | 1 | SDPA_fwd".to_owned()],
            vec!["GEMM | 2".to_owned(), "SDPA_fwd | 1".to_owned()]
        )
    );
    let short = RocprofOptions { conventions: with_short_categories(), ..RocprofOptions::default() };
    assert_eq!(summary(short), (vec!["kentry | 3 | Other".to_owned()], vec!["Other | 3".to_owned()]));
}

#[test]
fn a_name_of_another_kind_makes_other_rows() {
    let recorded = || {
        let mut recorded = Recorded::new(Some((0, 100)));
        for (id, formatted) in [(1, "add<float>(float*)"), (2, "add<int>(int*)")] {
            let kernel = recorded.kernel(id, [None, Some(formatted), Some("add")]);
            recorded.dispatch(kernel, None, id as i64, 10);
        }
        recorded
    };
    let names = |kernel_names| {
        let analysis = recorded().analyse(RocprofOptions { kernel_names, ..RocprofOptions::default() });
        rows(&analysis, "kernel_summary", "name | Count")
    };
    assert_eq!(names(Some(KernelNames::Truncated)), ["add | 2"]);
    assert_eq!(names(Some(KernelNames::Formatted)), ["add<float>(float*) | 1", "add<int>(int*) | 1"]);
}

#[test]
fn details_are_sorted_by_duration_then_by_dispatch() {
    let mut recorded = small(Some((0, 1000)));
    let gpu = recorded.gpu("37946", 0);
    recorded.profile.launches[0].grid = [1024, 2, 1];
    let last = recorded.run("a_gemm", Some(gpu), 600, 607);
    (last.stream, last.thread) = (565, 1229);
    let dispatches = &mut recorded.profile.dispatches;
    dispatches.reverse();
    let columns = "name | Kernel duration (µs) | dispatch_id | stream | grid_x | grid_y | agent_id";
    let analysis = recorded.analyse(everything());
    let found = rows(&analysis, "kernel_details", columns);
    assert_eq!(
        found,
        [
            "a_gemm | 0.008 | 5 | 0 | 1024 | 2 | -",
            "reduce<float> | 0.007 | 2 | 0 | 1024 | 2 | -",
            "a_gemm | 0.007 | 7 | 565 | 1024 | 2 | 37946",
            "a_gemm | 0.005 | 1 | 0 | 1024 | 2 | -",
            "raw.kd | 0.005 | 3 | 0 | 1024 | 2 | -",
            "unknown_kernel_9 | 0.005 | 4 | 0 | 1024 | 2 | -",
            " | 0.003 | 6 | 0 | 1024 | 2 | -",
        ]
    );
    let mut cut = everything();
    cut.kernels.topk_kernels = Some(2);
    let analysis = small(Some((0, 1000))).analyse(cut);
    assert_eq!(
        rows(&analysis, "kernel_details", "name | Kernel duration (µs) | dispatch_id"),
        ["a_gemm | 0.008 | 5", "reduce<float> | 0.007 | 2"]
    );
    assert_eq!(rows(&analysis, "kernel_summary", "name").len(), 5, "other sheets have all");
    let analysis = small(Some((0, 1000))).analyse(reference());
    let columns = "Kernel duration (µs) | block_x | agent_id | thread_id";
    assert_eq!(rows(&analysis, "kernel_details", columns)[0], "8 | 1 | 0 | 0");
}

#[test]
fn kernels_without_length_have_no_share() {
    let mut recorded = Recorded::new(Some((0, 0)));
    recorded.run("k", None, 5, 5);
    let analysis = recorded.analyse(RocprofOptions::default());
    let columns = "name | Percentage (%) | Cumulative Percentage (%)";
    assert_eq!(rows(&analysis, "kernel_summary", columns), ["k | 0.0 | 0.0"]);
    assert_eq!(
        rows(&analysis, "gpu_timeline", "type | time ms | percent")[..2],
        ["total_time | 0.0 | 100.0", "kernel | 0.0 | 0.0"]
    );
}

#[test]
fn short_kernels_are_shorter_than_the_threshold() {
    let columns = "name | Short Kernel count | Short Kernel duration (µs) sum | \
        Short Kernel duration (µs) mean | Short Kernel duration (µs) percent of total time";
    let recorded = || {
        let mut recorded = Recorded::new(Some((0, 1_000_000)));
        for (name, start, duration) in [
            ("b", 0, 9_999),
            ("b", 20_000, 10_000),
            ("a", 40_000, 4_000),
            ("a", 50_000, 5_999),
            ("c", 60_000, 30_000),
        ] {
            recorded.run(name, None, start, start + duration);
        }
        recorded
    };
    let analysis = recorded().analyse(everything());
    let found = rows(&analysis, "short_kernels_summary", columns);
    assert_eq!(
        found,
        ["a | 2 | 9.999 | 4.9995 | 16.665555518517284", "b | 1 | 9.999 | 9.999 | 16.665555518517284",]
    );
    // TraceLens takes the threshold for nanoseconds and so finds none.
    let analysis = recorded().analyse(reference());
    let frame = built(&analysis, "short_kernels_summary").unwrap();
    assert_eq!((frame.height(), headers(&frame).join(" | ").as_str()), (0, columns));
    let none = RocprofNotice::NoShortKernels { threshold_us: 10.0 };
    assert!(rocprof_notices(&analysis).contains(&none));
    assert_eq!(none.to_string(), "No kernels found with duration < 10 µs");
    let mut options = reference();
    options.kernels.short_kernel_threshold_us = 10_000.0;
    let found = rows(
        &recorded().analyse(options),
        "short_kernels_summary",
        "name | Short Kernel count | Short Kernel duration (µs) sum | Short Kernel duration (µs) mean",
    );
    assert_eq!(found, ["a | 2 | 9999 | 4999.5", "b | 1 | 9999 | 9999.0"]);
}

#[test]
fn the_histogram_reaches_from_the_shortest_to_the_longest() {
    let histogram = |recorded: Recorded, bins: usize| {
        let bins = NonZeroUsize::new(bins).unwrap();
        let mut options = reference();
        options.kernels.short_kernel_histogram_bins = bins;
        rows(&recorded.analyse(options), "short_kernel_histogram", "bin_start | bin_end | count")
    };
    let found = histogram(small(Some((0, 1000))), 4);
    assert_eq!(found, ["3.0 | 4.25 | 1", "4.25 | 5.5 | 3", "5.5 | 6.75 | 0", "6.75 | 8.0 | 2"]);
    let lone = || {
        let mut recorded = Recorded::new(Some((0, 100)));
        recorded.run("k", None, 10, 15);
        recorded
    };
    let found = histogram(lone(), 3);
    let third = "4.833333333333333 | 5.166666666666667 | 1";
    assert_eq!(found, ["4.5 | 4.833333333333333 | 0", third, "5.166666666666667 | 5.5 | 0"]);
    assert_eq!(histogram(lone(), 2), ["4.5 | 5.0 | 0", "5.0 | 5.5 | 1"]);
}
