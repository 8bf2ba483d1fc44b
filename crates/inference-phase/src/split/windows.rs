//! The steady state of an engine: the regions of full concurrency, and the windows that stand for them.

use std::ops::Range;

use super::steps::StepWork;
use crate::step::Phase;

/// How many steps of each phase, and how full they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowLoad {
    /// Steps with context requests only.
    pub prefill: usize,
    /// Steps with both kinds.
    pub mixed: usize,
    /// Steps with generation requests only.
    pub decode: usize,
    /// Tokens of a step on average, rounded down; 0 without steps.
    pub mean_batch_size: i64,
    /// Requests of a step on average, rounded down; 0 without steps.
    pub mean_requests: i64,
}

impl WindowLoad {
    /// The load of these steps.
    pub fn new<'w>(steps: impl IntoIterator<Item = &'w StepWork>) -> Self {
        let (mut load, mut steps_seen) = (WindowLoad::default(), 0);
        let (mut tokens, mut requests) = (0i128, 0i128);
        for work in steps {
            match work.phase {
                Phase::Prefill => load.prefill += 1,
                Phase::Mixed => load.mixed += 1,
                Phase::Decode => load.decode += 1,
                Phase::Unknown => {}
            }
            steps_seen += 1;
            tokens += i128::from(work.batch_size);
            requests += i128::from(work.requests());
        }
        let mean = |sum: i128| i64::try_from(sum / i128::max(steps_seen, 1)).unwrap_or(i64::MAX);
        load.mean_batch_size = mean(tokens);
        load.mean_requests = mean(requests);
        load
    }
}

/// So many steps in a row at full concurrency begin a region, so many in a row below it end one.
const SETTLED: usize = 6;

/// How regions are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RegionRule {
    /// Six steps in a row at full concurrency begin a region, six in a row below it end one. It reaches from the
    /// first to the last of its steps at full concurrency.
    #[default]
    Consecutive,
    /// Steps at full concurrency need not follow each other to begin a region, stray steps are counted over the whole region
    /// and the sixth ends it, and the last step is in none.
    Counted,
}

/// The regions of steps with these numbers of requests; `window` is how many steps shall be cut out later.
///
/// A step is at full concurrency when its requests are at most a tenth (a fifth where there are fewer steps than
/// `window`) fewer than the largest number, one at least. Where that gives no region, the middle of the steps is
/// taken for one: there is no telling better what is warming up and running dry.
#[must_use]
pub fn steady_regions(requests: &[i64], window: usize, rule: RegionRule) -> Vec<Range<usize>> {
    let Some(&most) = requests.iter().max() else { return Vec::new() };
    let share = if requests.len() >= window { 0.1 } else { 0.2 };
    let tolerance = (share * most as f64).max(1.0);
    let is_full: Vec<bool> = requests.iter().map(|&count| (most - count) as f64 <= tolerance).collect();
    let regions = match rule {
        RegionRule::Consecutive => consecutive(&is_full),
        RegionRule::Counted => counted(&is_full),
    };
    if regions.is_empty() { vec![middle(requests.len(), window)] } else { regions }
}

/// [`RegionRule::Counted`]: steps at full concurrency begin a region as soon as there are [`SETTLED`] of them, stray ones among others too, and as
/// many steps below it end one.
fn counted(is_full: &[bool]) -> Vec<Range<usize>> {
    let mut regions = Vec::new();
    let mut start = None;
    let mut count = 0;
    for (step, &full) in is_full.iter().enumerate() {
        match start {
            None if full => {
                count += 1;
                if count == SETTLED {
                    start = Some(step + 1 - SETTLED);
                }
            }
            Some(first) if !full => {
                count -= 1;
                if count == 0 {
                    regions.push(first..step);
                    start = None;
                }
            }
            _ => {}
        }
    }
    regions.extend(start.map(|first| first..is_full.len() - 1));
    regions
}

