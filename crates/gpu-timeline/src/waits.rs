//! Why a stream had nothing to run.

use crate::{DeviceEvent, Interval, IntervalSet};

/// Share of the device time, in percent, whose launches a recording has to know for what it says of causes to be trusted.
pub const LINKED_ENOUGH: f64 = 95.0;

/// Length in µs below which the wait of an event that was already launched is usually the device's own.
pub const SHORT_WAIT_US: f64 = 30.0;

/// The same in units of which a microsecond has so many.
#[must_use]
pub fn short_wait(units_per_us: i64) -> i64 {
    (SHORT_WAIT_US * units_per_us as f64).round() as i64
}

/// Why a stream or a device waited before an event. The first that holds:
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitCause {
    /// The launch of the event is not recorded.
    Unlinked,
    /// The event was launched after the stream ran dry, and began soon after: within ten times the threshold, or in no
    /// more time than the launch took to come.
    Host(HostActivity),
    /// The event was in the queue already and the wait is shorter than the threshold: the device's own time between two
    /// events.
    Kernel,
    /// The event was in the queue already and the wait is long.
    Dependency(Dependency),
    /// The recording does not tell whether the device did nothing.
    NotRecorded,
}

/// What the host did before a late launch, on the thread of the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostActivity {
    /// It waited for the next batch of a data loader.
    DataLoader,
    /// It was in a call that copies memory.
    Copy,
    /// It waited for the device.
    Sync,
    /// It was in a call that allocates or frees memory.
    Allocation,
    /// It was in a call that took long because something was used for the first time: kernels were loaded, a library or the
    /// device was set up.
    Initialisation,
    /// It was in an operator that launched nothing for long.
    Operator,
    /// Anything else; the launch was that of a graph.
    GraphLaunch,
    /// The profiler held it.
    Profiler,
    /// Anything else, or not known.
    Other,
}

/// What a launched event waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dependency {
    /// An event of another stream of the device, which ended during the wait.
    OtherStream,
    /// The launch of a graph, which still ran when the stream was dry.
    GraphLaunch,
    /// The call that copies memory, which still ran then.
    Copy,
    /// Another call that launches, which still ran then.
    Launch,
    /// A synchronisation of the host on the thread of the launch, which ended during the wait.
    Sync,
    /// Nothing that is known.
    Unknown,
}

impl WaitCause {
    /// `unlinked`, `host_wait`, `kernel_wait`, `dependency_wait` or `not_recorded`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            WaitCause::Unlinked => "unlinked",
            WaitCause::Host(_) => "host_wait",
            WaitCause::Kernel => "kernel_wait",
            WaitCause::Dependency(_) => "dependency_wait",
            WaitCause::NotRecorded => "not_recorded",
        }
    }

    /// What the host did, or what the event waited for; `None` of causes without such.
    #[must_use]
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            WaitCause::Unlinked | WaitCause::Kernel | WaitCause::NotRecorded => None,
            WaitCause::Host(activity) => Some(match activity {
                HostActivity::DataLoader => "data_loader",
                HostActivity::Copy => "copy",
                HostActivity::Sync => "sync",
                HostActivity::Allocation => "allocation",
                HostActivity::Initialisation => "initialisation",
                HostActivity::Operator => "operator",
                HostActivity::GraphLaunch => "graph_launch",
                HostActivity::Profiler => "profiler",
                HostActivity::Other => "other",
            }),
            WaitCause::Dependency(dependency) => Some(match dependency {
                Dependency::OtherStream => "other_stream",
                Dependency::GraphLaunch => "graph_launch",
                Dependency::Copy => "copy",
                Dependency::Launch => "launch",
                Dependency::Sync => "sync",
                Dependency::Unknown => "unknown",
            }),
        }
    }

    /// Whether the device waited for the host: the launch began only after the stream ran dry, or still ran then.
    #[must_use]
    pub const fn is_late_launch(self) -> bool {
        use Dependency::{Copy, GraphLaunch, Launch};
        matches!(self, WaitCause::Host(_) | WaitCause::Dependency(Launch | GraphLaunch | Copy))
    }
}

/// A stretch in which a stream or a device had nothing to run. Events are known by `E`, what they waited for by `W`:
/// positions in the list that [`stream_waits`] was given, or whatever the caller turns these into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait<E = usize, W = E> {
    /// From the latest end of the events before to the start of the one that ends the wait; empty where they touch or
    /// overlap.
    pub span: Interval,
    /// The event that ends the wait.
    pub event: E,
    /// Why.
    pub cause: WaitCause,
    /// What was waited for, as far as times can tell: of [`Dependency::OtherStream`] the last event on another stream that
    /// ended during the wait.
    pub waited_for: Option<W>,
}

