//! Steps of training: forward, backward, and an update of the parameters.

use gpu_timeline::upper_median;
use perf_models::ParameterUpdate;

use super::cut::{align, align_back, pause_before};
use super::host::{Item, Process};
use super::marks::Mark;
use super::repeats::{Counter, cut};

/// Calls by which the beginning of a step is known.
const BEGINNING: usize = 3;

/// One backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pass {
    start: i64,
    end: i64,
    /// The largest number of the functions that ran. New forward passes have larger ones.
    largest: Option<i64>,
    functions: usize,
    /// End of the update of the parameters after it.
    updated: Option<i64>,
}

/// A stretch of time, and whether all of it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) whole: bool,
}

/// The steps of a training program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Training {
    pub(crate) steps: Vec<Stretch>,
    /// Forward and backward passes, where there are several per step.
    pub(crate) micro_batches: Vec<Stretch>,
    /// Groups of as many steps, where the program does other work between the groups.
    pub(crate) groups: Option<Groups>,
    /// Whether updates of the parameters were seen.
    pub(crate) has_updates: bool,
    /// Whether backward passes were seen.
    pub(crate) has_backward: bool,
}

/// Steps that follow one another, with what comes before them: a game and the updates on what happened in it, data and
/// the updates of an optimizer that looks at them several times.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Groups {
    /// Steps of each group.
    pub(crate) size: usize,
    pub(crate) stretches: Vec<Stretch>,
}

/// The steps of a process that trains. `optimizer` are the ranges around steps of optimizers, and `batches` those in
/// which the loop asks for its next batch, by start.
pub(crate) fn find(
    process: &Process,
    symbols: &[u32],
    optimizer: &[Mark],
    batches: &[Mark],
) -> Option<Training> {
    let begins: Vec<i64> = batches.iter().map(|mark| mark.start).collect();
    let mut passes = passes(process);
    if passes.is_empty() {
        return updates_alone(process, symbols);
    }
    find_updates(&mut passes, process, optimizer);
    let has_updates = passes.iter().any(|pass| pass.updated.is_some());
    let ends: Vec<(usize, i64)> = passes
        .iter()
        .enumerate()
        .filter_map(|(at, pass)| if has_updates { Some((at, pass.updated?)) } else { Some((at, pass.end)) })
        .map(|(at, end)| (at, after_waits(process, end, passes.get(at + 1))))
        .collect();
    let ends = every_network(process, &passes, ends);
    let mut grouped = groups_of_updates(process, symbols, &passes, &ends);
    // Where the program asks for a batch once per group, the groups are its steps.
    let is_batch = |groups: &UpdateGroups| begins.len() > 1 && begins.len().abs_diff(groups.last.len()) <= 1;
    let ends = match grouped.take_if(|groups| is_batch(groups)) {
        Some(groups) => groups.last.into_iter().map(|last| ends[last]).collect(),
        None => ends,
    };
    let begins_of_groups: Option<(usize, Vec<i64>)> = grouped.map(|groups| {
        let next = groups.last.iter().filter_map(|&last| Some(passes.get(ends[last].0 + 1)?.start));
        (groups.size, next.collect())
    });
    let ends = with_tails(process, symbols, &passes, ends);
    let steps = steps(process, symbols, &passes, &ends, &begins);
    let is_split = steps.iter().any(|step| passes_in(&passes, step).len() > 1);
    let micro_batches = if is_split { micro_batches(&passes, &steps) } else { Vec::new() };
    let groups = begins_of_groups.map(|(size, begins)| groups(&steps, size, &begins));
    Some(Training { steps, micro_batches, groups, has_updates, has_backward: true })
}

/// The last update of each step, where a step updates several networks, one after the other and each by a backward
/// pass of its own kind: the updates then take turns.
fn every_network(process: &Process, passes: &[Pass], ends: Vec<(usize, i64)>) -> Vec<(usize, i64)> {
    let kinds = kinds_of_updates(process, passes, &ends);
    let takes_turns = |period: &usize| {
        kinds.len() >= 3 * period
            && kinds.iter().zip(&kinds[*period..]).all(|(a, b)| a == b)
            && kinds[..*period].iter().enumerate().all(|(at, kind)| !kinds[..at].contains(kind))
    };
    match (2..=MOST_NETWORKS).find(takes_turns) {
        Some(period) => ends.into_iter().skip(period - 1).step_by(period).collect(),
        None => ends,
    }
}

