//! Waits of streams, queues, launches and what runs at the same time.

use std::num::NonZeroUsize;

use operator_sheets::KernelOptions;
use trace_ingest::{Category, EventArguments};
use tree_perf::{AnalysisOptions, pytorch_sheets};

use crate::common::Table;
use crate::fixture::{Analysed, Fixture, Kernel};

const SHEETS: [&str; 11] = [
    "idle_causes",
    "idle_causes_per_stream",
    "queue_length",
    "queue_length_timeline",
    "launch_delay",
    "launch_delay_histogram",
    "frequent_sequences",
    "overlap_matrix",
    "copy_bandwidth",
    "copy_bandwidth_timeline",
    "annotations",
];

fn options() -> AnalysisOptions {
    AnalysisOptions { waits: true, ..AnalysisOptions::default() }
}

/// An operator around this call, which launches kernels.
fn launch(fixture: &mut Fixture, call: (&str, f64, f64), kernels: &[Kernel<'_>]) {
    let (name, start, length) = call;
    fixture.op("aten::mm", (start - 1.0, length + 2.0));
    fixture.launch_kernels(name, (start, length), kernels);
}

/// A kernel of stream 7 until 100 µs; the host is free from 20 µs on.
fn begun() -> Fixture {
    let mut fixture = Fixture::new();
    launch(&mut fixture, ("cudaLaunchKernel", 10.0, 5.0), &[("first", 7, 50.0, 50.0)]);
    fixture
}

/// Gaps between 100 and 310 µs: what the host does in them, then the launch that ends them, each with its time and its
/// length; last the cause of the gap, the reason, and what was waited for. `data_loader` is an annotation of a thread, `range:` one
/// of thread 1, `frame:` a Python frame.
const GAPS: &str = "
late launch | - | cudaLaunchKernel 300 5 | host_wait | other | aten::mm
the host waited for the device when it ran dry | cudaDeviceSynchronize 30 75 | cudaLaunchKernel 300 5 \
    | host_wait | sync | cudaDeviceSynchronize
the host waited for something else most of the time | hipStreamSynchronize 120 150 | hipLaunchKernel 300 5 \
    | host_wait | sync | hipStreamSynchronize
a short synchronisation before the stream ran dry | cudaStreamSynchronize 30 40 | cudaLaunchKernel 300 5 \
    | host_wait | other | aten::mm
data loader, with a synchronisation before it | cudaStreamSynchronize 30 75, data_loader 110 180 1 \
    | cudaLaunchKernel 300 5 | host_wait | data_loader | LOADER
loader that the program names itself | range:fetch_batch 110 180 | cudaLaunchKernel 300 5 | host_wait | data_loader | fetch_batch
frame of a loader | frame:train.py(7):get_batch 110 180 | cudaLaunchKernel 300 5 | host_wait | data_loader | train.py(7):get_batch
frame inside a marked loader | data_loader 120 160 1, frame:dataloader.py(703):__next__ 110 180 | cudaLaunchKernel 300 5 \
    | host_wait | data_loader | LOADER
work that loads no data | range:optimizer 110 180 | cudaLaunchKernel 300 5 | host_wait | other | aten::mm
data loader of another thread | data_loader 110 180 2 | cudaLaunchKernel 300 5 | host_wait | other | aten::mm
copy that held the host | cudaMemcpyAsync 30 250 | cudaLaunchKernel 300 5 | host_wait | copy | cudaMemcpyAsync
copy whose data the host prepares first | - | cudaMemcpyAsync 30 300 | dependency_wait | copy | cudaMemcpyAsync
launch of a graph that takes long | - | hipGraphLaunch 90 215 | dependency_wait | graph_launch | hipGraphLaunch
nothing that the trace shows | - | cudaLaunchKernel 30 5 | dependency_wait | unknown | -";

const LOADER: &str = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

/// Makes sure that stream 7 idles for this reason, and the device too unless `other_stream` is busy.
fn assert_idle(case: &str, fixture: Fixture, expected: &str) {
    let analysis = fixture.analyse(options());
    let columns = "stream | cause | reason | waited_for | idle_ms | waits";
    let rows = Table::of_sheet(&analysis, "idle_causes_per_stream").select(columns);
    assert_eq!(rows[0], format!("7 | {expected} | 1"), "{case}");
    let finding = analysis.idle_finding().unwrap().to_string();
    let (cause, reason) = (expected.split(" | ").next().unwrap(), expected.split(" | ").nth(1).unwrap());
    let named = if reason == "-" { format!("({cause})") } else { format!("({cause}, {reason})") };
    assert_eq!(finding.contains(&named), reason != "other_stream", "{case}: {finding}");
}

#[test]
fn planted_causes_of_idleness_are_named() {
    for row in GAPS.trim().lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [case, before, last, cause, reason, waited_for] = cells[..] else { panic!("{row}") };
        let mut fixture = begun();
        for planted in before.split(", ").chain([last]) {
            let number = |word: &str| word.parse::<f64>().unwrap();
            match planted.split(' ').collect::<Vec<_>>()[..] {
                ["data_loader", start, length, thread] => {
                    fixture.annotation(LOADER, thread.parse().unwrap(), (number(start), number(length)));
                }
                [call, start, length] if call.contains(':') => {
                    let time = (number(start), number(length));
                    match call.split_once(':') {
                        Some(("range", name)) => fixture.annotation(name, 1, time),
                        Some((_, name)) => fixture.python(name, time),
                        None => unreachable!(),
                    };
                }
                [call, start, length] if planted == last => {
                    launch(&mut fixture, (call, number(start), number(length)), &[("k", 7, 310.0, 10.0)]);
                }
                [call, start, length] => {
                    fixture.launch(call, (number(start), number(length)), 90);
                }
                _ => assert_eq!(planted, "-", "{case}"),
            }
        }
        let waited_for = waited_for.replace("LOADER", LOADER);
        assert_idle(case, fixture, &format!("{cause} | {reason} | {waited_for} | 0.21"));
    }
}

