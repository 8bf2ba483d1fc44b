//! Sequences that occur several times, such as kernels that follow each other again and again.

use std::cmp::Reverse;

use hashbrown::HashMap;

use crate::SortFew;
use crate::suffix_array::{common_prefixes, suffix_array};

/// How often each symbol may be looked at, on average, when the occurrences of candidates are gone through.
const LOOKS: usize = 32;

/// A sequence of symbols that occurs several times.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepeatedSequence {
    /// Number of symbols, at least 2.
    pub length: usize,
    /// Positions at which it occurs, ascending: at least 2, none of which overlap.
    pub starts: Vec<u32>,
    /// Sum of the costs of all symbols of all occurrences but the first symbol of each.
    pub saved: i64,
}

impl RepeatedSequence {
    /// Where it occurs first.
    #[must_use]
    pub fn first(&self) -> usize {
        self.starts.first().map_or(0, |&start| start as usize)
    }
}

/// The sequences of two or more symbols that occur more than once, those first that would save most if each occurrence
/// cost as much as its first symbol; at most `most` of them, and only those that save something.
///
/// A sequence is as long as it can be: longer ones occur less often. One that overlaps itself, as `abab` in `ababab`, is
/// given as the part that repeats, `ab`, which is at least two symbols long. Occurrences are counted from the start and do
/// not overlap. Of sequences of like length (less than a factor of two apart, roughly) that are mostly at the same places,
/// only the one that saves most is given; a short one inside a long one stands beside it.
///
/// `None` is a symbol that is like no other. Costs are by symbol, in the caller's unit. O(n log n): candidates are gone
/// through in order of how many symbols they could save, until 32 occurrences per symbol have been looked at, which
/// random or periodic sequences do not reach.
///
/// ```
/// use gpu_timeline::repeated_sequences;
///
/// let symbols = [1, 2, 3, 9, 1, 2, 3, 8, 1, 2, 3].map(Some);
/// let found = repeated_sequences(&symbols, &[10; 11], 5);
/// assert_eq!((found[0].length, &found[0].starts[..], found[0].saved), (3, &[0, 4, 8][..], 60));
/// ```
#[must_use]
pub fn repeated_sequences(symbols: &[Option<u32>], costs: &[i64], most: usize) -> Vec<RepeatedSequence> {
    let (text, distinct) = dense(symbols);
    let order = suffix_array(&text, distinct);
    let mut candidates = candidates(&text, &order);
    candidates.sort_unstable_by_key(|candidate| (Reverse(candidate.most_saved()), candidate.from));
    let mut sums = Vec::with_capacity(costs.len() + 1);
    sums.push(0);
    costs.iter().for_each(|cost| sums.push(sums[sums.len() - 1] + cost));
    let mut looks = text.len() * LOOKS;
    let mut found: Vec<RepeatedSequence> = Vec::new();
    for candidate in candidates {
        let Some(left) = looks.checked_sub(candidate.count()) else { break };
        looks = left;
        found.extend(candidate.sequence(&order, &sums).filter(|sequence| sequence.saved > 0));
    }
    found.sort_few_by_key(|sequence| (Reverse(sequence.saved), sequence.length, sequence.first()));
    without_likes(found, text.len(), most)
}

/// Symbols as small numbers, and how many there are.
fn dense(symbols: &[Option<u32>]) -> (Vec<u32>, usize) {
    let mut known: HashMap<u32, u32> = HashMap::new();
    let mut next = 0;
    let mut new = || {
        next += 1;
        next - 1
    };
    let number = |symbol: &Option<u32>| match symbol {
        Some(symbol) => *known.entry(*symbol).or_insert_with(&mut new),
        None => new(),
    };
    let text = symbols.iter().map(number).collect();
    (text, next as usize)
}

/// What the suffixes in a stretch of their order begin with.
#[derive(Clone, Copy)]
struct Candidate {
    from: u32,
    to: u32,
    /// Of what they all begin with.
    length: u32,
    /// Of what more suffixes than these begin with.
    shorter: u32,
    /// Positions of the first and the last of them in the text.
    first: u32,
    last: u32,
    /// The symbol before all of them; `None` where they differ in it.
    before: Option<u32>,
}

impl Candidate {
    fn count(&self) -> usize {
        (self.to - self.from) as usize
    }

    /// Some two occurrences are no further apart.
    fn least_distance(&self) -> u32 {
        (self.last - self.first) / (self.to - self.from - 1).max(1)
    }

