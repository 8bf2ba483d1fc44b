//! What repeats in a sequence of calls.
//!
//! Most programs do something once per iteration that they do nowhere else: they look a batch up in a table of
//! embeddings, read a loss, choose a token. Such a run of calls is an *anchor*, and occurs as often as there are
//! iterations, whatever is logged, evaluated or saved between them. So the anchors of every number of occurrences cut
//! the sequence, and a cut counts when its blocks are alike. Each cut takes one pass over the sequence.

use gpu_timeline::{SortFew, upper_median};
use hashbrown::HashMap;

/// Runs of one, two and four calls may be anchors. A program all of whose calls come several times per iteration has a
/// place where two of them meet only once.
const LONGEST_ANCHOR: usize = 4;
/// How many numbers of occurrences are looked at per length: so many that most calls have, and as many of others
/// whose calls are spread most evenly.
const COUNTS: usize = 8;
/// How many anchors are tried per number of occurrences.
const ANCHORS: usize = 3;
/// Blocks that stand for all in the comparison.
const SAMPLE: usize = 48;
/// Least share of a block that it has in common with the typical one.
const ALIKE: f64 = 0.8;

/// A cut of a sequence into blocks that are alike.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Repeat {
    /// Where each anchor begins, ascending.
    pub(crate) anchors: Vec<usize>,
    /// How much blocks have in common with the typical one, as a median: 1 where they are equal.
    pub(crate) alike: f64,
    /// Share of the calls between the first anchor and the end of the last block that the typical block accounts for.
    pub(crate) core: f64,
    /// The typical block: calls of each symbol, sorted by symbol.
    pub(crate) typical: Vec<(u32, u32)>,
    /// Calls of the typical block.
    pub(crate) length: usize,
}

impl Repeat {
    /// How much a stretch has in common with the typical block, from 0 to 1.
    pub(crate) fn likeness(&self, stretch: &[u32], counter: &mut Counter) -> f64 {
        counter.want(&self.typical);
        let common = counter.common(stretch);
        common as f64 / (stretch.len() + self.length - common).max(1) as f64
    }

    /// The mean of this over all blocks, without what follows them.
    pub(crate) fn mean_likeness(&self, symbols: &[u32], counter: &mut Counter) -> f64 {
        let ends = self.anchors.iter().skip(1).copied().chain([symbols.len()]);
        let blocks = self.anchors.iter().zip(ends);
        let likeness = blocks.map(|(&start, end)| {
            let stretch = &symbols[start..end.min(start + self.length)];
            self.likeness(stretch, counter)
        });
        likeness.sum::<f64>() / self.anchors.len() as f64
    }
}

/// The cuts of a sequence whose blocks are alike, fewest blocks first, one per number of blocks.
pub(crate) fn repeats(symbols: &[u32], least: usize) -> Vec<Repeat> {
    let mut best: Vec<Repeat> = Vec::new();
    let mut counter = Counter::new(symbols);
    // Runs of one call, and then of twice as many: those at a place and behind it.
    let mut run_at = symbols.to_vec();
    let mut length = 1;
    while length <= LONGEST_ANCHOR && length <= symbols.len() {
        if length > 1 {
            run_at = numbered(run_at.iter().zip(&run_at[length / 2..]));
        }
        for anchors in anchors(&run_at, symbols.len(), least) {
            let known = best.iter_mut().find(|known| known.anchors.len() == anchors.len());
            if known.as_ref().is_some_and(|known| known.anchors == anchors) {
                continue;
            }
            let quality_known = known.as_deref().map_or(0.0, quality);
            let found = cut_better(symbols, anchors, &mut counter, quality_known);
            match (known, found) {
                (_, None) => {}
                (Some(known), Some(found)) => *known = found,
                (None, Some(found)) => best.push(found),
            }
        }
        length *= 2;
    }
    best.sort_few_by_key(|repeat| repeat.anchors.len());
    best
}

