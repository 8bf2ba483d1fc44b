//! Streams and ids.

use hashbrown::HashMap;
use sheets::numbers::{counted, grouped};
use trace_ingest::{Category, EventId, RowId};
use trace2tree::is_graph_launch;

use crate::facts::{Facts, IdSet, Tally};
use crate::finding::{Found, Severity, Verdict};

pub(super) fn drawing_lanes(facts: &Facts<'_>) -> Verdict {
    let (events, tracks) = (facts.events, facts.trace.tracks());
    let is_lane = |&event: &EventId| match (events.stream(event), tracks.get(events.track(event)).tid) {
        (Some(stream), RowId::Number(row)) => stream != row,
        _ => false,
    };
    let other = Tally::of(events, facts.device.iter().copied().filter(is_lane));
    let found = (other.count > 0).then(|| {
        let text = format!(
            "{} of {} are on viewer lanes instead of stream rows",
            grouped(other.count.into()),
            counted(facts.device.len(), "device event", "device events")
        );
        let of = Some(facts.device.len() as u64);
        Found { of, time: None, ..Found::tally(Severity::Info, &other, text) }
    });
    Verdict::from(found).unless_of_foreign_device(facts)
}

pub(super) fn copies_on_stream_0(facts: &Facts<'_>) -> Verdict {
    const FEW_KERNELS: usize = 5;
    if !facts.is_rocm() {
        return Verdict::NotExamined("only ROCm's recorder has this fault");
    }
    let events = facts.events;
    let kind_events =
        |category| facts.device.iter().copied().filter(move |&event| events.category(event) == category);
    let to_device: Vec<EventId> =
        kind_events(Category::GPU_MEMCPY).filter(|&event| facts.trace.name(event).contains("HtoD")).collect();
    let on_0 = |event: EventId| events.stream(event) == Some(0);
    let kernels: Vec<EventId> = kind_events(Category::KERNEL).collect();
    let fires = !to_device.is_empty()
        && to_device.iter().all(|&copy| on_0(copy))
        && kernels.len() >= FEW_KERNELS
        && !kernels.iter().any(|&kernel| on_0(kernel));
    let found = fires.then(|| {
        let text = format!(
            "{} on stream 0, where no kernel runs",
            counted(to_device.len(), "host-to-device copy is recorded", "host-to-device copies are recorded")
        );
        Found::tally(Severity::Note, &Tally::of(events, to_device), text)
    });
    found.into()
}

pub(super) fn shared_by_device_events(facts: &Facts<'_>) -> Verdict {
    if let Some(reason) = facts.unlinked_reason() {
        return Verdict::NotExamined(reason);
    }
    let events = facts.events;
    let ids = facts.linked().filter_map(|(event, _)| events.correlation(event).filter(|&id| id != 0));
    let ids: Vec<i64> = ids.collect();
    if IdSet::new(ids.iter().copied()).1 {
        return Verdict::Sound { guarded: 0 };
    }
    let mut by_id: HashMap<i64, (u64, EventId, EventId)> = HashMap::new();
    for (event, launch) in facts.linked() {
        if let Some(id) = events.correlation(event).filter(|&id| id != 0) {
            by_id.entry(id).or_insert((0, event, launch)).0 += 1;
        }
    }
    let shared = by_id.values().filter(|&&(count, ..)| count > 1);
    let (replays, shared): (Vec<_>, Vec<_>) =
        shared.partition(|(_, _, launch)| is_graph_launch(facts.trace.name(*launch)));
    let guarded = replays.len() as u64;
    let Some(first) = shared.iter().map(|&&(_, event, _)| event).min_by_key(|&event| events.start(event))
    else {
        return Verdict::Sound { guarded };
    };
    let affected: u64 = shared.iter().map(|&&(count, ..)| count).sum();
    let text = format!(
        "{} by {} device events: links are ambiguous",
        counted(shared.len(), "correlation id is shared", "correlation ids are shared"),
        grouped(affected.into())
    );
    let count = shared.len() as u64;
    let found = Found { guarded, first: Some(first), ..Found::new(Severity::Warning, count, text) };
    Verdict::Fires(found).unless_of_foreign_device(facts)
}

