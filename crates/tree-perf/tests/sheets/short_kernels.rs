//! Kernels below the threshold.

use std::num::NonZeroUsize;

use operator_sheets::KernelOptions;
use tree_perf::AnalysisOptions;

use crate::common::Table;
use crate::fixture::{Analysed, Fixture};

const HISTOGRAM: &str = "short_kernels_histogram";
const DETAILS: &str = "short_kernels_all_details";

fn options(of: KernelOptions) -> AnalysisOptions {
    let kernels = KernelOptions { short_kernel_study: true, ..of };
    AnalysisOptions { kernels, ..AnalysisOptions::default() }
}

/// Kernels of 5, 8 and 50 µs, each of its own operator.
fn three_kernels() -> Fixture {
    let mut fixture = Fixture::new();
    for (position, (kernel, duration)) in [("k5", 5.0), ("k8", 8.0), ("k50", 50.0)].into_iter().enumerate() {
        let at = position as f64 * 100.0;
        fixture.call_with_dims("aten::add", at, &[&[position as i64]], &[(kernel, 7, 1000.0 + at, duration)]);
    }
    fixture
}

#[test]
fn kernels_below_the_threshold_are_listed_with_their_operator() {
    let rows = three_kernels().table_with(DETAILS, options(KernelOptions::default())).select(
        "Parent cpu_op | Input dims | Input strides | Concrete Inputs | Kernel name \
         | Short Kernel duration (µs) sum | Short Kernel count \
         | Short Kernel duration (µs) mean | Short Kernel duration (µs) percent of total time",
    );
    let expected = [
        "aten::add | ((1,),) | ((1,),) | ('',) | k8 | 8 | 1 | 8 | 3.2",
        "aten::add | ((0,),) | ((1,),) | ('',) | k5 | 5 | 1 | 5 | 2",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn the_threshold_itself_is_not_short() {
    for (threshold, kernels) in [(5.0, 0), (5.001, 1), (8.0, 1), (8.5, 2), (1e9, 3)] {
        let options =
            options(KernelOptions { short_kernel_threshold_us: threshold, ..KernelOptions::default() });
        let analysis = three_kernels().analyse(options);
        assert_eq!(Table::of_sheet(&analysis, DETAILS).rows.len(), kernels, "threshold {threshold}");
        let in_bins: f64 = Table::of_sheet(&analysis, HISTOGRAM).numbers("count").iter().sum();
        assert_eq!(in_bins, kernels as f64, "threshold {threshold}");
    }
}

#[test]
fn the_histogram_has_equal_bins_from_the_shortest_to_the_longest() {
    let mut fixture = Fixture::new();
    fixture.call("a", 0.0, &[("k", 7, 1000.0, 50.0), ("k", 8, 1000.0, 50.0)]);
    fixture.call("b", 20.0, &[("k", 7, 1100.0, 50.0), ("k", 7, 1200.0, 10.0), ("k", 7, 1300.0, 60.0)]);
    let options = options(KernelOptions {
        short_kernel_threshold_us: 60.0,
        short_kernel_histogram_bins: NonZeroUsize::new(4).unwrap(),
        ..KernelOptions::default()
    });
    let rows = fixture.table_with(HISTOGRAM, options).select("bin_start | bin_end | count");
    assert_eq!(rows, ["10 | 20 | 1", "20 | 30 | 0", "30 | 40 | 0", "40 | 50 | 3"]);
}

#[test]
fn kernels_of_one_length_are_in_a_bin_of_one_microsecond() {
    let mut fixture = Fixture::new();
    fixture.call("a", 0.0, &[("k", 7, 1000.0, 4.0)]);
    let options = options(KernelOptions {
        short_kernel_histogram_bins: NonZeroUsize::new(1).unwrap(),
        ..KernelOptions::default()
    });
    let rows = fixture.table_with(HISTOGRAM, options).select("bin_start | bin_end | count");
    assert_eq!(rows, ["3.5 | 4.5 | 1"]);
}

#[test]
fn no_short_kernel_leaves_a_bare_header_and_an_empty_table() {
    let mut fixture = Fixture::new();
    fixture.call("a", 0.0, &[("k", 7, 1000.0, 40.0)]);
    let analysis = fixture.analyse(options(KernelOptions::default()));
    let histogram = Table::of_sheet(&analysis, HISTOGRAM);
    assert_eq!((histogram.headers.len(), histogram.rows.len()), (3, 0));
    let details = Table::of_sheet(&analysis, DETAILS);
    assert_eq!((details.headers.len(), details.rows.len()), (0, 0));
}

#[test]
fn the_first_rows_are_those_with_most_time() {
    let options = AnalysisOptions { topk_short_kernels: Some(1), ..options(KernelOptions::default()) };
    assert_eq!(three_kernels().table_with(DETAILS, options).select("Kernel name"), ["k8"]);
}

#[test]
fn equal_sums_are_ordered_by_count_then_by_appearance() {
    let mut fixture = Fixture::new();
    let kernels =
        [("twice", 7, 1000.0, 2.0), ("twice", 7, 1010.0, 2.0), ("z", 7, 1020.0, 4.0), ("a", 7, 1030.0, 4.0)];
    fixture.call_with_dims("op", 0.0, &[&[1]], &kernels);
    let rows = fixture
        .table_with(DETAILS, options(KernelOptions::default()))
        .select("Kernel name | Short Kernel count");
    assert_eq!(rows, ["z | 1", "a | 1", "twice | 2"]);
}

#[test]
fn kernels_without_recorded_arguments_are_counted_in_a_notice() {
    let mut fixture = three_kernels();
    fixture.call("aten::foo", 400.0, &[("kfoo", 7, 1400.0, 6.0)]);
    fixture.launches(500.0, &[("bare", 7, 1500.0, 1.5)]);
    fixture.unlinked(("early", 7, 900.0, 1.0));
    let analysis = fixture.analyse(options(KernelOptions::default()));
    assert_eq!(Table::of_sheet(&analysis, DETAILS).select("Kernel name"), ["k8", "k5"]);
    let notices: Vec<String> = analysis.notices().iter().map(ToString::to_string).collect();
    assert_eq!(notices.len(), 1);
    assert!(notices[0].starts_with("3 short kernels (8.500 µs)"), "{notices:?}");
}

#[test]
fn only_kernels_without_arguments_leave_a_header() {
    let mut fixture = Fixture::new();
    fixture.call("aten::foo", 0.0, &[("kfoo", 7, 1000.0, 6.0)]);
    let details = fixture.table_with(DETAILS, options(KernelOptions::default()));
    assert_eq!((details.headers.len(), details.rows.len()), (9, 0));
}

#[test]
fn without_operators_kernels_are_grouped_by_name_alone() {
    let mut fixture = Fixture::new();
    fixture.launches(0.0, &[("a", 7, 1000.0, 5.0), ("a", 8, 1000.0, 3.0), ("b", 7, 1010.0, 4.0)]);
    let table = fixture.table_with(DETAILS, options(KernelOptions::default()));
    assert_eq!(table.headers[0], "Kernel name");
    let rows = table.select("Kernel name | Short Kernel duration (µs) sum | Short Kernel count");
    assert_eq!(rows, ["a | 8 | 2", "b | 4 | 1"]);
}

#[test]
fn the_sheets_are_left_out_unless_asked_for() {
    let analysis = three_kernels().analyse(AnalysisOptions::default());
    assert!(Table::build(&analysis, HISTOGRAM).is_none());
    assert!(Table::build(&analysis, DETAILS).is_none());
}
