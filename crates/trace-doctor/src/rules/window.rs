//! Where the recording begins and ends.

use gpu_timeline::upper_median;
use sheets::numbers::{agreeing, counted, decimal, duration, grouped};
use trace_ingest::{EventFault, EventId, Warning};

use crate::facts::{Facts, Tally};
use crate::finding::{Found, Severity, Verdict};

pub(super) fn open_spans(facts: &Facts<'_>) -> Verdict {
    let unfinished = facts.events.arguments().unfinished.iter();
    let mut open = Tally::of(facts.events, unfinished.map(|(row, ())| EventId(row as u32)));
    let mut has_known_ends = true;
    for warning in facts.trace.warnings() {
        if let Warning::Events {
            fault: EventFault::UnclosedBegin | EventFault::UnendedSlice,
            count,
            first_uid,
        } = warning
        {
            open.count += count;
            open.first = open.first.min(facts.events.find_uid(*first_uid)).or(open.first);
            has_known_ends = false;
        }
    }
    let found = (open.count > 0).then(|| {
        let text = format!(
            "{} still open at the end of the recording: recorded times are lower bounds",
            counted(open.count as usize, "span was", "spans were")
        );
        let found = Found::tally(Severity::Note, &open, text);
        Found { time: found.time.filter(|_| has_known_ends), ..found }
    });
    found.into()
}

pub(super) fn queued_before(facts: &Facts<'_>) -> Verdict {
    if let Some(reason) = facts.unlinked_reason() {
        return Verdict::NotExamined(reason);
    }
    let unlinked = facts.unlinked_by_id();
    let count = unlinked.before_calls.len() as u64;
    if !unlinked.ids_grow {
        return Verdict::Sound { guarded: count };
    }
    let found = (count > 0).then(|| {
        let time = facts.busy(&unlinked.before_calls);
        let severity = match time * 20 >= facts.device_time() {
            true => Severity::Warning,
            false => Severity::Note,
        };
        let text = format!(
            "{} {} no launch in the file",
            facts.share(count, time),
            agreeing(
                count,
                "was queued before the recording began and has",
                "were queued before the recording began and have"
            )
        );
        Found {
            of: Some(facts.device.len() as u64),
            time: Some(time),
            first: unlinked.before_calls.first().copied(),
            ..Found::new(severity, count, text)
        }
    });
    found.into()
}

pub(super) fn device_records_shorter(facts: &Facts<'_>) -> Verdict {
    /// So many launches at the head without device events are more than the recorder's start explains.
    const MANY: usize = 5;
    if let Some(reason) = facts.unlinked_reason() {
        return Verdict::NotExamined(reason);
    }
    let lost = facts.tree.lost_launches();
    let (head, tail) = (lost.before.len(), lost.after.len());
    if head + tail == 0 {
        return Verdict::Sound { guarded: 0 };
    }
    let severity = if head >= MANY { Severity::Warning } else { Severity::Note };
    let text = format!(
        "{} before the first one with device work, and {} after the last, have no device event",
        counted(head, "launch", "launches"),
        grouped(tail as u128),
    );
    let first = lost.before.first().or(lost.after.first()).copied();
    let found = Found { first, of: Some(lost.launches), ..Found::new(severity, (head + tail) as u64, text) };
    Verdict::Fires(found).unless_of_foreign_device(facts)
}

pub(super) fn work_after_last_step(facts: &Facts<'_>) -> Verdict {
    let events = facts.events;
    let Some(last) = facts.census.steps.iter().map(|&step| events.end(step)).max() else {
        return Verdict::NotExamined("no steps are marked");
    };
    let late = Tally::of(events, facts.device.iter().copied().filter(|&event| events.end(event) > last));
    let end = facts.device.iter().map(|&event| events.end(event)).max().unwrap_or(last);
    let found = ((end - last) * 100 > facts.span()).then(|| {
        let text = format!(
            "device work continues for {} after the last step",
            duration(facts.microseconds(end - last))
        );
        Found { time: Some(end - last), ..Found::tally(Severity::Info, &late, text) }
    });
    found.into()
}

pub(super) fn between_cycles(facts: &Facts<'_>) -> Verdict {
    let gaps = &facts.tree.unrecorded().between_cycles;
    let found = (!gaps.is_empty()).then(|| {
        let steps: u64 = gaps.iter().map(|&(_, steps)| steps).sum();
        let time: i64 = gaps.iter().map(|(gap, _)| gap.length()).sum();
        let text = format!(
            "{} not recorded between two profiler cycles ({})",
            counted(steps as usize, "step was", "steps were"),
            duration(facts.microseconds(time)),
        );
        Found { time: Some(time), ..Found::new(Severity::Note, steps, text) }
    });
    found.into()
}