/// What held the host in a gap of 3 ms after 100 µs, with the cause and what was waited for: `op:` is an operator on thread 1.
const LONG_GAPS: &str = "
an operator that computes on the host | op:aten::normal_ 200 2700 | operator | aten::normal_
the first call of an operator, by far the longest | op:aten::pow 200 2700, op:aten::pow 3300 20, op:aten::pow 3400 20 \
    | initialisation | aten::pow
an operator that takes less than half of it | op:aten::normal_ 200 1300 | other | aten::mm
the profiler | op:aten::normal_ 200 2700, overhead 300 2500 | profiler | -";

#[test]
fn operators_and_the_profiler_hold_the_host() {
    for row in LONG_GAPS.trim().lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [case, before, reason, waited_for] = cells[..] else { panic!("{row}") };
        let mut fixture = begun();
        for planted in before.split(", ") {
            let number = |word: &str| word.parse::<f64>().unwrap();
            match planted.split(' ').collect::<Vec<_>>()[..] {
                ["overhead", start, length] => fixture.event(
                    Category::OVERHEAD,
                    "Activity Buffer Request",
                    (-1, 0),
                    (number(start), number(length)),
                    EventArguments::default(),
                ),
                [name, start, length] => fixture.op(&name[3..], (number(start), number(length))),
                _ => panic!("{case}"),
            };
        }
        launch(&mut fixture, ("cudaLaunchKernel", 3000.0, 5.0), &[("k", 7, 3100.0, 10.0)]);
        assert_idle(case, fixture, &format!("host_wait | {reason} | {waited_for} | 3"));
    }
}

