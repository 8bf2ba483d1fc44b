//! Records that are missing.

use hashbrown::{HashMap, HashSet};
use sheets::numbers::{agreeing, counted, decimal, duration, grouped};
use trace_ingest::{EventId, NumberGaps, Warning};
use trace2tree::busy_time;

use crate::facts::{Facts, IdSet, Unlinked};
use crate::finding::{Found, Severity, Verdict};

impl Facts<'_> {
    /// Made when a rule first asks for them.
    pub(super) fn unlinked_by_id(&self) -> &Unlinked {
        self.unlinked_by_id.get_or_init(|| Unlinked::new(self))
    }

    /// Time in which at least one of these events ran.
    pub(super) fn busy(&self, events: &[EventId]) -> i64 {
        busy_time(self.events, events.iter().copied())
    }

    /// So many device events, out of all, with the share of the device time that theirs is.
    pub(super) fn share(&self, count: u64, time: i64) -> String {
        let percent = time as f64 / self.device_time().max(1) as f64 * 100.0;
        format!(
            "{} of {} ({}, {}% of device time)",
            grouped(count.into()),
            counted(self.device.len(), "device event", "device events"),
            duration(self.microseconds(time)),
            decimal(percent, 1),
        )
    }
}

impl Unlinked {
    fn new(facts: &Facts<'_>) -> Unlinked {
        let mut unlinked = Unlinked {
            before_calls: Vec::new(),
            among_calls: Vec::new(),
            without_id: Vec::new(),
            ids_grow: ids_grow(facts),
        };
        let smallest = facts.called.first().map_or(i64::MIN, |&(id, _)| id);
        for event in facts.unlinked() {
            let list = match facts.events.correlation(event) {
                None | Some(0) => &mut unlinked.without_id,
                Some(id) if id < smallest => &mut unlinked.before_calls,
                Some(_) => &mut unlinked.among_calls,
            };
            list.push(event);
        }
        unlinked
    }
}

/// Whether the correlation ids of at least 95% of the calls of a thread are larger than those of the call before.
fn ids_grow(facts: &Facts<'_>) -> bool {
    // By track; 0 where it has no call with an id yet.
    let mut latest = vec![0; facts.trace.tracks().len()];
    let (mut grow, mut all) = (0u64, 0u64);
    for call in &facts.calls {
        let Some(id) = facts.events.correlation(call.event).filter(|&id| id != 0) else { continue };
        let before = std::mem::replace(&mut latest[facts.events.track(call.event).index()], id);
        if before != 0 {
            all += 1;
            grow += u64::from(id > before);
        }
    }
    grow * 100 >= all * 95
}

pub(super) fn no_device_events(facts: &Facts<'_>) -> Verdict {
    const FEW: usize = 10;
    let launches: Vec<EventId> =
        facts.calls.iter().filter(|call| call.kind.starts_device_work()).map(|call| call.event).collect();
    if !facts.device.is_empty() {
        return Verdict::Sound { guarded: 0 };
    }
    if facts.has_foreign_device() {
        return Verdict::Sound { guarded: launches.len() as u64 };
    }
    if launches.len() < FEW {
        return Verdict::Sound { guarded: 0 };
    }
    let count = launches.len() as u64;
    let what = counted(launches.len(), "launch has", "launches have");
    let (severity, text) = if launches.iter().all(|&call| facts.is_captured(call)) {
        (Severity::Info, "this is a capture trace: its launches went into graphs".to_owned())
    } else if facts.census.profiler_ranges.count > 0 {
        let text = format!("{what} no device event: CUPTI's range profiler replaces device records");
        (Severity::Error, text)
    } else {
        (Severity::Error, format!("{what} no device event"))
    };
    let first = launches.first().copied();
    Verdict::Fires(Found { of: Some(count), first, ..Found::new(severity, count, text) })
}

/// Device work that was recorded without times, of which F6 tells.
fn work_without_times(facts: &Facts<'_>) -> u64 {
    facts.trace.warnings().iter().map(Warning::device_work_without_times).sum()
}

