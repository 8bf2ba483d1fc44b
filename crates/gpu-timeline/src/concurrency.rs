//! What ran at the same time: kinds of work, and copies.

use crate::summary::weighted_quantile;
use crate::{Activity, DeviceEvent, HeldSamples, Interval};

/// How long each set of activities ran: each instant with an event counts for the one set of activities that run at it.
///
/// The times of the sets add up to the busy time, exactly. In the unit of the events.
///
/// ```
/// use gpu_timeline::{Activity, DeviceEvent, OverlapMatrix};
///
/// let matrix = OverlapMatrix::from_events([
///     DeviceEvent::new(0, 100, Activity::Computation),
///     DeviceEvent::new(60, 130, Activity::Communication),
/// ]);
/// assert_eq!(matrix.shared(Activity::Computation, Activity::Communication), 40);
/// assert_eq!(matrix.alone(Activity::Communication), 30);
/// assert_eq!(matrix.busy(), 130);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverlapMatrix {
    /// Time by set; bit `activity as usize` says that the activity is in the set.
    times: [i64; 8],
}

impl OverlapMatrix {
    /// The activities.
    pub const ACTIVITIES: [Activity; 3] = [Activity::Computation, Activity::Communication, Activity::Memcpy];

    /// From events in any order. O(n log n), and O(n) where they are in order of their starts.
    #[must_use]
    pub fn from_events(events: impl IntoIterator<Item = DeviceEvent>) -> Self {
        let needed = events.into_iter().map(|event| (event.span, event.activity));
        let mut events: Vec<(Interval, Activity)> = needed.filter(|(span, _)| !span.is_empty()).collect();
        events.sort_by_key(|(span, _)| span.start);
        let mut sweep = Sweep { times: [0; 8], until: [i64::MIN; 3], now: i64::MIN };
        for (span, activity) in events {
            sweep.advance(span.start);
            let until = &mut sweep.until[activity as usize];
            *until = span.end.max(*until);
        }
        sweep.advance(i64::MAX);
        OverlapMatrix { times: sweep.times }
    }

    /// Time when exactly these activities run.
    #[must_use]
    pub fn exactly(&self, activities: &[Activity]) -> i64 {
        let set = activities.iter().fold(0, |set, &activity| set | 1 << activity as usize);
        if set == 0 { 0 } else { self.times[set] }
    }

    /// Time when both activities run, whatever else does; of an activity with itself its whole time.
    #[must_use]
    pub fn shared(&self, a: Activity, b: Activity) -> i64 {
        let wanted = 1 << a as usize | 1 << b as usize;
        let holds = |&(set, _): &(usize, &i64)| set & wanted == wanted;
        self.times.iter().enumerate().filter(holds).map(|(_, time)| time).sum()
    }

    /// Time when nothing but this activity runs.
    #[must_use]
    pub fn alone(&self, activity: Activity) -> i64 {
        self.exactly(&[activity])
    }

    /// Time when anything runs.
    #[must_use]
    pub fn busy(&self) -> i64 {
        self.times.iter().sum()
    }
}

/// Events in order of their starts, up to a moment. An activity runs at it if the latest end of its events so far is later.
struct Sweep {
    times: [i64; 8],
    /// Latest end of the events so far, by activity.
    until: [i64; 3],
    now: i64,
}

impl Sweep {
    /// Counts the time up to another moment, or to the end of all events so far.
    fn advance(&mut self, to: i64) {
        loop {
            let running = || self.until.iter().enumerate().filter(|&(_, &end)| end > self.now);
            let Some(first_end) = running().map(|(_, &end)| end).min() else { break };
            let set = running().fold(0, |set, (activity, _)| set | 1 << activity);
            let until = first_end.min(to);
            self.times[set] += until - self.now;
            self.now = until;
            if until == to {
                return;
            }
        }
        self.now = to;
    }
}

