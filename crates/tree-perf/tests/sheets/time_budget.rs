//! Where the time of devices went.

use gpu_timeline::Interval;
use proptest::prelude::*;
use trace_ingest::{Category, EventArguments, TraceBuilder};
use tree_perf::{Analysis, AnalysisOptions, BudgetBounds, GapParts, TimeBudget};

use crate::common::Table;
use crate::fixture::{Analysed, Fixture};

const PARTS: [&str; 7] =
    ["Idle (ms)", "Sync (ms)", "Other Calls (ms)", "Launch (ms)", "Host (ms)", "Queued (ms)", "Unknown (ms)"];

/// A gap of 100 µs: 20 in the program, 10 waiting (with another call inside), 15 in another call, 30 in the program, 5
/// launching, 20 in the queue.
fn one_gap() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.launch("cudaLaunchKernel", (0.0, 5.0), 1);
    fixture.device(Category::KERNEL, ("a", 7, 100.0, 100.0), 1);
    fixture.launch("cudaStreamSynchronize", (220.0, 10.0), 0);
    fixture.launch("cuStreamGetCaptureInfo", (222.0, 2.0), 0);
    fixture.launch("cudaMalloc", (230.0, 15.0), 0);
    fixture.launch("cudaLaunchKernel", (275.0, 5.0), 2);
    fixture.device(Category::KERNEL, ("b", 7, 300.0, 50.0), 2);
    fixture
}

#[test]
fn a_gap_is_what_the_launching_thread_did() {
    let causes = one_gap().table_with("gpu_gap_causes", AnalysisOptions::default());
    let all = causes.select(&format!("length | Count | {}", PARTS.join(" | ")));
    assert_eq!(
        all,
        [
            "100 µs to 1 ms | 1 | 0.1 | 0.01 | 0.015 | 0.005 | 0.05 | 0.02 | 0",
            "all | 1 | 0.1 | 0.01 | 0.015 | 0.005 | 0.05 | 0.02 | 0"
        ]
    );
    let options = AnalysisOptions { waits: true, ..AnalysisOptions::default() };
    let gaps = one_gap().table_with("gpu_gaps", options);
    assert_eq!(gaps.select("cause | next op | next call"), ["host | b | cudaLaunchKernel"]);
}

#[test]
fn the_longest_gap_of_the_idlest_device_is_told() {
    let finding = one_gap().analyse(AnalysisOptions::default()).gap_finding().unwrap();
    assert_eq!(
        finding.to_string(),
        "GPU 0 is idle for 100.0 µs of 250.0 µs, 50.0% of it while the launching thread runs other code; the longest gap, \
         100.0 µs at 200.0 µs, ends with cudaLaunchKernel"
    );
    assert!(Fixture::new().analyse(AnalysisOptions::default()).gap_finding().is_none());
}

#[test]
fn time_in_which_a_lost_graph_replay_may_have_run_is_not_idle() {
    let mut fixture = one_gap();
    fixture.launch("cudaGraphLaunch", (205.0, 5.0), 9);
    let analysis = fixture.analyse(AnalysisOptions::default());
    let idle_us =
        analysis.timeline().unwrap().idle as f64 / analysis.trace().time_unit().per_microsecond() as f64;
    let finding = analysis.gap_finding().unwrap();
    assert_eq!((finding.idle_us, finding.longest_us), (idle_us, idle_us));
    assert!(idle_us < 100.0, "{idle_us}");
}

#[test]
fn a_budget_adds_up_to_the_window() {
    let budget = one_gap().table_with("time_budget", AnalysisOptions::default());
    let columns = "range | Wall (ms) | Compute (ms) | Exposed Copies (ms) | Host (ms) | Queued (ms)";
    assert_eq!(budget.select(columns), ["- | 0.25 | 0.15 | 0 | 0.05 | 0.02"]);
}

#[test]
fn work_without_a_launch_ends_a_gap_of_unknown_cause() {
    let mut fixture = one_gap();
    fixture.device(Category::KERNEL, ("c", 7, 400.0, 10.0), 99);
    let options = AnalysisOptions { include_unlinked_kernels: true, ..AnalysisOptions::default() };
    let unknown = fixture.table_with("gpu_gap_causes", options).select("length | Unknown (ms)");
    assert_eq!(unknown.last().map(String::as_str), Some("all | 0.05"));
}