/// Compares stretches with a block. Symbols are small numbers, so counts per symbol stand in a vector.
pub(crate) struct Counter {
    /// Calls of each symbol in the block.
    block: Vec<(u32, u32)>,
    /// By symbol: calls of the block that a stretch did not have yet; those of the block between comparisons.
    left: Vec<u32>,
    /// By symbol: 0 between counts.
    seen: Vec<u32>,
}

impl Counter {
    pub(crate) fn new(symbols: &[u32]) -> Counter {
        let bound = symbols.iter().max().map_or(0, |&symbol| symbol as usize + 1);
        Counter { block: Vec::new(), left: vec![0; bound], seen: vec![0; bound] }
    }

    /// Compares with this block from now on.
    pub(crate) fn want(&mut self, block: &[(u32, u32)]) {
        if self.block != block {
            self.block.iter().for_each(|&(symbol, _)| self.left[symbol as usize] = 0);
            self.block = block.to_vec();
            self.restore();
        }
    }

    /// Compares with the calls of this stretch from now on.
    pub(crate) fn want_stretch(&mut self, stretch: &[u32]) {
        let mut counts = Vec::new();
        self.count(stretch, &mut counts);
        self.want(&counts);
    }

    fn restore(&mut self) {
        self.block.iter().for_each(|&(symbol, count)| self.left[symbol as usize] = count);
    }

    /// Adds how often each symbol of a stretch comes in it.
    fn count(&mut self, stretch: &[u32], counts: &mut Vec<(u32, u32)>) {
        let before = counts.len();
        for &symbol in stretch {
            let seen = &mut self.seen[symbol as usize];
            if *seen == 0 {
                counts.push((symbol, 0));
            }
            *seen += 1;
        }
        for (symbol, count) in &mut counts[before..] {
            *count = std::mem::take(&mut self.seen[*symbol as usize]);
        }
    }

    /// Hands out the places of calls of a stretch that the block has as well.
    pub(crate) fn each_common(&mut self, stretch: &[u32], mut take: impl FnMut(usize)) {
        for (at, &symbol) in stretch.iter().enumerate() {
            let left = &mut self.left[symbol as usize];
            if *left > 0 {
                *left -= 1;
                take(at);
            }
        }
        self.restore();
    }

    /// Calls of a stretch that the block has as well.
    pub(crate) fn common(&mut self, stretch: &[u32]) -> usize {
        let mut common = 0;
        self.each_common(stretch, |_| common += 1);
        common
    }

    /// Where a copy of the block ends that begins at `start`: after the last call that the block has, before much else
    /// comes.
    pub(crate) fn extent(&mut self, symbols: &[u32], start: usize) -> usize {
        let length: usize = self.block.iter().map(|&(_, count)| count as usize).sum();
        let patience = 8.max(length / 8);
        let (mut end, mut found) = (start, 0);
        for (at, &symbol) in symbols.iter().enumerate().skip(start) {
            let left = &mut self.left[symbol as usize];
            if *left > 0 {
                *left -= 1;
                found += 1;
                end = at + 1;
            } else if at - end >= patience {
                break;
            }
            if found == length {
                break;
            }
        }
        self.restore();
        end
    }
}

fn quality(repeat: &Repeat) -> f64 {
    repeat.alike + repeat.core
}

/// A run of calls, and where it occurs.
struct Run {
    count: u32,
    first: usize,
    last: usize,
    /// Sum of the squares of the distances between occurrences.
    squares: f64,
}

impl Run {
    fn add(&mut self, at: usize) {
        let distance = (at - self.last) as f64;
        self.squares += distance * distance;
        self.count += 1;
        self.last = at;
    }

    /// From 0 to 1: how evenly the occurrences are spread over a sequence of this length.
    fn evenness(&self, length: usize) -> f64 {
        let span = (self.last - self.first) as f64;
        let even = span * span / f64::from(self.count - 1).max(1.0);
        even / self.squares.max(1.0) * span / length as f64
    }
}