#[test]
fn graphs_other_streams_short_gaps_and_unknown_launches_are_causes() {
    let mut graph = begun();
    launch(&mut graph, ("cudaGraphLaunch", 300.0, 5.0), &[("k", 7, 310.0, 10.0), ("k", 7, 320.0, 10.0)]);
    assert_idle("late launch of a graph", graph, "host_wait | graph_launch | cudaGraphLaunch | 0.21");
    let mut other_stream = begun();
    launch(&mut other_stream, ("cudaLaunchKernel", 20.0, 5.0), &[("other", 20, 60.0, 245.0)]);
    launch(&mut other_stream, ("cudaLaunchKernel", 30.0, 5.0), &[("k", 7, 310.0, 10.0)]);
    assert_idle("kernel of another stream", other_stream, "dependency_wait | other_stream | other | 0.21");
    let mut short = begun();
    launch(&mut short, ("cudaLaunchKernel", 30.0, 5.0), &[("k", 7, 129.0, 10.0)]);
    assert_idle("short gap", short, "kernel_wait | - | - | 0.029");
    let mut unlinked = begun();
    unlinked.unlinked(("k", 7, 310.0, 10.0));
    assert_idle("no launch", unlinked, "unlinked | - | - | 0.21");
}

#[test]
fn the_threshold_divides_kernel_wait_from_dependency_wait() {
    for (threshold, cause) in [(29.0, "dependency_wait"), (30.0, "kernel_wait")] {
        let mut fixture = begun();
        launch(&mut fixture, ("cudaLaunchKernel", 30.0, 5.0), &[("k", 7, 129.0, 10.0)]);
        let options = AnalysisOptions { kernel_wait_threshold_us: threshold, ..options() };
        assert_eq!(fixture.table_with("idle_causes", options).select("cause"), [cause], "{threshold}");
    }
}

#[test]
fn devices_wait_while_none_of_their_streams_is_busy() {
    let mut fixture = begun();
    launch(&mut fixture, ("cudaLaunchKernel", 20.0, 5.0), &[("other", 20, 60.0, 60.0)]);
    launch(&mut fixture, ("cudaLaunchKernel", 300.0, 5.0), &[("k", 7, 310.0, 10.0)]);
    let analysis = fixture.analyse(options());
    let columns = "device | cause | idle_ms | percent of idle | longest_us";
    let rows = Table::of_sheet(&analysis, "idle_causes").select(columns);
    assert_eq!(rows, ["0 | host_wait | 0.19 | 100 | 190", "0 | kernel_wait | 0 | 0 | 0"]);
    let finding = analysis.idle_finding().unwrap();
    assert_eq!((finding.idle_us, finding.span_us, finding.share), (190.0, 270.0, 1.0));
}

#[test]
fn a_queue_holds_what_is_launched_and_not_started() {
    let mut fixture = Fixture::new();
    launch(&mut fixture, ("cudaLaunchKernel", 0.0, 5.0), &[("a", 7, 10.0, 50.0)]);
    launch(&mut fixture, ("cudaGraphLaunch", 20.0, 5.0), &[("b", 7, 60.0, 20.0), ("c", 7, 80.0, 20.0)]);
    fixture.unlinked(("d", 7, 100.0, 5.0));
    let options = AnalysisOptions { queue_limit: NonZeroUsize::new(2).unwrap(), ..options() };
    let columns = "stream | queue_length_mean | queue_length_median | queue_length_max | percent empty \
         | full_ms | time_ms | launched_events | unlinked_events";
    let rows = fixture.table_with("queue_length", options).select(columns);
    // 1 for 10 µs, none for 10 µs, 2 for 40 µs, 1 for 20 µs.
    assert_eq!(rows, ["7 | 1.375 | 1 | 2 | 12.5 | 0.04 | 0.08 | 3 | 1"]);
}

