use crate::Interval;

/// A set of instants, kept as sorted intervals that neither overlap nor touch nor are empty.
///
/// Collecting intervals into a set forms their union. Every operation is one linear pass over its
/// operands; only collecting intervals that are out of order sorts.
///
/// ```
/// use gpu_timeline::{Interval, IntervalSet};
///
/// let kernels: IntervalSet = [0..10, 5..15, 20..30].map(Interval::from).into_iter().collect();
/// assert_eq!(kernels.total_length(), 25);
/// assert_eq!(kernels.gaps().as_slice(), [Interval::between(15, 20)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IntervalSet {
    intervals: Vec<Interval>,
}

impl IntervalSet {
    /// The set without any instant.
    pub const EMPTY: IntervalSet = IntervalSet { intervals: Vec::new() };

    /// Sum of the lengths of the intervals.
    #[must_use]
    pub fn total_length(&self) -> i64 {
        sum_of_lengths(&self.intervals)
    }

    /// The smallest interval that contains the set; `None` for the empty set.
    #[must_use]
    pub fn span(&self) -> Option<Interval> {
        Some(Interval::between(self.intervals.first()?.start, self.intervals.last()?.end))
    }

    /// What lies between the intervals: the span without the set.
    #[must_use]
    pub fn gaps(&self) -> Self {
        let between = |pair: &[Interval]| Interval::between(pair[0].end, pair[1].start);
        Self { intervals: self.intervals.windows(2).map(between).collect() }
    }

    /// The instants in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut merged = Vec::with_capacity(self.intervals.len() + other.intervals.len());
        let (mut left, mut right) = (self.iter().peekable(), other.iter().peekable());
        loop {
            let next = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) if a.start <= b.start => left.next(),
                (Some(_), None) => left.next(),
                _ => right.next(),
            };
            let Some(next) = next else { break };
            push_in_order(&mut merged, next);
        }
        Self { intervals: merged }
    }

    /// The instants in this set that are not in `other`.
    #[must_use]
    pub fn subtract(&self, other: &Self) -> Self {
        let mut uncovered = Vec::new();
        let mut covers = other.iter().peekable();
        for interval in self {
            let mut start = interval.start;
            while covers.next_if(|cover| cover.end <= start).is_some() {}
            // A cover that reaches past this interval stays for the next one.
            while let Some(&cover) = covers.peek() {
                if cover.start >= interval.end {
                    break;
                }
                if cover.start > start {
                    uncovered.push(Interval::between(start, cover.start));
                }
                start = cover.end;
                if cover.end > interval.end {
                    break;
                }
                covers.next();
            }
            if start < interval.end {
                uncovered.push(Interval::between(start, interval.end));
            }
        }
        Self { intervals: uncovered }
    }

    /// The instants in both sets.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let mut common = Vec::new();
        let (mut left, mut right) = (self.iter().peekable(), other.iter().peekable());
        while let (Some(&a), Some(&b)) = (left.peek(), right.peek()) {
            let both = a.intersection(b);
            if !both.is_empty() {
                common.push(both);
            }
            if a.end < b.end {
                left.next();
            } else {
                right.next();
            }
        }
        Self { intervals: common }
    }

    /// How much of a stretch of time the set covers: a binary search, then one step per interval of the set in it.
    ///
    /// ```
    /// use gpu_timeline::{Interval, IntervalSet};
    ///
    /// let calls: IntervalSet = [0..10, 20..30].map(Interval::from).into_iter().collect();
    /// assert_eq!(calls.shared_time(Interval::between(5, 25)), 10);
    /// ```
    #[must_use]
    pub fn shared_time(&self, time: Interval) -> i64 {
        self.clipped(time).fold(0, |sum, part| sum.saturating_add(part.length()))
    }

    /// The parts of the set in a stretch of time, ascending, none of them empty: a binary search, then one step per part.
    pub fn clipped(&self, time: Interval) -> impl Iterator<Item = Interval> + '_ {
        let from = self.intervals.partition_point(|interval| interval.end <= time.start);
        self.intervals[from..]
            .iter()
            .take_while(move |interval| interval.start < time.end)
            .map(move |interval| interval.intersection(time))
            .filter(|part| !part.is_empty())
    }

    /// Number of intervals.
    #[must_use]
    pub fn len(&self) -> usize {
        self.intervals.len()
    }

    /// Whether the set contains no time.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// The intervals, ascending.
    #[must_use]
    pub fn as_slice(&self) -> &[Interval] {
        &self.intervals
    }

    /// The intervals, ascending.
    pub fn iter(&self) -> std::iter::Copied<std::slice::Iter<'_, Interval>> {
        self.intervals.iter().copied()
    }
}

impl FromIterator<Interval> for IntervalSet {
    fn from_iter<I: IntoIterator<Item = Interval>>(intervals: I) -> Self {
        let mut merged = Vec::new();
        merge_into(&mut merged, intervals);
        Self { intervals: merged }
    }
}

impl From<Interval> for IntervalSet {
    fn from(interval: Interval) -> Self {
        std::iter::once(interval).collect()
    }
}

