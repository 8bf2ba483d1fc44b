//! Runs of steps that do the same kind of work, and which of two traces are most alike.

use std::cmp::Ordering;
use std::ops::Range;

use perf_models::StepStatistics;

use crate::split::StepWork;
use crate::step::Phase;

/// A run of steps of one phase, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Number among the blocks of its trace.
    pub index: usize,
    /// What its steps do; never [`Phase::Unknown`].
    pub phase: Phase,
    /// Its steps, as positions among those of the trace.
    pub steps: Range<usize>,
    /// Steps of the run that it is a part of.
    pub run_length: usize,
}

impl Block {
    /// Whether it is not the whole run.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.steps.len() != self.run_length
    }
}

/// The longest runs of steps of one phase, each cut into windows of `window` steps where it is longer; what is left
/// over at its end is in no block. Without a window runs stay whole.
///
/// Steps that run nothing end a run. A single decode step is no run: it says nothing of the steady course of decoding.
#[must_use]
pub fn blocks(steps: &[StepWork], window: Option<usize>) -> Vec<Block> {
    runs(steps, window, 2)
}

/// [`blocks`], with decode steps in runs of `least_decode` steps or more.
fn runs(steps: &[StepWork], window: Option<usize>, least_decode: usize) -> Vec<Block> {
    let mut found = Vec::new();
    let mut start = 0;
    for run in steps.chunk_by(|a, b| a.phase == b.phase) {
        let (phase, length) = (run[0].phase, run.len());
        let least = if phase == Phase::Decode { least_decode } else { 1 };
        if phase != Phase::Unknown && length >= least {
            let window = window.filter(|&window| window > 0 && window < length).unwrap_or(length);
            found.extend((0..length / window).map(|number| {
                let start = start + number * window;
                (phase, start..start + window, length)
            }));
        }
        start += length;
    }
    let block = |(index, (phase, steps, run_length))| Block { index, phase, steps, run_length };
    found.into_iter().enumerate().map(block).collect()
}

/// How to look for blocks that match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchOptions {
    /// Phases to find a pair for, in this order.
    pub phases: Vec<Phase>,
    /// Longer runs are cut into windows of so many steps; `None` keeps runs whole.
    pub window: Option<usize>,
}

impl Default for MatchOptions {
    fn default() -> Self {
        MatchOptions { phases: vec![Phase::Decode, Phase::Mixed], window: Some(16) }
    }
}

/// Two blocks that do nearly the same work.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockMatch {
    /// What both do.
    pub phase: Phase,
    /// How far apart they are: means over steps of the absolute differences of what [`distance_terms`] names.
    pub distance: Vec<f64>,
    /// That of the first trace and that of the second.
    pub blocks: [Block; 2],
}

/// A phase that no pair was found for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchNote {
    /// The phase.
    pub phase: Phase,
    /// Blocks of each trace whose steps all say the token counts that blocks are compared by.
    pub eligible: [usize; 2],
    /// Pairs of such blocks with as many steps.
    pub same_size: usize,
}