    /// Symbols that it could save at most.
    fn most_saved(&self) -> u64 {
        let length = self.length.min(self.least_distance().max(2));
        self.count() as u64 * u64::from(length - 1)
    }

    fn absorb(&mut self, other: &Candidate) {
        self.to = other.to;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.before = self.before.filter(|_| self.before == other.before);
    }

    /// Its occurrences, without what overlaps; `None` where they are those of a shorter sequence.
    fn sequence(&self, order: &[u32], sums: &[i64]) -> Option<RepeatedSequence> {
        let mut starts = order[self.from as usize..self.to as usize].to_vec();
        starts.sort_unstable();
        let distance = starts.windows(2).map(|pair| pair[1] - pair[0]).min()?;
        // What overlaps itself repeats a part of itself.
        let length = self.length.min(distance.max(2));
        if length <= self.shorter {
            return None;
        }
        let mut free = 0;
        starts.retain(|&start| {
            let is_free = start >= free;
            if is_free {
                free = start + length;
            }
            is_free
        });
        let saved =
            starts.iter().map(|&start| sums[(start + length) as usize] - sums[start as usize + 1]).sum();
        (starts.len() > 1).then_some(RepeatedSequence { length: length as usize, starts, saved })
    }
}

/// The sequences of at least two symbols that occur more than once and that neither a symbol before nor one behind them
/// makes longer everywhere.
fn candidates(text: &[u32], order: &[u32]) -> Vec<Candidate> {
    let common = common_prefixes(text, order);
    let one = |at: usize| {
        let position = order[at];
        let before = (position as usize).checked_sub(1).map_or(u32::MAX, |before| text[before]);
        let (from, to) = (at as u32, at as u32 + 1);
        Candidate { from, to, length: 0, shorter: 0, first: position, last: position, before: Some(before) }
    };
    let mut found = Vec::new();
    let mut open: Vec<Candidate> = Vec::new();
    for at in 0..order.len() {
        // With the next one.
        let length = common.get(at + 1).copied().unwrap_or(0);
        let mut current = one(at);
        while let Some(mut top) = open.pop_if(|top| top.length > length) {
            top.absorb(&current);
            top.shorter = open.last().map_or(0, |below| below.length).max(length);
            let may_be_shorter = top.least_distance().max(2) <= top.shorter;
            if top.length > 1 && top.before.is_none() && !may_be_shorter {
                found.push(top);
            }
            current = top;
        }
        match open.last_mut() {
            Some(top) if top.length == length => top.absorb(&current),
            _ if length > 0 => open.push(Candidate { length, ..current }),
            _ => {}
        }
    }
    found
}