/// A part of all records that no figure can do without is an error.
fn severity_of_loss(lost: u64, of: u64) -> Severity {
    match (lost >= 50 && lost.saturating_mul(100) >= of) || (lost >= 8 && lost.saturating_mul(10) >= of) {
        true => Severity::Error,
        false => Severity::Warning,
    }
}

pub(super) fn dropped_device_events(facts: &Facts<'_>) -> Verdict {
    if let Some(reason) = facts.unlinked_reason() {
        return Verdict::NotExamined(reason);
    }
    let lost = facts.tree.lost_launches();
    let count = lost.between.len() as u64;
    if count <= work_without_times(facts) {
        return Verdict::Sound { guarded: lost.explained + count };
    }
    let severity = severity_of_loss(count, lost.launches);
    let text = format!(
        "{} of {} {} no device event",
        grouped(count.into()),
        counted(lost.launches as usize, "launch", "launches"),
        agreeing(count, "has", "have")
    );
    Verdict::Fires(Found {
        of: Some(lost.launches),
        guarded: lost.explained,
        first: lost.between.first().copied(),
        ..Found::new(severity, count, text)
    })
}

pub(super) fn lost_replays(facts: &Facts<'_>) -> Verdict {
    if let Some(reason) = facts.unlinked_reason() {
        return Verdict::NotExamined(reason);
    }
    let lost = facts.tree.lost_launches();
    let count = lost.replays.len() as u64;
    let found = (count > 0).then(|| {
        let text = format!(
            "{} of {} {} no device event: the device work was not recorded",
            grouped(count.into()),
            counted(lost.graph_launches as usize, "graph replay", "graph replays"),
            agreeing(count, "has", "have"),
        );
        Found {
            of: Some(lost.graph_launches),
            first: lost.replays.first().copied(),
            ..Found::new(Severity::Error, count, text)
        }
    });
    Verdict::from(found).unless_of_foreign_device(facts)
}

pub(super) fn missing_calls(facts: &Facts<'_>) -> Verdict {
    if let Some(reason) = facts.unlinked_reason() {
        return Verdict::NotExamined(reason);
    }
    if facts.census.operators.count == 0 && facts.calls.is_empty() {
        return Verdict::NotExamined("the host was not recorded");
    }
    let missing = &facts.unlinked_by_id().among_calls;
    let count = missing.len() as u64;
    if count < 2 {
        return Verdict::Sound { guarded: count };
    }
    let linked: HashSet<_> = facts.linked().map(|(event, _)| facts.events.name(event)).collect();
    let time = facts.busy(missing);
    let share = facts.share(count, time);
    let (severity, text) = match missing.iter().any(|&event| linked.contains(&facts.events.name(event))) {
        true => (Severity::Warning, format!("{share} have no launch in the file")),
        false => (
            Severity::Note,
            format!(
                "{share} have no launch in the file, nor has any other event of the same name: the calls were not \
                 recorded"
            ),
        ),
    };
    Verdict::Fires(Found {
        of: Some(facts.device.len() as u64),
        time: Some(time),
        first: missing.first().copied(),
        ..Found::new(severity, count, text)
    })
}

pub(super) fn gaps_in_ids(facts: &Facts<'_>) -> Verdict {
    if !facts.is_rocm() {
        return Verdict::NotExamined("only ROCm numbers ids without gaps");
    }
    let (Some(&(smallest, _)), Some(&(largest, _))) = (facts.called.first(), facts.called.last()) else {
        return Verdict::NotExamined("no calls were recorded");
    };
    let device_ids = facts.device.iter().filter_map(|&event| facts.events.correlation(event));
    let call_ids = facts.called.iter().map(|&(id, _)| id);
    let (known, _) = IdSet::new(call_ids.chain(device_ids).filter(|id| (smallest..=largest).contains(id)));
    let all = largest.abs_diff(smallest).saturating_add(1);
    let missing = all - known.len();
    let found = (missing > 0).then(|| {
        let text = format!(
            "{} of {} {} missing",
            grouped(missing.into()),
            counted(all as usize, "correlation id", "correlation ids"),
            agreeing(missing, "is", "are")
        );
        Found { of: Some(all), ..Found::new(Severity::Warning, missing, text) }
    });
    found.into()
}

