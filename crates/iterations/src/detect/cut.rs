//! From anchors, one per iteration, to where iterations begin and end.

use gpu_timeline::upper_median;

use super::host::Item;
use super::repeats::{Counter, Repeat};

/// Items of one iteration: `start..end` of the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) whole: bool,
}

/// Fewer equal calls behind others that differ are a coincidence.
const LEAST_EQUAL: usize = 4;

/// How many calls beside each other may be passed over where two stretches differ.
const SKIP: usize = 6;

/// Walks back from the ends of two stretches over calls that are equal, and gives the place in the first stretch at
/// which the second is used up or nothing more is equal.
pub(crate) fn align_back(symbols: &[u32], first: (usize, usize), second: (usize, usize)) -> usize {
    align(symbols, first, second).0
}

/// Places in both stretches at which the walk back ends.
pub(crate) fn align(symbols: &[u32], first: (usize, usize), second: (usize, usize)) -> (usize, usize) {
    let (mut a, mut b) = (first.1, second.1);
    // Where the stretches differed last. A few equal calls behind it are a coincidence.
    let mut differed = None;
    while a > first.0 && b > second.0 {
        if symbols[a - 1] == symbols[b - 1] {
            (a, b) = (a - 1, b - 1);
            continue;
        }
        let before = (a, b);
        let equal_after = |skip: &(usize, usize)| {
            let (a, b) = (a.checked_sub(skip.0 + 1), b.checked_sub(skip.1 + 1));
            a.zip(b).is_some_and(|(a, b)| a >= first.0 && b >= second.0 && symbols[a] == symbols[b])
        };
        let skips = (1..=SKIP).flat_map(|all| (0..=all).map(move |skip_a| (skip_a, all - skip_a)));
        match skips.into_iter().find(equal_after) {
            Some(skip) => {
                (a, b) = (a - skip.0, b - skip.1);
                differed = Some((before, a));
            }
            None => break,
        }
    }
    match differed {
        Some((before, after)) if after - a < LEAST_EQUAL => before,
        _ => (a, b),
    }
}

/// The blocks of a repeat, with the part of one more at either end where recording cut it. Calls from an anchor up to
/// the end of the same number in `anchor_ends` are never the first of an iteration; without ends that is the anchor
/// alone.
pub(crate) fn blocks(items: &[Item], symbols: &[u32], repeat: &Repeat, anchor_ends: &[usize]) -> Vec<Block> {
    let anchors = &repeat.anchors;
    let count = anchors.len();
    let mut counter = Counter::new(symbols);
    counter.want(&repeat.typical);
    let earliest = |index: usize| match index.checked_sub(1) {
        None => 0,
        Some(before) => anchor_ends.get(before).map_or(anchors[before] + 1, |&end| end).min(anchors[index]),
    };
    // Calls before the first anchor that come before another one too belong to the first iteration.
    let (begin, mut lead) = (1..count.min(4)).fold((anchors[0], 0), |best, index| {
        let (begin, other) = align(symbols, (0, anchors[0]), (earliest(index), anchors[index]));
        let lead = anchors[index] - other;
        if lead > best.1 { (begin, lead) } else { best }
    });
    let reference = anchors[1];
    // A few calls that come once, such as those that set a loop up, do not hide that recording began with an iteration.
    let all_lead_in = 50 * begin <= repeat.length;
    // Recording that begins with an iteration and ends with one was cut between iterations.
    let last_start = anchors[count - 1].saturating_sub(lead);
    let last_end = counter.extent(symbols, last_start);
    let is_tiled = all_lead_in
        && 50 * (symbols.len() - last_end) <= repeat.length
        && 10 * (last_end - last_start) >= 9 * repeat.length;
    // Where other work comes before the first iteration, what that has in common with the others is where they begin.
    let may_be_cut = all_lead_in && !is_tiled;
    let pause = if may_be_cut { natural_break(items, anchors, lead, &earliest) } else { None };
    // An iteration that was cut left more behind than what prepares the next one.
    let work = |from: usize, to: usize| items[from..to].iter().map(|item| item.work).sum::<i64>();
    let leaves_work = |lead: usize| {
        let first = align_back(symbols, (0, anchors[0]), (reference - lead.min(reference), reference));
        !all_lead_in || 50 * work(0, first) >= work(anchors[0], reference)
    };
    let is_cut_inside = pause.is_some_and(leaves_work);
    if let Some(break_lead) = pause.filter(|_| is_cut_inside) {
        lead = break_lead;
    }
    // Where every iteration begins: as far before its anchor as the second one does before its own.
    let model = (reference - lead.min(reference), reference);
    let mut starts: Vec<usize> = Vec::with_capacity(count + 1);
    for (index, &anchor) in anchors.iter().enumerate() {
        let start = match lead {
            0 => anchor,
            _ => align_back(symbols, (earliest(index), anchor), model),
        };
        starts.push(start);
    }
    // What lies before the first iteration is the end of one more where it equals what lies before the second.
    let before = starts[0];
    let is_clipped = is_cut_inside && before >= 3 && 20 * before >= repeat.length;
    let mut blocks = Vec::with_capacity(count + 2);
    if all_lead_in && is_clipped {
        blocks.push(Block { start: 0, end: before, whole: 5 * before >= 4 * repeat.length });
    } else if all_lead_in {
        starts[0] = 0;
    }
    for (index, &start) in starts.iter().enumerate() {
        let usual_end = counter.extent(symbols, start);
        let next = starts.get(index + 1).copied();
        let end = match next {
            Some(next) if index > 0 && is_foreign(repeat, usual_end, next) => usual_end,
            Some(next) => next,
            None => usual_end,
        };
        let whole = (index > 0 && next.is_some()) || 5 * (end - start) >= 4 * repeat.length;
        blocks.push(Block { start, end: end.max(start + 1).min(symbols.len()), whole });
    }
    if let Some(rest) = clipped_iteration(items, symbols, repeat, &blocks) {
        blocks.push(rest);
    }
    blocks
}

