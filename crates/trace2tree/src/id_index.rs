//! From a number that the profiler assigned (correlation, External id, flow id) to one event.

use crate::row::NONE;

/// Map from id to the best event that carries it. Profilers hand out ids in sequence, so mostly it is a
/// table indexed by id; ids that are spread wide are sorted and searched instead.
#[derive(Debug)]
pub(crate) enum IdIndex {
    Dense { first: i64, rows: Vec<u32> },
    Sorted(Vec<(i64, u32)>),
}

/// One event that carries an id; of several with the same id, the one with the smallest `(rank, row)` is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Candidate<R> {
    pub(crate) id: i64,
    pub(crate) rank: R,
    pub(crate) row: u32,
}

impl IdIndex {
    /// Indexes candidates. The second value holds every id that occurs more than once, ascending.
    pub(crate) fn new<R: Copy + Ord>(mut candidates: Vec<Candidate<R>>) -> (IdIndex, Vec<i64>) {
        // Calls are recorded in order of their ids, so this finds one sorted run and ends.
        candidates.sort();
        let mut shared = Vec::new();
        candidates.dedup_by(|later, kept| {
            let same = later.id == kept.id;
            if same && shared.last() != Some(&kept.id) {
                shared.push(kept.id);
            }
            same
        });
        let index = match (candidates.first(), candidates.last()) {
            (Some(first), Some(last)) if last.id.abs_diff(first.id) <= 8 * candidates.len() as u64 + 1024 => {
                let first = first.id;
                let mut rows = vec![NONE; last.id.abs_diff(first) as usize + 1];
                for candidate in &candidates {
                    rows[candidate.id.abs_diff(first) as usize] = candidate.row;
                }
                IdIndex::Dense { first, rows }
            }
            _ => IdIndex::Sorted(candidates.iter().map(|candidate| (candidate.id, candidate.row)).collect()),
        };
        (index, shared)
    }

    /// Row of the event with this id.
    #[inline]
    pub(crate) fn get(&self, id: i64) -> Option<u32> {
        match self {
            IdIndex::Dense { first, rows } => {
                let offset = usize::try_from(id.checked_sub(*first)?).ok()?;
                rows.get(offset).copied().filter(|&row| row != NONE)
            }
            IdIndex::Sorted(pairs) => {
                pairs.binary_search_by_key(&id, |&(other, _)| other).ok().map(|found| pairs[found].1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn matches_a_map(ids: &[(i64, u8)]) -> Result<(), TestCaseError> {
        let candidates: Vec<_> = ids
            .iter()
            .enumerate()
            .map(|(row, &(id, rank))| Candidate { id, rank, row: row as u32 })
            .collect();
        let mut best: BTreeMap<i64, Candidate<u8>> = BTreeMap::new();
        let mut count: BTreeMap<i64, usize> = BTreeMap::new();
        for candidate in &candidates {
            let kept = best.entry(candidate.id).or_insert(*candidate);
            *kept = (*kept).min(*candidate);
            *count.entry(candidate.id).or_default() += 1;
        }
        let (index, shared) = IdIndex::new(candidates);
        for &(id, _) in ids {
            for id in [id.saturating_sub(1), id, id.saturating_add(1)] {
                prop_assert_eq!(index.get(id), best.get(&id).map(|candidate| candidate.row));
            }
        }
        let expected: Vec<i64> = count.into_iter().filter(|&(_, n)| n > 1).map(|(id, _)| id).collect();
        prop_assert_eq!(shared, expected);
        Ok(())
    }

    proptest! {
        #[test]
        fn compact_ids_are_found(ids in prop::collection::vec((0i64..500, 0u8..3), 0..200)) {
            matches_a_map(&ids)?;
        }

        #[test]
        fn scattered_ids_are_found(ids in prop::collection::vec((any::<i64>(), 0u8..3), 0..50)) {
            matches_a_map(&ids)?;
        }
    }

    #[test]
    fn extreme_ids_do_not_overflow() {
        let candidates = [i64::MIN, i64::MAX].map(|id| Candidate { id, rank: 0, row: 7 }).to_vec();
        let (index, _) = IdIndex::new(candidates);
        assert_eq!((index.get(i64::MIN), index.get(0), index.get(i64::MAX)), (Some(7), None, Some(7)));
        let (dense, _) = IdIndex::new(vec![Candidate { id: 5, rank: 0, row: 1 }]);
        assert_eq!((dense.get(i64::MIN), dense.get(4), dense.get(5)), (None, None, Some(1)));
    }
}