/// The rates of transfers, and of all that run at the same time together. Times are in the caller's unit, rates in bytes
/// per unit of time: GB/s where that is the nanosecond.
///
/// Each transfer has the same rate, its bytes over its duration, all the time it runs. One without duration has no rate.
///
/// ```
/// use gpu_timeline::{ConcurrentRate, Interval};
///
/// let copies = [(Interval::between(0, 10), 100), (Interval::between(5, 15), 200)];
/// let rate = ConcurrentRate::from_transfers(copies);
/// assert_eq!((rate.max(), rate.mean()), (Some(30.0), Some(20.0)));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConcurrentRate {
    /// Rates with how long they lasted, ascending.
    stretches: Vec<(f64, i64)>,
    bytes: i128,
}

impl ConcurrentRate {
    /// From transfers with their bytes, in any order. O(n log n + n·m) for m at the same time.
    #[must_use]
    pub fn from_transfers(transfers: impl IntoIterator<Item = (Interval, i64)>) -> Self {
        let (running, bytes) = rates(transfers);
        let mut stretches: Vec<(f64, i64)> =
            running.into_iter().map(|(time, rate)| (rate, time.length())).collect();
        stretches.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        ConcurrentRate { stretches, bytes }
    }

    /// The rate of all that run together at each time from the first start to the last end, 0 where none does.
    ///
    /// ```
    /// use gpu_timeline::{ConcurrentRate, Interval};
    ///
    /// let time = Interval::between;
    /// let rates = ConcurrentRate::over_time([(time(0, 10), 100), (time(20, 25), 10)]);
    /// assert_eq!(rates.stretches(), [(time(0, 10), 10.0), (time(10, 20), 0.0), (time(20, 25), 2.0)]);
    /// ```
    #[must_use]
    pub fn over_time(transfers: impl IntoIterator<Item = (Interval, i64)>) -> HeldSamples {
        let (running, _) = rates(transfers);
        let mut until = running.first().map_or(0, |(time, _)| time.start);
        let with_gaps = running.into_iter().flat_map(|(time, rate)| {
            let gap = Interval::between(until, time.start);
            until = time.end;
            [(gap, 0.0), (time, rate)]
        });
        HeldSamples::from_stretches(with_gaps)
    }

    /// Rates with how long they lasted, ascending.
    #[must_use]
    pub fn stretches(&self) -> &[(f64, i64)] {
        &self.stretches
    }

    /// Time when at least one transfer runs.
    #[must_use]
    pub fn busy(&self) -> i64 {
        self.stretches.iter().map(|&(_, time)| time).sum()
    }

    /// Bytes of all transfers over the time when at least one runs; `None` where none takes time.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let busy = self.busy();
        (busy > 0).then(|| self.bytes as f64 / busy as f64)
    }

    /// Highest rate of all that run at the same time together.
    #[must_use]
    pub fn max(&self) -> Option<f64> {
        self.stretches.last().map(|&(rate, _)| rate)
    }

    /// The least rate that is not exceeded for the share `q` (0 to 1) of the busy time.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        weighted_quantile(self.stretches.iter().copied(), q)
    }
}