/// Numbers for distinct pairs, by their first place.
fn numbered<'s>(pairs: impl Iterator<Item = (&'s u32, &'s u32)>) -> Vec<u32> {
    let mut numbers: HashMap<(u32, u32), u32> = HashMap::new();
    let number = |(&first, &second)| {
        let next = numbers.len() as u32;
        *numbers.entry((first, second)).or_insert(next)
    };
    pairs.map(number).collect()
}

/// Places of runs of calls that occur equally often, several anchors per number of occurrences. `run_at` has the number
/// of the run at each place of a sequence of this length.
fn anchors(run_at: &[u32], length: usize, least: usize) -> Vec<Vec<usize>> {
    let mut runs: Vec<Option<Run>> = Vec::new();
    for (at, &number) in run_at.iter().enumerate() {
        if runs.len() <= number as usize {
            runs.resize_with(number as usize + 1, || None);
        }
        match &mut runs[number as usize] {
            Some(run) => run.add(at),
            run => *run = Some(Run { count: 1, first: at, last: at, squares: 0.0 }),
        }
    }
    let mut by_count: HashMap<u32, Vec<(f64, u32)>> = HashMap::new();
    for (number, run) in runs.iter().enumerate() {
        if let Some(run) = run.as_ref().filter(|run| run.count as usize >= least) {
            by_count.entry(run.count).or_default().push((run.evenness(length), number as u32));
        }
    }
    // The runs of each number of occurrences that are spread most evenly over most of the sequence.
    let mut counts: Vec<(u32, Vec<(f64, u32)>)> = by_count.into_iter().collect();
    for (_, runs) in &mut counts {
        runs.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    }
    let calls = |(count, runs): &(u32, Vec<(f64, u32)>)| u64::from(*count) * runs.len() as u64;
    counts.sort_few_by(|a, b| calls(b).cmp(&calls(a)).then(a.0.cmp(&b.0)));
    let mut chosen_counts: Vec<usize> = (0..counts.len().min(COUNTS)).collect();
    let mut others: Vec<usize> = (chosen_counts.len()..counts.len()).collect();
    others.sort_few_by(|&a, &b| {
        counts[b].1[0].0.total_cmp(&counts[a].1[0].0).then(counts[a].0.cmp(&counts[b].0))
    });
    chosen_counts.extend(others.into_iter().take(COUNTS));

    let mut chosen: Vec<Option<usize>> = vec![None; runs.len()];
    let mut places: Vec<Vec<usize>> = Vec::new();
    for (count, runs) in chosen_counts.into_iter().map(|at| &counts[at]) {
        let good = runs.iter().take_while(|(evenness, _)| *evenness >= 0.9 * runs[0].0).count();
        let step = good.div_ceil(ANCHORS).max(1);
        for &(_, number) in runs[..good].iter().step_by(step) {
            chosen[number as usize] = Some(places.len());
            places.push(Vec::with_capacity(*count as usize));
        }
    }
    for (at, &run) in run_at.iter().enumerate() {
        if let Some(index) = chosen[run as usize] {
            places[index].push(at);
        }
    }
    places
}

/// The cut at these anchors, if its blocks are alike.
pub(crate) fn cut(symbols: &[u32], anchors: Vec<usize>, counter: &mut Counter) -> Option<Repeat> {
    cut_better(symbols, anchors, counter, 0.0)
}

/// The cut at anchors that other evidence gives, whether or not its blocks are alike.
pub(crate) fn cut_unlike(symbols: &[u32], anchors: Vec<usize>, counter: &mut Counter) -> Option<Repeat> {
    let (typical, length) = typical_block(symbols, &anchors, counter)?;
    counter.want(&typical);
    let sample = in_common(symbols, &anchors, counter);
    let alike = likeness(symbols, &anchors, &sample, length, counter);
    Some(repeat(symbols, anchors, &sample, typical, length, alike, counter))
}

