//! A recording as HTA reads it.

use hashbrown::HashSet;
use trace_ingest::{Category, EventId, PerString, Phase, Trace};

/// What HTA keeps of a recording, and when it says that it was.
///
/// Where any time has a fraction of a microsecond, HTA rounds starts up and ends down to whole ones, so that an event
/// loses up to 2 µs and may end before it starts. Of several steps of the profiler it leaves out the last: host events
/// that start in it or behind it, and the device events of all calls that are left out.
pub(super) struct Reading {
    microsecond: i64,
    /// Time of the recording's origin, in its unit.
    origin: i64,
    rounds: bool,
    /// Where the last of several steps starts, and the correlation ids of what the host did before.
    cut: Option<(i64, HashSet<i64>)>,
}

impl Reading {
    /// How HTA reads this trace, about whose events alone it may be asked.
    pub(super) fn new(trace: &Trace) -> Self {
        let events = trace.events();
        let microsecond = trace.time_unit().per_microsecond();
        let spans = || events.ids().filter(|&event| is_span(trace, event));
        let has_fraction = |event| (trace.origin() + events.start(event)).rem_euclid(microsecond) != 0;
        let rounds = spans().any(has_fraction);
        let mut reading = Reading { microsecond, origin: trace.origin(), rounds, cut: None };
        let mut is_step = PerString::new(trace.strings(), |name: &str| name.starts_with("ProfilerStep"));
        let steps: Vec<EventId> = spans().filter(|&event| *is_step.get(events.name(event))).collect();
        let names: HashSet<_> = steps.iter().map(|&step| events.name(step)).collect();
        let last = steps.iter().map(|&step| reading.span(trace, step).0).max();
        reading.cut = last.filter(|_| names.len() > 1).map(|last| {
            let is_before = |&event: &EventId| reading.span(trace, event).0 < last;
            let hosts = spans().filter(|&event| !is_device_event(trace, event)).filter(is_before);
            (last, hosts.filter_map(|event| events.correlation(event)).collect())
        });
        reading
    }

    /// Start and end in µs, from where the recording counts. The end may lie before the start.
    pub(super) fn span(&self, trace: &Trace, event: EventId) -> (i64, i64) {
        let events = trace.events();
        let start = self.origin + events.start(event);
        let up = if self.rounds { self.microsecond - 1 } else { 0 };
        let end = start + events.duration(event);
        ((start + up).div_euclid(self.microsecond), end.div_euclid(self.microsecond))
    }

    /// Whether HTA keeps an event.
    pub(super) fn keeps(&self, trace: &Trace, event: EventId) -> bool {
        let in_steps = || match &self.cut {
            None => true,
            Some((_, launched)) if is_device_event(trace, event) => {
                trace.events().correlation(event).is_some_and(|id| launched.contains(&id))
            }
            Some((last, _)) => self.span(trace, event).0 < *last,
        };
        is_span(trace, event) && in_steps()
    }
}

/// Whether HTA takes an event for one of the device: one that has a stream and a correlation id.
pub(super) fn is_device_event(trace: &Trace, event: EventId) -> bool {
    let events = trace.events();
    let has = |id: Option<i64>| id.is_some_and(|id| id >= 0);
    has(events.stream(event)) && has(events.correlation(event))
        || matches!(trace.name(event), "Event Sync" | "Context Sync")
}

/// Whether an event has a duration, and is not the recorder's own.
fn is_span(trace: &Trace, event: EventId) -> bool {
    let events = trace.events();
    events.phase(event) == Phase::Complete && events.category(event) != Category::TRACE
}

/// Leaves of a recording what HTA keeps, with its times. Returns whether that is less than all steps of the profiler:
/// HTA then lists the events of devices before those of the host.
pub fn read_as_hta(trace: &mut Trace) -> bool {
    let reading = Reading::new(trace);
    let unit = reading.microsecond;
    let kept: Vec<Option<(i64, i64)>> =
        (trace.events().ids().map(|event| reading.keeps(trace, event).then(|| reading.span(trace, event))))
            .collect();
    let origin = trace.origin();
    for (event, span) in trace.events().ids().zip(&kept) {
        if let Some((start, end)) = span {
            trace.retime(event, start * unit - origin, (end - start) * unit);
        }
    }
    trace.retain(|event| kept[event.index()].is_some());
    reading.cut.is_some()
}

#[cfg(test)]
mod tests {
    use trace_ingest::{EventArguments, TraceBuilder};

    use super::*;

    fn trace(events: &[(Category, &str, i64, i64, Option<i64>)]) -> Trace {
        let mut builder = TraceBuilder::new();
        let (host, stream) = (builder.track(1, 1), builder.track(0, 7));
        for &(category, name, start, duration, correlation) in events {
            let is_device = category.is_device();
            let arguments =
                EventArguments { correlation, stream: is_device.then_some(7), ..EventArguments::default() };
            builder.event(category, name, if is_device { stream } else { host }, start, duration, arguments);
        }
        builder.finish()
    }

    fn spans(trace: &Trace) -> Vec<(&str, i64, i64)> {
        let events = trace.events();
        let row = |event| (trace.name(event), trace.origin() + events.start(event), events.duration(event));
        events.ids().map(row).collect()
    }

    #[test]
    fn fractions_are_cut_off_at_both_ends() {
        let mut fine = trace(&[
            (Category::CPU_OP, "op", 10_000, 5_000, None),
            (Category::KERNEL, "k", 12_300, 600, Some(1)),
            (Category::KERNEL, "k", 13_001, 2_998, Some(2)),
        ]);
        assert!(!read_as_hta(&mut fine));
        assert_eq!(spans(&fine), [("op", 10_000, 5_000), ("k", 13_000, -1_000), ("k", 14_000, 1_000)]);
        let mut whole = trace(&[(Category::CPU_OP, "op", 10_000, 5_000, None)]);
        read_as_hta(&mut whole);
        assert_eq!(spans(&whole), [("op", 10_000, 5_000)]);
    }

    #[test]
    fn the_last_of_several_steps_is_left_out() {
        let step = |name, start| (Category::USER_ANNOTATION, name, start, 90_000, None);
        let launch = |start, id| (Category::CUDA_RUNTIME, "cudaLaunchKernel", start, 1_000, Some(id));
        let kernel = |start, id| (Category::KERNEL, "k", start, 1_000, Some(id));
        let mut several = trace(&[
            step("ProfilerStep#1", 100_000),
            launch(110_000, 1),
            step("ProfilerStep#2", 200_000),
            launch(210_000, 2),
            kernel(220_000, 1),
            kernel(230_000, 2),
            kernel(90_000, 3),
        ]);
        assert!(read_as_hta(&mut several));
        let left: Vec<(&str, i64)> =
            spans(&several).into_iter().map(|(name, start, _)| (name, start / 1000)).collect();
        assert_eq!(left, [("ProfilerStep#1", 100), ("cudaLaunchKernel", 110), ("k", 220)]);
        let mut one = trace(&[step("ProfilerStep#1", 100_000), launch(110_000, 1), kernel(220_000, 1)]);
        read_as_hta(&mut one);
        assert_eq!(one.events().len(), 3);
    }
}