/// The rates of the transfers that run together, in order of time, and the bytes of all.
fn rates(transfers: impl IntoIterator<Item = (Interval, i64)>) -> (Vec<(Interval, f64)>, i128) {
    let mut transfers: Vec<(Interval, i64)> =
        transfers.into_iter().filter(|(time, _)| !time.is_empty()).collect();
    transfers.sort_unstable_by_key(|&(time, bytes)| (time.start, time.end, bytes));
    let bytes = transfers.iter().map(|&(_, bytes)| i128::from(bytes)).sum();
    let mut stretches = Vec::new();
    let mut running: Vec<(i64, f64)> = Vec::new();
    let mut since = 0;
    let mut coming = transfers.into_iter().peekable();
    loop {
        let start = coming.peek().map(|(time, _)| time.start);
        let end = running.iter().map(|&(end, _)| end).min();
        let Some(now) = start.into_iter().chain(end).min() else { break };
        if !running.is_empty() && now > since {
            // Summed afresh, so that no residue of what is over stays.
            stretches
                .push((Interval::between(since, now), running.iter().map(|&(_, rate)| rate).sum::<f64>()));
        }
        since = now;
        running.retain(|&(end, _)| end > now);
        while let Some((time, bytes)) = coming.next_if(|(time, _)| time.start == now) {
            running.push((time.end, bytes as f64 / time.length() as f64));
        }
    }
    (stretches, bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Breakdown, busy_time};

    const ALL: [Activity; 3] = OverlapMatrix::ACTIVITIES;

    #[test]
    fn three_activities_share_their_time() {
        let [computation, communication, memcpy] = ALL;
        let event = DeviceEvent::new;
        let matrix = OverlapMatrix::from_events([
            event(0, 10, computation),
            event(4, 20, computation),
            event(15, 40, communication),
            event(18, 30, memcpy),
            event(50, 50, memcpy),
        ]);
        assert_eq!(matrix.exactly(&ALL), 2);
        assert_eq!(matrix.exactly(&[]), 0);
        assert_eq!(ALL.map(|activity| matrix.shared(activity, activity)), [20, 25, 12]);
        assert_eq!(ALL.map(|activity| matrix.alone(activity)), [15, 10, 0]);
        assert_eq!(matrix.shared(communication, memcpy), 12);
        assert_eq!(matrix.shared(memcpy, computation), 2);
        assert_eq!(matrix.busy(), 40);
    }

    #[test]
    fn rates_of_transfers_at_the_same_time_add_up() {
        let copies = [(0, 10, 100), (5, 15, 200), (20, 20, 7), (30, 40, 50)];
        let rate = ConcurrentRate::from_transfers(
            copies.map(|(start, end, bytes)| (Interval::between(start, end), bytes)),
        );
        assert_eq!((rate.busy(), rate.max(), rate.mean()), (25, Some(30.0), Some(14.0)));
        assert_eq!([0.4, 0.5, 0.8, 1.0].map(|q| rate.quantile(q)), [5.0, 10.0, 20.0, 30.0].map(Some));
        let none = ConcurrentRate::default();
        assert_eq!((none.busy(), none.max(), none.mean(), none.quantile(0.5)), (0, None, None, None));
    }

    proptest! {
        #[test]
        fn the_sets_add_up_to_the_busy_time(
            events in prop::collection::vec((0..300_i64, 0..40_i64, 0..3_usize), 0..60),
        ) {
            let events: Vec<DeviceEvent> = events
                .into_iter()
                .map(|(start, length, kind)| DeviceEvent::new(start, start + length, ALL[kind]))
                .collect();
            let matrix = OverlapMatrix::from_events(events.iter().copied());
            let breakdown = Breakdown::from_events(events.iter().copied(), None).unwrap_or_default();
            prop_assert_eq!(matrix.busy(), breakdown.busy);
            prop_assert_eq!(matrix.shared(ALL[0], ALL[0]), breakdown.computation);
            prop_assert_eq!(matrix.shared(ALL[1], ALL[1]), breakdown.total_communication);
            prop_assert_eq!(matrix.shared(ALL[2], ALL[2]), breakdown.total_memcpy);
            prop_assert_eq!(matrix.alone(ALL[2]), breakdown.exposed_memcpy);
        }

        #[test]
        fn rates_over_time_are_the_bytes(
            copies in prop::collection::vec((0..300_i64, 1..40_i64, 0..10_000_i64), 1..60),
        ) {
            let copies = copies.into_iter().map(|(start, length, bytes)| (Interval::between(start, start + length), bytes));
            let copies: Vec<(Interval, i64)> = copies.collect();
            let rate = ConcurrentRate::from_transfers(copies.iter().copied());
            let bytes: i64 = copies.iter().map(|copy| copy.1).sum();
            let integral: f64 = rate.stretches.iter().map(|&(rate, time)| rate * time as f64).sum();
            prop_assert!((integral - bytes as f64).abs() < 1e-6, "{} {}", integral, bytes);
            prop_assert_eq!(rate.busy(), busy_time(copies.iter().map(|copy| copy.0), &mut Vec::new()));
        }
    }
}