/// The cut at these anchors, if its blocks are alike and its quality is above this one. Most cuts are known not to be
/// better before all of their blocks are looked at.
fn cut_better(
    symbols: &[u32],
    anchors: Vec<usize>,
    counter: &mut Counter,
    quality_known: f64,
) -> Option<Repeat> {
    if quality_known >= 2.0 || !are_equally_long(&anchors) {
        return None;
    }
    let (typical, length) = typical_block(symbols, &anchors, counter)?;
    let span = anchors[anchors.len() - 1] - anchors[0];
    let most_core = ((anchors.len() * length) as f64 / span.max(1) as f64).min(1.0);
    if 1.0 + most_core <= quality_known {
        return None;
    }
    counter.want(&typical);
    let sample = in_common(symbols, &anchors, counter);
    let alike = likeness(symbols, &anchors, &sample, length, counter);
    if alike < ALIKE || alike + most_core <= quality_known {
        return None;
    }
    let found = repeat(symbols, anchors, &sample, typical, length, alike, counter);
    (quality(&found) > quality_known).then_some(found)
}

/// Blocks between the first one that is looked at and the next, where [`SAMPLE`] stand for all.
fn step_of_sample(anchors: &[usize]) -> usize {
    (anchors.len() - 1).div_ceil(SAMPLE).max(1)
}

/// What the blocks of the sample have in common with the wanted one. The last may have been clipped, so it does not
/// count.
fn in_common(symbols: &[u32], anchors: &[usize], counter: &mut Counter) -> Vec<usize> {
    let sampled = anchors.windows(2).step_by(step_of_sample(anchors));
    sampled.map(|block| counter.common(&symbols[block[0]..block[1]])).collect()
}

/// How much the blocks of the sample have in common with the typical one of this length, as a median.
fn likeness(
    symbols: &[u32],
    anchors: &[usize],
    sample: &[usize],
    length: usize,
    counter: &mut Counter,
) -> f64 {
    let sampled = anchors.windows(2).step_by(step_of_sample(anchors)).zip(sample);
    let block_likeness = |(block, &common): (&[usize], &usize)| {
        common as f64 / (block[1] - block[0] + length - common).max(1) as f64
    };
    let mut likeness: Vec<f64> = sampled.map(block_likeness).collect();
    if let [start, last] = *anchors {
        // One block is like itself; of two, the second decides.
        let end = (last + (last - start)).min(symbols.len());
        likeness[0] = counter.common(&symbols[last..end]) as f64 / length.max(1) as f64;
    }
    likeness.sort_by(f64::total_cmp);
    likeness[(likeness.len() - 1) / 2]
}

fn repeat(
    symbols: &[u32],
    anchors: Vec<usize>,
    sample: &[usize],
    typical: Vec<(u32, u32)>,
    length: usize,
    alike: f64,
    counter: &mut Counter,
) -> Repeat {
    let last = anchors[anchors.len() - 1];
    let last_end = counter.extent(symbols, last);
    let common: usize = match step_of_sample(&anchors) {
        1 => sample.iter().sum(),
        _ => anchors.windows(2).map(|block| counter.common(&symbols[block[0]..block[1]])).sum(),
    };
    let common = common + counter.common(&symbols[last..last_end]);
    let core = common as f64 / (last_end - anchors[0]).max(1) as f64;
    Repeat { anchors, alike, core, typical, length }
}