/// Whether so much lies between the usual end of an iteration and the beginning of the next that it is no part of
/// either.
fn is_foreign(repeat: &Repeat, usual_end: usize, next: usize) -> bool {
    next.saturating_sub(usual_end) > (repeat.length / 2).clamp(4, 16).max(repeat.length / 4)
}

/// The clipped iteration after the last one.
fn clipped_iteration(items: &[Item], symbols: &[u32], repeat: &Repeat, blocks: &[Block]) -> Option<Block> {
    let last = blocks.last()?;
    let model = blocks.iter().rev().nth(1).filter(|block| block.whole)?;
    let start = last.end;
    let rest = &symbols[start..];
    let beginning = &symbols[model.start..model.end];
    let equal = rest.iter().zip(beginning).take_while(|(a, b)| a == b).count();
    let end = start + equal;
    // A clipped iteration goes on to the end of the recording.
    let is_clipped = 10 * equal >= 8 * rest.len() || 10 * equal >= 9 * repeat.length;
    let is_part = equal >= 3 && 20 * equal >= repeat.length && is_clipped;
    let has_work = || items[start..end].iter().any(|item| item.work > 0);
    let whole = 5 * equal >= 4 * repeat.length;
    (is_part && has_work()).then_some(Block { start, end, whole })
}

/// How many calls before its anchor an iteration begins where the host pauses most, if that is much longer than the
/// pause before the calls that lie `lead` before their anchors.
fn natural_break(
    items: &[Item],
    anchors: &[usize],
    lead: usize,
    earliest: &impl Fn(usize) -> usize,
) -> Option<usize> {
    let step = anchors.len().div_ceil(64).max(1);
    let mut widest: Vec<(usize, i64)> = Vec::new();
    let mut usual: Vec<i64> = Vec::new();
    for index in (1..anchors.len()).step_by(step) {
        let anchor = anchors[index];
        let pauses = (earliest(index)..=anchor).map(|at| (anchor - at, pause_before(items, at)));
        widest.extend(pauses.max_by_key(|&(before, pause)| (pause, std::cmp::Reverse(before))));
        usual.extend(anchor.checked_sub(lead).filter(|&at| at > 0).map(|at| pause_before(items, at)));
    }
    usual.sort_unstable();
    let usual = usual.get(usual.len() / 2).copied().unwrap_or(0);
    let mut places: Vec<usize> = widest.iter().map(|&(before, _)| before).collect();
    places.sort_unstable();
    let place = places.chunk_by(|a, b| a == b).max_by_key(|run| run.len())?;
    if 5 * place.len() < 3 * widest.len() {
        return None;
    }
    let pauses = widest.iter().filter(|(before, _)| *before == place[0]).map(|&(_, pause)| pause);
    (upper_median(pauses)? > usual.saturating_mul(2)).then_some(place[0])
}

