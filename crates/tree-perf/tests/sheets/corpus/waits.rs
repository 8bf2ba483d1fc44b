//! Waits, queues and launches of recorded traces: exact figures that another implementation computed from the same files
//! in integer nanoseconds.

use tree_perf::{Analysis, AnalysisOptions};

use super::read;
use crate::common::Table;

fn analysis(case: &str) -> Option<Analysis> {
    let options =
        AnalysisOptions { waits: true, include_unlinked_kernels: true, ..AnalysisOptions::default() };
    Some(Analysis::new(read(&testdata::corpus(&format!("pytorch/{case}/trace.json.gz"))?), options))
}

fn nanoseconds(ms: &str) -> i64 {
    (ms.parse::<f64>().unwrap() * 1e6).round() as i64
}

/// Time in ns and number of the waits of a stream, by cause.
fn causes(table: &Table, stream: &str) -> Vec<(String, i64, i64)> {
    let mut sums: Vec<(String, i64, i64)> = Vec::new();
    for row in table.select("stream | cause | idle_ms | waits") {
        let cells: Vec<&str> = row.split(" | ").collect();
        if cells[0] != stream {
            continue;
        }
        let (time, waits) = (nanoseconds(cells[2]), cells[3].parse::<i64>().unwrap());
        match sums.iter_mut().find(|(cause, ..)| cause == cells[1]) {
            Some((_, sum, count)) => (*sum, *count) = (*sum + time, *count + waits),
            None => sums.push((cells[1].to_owned(), time, waits)),
        }
    }
    sums.sort();
    sums
}

#[test]
fn streams_of_recorded_traces_wait_for_known_causes() {
    type Causes = &'static [(&'static str, i64, i64)];
    let cases: [(&str, &str, Causes); 4] = [
        ("h100-falconsai-vit", "7", &[("host_wait", 6_321_543, 147), ("kernel_wait", 12_991, 8)]),
        (
            "h100-qwen1.5-0.5b",
            "7",
            &[("host_wait", 1_500_603, 25), ("kernel_wait", 1_777_286, 1173), ("unlinked", 727_643, 508)],
        ),
        (
            "mi300-qwen1.5-0.5b",
            "0",
            &[
                ("dependency_wait", 144_334, 3),
                ("host_wait", 3_393_822, 24),
                ("kernel_wait", 473_275, 1027),
                ("unlinked", 11_567, 462),
            ],
        ),
        ("mi300-timesformer", "0", &[("host_wait", 1_396_925, 5), ("kernel_wait", 17_396, 443)]),
    ];
    for (case, stream, expected) in cases {
        let Some(analysis) = analysis(case) else { continue };
        let found = causes(&Table::of_sheet(&analysis, "idle_causes_per_stream"), stream);
        let expected: Vec<(String, i64, i64)> =
            expected.iter().map(|&(cause, time, count)| (cause.to_owned(), time, count)).collect();
        assert_eq!(found, expected, "{case}");
    }
}

#[test]
fn queues_of_recorded_traces_have_known_lengths() {
    for (case, mean, max) in [
        ("h100-falconsai-vit", "0.1681", "4"),
        ("h100-qwen1.5-0.5b", "46.7228", "111"),
        ("mi300-qwen1.5-0.5b", "58.1134", "150"),
        ("h100-owlv2-large", "257.0255", "777"),
    ] {
        let Some(analysis) = analysis(case) else { continue };
        let table = Table::of_sheet(&analysis, "queue_length");
        let means = table.numbers("queue_length_mean");
        assert_eq!(means.iter().map(|mean| format!("{mean:.4}")).collect::<Vec<_>>(), [mean], "{case}");
        assert_eq!(table.select("queue_length_max"), [max], "{case}");
    }
}

#[test]
fn launches_of_recorded_traces_have_known_delays() {
    for (case, launches, mean, median) in [
        ("h100-falconsai-vit", "156", "3.2536", 1.708),
        ("h100-qwen1.5-0.5b", "1198", "1356.6793", 1203.7955),
        ("mi300-qwen1.5-0.5b", "1054", "1822.9510", 1723.5695),
    ] {
        let Some(analysis) = analysis(case) else { continue };
        let table = Table::of_sheet(&analysis, "launch_delay");
        assert_eq!(table.select("operator | launches")[0], format!("(all) | {launches}"), "{case}");
        assert_eq!(format!("{:.4}", table.numbers("launch_delay_us_mean")[0]), mean, "{case}");
        assert_eq!(table.numbers("launch_delay_us_median")[0], median, "{case}");
        let of_operators: f64 = table.numbers("launches")[1..].iter().sum();
        assert_eq!(of_operators.to_string(), launches, "{case}");
        let histogram = Table::of_sheet(&analysis, "launch_delay_histogram");
        for column in ["launch_delays", "start_to_starts"] {
            let in_bins: f64 = histogram.numbers(column).iter().sum();
            assert_eq!(in_bins.to_string(), launches, "{case} {column}");
        }
    }
}

/// Each of these traces is of one device.
#[test]
fn waits_add_up_to_the_idle_time_and_activities_to_the_busy_time() {
    for case in [
        "h100-falconsai-vit",
        "h100-owlv2-large",
        "h100-qwen1.5-0.5b",
        "mi300-bert-small",
        "mi300-qwen1.5-0.5b",
        "mi300-timesformer",
        "normalization-layers",
        "torch-compile-triton",
    ] {
        let Some(analysis) = analysis(case) else { continue };
        let timeline = analysis.timeline().unwrap();
        let waits = Table::of_sheet(&analysis, "idle_causes");
        let idle: i64 = waits.select("idle_ms").iter().map(|ms| nanoseconds(ms)).sum();
        assert_eq!(idle, timeline.idle, "{case}");
        let overlap = Table::of_sheet(&analysis, "overlap_matrix");
        let busy = overlap.select("busy_ms");
        assert_eq!(nanoseconds(&busy[0]), timeline.busy, "{case}");
        let times: Vec<i64> = overlap.select("time_ms").iter().map(|ms| nanoseconds(ms)).collect();
        let expected = [timeline.computation, timeline.total_communication, timeline.total_memcpy];
        assert_eq!(times, expected, "{case}");
    }
}
