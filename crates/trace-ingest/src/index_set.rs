//! Distinct values by position, in the order in which they were added first.

use std::hash::{BuildHasher, Hash};
use std::ops::Index;
use std::vec;

use hashbrown::{DefaultHashBuilder, HashTable};

/// A set whose values have dense positions, of which there are no more than 2³².
#[derive(Clone, Debug)]
pub(crate) struct IndexSet<T> {
    values: Vec<T>,
    positions: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl<T> Default for IndexSet<T> {
    fn default() -> Self {
        IndexSet { values: Vec::new(), positions: HashTable::new(), hasher: DefaultHashBuilder::default() }
    }
}

impl<T: Eq + Hash> IndexSet<T> {
    /// The position of a value, and whether it was added just now.
    pub(crate) fn insert(&mut self, value: T) -> (usize, bool) {
        let (values, hasher) = (&self.values, &self.hasher);
        let hash = hasher.hash_one(&value);
        if let Some(&position) = self.positions.find(hash, |&position| values[position as usize] == value) {
            return (position as usize, false);
        }
        let position = values.len();
        self.positions
            .insert_unique(hash, position as u32, |&other| hasher.hash_one(&values[other as usize]));
        self.values.push(value);
        (position, true)
    }

    /// The position of a value, if it is there.
    pub(crate) fn position(&self, value: &T) -> Option<usize> {
        let hash = self.hasher.hash_one(value);
        let found = self.positions.find(hash, |&position| self.values[position as usize] == *value);
        found.map(|&position| position as usize)
    }
}

impl<T> IndexSet<T> {
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(crate) fn get(&self, position: usize) -> Option<&T> {
        self.values.get(position)
    }

    #[cfg(feature = "rocprof")]
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.values.iter()
    }
}

impl<T> Index<usize> for IndexSet<T> {
    type Output = T;

    fn index(&self, position: usize) -> &T {
        &self.values[position]
    }
}

impl<T> IntoIterator for IndexSet<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_keeps_the_position_of_its_first_insertion() {
        let mut set = IndexSet::default();
        for number in 0..1000u64 {
            assert_eq!(set.insert(number * 7), (number as usize, true));
        }
        assert_eq!(set.insert(21), (3, false));
        assert_eq!((set.position(&6993), set.position(&1)), (Some(999), None));
        assert_eq!((set[3], set.get(1000), set.len()), (21, None, 1000));
        assert!(set.into_iter().eq((0..1000).map(|number| number * 7)));
    }
}
