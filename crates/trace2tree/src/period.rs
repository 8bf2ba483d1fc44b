//! The block that a sequence repeats.

/// A block of a sequence that repeats at least [`LEAST_REPEATS`] times without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    /// Where the first block begins.
    pub(crate) start: usize,
    /// Length of a block.
    pub(crate) length: usize,
}

/// Fewer repeats are a coincidence.
const LEAST_REPEATS: usize = 3;

/// The block with the smallest start, of those the shortest, whose repeats without a gap cover more than half
/// of the sequence from its start.
///
/// Takes O(n log n) for n items. The repeats from a start in the first half of the sequence cover its middle,
/// for they reach beyond it; how far a repetition through one fixed item extends, follows for all block
/// lengths together from two prefix tables, as in the search for repetitions of Main and Lorentz ("An O(n log n)
/// algorithm for finding all repetitions in a string", 1984). When no block starts there, the other half is
/// searched in the same way.
pub(crate) fn repeating_period<T: Eq>(sequence: &[T]) -> Option<Period> {
    let mut skipped = 0;
    loop {
        let rest = &sequence[skipped..];
        if rest.len() < LEAST_REPEATS {
            return None;
        }
        if let Some((start, length)) = starting_in_first_half(rest) {
            return Some(Period { start: skipped + start, length });
        }
        skipped += rest.len() / 2 + 1;
    }
}

/// Start and length of the block, when it starts no later than in the middle.
fn starting_in_first_half<T: Eq>(sequence: &[T]) -> Option<(usize, usize)> {
    let count = sequence.len();
    let middle = count / 2;
    let prefixes = common_prefixes(sequence[middle..].iter(), sequence.iter());
    let suffixes = common_prefixes(sequence[..middle].iter().rev(), sequence.iter().rev());
    // How many items from `at` on are those from the middle on, and how many before `at` those before it.
    let equal_after = |at: usize| prefixes[at];
    let equal_before = |at: usize| suffixes.get(count - at).copied().unwrap_or(0);
    let mut best = None;
    for length in 1..=count / LEAST_REPEATS {
        let (later, earlier) = (middle + length, middle - length);
        // Wherever both ends are, items a length apart are equal between them.
        let stretches = [
            (middle - equal_before(later), later + equal_after(later)),
            (earlier - equal_before(earlier), middle + equal_after(earlier)),
        ];
        for (low, high) in stretches {
            for repeats in LEAST_REPEATS..=(high - low) / length {
                let covered = repeats * length;
                // More than half of what follows the start is covered.
                let first = low.max((count + 1).saturating_sub(2 * covered));
                if first <= middle.min(high - covered) && best.is_none_or(|best| (first, length) < best) {
                    best = Some((first, length));
                }
            }
        }
    }
    best
}

/// Per position of `text` the length of the longest prefix of `pattern` that stands there.
pub(crate) fn common_prefixes<'t, T: Eq + 't>(
    pattern: impl Iterator<Item = &'t T>,
    text: impl Iterator<Item = &'t T>,
) -> Vec<usize> {
    // The separator equals no item, so no prefix is longer than the pattern.
    let mut joined: Vec<Option<&T>> = pattern.map(Some).collect();
    let text_at = joined.len() + 1;
    joined.push(None);
    joined.extend(text.map(Some));
    let mut lengths = vec![0; joined.len()];
    // The prefix found so far that reaches farthest.
    let (mut from, mut to) = (0, 0);
    for at in 1..joined.len() {
        let mut length = if at < to { lengths[at - from].min(to - at) } else { 0 };
        while joined.get(at + length).is_some_and(|item| *item == joined[length]) {
            length += 1;
        }
        if at + length > to {
            (from, to) = (at, at + length);
        }
        lengths[at] = length;
    }
    lengths.split_off(text_at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn period(text: &str) -> Option<(usize, usize)> {
        repeating_period(text.as_bytes()).map(|period| (period.length, period.start))
    }

    #[test]
    fn the_smallest_start_then_the_shortest_block_is_taken() {
        for (text, expected) in [
            ("abababab", Some((2, 0))),
            ("abcabcabc", Some((3, 0))),
            ("xxabcabcabc", Some((3, 2))),
            ("sfbfbfb", Some((2, 1))),
            ("aaa", Some((1, 0))),
            ("aaab", Some((1, 0))),
            ("abcabcabcxxxx", Some((3, 0))),
            ("abcabcabcxxxxxxxxxx", Some((1, 9))),
            ("aaabbb", Some((1, 3))),
            ("xyaaaz", Some((1, 2))),
            ("abacabacabac", Some((4, 0))),
        ] {
            assert_eq!(period(text), expected, "{text}");
        }
    }

    #[test]
    fn fewer_than_three_repeats_or_half_of_the_rest_are_none() {
        for text in ["", "a", "aa", "aab", "ababx", "abcabc", "abcd", "aaaxyz"] {
            assert_eq!(period(text), None, "{text}");
        }
    }

    #[test]
    fn a_long_sequence_without_repeats_is_searched_in_time() {
        let distinct: Vec<u32> = (0..400_000).collect();
        assert_eq!(repeating_period(&distinct), None);
        let mut two_runs = vec![0u8; 200_000];
        two_runs.extend([1; 200_001]);
        assert_eq!(repeating_period(&two_runs), Some(Period { start: 200_000, length: 1 }));
    }

    /// The rule, word by word.
    fn by_trying(sequence: &[u8]) -> Option<Period> {
        for start in 0..sequence.len() {
            let rest = &sequence[start..];
            for length in 1..=rest.len() / 2 {
                let repeats = rest.chunks(length).take_while(|&block| block == &rest[..length]).count();
                if repeats >= LEAST_REPEATS && 2 * repeats * length > rest.len() {
                    return Some(Period { start, length });
                }
            }
        }
        None
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn trying_every_start_and_length_finds_the_same(
            before in prop::collection::vec(0u8..3, 0..8),
            block in prop::collection::vec(0u8..3, 1..6),
            repeats in 0usize..7,
            after in prop::collection::vec(0u8..3, 0..16),
        ) {
            let sequence = [before, block.repeat(repeats), after].concat();
            prop_assert_eq!(repeating_period(&sequence), by_trying(&sequence));
        }
    }
}
