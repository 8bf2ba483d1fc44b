//! Which elements of two sequences are the same, in order, in time that is nearly linear whatever the sequences are.
//!
//! Elements have a key for each [`Level`] of likeness; the more particular the level on which two are equal, the more their
//! match is worth. Short sequences are aligned by the table of all pairs, which gives the matches that are worth most. Long
//! ones are cut first: at stretches of one to 64 elements that occur once in either, as patience diff cuts at unique lines.
//! Where no stretch is unique the sequences are periodic or have nothing in common, and a cut in the middle of both costs
//! few matches.

use std::ops::Range;

use hashbrown::HashMap;

use super::outline::Level;

/// Keys of an element, by level.
pub(super) type Keys = [u64; 4];

/// Largest product of two lengths for which the table of all pairs is filled. Scores of so many matches fit 32 bits.
const TABLE: usize = 1 << 16;

/// Longest stretch, as a power of two, that is looked for.
const LONGEST_STRETCH: u32 = 6;

/// How often what is between two cuts is searched for cuts again, so that sequences with one cut in each stretch do not cost
/// the square of their length.
const SEARCHES: u32 = 4;

/// What a match is worth that leaves nothing to be desired; the unit is a gap.
const WHOLE: i32 = 10 << 12;

/// What a match of two elements is worth; nothing if they have nothing in common. Two that have the name in common are worth
/// less than one that is equal, so that equal elements which changed places are not matched crosswise.
fn worth(a: &Keys, b: &Keys) -> Option<i32> {
    let equal = |level: Level| a[level as usize] == b[level as usize];
    let bonus = if equal(Level::Structure) { 1 << 12 } else { 0 };
    match () {
        () if equal(Level::Inputs) => Some(WHOLE),
        () if equal(Level::Own) => Some((6 << 12) + bonus),
        () if equal(Level::Label) => Some((3 << 12) + bonus),
        () => None,
    }
}

/// Finds common subsequences, with memory that it keeps from one to the next.
#[derive(Default)]
pub(super) struct Sequences {
    /// The best score of all that is at and after each pair of positions, behind a match and in a gap.
    table: Vec<[i32; 2]>,
}

/// A stretch of either sequence that is to be aligned.
struct Stretch {
    a: Range<usize>,
    b: Range<usize>,
    searches: u32,
}

impl Sequences {
    /// Positions of elements of `a` and `b` that are matched, ascending on both sides.
    pub(super) fn common(&mut self, a: &[Keys], b: &[Keys]) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        let mut open = vec![Stretch { a: 0..a.len(), b: 0..b.len(), searches: 0 }];
        while let Some(mut stretch) = open.pop() {
            strip(a, b, &mut stretch, &mut pairs);
            let Stretch { a: range_a, b: range_b, searches } = stretch;
            if range_a.is_empty() || range_b.is_empty() {
                continue;
            }
            if range_a.len().saturating_mul(range_b.len()) <= TABLE {
                self.push_by_table(a, b, (range_a, range_b), &mut pairs);
                continue;
            }
            let cuts = if searches < SEARCHES {
                let (part_a, part_b) = (&a[range_a.clone()], &b[range_b.clone()]);
                let by_level = Level::ALL.into_iter().map(|level| unique_stretches(part_a, part_b, level));
                by_level.into_iter().find(|cuts| !cuts.is_empty()).unwrap_or_default()
            } else {
                Vec::new()
            };
            let (mut from_a, mut from_b) = (range_a.start, range_b.start);
            let mut push = |to_a: usize, to_b: usize| {
                open.push(Stretch { a: from_a..to_a, b: from_b..to_b, searches: searches + 1 });
                (from_a, from_b) = (to_a, to_b);
            };
            if cuts.is_empty() {
                push(range_a.start + range_a.len() / 2, range_b.start + range_b.len() / 2);
            }
            // A stretch begins with the element that is cut at, so that it is matched there.
            for (at_a, at_b) in cuts {
                push(range_a.start + at_a, range_b.start + at_b);
            }
            push(range_a.end, range_b.end);
        }
        pairs.sort_unstable();
        pairs
    }

    /// The matches that are worth most, and among these the ones with the fewest gaps: repeated sequences can be aligned in
    /// many ways, of which the one that keeps what stands together is most likely the right one.
    fn push_by_table(
        &mut self,
        a: &[Keys],
        b: &[Keys],
        (range_a, range_b): (Range<usize>, Range<usize>),
        pairs: &mut Vec<(usize, usize)>,
    ) {
        let (offset_a, offset_b) = (range_a.start, range_b.start);
        let (a, b) = (&a[range_a], &b[range_b]);
        let width = b.len() + 1;
        self.table.clear();
        self.table.resize(width * (a.len() + 1), [-1, 0]);
        if let Some(end) = self.table.last_mut() {
            *end = [0, 0];
        }
        for at_a in (0..a.len()).rev() {
            for at_b in (0..b.len()).rev() {
                let place = at_a * width + at_b;
                let skipped = self.table[place + 1][IN_GAP].max(self.table[place + width][IN_GAP]);
                let matched = self.matched(place, width, &a[at_a], &b[at_b]).unwrap_or(i32::MIN);
                let in_gap = skipped.max(matched);
                self.table[place] = [matched.max(in_gap - 1), in_gap];
            }
        }
        let (mut at_a, mut at_b, mut state) = (0, 0, BEHIND_MATCH);
        while at_a < a.len() && at_b < b.len() {
            let place = at_a * width + at_b;
            let best = self.table[place][state];
            if self.matched(place, width, &a[at_a], &b[at_b]) == Some(best) {
                pairs.push((offset_a + at_a, offset_b + at_b));
                (at_a, at_b, state) = (at_a + 1, at_b + 1, BEHIND_MATCH);
            } else if state == BEHIND_MATCH {
                state = IN_GAP;
            } else if best == self.table[place + width][IN_GAP] {
                at_a += 1;
            } else {
                at_b += 1;
            }
        }
    }

    /// The score with a match of two elements at this place of the table.
    fn matched(&self, place: usize, width: usize, a: &Keys, b: &Keys) -> Option<i32> {
        Some(worth(a, b)? + self.table[place + width + 1][BEHIND_MATCH])
    }
}