pub(super) fn executor_streams(facts: &Facts<'_>) -> Verdict {
    const MANY_STREAMS: usize = 32;
    const FEW_EVENTS: u64 = 3;
    const HANDLE: i64 = 1 << 31;
    let (events, tracks) = (facts.events, facts.trace.tracks());
    let mut uses: HashMap<(Option<i64>, RowId), u64> = HashMap::new();
    let mut handles = Tally::default();
    // Neighbours mostly share their stream.
    let (mut last, mut run_length) = (None, 0);
    for &event in &facts.device {
        let row = || tracks.get(events.track(event)).tid;
        let stream = events.stream(event).map_or_else(row, RowId::Number);
        if matches!(stream, RowId::Text(_)) || matches!(stream, RowId::Number(number) if number >= HANDLE) {
            handles.add(events, event);
        }
        let stream = (events.device(event), stream);
        if let Some(last) = last.replace(stream).filter(|&last| last != stream) {
            *uses.entry(last).or_default() += std::mem::take(&mut run_length);
        }
        run_length += 1;
    }
    if let Some(last) = last {
        *uses.entry(last).or_default() += run_length;
    }
    let short_lived = uses.values().filter(|&&uses| uses < FEW_EVENTS).count();
    let found = if handles.count > 0 {
        let text = format!(
            "{} on streams identified by a handle",
            counted(handles.count as usize, "device event is", "device events are")
        );
        Some(Found { time: None, ..Found::tally(Severity::Info, &handles, text) })
    } else {
        (short_lived > MANY_STREAMS).then(|| {
            let text = format!("{short_lived} streams have fewer than {FEW_EVENTS} events each");
            Found { of: Some(uses.len() as u64), ..Found::new(Severity::Info, short_lived as u64, text) }
        })
    };
    found.into()
}

/// Ids that several of these events carry, which are sorted by id: how many, and the second event of the first of them.
fn shared(ids: &[(i64, EventId)]) -> (u64, Option<EventId>) {
    if ids.windows(2).all(|pair| pair[0].0 != pair[1].0) {
        return (0, None);
    }
    let groups = ids.chunk_by(|(a, _), (b, _)| a == b).filter(|group| group.len() > 1);
    groups.fold((0, None), |(count, first), group| (count + 1, first.or(Some(group[1].1))))
}

pub(super) fn shared_by_calls(facts: &Facts<'_>) -> Verdict {
    let (count, first) = shared(&facts.called);
    let found = (count > 0).then(|| {
        let text = format!(
            "{} by several calls: links are ambiguous",
            counted(count as usize, "correlation id is shared", "correlation ids are shared")
        );
        Found { first, ..Found::new(Severity::Warning, count, text) }
    });
    Verdict::from(found).unless_of_foreign_device(facts)
}

pub(super) fn shared_by_operators(facts: &Facts<'_>) -> Verdict {
    if facts.census.operator_ids_are_different {
        return Verdict::Sound { guarded: 0 };
    }
    let events = facts.events;
    let operators = events.ids().filter(|&event| events.category(event) == Category::CPU_OP);
    let ids = operators.filter_map(|event| Some((events.external_id(event).filter(|&id| id != 0)?, event)));
    let mut ids: Vec<(i64, EventId)> = ids.collect();
    ids.sort_by_key(|&(id, event)| (id, events.start(event)));
    let (count, first) = shared(&ids);
    let found = (count > 0).then(|| {
        let text = format!(
            "{} by several operators",
            counted(count as usize, "External id is shared", "External ids are shared")
        );
        Found { first, ..Found::new(Severity::Warning, count, text) }
    });
    found.into()
}

