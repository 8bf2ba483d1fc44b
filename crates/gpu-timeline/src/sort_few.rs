//! The sort of short lists.

use std::cmp::Ordering;

/// Sorts lists whose length does not grow with the recording's: rows of sheets, groups, names, findings. Every method is
/// stable. The standard library's sort is compiled again for every type and every order, and takes kilobytes each time; these
/// methods share one, which calls the comparison through a pointer. Events are sorted by the standard one, which is faster.
pub trait SortFew<T> {
    /// As [`slice::sort`].
    fn sort_few(&mut self)
    where
        T: Ord;

    /// As [`slice::sort_by`].
    fn sort_few_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// As [`slice::sort_by_key`].
    fn sort_few_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);

    /// As [`slice::sort_by_cached_key`].
    fn sort_few_by_cached_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> SortFew<T> for [T] {
    fn sort_few(&mut self)
    where
        T: Ord,
    {
        self.sort_few_by(T::cmp);
    }

    fn sort_few_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let order = order(self.len(), &mut |one, other| compare(&self[one], &self[other]));
        arrange(order, &mut |one, other| self.swap(one, other));
    }

    fn sort_few_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.sort_few_by(|one, other| key(one).cmp(&key(other)));
    }

    fn sort_few_by_cached_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K) {
        let keys: Vec<K> = self.iter().map(key).collect();
        let order = order(self.len(), &mut |one, other| keys[one].cmp(&keys[other]));
        arrange(order, &mut |one, other| self.swap(one, other));
    }
}

/// Of every place in the sorted list the place that its item has now; empty where the list is sorted.
fn order(length: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    if (1..length).all(|at| compare(at - 1, at).is_le()) {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..length).collect();
    order.sort_by(|&one, &other| compare(one, other));
    order
}

/// Swaps items until every place has the item that stood at its place in `order`.
fn arrange(mut order: Vec<usize>, swap: &mut dyn FnMut(usize, usize)) {
    for first in 0..order.len() {
        let mut at = first;
        loop {
            let from = std::mem::replace(&mut order[at], at);
            if from == first {
                break;
            }
            swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorts_as_the_standard_library_does(list: Vec<(u8, u32)>) {
            let (mut whole, mut by_key, mut cached) = (list.clone(), list.clone(), list.clone());
            whole.sort_few();
            by_key.sort_few_by_key(|&(key, _)| std::cmp::Reverse(key / 16));
            cached.sort_few_by_cached_key(|&(key, _)| std::cmp::Reverse(key / 16));
            let (mut expected_whole, mut expected) = (list.clone(), list);
            expected_whole.sort();
            expected.sort_by_key(|&(key, _)| std::cmp::Reverse(key / 16));
            prop_assert_eq!(whole, expected_whole);
            prop_assert_eq!(&by_key, &expected);
            prop_assert_eq!(&cached, &expected);
        }
    }
}
