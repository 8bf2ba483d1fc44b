//! The file: whether it is whole, in which unit its times are, whether events stand in it twice.

use std::collections::BTreeSet;

use gpu_timeline::{SortFew, lower_median};
use hashbrown::HashMap;
use sheets::numbers::{agreeing, counted, duration, grouped};
use trace_ingest::{EventFault, EventId, RecordFault, RowId, Warning};

use crate::facts::{Facts, Granularity, Tally};
use crate::finding::{Found, Severity, Verdict};

pub(super) fn ends_early(facts: &Facts<'_>) -> Verdict {
    let is_loss = |warning: &&Warning| {
        matches!(
            warning,
            Warning::Truncated { .. } | Warning::DamagedCompression { .. } | Warning::BrokenText { .. }
        )
    };
    let losses: Vec<String> =
        facts.trace.warnings().iter().filter(is_loss).map(ToString::to_string).collect();
    let found =
        (!losses.is_empty()).then(|| Found::new(Severity::Error, losses.len() as u64, losses.join("; ")));
    found.into()
}

pub(super) fn second_trace(facts: &Facts<'_>) -> Verdict {
    let warning_found = |warning: &Warning| match warning {
        Warning::SecondTrace { events, .. } => {
            Some(Found::new(Severity::Warning, *events, warning.to_string()))
        }
        _ => None,
    };
    facts.trace.warnings().iter().find_map(warning_found).into()
}

pub(super) fn malformed(facts: &Facts<'_>) -> Verdict {
    let (mut lost, mut repaired) = (0, 0);
    let mut texts = Vec::new();
    for warning in facts.trace.warnings() {
        match warning {
            Warning::MalformedEvents { count, .. } => lost += count,
            Warning::InvalidUtf8 { count } => repaired += count,
            _ => continue,
        }
        texts.push(warning.to_string());
    }
    let severity = if lost > 0 { Severity::Warning } else { Severity::Note };
    let found = (!texts.is_empty()).then(|| Found::new(severity, lost + repaired, texts.join("; ")));
    found.into()
}

/// Whether a time of the wall clock, in ns since 1970, lies in the years 2015 to 2100.
fn is_plausible_time(nanoseconds: i128) -> bool {
    const YEAR_2015: i128 = 1_420_070_400;
    const YEAR_2101: i128 = 4_133_980_800;
    (YEAR_2015 * 1_000_000_000..YEAR_2101 * 1_000_000_000).contains(&nanoseconds)
}

pub(super) fn other_unit(facts: &Facts<'_>) -> Verdict {
    /// Times in µs below it are relative to something unknown when the file names no base: the year 1973 in the unit
    /// of the file.
    const LEAST_ABSOLUTE: i128 = 100_000_000_000_000;
    let Some(median) = median_start(facts) else { return Verdict::Sound { guarded: 0 } };
    // The reader takes `ts` for µs, so that this is `ts` times 1000.
    let read = i128::from(median);
    let as_nanoseconds = read / 1000;
    let base = facts.trace.facts().base_time_nanoseconds.filter(|&base| base != 0).map(i128::from);
    let seems = match base {
        Some(base) if is_plausible_time(base + read) => None,
        Some(_) if is_plausible_time(as_nanoseconds) => Some("times seem to be in nanoseconds"),
        Some(base) if is_plausible_time(1000 * base + read) => {
            Some("baseTimeNanoseconds seems to be in microseconds")
        }
        Some(_) if is_plausible_time(read) => Some(
            "times seem to be absolute already, although the file specifies a base, so the base was added twice",
        ),
        None if is_plausible_time(read) || as_nanoseconds < LEAST_ABSOLUTE => None,
        None if is_plausible_time(as_nanoseconds) => Some("times seem to be in nanoseconds"),
        Some(_) | None => None,
    };
    let found = seems.map(|seems| {
        let text = format!("{seems}; they were read as the format specifies");
        Found { time: Some(facts.span()), ..Found::new(Severity::Error, facts.census.spans, text) }
    });
    found.into()
}