pub(super) fn gaps_in_dispatches(facts: &Facts<'_>) -> Verdict {
    let Some(NumberGaps { missing, of }) = facts.trace.facts().dispatch_gaps else {
        return Verdict::NotExamined("dispatches are not numbered, or were recorded selectively");
    };
    if missing <= work_without_times(facts) {
        return Verdict::Sound { guarded: missing };
    }
    let text = format!(
        "{} of {} {} missing from the recording, judging by gaps in the dispatch numbers",
        grouped(missing.into()),
        counted(of as usize, "kernel dispatch", "kernel dispatches"),
        agreeing(missing, "is", "are")
    );
    Verdict::Fires(Found { of: Some(of), ..Found::new(severity_of_loss(missing, of), missing, text) })
}

pub(super) fn reported_by_recorder(facts: &Facts<'_>) -> Verdict {
    const STOPPED_EARLY: &str = "CUPTI stopped early";
    let log = facts.trace.facts().log;
    // A recorder without a GPU of NVIDIA or AMD says so, which is no fault.
    let (missing_gpus, guarded) = match facts.device.is_empty() || facts.has_foreign_device() {
        true => (0, log.missing_gpus),
        false => (log.missing_gpus, 0),
    };
    let kinds = [
        (Severity::Error, u64::from(log.stopped_early), STOPPED_EARLY, STOPPED_EARLY),
        (
            Severity::Warning,
            log.out_of_order,
            "device record before its launch",
            "device records before their launch",
        ),
        (
            Severity::Note,
            log.out_of_range,
            "dropped device record outside the window",
            "dropped device records outside the window",
        ),
        (Severity::Note, log.invalid_external_ids, "invalid External id", "invalid External ids"),
        (Severity::Note, log.unexpected_events, "unexpected device record", "unexpected device records"),
        (Severity::Note, log.errors + missing_gpus, "error", "errors"),
        (Severity::Note, log.warnings, "warning", "warnings"),
    ];
    let said: Vec<_> = kinds.into_iter().filter(|&(_, count, ..)| count > 0).collect();
    let Some(severity) = said.iter().map(|&(severity, ..)| severity).max() else {
        return Verdict::Sound { guarded };
    };
    let texts = said.iter().map(|&(_, count, one, several)| match one {
        STOPPED_EARLY => one.to_owned(),
        _ => counted(count as usize, one, several),
    });
    let text = format!("the profiler reports: {}", texts.collect::<Vec<_>>().join("; "));
    let count = said.iter().map(|&(_, count, ..)| count).sum();
    Verdict::Fires(Found { guarded, ..Found::new(severity, count, text) })
}

pub(super) fn without_correlation(facts: &Facts<'_>) -> Verdict {
    let has_id = |event: EventId| facts.events.correlation(event).is_some_and(|id| id != 0);
    let without: Vec<EventId> = facts.unlinked().filter(|&event| !has_id(event)).collect();
    let (nodes, without): (Vec<_>, Vec<_>) = without
        .into_iter()
        .partition(|event| facts.events.arguments().graph_node.get(event.index()).is_some());
    let guarded = nodes.len() as u64;
    let count = without.len() as u64;
    if count == 0 || !facts.device.iter().any(|&event| has_id(event)) {
        return Verdict::Sound { guarded };
    }
    let time = facts.busy(&without);
    let text = format!(
        "{} {} to no operator, for lack of a correlation id",
        facts.share(count, time),
        agreeing(count, "belongs", "belong")
    );
    let found = Found {
        of: Some(facts.device.len() as u64),
        time: Some(time),
        guarded,
        first: without.first().copied(),
        ..Found::new(Severity::Warning, count, text)
    };
    Verdict::Fires(found).unless_of_foreign_device(facts)
}

/// Device events of a replay of a graph: how many, and the first.
type Replay = (u64, EventId);

