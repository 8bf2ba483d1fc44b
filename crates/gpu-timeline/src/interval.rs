use std::error::Error;
use std::fmt;

/// A half-open stretch of time, `start..end`: it contains `start` and does not contain `end`, so
/// that two intervals which only touch share no time.
///
/// An interval whose end lies before its start (a negative duration in a damaged trace) counts as
/// empty everywhere in this crate. Times are in the caller's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// First instant.
    pub start: i64,
    /// First instant after the interval.
    pub end: i64,
}

impl Interval {
    /// The interval from `start` to `end`.
    ///
    /// # Errors
    ///
    /// When the end lies before the start.
    ///
    /// ```
    /// use gpu_timeline::{Interval, ReversedInterval};
    ///
    /// assert_eq!(Interval::new(10, 25)?.length(), 15);
    /// assert_eq!(Interval::new(25, 10), Err(ReversedInterval { start: 25, end: 10 }));
    /// # Ok::<(), ReversedInterval>(())
    /// ```
    pub fn new(start: i64, end: i64) -> Result<Self, ReversedInterval> {
        if end < start {
            return Err(ReversedInterval { start, end });
        }
        Ok(Self { start, end })
    }

    /// The interval between two times of a recording, which may be damaged: reversed ends are kept, and count as empty.
    #[must_use]
    pub fn between(start: i64, end: i64) -> Self {
        Self { start, end }
    }

    /// `end - start`, and 0 for a reversed interval. Saturates at `i64::MAX`.
    #[must_use]
    pub fn length(self) -> i64 {
        self.end.saturating_sub(self.start).max(0)
    }

    /// Whether the interval contains no time.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// The part that both intervals cover; empty when they are disjoint or touch.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        let start = self.start.max(other.start);
        Self { start, end: self.end.min(other.end).max(start) }
    }

    /// The smallest interval that contains both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Length of the part that both intervals cover.
    #[must_use]
    pub fn shared_time(self, other: Self) -> i64 {
        self.intersection(other).length()
    }
}

impl From<std::ops::Range<i64>> for Interval {
    fn from(range: std::ops::Range<i64>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

/// Ends of an interval in the wrong order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReversedInterval {
    /// The start that was given.
    pub start: i64,
    /// The end that was given, which lies before the start.
    pub end: i64,
}

impl fmt::Display for ReversedInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the interval ends at {}, before it starts at {}", self.end, self.start)
    }
}

impl Error for ReversedInterval {}

#[cfg(test)]
mod tests {
    use super::{Interval, ReversedInterval};

    #[test]
    fn ends_in_the_wrong_order_are_an_error() {
        let reversed = ReversedInterval { start: 7, end: 3 };
        assert_eq!(Interval::new(7, 3), Err(reversed));
        assert_eq!(reversed.to_string(), "the interval ends at 3, before it starts at 7");
        for end in [7, 8, i64::MAX] {
            assert_eq!(Interval::new(7, end), Ok(Interval::between(7, end)));
        }
    }

    #[test]
    fn shared_time_is_the_length_of_the_common_part() {
        let cases = [
            ("disjoint", (0, 10), (20, 30), 0),
            ("touching", (0, 10), (10, 30), 0),
            ("partial", (0, 10), (4, 30), 6),
            ("contained", (0, 100), (20, 30), 10),
            ("identical", (5, 9), (5, 9), 4),
            ("zero length inside", (0, 10), (5, 5), 0),
            ("reversed", (0, 10), (8, 2), 0),
        ];
        for (case, a, b, expected) in cases {
            let (a, b) = (Interval::between(a.0, a.1), Interval::between(b.0, b.1));
            assert_eq!(a.shared_time(b), expected, "{case}");
            assert_eq!(b.shared_time(a), expected, "{case}, swapped");
        }
    }

    #[test]
    fn length_of_a_reversed_interval_is_zero_and_extremes_saturate() {
        assert_eq!(Interval::between(7, 3).length(), 0);
        assert!(Interval::between(7, 3).is_empty());
        assert_eq!(Interval::between(i64::MIN, i64::MAX).length(), i64::MAX);
    }
}
