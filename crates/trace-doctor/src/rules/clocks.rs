//! The clocks of host and device, and spans that cannot be as recorded.

use std::cmp::Reverse;

use sheets::numbers::{counted, duration, grouped};
use trace_ingest::{Category, EventId, PerString};
use trace2tree::HostWait;

use crate::facts::{Facts, Granularity, Tally};
use crate::finding::{Found, Severity, Verdict};

pub(super) fn start_before_launch(facts: &Facts<'_>) -> Verdict {
    if let Some(reason) = facts.unlinked_reason() {
        return Verdict::NotExamined(reason);
    }
    // Both times are rounded in files of whole microseconds.
    let tolerance = match facts.census.granularity {
        Granularity::WholeMicroseconds => facts.in_trace_units(1),
        Granularity::Quarters | Granularity::Finer => 0,
    };
    let events = facts.events;
    let (mut early, mut guarded, mut all, mut worst) = (Vec::new(), 0, 0u64, 0);
    for (event, launch) in facts.linked() {
        all += 1;
        let lead = events.start(launch) - events.start(event);
        worst = worst.max(lead);
        match lead {
            lead if lead > tolerance => early.push(event),
            lead if lead > 0 => guarded += 1,
            _ => {}
        }
    }
    let count = early.len() as u64;
    match (all, count) {
        (0, _) => return Verdict::NotExamined("no device event has a known launch"),
        (_, 0) => return Verdict::Sound { guarded },
        _ => {}
    }
    let severity = match worst > facts.in_trace_units(1000) || count * 100 > all {
        true => Severity::Error,
        false => Severity::Warning,
    };
    let text = format!(
        "{} of {} started before their launch, by up to {}",
        grouped(count.into()),
        counted(all as usize, "linked device event", "linked device events"),
        duration(facts.microseconds(worst)),
    );
    Verdict::Fires(Found {
        of: Some(all),
        guarded,
        ..Found::tally(severity, &Tally::of(events, early), text)
    })
}

/// Bounds of how far the device's clock is ahead of the host's. The device can start no work before the host asks for
/// it, and the host cannot come back from waiting for work that has not ended.
struct Offset {
    least: i64,
    most: i64,
}

impl Offset {
    /// `None` where the host never waits for work.
    fn new(facts: &Facts<'_>) -> Option<Offset> {
        let events = facts.events;
        let most = facts.linked().map(|(event, launch)| events.start(event) - events.start(launch)).min()?;
        let mut is_copy_to_host = PerString::new(facts.trace.strings(), |name| name.contains("DtoH"));
        let mut waits = PerString::new(facts.trace.strings(), HostWait::from_call);
        let mut least: Option<i64> = None;
        // Of the work that each track launched; none of it ends so early.
        let mut latest_end = vec![i64::MIN; facts.trace.tracks().len()];
        for call in &facts.calls {
            let (latest, end) = (&mut latest_end[events.track(call.event).index()], events.end(call.event));
            let wait = *waits.get(events.name(call.event));
            if wait == Some(HostWait::Device) {
                least = least.max((*latest > i64::MIN).then(|| *latest - end));
            }
            for &event in facts.tree.device_events(call.event) {
                *latest = (*latest).max(events.end(event));
                // Where the copy begins after the call has returned, the call did not wait for it.
                let has_waited = wait == Some(HostWait::Copy)
                    && events.start(event) < end
                    && *is_copy_to_host.get(events.name(event))
                    && events.duration(call.event) > events.duration(event);
                if has_waited {
                    least = least.max(Some(events.end(event) - end));
                }
            }
        }
        Some(Offset { least: least?, most })
    }
}

pub(super) fn offset(facts: &Facts<'_>) -> Verdict {
    if let Some(reason) = facts.unlinked_reason() {
        return Verdict::NotExamined(reason);
    }
    let Some(Offset { least, most }) = Offset::new(facts) else {
        return Verdict::NotExamined("the host never waits for device work");
    };
    // Four times are rounded in files of whole microseconds.
    let tolerance = match facts.census.granularity {
        Granularity::WholeMicroseconds => facts.in_trace_units(1),
        Granularity::Quarters | Granularity::Finer => 0,
    };
    let time = |time: i64| duration(facts.microseconds(time));
    let (severity, text, by) = if least > most + tolerance {
        let text = format!("device and host clocks disagree by {}", time(least - most));
        (Severity::Error, text, least - most)
    } else if least > tolerance {
        (
            Severity::Warning,
            format!("the device clock is at least {} ahead of the host clock", time(least)),
            least,
        )
    } else if most < -tolerance {
        (
            Severity::Warning,
            format!("the device clock is at least {} behind the host clock", time(-most)),
            -most,
        )
    } else {
        return Verdict::Sound { guarded: 0 };
    };
    let count = facts.linked().count() as u64;
    Verdict::Fires(Found { time: Some(by), ..Found::new(severity, count, text) })
}

