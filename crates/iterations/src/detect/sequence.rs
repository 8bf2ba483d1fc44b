//! Iterations from what repeats in the calls of a thread.

use gpu_timeline::upper_median;
use trace_ingest::EventId;

use super::cut::{Block, blocks, pause_before};
use super::host::{Item, Process};
use super::repeats::{Counter, Repeat, repeats};

/// Levels of what repeats, outermost first.
pub(crate) struct Levels {
    pub(crate) parts: Vec<Part>,
    pub(crate) outermost: Outermost,
    /// Whether the outermost has iterations of several kinds, one after the other.
    pub(crate) changes: bool,
}

/// What the outermost level is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outermost {
    /// What a person would call steps.
    Steps,
    /// Layers of one pass.
    Layers,
    /// Parts of graphs that are captured. That happens once, before the program begins.
    Captures,
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

/// How much less sure iterations are of a program that changes.
const CHANGING_CERTAINTY: f64 = 0.8;

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
    let items = &process.items;
    let found = cuts(items, symbols, 2);
    let outer = outermost(items, symbols, &found)?;
    let (repeat, covered) = &found[outer];
    let is_part =
        |(inner, _): &(Repeat, f64)| inner.anchors.len() >= 3 * repeat.anchors.len() && inner.core >= 0.5;
    let part = (outer + 1..found.len())
        .find(|&at| is_part(&found[at]))
        .map(|at| best_of_length(symbols, &found, at));
    let mut outer_blocks = blocks(items, symbols, repeat, &[]);
    let has_parts = part.is_some_and(|at| found[at].0.anchors.len() >= 4 * repeat.anchors.len());
    let first_calls: Vec<EventId> = outer_blocks.iter().map(|block| items[block.start].event).collect();
    let are_layers =
        2 * first_calls.windows(2).filter(|pair| in_one_module(pair[0], pair[1])).count() > first_calls.len();
    let outermost = if are_captured(process, &outer_blocks) {
        Outermost::Captures
    } else if !are_layers && are_steps(items, symbols, repeat, &outer_blocks, has_parts) {
        Outermost::Steps
    } else {
        Outermost::Layers
    };
    let certainty = |repeat: &Repeat, covered: f64| {
        let numbers = match repeat.anchors.len() {
            2 => 0.6,
            3 | 4 => 0.9,
            _ => 1.0,
        };
        let evidence = if process.has_operators { 0.8 } else { 0.7 };
        // That one call comes again and again says little.
        let length = match repeat.length {
            0 | 1 => 0.5,
            2 => 0.75,
            _ => 1.0,
        };
        evidence * numbers * length * repeat.alike * covered.min(1.0)
    };
    let mut confidence = certainty(repeat, *covered);
    let others = match outermost {
        Outermost::Steps => other_passes(items, symbols, &outer_blocks),
        _ => Vec::new(),
    };
    let changes = !others.is_empty();
    if changes {
        let covered = *covered + others.iter().map(|(_, covered)| covered).sum::<f64>();
        confidence = CHANGING_CERTAINTY * certainty(repeat, covered);
        outer_blocks.extend(others.into_iter().flat_map(|(blocks, _)| blocks));
        outer_blocks.sort_unstable_by_key(|block| block.start);
    }
    let mut parts = vec![Part { confidence, blocks: outer_blocks, explained: *covered }];
    if let Some((inner, covered)) = part.map(|at| &found[at]) {
        // Where other work follows the last of an outer iteration, an anchor may come once more.
        let mut counter = Counter::new(symbols);
        let mut blocks = blocks(items, symbols, inner, &[]);
        let is_cut = |block: &Block| !block.whole && (block.start == 0 || block.end + 2 >= symbols.len());
        blocks.retain(|block| {
            is_cut(block) || inner.likeness(&symbols[block.start..block.end], &mut counter) >= 0.5
        });
        parts.push(Part { confidence: certainty(inner, *covered), blocks, explained: *covered });
    }
    Some(Levels { parts, outermost, changes })
}

