//! Counters that the recorder sampled.

use trace_ingest::{Category, CounterSample};
use tree_perf::{Analysis, AnalysisOptions};

use crate::common::{THEIRS, Table};
use crate::fixture::{Analysed, Fixture};

/// A sample per millisecond for 100 ms. The device computes from 20 to 60 ms, and until 62 ms it copies, too.
fn sampled(counter: &str, value: impl Fn(i64) -> f64) -> Fixture {
    let mut fixture = Fixture::new();
    fixture.op("aten::mm", (0.0, 100_000.0));
    fixture.launches(10.0, &[("gemm", 7, 20_000.0, 40_000.0)]);
    let correlation = fixture.correlation();
    fixture.launch("cudaMemcpyAsync", (20.0, 5.0), correlation);
    fixture.device(Category::GPU_MEMCPY, ("Memcpy DtoH", 8, 59_000.0, 3_000.0), correlation);
    let counter = fixture.builder.intern(counter);
    for at in 0..100 {
        let sample = CounterSample { device: 0, counter, time: at * 1_000_000, value: value(at) };
        fixture.builder.counter(sample);
    }
    fixture
}

fn analyse(fixture: Fixture) -> Analysis {
    fixture.analyse(AnalysisOptions::default())
}

#[test]
fn a_counter_is_weighed_by_time_and_held_against_work() {
    // 100 W, and 400 W while the device computes or copies.
    let mut power = sampled("Power (W)", |at| if (20..62).contains(&at) { 400.0 } else { 100.0 });
    for (number, start) in [(1, 0.0), (2, 50_000.0), (3, 90_000.0)] {
        let name = format!("ProfilerStep#{number}");
        let span = (start, if number == 3 { 10_000.0 } else { 40_000.0 });
        power.annotation(&name, 1, span);
    }
    let analysis = analyse(power);
    let table = Table::of_sheet(&analysis, "device_counters");
    assert_eq!(
        table.select("device | counter | unit | samples | interval_us | coverage_pct | min | max | p95"),
        ["0 | Power (W) | W | 100 | 1000 | 100 | 100 | 400 | 400"]
    );
    // Joules: 42 ms of 400 W and 58 ms of 100 W. Of copies alone there are but two milliseconds.
    let means = "mean | mean_while_busy | mean_while_idle | mean_in_computation \
         | mean_in_communication | mean_in_copy";
    assert_eq!(table.select(means), ["226 | 400 | 100 | 400 | - | -"]);
    let energy: f64 = table.select("energy_j")[0].parse().unwrap();
    assert!((energy - 22.6).abs() < 1e-9, "{energy}");
    assert_eq!(table.select("throttled_pct"), ["-"]);

    let steps = Table::of_sheet(&analysis, "device_energy");
    // The last has too few samples.
    assert_eq!(
        steps.select("step | samples | energy_j | mean_w | known_ms"),
        ["ProfilerStep#1 | 40 | 10 | 250 | 40", "ProfilerStep#2 | 40 | 7.6 | 190 | 40"]
    );
}

#[test]
fn a_clock_is_throttled_below_nine_tenths_of_the_highest() {
    let clock = sampled("SM Clock (MHz)", |at| match at {
        30..41 => 1_700.0,
        41..62 => 1_799.0,
        _ => 2_000.0,
    });
    let table = Table::of_sheet(&analyse(clock), "device_counters");
    let throttled: f64 = table.select("throttled_pct")[0].parse().unwrap();
    assert!((throttled - 32.0 / 42.0 * 100.0).abs() < 1e-9, "{throttled}");
    assert_eq!(table.select("energy_j"), ["-"]);
}

#[test]
fn the_timeline_has_extremes_and_is_bounded() {
    let mut fixture = sampled("Power (W)", |at| at as f64);
    let counter = fixture.builder.intern("SM Active");
    for at in 0..10_000 {
        let (time, value) = (at * 10_000, f64::from(at as i32 % 5));
        fixture.builder.counter(CounterSample { device: 1, counter, time, value });
    }
    let analysis = analyse(fixture);
    let table = Table::of_sheet(&analysis, "device_counter_timeline");
    let of = |series: &str| -> Vec<String> {
        let rows = table.select("series | min | max | percent of max");
        rows.iter().filter_map(|row| Some(row.strip_prefix(series)?.to_owned())).collect()
    };
    assert_eq!(of("device 0: Power (W)").len(), 100);
    assert_eq!(of("device 0: Power (W)")[99], " | 99 | 99 | 100");
    let active = of("device 1: SM Active");
    assert_eq!(active.len(), 2_000);
    assert!(active.iter().all(|row| row == " | 0 | 4 | 100"), "{active:?}");
    // A device that did nothing.
    let counters = Table::of_sheet(&analysis, "device_counters");
    assert_eq!(counters.select("device | mean | mean_while_busy | mean_while_idle")[1], "1 | 2 | - | 2");
}

#[test]
fn without_samples_or_with_the_figures_of_another_tool_there_are_no_sheets() {
    let sheets = ["device_counters", "device_counter_timeline", "device_energy"];
    let mut plain = Fixture::new();
    plain.call("aten::mm", 0.0, &[("gemm", 7, 5.0, 5.0)]);
    let plain = analyse(plain);
    let options = AnalysisOptions { conventions: THEIRS, ..AnalysisOptions::default() };
    let theirs = sampled("Power (W)", |_| 1.0).analyse(options);
    for sheet in sheets {
        assert!(Table::build(&plain, sheet).is_none() && Table::build(&theirs, sheet).is_none(), "{sheet}");
    }
}
