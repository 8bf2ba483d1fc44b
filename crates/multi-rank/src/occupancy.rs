//! What a device did between any two moments.

use gpu_timeline::Activity;

/// A device event with when the host launched it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchedSpan {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) activity: Activity,
    pub(crate) launch: Option<i64>,
}

/// How the time of a device is used, each moment once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) computation: i64,
    /// Outside of computation.
    pub(crate) communication: i64,
    /// Outside of both.
    pub(crate) copies: i64,
    /// Nothing ran, and the host had not launched what came next.
    pub(crate) host: i64,
    /// Nothing ran, though the next event was launched, or it is not known when.
    pub(crate) idle: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Computation,
    Communication,
    Copies,
    Host,
    Idle,
}

impl Usage {
    fn of(&mut self, use_: Use) -> &mut i64 {
        match use_ {
            Use::Computation => &mut self.computation,
            Use::Communication => &mut self.communication,
            Use::Copies => &mut self.copies,
            Use::Host => &mut self.host,
            Use::Idle => &mut self.idle,
        }
    }

    fn less(self, other: Self) -> Self {
        Usage {
            computation: self.computation - other.computation,
            communication: self.communication - other.communication,
            copies: self.copies - other.copies,
            host: self.host - other.host,
            idle: self.idle - other.idle,
        }
    }

    #[cfg(test)]
    fn sum(self) -> i64 {
        self.computation + self.communication + self.copies + self.host + self.idle
    }
}

/// The use of a device over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Occupancy {
    /// Stretches without gaps between them, by start: start, use, and the use of the time before them.
    stretches: Vec<(i64, Use, Usage)>,
    end: i64,
}

/// A wait of the device for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostWait {
    pub(crate) start: i64,
    pub(crate) end: i64,
}

impl Occupancy {
    /// The use of a device by these events, in any order.
    pub(crate) fn new(mut events: Vec<LaunchedSpan>) -> Self {
        events.sort_by_key(|event| event.start);
        let mut occupancy = Occupancy::default();
        let Some(first) = events.first() else { return occupancy };
        occupancy.end = first.start;
        // Between two consecutive starts nothing begins, so what runs there runs from the first of the two on.
        let mut latest_end = [first.start; 3];
        for (index, event) in events.iter().enumerate() {
            let activity_end = &mut latest_end[event.activity as usize];
            *activity_end = event.end.max(event.start).max(*activity_end);
            let next = events.get(index + 1);
            let slab_end = next.map_or(i64::MAX, |next| next.start);
            let [computation, communication, copies] = [
                latest_end[Activity::Computation as usize],
                latest_end[Activity::Communication as usize],
                latest_end[Activity::Memcpy as usize],
            ];
            occupancy.extend_to(computation.min(slab_end), Use::Computation);
            occupancy.extend_to(communication.min(slab_end), Use::Communication);
            occupancy.extend_to(copies.min(slab_end), Use::Copies);
            if let Some(next) = next {
                occupancy.extend_to(next.launch.unwrap_or(i64::MIN).min(slab_end), Use::Host);
                occupancy.extend_to(slab_end, Use::Idle);
            }
        }
        occupancy
    }

    fn extend_to(&mut self, end: i64, use_: Use) {
        if end <= self.end {
            return;
        }
        if self.stretches.last().is_none_or(|last| last.1 != use_) {
            let before = self.before(self.end);
            self.stretches.push((self.end, use_, before));
        }
        self.end = end;
    }

    /// The use of all time before a moment.
    fn before(&self, time: i64) -> Usage {
        let at = self.stretches.partition_point(|&(start, ..)| start < time);
        let Some(&(start, use_, mut usage)) = at.checked_sub(1).and_then(|at| self.stretches.get(at)) else {
            return Usage::default();
        };
        *usage.of(use_) += time.min(self.end) - start;
        usage
    }

    /// The use of the time from one moment to another; nothing where they stand in the other order, and outside of the
    /// events.
    pub(crate) fn between(&self, from: i64, to: i64) -> Usage {
        self.before(to.max(from)).less(self.before(from))
    }

    /// The longest wait for the host between two moments.
    pub(crate) fn longest_host_wait(&self, from: i64, to: i64) -> Option<HostWait> {
        let first = self.stretches.partition_point(|&(start, ..)| start <= from).saturating_sub(1);
        let within = &self.stretches[first..];
        let ends = within.iter().skip(1).map(|&(start, ..)| start).chain([self.end]);
        let waits = within.iter().zip(ends).take_while(|((start, ..), _)| *start < to);
        let waits = waits
            .filter(|((_, use_, _), _)| *use_ == Use::Host)
            .map(|(&(start, ..), end)| HostWait { start: start.max(from), end: end.min(to) });
        waits.filter(|wait| wait.end > wait.start).max_by_key(|wait| (wait.end - wait.start, -wait.start))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(start: i64, end: i64, activity: Activity, launch: Option<i64>) -> LaunchedSpan {
        LaunchedSpan { start, end, activity, launch }
    }

    #[test]
    fn every_moment_has_one_use() {
        let occupancy = Occupancy::new(vec![
            span(0, 10, Activity::Computation, None),
            span(5, 20, Activity::Communication, Some(1)),
            span(50, 60, Activity::Memcpy, Some(40)),
            span(70, 80, Activity::Computation, Some(2)),
        ]);
        let usage = Usage { computation: 20, communication: 10, copies: 10, host: 20, idle: 20 };
        assert_eq!(occupancy.between(0, 80), usage);
        assert_eq!(occupancy.between(-100, 1000), usage);
        let middle = Usage { communication: 5, host: 20, idle: 5, ..Usage::default() };
        assert_eq!(occupancy.between(15, 45), middle);
        assert_eq!(occupancy.between(45, 15), Usage::default());
        assert_eq!(occupancy.longest_host_wait(0, 80), Some(HostWait { start: 20, end: 40 }));
        assert_eq!(occupancy.longest_host_wait(30, 35), Some(HostWait { start: 30, end: 35 }));
        assert_eq!(occupancy.longest_host_wait(40, 80), None);
        assert_eq!(Occupancy::new(Vec::new()).between(0, 10), Usage::default());
    }

    proptest! {
        #[test]
        fn uses_add_up_to_the_time_between(
            events in proptest::collection::vec((0_i64..100, 0_i64..20, 0_usize..3, -5_i64..100), 1..30),
            cut in 0_i64..120,
        ) {
            const ACTIVITIES: [Activity; 3] =
                [Activity::Computation, Activity::Communication, Activity::Memcpy];
            let spans: Vec<LaunchedSpan> = events
                .iter()
                .map(|&(start, length, activity, launch)| {
                    span(start, start + length, ACTIVITIES[activity], Some(launch))
                })
                .collect();
            let first = spans.iter().map(|span| span.start).min().unwrap();
            let last = spans.iter().map(|span| span.end).max().unwrap();
            let occupancy = Occupancy::new(spans);
            prop_assert_eq!(occupancy.between(first, last).sum(), last - first);
            let cut = cut.clamp(first, last);
            prop_assert_eq!(occupancy.between(first, cut).sum(), cut - first);
            prop_assert_eq!(occupancy.between(cut, last).sum(), last - cut);
        }
    }
}