/// The waits of each stream of one device, by stream and start: one before every event but the first of its stream.
///
/// The lengths of a stream's waits add up to its span without its busy time, exactly. Waits shorter than `short` whose event
/// was already launched are [`WaitCause::Kernel`]. Of calls of the host, launches alone are known, so that the cause is
/// [`HostActivity::Other`] or [`Dependency::Unknown`] where a caller may know more. O(n log n).
///
/// ```
/// use gpu_timeline::{Activity, Dependency, DeviceEvent, HostActivity, WaitCause, stream_waits};
///
/// let event = |stream, start, end, launch| {
///     DeviceEvent::new(start, end, Activity::Computation).on(Some(0), Some(stream)).launched(Some(launch))
/// };
/// let events = [event(7, 10, 20, 0), event(7, 90, 95, 1), event(20, 15, 85, 2), event(7, 120, 130, 100)];
/// let waits = stream_waits(&events, 30);
/// assert_eq!(waits[0].cause, WaitCause::Dependency(Dependency::OtherStream));
/// assert_eq!(waits[0].waited_for, Some(2));
/// assert_eq!(waits[1].cause, WaitCause::Host(HostActivity::Other));
/// ```
#[must_use]
pub fn stream_waits(events: &[DeviceEvent], short: i64) -> Vec<Wait> {
    let mut by_end: Vec<(i64, usize)> = events
        .iter()
        .enumerate()
        .map(|(index, event)| (event.span.end.max(event.span.start), index))
        .collect();
    by_end.sort_unstable();
    let last_ended = |wait: Interval, stream: Option<i64>| {
        let until = by_end.partition_point(|&(end, _)| end <= wait.end);
        let within = by_end[..until].iter().rev().take_while(|&&(end, _)| end > wait.start);
        within.map(|&(_, index)| index).find(|&index| events[index].stream != stream)
    };
    waits(events, |event| event.stream, short, last_ended)
}

/// The waits of one device as a whole, by start: the times when no stream was busy.
///
/// Their lengths add up to [`Breakdown::idle`](crate::Breakdown::idle) of the same events, exactly. No other stream can have
/// ended during them. Otherwise as [`stream_waits`].
#[must_use]
pub fn device_waits(events: &[DeviceEvent], short: i64) -> Vec<Wait> {
    waits(events, |_| None, short, |_, _| None)
}

/// The waits with what lies in `unrecorded` as [`WaitCause::NotRecorded`]: a wait may become several, whose lengths add up to
/// its own.
#[must_use]
pub fn with_unrecorded<E: Copy, W: Copy>(
    waits: Vec<Wait<E, W>>,
    unrecorded: &IntervalSet,
) -> Vec<Wait<E, W>> {
    if unrecorded.as_slice().is_empty() {
        return waits;
    }
    let mut divided = Vec::with_capacity(waits.len());
    for wait in waits {
        let mut from = wait.span.start;
        for missing in unrecorded.clipped(wait.span) {
            if missing.start > from {
                divided.push(Wait { span: Interval::between(from, missing.start), ..wait });
            }
            divided.push(Wait { span: missing, cause: WaitCause::NotRecorded, waited_for: None, ..wait });
            from = missing.end;
        }
        if from < wait.span.end || wait.span.is_empty() {
            divided.push(Wait { span: Interval::between(from, wait.span.end), ..wait });
        }
    }
    divided
}