/// Whether the clocks run apart: how soon work starts that has to wait for nothing, over the recording.
pub(super) fn drift(facts: &Facts<'_>) -> Verdict {
    const PARTS: usize = 10;
    const LEAST_LAUNCHES: usize = 10;
    const LEAST_PARTS: usize = 6;
    const LEAST_MICROSECONDS: i64 = 10;
    if let Some(reason) = facts.unlinked_reason() {
        return Verdict::NotExamined(reason);
    }
    let events = facts.events;
    let mut parts = [(0, i64::MAX); PARTS];
    let mut latest_end = i64::MIN;
    for call in &facts.calls {
        let launched = facts.tree.device_events(call.event);
        let Some(first) = launched.iter().map(|&event| events.start(event)).min() else { continue };
        let start = events.start(call.event);
        if latest_end <= start {
            let at = (start - facts.census.start) as i128 * PARTS as i128 / i128::from(facts.span().max(1));
            let (launches, least) = &mut parts[(at as usize).min(PARTS - 1)];
            *launches += 1;
            *least = (first - start).min(*least);
        }
        latest_end =
            launched.iter().map(|&event| events.end(event)).max().max(Some(latest_end)).unwrap_or(latest_end);
    }
    let least: Vec<i64> =
        parts.iter().filter(|part| part.0 >= LEAST_LAUNCHES).map(|&(_, least)| least).collect();
    if least.len() < LEAST_PARTS {
        return Verdict::NotExamined("too few launches occurred while the device was idle");
    }
    // Kendall's tau, times the number of pairs.
    let pairs = least.len() * (least.len() - 1) / 2;
    let rises = |at: usize| least[..at].iter().map(|&before| (least[at] - before).signum()).sum::<i64>();
    let order: i64 = (0..least.len()).map(rises).sum();
    let by = least.iter().max().zip(least.iter().min()).map_or(0, |(most, least)| most - least);
    let fires =
        order.unsigned_abs() * 10 >= pairs as u64 * 8 && by > facts.in_trace_units(LEAST_MICROSECONDS);
    let found = fires.then(|| {
        let text = format!(
            "device and host clocks drift apart by {} over the recording",
            duration(facts.microseconds(by))
        );
        Found { time: Some(by), ..Found::new(Severity::Warning, facts.linked().count() as u64, text) }
    });
    found.into()
}

pub(super) fn overrun(facts: &Facts<'_>) -> Verdict {
    let overruns = facts.tree.overruns();
    let guarded = overruns.replays;
    if overruns.events.is_empty() {
        return Verdict::Sound { guarded };
    }
    let excess = overruns.excess();
    let first =
        overruns.events.iter().map(|&(event, _)| event).min_by_key(|&event| facts.events.start(event));
    let text = format!(
        "{} of {} overran the next one on their stream, by {} in total{}",
        grouped(overruns.events.len() as u128),
        counted(facts.device.len(), "device event", "device events"),
        duration(facts.microseconds(excess)),
        if overruns.kept { "" } else { "; each is truncated where the next one starts" },
    );
    Verdict::Fires(Found {
        of: Some(facts.device.len() as u64),
        time: Some(excess),
        guarded,
        first,
        ..Found::new(Severity::Warning, overruns.events.len() as u64, text)
    })
}

