//! What a stretch of steps runs on the whole.

use super::steps::StepWork;
use crate::phase::Phase;

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
    /// That of these steps.
    pub fn of<'w>(steps: impl IntoIterator<Item = &'w StepWork>) -> Self {
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

#[cfg(test)]
mod tests {
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
        assert_eq!(WindowLoad::of(&steps), expected);
        assert_eq!(WindowLoad::of(&[]), WindowLoad::default());
    }
}