#[test]
fn the_delay_of_a_launch_ends_with_the_start_of_its_first_event() {
    let mut fixture = Fixture::new();
    launch(&mut fixture, ("cudaLaunchKernel", 0.0, 5.0), &[("a", 7, 4.0, 50.0)]);
    launch(&mut fixture, ("cudaGraphLaunch", 20.0, 5.0), &[("b", 7, 80.0, 20.0), ("c", 7, 60.0, 20.0)]);
    fixture.launch_kernels("cuLaunchKernel", (200.0, 1.0), &[("d", 7, 203.0, 1.0)]);
    let columns = "operator | launches | device_events | launch_delay_ms | launch_calls_ms \
         | launch_delay_us_median | start_to_start_us_max";
    let rows = fixture.table_with("launch_delay", options()).select(columns);
    let expected = [
        "(all) | 3 | 4 | 0.037 | 0.011 | 2 | 40",
        "aten::mm | 2 | 3 | 0.035 | 0.01 | 17.5 | 40",
        "cuLaunchKernel | 1 | 1 | 0.002 | 0.001 | 2 | 3",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn kinds_of_work_at_the_same_time_are_a_matrix() {
    let mut fixture = Fixture::new();
    let correlation = fixture.correlation();
    fixture.device(Category::KERNEL, ("gemm", 7, 0.0, 100.0), correlation);
    fixture.device(Category::KERNEL, ("ncclDevKernel_AllReduce", 20, 60.0, 60.0), correlation);
    fixture.device(Category::GPU_MEMCPY, ("Memcpy HtoD", 21, 90.0, 20.0), correlation);
    let columns = "activity | time_ms | percent overlapped | alone_ms | with_computation_ms \
         | with_communication_ms | with_copy_ms | with_both_ms | busy_ms";
    let rows = fixture.table_with("overlap_matrix", options()).select(columns);
    let expected = [
        "computation | 0.1 | 40 | 0.06 | 0.1 | 0.04 | 0.01 | 0.01 | 0.12",
        "communication | 0.06 | 83.33333333333334 | 0.01 | 0.04 | 0.06 | 0.02 | 0.01 | 0.12",
        "copy | 0.02 | 100 | 0 | 0.01 | 0.02 | 0.02 | 0.01 | 0.12",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn copies_at_the_same_time_share_the_link() {
    let mut fixture = Fixture::new();
    for (start, bytes) in [(0.0, Some(100_000)), (5.0, Some(200_000)), (50.0, None)] {
        let correlation = fixture.correlation();
        fixture.transfer(("Memcpy HtoD", 7, start, 10.0), bytes, correlation);
    }
    let columns = "kind | bytes | time_ms | GB/s per copy | GB/s concurrent | GB/s concurrent median \
         | GB/s concurrent max | busy_ms | count | without_size";
    let analysis = fixture.analyse(options());
    let rows = Table::of_sheet(&analysis, "copy_bandwidth").select(columns);
    assert_eq!(rows, ["Memcpy HtoD | 300000 | 0.02 | 15 | 20 | 20 | 30 | 0.015 | 3 | 1"]);
    let over_time = Table::of_sheet(&analysis, "copy_bandwidth_timeline");
    let rows = over_time.select("series | t_ms | GB/s min | GB/s max");
    assert_eq!(
        rows,
        [
            "device 0: Memcpy HtoD | 0 | 10 | 10",
            "device 0: Memcpy HtoD | 0.005 | 30 | 30",
            "device 0: Memcpy HtoD | 0.01 | 20 | 20"
        ]
    );
}

#[test]
fn queues_over_time_have_as_many_parts_as_lengths_at_most() {
    let mut fixture = Fixture::new();
    // Launched at 10 and 20 µs, started at 30 and 40 µs.
    launch(&mut fixture, ("cudaLaunchKernel", 10.0, 1.0), &[("a", 7, 30.0, 5.0)]);
    launch(&mut fixture, ("cudaLaunchKernel", 20.0, 1.0), &[("b", 7, 40.0, 5.0)]);
    let analysis = fixture.analyse(options());
    let table = Table::of_sheet(&analysis, "queue_length_timeline");
    let rows = table.select("series | t_ms | queue_length_min | queue_length_max");
    // From the first event of the trace, an operator at 9 µs.
    let expected = ["0.001 | 1 | 1", "0.011 | 2 | 2", "0.021 | 1 | 1"];
    assert_eq!(rows, expected.map(|row| format!("device 0, stream 7 | {row}")));
    let queues = analysis.queue_lengths_over_time();
    let integral = queues[0].lengths.integral();
    assert!((integral - 40_000.0).abs() < 1e-6, "{integral}");
}

#[test]
fn kernels_one_by_one_say_who_launched_them_and_when() {
    let mut fixture = Fixture::new();
    let no_arguments = EventArguments::default();
    fixture.annotation("step", 1, (0.0, 100.0));
    fixture.annotation("optimizer", 1, (40.0, 30.0));
    launch(&mut fixture, ("cudaLaunchKernel", 10.0, 5.0), &[("a", 7, 20.0, 50.0)]);
    launch(&mut fixture, ("cudaLaunchKernel", 50.0, 5.0), &[("b", 7, 80.0, 60.0)]);
    fixture.unlinked(("c", 8, 300.0, 50.0));
    fixture.event(Category::GPU_USER_ANNOTATION, "step", (0, 7), (20.0, 120.0), no_arguments);
    fixture.event(Category::GPU_USER_ANNOTATION, "optimizer", (0, 7), (80.0, 60.0), no_arguments);
    let columns = "name | duration_us | start_ms | stream | operator | annotation | device_annotation \
         | launch | launch_call_us | launch_delay_us";
    let of_b = "b | 60 | 0.08 | 7 | aten::mm | optimizer | optimizer | cudaLaunchKernel | 5 | 25";
    let of_a = "a | 50 | 0.02 | 7 | aten::mm | step | step | cudaLaunchKernel | 5 | 5";
    let of_c = "c | 50 | 0.3 | 8 | - | - | - | - | - | -";
    let analysis = fixture.analyse(AnalysisOptions {
        kernels: KernelOptions { kernel_details: true, ..KernelOptions::default() },
        ..AnalysisOptions::default()
    });
    assert_eq!(Table::of_sheet(&analysis, "kernel_details").select(columns), [of_b, of_a, of_c]);
    let first = AnalysisOptions {
        kernels: KernelOptions { kernel_details: true, topk_kernels: Some(1), ..KernelOptions::default() },
        ..AnalysisOptions::default()
    };
    let rows = begun().table_with("kernel_details", first).select("name");
    assert_eq!(rows, ["first"]);
}

#[test]
fn sheets_of_waits_are_made_when_asked_for() {
    for waits in [false, true] {
        let mut fixture = begun();
        let correlation = fixture.correlation();
        fixture.transfer(("Memcpy HtoD", 7, 200.0, 5.0), Some(1000), correlation);
        fixture.annotation("step", 1, (0.0, 9.0));
        for at in [300.0, 400.0] {
            launch(&mut fixture, ("cudaLaunchKernel", at, 5.0), &[("a", 7, at + 10.0, 5.0)]);
            launch(&mut fixture, ("cudaLaunchKernel", at + 8.0, 5.0), &[("b", 7, at + 20.0, 5.0)]);
        }
        let analysis = fixture.analyse(AnalysisOptions { waits, ..AnalysisOptions::default() });
        let made: Vec<String> = pytorch_sheets()
            .iter()
            .filter(|sheet| SHEETS.contains(&sheet.name.as_ref()))
            .filter(|sheet| sheet.table(&analysis).unwrap().is_some())
            .map(|sheet| sheet.name.to_string())
            .collect();
        assert_eq!(made, if waits { SHEETS.as_slice() } else { &[] });
        assert_eq!(analysis.idle_finding().is_some(), waits);
    }
}

#[test]
fn sequences_that_recur_have_the_launch_time_that_one_launch_would_save() {
    let mut fixture = Fixture::new();
    let columns = "within | operator | sequence | saved_launch_ms | saved_launches | count | length \
         | device_ms | gaps_ms";
    for step in 0..3 {
        let start = f64::from(step) * 1000.0;
        fixture.op("outer", (start, 100.0));
        fixture.op("inner", (start + 1.0, 90.0));
        for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
            let at = start + 10.0 + 20.0 * at as f64;
            fixture.launch_kernels("cudaLaunchKernel", (at, 5.0), &[(name, 7, at + 10.0, 18.0)]);
        }
        // Below no operator, and never the same.
        let kernel = (&*format!("k{step}"), 7, start + 210.0, 1.0);
        fixture.launch_kernels("cudaLaunchKernel", (start + 200.0, 5.0), &[kernel]);
    }
    let rows = fixture.table_with("frequent_sequences", options()).select(columns);
    // Of the two operators around the same kernels, the inner one.
    assert_eq!(
        rows,
        [
            "operator | inner | a -> b -> c | 0.03 | 6 | 3 | 3 | 0.162 | -",
            "stream | - | a -> b -> c | 0.03 | 6 | 3 | 3 | 0.162 | 0.012",
        ]
    );
}

#[test]
fn work_of_graphs_and_without_launch_interrupts_sequences() {
    let mut fixture = Fixture::new();
    for step in 0..2 {
        let start = f64::from(step) * 1000.0;
        fixture.op("replay", (start, 50.0));
        let kernels = [10.0, 20.0].map(|at| ("of graph", 7, start + at, 5.0));
        fixture.launch_kernels("cudaGraphLaunch", (start, 5.0), &kernels);
        for (at, name) in [(100.0, "a"), (140.0, "b")] {
            launch(&mut fixture, ("cudaLaunchKernel", start + at, 5.0), &[(name, 7, start + at + 10.0, 5.0)]);
        }
        fixture.unlinked(("unlinked", 7, start + 130.0, 5.0));
    }
    let analysis = fixture.analyse(options());
    assert_eq!(analysis.device_event_count(), 10);
    let sheets = pytorch_sheets();
    let sheet = sheets.iter().find(|sheet| sheet.name == "frequent_sequences").unwrap();
    assert!(sheet.table(&analysis).unwrap().is_none());
}

#[test]
fn annotations_have_the_device_time_below_them() {
    let mut fixture = Fixture::new();
    let no_arguments = EventArguments::default();
    fixture.annotation("step", 1, (0.0, 100.0));
    fixture.annotation("optimizer", 1, (40.0, 30.0));
    fixture.annotation("backward", 2, (100.0, 40.0));
    fixture.event(Category::USER_ANNOTATION, "other process", (2, 1), (0.0, 200.0), no_arguments);
    launch(&mut fixture, ("cudaLaunchKernel", 10.0, 5.0), &[("a", 7, 200.0, 50.0)]);
    launch(&mut fixture, ("cudaLaunchKernel", 50.0, 5.0), &[("b", 7, 250.0, 20.0)]);
    launch(&mut fixture, ("cudaLaunchKernel", 60.0, 5.0), &[("c", 8, 260.0, 20.0)]);
    launch(&mut fixture, ("cudaLaunchKernel", 120.0, 5.0), &[("d", 7, 300.0, 20.0)]);
    fixture.event(Category::GPU_USER_ANNOTATION, "step", (0, 7), (200.0, 70.0), no_arguments);
    fixture.event(Category::GPU_USER_ANNOTATION, "optimizer", (0, 7), (250.0, 20.0), no_arguments);
    fixture.event(Category::GPU_USER_ANNOTATION, "optimizer", (0, 8), (260.0, 20.0), no_arguments);
    let columns = "side | annotation | device_ms | length_ms | count | device_events | innermost_events";
    let rows = fixture.table_with("annotations", options()).select(columns);
    let expected = [
        "host | step | 0.08 | 0.1 | 1 | 3 | 1",
        "host | optimizer | 0.03 | 0.03 | 1 | 2 | 2",
        "host | backward | 0.02 | 0.04 | 1 | 1 | 1",
        "host | other process | 0 | 0.2 | 1 | 0 | 0",
        "device | step | 0.07 | 0.07 | 1 | 2 | 1",
        "device | optimizer | 0.04 | 0.04 | 2 | 2 | 2",
    ];
    assert_eq!(rows, expected);
}