pub(super) fn open_frames(facts: &Facts<'_>) -> Verdict {
    if facts.trace.skipped_frames() > 0 {
        return Verdict::NotExamined("Python frames were not read");
    }
    let events = facts.events;
    let mut frames: Vec<EventId> =
        events.ids().filter(|&event| events.category(event) == Category::PYTHON_FUNCTION).collect();
    frames.sort_by_key(|&frame| (events.track(frame), events.start(frame), Reverse(events.duration(frame))));
    let last = frames.iter().map(|&frame| events.end(frame)).max().unwrap_or(0);
    let last = facts.census.window_end.map_or(last, |end| end.min(last));
    let is_at_end =
        |frame: EventId| events.end(frame).abs_diff(last) <= facts.in_trace_units(2).unsigned_abs();
    let mut open: Vec<EventId> = Vec::new();
    let mut never_closed = Vec::new();
    for &frame in &frames {
        while let Some(&top) = open.last() {
            let is_over = events.track(top) != events.track(frame) || events.end(top) <= events.start(frame);
            if !is_over {
                break;
            }
            open.pop();
        }
        let crosses = open.last().is_some_and(|&parent| events.end(frame) > events.end(parent));
        if crosses && is_at_end(frame) {
            never_closed.push(frame);
        } else {
            open.push(frame);
        }
    }
    let found = (!never_closed.is_empty()).then(|| {
        let text = format!(
            "{} never closed, running past the caller to the end of the recording",
            counted(never_closed.len(), "Python frame was", "Python frames were")
        );
        let tally = Tally::of(events, never_closed);
        Found { time: None, of: Some(frames.len() as u64), ..Found::tally(Severity::Warning, &tally, text) }
    });
    found.into()
}

#[cfg(test)]
mod tests {
    use trace_ingest::{Category, EventArguments, RecordingKind};

    use crate::recording::{Recording, correlated};
    use crate::{Finding, Severity};

    /// A hundred kernels after their launch and one so many µs before its own.
    fn early(by: f64, fraction: f64) -> Recording {
        let mut recording = Recording::new();
        for at in 0..120 {
            let start = 100.0 * f64::from(at) + fraction;
            recording.call("cudaLaunchKernel", (start, 5.0), i64::from(at) + 1);
            let lead = if at == 60 { by } else { -3.0 };
            recording.kernel("k", (start - lead, 50.0), i64::from(at) + 1);
        }
        recording
    }

    fn found(recording: Recording, rule: &str) -> Option<Finding> {
        recording.diagnosis().find(rule).cloned()
    }

    #[test]
    fn device_events_before_their_launch_are_counted() {
        let seen = |by, fraction| {
            found(early(by, fraction), "C1").map(|found| (found.severity, found.count, found.of))
        };
        assert_eq!(seen(0.5, 0.125), Some((Severity::Warning, 1, Some(120))));
        assert_eq!(seen(1001.0, 0.125), Some((Severity::Error, 1, Some(120))));
        // Before the call returns is normal, and whole microseconds are rounded.
        assert_eq!((seen(-0.5, 0.125), seen(1.0, 0.0)), (None, None));
        assert_eq!(early(1.0, 0.0).diagnosis().guarded("C1"), 1);
        assert_eq!(seen(2.0, 0.0), Some((Severity::Warning, 1, Some(120))));
    }

    #[test]
    fn the_worst_finding_about_the_clocks_is_told() {
        let worst = |by| early(by, 0.125).diagnosis().worst_about_clocks();
        assert_eq!(
            [worst(-0.5), worst(0.5), worst(1001.0)],
            [None, Some(Severity::Warning), Some(Severity::Error)]
        );
        assert!(early(-0.5, 0.125).diagnosis().has_examined_clocks());
        let mut without_calls = Recording::new();
        without_calls.kernel("k", (0.0, 50.0), 1);
        assert!(!without_calls.diagnosis().has_examined_clocks());
    }

    #[test]
    fn work_that_ends_after_the_host_waited_for_it_shows_the_offset_of_the_clocks() {
        let seen = |ahead: f64, waiting_thread: i64| {
            let mut recording = Recording::new();
            recording.call("cudaLaunchKernel", (0.125, 2.0), 1);
            recording.kernel("k", (10.0 + ahead, 40.0), 1);
            let (name, span) = ("cudaDeviceSynchronize", (5.0, 47.0));
            recording.host_of((1, waiting_thread), "cuda_runtime", name, span, correlated(2));
            found(recording, "C2").map(|found| (found.severity, found.time))
        };
        assert_eq!(seen(8.0, 1), Some((Severity::Warning, Some(6_000))));
        assert_eq!((seen(1.0, 1), seen(8.0, 9)), (None, None));
        assert_eq!(seen(-20.0, 1), Some((Severity::Warning, Some(10_125))));
    }

