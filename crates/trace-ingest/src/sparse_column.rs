//! A column that only some events have a value in.

/// Values of some rows of a table, in row order.
///
/// Presence is one bit per row plus a running count per 64 rows, so that a lookup is two loads and a
/// population count, and a column that nobody fills costs nothing.
#[derive(Clone, Debug)]
pub struct SparseColumn<T> {
    present: Vec<u64>,
    /// Number of values before each word of `present`.
    before: Vec<u32>,
    values: Vec<T>,
}

impl<T> Default for SparseColumn<T> {
    fn default() -> Self {
        SparseColumn { present: Vec::new(), before: Vec::new(), values: Vec::new() }
    }
}

impl<T: Copy> SparseColumn<T> {
    /// Adds the value of `row`. Rows are added in ascending order; a second value for the last row
    /// replaces the first.
    ///
    /// # Panics
    /// When `row` is smaller than a row already added: that is a fault of the caller, not of any input.
    pub fn push(&mut self, row: usize, value: T) {
        let word = row / 64;
        assert!(self.present.len() <= word + 1, "sparse column filled out of row order");
        if self.present.len() <= word {
            self.present.resize(word + 1, 0);
            self.before.resize(word + 1, self.values.len() as u32);
        }
        let bits = &mut self.present[word];
        // Of this row and those behind it.
        match *bits >> (row % 64) {
            0 => {
                *bits |= 1 << (row % 64);
                self.values.push(value);
            }
            later => {
                assert!(later == 1, "sparse column filled out of row order");
                self.values.pop();
                self.values.push(value);
            }
        }
    }

    /// Value of `row`, if it has one.
    #[inline]
    pub fn get(&self, row: usize) -> Option<T> {
        let bits = *self.present.get(row / 64)?;
        let bit = 1u64 << (row % 64);
        if bits & bit == 0 {
            return None;
        }
        let rank = self.before[row / 64] as usize + (bits & (bit - 1)).count_ones() as usize;
        Some(self.values[rank])
    }

    /// Keeps only the values that are chosen.
    #[cfg(feature = "nsys")]
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(usize, T) -> bool) {
        let (mut seen, mut kept) = (0, 0);
        for (word, bits) in self.present.iter_mut().enumerate() {
            self.before[word] = kept as u32;
            let mut left = *bits;
            while left != 0 {
                let bit = left & left.wrapping_neg();
                let value = self.values[seen];
                if keep(word * 64 + bit.trailing_zeros() as usize, value) {
                    self.values[kept] = value;
                    kept += 1;
                } else {
                    *bits &= !bit;
                }
                left &= !bit;
                seen += 1;
            }
        }
        self.values.truncate(kept);
    }

    /// The values of these rows, which ascend, as a column of only them.
    pub(crate) fn select_rows(&self, rows: &[u32]) -> Self {
        let mut chosen = SparseColumn::default();
        for (at, &row) in rows.iter().enumerate() {
            if let Some(value) = self.get(row as usize) {
                chosen.push(at, value);
            }
        }
        chosen
    }

    /// `(row, value)` of every row that has a value, in row order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, T)> + '_ {
        let rows = self.present.iter().enumerate().flat_map(|(word, &bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                (left != 0).then(|| {
                    let row = word * 64 + left.trailing_zeros() as usize;
                    left &= left - 1;
                    row
                })
            })
        });
        rows.zip(self.values.iter().copied())
    }

    /// Number of rows with a value.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether no row has a value.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_last_value_of_a_row_wins() {
        let mut column = SparseColumn::default();
        column.push(3, 'a');
        column.push(3, 'b');
        assert_eq!((column.get(3), column.len()), (Some('b'), 1));
    }

    #[test]
    #[should_panic(expected = "out of row order")]
    fn earlier_rows_cannot_be_filled_later() {
        let mut column = SparseColumn::default();
        column.push(70, 1);
        column.push(69, 2);
    }

    proptest! {
        #[test]
        fn chosen_rows_keep_their_values(
            map in prop::collection::btree_map(0u32..500, any::<i64>(), 0..200),
            rows in prop::collection::btree_set(0u32..500, 0..200),
        ) {
            let mut column = SparseColumn::default();
            for (&row, &value) in &map {
                column.push(row as usize, value);
            }
            let rows: Vec<u32> = rows.into_iter().collect();
            let chosen = column.select_rows(&rows);
            for (at, row) in rows.iter().enumerate() {
                prop_assert_eq!(chosen.get(at), map.get(row).copied());
            }
            prop_assert_eq!(chosen.len(), rows.iter().filter(|&row| map.contains_key(row)).count());
        }

        #[cfg(feature = "nsys")]
        #[test]
        fn what_is_retained_stays_in_its_row(
            map in prop::collection::btree_map(0usize..500, any::<i64>(), 0..200),
            later in 500usize..600,
        ) {
            let mut column = SparseColumn::default();
            for (&row, &value) in &map {
                column.push(row, value);
            }
            let chosen = |row: usize, value: i64| (row as i64 ^ value) % 3 == 0;
            column.retain(chosen);
            // Values may follow.
            column.push(later, 7);
            let mut kept: BTreeMap<usize, i64> =
                map.into_iter().filter(|&(row, value)| chosen(row, value)).collect();
            kept.insert(later, 7);
            for row in 0..600 {
                prop_assert_eq!(column.get(row), kept.get(&row).copied());
            }
            prop_assert_eq!(column.len(), kept.len());
        }

        #[test]
        fn lookup_and_iteration_agree_with_a_map(map in prop::collection::btree_map(0usize..1000, any::<i64>(), 0..200)) {
            let mut column = SparseColumn::default();
            for (&row, &value) in &map {
                column.push(row, value);
            }
            for row in 0..1100 {
                prop_assert_eq!(column.get(row), map.get(&row).copied());
            }
            prop_assert_eq!(column.iter().collect::<BTreeMap<_, _>>(), map);
        }
    }
}