impl MatchNote {
    /// Why there is no pair, for people; the traces are called A and B.
    #[must_use]
    pub fn reason(&self) -> String {
        let [a, b] = self.eligible;
        let lacking = match (a, b) {
            (0, 0) => "neither trace has",
            (0, _) => "A does not have",
            (_, 0) => "B does not have",
            _ => {
                return format!(
                    "no block of A has the same number of steps as a block of B (blocks: {a} in A, {b} in B)"
                );
            }
        };
        let least = if self.phase == Phase::Decode { "two or more consecutive steps" } else { "steps" };
        format!("{lacking} {least} of the phase with token counts")
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matches {
    /// The nearest pair of each phase, in the order of the phases.
    pub pairs: Vec<BlockMatch>,
    /// The phases without one.
    pub notes: Vec<MatchNote>,
}

/// What blocks of a phase are compared by, most important first: `sq` are new tokens, `sk` tokens attended to, of
/// context (`c`) and generation (`g`) requests.
#[must_use]
pub fn distance_terms(phase: Phase) -> &'static [&'static str] {
    match phase {
        Phase::Decode => &["g_sq", "g_sk"],
        _ => &["context_requests", "generation_requests", "c_sq", "g_sq"],
    }
}

/// The nearest pair of equally long blocks for each phase: least distance, term by term; of equally near ones that
/// from the longest runs, then the longest, then the first.
///
/// Where both traces have the same steps, as a trace and its copy have, the longest run of a phase matches itself even if
/// it is a single step or does not say its token counts.
#[must_use]
pub fn match_blocks(first: &[StepWork], second: &[StepWork], options: &MatchOptions) -> Matches {
    let steps = [first, second];
    let all = steps.map(|steps| blocks(steps, options.window));
    let mut matches = Matches::default();
    for &phase in &options.phases {
        let eligible = [0, 1].map(|side| -> Vec<&Block> {
            let says_tokens = |block: &&Block| {
                steps[side][block.steps.clone()].iter().all(|work| work.statistics.is_some())
            };
            all[side].iter().filter(|block| block.phase == phase).filter(says_tokens).collect()
        });
        let pairs = eligible[0].iter().flat_map(|a| eligible[1].iter().map(move |b| [*a, *b]));
        let pairs = pairs.filter(|[a, b]| a.steps.len() == b.steps.len());
        let mut same_size = 0;
        let mut best: Option<BlockMatch> = None;
        for [a, b] in pairs {
            same_size += 1;
            let distance = distance(phase, &first[a.steps.clone()], &second[b.steps.clone()]);
            let pair = BlockMatch { phase, distance, blocks: [a.clone(), b.clone()] };
            if best.as_ref().is_none_or(|best| nearness(&pair, best).is_lt()) {
                best = Some(pair);
            }
        }
        let is_same = best.is_none() && first == second;
        match best.or_else(|| is_same.then(|| longest(phase, first, options.window)).flatten()) {
            Some(pair) => matches.pairs.push(pair),
            None => {
                let eligible = eligible.map(|blocks| blocks.len());
                matches.notes.push(MatchNote { phase, eligible, same_size });
            }
        }
    }
    matches
}

/// The first of the longest runs of a phase, with itself.
fn longest(phase: Phase, steps: &[StepWork], window: Option<usize>) -> Option<BlockMatch> {
    let blocks = runs(steps, window, 1).into_iter().filter(|block| block.phase == phase);
    // The last of equal keys is the greatest.
    let block = blocks.rev().max_by_key(|block| (block.run_length, block.steps.len()))?;
    let of = &steps[block.steps.clone()];
    Some(BlockMatch { phase, distance: distance(phase, of, of), blocks: [block.clone(), block] })
}

/// Less for the nearer pair.
fn nearness(one: &BlockMatch, other: &BlockMatch) -> Ordering {
    let shorter_run = |pair: &BlockMatch| pair.blocks.iter().map(|block| block.run_length).min();
    let steps = |pair: &BlockMatch| pair.blocks[0].steps.len();
    let differing = one.distance.iter().zip(&other.distance).map(|(a, b)| a.total_cmp(b));
    let by_distance = differing.fold(Ordering::Equal, Ordering::then);
    by_distance.then(shorter_run(other).cmp(&shorter_run(one))).then(steps(other).cmp(&steps(one)))
}

fn distance(phase: Phase, first: &[StepWork], second: &[StepWork]) -> Vec<f64> {
    type Term = fn(&StepWork, StepStatistics) -> i64;
    let terms: &[Term] = match phase {
        Phase::Decode => &[|_, s| s.generation.queries, |_, s| s.generation.keys],
        _ => &[
            |work, _| work.context_requests,
            |work, _| work.generation_requests,
            |_, s| s.context.queries,
            |_, s| s.generation.queries,
        ],
    };
    let value = |term: &Term, work: &StepWork| term(work, work.statistics.unwrap_or_default()) as f64;
    let mean = |term: &Term| {
        let pairs = first.iter().zip(second);
        let sum: f64 = pairs.map(|(a, b)| (value(term, a) - value(term, b)).abs()).sum();
        sum / first.len().max(1) as f64
    };
    terms.iter().map(mean).collect()
}

#[cfg(test)]
mod blocks_tests {
    use super::*;

