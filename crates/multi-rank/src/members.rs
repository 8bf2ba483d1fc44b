//! The ranks of a group.

use std::fmt;

/// Ranks in order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Members(Vec<u32>);

impl Members {
    /// These ranks, in any order.
    pub fn new(ranks: impl IntoIterator<Item = u32>) -> Self {
        let mut ranks: Vec<u32> = ranks.into_iter().collect();
        ranks.sort_unstable();
        ranks.dedup();
        Members(ranks)
    }

    /// The ranks from `start` on, each `stride` above the one before; `None` where they are no ranks.
    #[must_use]
    pub fn regular(start: i64, stride: i64, size: i64) -> Option<Self> {
        if size < 1 || size > i64::from(u16::MAX) * 16 || (stride < 1 && size > 1) {
            return None;
        }
        let rank = |index: i64| u32::try_from(start.checked_add(stride.checked_mul(index)?)?).ok();
        (0..size).map(rank).collect::<Option<Vec<u32>>>().map(Members)
    }

    /// The ranks of a recorded list, `[0, 1, 2]` or `(0, 1, 2)`, and whether it is whole: PyTorch writes 30 ranks and
    /// then `...`. `None` where the text is no list of ranks.
    #[must_use]
    pub fn from_list(text: &str) -> Option<(Self, bool)> {
        let text = text.trim();
        let list = |open, close| text.strip_prefix(open)?.strip_suffix(close);
        let items = list('[', ']').or_else(|| list('(', ')'))?;
        let (mut ranks, mut whole) = (Vec::new(), true);
        for item in items.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            match item {
                "..." => whole = false,
                item => ranks.push(item.parse().ok()?),
            }
        }
        (!ranks.is_empty()).then(|| (Members::new(ranks), whole))
    }

    /// The ranks of a text that [`Members`] printed.
    #[must_use]
    pub fn from_ranges(text: &str) -> Option<Self> {
        let mut ranks = Vec::new();
        for range in text.split(',').filter(|range| !range.is_empty()) {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            if last < first || last - first > 1 << 20 {
                return None;
            }
            ranks.extend(first..=last);
        }
        Some(Members::new(ranks))
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this rank is one of them.
    #[must_use]
    pub fn contains(&self, rank: u32) -> bool {
        self.0.binary_search(&rank).is_ok()
    }

    /// The rank at a place among them, from 0.
    #[must_use]
    pub fn at(&self, place: u32) -> Option<u32> {
        self.0.get(usize::try_from(place).ok()?).copied()
    }

    /// The ranks, ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + Clone + '_ {
        self.0.iter().copied()
    }
}

impl fmt::Display for Members {
    /// Runs of ranks: `0-7,16`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, run) in self.0.chunk_by(|a, b| a + 1 == *b).enumerate() {
            let separator = if index > 0 { "," } else { "" };
            match run {
                [first, .., last] => write!(formatter, "{separator}{first}-{last}")?,
                [only] => write!(formatter, "{separator}{only}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Members;

    #[test]
    fn lists_as_recorders_write_them() {
        let members = |ranks: &[u32]| Members::new(ranks.iter().copied());
        assert_eq!(Members::from_list("[0, 2, 1]"), Some((members(&[0, 1, 2]), true)));
        assert_eq!(Members::from_list("(4,)"), Some((members(&[4]), true)));
        assert_eq!(Members::from_list("[0, 1, ...]"), Some((members(&[0, 1]), false)));
        for text in ["", "[]", "0, 1", "[a]", "[-1]"] {
            assert_eq!(Members::from_list(text), None, "{text:?}");
        }
        assert_eq!(Members::regular(3, 8, 3), Some(members(&[3, 11, 19])));
        for (start, stride, size) in
            [(0, 0, 2), (-1, 1, 2), (i64::MAX, i64::MAX, 3), (0, 1, 0), (0, 1, i64::MAX)]
        {
            assert_eq!(Members::regular(start, stride, size), None, "{start} {stride} {size}");
        }
    }

    proptest! {
        #[test]
        fn ranges_say_the_same_ranks(ranks in proptest::collection::vec(0_u32..60, 0..40)) {
            let members = Members::new(ranks);
            prop_assert_eq!(Members::from_ranges(&members.to_string()), Some(members));
        }
    }
}