impl<'a> IntoIterator for &'a IntervalSet {
    type Item = Interval;
    type IntoIter = std::iter::Copied<std::slice::Iter<'a, Interval>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Time during which at least one of `intervals` runs: the length of their union.
///
/// Analyses call this once per operator, for hundreds of thousands of operators with a few kernels
/// each. `scratch` is the working memory, cleared and then kept by the caller for the next call;
/// intervals that come in order of start are not sorted.
///
/// ```
/// use gpu_timeline::{Interval, busy_time};
///
/// let mut scratch = Vec::new();
/// let kernels = [Interval::between(0, 30), Interval::between(20, 50), Interval::between(60, 70)];
/// assert_eq!(busy_time(kernels, &mut scratch), 60);
/// ```
pub fn busy_time(intervals: impl IntoIterator<Item = Interval>, scratch: &mut Vec<Interval>) -> i64 {
    let mut intervals = intervals.into_iter();
    // Most calls launch one kernel.
    let (Some(first), second) = (intervals.next(), intervals.next()) else { return 0 };
    let Some(second) = second else { return first.length() };
    merge_into(scratch, [first, second].into_iter().chain(intervals));
    sum_of_lengths(scratch)
}

/// Replaces `merged` by the union of `intervals`: sorted, disjoint, not touching, none empty.
fn merge_into(merged: &mut Vec<Interval>, intervals: impl IntoIterator<Item = Interval>) {
    merged.clear();
    let mut intervals = intervals.into_iter().filter(|interval| !interval.is_empty());
    // Traces list events nearly in order of time, so merging starts as if they were in order ...
    while let Some(interval) = intervals.next() {
        if merged.last().is_some_and(|last| interval.start < last.start) {
            // ... and turns to sorting (what is merged so far, and the rest) at the first that is not.
            merged.push(interval);
            merged.extend(intervals);
            merge_unsorted(merged);
            return;
        }
        push_in_order(merged, interval);
    }
}

/// Replaces intervals by their union.
fn merge_unsorted(intervals: &mut Vec<Interval>) {
    intervals.sort_unstable_by_key(|interval| interval.start);
    intervals.dedup_by(|next, last| {
        let joins = next.start <= last.end;
        if joins {
            last.end = last.end.max(next.end);
        }
        joins
    });
}

/// Adds `next`, which does not start before the last interval of `merged`.
fn push_in_order(merged: &mut Vec<Interval>, next: Interval) {
    match merged.last_mut() {
        Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
        _ => merged.push(next),
    }
}

fn sum_of_lengths(intervals: &[Interval]) -> i64 {
    intervals.iter().fold(0, |sum, interval| sum.saturating_add(interval.length()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(intervals: &[(i64, i64)]) -> IntervalSet {
        intervals.iter().map(|&(start, end)| Interval::between(start, end)).collect()
    }

    fn pairs(set: &IntervalSet) -> Vec<(i64, i64)> {
        set.iter().map(|interval| (interval.start, interval.end)).collect()
    }

    #[test]
    fn collecting_merges_what_overlaps_or_touches() {
        type Pairs = &'static [(i64, i64)];
        let cases: [(&str, Pairs, Pairs); 9] = [
            ("nothing", &[], &[]),
            ("one", &[(3, 4)], &[(3, 4)]),
            ("overlap", &[(0, 10), (5, 15), (20, 30)], &[(0, 15), (20, 30)]),
            ("touch", &[(0, 10), (10, 15)], &[(0, 15)]),
            ("contained", &[(0, 100), (10, 15), (20, 30)], &[(0, 100)]),
            ("out of order", &[(20, 30), (5, 15), (0, 10)], &[(0, 15), (20, 30)]),
            ("late one closes a gap", &[(0, 10), (20, 30), (15, 21), (9, 16)], &[(0, 30)]),
            ("zero length vanishes", &[(5, 5), (7, 9), (20, 20)], &[(7, 9)]),
            ("reversed vanishes", &[(9, 5), (7, 9)], &[(7, 9)]),
        ];
        for (case, intervals, expected) in cases {
            assert_eq!(pairs(&set(intervals)), expected, "{case}");
        }
    }

    #[test]
    fn subtraction_leaves_the_uncovered_parts() {
        type Pairs = &'static [(i64, i64)];
        let cases: [(Pairs, Pairs, Pairs); 13] = [
            (&[(10, 20)], &[], &[(10, 20)]),
            (&[], &[(15, 16)], &[]),
            (&[(10, 20)], &[(15, 16)], &[(10, 15), (16, 20)]),
            (&[(10, 20)], &[(15, 16), (17, 18)], &[(10, 15), (16, 17), (18, 20)]),
            (&[(10, 20)], &[(15, 16), (16, 18)], &[(10, 15), (18, 20)]),
            (&[(10, 20)], &[(9, 12)], &[(12, 20)]),
            (&[(10, 20)], &[(15, 22)], &[(10, 15)]),
            (&[(10, 20)], &[(15, 17), (16, 18)], &[(10, 15), (18, 20)]),
            (&[(10, 20)], &[(10, 20)], &[]),
            (&[(10, 20)], &[(0, 30)], &[]),
            (&[(10, 20), (30, 40)], &[(15, 35)], &[(10, 15), (35, 40)]),
            (&[(10, 20), (30, 40), (50, 60)], &[(0, 55)], &[(55, 60)]),
            (&[(10, 20), (30, 40)], &[(20, 30)], &[(10, 20), (30, 40)]),
        ];
        for (from, what, expected) in cases {
            assert_eq!(pairs(&set(from).subtract(&set(what))), expected, "{from:?} - {what:?}");
        }
    }

    #[test]
    fn span_and_gaps_of_a_set() {
        let kernels = set(&[(50, 60), (0, 10), (70, 75)]);
        assert_eq!(kernels.span(), Some(Interval::between(0, 75)));
        assert_eq!(pairs(&kernels.gaps()), [(10, 50), (60, 70)]);
        assert_eq!(IntervalSet::default().span(), None);
        assert!(IntervalSet::default().gaps().is_empty());
        assert!(IntervalSet::from(Interval::between(0, 5)).gaps().is_empty());
    }

    #[test]
    fn busy_time_counts_shared_time_once_and_forgets_the_previous_call() {
        let mut scratch = Vec::new();
        let cases: [(&[(i64, i64)], i64); 6] = [
            (&[(1000, 1100), (1200, 1300)], 200),
            (&[], 0),
            (&[(5, 5)], 0),
            (&[(10, 60)], 50),
            (&[(20, 50), (0, 30)], 50),
            (&[(0, 100), (10, 20), (100, 110)], 110),
        ];
        for (intervals, expected) in cases {
            let intervals = intervals.iter().map(|&(start, end)| Interval::between(start, end));
            assert_eq!(busy_time(intervals, &mut scratch), expected);
        }
    }

    const END: i64 = 48;

    /// Intervals in `0..END`, reversed and empty ones included.
    fn intervals() -> impl Strategy<Value = Vec<Interval>> {
        let one = (0..END, -3..12_i64).prop_map(|(start, length)| Interval::between(start, start + length));
        prop::collection::vec(one, 0..12)
    }

    /// The set as a bit per instant: the model that the algebra is checked against.
    fn instants<'a>(intervals: impl IntoIterator<Item = &'a Interval>) -> u64 {
        intervals
            .into_iter()
            .fold(0, |bits, interval| (interval.start..interval.end).fold(bits, |bits, t| bits | 1 << t))
    }

    fn well_formed(set: &IntervalSet) -> bool {
        set.iter().all(|interval| !interval.is_empty())
            && set.as_slice().windows(2).all(|pair| pair[0].end < pair[1].start)
    }

    proptest! {
        #[test]
        fn operations_agree_with_bit_sets(a in intervals(), b in intervals()) {
            let (bits_a, bits_b) = (instants(&a), instants(&b));
            let a: IntervalSet = a.into_iter().collect();
            let b: IntervalSet = b.into_iter().collect();
            for (operation, result, expected) in [
                ("collect", a.clone(), bits_a),
                ("union", a.union(&b), bits_a | bits_b),
                ("subtract", a.subtract(&b), bits_a & !bits_b),
                ("intersect", a.intersect(&b), bits_a & bits_b),
            ] {
                prop_assert!(well_formed(&result), "{operation}: {result:?}");
                prop_assert_eq!(instants(result.as_slice()), expected, "{}", operation);
                prop_assert_eq!(result.total_length(), i64::from(expected.count_ones()), "{}", operation);
            }
        }

        #[test]
        fn the_set_in_an_interval_is_its_intersection_with_it(a in intervals(), start in 0..END, length in -3..END) {
            let set: IntervalSet = a.into_iter().collect();
            let time = Interval::between(start, start + length);
            let expected = set.intersect(&IntervalSet::from(time));
            prop_assert_eq!(set.clipped(time).collect::<Vec<_>>(), expected.as_slice());
            prop_assert_eq!(set.shared_time(time), expected.total_length());
        }

        #[test]
        fn busy_time_does_not_depend_on_order(intervals in intervals().prop_shuffle()) {
            let expected = i64::from(instants(&intervals).count_ones());
            let mut scratch = vec![Interval::between(0, 1_000)];
            prop_assert_eq!(busy_time(intervals.iter().copied(), &mut scratch), expected);
            let mut sorted = intervals;
            sorted.sort_by_key(|interval| interval.start);
            prop_assert_eq!(busy_time(sorted, &mut scratch), expected);
        }

        #[test]
        fn a_set_and_its_gaps_fill_its_span(intervals in intervals()) {
            let set: IntervalSet = intervals.into_iter().collect();
            let gaps = set.gaps();
            prop_assert!(set.intersect(&gaps).is_empty());
            let span = set.span().map(IntervalSet::from).unwrap_or_default();
            prop_assert_eq!(set.union(&gaps), span);
        }
    }
}
