//! Steps of a language model that generates text: each chooses a token for every request.

use gpu_timeline::upper_median;

use super::cut::{Block, pause_before};
use super::host::{Item, Process};

/// Calls behind a choice that are looked at for the end of the step.
const WINDOW: usize = 64;

/// The steps of a process that chooses tokens, at least two.
pub(crate) fn find(process: &Process, symbols: &[u32]) -> Option<Vec<Block>> {
    let items = &process.items;
    let choices = choices(items, symbols)?;
    // From behind the last choice of a step to the first of the next.
    let mut gaps: Vec<(usize, usize)> = choices.windows(2).map(|pair| (pair[0].1 + 1, pair[1].0)).collect();
    let last = choices.last()?.1 + 1;
    gaps.push((last, items.len()));
    let behind = calls_behind(items, symbols, &gaps[..gaps.len() - 1]);
    let mut blocks = Vec::with_capacity(gaps.len() + 1);
    let mut start = 0;
    for &(from, to) in &gaps {
        let end = (from + behind).min(to);
        blocks.push(Block { start, end, whole: true });
        start = end;
    }
    if items.len() - start >= 3 && items[start..].iter().any(|item| item.work > 0) {
        blocks.push(Block { start, end: items.len(), whole: false });
    }
    Some(blocks)
}

/// First and last choice of tokens of every step. Choices of one step, between which the model does not run, are one.
fn choices(items: &[Item], symbols: &[u32]) -> Option<Vec<(usize, usize)>> {
    // A captured graph may choose inside; then the copy of the tokens to the host shows the step.
    let in_graphs = items.iter().any(|item| item.graph_launch);
    let ends_step = |item: &Item| if in_graphs { item.to_host } else { item.chooses };
    let mut all: Vec<usize> = (0..items.len()).filter(|&at| ends_step(&items[at])).collect();
    // The call that comes most often is the choice; others may be made for some requests only.
    let mut counts: Vec<(u32, usize)> = all.iter().map(|&at| (symbols[at], at)).collect();
    counts.sort_unstable();
    let most =
        counts.chunk_by(|a, b| a.0 == b.0).max_by_key(|run| (run.len(), std::cmp::Reverse(run[0].1)))?;
    let symbol = most[0].0;
    all.retain(|&at| symbols[at] == symbol);
    let mut steps = vec![(all[0], all[0])];
    for &at in &all[1..] {
        match steps.last_mut() {
            Some(step) if !items[step.1 + 1..at].iter().any(|item| item.runs_model) => step.1 = at,
            _ => steps.push((at, at)),
        }
    }
    (steps.len() >= 2).then_some(steps)
}

/// How many calls behind the choice belong to the step, such as the copy of the tokens to the host.
///
/// Recording mostly begins between two steps, so the next step begins where the calls behind a choice look most like
/// those that the recording begins with; otherwise where the host pauses most before the steps' calls go apart.
fn calls_behind(items: &[Item], symbols: &[u32], gaps: &[(usize, usize)]) -> usize {
    let step = gaps.len().div_ceil(64).max(1);
    let sampled: Vec<(usize, usize)> = gaps.iter().copied().step_by(step).collect();
    let longest = sampled.iter().map(|(from, to)| to - from).min().unwrap_or(0).min(WINDOW);
    let like_beginning = |behind: usize| {
        let equal = |&(from, to): &(usize, usize)| {
            symbols[from + behind..to].iter().zip(symbols).take(WINDOW).take_while(|(a, b)| a == b).count()
                as i64
        };
        upper_median(sampled.iter().map(equal))
    };
    let pause =
        |behind: usize| upper_median(sampled.iter().map(|(from, _)| pause_before(items, from + behind)));
    let best = (0..=longest)
        .max_by_key(|&behind| (like_beginning(behind), pause(behind), std::cmp::Reverse(behind)));
    best.unwrap_or(0)
}
