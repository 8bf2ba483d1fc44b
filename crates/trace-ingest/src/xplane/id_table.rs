//! From a profile's ids to dense positions.

use hashbrown::HashMap;

/// Positions of entries by id. Profilers count ids from one, so that most are found by indexing.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdTable {
    /// Position plus one of small ids; 0 is none.
    dense: Vec<u32>,
    sparse: HashMap<i64, u32>,
}

impl IdTable {
    /// A table of entries with these ids, in order; of equal ids the last counts.
    pub(crate) fn new(ids: impl ExactSizeIterator<Item = i64>) -> Self {
        // The dense part stays proportional to the entries, whatever the ids are.
        let limit = 4 * ids.len() + 64;
        let mut table = IdTable::default();
        for (position, id) in ids.enumerate() {
            table.insert(id, position, limit);
        }
        table
    }

    fn insert(&mut self, id: i64, position: usize, limit: usize) {
        match usize::try_from(id) {
            Ok(id) if id < limit => {
                if self.dense.len() <= id {
                    self.dense.resize(id + 1, 0);
                }
                self.dense[id] = position as u32 + 1;
            }
            _ => {
                self.sparse.insert(id, position as u32);
            }
        }
    }

    /// Adds an entry that came up later.
    pub(crate) fn add(&mut self, id: i64, position: usize) {
        let limit = self.dense.len();
        self.insert(id, position, limit);
    }

    /// Position of the entry with this id.
    #[inline]
    pub(crate) fn find(&self, id: i64) -> Option<usize> {
        if let Ok(id) = usize::try_from(id)
            && let Some(&entry) = self.dense.get(id)
        {
            return (entry as usize).checked_sub(1);
        }
        self.sparse.get(&id).map(|&position| position as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_large_and_negative_ids_are_found() {
        let ids = [1, 2, 7, 1 << 40, -5, 2];
        let mut table = IdTable::new(ids.into_iter());
        let found: Vec<_> = [1, 2, 7, 1 << 40, -5, 3, i64::MIN].map(|id| table.find(id)).into();
        assert_eq!(found, [Some(0), Some(5), Some(2), Some(3), Some(4), None, None]);
        table.add(3, 9);
        table.add(i64::MIN, 10);
        assert_eq!((table.find(3), table.find(i64::MIN)), (Some(9), Some(10)));
    }

    #[test]
    fn ids_that_are_huge_cost_no_more_than_small_ones() {
        let table = IdTable::new([i64::MAX, 1 << 31].into_iter());
        assert!(table.dense.is_empty());
        assert_eq!(table.find(1 << 31), Some(1));
    }
}
