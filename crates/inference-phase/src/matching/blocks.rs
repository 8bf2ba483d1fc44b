//! Runs of steps that do the same kind of work.

use std::ops::Range;

use crate::phase::Phase;
use crate::split::StepWork;

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
    let mut found = Vec::new();
    let mut start = 0;
    for run in steps.chunk_by(|a, b| a.phase == b.phase) {
        let (phase, length) = (run[0].phase, run.len());
        let least = if phase == Phase::Decode { 2 } else { 1 };
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

#[cfg(test)]
mod tests {
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
