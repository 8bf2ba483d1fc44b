//! Lists by an index, in one column.

#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    ends: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Groups the items of pairs by the first of each pair, which is below `lists`, in the order of the pairs.
    pub(crate) fn group(lists: usize, pairs: &[(u32, u32)]) -> Self {
        let mut ends = vec![0u32; lists + 1];
        for &(list, _) in pairs {
            ends[list as usize + 1] += 1;
        }
        for list in 0..lists {
            ends[list + 1] += ends[list];
        }
        let mut next = ends.clone();
        let mut items = vec![0; pairs.len()];
        for &(list, item) in pairs {
            items[next[list as usize] as usize] = item;
            next[list as usize] += 1;
        }
        Lists { ends, items }
    }

    pub(crate) fn get(&self, list: usize) -> &[u32] {
        &self.items[self.ends[list] as usize..self.ends[list + 1] as usize]
    }
}