/// Three steps on thread 1 and one of another process; each launches 3 µs of work that begins 1.3 µs later.
fn steps(options: AnalysisOptions) -> Table {
    Table::of_sheet(&analysis_of_steps(options), "time_budget")
}

fn analysis_of_steps(options: AnalysisOptions) -> Analysis {
    let mut recording = Recording::new();
    for (step, thread) in [(0, 1), (1, 1), (2, 2)] {
        let at = 1_000 + step * 10_000;
        let row = (PROCESS, thread);
        recording.event(
            Category::USER_ANNOTATION,
            &format!("step {}", step + 5),
            row,
            (at, at + 9_000),
            None,
        );
        recording.work(Some((thread, (at + 200, at + 300))), step / 2, "gemm", (at + 1_300, at + 4_300));
    }
    recording.event(Category::USER_ANNOTATION, "step 1", (4, 4), (0, 100), None);
    Analysis::new(recording.builder.finish(), options)
}

#[test]
fn the_longest_iteration_is_told() {
    let named = AnalysisOptions { iteration: Some("step 17".parse().unwrap()), ..AnalysisOptions::default() };
    let longest = analysis_of_steps(named).longest_iteration().unwrap();
    assert_eq!(
        longest.to_string(),
        "iteration 1 of 'step #' takes longest (9.000 µs): 100.0% of it is idle on GPU 1"
    );
    assert!(one_gap().analyse(AnalysisOptions::default()).longest_iteration().is_none());
}

#[test]
fn the_longest_step_is_longest_by_the_durations_of_the_steps() {
    let mut recording = Recording::new();
    // The second one's mark is longer, the first one's work.
    for (number, mark, launch, work) in [
        (5, (1_000, 10_000), (1_700, 1_800), (2_000, 13_000)),
        (6, (10_000, 21_000), (10_200, 10_300), (13_000, 21_000)),
    ] {
        recording.event(
            Category::USER_ANNOTATION,
            &format!("ProfilerStep#{number}"),
            (PROCESS, 1),
            mark,
            None,
        );
        recording.work(Some((1, launch)), 0, "gemm", work);
    }
    let analysis = Analysis::new(recording.builder.finish(), AnalysisOptions::default());
    let longest = analysis.longest_iteration().unwrap();
    let (level, measured) = analysis.iterations().steps().unwrap();
    assert_eq!(measured.iterations[0].duration(&level.iterations[0]), 12_000);
    assert_eq!(
        longest.to_string(),
        "iteration 0 of 'ProfilerStep' takes longest (12.00 µs): 91.7% of it is computation on GPU 0"
    );
}

#[test]
fn named_ranges_have_budgets_on_the_devices_of_their_process() {
    let columns = "range | index | device | bounds | Wall (ms) | Compute (ms)";
    let named = AnalysisOptions { iteration: Some("step 17".parse().unwrap()), ..AnalysisOptions::default() };
    let whole = ["- | - | 0 | device work | 0.013 | 0.006", "- | - | 1 | device work | 0.003 | 0.003"];
    let of_host = [
        "step # | 1 | 0 | host | 0.009 | 0.003",
        "step # | 1 | 1 | host | 0.009 | 0",
        "step # | 2 | 0 | host | 0.009 | 0.003",
        "step # | 2 | 1 | host | 0.009 | 0",
        "step # | 3 | 0 | host | 0.009 | 0",
        "step # | 3 | 1 | host | 0.009 | 0.003",
    ];
    assert_eq!(steps(named.clone()).select(columns), [&whole[..], &of_host].concat());
    let projected = steps(AnalysisOptions { budget: BudgetBounds::Projected, ..named.clone() });
    let of_device: Vec<String> =
        of_host.iter().map(|row| row.replace("host | 0.009", "device work | 0.003")).collect();
    assert_eq!(projected.select(columns)[2..], of_device);
    let matching = AnalysisOptions { iteration: Some("/^s.*#$/".parse().unwrap()), ..named.clone() };
    assert_eq!(steps(matching).select(columns), [&whole[..], &of_host].concat());
    let unknown = steps(AnalysisOptions { iteration: Some("epoch".parse().unwrap()), ..named });
    assert_eq!(unknown.select(columns), whole);
}