    fn found(phases: &str, window: Option<usize>) -> Vec<(usize, Phase, Range<usize>, bool)> {
        let phase = |letter| match letter {
            'p' => Phase::Prefill,
            'm' => Phase::Mixed,
            'd' => Phase::Decode,
            _ => Phase::Unknown,
        };
        let work = |letter| StepWork { phase: phase(letter), ..StepWork::UNKNOWN };
        let steps: Vec<StepWork> = phases.chars().map(work).collect();
        let blocks = blocks(&steps, window);
        blocks.into_iter().map(|b| (b.index, b.phase, b.steps.clone(), b.is_truncated())).collect()
    }

    #[test]
    fn runs_end_where_the_phase_changes_or_nothing_runs() {
        let whole = [
            (0, Phase::Prefill, 0..1, false),
            (1, Phase::Decode, 1..4, false),
            (2, Phase::Mixed, 5..6, false),
            (3, Phase::Mixed, 7..8, false),
        ];
        assert_eq!(found("pddd-m-md", None), whole);
        assert_eq!(found("--", None), []);
        assert_eq!(found("", Some(4)), []);
    }

    #[test]
    fn long_runs_are_cut_and_what_is_left_over_is_dropped() {
        let cut = [
            (0, Phase::Decode, 0..3, true),
            (1, Phase::Decode, 3..6, true),
            (2, Phase::Mixed, 7..10, false),
            (3, Phase::Prefill, 10..12, false),
        ];
        assert_eq!(found("dddddddmmmpp", Some(3)), cut);
        assert_eq!(found("ddd", Some(0)), [(0, Phase::Decode, 0..3, false)]);
    }
}

#[cfg(test)]
mod pairing_tests {
    use perf_models::TokenStatistics;

    use super::*;

    fn tokens(queries: i64, keys: i64) -> TokenStatistics {
        TokenStatistics { queries, keys, ..TokenStatistics::default() }
    }

    fn decode(requests: i64, keys: i64) -> StepWork {
        let generation = tokens(requests, keys);
        StepWork {
            phase: Phase::Decode,
            generation_requests: requests,
            statistics: Some(StepStatistics { generation, ..StepStatistics::default() }),
            ..StepWork::UNKNOWN
        }
    }

    fn mixed(context_requests: i64, context_tokens: i64, generation_requests: i64) -> StepWork {
        let (context, generation) =
            (tokens(context_tokens, context_tokens), tokens(generation_requests, 100));
        StepWork {
            phase: Phase::Mixed,
            context_requests,
            generation_requests,
            statistics: Some(StepStatistics { context, generation }),
            ..StepWork::UNKNOWN
        }
    }

    fn options(phase: Phase, window: Option<usize>) -> MatchOptions {
        MatchOptions { phases: vec![phase], window }
    }

    /// Block numbers and distance of the only pair.
    fn pair(first: &[StepWork], second: &[StepWork], options: &MatchOptions) -> (usize, usize, Vec<f64>) {
        let matches = match_blocks(first, second, options);
        assert_eq!((matches.pairs.len(), matches.notes.len()), (1, 0), "{matches:?}");
        let [a, b] = &matches.pairs[0].blocks;
        (a.index, b.index, matches.pairs[0].distance.clone())
    }

    #[test]
    fn a_trace_matches_itself() {
        let steps = [vec![decode(8, 800); 20], vec![mixed(1, 50, 7); 3], vec![decode(8, 900); 20]].concat();
        let matches = match_blocks(&steps, &steps, &MatchOptions::default());
        let found: Vec<_> = matches.pairs.iter().map(|pair| (pair.phase, pair.distance.clone())).collect();
        assert_eq!(found, [(Phase::Decode, vec![0.0; 2]), (Phase::Mixed, vec![0.0; 4])]);
        assert!(matches.pairs.iter().all(|pair| pair.blocks[0] == pair.blocks[1]));
        assert_eq!(
            (matches.pairs[0].blocks[0].steps.clone(), matches.pairs[0].blocks[0].run_length),
            (0..16, 20)
        );
    }

