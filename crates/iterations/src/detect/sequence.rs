//! Iterations from what repeats in the calls of a thread.

use trace_ingest::EventId;

use super::cut::{Block, blocks, pause_before};
use super::host::Process;
use super::repeats::{Counter, Repeat, repeats};

/// Levels of what repeats, outermost first.
pub(crate) struct Levels {
    pub(crate) parts: Vec<Part>,
    /// Whether the outermost is what a person would call steps, not the layers of one pass.
    pub(crate) outermost_is_steps: bool,
}

/// One level.
pub(crate) struct Part {
    pub(crate) blocks: Vec<Block>,
    /// Share of calls and work that the typical block accounts for.
    pub(crate) explained: f64,
    pub(crate) confidence: f64,
}

/// Fewer calls per thread say nothing.
const LEAST_CALLS: usize = 6;
/// Least share of calls and work that the typical block accounts for.
const LEAST_EXPLAINED: f64 = 0.5;
/// How much less than the best cut the one with the longest iterations may explain.
const SLACK: f64 = 0.05;
/// Largest share of calls or of work outside of the inner blocks for which the outer ones are only groups of them, set
/// apart by something logged.
const GROUPED: f64 = 0.005;

/// What repeats in the calls of a process's main thread. `in_one_module` says whether two calls lie in one call of a
/// module.
pub(crate) fn find(
    process: &Process,
    symbols: &[u32],
    in_one_module: impl Fn(EventId, EventId) -> bool,
) -> Option<Levels> {
    if symbols.len() < LEAST_CALLS {
        return None;
    }
    let found: Vec<(Repeat, f64)> = repeats(symbols, 2)
        .into_iter()
        .map(|repeat| {
            let (calls, work) = outside(process, symbols, &repeat);
            (repeat, 1.0 - (calls + work) / 2.0)
        })
        .filter(|(repeat, explained)| may_be_iterations(repeat, *explained))
        .collect();
    let best = found.iter().map(|(_, explained)| *explained).fold(0.0, f64::max);
    // Of those that explain about as much, the one with the longest iterations.
    let mut outer = found.iter().position(|(_, explained)| *explained >= best - SLACK)?;
    outer = best_of_length(symbols, &found, outer);
    // Iterations that something logged groups are the steps, not the groups.
    while let Some(inner) = (outer + 1..found.len())
        .find(|&inner| is_only_grouped(process, symbols, &found[outer].0, &found[inner].0))
    {
        outer = inner;
    }
    let (repeat, covered) = &found[outer];
    let is_part =
        |(inner, _): &(Repeat, f64)| inner.anchors.len() >= 3 * repeat.anchors.len() && inner.core >= 0.5;
    let part = (outer + 1..found.len())
        .find(|&at| is_part(&found[at]))
        .map(|at| best_of_length(symbols, &found, at));
    let outer_blocks = blocks(&process.items, symbols, repeat, &[]);
    let has_parts = part.is_some_and(|at| found[at].0.anchors.len() >= 4 * repeat.anchors.len());
    let first_calls: Vec<EventId> =
        outer_blocks.iter().map(|block| process.items[block.start].event).collect();
    let are_layers =
        2 * first_calls.windows(2).filter(|pair| in_one_module(pair[0], pair[1])).count() > first_calls.len();
    let outermost_is_steps = !are_layers && are_steps(process, symbols, repeat, &outer_blocks, has_parts);
    let certainty = |repeat: &Repeat, covered: f64| {
        let numbers = match repeat.anchors.len() {
            2 => 0.6,
            3 | 4 => 0.9,
            _ => 1.0,
        };
        let evidence = if process.has_operators { 0.8 } else { 0.7 };
        // That one call comes again and again says little.
        let length = if repeat.length < 3 { 0.5 } else { 1.0 };
        evidence * numbers * length * repeat.alike * covered.min(1.0)
    };
    let mut parts =
        vec![Part { confidence: certainty(repeat, *covered), blocks: outer_blocks, explained: *covered }];
    if let Some((inner, covered)) = part.map(|at| &found[at]) {
        // Where other work follows the last of an outer iteration, an anchor may come once more.
        let mut counter = Counter::new(symbols);
        let mut blocks = blocks(&process.items, symbols, inner, &[]);
        let is_cut = |block: &Block| !block.whole && (block.start == 0 || block.end + 2 >= symbols.len());
        blocks.retain(|block| {
            is_cut(block) || inner.likeness(&symbols[block.start..block.end], &mut counter) >= 0.5
        });
        parts.push(Part { confidence: certainty(inner, *covered), blocks, explained: *covered });
    }
    Some(Levels { parts, outermost_is_steps })
}