    #[test]
    fn a_copy_shows_the_offset_only_where_its_call_waited() {
        let seen = |start: f64, length: f64, call: f64| {
            let mut recording = Recording::new();
            recording.call("hipMemcpyWithStream", (0.125, call), 1);
            recording.device(
                Category::GPU_MEMCPY,
                "Memcpy DtoH (Device -> Host)",
                0,
                (start, length),
                correlated(1),
            );
            found(recording, "C2").map(|found| (found.severity, found.time))
        };
        assert_eq!(seen(8.0, 5.0, 10.0), Some((Severity::Warning, Some(2_875))));
        // The copy is longer than the call, and the call had returned.
        assert_eq!((seen(8.0, 15.0, 10.0), seen(50.0, 5.0, 10.0)), (None, None));
    }

    #[test]
    fn launches_on_an_idle_device_show_the_drift_of_the_clocks() {
        let seen = |drift: f64, length: f64| {
            let mut recording = Recording::new();
            for at in 0..200 {
                let start = 100.0 * f64::from(at) + 0.125;
                recording.call("cudaLaunchKernel", (start, 5.0), i64::from(at) + 1);
                let late = 10.0 + drift * f64::from(at) / 200.0;
                recording.kernel("k", (start + late, length), i64::from(at) + 1);
            }
            found(recording, "C3").map(|found| found.severity)
        };
        assert_eq!((seen(20.0, 50.0), seen(-20.0, 50.0)), (Some(Severity::Warning), Some(Severity::Warning)));
        // Little drift, and a device that is always busy, where queues grow.
        assert_eq!((seen(10.0, 50.0), seen(20.0, 150.0)), (None, None));
    }

    #[test]
    fn a_device_event_that_overruns_its_successor_has_a_wrong_end() {
        let seen = |length: f64, launch: &str, stream: i64| {
            let mut recording = Recording::new();
            recording.call(launch, (0.125, 2.0), 1);
            recording.device(Category::KERNEL, "k", 7, (10.0, length), correlated(1));
            recording.device(Category::KERNEL, "k", stream, (20.0, 50.0), correlated(1));
            let diagnosis = recording.diagnosis();
            (diagnosis.find("C4").map(|found| (found.count, found.time)), diagnosis.guarded("C4"))
        };
        assert_eq!(seen(120.0, "cudaLaunchKernel", 7), (Some((1, Some(110_000))), 0));
        assert_eq!(seen(105.0, "cudaLaunchKernel", 7), (None, 0));
        assert_eq!(seen(120.0, "cudaLaunchKernel", 8), (None, 0));
        assert_eq!(seen(120.0, "cudaGraphLaunch", 7), (None, 1));
    }

    #[test]
    fn queues_of_rocm_and_streams_of_processes_are_told_apart() {
        let seen = |kind: RecordingKind, queues: [Option<i64>; 2], process: i64| {
            let mut recording = Recording::of(kind);
            for (id, queue, process, start, length) in
                [(1, queues[0], 1, 10.0, 200.0), (2, queues[1], process, 20.0, 50.0)]
            {
                let call = ("cuda_runtime", "hipLaunchKernel", (id as f64, 0.5));
                recording.host_of((process, 1), call.0, call.1, call.2, correlated(id));
                let arguments = EventArguments { queue, ..correlated(id) };
                recording.device(Category::KERNEL, "k", 7, (start, length), arguments);
            }
            found(recording, "C4").map(|found| found.remedy.contains("ROCm"))
        };
        let (rocprof, nsys) = (RecordingKind::Rocprof, RecordingKind::Nsys);
        assert_eq!(seen(rocprof, [Some(1), Some(1)], 1), Some(true));
        assert_eq!(seen(rocprof, [Some(1), Some(2)], 1), None);
        // What names no queue may run on any.
        assert_eq!(seen(rocprof, [None, None], 1), None);
        assert_eq!(seen(nsys, [None, None], 1), Some(false));
        assert_eq!(seen(nsys, [None, None], 2), None);
    }

    #[test]
    fn frames_that_outlast_their_caller_to_the_end_were_never_closed() {
        let seen = |end: f64, category: &str| {
            let mut recording = Recording::new();
            for (name, span) in [("main", (0.0, 50.0)), ("open", (10.0, end - 10.0)), ("last", (80.0, 20.0))]
            {
                recording.host(category, name, span, EventArguments::default());
            }
            found(recording, "C5").map(|found| (found.severity, found.count))
        };
        assert_eq!(seen(99.0, "python_function"), Some((Severity::Warning, 1)));
        assert_eq!((seen(50.0, "python_function"), seen(70.0, "python_function")), (None, None));
        assert_eq!(seen(99.0, "user_annotation"), None);
    }
}