pub(super) fn uneven_replays(facts: &Facts<'_>) -> Verdict {
    if facts.events.arguments().graph_node.is_empty() {
        return Verdict::NotExamined("no graph nodes were recorded");
    }
    let mut replays: HashMap<(i64, i64), Replay> = HashMap::new();
    for &event in &facts.device {
        if let Some(key) = facts.events.graph(event).zip(facts.events.correlation(event)) {
            replays.entry(key).or_insert((0, event)).0 += 1;
        }
    }
    let mut replays_by_graph: HashMap<i64, Vec<Replay>> = HashMap::new();
    for ((graph, _), replay) in replays {
        replays_by_graph.entry(graph).or_default().push(replay);
    }
    let start = |replay: &Replay| (facts.events.start(replay.1), replay.1);
    let (mut compared, mut guarded) = (0, 0);
    let mut short: Vec<Replay> = Vec::new();
    for graph_replays in replays_by_graph.values_mut() {
        graph_replays.sort_unstable_by_key(start);
        // The recording may begin or end in the first and in the last.
        let [first, inner @ .., last] = &graph_replays[..] else { continue };
        let Some(&most) = inner.iter().map(|(events, _)| events).max() else { continue };
        compared += inner.len() as u64;
        guarded += [first, last].iter().filter(|replay| replay.0 < most).count() as u64;
        short.extend(inner.iter().filter(|replay| replay.0 < most));
    }
    let Some(first) = short.iter().min_by_key(|replay| start(replay)) else {
        return Verdict::Sound { guarded };
    };
    let count = short.len() as u64;
    let text = format!(
        "{} of {} ran fewer kernels, copies and fills than others of the same graph",
        grouped(count.into()),
        counted(compared as usize, "graph replay", "graph replays")
    );
    let (of, first) = (Some(compared), Some(first.1));
    Verdict::Fires(Found { of, guarded, first, ..Found::new(Severity::Warning, count, text) })
}

#[cfg(test)]
mod tests {
    use trace_ingest::{Category, EventArguments, NumberGaps, RecorderLog, RecordingKind};

    use crate::recording::{Recording, correlated};
    use crate::{Diagnosis, Severity};

    fn launching(count: i64, around: &[&str], category: &str) -> Diagnosis {
        let mut recording = if category == "mtia_runtime" { Recording::mtia() } else { Recording::new() };
        for (at, name) in around.iter().enumerate() {
            recording.call(name, (if at == 0 { 0.0 } else { 5000.0 }, 0.5), 500 + at as i64);
        }
        (0..count).for_each(|at| _ = recording.call("cudaLaunchKernel", (10.0 + at as f64, 0.5), at + 1));
        recording.host(category, "range", (6000.0, 1.0), EventArguments::default());
        recording.diagnosis()
    }

    #[test]
    fn numbers_of_dispatches_tell_which_are_missing() {
        let seen = |missing: u64, lost: i64| {
            let mut recording = Recording::of(RecordingKind::Rocprof);
            for id in 1..=100 {
                recording.call("hipLaunchKernel", (10.0 * id as f64, 1.0), id);
                recording.call("hipMemcpyAsync", (10.0 * id as f64 + 5.0, 1.0), 1000 + id);
                if id <= 50 || id > 50 + lost {
                    recording.kernel("k", (10.0 * id as f64 + 2.0, 5.0), id);
                }
            }
            recording.facts.dispatch_gaps = Some(NumberGaps { missing, of: 100 });
            let diagnosis = recording.diagnosis();
            let seen = |rule| diagnosis.find(rule).map(|found| (found.severity, found.count));
            (seen("L9"), seen("L2"))
        };
        // Copies are recorded where that is asked for.
        assert_eq!(seen(0, 0), (None, None));
        let lost = |severity, count| Some((severity, count));
        assert_eq!(seen(20, 20), (lost(Severity::Error, 20), lost(Severity::Error, 20)));
        assert_eq!(seen(5, 5), (lost(Severity::Warning, 5), lost(Severity::Warning, 5)));
        // Graphs have captured these launches.
        assert_eq!(seen(0, 20), (None, None));
    }

    #[test]
    fn rules_about_pytorch_are_not_for_other_recorders() {
        let diagnosis = Recording::of(RecordingKind::Nsys).diagnosis();
        let is_skipped = |id: &str| diagnosis.skipped.iter().any(|(rule, _)| rule.id == id);
        assert!(is_skipped("R1") && is_skipped("L9") && !is_skipped("L2") && !is_skipped("C4"));
    }