/// The median of up to a thousand starts from all over the file, absolute, in the trace's time unit. Years tell units apart,
/// for which that is exact enough.
fn median_start(facts: &Facts<'_>) -> Option<i64> {
    const ENOUGH: usize = 1000;
    let all = facts.events.len();
    // Not every so many of the ids: their iterator would go through all of them.
    let rows = (0..all).step_by(all.div_ceil(ENOUGH).max(1));
    let median = lower_median(rows.map(|row| facts.events.start(EventId(row as u32))))?;
    Some(facts.trace.origin().saturating_add(median))
}

/// Fewer spans say nothing of how times are written.
const ENOUGH_SPANS: u64 = 20;

pub(super) fn whole_microseconds(facts: &Facts<'_>) -> Verdict {
    let census = &facts.census;
    let fires = census.granularity == Granularity::WholeMicroseconds && census.spans >= ENOUGH_SPANS;
    let found = fires.then(|| {
        let short = Tally::of(
            facts.events,
            facts
                .device
                .iter()
                .copied()
                .filter(|&event| facts.events.duration(event) < facts.in_trace_units(10)),
        );
        let text = match short.count {
            0 => "times are in whole microseconds".to_owned(),
            _ => format!(
                "times are in whole microseconds, too coarse for {} of {} (each under 10 µs)",
                grouped(short.count.into()),
                counted(facts.device.len(), "device event", "device events"),
            ),
        };
        Found { of: Some(facts.device.len() as u64), ..Found::tally(Severity::Note, &short, text) }
    });
    found.into()
}

pub(super) fn doubles(facts: &Facts<'_>) -> Verdict {
    /// `ts` in µs from which doubles are multiples of 1/64 µs at best.
    const LARGE: i64 = 100_000_000_000_000;
    let origin = facts.trace.origin() / facts.trace.time_unit().per_microsecond();
    let found = match facts.census.granularity {
        _ if origin < LARGE || facts.census.spans < ENOUGH_SPANS => None,
        Granularity::WholeMicroseconds => None,
        Granularity::Quarters => Some(Found::new(
            Severity::Warning,
            facts.census.spans,
            "all times are multiples of 0.25 µs, the precision of doubles this large: each is off by up to 0.125 µs",
        )),
        Granularity::Finer => Some(Found::new(
            Severity::Info,
            facts.census.spans,
            "times are so large that tools using doubles round them to multiples of 0.25 µs; this program does not",
        )),
    };
    found.into()
}

pub(super) fn impossible_times(facts: &Facts<'_>) -> Verdict {
    const HOUR: i64 = 3_600_000_000;
    let events = facts.events;
    let (mut count, mut first) = (0, None);
    let mut texts = Vec::new();
    for warning in facts.trace.warnings() {
        let (faulty, first_uid) = match warning {
            Warning::Events {
                fault:
                    EventFault::WithoutTimestamp | EventFault::WithoutDuration | EventFault::NegativeDuration,
                count,
                first_uid,
            } => (count, Some(*first_uid)),
            Warning::Records { fault: RecordFault::NegativeDuration | RecordFault::NotCollected, count }
            | Warning::DeviceWorkWithoutTimes { count, .. }
            | Warning::RecordsWithoutTimes { count, .. } => (count, None),
            _ => continue,
        };
        count += faulty;
        first = first.or(first_uid.and_then(|uid| events.find_uid(uid)));
        texts.push(warning.to_string());
    }
    let far: Vec<EventId> = match facts.device.get(facts.device.len() / 2) {
        Some(&median) => {
            let is_far = |&event: &EventId| {
                events.start(event).abs_diff(events.start(median)) > facts.in_trace_units(HOUR).unsigned_abs()
            };
            facts.device.iter().copied().filter(is_far).collect()
        }
        None => Vec::new(),
    };
    if !far.is_empty() {
        count += far.len() as u64;
        first = first.or(far.first().copied());
        texts.push(format!(
            "{} more than an hour away from the others",
            counted(far.len(), "device event is", "device events are")
        ));
    }
    let found =
        (count > 0).then(|| Found { first, ..Found::new(Severity::Warning, count, texts.join("; ")) });
    found.into()
}