pub(super) fn odd_steps(facts: &Facts<'_>) -> Verdict {
    let (events, steps) = (facts.events, &facts.census.steps);
    let [first, middle @ .., last] = steps.as_slice() else {
        return Verdict::NotExamined("no steps are marked");
    };
    if middle.is_empty() {
        return Verdict::NotExamined("there are fewer than three steps");
    }
    let length = |step: &EventId| events.duration(*step);
    let median_without =
        |odd: &EventId| upper_median(steps.iter().filter(|step| *step != odd).map(length)).unwrap_or(0);
    let (first_median, last_median) = (median_without(first), median_without(last));
    let ratio = |step: &EventId, median: i64| decimal(length(step) as f64 / median.max(1) as f64, 2);
    let mut odd = Vec::new();
    if length(first) * 2 > first_median * 3 {
        odd.push((
            *first,
            format!("the first step is warm-up: {} times the median", ratio(first, first_median)),
        ));
    }
    for (step, median, which) in [(first, first_median, "first"), (last, last_median, "last")] {
        if length(step) * 2 < median {
            odd.push((
                *step,
                format!("the {which} step is truncated: {} times the median", ratio(step, median)),
            ));
        }
    }
    let found = odd.first().map(|&(first, _)| {
        let texts: Vec<&str> = odd.iter().map(|(_, text)| text.as_str()).collect();
        let tally = Tally::of(events, odd.iter().map(|&(step, _)| step));
        Found {
            first: Some(first),
            of: Some(steps.len() as u64),
            ..Found::tally(Severity::Note, &tally, texts.join("; "))
        }
    });
    found.into()
}

pub(super) fn outlasting_events(facts: &Facts<'_>) -> Verdict {
    let Some(end) = facts.census.window_end else {
        return Verdict::NotExamined("the file does not mark the window's end");
    };
    let over = facts.census.end - end;
    let found = (over > facts.in_trace_units(1000)).then(|| {
        let late = facts.events.ids().filter(|&event| {
            facts.events.end(event) > end && facts.events.category(event) != trace_ingest::Category::TRACE
        });
        let late = Tally::of(facts.events, late);
        let text = format!(
            "{} the recorder's window by up to {}",
            counted(late.count as usize, "event outlasts", "events outlast"),
            duration(facts.microseconds(over))
        );
        Found { time: Some(over), ..Found::tally(Severity::Note, &late, text) }
    });
    found.into()
}

#[cfg(test)]
mod tests {
    use trace_ingest::{Category, EventArguments};

    use crate::recording::{Recording, correlated};
    use crate::{Finding, Severity};

    fn found(recording: Recording, rule: &str) -> Option<Finding> {
        recording.diagnosis().find(rule).cloned()
    }

    #[test]
    fn spans_without_an_end_are_noted() {
        let mut recording = Recording::new();
        recording.launches(1, 2);
        let open = EventArguments { unfinished: Some(()), ..EventArguments::default() };
        let first = recording.host("user_annotation", "stage", (100.0, 400.0), open);
        recording.host("user_annotation", "inner", (200.0, 300.0), open);
        recording.host("user_annotation", "closed", (100.0, 10.0), EventArguments::default());
        let found = found(recording, "W1").unwrap();
        assert_eq!((found.severity, found.count, found.time), (Severity::Note, 2, Some(700_000)));
        assert_eq!(found.first.unwrap().uid, first.0);
    }