/// Updates that come in groups of one size, between which the program does other work.
struct UpdateGroups {
    size: usize,
    /// The last update of each group.
    last: Vec<usize>,
}

fn groups_of_updates(
    process: &Process,
    symbols: &[u32],
    passes: &[Pass],
    ends: &[(usize, i64)],
) -> Option<UpdateGroups> {
    const FEWEST_GROUPS: usize = 3;
    const MOST_UPDATES: usize = 16;
    /// Fewer calls are something logged.
    const OTHER_WORK: usize = 3;
    let at = |time: i64| process.items.partition_point(|item| item.start < time);
    let gaps = ends.iter().filter_map(|&(last, end)| {
        let next = at(passes.get(last + 1)?.start);
        Some(&symbols[at(end).min(next)..next])
    });
    let shortest = gaps.clone().min_by_key(|gap| gap.len())?;
    let mut counter = Counter::new(symbols);
    counter.want_stretch(shortest);
    let mut has_other_work = |gap: &[u32]| gap.len() - counter.common(gap) >= OTHER_WORK;
    let mut last: Vec<usize> =
        gaps.enumerate().filter_map(|(at, gap)| has_other_work(gap).then_some(at)).collect();
    let size = last.get(1)? - last[0];
    if last.last().is_some_and(|&last| last + 1 < ends.len()) {
        last.push(ends.len() - 1);
    }
    let is_regular = last[0] < size
        && last.windows(2).enumerate().all(|(at, pair)| match at + 2 == last.len() {
            true => pair[1] - pair[0] <= size,
            false => pair[1] - pair[0] == size,
        });
    (last.len() >= FEWEST_GROUPS && (2..=MOST_UPDATES).contains(&size) && is_regular)
        .then_some(UpdateGroups { size, last })
}

/// Groups of steps: a new one begins with the step of each of these backward passes.
fn groups(steps: &[Stretch], size: usize, begins: &[i64]) -> Groups {
    let group_of = |step: &Stretch| begins.partition_point(|&begin| begin < step.end);
    let stretches = steps.chunk_by(|a, b| group_of(a) == group_of(b)).map(|group| Stretch {
        start: group[0].start,
        end: group[group.len() - 1].end,
        whole: group.len() == size && group.iter().all(|step| step.whole),
    });
    Groups { size, stretches: stretches.collect() }
}

/// Most networks that one step updates in turn.
const MOST_NETWORKS: usize = 4;

/// Numbers that are equal for updates after the same functions of backward passes.
fn kinds_of_updates(process: &Process, passes: &[Pass], ends: &[(usize, i64)]) -> Vec<usize> {
    let mut known: Vec<Vec<(u32, u32)>> = Vec::new();
    let mut first = 0;
    let mut kinds = Vec::with_capacity(ends.len());
    for &(last, _) in ends {
        let span = passes[first].start..=passes[last].end;
        let from = process.backward.partition_point(|function| function.start < *span.start());
        let functions = process.backward[from..].iter().take_while(|function| span.contains(&function.start));
        let mut symbols: Vec<u32> = functions.map(|function| function.symbol).collect();
        symbols.sort_unstable();
        let counts: Vec<(u32, u32)> =
            symbols.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect();
        let kind = known.iter().position(|other| *other == counts).unwrap_or_else(|| {
            known.push(counts);
            known.len() - 1
        });
        kinds.push(kind);
        first = last + 1;
        // Updates that are all different take no turns.
        if known.len() > MOST_NETWORKS {
            return Vec::new();
        }
    }
    kinds
}

/// Backward passes, in time order. What the main thread does between functions of one pass, such as hooks, does not
/// split it: only a pass over a new graph has larger numbers.
fn passes(process: &Process) -> Vec<Pass> {
    let mut passes: Vec<Pass> = Vec::new();
    let mut forward = process.items.iter().filter(|item| !item.backward && !item.waits).peekable();
    for function in &process.backward {
        let mut calls_between = 0;
        while forward.next_if(|item| item.start < function.start).is_some() {
            calls_between += 1;
        }
        let is_new = |pass: &Pass| match (function.sequence, pass.largest) {
            (Some(number), Some(largest)) => calls_between > 0 && number > largest,
            (None, Some(_)) => false,
            (_, None) => calls_between >= 3,
        };
        match passes.last_mut().filter(|pass| !is_new(pass)) {
            Some(pass) => {
                pass.end = pass.end.max(function.end);
                pass.largest = pass.largest.max(function.sequence);
                pass.functions += 1;
            }
            None => passes.push(Pass {
                start: function.start,
                end: function.end,
                largest: function.sequence,
                functions: 1,
                updated: None,
            }),
        }
    }
    passes
}