pub(super) fn repeated_events(facts: &Facts<'_>) -> Verdict {
    let events = facts.events;
    let key = |&event: &EventId| {
        (
            events.correlation(event),
            events.device(event),
            events.stream(event),
            events.name(event).index(),
            events.duration(event),
        )
    };
    let mut repeated = Tally::default();
    for together in facts.device.chunk_by(|&a, &b| events.start(a) == events.start(b)) {
        if together.len() > 1 {
            let mut sorted = together.to_vec();
            sorted.sort_few_by_key(key);
            let again = sorted.windows(2).filter(|pair| key(&pair[0]) == key(&pair[1]));
            again.for_each(|pair| repeated.add(events, pair[1]));
        }
    }
    let found = (repeated.count > 0).then(|| {
        let of = facts.device.len() as u64;
        let text = format!(
            "{} of {} ({}) {} in the file more than once",
            grouped(repeated.count.into()),
            counted(facts.device.len(), "device event", "device events"),
            duration(facts.microseconds(repeated.time)),
            agreeing(repeated.count, "is", "are"),
        );
        Found { of: Some(of), ..Found::tally(Severity::Warning, &repeated, text) }
    });
    found.into()
}

pub(super) fn several_processes(facts: &Facts<'_>) -> Verdict {
    let (events, tracks) = (facts.events, facts.trace.tracks());
    let process = |event: EventId| tracks.get(events.track(event)).pid;
    let host_tracks =
        tracks.ids().zip(&facts.census.is_host_track).filter(|(_, is_host_track)| **is_host_track);
    let processes: BTreeSet<RowId> = host_tracks.map(|(track, _)| tracks.get(track).pid).collect();
    if processes.len() < 2 {
        return Verdict::Sound { guarded: 0 };
    }
    if facts.has_foreign_device() {
        return Verdict::Sound { guarded: processes.len() as u64 };
    }
    let mut collisions = Tally::default();
    let mut owners: HashMap<(bool, i64), RowId> = HashMap::new();
    let called = facts.called.iter().map(|&(id, event)| ((false, id), event));
    let operators = events.ids().filter(|&event| events.category(event) == trace_ingest::Category::CPU_OP);
    let named = operators.filter_map(|event| Some(((true, events.external_id(event)?), event)));
    for (id, event) in called.chain(named) {
        if *owners.entry(id).or_insert_with(|| process(event)) != process(event) {
            collisions.add(events, event);
        }
    }
    let merged = format!("one file holds operators and calls of {} processes", processes.len());
    Verdict::Fires(match collisions.count {
        0 => Found::new(Severity::Note, processes.len() as u64, merged),
        count => {
            let text = format!("{merged}, and {} of their ids collide", grouped(count.into()));
            Found { time: None, ..Found::tally(Severity::Error, &collisions, text) }
        }
    })
}

/// Of each device, in the order in which it happened: a total differs from the one before by the size of the block, no
/// address is given out twice, and none is taken back twice.
pub(super) fn lost_memory_events(facts: &Facts<'_>) -> Verdict {
    let (mut count, mut of, mut first) = (0, 0, None);
    for steps in facts.trace.allocations().values() {
        // Whether the block at an address is given out, as far as it is known.
        let mut is_live: HashMap<u64, bool> = HashMap::new();
        let mut total = None;
        for &(event, step) in steps {
            let is_explained = match (total, step.allocated) {
                (Some(before), Some(after)) => after - before == step.bytes,
                _ => true,
            };
            total = step.allocated;
            let is_given = step.bytes > 0;
            let known = step.address.filter(|_| step.bytes != 0).and_then(|at| is_live.insert(at, is_given));
            of += 1;
            if !is_explained || known == Some(is_given) {
                count += 1;
                first = first.or(Some(event));
            }
        }
    }
    let found = (count > 0).then(|| {
        let text = format!(
            "{} of {} the allocator's totals or each other",
            grouped(count.into()),
            counted(
                of as usize,
                "allocation or deallocation contradicts",
                "allocations and deallocations contradict"
            )
        );
        Found { of: Some(of), first, ..Found::new(Severity::Warning, count, text) }
    });
    found.into()
}

#[cfg(test)]
mod tests {
    use trace_ingest::{Accelerator, Category, EventArguments, MemoryEvent, TraceFacts};

    use crate::Severity;
    use crate::recording::{Recording, correlated, diagnose_text};

    const EVENT: &str = r#"{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1.5,"dur":1}"#;

