//! The stretch of a region that stands for it.

use std::ops::Range;

use super::steps::StepWork;
use crate::phase::Phase;

/// The load that a server is under, from which the share of steps with context requests follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerLoad {
    /// Requests at a time.
    pub concurrency: f64,
    /// Tokens that a request is extended by.
    pub output_tokens: f64,
    /// Shortest output as a share of the longest, 0 to 1; `output_tokens` is the longest.
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
    let run = |wanted: fn(Phase) -> bool| {
        let run = longest_run(steps, region.clone(), wanted)?;
        Some(run.start..run.end.min(run.start.saturating_add(length)))
    };
    SteadyWindows {
        decode_only: run(|phase| phase == Phase::Decode),
        context_bearing: run(Phase::bears_context),
        mixed: nearest(steps, candidates(region, length), wanted),
    }
}

/// Share of steps with context requests.
fn context_share(steps: &[StepWork]) -> f64 {
    let bearing = steps.iter().filter(|work| work.phase.bears_context()).count();
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
    let bears_context =
        |window: &Range<usize>| steps[window.clone()].iter().any(|work| work.phase.bears_context());
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
fn longest_run(steps: &[StepWork], region: Range<usize>, wanted: fn(Phase) -> bool) -> Option<Range<usize>> {
    let mut longest: Option<Range<usize>> = None;
    let mut start = region.start;
    for at in region.clone() {
        if !wanted(steps[at].phase) {
            start = at + 1;
        } else if longest.as_ref().is_none_or(|longest| at + 1 - start > longest.len()) {
            longest = Some(start..at + 1);
        }
    }
    longest
}

#[cfg(test)]
mod tests {
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
