//! How many launched events wait to run.

use crate::summary::weighted_quantile;
use crate::{HeldSamples, Interval};

/// The length of a queue over time, from its first launch to its last start: how long it had each length.
///
/// A launch adds one at its start, the start of the event takes it away; where both happen at once, launches come first. A
/// graph launch adds all events that it launches. An event that starts before its launch, as clocks that disagree record it,
/// counts as launched at its start. Times are in the caller's unit; the integral of the length is the sum of the times from
/// launch to start, exactly.
///
/// ```
/// use gpu_timeline::QueueLength;
///
/// // (launch, start)
/// let queue = QueueLength::from_events([(0, 10), (0, 20), (30, 40)]);
/// assert_eq!((queue.max(), queue.mean()), (2, Some(1.0)));
/// assert_eq!(queue.time_at_least(2), 10);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueLength {
    /// Time at each length from 0 on.
    times: Vec<i64>,
}

impl QueueLength {
    /// As many events as CUDA and HIP let wait: a queue of this length is full.
    pub const FULL: usize = 1024;

    /// From this length on a queue may be full, and a launch that takes long waited for room in it. Below
    /// [`QueueLength::FULL`]: the launch's duration is the evidence, and the length only makes it plausible.
    pub const HOST_BLOCKING_LENGTH: usize = 500;

    /// From `(launch, start)` of the events of the queue, in any order. O(n log n).
    #[must_use]
    pub fn from_events(events: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut times = Vec::new();
        for_each_length(events, |length, time| {
            if length >= times.len() {
                times.resize(length + 1, 0);
            }
            times[length] += time.length();
        });
        QueueLength { times }
    }

    /// The length at each time, from the same events.
    ///
    /// ```
    /// use gpu_timeline::{Interval, QueueLength};
    ///
    /// let lengths = QueueLength::over_time([(0, 10), (0, 20), (30, 40)]);
    /// let time = Interval::between;
    /// assert_eq!(
    ///     lengths.stretches(),
    ///     [(time(0, 10), 2.0), (time(10, 20), 1.0), (time(20, 30), 0.0), (time(30, 40), 1.0)]
    /// );
    /// ```
    #[must_use]
    pub fn over_time(events: impl IntoIterator<Item = (i64, i64)>) -> HeldSamples {
        let mut stretches: Vec<(Interval, f64)> = Vec::new();
        for_each_length(events, |length, time| {
            if !time.is_empty() {
                stretches.push((time, length as f64));
            }
        });
        HeldSamples::from_stretches(stretches)
    }

    /// Time at each length from 0 on.
    #[must_use]
    pub fn times(&self) -> &[i64] {
        &self.times
    }

    /// Greatest length, however short it lasted.
    #[must_use]
    pub fn max(&self) -> usize {
        self.times.len().saturating_sub(1)
    }

    /// From the first launch to the last start.
    #[must_use]
    pub fn time(&self) -> i64 {
        self.times.iter().sum()
    }

    /// Mean over time; `None` where no time passes.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let integral: i128 =
            self.times.iter().enumerate().map(|(length, &time)| length as i128 * i128::from(time)).sum();
        let time = self.time();
        (time > 0).then(|| integral as f64 / time as f64)
    }

    /// The least length that the queue does not exceed for the share `q` (0 to 1) of the time; `None` where no time passes.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<usize> {
        weighted_quantile(self.times.iter().copied().enumerate(), q)
    }

    /// Time at this length or more.
    #[must_use]
    pub fn time_at_least(&self, length: usize) -> i64 {
        self.times.iter().skip(length).sum()
    }
}

/// Calls `hold` with each length of the queue and the time that it holds it, in order of time.
fn for_each_length(events: impl IntoIterator<Item = (i64, i64)>, mut hold: impl FnMut(usize, Interval)) {
    let (mut launches, mut starts): (Vec<i64>, Vec<i64>) =
        events.into_iter().map(|(launch, start)| (launch.min(start), start)).unzip();
    launches.sort_unstable();
    starts.sort_unstable();
    let Some(&first) = launches.first() else { return };
    let mut launches = launches.into_iter().peekable();
    let (mut length, mut since) = (0, first);
    for start in starts {
        while let Some(launch) = launches.next_if(|&launch| launch <= start) {
            hold(length, Interval::between(since, launch));
            since = launch;
            length += 1;
        }
        hold(length, Interval::between(since, start));
        since = start;
        // Every event is launched before it starts, so the queue has one.
        length -= 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_queues() {
        type Events = &'static [(i64, i64)];
        // events, max, time, time with one or more
        let cases: [(&str, Events, usize, i64, i64); 6] = [
            ("nothing", &[], 0, 0, 0),
            ("one", &[(0, 10)], 1, 10, 10),
            ("one after the other", &[(0, 10), (20, 30)], 1, 30, 20),
            ("launch and start at once", &[(0, 10), (10, 20)], 2, 20, 20),
            ("a graph of three", &[(0, 10), (0, 20), (0, 30)], 3, 30, 30),
            ("started before its launch", &[(0, 10), (25, 20)], 1, 20, 10),
        ];
        for (case, events, max, time, waiting) in cases {
            let queue = QueueLength::from_events(events.iter().copied());
            assert_eq!((queue.max(), queue.time(), queue.time_at_least(1)), (max, time, waiting), "{case}");
        }
    }

    #[test]
    fn quantiles_are_weighed_by_time() {
        // Length 1 for 10, 2 for 80, 1 for 10.
        let queue = QueueLength::from_events([(0, 90), (10, 100)]);
        assert_eq!([0.1, 0.2, 0.21, 0.5, 1.0].map(|q| queue.quantile(q)), [1, 1, 2, 2, 2].map(Some));
        assert_eq!(QueueLength::default().quantile(0.5), None);
    }

    proptest! {
        #[test]
        fn the_integral_is_the_time_from_launch_to_start(
            events in prop::collection::vec((0..300_i64, 0..50_i64), 1..60),
        ) {
            let events: Vec<(i64, i64)> = events.into_iter().map(|(launch, delay)| (launch, launch + delay)).collect();
            let queue = QueueLength::from_events(events.iter().copied());
            let integral: i64 = (1..=queue.max()).map(|length| queue.time_at_least(length)).sum();
            prop_assert_eq!(integral, events.iter().map(|(launch, start)| start - launch).sum::<i64>());
            let first = events.iter().map(|event| event.0).min().unwrap();
            let last = events.iter().map(|event| event.1).max().unwrap();
            prop_assert_eq!(queue.time(), last - first);
        }
    }
}