/// Cuts into at least so many blocks that may be iterations, and the share of calls and work that each explains, fewest
/// blocks first.
fn cuts(items: &[Item], symbols: &[u32], least: usize) -> Vec<(Repeat, f64)> {
    repeats(symbols, least)
        .into_iter()
        .filter(|repeat| 10 * short_blocks(repeat) <= repeat.anchors.len())
        .map(|repeat| {
            let (calls, work) = outside(items, symbols, &repeat);
            (repeat, 1.0 - (calls + work) / 2.0)
        })
        .filter(|(repeat, explained)| *explained >= LEAST_EXPLAINED && are_enough(repeat, *explained))
        .collect()
}

/// Which of these cuts is the outermost level.
fn outermost(items: &[Item], symbols: &[u32], found: &[(Repeat, f64)]) -> Option<usize> {
    let best = found.iter().map(|(_, explained)| *explained).fold(0.0, f64::max);
    // Of those that explain about as much, the one with the longest iterations.
    let mut outer = found.iter().position(|(_, explained)| *explained >= best - SLACK)?;
    outer = best_of_length(symbols, found, outer);
    // Iterations that something logged groups are the steps, not the groups.
    while let Some(inner) = (outer + 1..found.len())
        .find(|&inner| is_only_grouped(items, symbols, &found[outer].0, &found[inner].0))
    {
        outer = inner;
    }
    Some(outer)
}

/// What repeats before and after these steps, where the program did something else: so surely that it is as good as the
/// steps, and of about their length. With the share of all calls and work that it explains.
fn other_passes(items: &[Item], symbols: &[u32], steps: &[Block]) -> Vec<(Vec<Block>, f64)> {
    const FEWEST: usize = 3;
    const EXPLAINED: f64 = 0.9;
    const MOST_APART: i64 = 8;
    let work = |blocks: &[Block]| {
        let block_work =
            |block: &Block| items[block.start..block.end].iter().map(|item| item.work).sum::<i64>();
        median(blocks.iter().filter(|block| block.whole).map(block_work))
    };
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return Vec::new() };
    let all_calls = symbols.len() as f64;
    let all_work = items.iter().map(|item| item.work).sum::<i64>().max(1) as f64;
    let passes_in = |(from, to): (usize, usize)| {
        if 10 * (to - from) < symbols.len() {
            return None;
        }
        let (items, symbols) = (&items[from..to], &symbols[from..to]);
        let found = cuts(items, symbols, FEWEST);
        let (repeat, explained) = &found[outermost(items, symbols, &found)?];
        let mut passes = blocks(items, symbols, repeat, &[]);
        // Of the pass beside the steps, calls may have been taken for theirs.
        let inner = if from == 0 { passes.split_last()?.1 } else { passes.split_first()?.1 };
        if *explained < EXPLAINED || !hand_over(items, inner) {
            return None;
        }
        passes.iter_mut().for_each(|block| (block.start, block.end) = (from + block.start, from + block.end));
        let (own, step_work) = (work(&passes), work(steps));
        let is_alike =
            own <= step_work.saturating_mul(MOST_APART) && step_work <= own.saturating_mul(MOST_APART);
        let own_work: i64 = items.iter().map(|item| item.work).sum();
        let share = (items.len() as f64 / all_calls + own_work as f64 / all_work) / 2.0;
        is_alike.then_some((passes, explained * share))
    };
    [(0, first.start), (last.end, symbols.len())].into_iter().filter_map(passes_in).collect()
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

/// Whether there are so many blocks that they are no coincidence; two must be long, equal, and all there is.
fn are_enough(repeat: &Repeat, explained: f64) -> bool {
    repeat.anchors.len() > 2 || (repeat.length >= 30 && repeat.alike >= 0.95 && explained >= 0.95)
}