/// Time from the end of the call before to the start of this one.
pub(crate) fn pause_before(items: &[Item], at: usize) -> i64 {
    match at.checked_sub(1) {
        Some(before) => items[at].start.saturating_sub(items[before].end).max(0),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use trace_ingest::EventId;

    use super::super::repeats::cut_unlike;
    use super::*;
    use perf_models::ParameterUpdate;

    fn symbols(text: &str) -> Vec<u32> {
        text.bytes().map(u32::from).collect()
    }

    /// Calls named by letters, with a pause before every `|` that is no call itself.
    fn items(text: &str) -> (Vec<Item>, Vec<u32>) {
        let mut clock = 0;
        let mut items = Vec::new();
        for symbol in text.bytes() {
            if symbol == b'|' {
                clock += 500;
                continue;
            }
            items.push(Item {
                event: EventId(items.len() as u32),
                start: clock,
                end: clock + 10,
                symbol: u32::from(symbol),
                work: 5,
                update: ParameterUpdate::No,
                backward: false,
                touches_host: false,
                graph_launch: false,
                runs_model: false,
                to_host: false,
                chooses: false,
                waits: false,
                sequence: None,
            });
            clock += 11;
        }
        let symbols = items.iter().map(|item| item.symbol).collect();
        (items, symbols)
    }

    /// Start, end and wholeness of the blocks around every `a`.
    fn found(text: &str) -> Vec<(usize, usize, bool)> {
        let (items, symbols) = items(text);
        let anchors = (0..symbols.len()).filter(|&at| symbols[at] == u32::from(b'a')).collect();
        let repeat = cut_unlike(&symbols, anchors, &mut Counter::new(&symbols)).unwrap();
        blocks(&items, &symbols, &repeat, &[])
            .iter()
            .map(|block| (block.start, block.end, block.whole))
            .collect()
    }

    #[test]
    fn stretches_are_followed_back_over_a_few_calls_that_differ() {
        let text = symbols("pqrstuvw__pqrsXtuvw");
        assert_eq!(align(&text, (0, 8), (10, 19)), (0, 10));
        assert_eq!(align_back(&text, (0, 8), (10, 19)), 0);
        // Too few equal calls behind the difference.
        let text = symbols("rstuvw__rsXtuvw");
        assert_eq!(align(&text, (0, 6), (8, 15)), (2, 11));
    }

    #[test]
    fn a_recording_that_begins_with_an_iteration_shows_where_others_begin() {
        assert_eq!(
            found("xyaz".repeat(4).as_str()),
            [(0, 4, true), (4, 8, true), (8, 12, true), (12, 16, true)]
        );
    }

    #[test]
    fn what_sets_a_program_up_is_no_part_of_its_first_iteration() {
        let text = format!("123456789{}", "xyaz".repeat(3));
        assert_eq!(found(&text), [(9, 13, true), (13, 17, true), (17, 21, true)]);
    }

    #[test]
    fn a_recording_cut_inside_shows_iterations_by_their_pauses() {
        let text = format!("uvwz|{}xyab", "xyabcdefuvwz|".repeat(3));
        let blocks = found(&text);
        assert_eq!(blocks[..3], [(0, 4, false), (4, 16, true), (16, 28, true)]);
        assert_eq!(blocks.last(), Some(&(40, 44, false)));
    }

    #[test]
    fn other_work_between_iterations_is_part_of_none() {
        let other = "0123456789ABCDEFGHIJKLMNO";
        let text = format!("xyazxyaz{other}xyazxyaz");
        assert_eq!(found(&text)[1], (4, 8, true));
    }
}