    #[test]
    fn begins_without_an_end_are_open_spans() {
        let seen = |end: &str| {
            let text = format!(
                r#"{{"traceEvents":[{{"ph":"B","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1.5}}{end}]}}"#
            );
            let found = crate::recording::diagnose_text(&text).find("W1").cloned();
            found.map(|found| (found.severity, found.count, found.time))
        };
        assert_eq!(seen(""), Some((Severity::Note, 1, None)));
        assert_eq!(seen(r#",{"ph":"E","pid":1,"tid":1,"ts":2.5}"#), None);
    }

    #[test]
    fn device_events_with_smaller_ids_than_any_call_were_queued_before() {
        let seen = |early: f64| {
            let mut recording = Recording::new();
            recording.launches(10, 19);
            recording.kernel("early", (1.0, early), 3);
            found(recording, "W2").map(|found| (found.severity, found.count, found.of, found.time))
        };
        assert_eq!(seen(50.0), Some((Severity::Warning, 1, Some(20), Some(50_000))));
        assert_eq!(seen(49.0), Some((Severity::Note, 1, Some(20), Some(49_000))));
    }

    #[test]
    fn ids_that_do_not_grow_say_nothing_of_what_came_before() {
        let mut recording = Recording::new();
        for (at, id) in [(0.0, 20), (10.0, 19), (20.0, 18), (30.0, 17)] {
            recording.call("cudaLaunchKernel", (at, 1.0), id);
            recording.kernel("k", (at + 5.0, 1.0), id);
        }
        recording.kernel("other", (50.0, 1.0), 3);
        let diagnosis = recording.diagnosis();
        assert!(diagnosis.find("W2").is_none());
        assert_eq!(diagnosis.guarded("W2"), 1);
    }

    #[test]
    fn launches_at_the_head_and_tail_lack_their_device_events() {
        let seen = |head: i64, tail: i64, name: &str| {
            let mut recording = Recording::new();
            (0..head).for_each(|at| _ = recording.call(name, (at as f64, 0.5), at + 1));
            recording.launches(10, 3);
            (0..tail).for_each(|at| _ = recording.call(name, (2000.0 + at as f64, 0.5), at + 20));
            found(recording, "W3").map(|found| (found.severity, found.count, found.of))
        };
        assert_eq!(seen(5, 1, "cudaLaunchKernel"), Some((Severity::Warning, 6, Some(9))));
        assert_eq!(seen(4, 0, "cudaLaunchKernel"), Some((Severity::Note, 4, Some(7))));
        assert_eq!(seen(5, 1, "cudaMemsetAsync"), None);
        assert_eq!(seen(5, 1, "cudaLaunchHostFunc"), None);
        assert_eq!(seen(5, 1, "cudaGraphLaunch"), None);
    }

    #[test]
    fn steps_between_cycles_were_not_recorded() {
        let seen = |numbers: &[(u64, f64)], call_at: f64| {
            let mut recording = Recording::new();
            for &(number, start) in numbers {
                let name = format!("ProfilerStep#{number}");
                recording.host("user_annotation", &name, (start, 100.0), EventArguments::default());
            }
            recording.call("cudaStreamSynchronize", (call_at, 1.0), 9);
            found(recording, "W7").map(|found| (found.count, found.time))
        };
        assert_eq!(seen(&[(3, 0.0), (4, 100.0), (9, 1_200.0)], 50.0), Some((4, Some(1_000_000))));
        // The longest stretch without a call is that between the cycles, and only where it is most of the gap.
        assert_eq!(seen(&[(3, 0.0), (9, 1_100.0)], 201.0), Some((5, Some(898_000))));
        assert_eq!(seen(&[(3, 0.0), (9, 1_100.0)], 600.0), Some((5, Some(500_000))));
        assert_eq!(seen(&[(3, 0.0), (4, 1_100.0)], 50.0), None);
    }

    #[test]
    fn launches_at_the_head_that_were_captured_are_none() {
        let mut recording = Recording::new();
        recording.call("cudaStreamBeginCapture", (0.0, 0.5), 1);
        recording.call("cudaLaunchKernel", (1.0, 0.5), 2);
        recording.call("cudaStreamEndCapture", (3.0, 0.5), 3);
        recording.launches(10, 3);
        assert!(found(recording, "W3").is_none());
    }

    fn with_steps(lengths: &[f64]) -> Recording {
        let mut recording = Recording::new();
        let mut start = 0.0;
        for (number, &length) in lengths.iter().enumerate() {
            let name = format!("ProfilerStep#{number}");
            recording.host("user_annotation", &name, (start, length), EventArguments::default());
            start += length;
        }
        recording
    }

    #[test]
    fn work_after_the_last_step_counts_from_a_hundredth_of_the_span_on() {
        let seen = |end: f64| {
            let mut recording = with_steps(&[1000.0]);
            recording.call("cudaLaunchKernel", (900.0, 1.0), 1);
            recording.kernel("late", (950.0, end - 950.0), 1);
            found(recording, "W4").map(|found| (found.severity, found.count, found.time))
        };
        assert_eq!(seen(1100.0), Some((Severity::Info, 1, Some(100_000))));
        assert_eq!((seen(1005.0), seen(990.0)), (None, None));
    }

    #[test]
    fn a_slow_first_step_and_short_ones_at_the_ends_are_odd() {
        let count = |lengths: &[f64]| found(with_steps(lengths), "W5").map(|found| found.count);
        assert_eq!(count(&[16.0, 10.0, 10.0, 10.0, 4.0]), Some(2));
        assert_eq!(count(&[4.0, 10.0, 10.0]), Some(1));
        assert_eq!((count(&[15.0, 10.0, 10.0, 5.0]), count(&[100.0, 10.0])), (None, None));
    }

    #[test]
    fn events_outlast_the_window_by_more_than_a_millisecond() {
        let seen = |length: f64| {
            let mut recording = Recording::new();
            let track = recording.builder.track(1, 1);
            recording.builder.event(Category::CPU_OP, "a", track, 0, (length * 1000.0) as i64, correlated(1));
            let name = recording.builder.intern("Record Window End");
            let mut trace = recording.trace();
            trace.append(trace_ingest::NewEvent {
                phase: trace_ingest::Phase::Instant,
                category: Category::NONE,
                name,
                track,
                start: 500_000,
                duration: 0,
                arguments: EventArguments::default(),
            });
            let tree = trace2tree::TraceTree::build(trace, &trace2tree::TreeOptions::default());
            let diagnosis = crate::Diagnosis::new(&tree);
            diagnosis.find("W6").map(|found| (found.severity, found.count, found.time))
        };
        assert_eq!(seen(1501.0), Some((Severity::Note, 1, Some(1_001_000))));
        assert_eq!(seen(1499.0), None);
    }
}