/// How many blocks are much shorter than the typical one. What comes between calls of iterations makes them longer,
/// never shorter.
fn short_blocks(repeat: &Repeat) -> usize {
    repeat.anchors.windows(2).filter(|pair| 5 * (pair[1] - pair[0]) < 3 * repeat.length).count()
}

/// Whether the outer blocks are nothing but groups of the inner ones.
fn is_only_grouped(items: &[Item], symbols: &[u32], outer: &Repeat, inner: &Repeat) -> bool {
    if inner.anchors.len() < 2 * outer.anchors.len() || 1.0 - inner.core > GROUPED {
        return false;
    }
    let (calls, work) = outside(items, symbols, inner);
    calls <= GROUPED && work <= 2.0 * GROUPED
}

/// Shares of calls and of work that are no part of the typical block of any iteration.
fn outside(items: &[Item], symbols: &[u32], repeat: &Repeat) -> (f64, f64) {
    let all: f64 = items.iter().map(|item| item.work as f64).sum();
    let mut counter = Counter::new(symbols);
    counter.want(&repeat.typical);
    let first = repeat.anchors[0].saturating_sub(repeat.length);
    let end = counter.extent(symbols, repeat.anchors[repeat.anchors.len() - 1]);
    let edges: Vec<usize> = [first].into_iter().chain(repeat.anchors.iter().copied()).chain([end]).collect();
    let (mut calls, mut work) = (0usize, 0f64);
    for block in edges.windows(2).filter(|block| block[0] < block[1]) {
        let items = &items[block[0]..block[1]];
        counter.each_common(&symbols[block[0]..block[1]], |at| {
            calls += 1;
            work += items[at].work as f64;
        });
    }
    (1.0 - calls as f64 / symbols.len().max(1) as f64, if all > 0.0 { 1.0 - work / all } else { 0.0 })
}

/// Whether calls of most blocks are captured into graphs.
fn are_captured(process: &Process, blocks: &[Block]) -> bool {
    let is_captured = |block: &&Block| {
        let items = &process.items[block.start..block.end];
        let next = process.captures.partition_point(|capture| capture.end <= items[0].start);
        process.captures.get(next).is_some_and(|capture| capture.start < items[items.len() - 1].end)
    };
    2 * blocks.iter().filter(is_captured).count() > blocks.len()
}

/// Whether most blocks hand something over between the host and the device.
fn hand_over(items: &[Item], blocks: &[Block]) -> bool {
    let whole = blocks.iter().filter(|block| block.whole);
    let all = whole.clone().count();
    let touching = whole.filter(|block| items[block.start..block.end].iter().any(|item| item.touches_host));
    5 * touching.count() >= 4 * all.max(1)
}

/// The median; 0 of none.
fn median(values: impl Iterator<Item = i64>) -> i64 {
    upper_median(values).unwrap_or(0)
}

/// Whether blocks are passes of the program's loop, and not layers of one pass over a model.
///
/// A loop hands something over between the host and the device in each pass, or pauses between them, or its passes have
/// layers themselves. Layers have nothing of this, and before the first and after the last of them the model does
/// something else.
fn are_steps(items: &[Item], symbols: &[u32], repeat: &Repeat, blocks: &[Block], has_parts: bool) -> bool {
    if has_parts || hand_over(items, blocks) {
        return true;
    }
    let (calls, work) = outside(items, symbols, repeat);
    if calls <= 2.0 * GROUPED && work <= 2.0 * GROUPED {
        return true;
    }
    let whole: Vec<&Block> = blocks.iter().filter(|block| block.whole).collect();
    let between = median(whole.iter().skip(1).map(|block| pause_before(items, block.start)));
    let mut inside: Vec<i64> = whole
        .iter()
        .take(64)
        .flat_map(|block| (block.start + 1..block.end).map(|at| pause_before(items, at)))
        .collect();
    inside.sort_unstable();
    let long = inside.get(inside.len() * 95 / 100).copied().unwrap_or(0);
    let length = median(whole.iter().map(|block| items[block.end - 1].end - items[block.start].start));
    between > 3 * long && 5 * between >= length
}