fn waits(
    events: &[DeviceEvent],
    queue: impl Fn(&DeviceEvent) -> Option<i64>,
    short: i64,
    last_ended: impl Fn(Interval, Option<i64>) -> Option<usize>,
) -> Vec<Wait> {
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by_key(|&index| (queue(&events[index]), events[index].span.start));
    let mut waits = Vec::with_capacity(order.len());
    for stream in order.chunk_by(|&a, &b| queue(&events[a]) == queue(&events[b])) {
        let mut latest_end = i64::MIN;
        for (position, &index) in stream.iter().enumerate() {
            let DeviceEvent { span: own, launch, stream, .. } = events[index];
            if position > 0 {
                let span = Interval::between(latest_end, own.start.max(latest_end));
                let (cause, waited_for) = match launch {
                    None => (WaitCause::Unlinked, None),
                    Some(launch)
                        if launch > latest_end
                            && own.start - launch <= (10 * short).max(launch - latest_end) =>
                    {
                        (WaitCause::Host(HostActivity::Other), None)
                    }
                    Some(_) if span.length() < short => (WaitCause::Kernel, None),
                    Some(_) => match last_ended(span, stream) {
                        None => (WaitCause::Dependency(Dependency::Unknown), None),
                        ended => (WaitCause::Dependency(Dependency::OtherStream), ended),
                    },
                };
                waits.push(Wait { span, event: index, cause, waited_for });
            }
            latest_end = latest_end.max(own.end).max(own.start);
        }
    }
    waits
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::{Activity, Breakdown, busy_time};

    fn event(stream: i64, start: i64, end: i64, launch: Option<i64>) -> DeviceEvent {
        DeviceEvent::new(start, end, Activity::Computation).on(None, Some(stream)).launched(launch)
    }

    fn end(event: &DeviceEvent) -> i64 {
        event.span.end.max(event.span.start)
    }

    #[test]
    fn the_first_cause_that_holds_counts() {
        let first = event(1, 0, 10, Some(0));
        let other = event(2, 5, 60, Some(0));
        for (second, cause, waited_for) in [
            (event(1, 100, 110, None), WaitCause::Unlinked, None),
            (event(1, 100, 110, Some(11)), WaitCause::Host(HostActivity::Other), None),
            // Launched late, and then in the queue for most of a long wait.
            (event(1, 900, 910, Some(455)), WaitCause::Host(HostActivity::Other), None),
            (event(1, 900, 910, Some(454)), WaitCause::Dependency(Dependency::OtherStream), Some(1)),
            // Launched at the very end of the event before.
            (event(1, 39, 50, Some(10)), WaitCause::Kernel, None),
            (event(1, 8, 12, Some(0)), WaitCause::Kernel, None),
            (event(1, 40, 50, Some(10)), WaitCause::Dependency(Dependency::Unknown), None),
            (event(1, 60, 70, Some(10)), WaitCause::Dependency(Dependency::OtherStream), Some(1)),
        ] {
            let waits = stream_waits(&[first, other, second], 30);
            let waits: Vec<_> = waits.iter().map(|wait| (wait.event, wait.cause, wait.waited_for)).collect();
            assert_eq!(waits, [(2, cause, waited_for)]);
        }
    }

    #[test]
    fn a_long_event_hides_what_ends_before_it() {
        let events = [event(1, 0, 100, Some(0)), event(1, 10, 20, Some(0)), event(1, 130, 140, Some(0))];
        let lengths: Vec<i64> = stream_waits(&events, 30).iter().map(|wait| wait.span.length()).collect();
        assert_eq!(lengths, [0, 30]);
    }

    fn any_events() -> impl Strategy<Value = Vec<DeviceEvent>> {
        let one = (0..4_i64, 0..500_i64, -3..40_i64, prop::option::of(-50..550_i64));
        prop::collection::vec(
            one.prop_map(|(stream, start, length, launch)| event(stream, start, start + length, launch)),
            0..60,
        )
    }

    #[test]
    fn what_is_not_recorded_is_taken_out_of_waits() {
        let unrecorded: IntervalSet =
            [Interval::between(20, 40), Interval::between(90, 200)].into_iter().collect();
        let waits = device_waits(&[event(1, 0, 10, Some(0)), event(1, 100, 110, Some(95))], 30);
        let divided = with_unrecorded(waits, &unrecorded);
        let parts: Vec<_> =
            divided.iter().map(|wait| (wait.span.start, wait.span.end, wait.cause.name())).collect();
        assert_eq!(
            parts,
            [
                (10, 20, "host_wait"),
                (20, 40, "not_recorded"),
                (40, 90, "host_wait"),
                (90, 100, "not_recorded")
            ]
        );
    }

    proptest! {
        #[test]
        fn waits_add_up_to_the_span_without_the_busy_time(events in any_events(), short in 0..60_i64) {
            let waits = stream_waits(&events, short);
            for stream in events.iter().map(|event| event.stream).collect::<BTreeSet<_>>() {
                let own = events.iter().filter(|event| event.stream == stream);
                let spans: Vec<Interval> = own.map(|event| Interval::between(event.span.start, end(event))).collect();
                let start = spans.iter().map(|span| span.start).min().unwrap();
                let end = spans.iter().map(|span| span.end).max().unwrap();
                let busy = busy_time(spans.iter().copied(), &mut Vec::new());
                let of_stream = waits.iter().filter(|wait| events[wait.event].stream == stream);
                prop_assert_eq!(of_stream.clone().count(), spans.len() - 1);
                prop_assert_eq!(of_stream.map(|wait| wait.span.length()).sum::<i64>(), end - start - busy);
            }
            let breakdown = Breakdown::from_events(events.iter().copied(), None);
            let idle: i64 = device_waits(&events, short).iter().map(|wait| wait.span.length()).sum();
            prop_assert_eq!(idle, breakdown.map_or(0, |breakdown| breakdown.idle));
        }

        #[test]
        fn who_is_waited_for_ended_last_of_those_that_ended_during_the_wait(events in any_events()) {
            for wait in stream_waits(&events, 5) {
                let stream = events[wait.event].stream;
                let ended = |event: &&DeviceEvent| {
                    event.stream != stream && end(event) > wait.span.start && end(event) <= wait.span.end
                };
                let latest = events.iter().filter(ended).map(end).max();
                if let WaitCause::Dependency(dependency) = wait.cause {
                    prop_assert_eq!(wait.waited_for.map(|index| end(&events[index])), latest);
                    prop_assert_eq!(dependency == Dependency::OtherStream, latest.is_some());
                }
            }
        }
    }
}