/// States of the table.
const BEHIND_MATCH: usize = 0;
const IN_GAP: usize = 1;

/// Matches what both stretches begin and end with. No match is worth more, so that none is lost by it.
fn strip(a: &[Keys], b: &[Keys], stretch: &mut Stretch, pairs: &mut Vec<(usize, usize)>) {
    let Stretch { a: range_a, b: range_b, .. } = stretch;
    let is_open = |a: &Range<usize>, b: &Range<usize>| !Range::is_empty(a) && !Range::is_empty(b);
    let equal = |at_a: usize, at_b: usize| a[at_a][Level::Inputs as usize] == b[at_b][Level::Inputs as usize];
    while is_open(range_a, range_b) && equal(range_a.start, range_b.start) {
        pairs.push((range_a.start, range_b.start));
        (range_a.start, range_b.start) = (range_a.start + 1, range_b.start + 1);
    }
    while is_open(range_a, range_b) && equal(range_a.end - 1, range_b.end - 1) {
        (range_a.end, range_b.end) = (range_a.end - 1, range_b.end - 1);
        pairs.push((range_a.end, range_b.end));
    }
}

/// Where stretches begin whose keys of a level occur once in `a` and once in `b`: the most of these that are in the same order
/// in both. Stretches of all lengths count together, so that one unique key that changed places does not outweigh a long
/// repetitive stretch that did not.
fn unique_stretches(a: &[Keys], b: &[Keys], level: Level) -> Vec<(usize, usize)> {
    let [mut hashes_a, mut hashes_b] =
        [a, b].map(|keys| keys.iter().map(|keys| keys[level as usize]).collect::<Vec<u64>>());
    let mut pairs = Vec::new();
    for power in 0..=LONGEST_STRETCH {
        let mut places: HashMap<u64, [Option<usize>; 2]> = HashMap::new();
        let mut repeated: Vec<u64> = Vec::new();
        for (side, keys) in [&hashes_a, &hashes_b].into_iter().enumerate() {
            for (at, &key) in keys.iter().enumerate() {
                if places.entry(key).or_default()[side].replace(at).is_some() {
                    repeated.push(key);
                }
            }
        }
        repeated.iter().for_each(|key| _ = places.remove(key));
        pairs.extend(places.values().filter_map(|&[a, b]| Some((a?, b?))));
        let length = 1 << power;
        for keys in [&mut hashes_a, &mut hashes_b] {
            // The hash of a stretch of double length is made of those of its halves.
            *keys = (0..keys.len().saturating_sub(length))
                .map(|at| keys[at].rotate_left(23).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ keys[at + length])
                .collect();
        }
    }
    longest_ascending(pairs)
}

