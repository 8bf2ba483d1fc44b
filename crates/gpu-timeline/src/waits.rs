//! Why a stream had nothing to run.

use crate::Interval;

/// An event on a device with its launch. Times are in the caller's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchedEvent {
    /// Queue of the device that it ran in.
    pub stream: u32,
    /// First instant.
    pub start: i64,
    /// First instant after the event; an end before the start counts as the start.
    pub end: i64,
    /// Start of the call that launched it; `None` where the recording does not have the call.
    pub launch: Option<i64>,
}

/// Why a stream waited before an event. The first that holds:
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitCause {
    /// The launch of the event is not recorded.
    Unlinked,
    /// The event was launched after the stream ran dry.
    Host,
    /// The event was in the queue already and the wait is shorter than the threshold: the device's own time between
    /// two events.
    Kernel,
    /// The event was in the queue already and the wait is long.
    Dependency {
        /// Index of the last event on another stream that ended during the wait, if any: the stream waited for it as far
        /// as times can tell.
        ended: Option<usize>,
    },
}

/// The time between two consecutive events of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Index of the event that ends the wait.
    pub event: usize,
    /// From the latest end of the events before to the start of this one; empty where they touch or overlap.
    pub time: Interval,
    /// Why.
    pub cause: WaitCause,
}