    #[test]
    fn launches_without_any_device_event_are_an_error() {
        let seen = |diagnosis: Diagnosis| {
            let found = diagnosis.find("L1").map(|found| (found.severity, found.count, found.text.clone()));
            (found, diagnosis.guarded("L1"))
        };
        let (found, _) = seen(launching(10, &[], "cpu_op"));
        assert_eq!(found.map(|(severity, count, _)| (severity, count)), Some((Severity::Error, 10)));
        assert_eq!(seen(launching(9, &[], "cpu_op")), (None, 0));
        let capture = ["cudaStreamBeginCapture", "cudaStreamEndCapture"];
        let (found, _) = seen(launching(10, &capture, "cpu_op"));
        assert_eq!(found.map(|(severity, ..)| severity), Some(Severity::Info));
        let (found, _) = seen(launching(10, &[], "cuda_profiler_range"));
        let (severity, _, text) = found.unwrap();
        assert!(severity == Severity::Error && text.contains("range profiler"), "{text}");
        assert_eq!(seen(launching(10, &[], "mtia_runtime")), (None, 10));
    }

    /// Launches around calls of these names that have no device event.
    fn lossy(names: &[&str]) -> Diagnosis {
        let mut recording = Recording::new();
        recording.launches(1, 2);
        let unlinked = names.iter().enumerate();
        unlinked.for_each(|(at, name)| _ = recording.call(name, (400.0 + at as f64, 0.5), at as i64 + 10));
        recording.launches(200, 2);
        recording.diagnosis()
    }

    #[test]
    fn launches_between_others_without_device_events_were_dropped() {
        let seen = |names: &[&str]| {
            let diagnosis = lossy(names);
            let found = diagnosis.find("L2").map(|found| (found.severity, found.count, found.guarded));
            (found, diagnosis.guarded("L2"))
        };
        assert_eq!(seen(&["cudaLaunchKernel"]), (Some((Severity::Warning, 1, 0)), 0));
        assert_eq!(seen(&["cudaLaunchKernel"; 50]), (Some((Severity::Error, 50, 0)), 0));
        assert_eq!(seen(&["cudaMemsetAsync", "cudaMemsetAsync"]), (None, 2));
        assert_eq!(seen(&["cudaMemsetAsync", "cudaMemcpyAsync"]), (Some((Severity::Warning, 2, 0)), 0));
        assert_eq!(seen(&["cudaGraphLaunch"]), (None, 0));
        let replays = lossy(&["cudaGraphLaunch", "cudaGraphLaunch"]);
        let found = replays.find("L8").map(|found| (found.severity, found.count, found.of));
        assert_eq!(found, Some((Severity::Error, 2, Some(2))));
        assert_eq!(seen(&["cudaLaunchHostFunc", "cudaStreamSynchronize"]), (None, 0));
        let captured = ["cudaStreamBeginCapture", "cudaLaunchKernel", "cudaStreamEndCapture"];
        assert_eq!(seen(&captured), (None, 1));
    }

    #[test]
    fn device_events_among_the_calls_without_one_have_lost_it() {
        let seen = |names: &[&str]| {
            let mut recording = Recording::new();
            recording.launches(1, 4);
            let lost = names.iter().enumerate();
            lost.for_each(|(at, name)| {
                _ = recording.kernel(name, (600.0 + 10.0 * at as f64, 5.0), 20 + at as i64)
            });
            let diagnosis = recording.diagnosis();
            diagnosis.find("L3").map(|found| (found.severity, found.count, found.of, found.time))
        };
        assert_eq!(seen(&["gemm", "other"]), Some((Severity::Warning, 2, Some(6), Some(10_000))));
        assert_eq!(seen(&["other", "other"]), Some((Severity::Note, 2, Some(6), Some(10_000))));
        assert_eq!(seen(&["gemm"]), None);
    }