#[test]
fn gaps_have_a_least_length() {
    for (min_gap_us, count) in [(0.0, 1), (100.0, 1), (100.5, 0)] {
        let options = AnalysisOptions { waits: true, min_gap_us, ..AnalysisOptions::default() };
        let gaps = Table::build(&one_gap().analyse(options), "gpu_gaps");
        assert_eq!(gaps.map_or(0, |gaps| gaps.rows.len()), count, "{min_gap_us}");
    }
}

#[test]
fn utilization_counts_what_runs_at_the_same_time_once() {
    let mut recording = Recording::new();
    recording.work(None, 0, "a", (10, 310));
    recording.work(None, 0, "b", (155, 330));
    recording.work(None, 0, "c", (900, 1_510));
    let options = AnalysisOptions { include_unlinked_kernels: true, ..AnalysisOptions::default() };
    let analysis = Analysis::new(recording.builder.finish(), options.clone());
    let rows = analysis.utilizations(30);
    assert_eq!(rows.len(), 30);
    for (part, start, busy, summed) in [(0, 10, 50, 50), (2, 110, 50, 55), (6, 310, 20, 20), (10, 510, 0, 0)]
    {
        let row = rows[part];
        assert_eq!((row.time, row.busy, row.summed), (Interval::between(start, start + 50), busy, summed));
    }
    // Parts without length are left out.
    let mut short = Recording::new();
    short.work(None, 0, "a", (10, 20));
    assert_eq!(Analysis::new(short.builder.finish(), options).utilizations(30).len(), 10);
}

/// A kernel, then a graph: as one replay, and node by node (the case of section 9 of the notes on Nsight Systems).
#[test]
fn a_replay_is_computation_and_its_nodes_have_gaps_in_between() {
    const NODES: [Span; 3] = [(1_000, 3_000), (3_100, 6_000), (6_200, 9_000)];
    // Launched by the same call, what follows waits in its queue.
    for (work, expected) in [
        (&[(1_000, 9_000)][..], [8_500, 8_400, 100, 100]),
        (&NODES, [8_500, 8_100, 400, 400]),
        (&[], [400, 400, 0, 0]),
    ] {
        let mut recording = Recording::new();
        recording.work(Some((1, (0, 100))), 0, "k", (500, 900));
        let row = (PROCESS, 1);
        recording.event(Category::CUDA_RUNTIME, "cudaGraphLaunch", row, (100, 600), Some(50));
        let track = recording.builder.track(0, 7);
        for &(start, end) in work {
            let arguments =
                EventArguments { correlation: Some(50), device: Some(0), ..EventArguments::default() };
            recording.builder.event(Category::KERNEL, "CUDA graph 3", track, start, end - start, arguments);
        }
        let analysis = Analysis::new(recording.builder.finish(), AnalysisOptions::default());
        let [budget] = &analysis.time_budgets()[..] else { panic!("one device") };
        let found = [budget.time.length(), budget.computation, budget.idle.total(), budget.idle.queued];
        assert_eq!(found, expected, "{work:?}");
    }
}

const PROCESS: i64 = 9;

type Span = (i64, i64);

/// A trace in the making, with times in ns.
struct Recording {
    builder: TraceBuilder,
    correlation: i64,
}

impl Recording {
    fn new() -> Self {
        let mut recording = Recording { builder: TraceBuilder::new(), correlation: 0 };
        recording.event(Category::CUDA_RUNTIME, "cudaGetDevice", (PROCESS, 99), (0, 1), None);
        recording
    }

    fn event(
        &mut self,
        category: Category,
        name: &str,
        row: (i64, i64),
        (start, end): Span,
        correlation: Option<i64>,
    ) {
        let track = self.builder.track(row.0, row.1);
        let arguments = EventArguments { correlation, ..EventArguments::default() };
        self.builder.event(category, name, track, start, end - start, arguments);
    }