    #[test]
    fn a_file_that_ends_in_the_middle_is_an_error() {
        let whole = diagnose_text(&format!(r#"{{"traceEvents":[{EVENT}]}}"#));
        assert!(whole.find("F1").is_none());
        let cut = diagnose_text(&format!(r#"{{"traceEvents":[{EVENT},{{"ph":"#));
        let found = cut.find("F1").unwrap();
        assert_eq!((found.severity, found.count), (Severity::Error, 1));
        assert!(cut.doubts().unwrap().contains("(F1; sheet recording)"));
    }

    #[test]
    fn a_second_trace_in_the_file_is_a_warning() {
        let trace = format!(r#"{{"traceEvents":[{EVENT}]}}"#);
        let second = |behind: &str| {
            let diagnosis = diagnose_text(&format!("{trace}{behind}"));
            diagnosis.find("F10").map(|found| (found.severity, found.count))
        };
        assert_eq!(second(&trace), Some((Severity::Warning, 1)));
        // The end of a longer file that another process wrote over.
        assert_eq!(second(&format!("\":3}},{EVENT},{EVENT}]}}")), Some((Severity::Warning, 2)));
        for other in ["", "\n", "\n# written by job 17\n", "]}", "{\"phase\": 1}"] {
            assert_eq!(second(other), None, "{other}");
        }
    }

    #[test]
    fn malformed_events_are_a_warning() {
        let diagnosis = diagnose_text(&format!(r#"{{"traceEvents":[{EVENT},17,{EVENT}]}}"#));
        let found = diagnosis.find("F2").unwrap();
        assert_eq!((found.severity, found.count), (Severity::Warning, 1));
    }

    #[test]
    fn events_without_a_time_or_far_from_all_others_are_impossible() {
        let diagnosis =
            diagnose_text(&format!(r#"{{"traceEvents":[{EVENT},{{"ph":"X","name":"b","dur":1}}]}}"#));
        let found = diagnosis.find("F6").unwrap();
        assert_eq!((found.severity, found.count), (Severity::Warning, 1));

        let far_by = |hours: f64| {
            let mut recording = Recording::new();
            recording.launches(1, 5);
            recording.kernel("far", (hours * 3.6e9, 1.0), 9);
            recording.diagnosis().find("F6").map(|found| found.count)
        };
        assert_eq!((far_by(0.9), far_by(1.1)), (None, Some(1)));
    }

    #[test]
    fn times_of_another_unit_or_base_are_told_by_the_year() {
        /// 2025 in µs since 1970.
        const NOW: f64 = 1_750_000_000_000_000.0;
        let seen = |base: Option<i64>, at: f64| {
            let mut recording = Recording::new();
            recording.operator("a", (at, 1.0));
            recording.facts = TraceFacts { base_time_nanoseconds: base, ..TraceFacts::default() };
            recording.diagnosis().find("F3").map(|found| (found.severity, found.text.clone()))
        };
        let base = NOW as i64 * 1000;
        for (base, at) in
            [(None, NOW), (None, 12.0), (Some(base), 12.0), (Some(1_420_070_400_000_000_000), 9e14)]
        {
            assert_eq!(seen(base, at), None, "{base:?} {at}");
        }
        for (base, at, says) in [
            (Some(NOW as i64), 12.0, "baseTimeNanoseconds seems to be in microseconds"),
            (Some(base), NOW * 1.5, "times seem to be absolute"),
        ] {
            let (severity, text) = seen(base, at).unwrap();
            assert!(severity == Severity::Error && text.starts_with(says), "{text}");
        }
    }

    #[test]
    fn whole_microseconds_are_noted_where_there_are_enough_spans() {
        let with_spans = |count: i64, fraction: f64| {
            let mut recording = Recording::new();
            (0..count).for_each(|at| _ = recording.operator("a", (10.0 * at as f64 + fraction, 5.0)));
            recording.kernel("short", (10.0 + fraction, 5.0), 1);
            recording.diagnosis().find("F4").map(|found| (found.severity, found.count, found.of))
        };
        assert_eq!(with_spans(19, 0.0), Some((Severity::Note, 1, Some(1))));
        assert_eq!((with_spans(18, 0.0), with_spans(19, 0.5)), (None, None));
    }

    #[test]
    fn times_through_doubles_are_multiples_of_a_quarter() {
        // In ns, of which a double of this size could not say all.
        let seen = |origin: i64, fraction: i64| {
            let mut recording = Recording::new();
            let track = recording.builder.track(1, 1);
            for at in 0..20 {
                let start = origin + 10_000 * at + fraction;
                let (category, arguments) = (Category::CPU_OP, EventArguments::default());
                recording.builder.event(category, "a", track, start, 5_000, arguments);
            }
            recording.diagnosis().find("F5").map(|found| (found.severity, found.count))
        };
        const LARGE: i64 = 200_000_000_000_000_000;
        assert_eq!(seen(LARGE, 250), Some((Severity::Warning, 20)));
        assert_eq!(seen(LARGE, 375), Some((Severity::Info, 20)));
        assert_eq!((seen(LARGE, 0), seen(LARGE / 200, 250)), (None, None));
    }

    #[test]
    fn device_events_that_stand_in_the_file_twice_are_counted() {
        let mut recording = Recording::new();
        recording.launches(1, 3);
        recording.kernel("gemm", (110.125, 50.0), 1);
        recording.kernel("gemm", (110.125, 51.0), 2);
        recording.operator("aten::mm", (100.125, 20.0));
        let diagnosis = recording.diagnosis();
        let found = diagnosis.find("F7").unwrap();
        assert_eq!((found.count, found.of, found.time), (1, Some(5), Some(50_000)));
    }

    #[test]
    fn processes_in_one_file_are_an_error_where_their_ids_collide() {
        let seen = |id: i64, foreign: bool| {
            let mut recording = Recording::new();
            recording.launches(1, 3);
            let call = ("cuda_runtime", "cudaLaunchKernel", (900.0, 1.0));
            recording.host_of((2, 2), call.0, call.1, call.2, correlated(id));
            if foreign {
                recording.facts.accelerator = Some(Accelerator::Mtia);
            }
            let diagnosis = recording.diagnosis();
            (diagnosis.find("F8").map(|found| (found.severity, found.count)), diagnosis.guarded("F8"))
        };
        assert_eq!(seen(9, false), (Some((Severity::Note, 2)), 0));
        assert_eq!(seen(2, false), (Some((Severity::Error, 1)), 0));
        assert_eq!(seen(2, true), (None, 2));
    }

    /// Size of the block, its address, and the total after it.
    type Step = (i64, u64, i64);

    fn memory(steps: &[Step], recorder_order: &[i64]) -> Option<(Severity, u64, Option<u64>, Option<i64>)> {
        let mut recording = Recording::new();
        let track = recording.builder.track(1, 1);
        for (&(bytes, address, total), &index) in steps.iter().zip(recorder_order) {
            let memory = Some(MemoryEvent {
                bytes,
                address: Some(address),
                allocated: Some(total),
                index: Some(index),
                ..MemoryEvent::default()
            });
            let arguments = EventArguments { memory, ..EventArguments::default() };
            recording.builder.instant("[memory]", track, 1_000 * (1 + index / 10), arguments);
        }
        let diagnosis = recording.diagnosis();
        let found = diagnosis.find("F9")?;
        Some((found.severity, found.count, found.of, found.first.map(|first| first.uid.into())))
    }

    #[test]
    fn allocations_that_contradict_each_other_were_lost_in_part() {
        let sound = [(8, 1, 108), (4, 2, 112), (-8, 1, 104), (-50, u64::MAX, 54), (2, 1, 56)];
        assert_eq!(memory(&sound, &[0, 1, 2, 3, 4]), None);
        // The order of the file is not that of the recorder.
        let [a, b, c, d, e] = sound;
        assert_eq!(memory(&[c, a, e, b, d], &[2, 0, 4, 1, 3]), None);
        assert_eq!(memory(&[c, a, e, b, d], &[25, 0, 45, 10, 35]), None);
        let broken = [
            // A total that the size does not explain.
            [(8, 1, 108), (4, 2, 120), (-8, 1, 112)],
            // An address that is given out twice.
            [(8, 1, 108), (4, 1, 112), (-8, 2, 104)],
            // A block that is taken back twice.
            [(-8, 1, 108), (-8, 1, 100), (4, 2, 104)],
        ];
        for steps in broken {
            assert_eq!(
                memory(&steps, &[0, 1, 2]),
                Some((Severity::Warning, 1, Some(3), Some(1))),
                "{steps:?}"
            );
        }
    }
}