    #[test]
    fn requests_count_before_contexts() {
        let first = vec![decode(8, 1000); 2];
        let second = [vec![decode(9, 1000); 2], vec![StepWork::UNKNOWN], vec![decode(8, 5250); 2]].concat();
        assert_eq!(pair(&first, &second, &options(Phase::Decode, None)), (0, 1, vec![0.0, 4250.0]));
        let (first, second) = ([mixed(2, 600, 6)], [mixed(3, 600, 6), StepWork::UNKNOWN, mixed(1, 175, 6)]);
        assert_eq!(pair(&first, &second, &options(Phase::Mixed, None)), (0, 0, vec![1.0, 0.0, 0.0, 0.0]));
        assert_eq!(
            pair(&first, &second[2..], &options(Phase::Mixed, None)),
            (0, 0, vec![1.0, 0.0, 425.0, 0.0])
        );
    }

    #[test]
    fn of_equally_near_blocks_those_of_longer_runs_and_the_longer_are_taken() {
        let gap = vec![StepWork::UNKNOWN];
        let steps =
            [vec![decode(8, 800); 4], gap.clone(), vec![decode(8, 800); 9], gap, vec![decode(8, 800); 6]]
                .concat();
        // Windows: 0..4, 5..9, 9..13, 14..18.
        assert_eq!(pair(&steps, &steps, &options(Phase::Decode, Some(4))), (1, 1, vec![0.0, 0.0]));
        assert_eq!(pair(&steps, &steps, &options(Phase::Decode, None)), (1, 1, vec![0.0, 0.0]));
    }

    #[test]
    fn a_phase_without_pair_says_how_near_it_came() {
        let silent = StepWork { statistics: None, ..decode(8, 800) };
        let first = [vec![decode(8, 800); 3], vec![mixed(1, 50, 7)], vec![silent; 4]].concat();
        let second = vec![decode(8, 800); 4];
        let matches = match_blocks(&first, &second, &MatchOptions::default());
        let note = |phase, eligible| MatchNote { phase, eligible, same_size: 0 };
        assert_eq!(matches.notes, [note(Phase::Decode, [1, 1]), note(Phase::Mixed, [1, 0])]);
        assert!(matches.pairs.is_empty());
        assert_eq!(
            matches.notes[0].reason(),
            "no block of A has the same number of steps as a block of B (blocks: 1 in A, 1 in B)"
        );
        assert!(matches.notes[1].reason().starts_with("B does not have steps of the phase"));
    }
}

#[cfg(test)]
mod equal_traces_tests {
    use super::*;

    fn work(phase: Phase, batch_size: i64) -> StepWork {
        StepWork { phase, batch_size, ..StepWork::UNKNOWN }
    }

    #[test]
    fn the_longest_run_of_equal_traces_matches_itself() {
        let (mixed, decode) = (work(Phase::Mixed, 9), work(Phase::Decode, 8));
        let steps = [decode, mixed, decode, mixed, mixed, decode];
        let matches = match_blocks(&steps, &steps, &MatchOptions::default());
        let found =
            matches.pairs.iter().map(|pair| (pair.phase, pair.blocks.each_ref().map(|b| b.steps.clone())));
        let expected = [(Phase::Decode, [0..1, 0..1]), (Phase::Mixed, [3..5, 3..5])];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert!(matches.pairs.iter().flat_map(|pair| &pair.distance).all(|&distance| distance == 0.0));
        assert!(matches.notes.is_empty());
    }

    #[test]
    fn other_traces_need_token_counts_as_before() {
        let (one, other) = ([work(Phase::Decode, 8); 2], [work(Phase::Decode, 4); 2]);
        let matches = match_blocks(&one, &other, &MatchOptions::default());
        assert!(matches.pairs.is_empty());
        assert_eq!(matches.notes.len(), 2);
    }
}