/// How often each symbol comes in most blocks, and the calls of such a block. `None` where blocks have little in
/// common.
fn typical_block(
    symbols: &[u32],
    anchors: &[usize],
    counter: &mut Counter,
) -> Option<(Vec<(u32, u32)>, usize)> {
    let blocks = anchors.len().checked_sub(1).filter(|&blocks| blocks > 0)?;
    let sampled = (0..blocks).step_by(step_of_sample(anchors));
    let number = sampled.len();
    let mut counts: Vec<(u32, u32)> = Vec::new();
    for block in sampled {
        counter.count(&symbols[anchors[block]..anchors[block + 1]], &mut counts);
    }
    // Single numbers are sorted in half the time of pairs.
    let mut counts: Vec<u64> =
        counts.into_iter().map(|(symbol, count)| u64::from(symbol) << 32 | u64::from(count)).collect();
    counts.sort_unstable();
    let mut typical = Vec::new();
    for symbol_counts in counts.chunk_by(|a, b| a >> 32 == b >> 32) {
        // The lower median over all blocks; those that are not in the list have none.
        let lacking = number - symbol_counts.len();
        if let Some(median) = ((number - 1) / 2).checked_sub(lacking).and_then(|at| symbol_counts.get(at)) {
            typical.push(((median >> 32) as u32, *median as u32));
        }
    }
    let length: usize = typical.iter().map(|&(_, count)| count as usize).sum();
    (length > 0).then_some((typical, length))
}

/// Whether at least half of the blocks are about as long as the median one.
fn are_equally_long(anchors: &[usize]) -> bool {
    let lengths = anchors.windows(2).map(|pair| pair[1] - pair[0]);
    let Some(median) = upper_median(lengths.clone()) else { return false };
    let near = lengths.clone().filter(|&length| 5 * length >= 4 * median && 4 * length <= 5 * median).count();
    2 * near >= lengths.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers of blocks of all cuts.
    fn numbers(text: &str) -> Vec<usize> {
        let symbols: Vec<u32> = text.bytes().map(u32::from).collect();
        repeats(&symbols, 3).iter().map(|repeat| repeat.anchors.len()).collect()
    }

    #[test]
    fn steps_and_the_layers_in_them_are_cuts() {
        let step = "ELLLLLLLLH".to_owned();
        assert!(numbers(&step.repeat(5)).contains(&5));
        let layered = "Eabcabcabcabcabcabcabcabcabcabcabcabch".repeat(4);
        let found = numbers(&layered);
        assert!(found.contains(&4) && found.contains(&48), "{found:?}");
    }

    #[test]
    fn calls_that_all_come_twice_per_iteration_are_cut_where_two_meet_once() {
        assert!(numbers(&"abba".repeat(6)).contains(&6));
    }

    #[test]
    fn what_does_not_repeat_has_no_cut() {
        for text in ["", "a", "ab", "abcdefghijkl", "abacadaeafag"] {
            assert_eq!(numbers(text), [] as [usize; 0], "{text}");
        }
    }

    #[test]
    fn a_block_ends_after_its_last_call_and_before_what_follows() {
        let symbols = |text: &str| text.bytes().map(u32::from).collect::<Vec<u32>>();
        let mut counter = Counter::new(&symbols("abcdx"));
        counter.want_stretch(&symbols("abcd"));
        assert_eq!(counter.extent(&symbols("abcxxxxxxxxxxxxxxxxxxxxc"), 0), 3);
    }

    proptest! {
        #[test]
        fn noise_between_iterations_does_not_change_their_number(
            layers in 2usize..6,
            iterations in 3usize..20,
            noise in prop::collection::vec((0usize..2000, 500u32..600), 0..6),
        ) {
            let mut step = vec![1, 2, 3];
            for _ in 0..layers {
                step.extend([10, 11, 12, 13, 14, 15]);
            }
            step.extend([20, 21]);
            let mut symbols = step.repeat(iterations);
            for (place, symbol) in noise {
                let place = place % (iterations + 1) * step.len();
                symbols.insert(place.min(symbols.len()), symbol);
            }
            let found = repeats(&symbols, 3);
            prop_assert!(
                found.iter().any(|repeat| repeat.anchors.len() == iterations),
                "{:?}", found.iter().map(|repeat| repeat.anchors.len()).collect::<Vec<_>>()
            );
        }
    }
}