pub(super) fn foreign_external_ids(facts: &Facts<'_>) -> Verdict {
    const FEW: u64 = 2;
    if facts.device.is_empty() {
        return Verdict::NotExamined("no device events to link");
    }
    let events = facts.events;
    let (operator_ids, annotation_ids) = (&facts.census.operator_ids, &facts.census.annotation_ids);
    let (mut all, mut own, mut foreign) = (0u64, Tally::default(), Tally::default());
    for event in facts.calls.iter().map(|call| call.event).chain(facts.device.iter().copied()) {
        let Some(id) = events.external_id(event).filter(|&id| id != 0) else { continue };
        all += 1;
        if Some(id) == events.correlation(event) {
            own.add(events, event);
        }
        if !operator_ids.contains(id) && !annotation_ids.contains(id) {
            foreign.add(events, event);
        }
    }
    let of =
        format!("of {} of calls and device events", counted(all as usize, "External id", "External ids"));
    let found = if own.count >= FEW && own.count * 100 >= all * 95 {
        let text = format!("{} {of} equal the correlation id", grouped(own.count.into()));
        Some(Found { of: Some(all), time: None, ..Found::tally(Severity::Info, &own, text) })
    } else if foreign.count >= FEW
        && foreign.count * 100 >= all * 5
        && !(operator_ids.is_empty() && annotation_ids.is_empty())
    {
        let text = format!("{} {of} match no operator", grouped(foreign.count.into()));
        Some(Found { of: Some(all), time: None, ..Found::tally(Severity::Note, &foreign, text) })
    } else {
        None
    };
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
    fn rows_that_are_not_the_streams_are_drawing_lanes() {
        let seen = |stream: i64| {
            let mut recording = Recording::new();
            let arguments = EventArguments { stream: Some(stream), ..correlated(1) };
            recording.device(Category::KERNEL, "k", 7, (0.0, 1.0), arguments);
            found(recording, "S1").map(|found| (found.severity, found.count))
        };
        assert_eq!((seen(8), seen(7)), (Some((Severity::Info, 1)), None));
    }

    #[test]
    fn copies_to_the_device_alone_on_stream_0_are_booked_wrongly() {
        let seen = |mut recording: Recording, kernels: i64, kernel_on_0: bool| {
            recording.device(
                Category::GPU_MEMCPY,
                "Memcpy HtoD (Host -> Device)",
                0,
                (0.0, 1.0),
                correlated(99),
            );
            recording.launches(1, kernels);
            if kernel_on_0 {
                recording.device(Category::KERNEL, "k", 0, (5.0, 1.0), correlated(98));
            }
            found(recording, "S2").map(|found| (found.severity, found.count))
        };
        assert_eq!(seen(Recording::rocm(), 5, false), Some((Severity::Note, 1)));
        assert_eq!((seen(Recording::rocm(), 4, false), seen(Recording::rocm(), 5, true)), (None, None));
        assert_eq!(seen(Recording::new(), 5, false), None);
    }

    #[test]
    fn several_device_events_of_one_id_are_ambiguous_unless_a_graph_launched_them() {
        let seen = |launch: Option<&str>| {
            let mut recording = Recording::new();
            recording.launches(10, 3);
            launch.map(|name| recording.call(name, (900.0, 1.0), 9));
            recording.kernel("a", (2000.0, 1.0), 9);
            recording.kernel("b", (2010.0, 1.0), 9);
            let diagnosis = recording.diagnosis();
            (diagnosis.find("S3").map(|found| (found.severity, found.count)), diagnosis.guarded("S3"))
        };
        assert_eq!(seen(Some("hipLaunchKernel")), (Some((Severity::Warning, 1)), 0));
        assert_eq!(seen(Some("hipGraphLaunch")), (None, 1));
        assert_eq!(seen(None), (None, 0));
    }

    #[test]
    fn handles_and_many_short_lived_streams_are_those_of_an_executor() {
        let streams = |streams: &[i64]| {
            let mut recording = Recording::new();
            for (at, &stream) in streams.iter().enumerate() {
                recording.device(
                    Category::KERNEL,
                    "k",
                    stream,
                    (10.0 * at as f64, 1.0),
                    correlated(at as i64 + 1),
                );
            }
            found(recording, "S4").map(|found| (found.severity, found.count))
        };
        assert_eq!(streams(&[7, 1 << 31]), Some((Severity::Info, 1)));
        assert_eq!(streams(&(0..33).collect::<Vec<_>>()), Some((Severity::Info, 33)));
        assert_eq!((streams(&(0..32).collect::<Vec<_>>()), streams(&[7, (1 << 31) - 1])), (None, None));
    }

    #[test]
    fn ids_of_several_calls_or_operators_are_ambiguous() {
        let mut recording = Recording::new();
        recording.launches(1, 3);
        recording.call("cudaStreamSynchronize", (900.0, 1.0), 2);
        let found = found(recording, "I1").unwrap();
        assert_eq!((found.severity, found.count), (Severity::Warning, 1));

        let mut foreign = Recording::mtia();
        for at in [0.0, 10.0] {
            foreign.host("mtia_runtime", "launch", (at, 1.0), correlated(4));
        }
        let foreign = foreign.diagnosis();
        assert_eq!((foreign.find("I1").is_none(), foreign.guarded("I1")), (true, 1));

        let operators = |ids: [i64; 2]| {
            let mut recording = Recording::new();
            for (at, id) in ids.into_iter().enumerate() {
                let arguments = EventArguments { external_id: Some(id), ..EventArguments::default() };
                recording.host("cpu_op", "a", (10.0 * at as f64, 1.0), arguments);
            }
            recording.diagnosis().find("I2").map(|found| (found.severity, found.count))
        };
        assert_eq!((operators([5, 5]), operators([5, 6])), (Some((Severity::Warning, 1)), None));
    }

    #[test]
    fn external_ids_should_be_those_of_operators() {
        let seen = |external: fn(i64) -> i64| {
            let mut recording = Recording::new();
            for id in 1..=20 {
                let at = 10.0 * id as f64;
                let named = |external_id| EventArguments { external_id: Some(external_id), ..correlated(id) };
                let operator = EventArguments { external_id: Some(100 + id), ..EventArguments::default() };
                recording.host("cpu_op", "a", (at, 5.0), operator);
                recording.host("cuda_runtime", "cudaLaunchKernel", (at, 1.0), named(external(id)));
                recording.device(Category::KERNEL, "k", 7, (at + 2.0, 1.0), named(external(id)));
            }
            found(recording, "I3").map(|found| (found.severity, found.count, found.of))
        };
        assert_eq!(seen(|id| id), Some((Severity::Info, 40, Some(40))));
        assert_eq!(seen(|id| if id > 19 { 999 } else { 100 + id }), Some((Severity::Note, 2, Some(40))));
        assert_eq!(seen(|id| 100 + id), None);
    }
}