fn consecutive(is_full: &[bool]) -> Vec<Range<usize>> {
    let mut regions = Vec::new();
    let mut open: Option<Range<usize>> = None;
    // Steps in a row that are not as those before them.
    let mut others = 0;
    for (step, &full) in is_full.iter().enumerate() {
        others = if full == open.is_some() { 0 } else { others + 1 };
        match &mut open {
            None if others == SETTLED => open = Some(step + 1 - SETTLED..step + 1),
            Some(region) if full => region.end = step + 1,
            Some(_) if others == SETTLED => regions.extend(open.take()),
            _ => continue,
        }
        others = 0;
    }
    regions.extend(open);
    regions
}

fn middle(steps: usize, window: usize) -> Range<usize> {
    let trimmed = window.saturating_sub(steps).max(8).min(steps);
    let start = trimmed / 2;
    start..(steps - trimmed / 2).max(start + 1)
}

/// The load that a server is under, from which the share of steps with context requests follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerLoad {
    /// Requests at a time.
    pub concurrency: f64,
    /// Tokens that a request is extended by.
    pub output_tokens: f64,
    /// Minimum output length as a share of the maximum, 0 to 1; `output_tokens` is the maximum.
    pub range_ratio: f64,
}

impl ServerLoad {
    /// Share of steps that begin a request: a request is begun every (mean output tokens) / concurrency steps,
    /// outputs being evenly spread between the shortest and the longest.
    #[must_use]
    pub fn context_share(&self) -> f64 {
        2.0 * self.concurrency / (self.output_tokens * (1.0 + self.range_ratio.clamp(0.0, 1.0)))
    }
}

/// Windows of the steady state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SteadyWindows {
    /// As like as possible to all steady steps in its share of steps with context requests.
    pub mixed: Option<Range<usize>>,
    /// Nothing but generation.
    pub decode_only: Option<Range<usize>>,
    /// Context requests in every step.
    pub context_bearing: Option<Range<usize>>,
}

/// Chooses windows of about `length` steps in the largest of the regions (the first of equally large ones).
///
/// The wanted share of steps with context requests is that of all regions together, or the one that `load`
/// implies; the latter may make the window longer, so that it can have one such step. Where several windows come
/// equally near, the one with more requests is taken, then the earlier one.
#[must_use]
pub fn steady_windows(
    steps: &[StepWork],
    regions: &[Range<usize>],
    length: usize,
    load: Option<ServerLoad>,
) -> SteadyWindows {
    let Some(region) = regions.iter().rev().max_by_key(|region| region.len()).cloned() else {
        return SteadyWindows::default();
    };
    let pooled: Vec<StepWork> = regions.iter().flat_map(|region| &steps[region.clone()]).copied().collect();
    let (mut wanted, mut length) = (context_share(&pooled), length.max(1));
    if let Some(share) =
        load.map(|load| load.context_share()).filter(|share| share.is_finite() && *share > 0.0)
    {
        wanted = share;
        length = length.max((1.0 / share).ceil() as usize);
    }
    let run = |wanted: fn(&StepWork) -> bool| {
        let run = longest_run(steps, region.clone(), wanted)?;
        Some(run.start..run.end.min(run.start.saturating_add(length)))
    };
    SteadyWindows {
        decode_only: run(|work| work.phase == Phase::Decode),
        context_bearing: run(StepWork::bears_context),
        mixed: nearest(steps, candidates(region, length), wanted),
    }
}

/// Share of steps with context requests.
fn context_share(steps: &[StepWork]) -> f64 {
    let bearing = steps.iter().filter(|work| work.bears_context()).count();
    bearing as f64 / steps.len().max(1) as f64
}

/// Windows of this length, overlapping; the whole region when it is shorter.
fn candidates(region: Range<usize>, length: usize) -> Vec<Range<usize>> {
    if region.len() < length {
        return vec![region];
    }
    // Ten windows to a length, fewer where they would begin less than two steps after each other.
    let stride = (length as f64 / (length as f64 / 2.0).clamp(1.0, 10.0)) as usize;
    let last = region.end - length;
    (region.start..=last).step_by(stride.max(1)).map(|start| start..start + length).collect()
}