/// Finds the update after each pass: ranges of the optimizer, or else calls that only optimizers make, or else
/// arithmetic in place that autograd did not record, before the next call that it did.
fn find_updates(passes: &mut [Pass], process: &Process, optimizer: &[Mark]) {
    let until = |passes: &[Pass], at: usize| passes.get(at + 1).map_or(i64::MAX, |next| next.start);
    if !optimizer.is_empty() {
        for at in 0..passes.len() {
            // An optimizer that calls the model itself has passes inside; the update comes after the last.
            let span = passes[at].end..until(passes, at);
            let first = optimizer.partition_point(|mark| mark.end < span.start);
            let ranges = optimizer[first..].iter().take_while(|mark| mark.end < span.end);
            passes[at].updated = ranges.map(|mark| mark.end).last();
        }
        return;
    }
    let has_numbers = process.items.iter().any(|item| item.sequence.is_some());
    let calls = |pass: &Pass, until: i64| {
        let first = process.items.partition_point(|item| item.start < pass.end);
        let end = process.items.partition_point(|item| item.start < until);
        &process.items[first..end.max(first)]
    };
    for at in 0..passes.len() {
        let after = calls(&passes[at], until(passes, at));
        let updates =
            after.iter().filter(|item| item.update == ParameterUpdate::Yes && item.sequence.is_none());
        passes[at].updated = updates.map(|item| item.end).max();
    }
    if passes.iter().any(|pass| pass.updated.is_some()) {
        return;
    }
    for at in 0..passes.len() {
        let after = calls(&passes[at], until(passes, at));
        let before_forward = after.iter().take_while(|item| !has_numbers || item.sequence.is_none());
        let updates: Vec<&Item> =
            before_forward.filter(|item| item.update == ParameterUpdate::Maybe).collect();
        let least = if has_numbers { 1 } else { 3 };
        if updates.len() >= least {
            passes[at].updated = updates.iter().map(|item| item.end).max();
        }
    }
}

/// End of the calls after `end` in which the host only waits or reads a value, such as the loss that is logged.
fn after_waits(process: &Process, end: i64, next: Option<&Pass>) -> i64 {
    let first = process.items.partition_point(|item| item.start < end);
    let limit = next.map_or(i64::MAX, |pass| pass.start);
    let waits = process.items[first..].iter().take_while(|item| item.waits && item.end < limit);
    waits.map(|item| item.end).max().map_or(end, |last| last.max(end))
}

