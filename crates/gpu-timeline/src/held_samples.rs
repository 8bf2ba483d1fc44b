//! A quantity over time: sampled, each value holding until the next sample, or known in stretches.

use crate::summary::weighted_quantile;
use crate::{Interval, IntervalSet};

/// What a sampled quantity was over time. A value holds from its time to the next sample, but for no longer than twice
/// the median interval between samples: what is longer is a gap, about which nothing is known. The last value holds for
/// one median interval.
///
/// ```
/// use gpu_timeline::{HeldSamples, Interval, IntervalSet};
///
/// let power = HeldSamples::new([(0, 100.0), (10, 200.0), (20, 300.0)], Interval::between(0, 25));
/// assert_eq!(power.mean(), Some((100.0 * 10.0 + 200.0 * 10.0 + 300.0 * 5.0) / 25.0));
/// assert_eq!(power.mean_within(&IntervalSet::from(Interval::between(5, 15))), Some(150.0));
/// assert_eq!(power.integral(), 4500.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldSamples {
    /// Disjoint and ascending, none empty.
    stretches: Vec<(Interval, f64)>,
    samples: usize,
    interval: Option<i64>,
}

impl HeldSamples {
    /// From times and values in any order, as far as they hold within `window`. Of samples of one time the last counts.
    pub fn new(samples: impl IntoIterator<Item = (i64, f64)>, window: Interval) -> Self {
        let mut samples: Vec<(i64, f64)> = samples.into_iter().collect();
        // Stable, so that the last of equal times stays the last.
        samples.sort_by_key(|&(time, _)| time);
        let count = samples.len();
        samples.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                kept.1 = later.1;
            }
            is_same
        });
        let mut distances: Vec<i64> =
            samples.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0)).collect();
        distances.sort_unstable();
        let interval = distances.get(distances.len() / 2).copied();
        let longest = interval.unwrap_or(0).saturating_mul(2);
        let ends = samples.iter().skip(1).map(|&(next, _)| Some(next)).chain([None]);
        let held = samples.iter().zip(ends).map(|(&(start, value), next)| {
            let held = match next {
                Some(next) => next.saturating_sub(start).min(longest),
                None => interval.unwrap_or(0),
            };
            (Interval::between(start, start.saturating_add(held)).intersection(window), value)
        });
        let stretches = held.filter(|(time, _)| !time.is_empty()).collect();
        HeldSamples { stretches, samples: count, interval }
    }

    /// From stretches that ascend and do not overlap, each with the value that it holds all the time; empty ones are left
    /// out.
    pub fn from_stretches(stretches: impl IntoIterator<Item = (Interval, f64)>) -> Self {
        let stretches: Vec<(Interval, f64)> =
            stretches.into_iter().filter(|(time, _)| !time.is_empty()).collect();
        HeldSamples { samples: stretches.len(), stretches, interval: None }
    }

    /// The stretches in which a value is known, ascending.
    #[must_use]
    pub fn stretches(&self) -> &[(Interval, f64)] {
        &self.stretches
    }

    /// Number of samples, those outside of the window included; of stretches how many there are.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Median distance of two samples; `None` of fewer than two, and of stretches.
    #[must_use]
    pub fn interval(&self) -> Option<i64> {
        self.interval
    }

    /// The time in which a value is known.
    #[must_use]
    pub fn known(&self) -> IntervalSet {
        self.stretches.iter().map(|&(time, _)| time).collect()
    }

    /// Mean over that time; `None` where it is empty.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        mean(self.stretches.iter().map(|&(time, value)| (time.length(), value)))
    }

    /// Mean over the part of that time that lies in `times`.
    #[must_use]
    pub fn mean_within(&self, times: &IntervalSet) -> Option<f64> {
        mean(self.within(times).into_iter())
    }

    /// Time in `times` in which the value is known and holds a condition.
    pub fn time_within(&self, times: &IntervalSet, mut holds: impl FnMut(f64) -> bool) -> i64 {
        self.within(times).into_iter().filter(|&(_, value)| holds(value)).map(|(length, _)| length).sum()
    }

    /// Smallest value that holds at any time.
    #[must_use]
    pub fn min(&self) -> Option<f64> {
        self.stretches.iter().map(|&(_, value)| value).reduce(f64::min)
    }

    /// Largest one.
    #[must_use]
    pub fn max(&self) -> Option<f64> {
        self.stretches.iter().map(|&(_, value)| value).reduce(f64::max)
    }

    /// The value that is not exceeded for this share of the time, 0 to 1.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let mut values: Vec<(f64, i64)> =
            self.stretches.iter().map(|&(time, value)| (value, time.length())).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        weighted_quantile(values.iter().copied(), q)
    }

    /// Sum of value times duration, in the unit of the value times that of the time.
    #[must_use]
    pub fn integral(&self) -> f64 {
        self.stretches.iter().map(|&(time, value)| value * time.length() as f64).sum()
    }

    /// The extremes in at most so many equal parts of the time from the first known value to the last, and in no more
    /// parts than samples: start, smallest, largest. Parts without a known value are left out.
    #[must_use]
    pub fn parts(&self, most: usize) -> Vec<(i64, f64, f64)> {
        let (Some((first, _)), Some((last, _))) = (self.stretches.first(), self.stretches.last()) else {
            return Vec::new();
        };
        let count = most.min(self.stretches.len()).max(1) as i128;
        let span = i128::from(last.end.saturating_sub(first.start));
        let start_of = |part: i128| first.start + (part * span / count) as i64;
        let mut parts = Vec::new();
        let mut at = 0;
        for part in 0..count {
            let time = Interval::between(start_of(part), start_of(part + 1));
            while self.stretches.get(at).is_some_and(|(stretch, _)| stretch.end <= time.start) {
                at += 1;
            }
            let inside = self.stretches[at..].iter().take_while(|(stretch, _)| stretch.start < time.end);
            let values = inside.map(|&(_, value)| (value, value));
            if let Some((min, max)) = values.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) {
                parts.push((time.start, min, max));
            }
        }
        parts
    }

    /// Durations and values in `times`.
    fn within(&self, times: &IntervalSet) -> Vec<(i64, f64)> {
        let mut found = Vec::new();
        let mut at = 0;
        for time in times {
            while self.stretches.get(at).is_some_and(|(stretch, _)| stretch.end <= time.start) {
                at += 1;
            }
            let inside = self.stretches[at..].iter().take_while(|(stretch, _)| stretch.start < time.end);
            found.extend(inside.map(|&(stretch, value)| (stretch.shared_time(time), value)));
        }
        found
    }
}