/// Of this cut and those after it into iterations of about the same length, the one that explains most with blocks that
/// are no less alike.
fn best_of_length(symbols: &[u32], found: &[(Repeat, f64)], first: usize) -> usize {
    let is_alike = |known: &Repeat, other: &Repeat| 10 * known.length.abs_diff(other.length) <= known.length;
    let mut counter = Counter::new(symbols);
    let mut likeness = |at: usize| found[at].0.mean_likeness(symbols, &mut counter);
    let mut best = first;
    for other in first + 1..found.len() {
        if is_alike(&found[best].0, &found[other].0)
            && found[other].1 > found[best].1
            && likeness(other) >= likeness(best) - 0.01
        {
            best = other;
        }
    }
    best
}

/// Whether blocks may be iterations at all.
fn may_be_iterations(repeat: &Repeat, explained: f64) -> bool {
    // Two long blocks that are all there is are no coincidence.
    let enough =
        repeat.anchors.len() > 2 || (repeat.length >= 30 && repeat.alike >= 0.95 && explained >= 0.95);
    // What comes between calls of iterations makes them longer, never shorter.
    let blocks = repeat.anchors.windows(2);
    let short = blocks.filter(|pair| 5 * (pair[1] - pair[0]) < 3 * repeat.length).count();
    enough && explained >= LEAST_EXPLAINED && 10 * short <= repeat.anchors.len()
}

/// Whether the outer blocks are nothing but groups of the inner ones.
fn is_only_grouped(process: &Process, symbols: &[u32], outer: &Repeat, inner: &Repeat) -> bool {
    if inner.anchors.len() < 2 * outer.anchors.len() || 1.0 - inner.core > GROUPED {
        return false;
    }
    let (calls, work) = outside(process, symbols, inner);
    calls <= GROUPED && work <= 2.0 * GROUPED
}

/// Shares of calls and of work that are no part of the typical block of any iteration.
fn outside(process: &Process, symbols: &[u32], repeat: &Repeat) -> (f64, f64) {
    let all: f64 = process.items.iter().map(|item| item.work as f64).sum();
    let bound = symbols.iter().max().map_or(0, |&symbol| symbol as usize + 1);
    let mut wanted = vec![0u32; bound];
    for &(symbol, count) in &repeat.typical {
        wanted[symbol as usize] = count;
    }
    let mut seen = vec![0u32; bound];
    let first = repeat.anchors[0].saturating_sub(repeat.length);
    let last = repeat.anchors[repeat.anchors.len() - 1];
    let end = super::repeats::extent(symbols, last, &repeat.typical);
    let edges: Vec<usize> = [first].into_iter().chain(repeat.anchors.iter().copied()).chain([end]).collect();
    let (mut calls, mut work) = (0usize, 0f64);
    for block in edges.windows(2).filter(|block| block[0] < block[1]) {
        for (item, &symbol) in process.items[block[0]..block[1]].iter().zip(&symbols[block[0]..block[1]]) {
            if seen[symbol as usize] < wanted[symbol as usize] {
                seen[symbol as usize] += 1;
                calls += 1;
                work += item.work as f64;
            }
        }
        symbols[block[0]..block[1]].iter().for_each(|&symbol| seen[symbol as usize] = 0);
    }
    (1.0 - calls as f64 / symbols.len().max(1) as f64, if all > 0.0 { 1.0 - work / all } else { 0.0 })
}

/// Whether blocks are passes of the program's loop, and not layers of one pass over a model.
///
/// A loop hands something over between the host and the device in each pass, or pauses between them, or its passes have
/// layers themselves. Layers have nothing of this, and before the first and after the last of them the model does
/// something else.
fn are_steps(process: &Process, symbols: &[u32], repeat: &Repeat, blocks: &[Block], has_parts: bool) -> bool {
    let items = &process.items;
    let whole: Vec<&Block> = blocks.iter().filter(|block| block.whole).collect();
    let touching =
        whole.iter().filter(|block| items[block.start..block.end].iter().any(|item| item.touches_host));
    if 5 * touching.count() >= 4 * whole.len().max(1) || has_parts {
        return true;
    }
    let (calls, work) = outside(process, symbols, repeat);
    if calls <= 2.0 * GROUPED && work <= 2.0 * GROUPED {
        return true;
    }
    let median = |mut values: Vec<i64>| {
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or(0)
    };
    let between = median(whole.iter().skip(1).map(|block| pause_before(items, block.start)).collect());
    let mut inside: Vec<i64> = whole
        .iter()
        .take(64)
        .flat_map(|block| (block.start + 1..block.end).map(|at| pause_before(items, at)))
        .collect();
    inside.sort_unstable();
    let long = inside.get(inside.len() * 95 / 100).copied().unwrap_or(0);
    let length =
        median(whole.iter().map(|block| items[block.end - 1].end - items[block.start].start).collect());
    between > 3 * long && 5 * between >= length
}