/// Moves ends of steps behind what comes after the update in each step, such as metrics that are computed last, or
/// after some updates only, such as evaluation.
///
/// Recording mostly begins between two steps. So where calls between an update and the next backward pass end like
/// those that the recording begins with, what is before these belongs to the step of the update. Where this is so
/// after every update, either recording ends soon after the last update with such calls, or something sets the two
/// apart; otherwise recording began inside of a step.
fn with_tails(
    process: &Process,
    symbols: &[u32],
    passes: &[Pass],
    mut ends: Vec<(usize, i64)>,
) -> Vec<(usize, i64)> {
    let items = &process.items;
    let at = |time: i64| items.partition_point(|item| item.start < time);
    let first_lead = (0, at(passes[0].start));
    let gaps: Vec<(usize, usize)> = ends
        .iter()
        .filter_map(|&(last, end)| Some((at(end), at(passes.get(last + 1)?.start))))
        .filter(|(from, to)| from < to)
        .collect();
    let tails: Vec<Option<usize>> = gaps.iter().map(|&gap| tail(items, symbols, gap, first_lead)).collect();
    let known: Vec<usize> = tails.iter().flatten().copied().collect();
    let (Some(&least), Some(&(_, last_end))) = (known.iter().min(), ends.last()) else { return ends };
    let rest = items.len() - at(last_end);
    let ends_alike = known.iter().any(|&tail| rest.abs_diff(tail) <= 2 + tail / 8);
    let set_apart = |gap: &(&(usize, usize), &Option<usize>)| {
        let (&(from, to), tail) = *gap;
        let Some(first) = tail.map(|tail| from + tail) else { return false };
        let mut pauses: Vec<i64> = (from..to).map(|at| pause_before(items, at)).collect();
        pauses.sort_unstable();
        let pause = pause_before(items, first.min(to - 1));
        first > from && items[first - 1].touches_host || pause > 0 && pause >= pauses[pauses.len() * 9 / 10]
    };
    if least > 0 && !ends_alike && 2 * gaps.iter().zip(&tails).filter(set_apart).count() <= gaps.len() {
        return ends;
    }
    // All of what came after an update before, or nearly all that was recorded, where that is no more.
    let equal = |from: usize, known: &[u32]| {
        let rest = &symbols[from..];
        let equal = rest.iter().zip(known).take_while(|(a, b)| a == b).count();
        let is_known = |call: &&u32| known.contains(call);
        let is_alike = || {
            8 * rest.len() <= 9 * known.len() && 10 * rest.iter().filter(is_known).count() >= 7 * rest.len()
        };
        match equal == known.len() || equal + 3 >= rest.len() {
            true => Some(equal),
            false => is_alike().then_some(rest.len()),
        }
    };
    for (_, end) in &mut ends {
        let from = at(*end);
        let behind = match gaps.binary_search_by_key(&from, |gap| gap.0) {
            Ok(gap) => tails[gap].unwrap_or(0),
            // After the last update, what came after one before.
            Err(_) => {
                let known = gaps.iter().zip(&tails);
                let known = known.filter_map(|(&(from, _), tail)| Some(&symbols[from..from + (*tail)?]));
                known.filter_map(|known| equal(from, known)).max().unwrap_or(0)
            }
        };
        *end = items[from..from + behind].iter().map(|item| item.end).max().unwrap_or(*end).max(*end);
    }
    ends
}

/// How many calls at the beginning of a gap come before what it has in common with the end of `lead`, the calls
/// before the first backward pass; `None` where they have nothing in common.
fn tail(items: &[Item], symbols: &[u32], gap: (usize, usize), lead: (usize, usize)) -> Option<usize> {
    let (mut in_gap, in_lead) = align(symbols, gap, lead);
    if lead.1 - in_lead < 2 {
        return None;
    }
    // Calls that differ inside of a forward pass end the walk back. Then the calls with which recording begins tell.
    if in_lead > lead.0 {
        in_gap = beginning(symbols, gap, lead).unwrap_or(in_gap);
    }
    // A step begins with no wait for the device.
    while in_gap < gap.1 && items[in_gap].waits {
        in_gap += 1;
    }
    // More of a forward pass than the first step had is no tail.
    let mut numbers: Vec<i64> = items[gap.0..in_gap].iter().filter_map(|item| item.sequence).collect();
    numbers.dedup();
    let is_forward = numbers.len() > 2 && 5 * numbers.len() > 2 * (in_gap - gap.0);
    (!is_forward).then_some(in_gap - gap.0)
}

/// Where the calls of a gap look most like those that `lead` begins with, about as far from the backward pass; `None`
/// where they do so nowhere.
fn beginning(symbols: &[u32], gap: (usize, usize), lead: (usize, usize)) -> Option<usize> {
    const LOOKED_AT: usize = 16;
    const MOST_TRIED: usize = 64;
    let known = &symbols[lead.0..lead.1.min(lead.0 + LOOKED_AT)];
    let length = lead.1 - lead.0;
    let usual = gap.1.checked_sub(length).filter(|&usual| usual >= gap.0)?;
    let slack = (length / 8).min(MOST_TRIED);
    let in_common = |at: usize| longest_common(known, &symbols[at..gap.1.min(at + LOOKED_AT)]);
    let places = usual.saturating_sub(slack).max(gap.0)..gap.1.min(usual + slack + 1);
    let (common, place) = places.map(|at| (in_common(at), at)).max()?;
    (3 * common >= 2 * known.len()).then_some(place)
}

/// Length of the longest sequence that two stretches have in common, with other calls in between.
fn longest_common(one: &[u32], other: &[u32]) -> usize {
    let mut lengths = vec![0; other.len() + 1];
    for a in one {
        let mut diagonal = 0;
        for (at, b) in other.iter().enumerate() {
            let longest = if a == b { diagonal + 1 } else { lengths[at].max(lengths[at + 1]) };
            diagonal = std::mem::replace(&mut lengths[at + 1], longest);
        }
    }
    lengths[other.len()]
}

