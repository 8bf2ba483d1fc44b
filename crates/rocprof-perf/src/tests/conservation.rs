//! Nothing is lost, and the sheets agree with one another.

use proptest::prelude::*;
use trace_ingest::rocprof::CopyDirection::Other;

use super::{everything, reference};
use crate::RocprofAnalysis;
use crate::fixture::{Recorded, rows};

/// Runs and copies on two GPUs or none.
fn recorded() -> impl Strategy<Value = Recorded> {
    let names = prop::sample::select(vec!["gemm", "ncclDevKernel", "reduce", "copy", "k"]);
    let agents = prop::sample::select(vec![None, Some(0), Some(1)]);
    let run = (names, agents.clone(), 0..2_000_i64, 0..300_i64);
    let copy = (agents.clone(), agents, 0..2_000_i64, 0..300_i64);
    (prop::collection::vec(run, 1..40), prop::collection::vec(copy, 0..20), any::<bool>()).prop_map(
        |(runs, copies, has_times)| {
            let mut recorded = Recorded::new(has_times.then_some((-10, 1_500)));
            recorded.gpu("a", 0);
            recorded.gpu("b", 1);
            for (name, agent, start, length) in runs {
                recorded.run(name, agent, start, start + length);
            }
            for (source, destination, start, length) in copies {
                recorded.copy(Other, [source, destination], start, start + length);
            }
            recorded
        },
    )
}

fn numbers(analysis: &RocprofAnalysis, sheet: &str, column: &str) -> Vec<f64> {
    rows(analysis, sheet, column).iter().map(|cell| cell.parse().unwrap_or(0.0)).collect()
}

proptest! {
    #[test]
    fn nothing_is_lost_and_everything_adds_up(recorded in recorded()) {
        let runs = recorded.profile.dispatches.len();
        let sum: i64 = recorded.profile.dispatches.iter().map(|dispatch| dispatch.duration().0).sum();
        let mut options = everything();
        options.kernels.short_kernel_threshold_us = 0.1;
        let analysis = recorded.analyse(options);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1.0);

        let timeline = numbers(&analysis, "gpu_timeline", "time ms");
        let [total, kernel, memory, busy, idle] = timeline[..] else { panic!("{timeline:?}") };
        prop_assert!(close(busy + idle, total) && kernel.max(memory) <= busy && busy <= kernel + memory + 1e-12);
        let percent = numbers(&analysis, "gpu_timeline", "percent");
        if total > 0.0 {
            prop_assert!(close(percent[3] + percent[4], 100.0), "{:?}", percent);
        }

        for (sheet, total) in [
            ("kernel_summary", "Total Kernel Time (ms)"),
            ("kernel_summary_by_category", "total_direct_kernel_time_ms"),
        ] {
            let totals = numbers(&analysis, sheet, total);
            prop_assert_eq!(numbers(&analysis, sheet, "Count").iter().sum::<f64>(), runs as f64);
            prop_assert!(close(totals.iter().sum(), sum as f64 / 1e6));
            prop_assert!(totals.windows(2).all(|pair| pair[0] >= pair[1]));
            if sum > 0 {
                prop_assert!(close(numbers(&analysis, sheet, "Percentage (%)").iter().sum(), 100.0));
                let cumulated = numbers(&analysis, sheet, "Cumulative Percentage (%)");
                prop_assert!(cumulated.is_sorted() && *cumulated.last().unwrap() == 100.0);
            }
        }
        let details = numbers(&analysis, "kernel_details", "Kernel duration (µs)");
        prop_assert_eq!(details.len(), runs);
        let short = details.iter().filter(|&&duration| duration < 0.1).count() as f64;
        for (sheet, count) in [("short_kernels_summary", "Short Kernel count"), ("short_kernel_histogram", "count")] {
            prop_assert_eq!(numbers(&analysis, sheet, count).iter().sum::<f64>(), short, "{}", sheet);
        }

        let times = numbers(&analysis, "gpu_timeline_by_agent", "time ms");
        for agent in times.chunks(9) {
            let [total, kernel, memory, busy, idle, computation, comm, exposed_comm, exposed_memcpy] = agent[..]
                else { panic!("{agent:?}") };
            prop_assert!(close(computation + exposed_comm + exposed_memcpy, busy) && close(busy + idle, total));
            prop_assert!(close(computation + exposed_comm, kernel));
            prop_assert!(exposed_comm <= comm && exposed_memcpy <= memory);
        }
    }

    #[test]
    fn the_reference_differs_in_units_and_cumulation_alone(recorded in recorded()) {
        let ours = RocprofAnalysis::new(recorded.profile.clone(), everything());
        let theirs = recorded.analyse(reference());
        for column in ["Mean Kernel Time (µs)", "Min Kernel Time (µs)", "Total Kernel Time (ms)", "Percentage (%)"] {
            let factor = if column.contains('%') { 1.0 } else { 1000.0 };
            let ours = numbers(&ours, "kernel_summary", column);
            for (ours, theirs) in ours.into_iter().zip(numbers(&theirs, "kernel_summary", column)) {
                prop_assert!((ours * factor - theirs).abs() <= 1e-9 * theirs.abs(), "{}", column);
            }
        }
    }
}