/// The waits of each stream of one device, by stream and start: one before every event but the first of its stream.
///
/// The lengths of a stream's waits add up to its span without its busy time, exactly. Waits shorter than `short` whose event
/// was already launched are [`WaitCause::Kernel`]. O(n log n).
///
/// ```
/// use gpu_timeline::{LaunchedEvent, WaitCause, stream_waits};
///
/// let event = |stream, start, end, launch| LaunchedEvent { stream, start, end, launch: Some(launch) };
/// let events = [event(7, 10, 20, 0), event(7, 90, 95, 1), event(20, 15, 85, 2), event(7, 120, 130, 100)];
/// let waits = stream_waits(&events, 30);
/// assert_eq!(waits[0].cause, WaitCause::Dependency { ended: Some(2) });
/// assert_eq!(waits[1].cause, WaitCause::Host);
/// ```
#[must_use]
pub fn stream_waits(events: &[LaunchedEvent], short: i64) -> Vec<Wait> {
    let mut by_end: Vec<(i64, usize)> =
        events.iter().enumerate().map(|(index, event)| (event.end.max(event.start), index)).collect();
    by_end.sort_unstable();
    let last_ended = |wait: Interval, stream: u32| {
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
pub fn device_waits(events: &[LaunchedEvent], short: i64) -> Vec<Wait> {
    waits(events, |_| 0, short, |_, _| None)
}

fn waits(
    events: &[LaunchedEvent],
    queue: impl Fn(&LaunchedEvent) -> u32,
    short: i64,
    last_ended: impl Fn(Interval, u32) -> Option<usize>,
) -> Vec<Wait> {
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by_key(|&index| (queue(&events[index]), events[index].start));
    let mut waits = Vec::with_capacity(order.len());
    for stream in order.chunk_by(|&a, &b| queue(&events[a]) == queue(&events[b])) {
        let mut latest_end = i64::MIN;
        for (position, &index) in stream.iter().enumerate() {
            let event = &events[index];
            if position > 0 {
                let time = Interval::new(latest_end, event.start.max(latest_end));
                let cause = match event.launch {
                    None => WaitCause::Unlinked,
                    Some(launch) if launch > latest_end => WaitCause::Host,
                    Some(_) if time.length() < short => WaitCause::Kernel,
                    Some(_) => WaitCause::Dependency { ended: last_ended(time, event.stream) },
                };
                waits.push(Wait { event: index, time, cause });
            }
            latest_end = latest_end.max(event.end).max(event.start);
        }
    }
    waits
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::{Activity, Breakdown, TimelineEvent, busy_time};

    fn event(stream: u32, start: i64, end: i64, launch: Option<i64>) -> LaunchedEvent {
        LaunchedEvent { stream, start, end, launch }
    }

    #[test]
    fn the_first_cause_that_holds_counts() {
        let first = event(1, 0, 10, Some(0));
        let other = event(2, 5, 60, Some(0));
        for (second, cause) in [
            (event(1, 100, 110, None), WaitCause::Unlinked),
            (event(1, 100, 110, Some(11)), WaitCause::Host),
            // Launched at the very end of the event before.
            (event(1, 39, 50, Some(10)), WaitCause::Kernel),
            (event(1, 8, 12, Some(0)), WaitCause::Kernel),
            (event(1, 40, 50, Some(10)), WaitCause::Dependency { ended: None }),
            (event(1, 60, 70, Some(10)), WaitCause::Dependency { ended: Some(1) }),
        ] {
            let waits = stream_waits(&[first, other, second], 30);
            assert_eq!(waits.iter().map(|wait| (wait.event, wait.cause)).collect::<Vec<_>>(), [(2, cause)]);
        }
    }

    #[test]
    fn a_long_event_hides_what_ends_before_it() {
        let events = [event(1, 0, 100, Some(0)), event(1, 10, 20, Some(0)), event(1, 130, 140, Some(0))];
        let lengths: Vec<i64> = stream_waits(&events, 30).iter().map(|wait| wait.time.length()).collect();
        assert_eq!(lengths, [0, 30]);
    }

    fn any_events() -> impl Strategy<Value = Vec<LaunchedEvent>> {
        let one = (0..4_u32, 0..500_i64, -3..40_i64, prop::option::of(-50..550_i64));
        prop::collection::vec(
            one.prop_map(|(stream, start, length, launch)| event(stream, start, start + length, launch)),
            0..60,
        )
    }

    proptest! {
        #[test]
        fn waits_add_up_to_the_span_without_the_busy_time(events in any_events(), short in 0..60_i64) {
            let waits = stream_waits(&events, short);
            for stream in events.iter().map(|event| event.stream).collect::<BTreeSet<_>>() {
                let own = events.iter().filter(|event| event.stream == stream);
                let spans: Vec<Interval> =
                    own.map(|event| Interval::new(event.start, event.end.max(event.start))).collect();
                let start = spans.iter().map(|span| span.start).min().unwrap();
                let end = spans.iter().map(|span| span.end).max().unwrap();
                let busy = busy_time(spans.iter().copied(), &mut Vec::new());
                let of_stream = waits.iter().filter(|wait| events[wait.event].stream == stream);
                prop_assert_eq!(of_stream.clone().count(), spans.len() - 1);
                prop_assert_eq!(of_stream.map(|wait| wait.time.length()).sum::<i64>(), end - start - busy);
            }
            let breakdown = Breakdown::from_events(
                events.iter().map(|event| {
                    TimelineEvent { start: event.start, end: event.end, activity: Activity::Computation }
                }),
                None,
            );
            let idle: i64 = device_waits(&events, short).iter().map(|wait| wait.time.length()).sum();
            prop_assert_eq!(idle, breakdown.map_or(0, |breakdown| breakdown.idle));
        }

        #[test]
        fn who_is_waited_for_ended_last_of_those_that_ended_during_the_wait(events in any_events()) {
            for wait in stream_waits(&events, 5) {
                let stream = events[wait.event].stream;
                let ended = |event: &&LaunchedEvent| {
                    let end = event.end.max(event.start);
                    event.stream != stream && end > wait.time.start && end <= wait.time.end
                };
                let latest = events.iter().filter(ended).map(|event| event.end.max(event.start)).max();
                if let WaitCause::Dependency { ended } = wait.cause {
                    prop_assert_eq!(ended.map(|index| events[index].end.max(events[index].start)), latest);
                }
            }
        }
    }
}
