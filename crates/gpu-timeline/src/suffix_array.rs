//! The suffixes of a sequence in order, and what neighbours have in common.

/// Positions of the suffixes of `text` in ascending order. Symbols are below `symbols`. O(n + symbols).
///
/// By induced sorting (Nong, Zhang and Chan, "Linear Suffix Array Construction by Almost Pure Induced-Sorting", 2009):
/// sorts the suffixes that begin where symbols stop falling, and derives the order of all others from theirs.
pub(crate) fn suffix_array(text: &[u32], symbols: usize) -> Vec<u32> {
    if text.len() < 2 {
        return (0..text.len() as u32).collect();
    }
    let sorter = Sorter::new(text, symbols);
    let starts = sorter.starts();
    let mut order = sorter.induce(&starts);
    if starts.is_empty() {
        return order;
    }
    // By the order so far, number the stretches from each start to the next: equal stretches have equal numbers.
    let mut number_of = vec![0; starts.len()];
    let mut rank_of = vec![u32::MAX; text.len()];
    starts.iter().zip(0..).for_each(|(&start, rank)| rank_of[start as usize] = rank);
    let stretch = |rank: usize| {
        let end = starts.get(rank + 1).map_or(text.len(), |&next| next as usize + 1);
        &text[starts[rank] as usize..end]
    };
    let (mut numbers, mut before) = (0, None);
    for &position in &order {
        let rank = rank_of[position as usize];
        if rank == u32::MAX {
            continue;
        }
        let last = starts.len() - 1;
        let is_new = before.is_none_or(|before: usize| {
            before == last || rank as usize == last || stretch(before) != stretch(rank as usize)
        });
        numbers += u32::from(is_new);
        number_of[rank as usize] = numbers - 1;
        before = Some(rank as usize);
    }
    let sorted = suffix_array(&number_of, numbers as usize);
    let sorted: Vec<u32> = sorted.into_iter().map(|rank| starts[rank as usize]).collect();
    order = sorter.induce(&sorted);
    order
}

struct Sorter<'t> {
    text: &'t [u32],
    /// Whether the suffix at a position comes before the next one.
    rises: Vec<bool>,
    /// By symbol: where its suffixes begin in the order; one more at the end.
    buckets: Vec<u32>,
}

impl<'t> Sorter<'t> {
    fn new(text: &'t [u32], symbols: usize) -> Self {
        let mut rises = vec![false; text.len()];
        for at in (0..text.len() - 1).rev() {
            rises[at] = text[at] < text[at + 1] || (text[at] == text[at + 1] && rises[at + 1]);
        }
        let mut buckets = vec![0; symbols + 1];
        text.iter().for_each(|&symbol| buckets[symbol as usize + 1] += 1);
        for symbol in 0..symbols {
            buckets[symbol + 1] += buckets[symbol];
        }
        Sorter { text, rises, buckets }
    }

    /// Positions of suffixes that rise behind one that falls, ascending.
    fn starts(&self) -> Vec<u32> {
        (1..self.text.len() as u32)
            .filter(|&at| self.rises[at as usize] && !self.rises[at as usize - 1])
            .collect()
    }

    /// The order of all suffixes that these starts, in this order, bring about.
    fn induce(&self, starts: &[u32]) -> Vec<u32> {
        const NONE: u32 = u32::MAX;
        let Sorter { text, rises, buckets } = self;
        let mut order = vec![NONE; text.len()];
        let mut ends = buckets[1..].to_vec();
        for &start in starts.iter().rev() {
            let end = &mut ends[text[start as usize] as usize];
            *end -= 1;
            order[*end as usize] = start;
        }
        let mut heads = buckets.clone();
        let mut put = |order: &mut [u32], position: u32| {
            let head = &mut heads[text[position as usize] as usize];
            order[*head as usize] = position;
            *head += 1;
        };
        put(&mut order, text.len() as u32 - 1);
        for at in 0..order.len() {
            let position = order[at];
            if position != NONE && position > 0 && !rises[position as usize - 1] {
                put(&mut order, position - 1);
            }
        }
        let mut ends = buckets[1..].to_vec();
        for at in (0..order.len()).rev() {
            let position = order[at];
            if position != NONE && position > 0 && rises[position as usize - 1] {
                let end = &mut ends[text[position as usize - 1] as usize];
                *end -= 1;
                order[*end as usize] = position - 1;
            }
        }
        order
    }
}

/// By place in the order of the suffixes: how many symbols that suffix has in common with the one before it; 0 for the
/// first. O(n), by Kasai's rule: without its first symbol, a suffix has at most one less in common with its neighbour.
pub(crate) fn common_prefixes(text: &[u32], order: &[u32]) -> Vec<u32> {
    let mut place = vec![0; text.len()];
    order.iter().zip(0..).for_each(|(&position, at)| place[position as usize] = at);
    let mut common = vec![0; text.len()];
    let mut length = 0_usize;
    for position in 0..text.len() {
        let Some(before) = (place[position] as usize).checked_sub(1) else {
            length = 0;
            continue;
        };
        let neighbour = order[before] as usize;
        let alike = text[position + length..].iter().zip(&text[neighbour + length..]);
        length += alike.take_while(|(a, b)| a == b).count();
        common[before + 1] = length as u32;
        length = length.saturating_sub(1);
    }
    common
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn suffixes_are_in_order(text in prop::collection::vec(0..4_u32, 0..80)) {
            let order = suffix_array(&text, 4);
            let mut expected: Vec<u32> = (0..text.len() as u32).collect();
            expected.sort_by_key(|&at| &text[at as usize..]);
            prop_assert_eq!(&order, &expected);
            let common = common_prefixes(&text, &order);
            for (at, pair) in order.windows(2).enumerate() {
                let [a, b] = [pair[0], pair[1]].map(|position| &text[position as usize..]);
                let alike = a.iter().zip(b).take_while(|(a, b)| a == b).count();
                prop_assert_eq!(common[at + 1] as usize, alike);
            }
        }
    }
}