/// The most pairs that ascend on both sides.
fn longest_ascending(mut pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    // Of pairs with equal first places at most one can be part, as their second places descend.
    pairs.sort_unstable_by_key(|&(a, b)| (a, std::cmp::Reverse(b)));
    pairs.dedup();
    // The last pair of the best sequence of each length, and of each pair the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, &(_, b)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < b);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut longest: Vec<(usize, usize)> =
        std::iter::successors(ends.last().copied(), |&at| before[at]).map(|at| pairs[at]).collect();
    longest.reverse();
    longest
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Length of the longest common subsequence, by the table.
    fn length(a: &[u64], b: &[u64]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for key in a {
            let mut diagonal = 0;
            for (at, other) in b.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if key == other { diagonal + 1 } else { above.max(row[at]) };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    fn common(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
        let [a, b] = [a, b].map(|keys| keys.iter().map(|&key| [key; 4]).collect::<Vec<_>>());
        Sequences::default().common(&a, &b)
    }

    fn is_common(a: &[u64], b: &[u64], pairs: &[(usize, usize)]) -> bool {
        pairs.iter().all(|&(at_a, at_b)| a[at_a] == b[at_b])
            && pairs.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1)
    }

    proptest! {
        #[test]
        fn short_sequences_have_a_longest_common_subsequence(
            a in vec(0_u64..6, 0..60),
            b in vec(0_u64..6, 0..60),
        ) {
            let pairs = common(&a, &b);
            prop_assert!(is_common(&a, &b, &pairs));
            prop_assert_eq!(pairs.len(), length(&a, &b));
        }

    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn long_sequences_with_few_changes_lose_few_matches(
            period in 3_usize..40,
            kinds in 2_u64..30,
            dropped in vec(0_usize..3000, 0..20),
            seed in any::<u64>(),
        ) {
            let a = numbers(seed, kinds, 3000, period);
            let b: Vec<u64> =
                (0..a.len()).filter(|at| !dropped.contains(at)).map(|at| a[at]).collect();
            let pairs = common(&a, &b);
            prop_assert!(is_common(&a, &b, &pairs));
            // Next to a change a cut may be off by a period.
            prop_assert!(pairs.len() + period * dropped.len() >= b.len(), "{} of {}", pairs.len(), b.len());
        }
    }

    /// A linear congruential generator: `period` numbers below `kinds`, again and again.
    fn numbers(seed: u64, kinds: u64, count: usize, period: usize) -> Vec<u64> {
        let next = |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        let numbers: Vec<u64> = std::iter::successors(next(&seed), next)
            .map(|state| (state >> 33) % kinds)
            .take(period.min(count))
            .collect();
        numbers.into_iter().cycle().take(count).collect()
    }

    #[test]
    fn long_sequences_that_differ_everywhere_take_no_square_of_their_length() {
        let [a, b] = [1, 2].map(|seed| numbers(seed, 500, 300_000, usize::MAX));
        let pairs = common(&a, &b);
        assert!(is_common(&a, &b, &pairs));
        assert!(pairs.len() > 1000, "{}", pairs.len());
    }

    #[test]
    fn a_unique_key_that_moved_does_not_outweigh_the_rest() {
        let mut a = numbers(7, 3, 5000, 5000);
        let mut b = a.clone();
        a.insert(0, 100);
        b.push(100);
        assert_eq!(common(&a, &b).len(), 5000);
    }

    #[test]
    fn two_like_pairs_are_worth_more_than_one_equal_pair_unless_they_cross() {
        // Keys by level: inputs, structure, own, label.
        let (layer, changed) = ([1, 1, 5, 5], [2, 2, 5, 5]);
        let mut sequences = Sequences::default();
        assert_eq!(sequences.common(&[layer, layer, layer], &[[9; 4], layer, changed]), [(1, 1), (2, 2)]);
        let (x, y) = ([1, 3, 6, 5], [2, 3, 7, 5]);
        assert_eq!(sequences.common(&[x, y], &[y, x]).len(), 1);
    }
}