    #[test]
    fn what_the_recorder_says_of_itself_is_passed_on() {
        let seen = |log: RecorderLog, with_device: bool| {
            let mut recording = Recording::new();
            recording.facts.log = log;
            if with_device {
                recording.launches(1, 3);
            }
            let diagnosis = recording.diagnosis();
            (diagnosis.find("L4").map(|found| (found.severity, found.count)), diagnosis.guarded("L4"))
        };
        let quiet = RecorderLog::default();
        assert_eq!(seen(quiet, true), (None, 0));
        assert_eq!(
            seen(RecorderLog { stopped_early: true, warnings: 2, ..quiet }, true).0,
            Some((Severity::Error, 3))
        );
        assert_eq!(seen(RecorderLog { out_of_order: 5, ..quiet }, true).0, Some((Severity::Warning, 5)));
        assert_eq!(
            seen(RecorderLog { out_of_range: 5, errors: 1, ..quiet }, true).0,
            Some((Severity::Note, 6))
        );
        let without_gpu = RecorderLog { missing_gpus: 1, ..quiet };
        assert_eq!(seen(without_gpu, false), (None, 1));
        assert_eq!(seen(without_gpu, true), (Some((Severity::Note, 1)), 0));
    }

    #[test]
    fn gaps_in_the_ids_count_on_rocm_alone() {
        let gaps = |mut recording: Recording, between: i64| {
            recording.launches(1, 3);
            recording.launches(4 + between, 2);
            recording.kernel("before", (0.5, 1.0), 0);
            recording.diagnosis().find("L5").map(|found| (found.severity, found.count, found.of))
        };
        assert_eq!(gaps(Recording::rocm(), 2), Some((Severity::Warning, 2, Some(7))));
        assert_eq!((gaps(Recording::rocm(), 0), gaps(Recording::new(), 2)), (None, None));
    }

    #[test]
    fn replays_of_one_graph_run_equal_numbers_of_kernels() {
        let seen = |graph: i64, kernels: &[u64]| {
            let mut recording = Recording::new();
            for (replay, &kernels) in (0..).zip(kernels) {
                let (at, id) = (1000.0 * replay as f64, replay + 1);
                recording.call("cudaGraphLaunch", (at, 5.0), id);
                for kernel in 0..kernels {
                    let graph_node = Some((graph << 32) | (kernel as i64 + 1));
                    let arguments =
                        EventArguments { correlation: Some(id), graph_node, ..EventArguments::default() };
                    let span = (at + 10.0 + 10.0 * kernel as f64, 5.0);
                    recording.device(Category::KERNEL, "k", 7, span, arguments);
                }
            }
            let diagnosis = recording.diagnosis();
            let found =
                diagnosis.find("L7").map(|found| (found.severity, found.count, found.of, found.guarded));
            (found, diagnosis.guarded("L7"))
        };
        assert_eq!(seen(3, &[4, 4, 3, 4, 4]), (Some((Severity::Warning, 1, Some(3), 0)), 0));
        assert_eq!(seen(3, &[2, 4, 3, 4, 1]), (Some((Severity::Warning, 1, Some(3), 2)), 0));
        // The first and the last may be cut; one between them is like no other; nodes without a graph are of any.
        assert_eq!(seen(3, &[2, 4, 4, 1]), (None, 2));
        assert_eq!(seen(3, &[4, 3, 4]), (None, 0));
        assert_eq!(seen(0, &[4, 4, 3, 4, 4]), (None, 0));
    }

    #[test]
    fn device_events_without_an_id_cannot_be_linked() {
        let seen = |id: Option<i64>, graph_node: Option<i64>| {
            let mut recording = Recording::new();
            recording.launches(1, 3);
            let arguments = EventArguments { correlation: id, graph_node, ..EventArguments::default() };
            recording.device(Category::KERNEL, "k", 7, (500.0, 2.0), arguments);
            let diagnosis = recording.diagnosis();
            (
                diagnosis.find("L6").map(|found| (found.severity, found.count, found.of)),
                diagnosis.guarded("L6"),
            )
        };
        let fires = Some((Severity::Warning, 1, Some(4)));
        assert_eq!((seen(None, None), seen(Some(0), None)), ((fires, 0), (fires, 0)));
        assert_eq!(seen(Some(0), Some(5)), (None, 1));
        let mut none_has_one = Recording::new();
        none_has_one.device(Category::KERNEL, "k", 7, (0.0, 1.0), correlated(0));
        assert!(none_has_one.diagnosis().find("L6").is_none());
    }
}
