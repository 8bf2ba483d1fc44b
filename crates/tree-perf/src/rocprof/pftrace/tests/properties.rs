//! What holds of the tables of any profile.

use proptest::prelude::*;

use super::fixture::{Fixture, floats, integers, table, texts};
use crate::rocprof::{PftraceOptions, RocprofAnalysis};

const KERNELS: [&str; 5] = ["fusion_1", "fusion_2", "Cijk_x", "ncclDevKernel_y", "fillBuffer"];

/// Kernel, GPU, start and length.
fn kernels() -> impl Strategy<Value = Vec<(usize, bool, i64, i64)>> {
    prop::collection::vec((0..KERNELS.len(), any::<bool>(), 0..1_000_i64, 0..300_i64), 0..40)
}

fn fixture(kernels: &[(usize, bool, i64, i64)]) -> Fixture {
    let mut fixture = Fixture::new();
    for &(name, second, start, length) in kernels {
        fixture.kernel(KERNELS[name], if second { "B" } else { "A" }, start, length);
    }
    fixture
}

/// Time in ns of a category on all GPUs.
fn time(analysis: &RocprofAnalysis, wanted: &[&str]) -> i64 {
    let frame = table(analysis, "category_summary");
    let (gpus, categories) = (texts(&frame, "GPU ID"), texts(&frame, "Category"));
    let times = floats(&frame, "Total runtime (ms)");
    let rows = 0..frame.height();
    let rows = rows.filter(|&row| gpus[row] != "Avg" && wanted.contains(&categories[row].as_str()));
    rows.map(|row| (times[row] * 1e6).round() as i64).sum()
}

proptest! {
    #[test]
    fn every_kernel_is_in_one_category(kernels in kernels(), min_event_ns in 0..100_i64) {
        let options = PftraceOptions { min_event_ns, ..PftraceOptions::default() };
        let analysis = fixture(&kernels).analysis(options);
        let all: i64 = kernels.iter().map(|&(.., length)| length).filter(|&l| l >= min_event_ns).sum();
        prop_assert_eq!(time(&analysis, &["total_incl_comm"]), all);
        prop_assert_eq!(time(&analysis, &["compute_total", "rccl"]), all);
        prop_assert_eq!(time(&analysis, &["xla", "gemm", "fillBuffer", "rccl"]), all);
        let communication = time(&analysis, &["overlapped_comm", "non_overlapped_comm"]);
        prop_assert!(communication <= time(&analysis, &["rccl"]));
        let overlaps = floats(&table(&analysis, "category_summary"), "Total runtime (ms)");
        prop_assert!(overlaps.iter().all(|&time| time >= 0.0));
    }

    #[test]
    fn rows_of_kernels_add_up_and_fall(kernels in kernels(), merge_kernels: bool) {
        let options = PftraceOptions {
            merge_kernels,
            min_event_ns: 0,
            kernel_summary_include_rccl: true,
            top_xla: usize::MAX,
            ..PftraceOptions::default()
        };
        let analysis = fixture(&kernels).analysis(options);
        let frame = table(&analysis, "pftrace_kernel_summary");
        let times = integers(&frame, "Total Time (ns)");
        prop_assert!(times.is_sorted_by(|a, b| a >= b));
        prop_assert_eq!(times.iter().sum::<i64>(), kernels.iter().map(|&(.., length)| length).sum::<i64>());
        let percent: f64 = floats(&frame, "Time %").iter().sum();
        prop_assert!(times.is_empty() || (percent - 100.0).abs() < 1e-9);
        let longer = kernels.iter().filter(|&&(.., length)| length > 0).count();
        prop_assert_eq!(integers(&frame, "Instances").iter().sum::<i64>(), longer as i64);

        let others = table(&analysis, "xla_top");
        let fractions: f64 = floats(&others, "Fraction of XLA").iter().sum();
        prop_assert!(others.height() == 0 || (fractions - 1.0).abs() < 1e-9);
    }

    #[test]
    fn every_call_with_a_kernel_is_in_one_row(
        calls in prop::collection::vec((1..20_u64, 0..100_i64, 0..50_i64), 0..20),
        kernels in prop::collection::vec((1..20_u64, 0..200_i64, 0..50_i64), 0..20),
    ) {
        let mut fixture = Fixture::new();
        for &(correlation, start, length) in &calls {
            fixture.call("hipLaunchKernel", start, length).correlation = Some(correlation);
        }
        for &(correlation, start, length) in &kernels {
            fixture.kernel("k", "A", start, length).correlation = Some(correlation);
        }
        let frame = table(&fixture.analysis(PftraceOptions::default()), "api_kernel_summary");
        let has = |correlation: u64| kernels.iter().any(|&(of, ..)| of == correlation);
        let linked = (1..20).filter(|&number| calls.iter().any(|&(of, ..)| of == number) && has(number));
        prop_assert_eq!(integers(&frame, "Count").iter().sum::<i64>(), linked.count() as i64);
        let means = |time: &str| floats(&frame, &format!("{time}Avg_ns"));
        for (row, total) in means("T").into_iter().enumerate() {
            let parts = means("A")[row] + means("Q")[row] + means("K")[row];
            prop_assert!((total - parts).abs() < 1e-6);
        }
    }
}