/// Steps that end at `ends`: the number of the last pass of each, and the time. A step begins with its first call, or
/// when the program asks for a batch where `begins` tell.
fn steps(
    process: &Process,
    symbols: &[u32],
    passes: &[Pass],
    ends: &[(usize, i64)],
    begins: &[i64],
) -> Vec<Stretch> {
    let items = &process.items;
    let at = |time: i64| items.partition_point(|item| item.start < time);
    // Calls from the end of a step to the first backward pass of the next.
    let leads: Vec<(usize, usize)> = ends
        .iter()
        .filter_map(|&(last, end)| Some((at(end), at(passes.get(last + 1)?.start))))
        .filter(|(from, to)| from < to)
        .collect();
    let typical_lead = upper_median(leads.iter().map(|(from, to)| to - from));
    let delay = upper_median(
        ends.iter()
            .filter(|&&(last, _)| last + 1 < passes.len())
            .filter_map(|&(_, end)| Some(items.get(at(end))?.start.saturating_sub(end))),
    );

    let first_pass = at(passes[0].start);
    let before_forward = items[..first_pass].iter().take_while(|item| item.sequence.is_none());
    let updates_before = before_forward
        .enumerate()
        .filter(|(_, item)| item.update == ParameterUpdate::Yes)
        .map(|(at, _)| at)
        .last()
        .filter(|_| passes[0].updated.is_some());
    let mut steps = Vec::new();
    let mut first = updates_before.map_or(0, |last| last + 1);
    if let Some(last) = updates_before {
        steps.push(Stretch { start: items[0].start, end: items[last].end, whole: false });
    }
    let lengths = ends.windows(2).map(|pair| pair[1].1.saturating_sub(pair[0].1));
    let length = upper_median(lengths).unwrap_or(i64::MAX);
    let mut begins_alike = false;
    if let Some(&(lead_start, lead_end)) = leads.first() {
        // A few calls before those that steps begin with are no part of the first. Recording mostly begins between two
        // steps, so what takes longer than a step is what the first step does to set up what it needs.
        let beginning = &symbols[lead_start..lead_end.min(lead_start + BEGINNING)];
        let place = symbols[first..first_pass].windows(beginning.len()).position(|calls| calls == beginning);
        let is_short =
            |before: &usize| items[first + before].start.saturating_sub(items[first].start) < length;
        let place = place.filter(is_short);
        begins_alike = place.is_some();
        first += place.unwrap_or(0);
    }
    let is_whole = begins_alike
        || typical_lead.is_none_or(|typical| 5 * (first_pass - first) >= 4 * typical)
            && has_whole_functions(passes, ends);
    // The host waits for its next batch before the first call of a step; a short pause is the program's own.
    let waits = |delay: i64| delay > length / 10;
    let first_call = items.get(first).map_or(passes[0].start, |item| item.start.min(passes[0].start));
    let before = first.checked_sub(1).map_or(process.begin, |before| items[before].end);
    let earliest = before.max(steps.last().map_or(i64::MIN, |step: &Stretch| step.end));
    let mut start = match delay.filter(|&delay| waits(delay)) {
        Some(delay) => first_call.saturating_sub(delay).max(earliest).min(first_call),
        None => first_call,
    };
    for (index, &(last, end)) in ends.iter().enumerate() {
        let limit = passes.get(last + 1).map_or(end, |pass| pass.start);
        let next = begins.get(begins.partition_point(|&begin| begin < end)).filter(|&&begin| begin <= limit);
        let next_call = items.get(at(end)).map(|item| item.start).filter(|_| last + 1 < passes.len());
        let until = match (next, next_call) {
            (Some(&begin), _) => begin,
            (None, Some(call)) if !waits(call.saturating_sub(end)) => call,
            _ => end,
        };
        steps.push(Stretch { start, end: until, whole: index > 0 || is_whole });
        // The next step begins where this one ends.
        start = until;
    }
    if let Some(&(last, end)) = ends.last() {
        steps.extend(last_part(process, symbols, passes, last, end, &leads));
    }
    steps
}

/// Whether the backward pass of the first step has about as many functions as those of others.
fn has_whole_functions(passes: &[Pass], ends: &[(usize, i64)]) -> bool {
    let others = passes.iter().skip(ends.first().map_or(1, |(last, _)| last + 1));
    upper_median(others.map(|pass| pass.functions))
        .is_none_or(|typical| 5 * passes[0].functions >= 4 * typical)
}

