//! A set of events.

use trace_ingest::EventId;

/// Set of events, one bit per event of the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventSet {
    words: Vec<u64>,
}

impl EventSet {
    /// An empty set with room for the events of a trace of `events` events. It grows when needed.
    pub fn with_capacity(events: usize) -> Self {
        EventSet { words: vec![0; events.div_ceil(64)] }
    }

    /// Whether the event is in the set.
    #[inline]
    pub fn contains(&self, event: EventId) -> bool {
        let row = event.index();
        self.words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Adds an event; whether it was not in the set before.
    pub fn insert(&mut self, event: EventId) -> bool {
        let row = event.index();
        if self.words.len() <= row / 64 {
            self.words.resize(row / 64 + 1, 0);
        }
        let (word, bit) = (&mut self.words[row / 64], 1u64 << (row % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Takes an event out; whether it was in the set.
    pub fn remove(&mut self, event: EventId) -> bool {
        let row = event.index();
        let Some(word) = self.words.get_mut(row / 64) else { return false };
        let bit = 1u64 << (row % 64);
        let present = *word & bit != 0;
        *word &= !bit;
        present
    }

    /// Takes all events out.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Number of events in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no event is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The events in file order.
    pub fn iter(&self) -> impl Iterator<Item = EventId> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                (left != 0).then(|| {
                    let bit = left.trailing_zeros();
                    left &= left - 1;
                    EventId(index as u32 * 64 + bit)
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_agrees_with_a_tree_set(changes in prop::collection::vec((0u32..300, any::<bool>()), 0..200)) {
            let (mut set, mut model) = (EventSet::with_capacity(64), BTreeSet::new());
            for (row, add) in changes {
                let event = EventId(row);
                match add {
                    true => prop_assert_eq!(set.insert(event), model.insert(event)),
                    false => prop_assert_eq!(set.remove(event), model.remove(&event)),
                }
                prop_assert_eq!(set.contains(event), add);
            }
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), model.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!((set.len(), set.is_empty()), (model.len(), model.is_empty()));
        }
    }
}
