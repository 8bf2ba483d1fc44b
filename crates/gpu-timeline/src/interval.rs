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
    #[must_use]
    pub fn new(start: i64, end: i64) -> Self {
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

#[cfg(test)]
mod tests {
    use super::Interval;

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
            let (a, b) = (Interval::new(a.0, a.1), Interval::new(b.0, b.1));
            assert_eq!(a.shared_time(b), expected, "{case}");
            assert_eq!(b.shared_time(a), expected, "{case}, swapped");
        }
    }

    #[test]
    fn length_of_a_reversed_interval_is_zero_and_extremes_saturate() {
        assert_eq!(Interval::new(7, 3).length(), 0);
        assert!(Interval::new(7, 3).is_empty());
        assert_eq!(Interval::new(i64::MIN, i64::MAX).length(), i64::MAX);
    }
}