/// The window with a share of context-bearing steps nearest to the wanted one.
fn nearest(steps: &[StepWork], candidates: Vec<Range<usize>>, wanted: f64) -> Option<Range<usize>> {
    let bears_context = |window: &Range<usize>| steps[window.clone()].iter().any(StepWork::bears_context);
    let any = candidates.iter().any(bears_context);
    let rank = |window: &Range<usize>| {
        let steps = &steps[window.clone()];
        let requests: f64 = steps.iter().map(|work| work.requests() as f64).sum();
        ((context_share(steps) - wanted).abs(), -requests / steps.len().max(1) as f64)
    };
    let ranked = candidates.into_iter().filter(|window| !any || bears_context(window));
    ranked
        .map(|window| (rank(&window), window))
        .min_by(|(a, _), (b, _)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)))
        .map(|(_, window)| window)
}

/// The first longest run of steps of a wanted phase.
fn longest_run(
    steps: &[StepWork],
    region: Range<usize>,
    wanted: fn(&StepWork) -> bool,
) -> Option<Range<usize>> {
    let mut longest: Option<Range<usize>> = None;
    let mut start = region.start;
    for at in region.clone() {
        if !wanted(&steps[at]) {
            start = at + 1;
        } else if longest.as_ref().is_none_or(|longest| at + 1 - start > longest.len()) {
            longest = Some(start..at + 1);
        }
    }
    longest
}

#[cfg(test)]
mod load_tests {
    use super::*;

    #[test]
    fn means_are_over_all_steps_and_rounded_down() {
        let work = |phase, batch_size, context_requests, generation_requests| StepWork {
            phase,
            batch_size,
            context_requests,
            generation_requests,
            ..StepWork::UNKNOWN
        };
        let steps = [
            work(Phase::Prefill, 100, 2, 0),
            work(Phase::Mixed, 200, 4, 6),
            work(Phase::Mixed, 300, 3, 7),
            work(Phase::Decode, 400, 0, 8),
            work(Phase::Unknown, 0, 0, 0),
        ];
        let expected = WindowLoad { prefill: 1, mixed: 2, decode: 1, mean_batch_size: 200, mean_requests: 6 };
        assert_eq!(WindowLoad::new(&steps), expected);
        assert_eq!(WindowLoad::new(&[]), WindowLoad::default());
    }
}

#[cfg(test)]
mod regions_tests {
    use super::*;

    /// Runs of a count, how often all runs are repeated, window, regions of the reference, regions in a row.
    type Case<'a> = (&'a [(usize, i64)], usize, usize, &'a [Range<usize>], &'a [Range<usize>]);

    #[test]
    #[allow(clippy::single_range_in_vec_init)]
    fn regions_of_known_courses() {
        let cases: &[Case<'_>] = &[
            (&[(4, 2), (30, 20)], 1, 32, &[4..33], &[4..34]),
            (&[(6, 2), (20, 20), (6, 2)], 1, 16, &[6..31], &[6..26]),
            (&[(6, 20)], 1, 8, &[0..5], &[0..6]),
            (&[(5, 20)], 1, 8, &[2..3], &[2..3]),
            (&[(1, 20), (1, 2)], 5, 12, &[4..6], &[4..6]),
            (
                &[(10, 1), (10, 100), (5, 95), (12, 50), (10, 100)],
                1,
                16,
                &[10..30, 37..46],
                &[10..25, 37..47],
            ),
            (&[(6, 20), (5, 2), (1, 20), (5, 2), (1, 20)], 1, 16, &[0..12], &[0..18]),
            (&[(20, 0)], 1, 8, &[0..19], &[0..20]),
            (&[], 1, 8, &[], &[]),
        ];
        for &(runs, times, window, reference, consecutive) in cases {
            let once: Vec<i64> = runs.iter().flat_map(|&(count, requests)| vec![requests; count]).collect();
            let requests = once.repeat(times);
            let found = |rule| steady_regions(&requests, window, rule);
            assert_eq!(found(RegionRule::Counted), reference, "{runs:?}");
            assert_eq!(found(RegionRule::Consecutive), consecutive, "{runs:?}");
        }
    }

    #[test]
    #[allow(clippy::single_range_in_vec_init)]
    fn fewer_steps_than_the_window_are_measured_less_strictly() {
        let requests = [[100; 3], [85; 3]].concat().repeat(3);
        assert_eq!(steady_regions(&requests, 18, RegionRule::Consecutive), [4..14]);
        assert_eq!(steady_regions(&requests, 19, RegionRule::Consecutive), [0..18]);
    }
}