/// Mean of values by weight.
fn mean(weighted: impl Iterator<Item = (i64, f64)>) -> Option<f64> {
    let (weight, sum) = weighted
        .fold((0i64, 0.0), |(weight, sum), (length, value)| (weight + length, sum + value * length as f64));
    (weight > 0).then(|| sum / weight as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Interval = Interval { start: 0, end: 100 };

    #[test]
    fn a_value_holds_to_the_next_sample_or_twice_the_median_interval() {
        let samples = HeldSamples::new([(0, 1.0), (10, 2.0), (20, 3.0), (80, 4.0)], WINDOW);
        assert_eq!((samples.samples(), samples.interval()), (4, Some(10)));
        let known = samples.known();
        assert_eq!(known.as_slice(), [Interval::between(0, 40), Interval::between(80, 90)]);
        assert_eq!(samples.mean(), Some((10.0 + 20.0 + 60.0 + 40.0) / 50.0));
        assert_eq!((samples.min(), samples.max()), (Some(1.0), Some(4.0)));
        assert_eq!(samples.quantile(0.5), Some(3.0));
        assert_eq!(samples.time_within(&known, |value| value > 2.5), 30);
    }

    #[test]
    fn samples_out_of_order_twice_or_outside_of_the_window_do_no_harm() {
        let samples = HeldSamples::new([(120, 9.0), (10, 5.0), (0, 1.0), (10, 2.0), (-10, 7.0)], WINDOW);
        assert_eq!(samples.mean(), Some((10.0 + 2.0 * 20.0) / 30.0));
        assert_eq!(HeldSamples::new([(5, 1.0)], WINDOW).mean(), None);
        assert_eq!(HeldSamples::new([], WINDOW), HeldSamples::default());
        let extreme = HeldSamples::new([(i64::MIN, 1.0), (i64::MAX, 2.0)], WINDOW);
        assert_eq!(extreme.mean(), None);
    }

    #[test]
    fn parts_have_the_extremes_and_leave_gaps_out() {
        let samples =
            HeldSamples::new((0..10).chain(50..60).map(|at| (at, f64::from(at as i32 % 5))), WINDOW);
        let parts = samples.parts(6);
        assert_eq!(parts, [(0, 0.0, 4.0), (10, 4.0, 4.0), (50, 0.0, 4.0)]);
        assert_eq!(samples.parts(1), [(0, 0.0, 4.0)]);
        assert!(HeldSamples::default().parts(5).is_empty());
    }
}