/// The first of those that are mostly at the same places and of like length.
fn without_likes(found: Vec<RepeatedSequence>, symbols: usize, most: usize) -> Vec<RepeatedSequence> {
    // By symbol: a bit for each magnitude of the lengths of the sequences that it is part of.
    let mut covered = vec![0_u32; symbols];
    let mut kept: Vec<RepeatedSequence> = Vec::new();
    for sequence in found {
        if kept.len() == most {
            break;
        }
        let magnitude = sequence.length.ilog2();
        let likes = 0b111_u32 << magnitude >> 1;
        let middle = |&&start: &&u32| covered[start as usize + sequence.length / 2] & likes != 0;
        if 2 * sequence.starts.iter().filter(middle).count() > sequence.starts.len() {
            continue;
        }
        for &start in &sequence.starts {
            let occurrence_bits = &mut covered[start as usize..start as usize + sequence.length];
            occurrence_bits.iter_mut().for_each(|bits| *bits |= 1 << magnitude);
        }
        kept.push(sequence);
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Length, starts and saved symbols of the sequences of a text, in which a dot is like nothing else.
    fn found(text: &str) -> Vec<(String, Vec<u32>, i64)> {
        let symbols: Vec<Option<u32>> =
            text.bytes().map(|byte| (byte != b'.').then_some(u32::from(byte))).collect();
        let sequences = repeated_sequences(&symbols, &vec![1; text.len()], 9);
        let shown = |sequence: RepeatedSequence| {
            let first = sequence.first();
            (text[first..first + sequence.length].to_owned(), sequence.starts, sequence.saved)
        };
        sequences.into_iter().map(shown).collect()
    }

    fn row(sequence: &str, starts: &[u32], saved: i64) -> (String, Vec<u32>, i64) {
        (sequence.to_owned(), starts.to_vec(), saved)
    }

    #[test]
    fn what_repeats_is_found_as_long_as_it_is() {
        assert_eq!(found("abcd.abcd.xyz"), [row("abcd", &[0, 5], 6)]);
        // Not bc, whose every occurrence is part of abc; ab occurs once more.
        assert_eq!(found("abc.abc.ab"), [row("abc", &[0, 4], 4)]);
        assert_eq!(found(""), []);
        assert_eq!(found("abcdef"), []);
        assert_eq!(found("a.a.a"), []);
    }

    #[test]
    fn what_overlaps_itself_is_the_part_that_repeats() {
        assert_eq!(found("xabcabcabcaby")[0], row("abc", &[1, 4, 7], 6));
        assert_eq!(found("xaaaaaay"), [row("aa", &[1, 3, 5], 3)]);
    }

    #[test]
    fn a_short_sequence_inside_a_long_one_stands_beside_it() {
        let step = format!("s{}t", "ab".repeat(6));
        let rows = found(&[step.as_str(); 3].join("."));
        assert_eq!((rows[0].0.as_str(), rows[0].2), (step.as_str(), 39));
        assert_eq!((rows[1].0.as_str(), rows[1].1.len()), ("ab", 18));
    }

    #[test]
    fn costs_decide_about_the_order_and_what_costs_nothing_is_left_out() {
        let symbols = [1, 2, 9, 1, 2, 8, 3, 4, 7, 3, 4, 6].map(Some);
        let costs = [1, 1, 1, 1, 1, 1, 1, 5, 1, 1, 5, 1];
        let lengths = |costs: &[i64]| -> Vec<(usize, i64)> {
            let found = repeated_sequences(&symbols, costs, 9);
            found.iter().map(|sequence| (sequence.first(), sequence.saved)).collect()
        };
        assert_eq!(lengths(&costs), [(6, 10), (0, 2)]);
        assert_eq!(lengths(&[0; 12]), []);
    }

    /// All places where a part of a text occurs, from the start, without those that overlap.
    fn occurrences(symbols: &[Option<u32>], part: &[Option<u32>]) -> Vec<u32> {
        let (mut at, mut starts) = (0, Vec::new());
        while at + part.len() <= symbols.len() {
            if symbols[at..at + part.len()] == *part {
                starts.push(at as u32);
                at += part.len();
            } else {
                at += 1;
            }
        }
        starts
    }

    proptest! {
        #[test]
        fn every_sequence_occurs_where_it_is_said_and_nowhere_else(
            symbols in prop::collection::vec(prop::option::weighted(0.9, 0..4_u32), 0..60),
            costs in prop::collection::vec(0..9_i64, 60),
        ) {
            let costs = &costs[..symbols.len()];
            let found = repeated_sequences(&symbols, costs, 20);
            for sequence in &found {
                let range = |start: u32| start as usize..start as usize + sequence.length;
                let part = &symbols[range(sequence.starts[0])];
                prop_assert!(sequence.length > 1 && part.iter().all(Option::is_some));
                prop_assert_eq!(&sequence.starts, &occurrences(&symbols, part));
                let saved = |&start: &u32| costs[range(start)][1..].iter().sum::<i64>();
                prop_assert_eq!(sequence.saved, sequence.starts.iter().map(saved).sum::<i64>());
            }
            prop_assert!(found.is_sorted_by_key(|sequence| Reverse(sequence.saved)));
            let repeats = symbols.windows(2).any(|pair| {
                pair.iter().all(Option::is_some) && occurrences(&symbols, pair).len() > 1
            });
            prop_assert_eq!(!repeated_sequences(&symbols, &vec![1; symbols.len()], 20).is_empty(), repeats);
        }

        #[test]
        fn what_was_planted_saves_most(
            block in prop::collection::vec(0..5_u32, 2..12),
            copies in 2..8_usize,
        ) {
            let mut symbols: Vec<Option<u32>> = Vec::new();
            for _ in 0..copies {
                symbols.extend(block.iter().copied().map(Some));
                symbols.push(None);
            }
            let found = repeated_sequences(&symbols, &vec![1; symbols.len()], 1);
            let starts: Vec<u32> = (0..copies).map(|copy| (copy * (block.len() + 1)) as u32).collect();
            prop_assert_eq!((found[0].length, &found[0].starts), (block.len(), &starts));
        }
    }
}