#[cfg(test)]
mod windows_tests {
    use super::*;

    /// `p`, `m`, `d`, `-`: prefill, mixed, decode, nothing known; each with so many requests.
    fn steps(text: &str, requests: i64) -> Vec<StepWork> {
        text.chars()
            .map(|letter| {
                let (phase, context, generation) = match letter {
                    'p' => (Phase::Prefill, requests, 0),
                    'm' => (Phase::Mixed, 1, requests - 1),
                    'd' => (Phase::Decode, 0, requests),
                    _ => (Phase::Unknown, 0, 0),
                };
                StepWork {
                    phase,
                    context_requests: context,
                    generation_requests: generation,
                    ..StepWork::UNKNOWN
                }
            })
            .collect()
    }

    #[test]
    #[allow(clippy::single_range_in_vec_init)]
    fn decode_after_one_prefill_has_no_window_with_context() {
        let steps = steps("pdddddddddddddddddddd", 32);
        let windows = steady_windows(&steps, &[1..20], 8, None);
        assert_eq!(windows.mixed, Some(1..9));
        assert_eq!(windows.decode_only, Some(1..9));
        assert_eq!(windows.context_bearing, None);
    }

    #[test]
    fn the_mixed_window_has_the_share_of_all_regions() {
        // One step in four over both regions.
        let steps = steps("mdddmdddmdddddddddddmmmm", 8);
        let windows = steady_windows(&steps, &[0..20, 20..24], 4, None);
        assert_eq!(windows.mixed, Some(0..4));
        assert_eq!(windows.decode_only, Some(9..13));
        assert_eq!(windows.context_bearing, Some(0..1));
    }

    #[test]
    fn equally_near_windows_are_told_apart_by_their_requests() {
        let mut steps = steps("mdddmdddmddd", 8);
        steps[6].generation_requests = 9;
        let whole = 0..steps.len();
        assert_eq!(steady_windows(&steps, &[whole], 4, None).mixed, Some(4..8));
    }

    #[test]
    fn the_load_of_the_server_sets_share_and_length() {
        let load = ServerLoad { concurrency: 4.0, output_tokens: 64.0, range_ratio: 1.0 };
        assert_eq!(load.context_share(), 0.0625);
        assert_eq!(ServerLoad { range_ratio: 0.0, ..load }.context_share(), 0.125);
        assert_eq!(ServerLoad { range_ratio: 7.0, ..load }.context_share(), 0.0625);
        let steps = steps(&"mddd".repeat(8), 8);
        let whole = 0..steps.len();
        let windows = steady_windows(&steps, &[whole], 4, Some(load));
        assert_eq!(windows.mixed, Some(0..16));
        assert_eq!(windows.decode_only, Some(1..4));
    }

    #[test]
    #[allow(clippy::single_range_in_vec_init)]
    fn windows_are_as_long_as_regions_allow() {
        assert_eq!(candidates(3..6, 4), [3..6]);
        assert_eq!(candidates(3..7, 4), [3..7]);
        assert_eq!(candidates(0..6, 3), [0..3, 2..5]);
        assert_eq!(candidates(0..3, 1), [0..1, 1..2, 2..3]);
        assert_eq!(candidates(0..70, 64), [0..64, 6..70]);
        assert_eq!(steady_windows(&[], &[], 8, None), SteadyWindows::default());
    }
}