/// The part of one more step after the last whole one, where what was recorded there looks like the beginning of a
/// step.
fn last_part(
    process: &Process,
    symbols: &[u32],
    passes: &[Pass],
    last: usize,
    end: i64,
    leads: &[(usize, usize)],
) -> Option<Stretch> {
    let items = &process.items;
    let from = items.partition_point(|item| item.start < end);
    let rest = &items[from..];
    let begun = passes.get(last + 1).is_some();
    let finish = rest.iter().chain(&process.backward).map(|item| item.end).max()?;
    if !begun {
        let &(lead_from, lead_to) = leads.last()?;
        let mut lead: Vec<u32> = symbols[lead_from..lead_to].to_vec();
        lead.sort_unstable();
        let known = symbols[from..].iter().filter(|symbol| lead.binary_search(symbol).is_ok()).count();
        // What autograd did not record is evaluation.
        let recorded = |items: &[Item]| items.iter().filter(|item| item.sequence.is_some()).count();
        if 2 * recorded(&items[lead_from..lead_to]) > lead.len() && 4 * recorded(rest) < rest.len() {
            return None;
        }
        let is_step = rest.len() >= 3 && 10 * known >= 7 * rest.len() && 33 * rest.len() >= lead.len();
        if !is_step || rest.iter().all(|item| item.work == 0) {
            return None;
        }
    }
    (finish > end).then_some(Stretch { start: end, end: finish, whole: false })
}

/// The passes that begin in a step.
fn passes_in<'p>(passes: &'p [Pass], step: &Stretch) -> &'p [Pass] {
    let first = passes.partition_point(|pass| pass.start < step.start);
    let end = passes.partition_point(|pass| pass.start < step.end);
    &passes[first..end.max(first)]
}

fn micro_batches(passes: &[Pass], steps: &[Stretch]) -> Vec<Stretch> {
    let mut parts = Vec::with_capacity(passes.len());
    for step in steps {
        let mut start = step.start;
        for pass in passes_in(passes, step) {
            let end = pass.end.min(step.end);
            parts.push(Stretch { start, end, whole: step.whole });
            start = end;
        }
    }
    parts
}

/// Steps of a program of which only the updates are known, such as one whose kernels alone were recorded.
fn updates_alone(process: &Process, symbols: &[u32]) -> Option<Training> {
    let items = &process.items;
    let updates: Vec<usize> =
        (0..items.len()).filter(|&at| items[at].update == ParameterUpdate::Yes).collect();
    // Calls between updates of one step are few beside those of a forward and a backward pass.
    let widest = updates.windows(2).map(|pair| pair[1] - pair[0]).max()?;
    if widest < 8 {
        return None;
    }
    let runs: Vec<&[usize]> = updates.chunk_by(|a, b| 3 * (b - a) < widest).collect();
    let begins: Vec<usize> = runs.iter().map(|run| run[0]).collect();
    let enough = if process.main.is_some() { 2 } else { 3 };
    if begins.len() < enough {
        return None;
    }
    cut(symbols, begins, &mut Counter::new(symbols))?;
    let ends: Vec<usize> = runs.iter().map(|run| run[run.len() - 1]).collect();
    let length = ends.windows(2).map(|pair| pair[1] - pair[0]).min()?;
    // The first step began a step's length before its end, or before recording did.
    let whole = ends[0] + 1 >= length;
    let mut first = (ends[0] + 1).saturating_sub(length);
    if first > 0 {
        first = align_back(symbols, (0, ends[0] + 1), (ends[0] + 1, ends[1] + 1));
    }
    let mut steps = Vec::with_capacity(ends.len() + 1);
    let mut start = items[first].start;
    for (index, &end) in ends.iter().enumerate() {
        steps.push(Stretch { start, end: items[end].end, whole: index > 0 || whole });
        start = items[end].end;
    }
    let rest = &items[ends[ends.len() - 1] + 1..];
    if 33 * rest.len() >= length && rest.len() >= 3 {
        let end = rest.iter().map(|item| item.end).max()?;
        steps.push(Stretch { start, end, whole: false });
    }
    Some(Training { steps, micro_batches: Vec::new(), groups: None, has_updates: true, has_backward: false })
}