    /// Work of a device with the call that launched it, on a thread of the process.
    fn work(&mut self, launch: Option<(i64, Span)>, device: i64, name: &str, (start, end): Span) {
        self.correlation += 1;
        if let Some((thread, span)) = launch {
            let row = (PROCESS, thread);
            self.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", row, span, Some(self.correlation));
        }
        let category = if name.starts_with("Memcpy") { Category::GPU_MEMCPY } else { Category::KERNEL };
        let arguments = EventArguments {
            correlation: Some(self.correlation),
            device: Some(device),
            stream: Some(7),
            ..EventArguments::default()
        };
        let track = self.builder.track(device, 7);
        self.builder.event(category, name, track, start, end - start, arguments);
    }
}

const END: i64 = 300;
const WORK: [&str; 3] = ["gemm", "ncclDevKernel_AllReduce", "Memcpy HtoD"];
const CALLS: [&str; 4] = ["cudaStreamSynchronize", "cudaMalloc", "cudaMemcpy", "cudaEventRecord"];

/// What a recording is made of.
#[derive(Clone, Debug)]
enum Part {
    /// Kind, device, span of work, and thread and span of the launch.
    Work(usize, i64, Span, Option<(i64, Span)>),
    /// Kind, thread, span.
    Call(usize, i64, Span),
}

fn span(longest: i64) -> impl Strategy<Value = Span> {
    (0..END, 0..longest).prop_map(|(start, length)| (start, start + length))
}

/// Parts in no order, of which no two pieces of work of a device start at once: order would decide which comes next.
fn parts() -> impl Strategy<Value = Vec<Part>> {
    let launch = prop::option::weighted(0.8, (1..3_i64, span(20)));
    let work = (0..WORK.len(), 0..2_i64, span(40), launch);
    let work = work.prop_map(|(kind, device, span, launch)| Part::Work(kind, device, span, launch));
    let call =
        (0..CALLS.len(), 1..3_i64, span(80)).prop_map(|(kind, thread, span)| Part::Call(kind, thread, span));
    prop::collection::vec(prop_oneof![work, call], 0..18).prop_map(|mut parts| {
        let mut seen = std::collections::HashSet::new();
        parts.retain(|part| match *part {
            Part::Work(_, device, (start, _), _) => seen.insert((device, start)),
            Part::Call(..) => true,
        });
        parts
    })
}

fn analyse(parts: &[Part], shift: i64) -> Analysis {
    let mut recording = Recording { builder: TraceBuilder::new(), correlation: 0 };
    let at = |span: Span| (span.0 + shift, span.1 + shift);
    // The origin.
    recording.event(Category::CUDA_RUNTIME, "cudaGetDevice", (PROCESS, 99), at((0, 1)), None);
    for part in parts {
        match *part {
            Part::Work(kind, device, span, launch) => {
                recording.work(launch.map(|(thread, span)| (thread, at(span))), device, WORK[kind], at(span));
            }
            Part::Call(kind, thread, span) => {
                recording.event(Category::CUDA_RUNTIME, CALLS[kind], (PROCESS, thread), at(span), None);
            }
        }
    }
    let options = AnalysisOptions { include_unlinked_kernels: true, ..AnalysisOptions::default() };
    Analysis::new(recording.builder.finish(), options)
}

/// What a device does at a moment, in the order of the columns: the rules applied to the moment alone.
fn column(parts: &[Part], device: i64, time: i64) -> usize {
    let covers = |span: Span| (span.0..span.1).contains(&time);
    let work = parts.iter().filter_map(|part| match *part {
        Part::Work(kind, of, span, launch) if of == device => Some((kind, span, launch)),
        _ => None,
    });
    if let Some(kind) = work.clone().filter(|work| covers(work.1)).map(|work| work.0).min() {
        return kind;
    }
    // What has no length ends no gap, but where it begins with one that has.
    let later = work.clone().filter(|work| work.1.0 >= time && work.1.1 > work.1.0);
    let next = later.min_by_key(|work| work.1.0);
    let Some((thread, launch)) = next.and_then(|work| work.2) else { return 8 };
    // Launches are calls, too.
    let calls = parts.iter().filter_map(|part| match *part {
        Part::Work(.., launch) => Some((false, launch?)),
        Part::Call(kind, thread, span) => {
            Some((matches!(CALLS[kind], "cudaStreamSynchronize" | "cudaMemcpy"), (thread, span)))
        }
    });
    let during: Vec<bool> =
        calls.filter(|&(_, (of, span))| of == thread && covers(span)).map(|(waits, _)| waits).collect();
    match () {
        () if time >= launch.1 => 7,
        () if time >= launch.0 => 5,
        () if during.contains(&true) => 3,
        () if during.contains(&false) => 4,
        () => 6,
    }
}

fn columns(budget: &TimeBudget) -> [i64; 9] {
    let idle = &budget.idle;
    [
        budget.computation,
        budget.exposed_communication,
        budget.exposed_copies,
        idle.sync,
        idle.other_calls,
        idle.launch,
        idle.host,
        idle.queued,
        idle.unknown,
    ]
}

proptest! {
    #[test]
    fn every_moment_is_in_the_column_that_the_rules_name(
        parts in parts(),
        windows in prop::collection::vec(span(END), 1..5),
    ) {
        let analysis = analyse(&parts, 0);
        let mut times: Vec<Interval> = windows.iter().map(|&(start, end)| Interval::between(start, end)).collect();
        times.extend(analysis.time_budgets().iter().map(|budget| budget.time));
        for device in 0..2 {
            for &time in &times {
                let Some(budget) = analysis.time_budget(device, time) else { continue };
                let mut expected = [0; 9];
                for moment in time.start..time.end {
                    expected[column(&parts, device, moment)] += 1;
                }
                prop_assert_eq!(columns(&budget), expected, "device {} {:?}", device, time);
                prop_assert_eq!(budget.total(), time.length());
            }
        }
        // Iterations may be found in such recordings, too, and end elsewhere.
        for budget in analysis.time_budgets().into_iter().filter(|budget| budget.index.is_none()) {
            let gaps = analysis.gaps().into_iter().filter(|gap| gap.device == budget.device);
            prop_assert_eq!(gaps.map(|gap| gap.parts).sum::<GapParts>(), budget.idle);
        }
    }

    /// Budgets of a stretch of time are the sums of those of its pieces.
    #[test]
    fn stretches_add_up(parts in parts(), mut cuts in prop::collection::vec(0..END, 2..6)) {
        let analysis = analyse(&parts, 0);
        cuts.sort_unstable();
        for device in 0..2 {
            let of = |start, end| analysis.time_budget(device, Interval::between(start, end)).map(|budget| columns(&budget));
            let Some(whole) = of(cuts[0], cuts[cuts.len() - 1]) else { continue };
            let mut sums = [0; 9];
            for piece in cuts.windows(2).filter_map(|pair| of(pair[0], pair[1])) {
                sums.iter_mut().zip(piece).for_each(|(sum, column)| *sum += column);
            }
            prop_assert_eq!(sums, whole);
        }
    }

    #[test]
    fn neither_order_nor_clock_matters(
        (parts, shuffled) in parts().prop_flat_map(|parts| (Just(parts.clone()), Just(parts).prop_shuffle())),
        shift in -1_000_000_000_000_i64..1_000_000_000_000,
    ) {
        let expected = analyse(&parts, 0);
        for other in [analyse(&shuffled, 0), analyse(&parts, shift)] {
            let of = |analysis: &Analysis| -> Vec<_> {
                let budgets = analysis.time_budgets();
                budgets.iter().map(|budget| (budget.device, budget.time, columns(budget))).collect()
            };
            prop_assert_eq!(of(&other), of(&expected));
            let of = |analysis: &Analysis| -> Vec<_> {
                analysis.gaps().iter().map(|gap| (gap.device, gap.time, gap.parts)).collect()
            };
            prop_assert_eq!(of(&other), of(&expected));
        }
    }
}
