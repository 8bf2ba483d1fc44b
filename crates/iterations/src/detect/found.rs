//! What evidence shows of the iterations, before it is put in order.

use trace_ingest::TrackId;

use crate::level::{Evidence, Level};
use crate::reason::Reason;

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Level that is the steps, and why.
    pub(super) steps: Option<(Level, Reason)>,
    /// Levels around steps and in them.
    pub(super) others: Vec<Level>,
    /// Why there are no steps, where there are none.
    pub(super) failure: Option<Reason>,
}

impl Found {
    pub(super) fn add_steps(&mut self, level: Level, reason: Reason) {
        match &self.steps {
            None => self.steps = Some((level, reason)),
            Some(_) => self.others.push(level),
        }
    }

    /// Adds what another process did, where both are ranks of one program: iterations of levels that both have on threads
    /// of their own. Names of marks say that loops are the same; of loops without marks the numbers of iterations have to
    /// agree, but for one at the edges.
    pub(super) fn merge(&mut self, other: Found) {
        let Some((steps, _)) = &mut self.steps else {
            if self.others.is_empty() {
                let failure = self.failure.take();
                *self = other;
                self.failure = failure.or(self.failure.take());
            }
            return;
        };
        let same = |known: &Level, level: &Level| {
            let of = |thread: TrackId| known.iterations.iter().filter(move |one| one.track == Some(thread));
            let thread = known.iterations.first().and_then(|first| first.track);
            (known.kind, &known.name, known.evidence) == (level.kind, &level.name, level.evidence)
                && thread.is_some_and(|thread| {
                    level.evidence <= Evidence::Annotations
                        || of(thread).count().abs_diff(level.iterations.len()) <= 1
                })
        };
        if let Some((level, _)) = other.steps
            && same(steps, &level)
        {
            steps.iterations.extend(level.iterations);
        }
        for level in other.others {
            if let Some(known) = self.others.iter_mut().find(|known| same(known, &level)) {
                known.iterations.extend(level.iterations);
            }
        }
    }

    /// Numbers of iterations of all levels.
    pub(super) fn counts(&self) -> impl Iterator<Item = usize> {
        let steps = self.steps.iter().map(|(level, _)| level);
        steps.chain(&self.others).map(|level| level.iterations.len())
    }
}

#[cfg(test)]
mod tests {
    use trace_ingest::TraceBuilder;

    use super::*;
    use crate::level::{Iteration, LevelKind};

    #[test]
    fn loops_of_processes_are_joined_where_they_are_ranks_of_one_program() {
        let mut builder = TraceBuilder::new();
        let tracks = [1, 2].map(|process| Some(builder.track(process, 1)));
        let joined = |evidence, counts: [i64; 2], tracks: [Option<TrackId>; 2]| {
            let [mut first, second] = [0, 1].map(|process: usize| {
                let iteration = |at: i64| Iteration {
                    number: None,
                    track: tracks[process],
                    start: 10 * at,
                    end: 10 * at + 10,
                    whole: true,
                };
                let level = Level {
                    kind: LevelKind::Step,
                    name: "repeats".to_owned(),
                    evidence,
                    confidence: 1.0,
                    first: 0,
                    iterations: (0..counts[process]).map(iteration).collect(),
                };
                let mut found = Found::default();
                found.add_steps(level, Reason::LongestRepeat);
                found
            });
            first.merge(second);
            first.counts().sum::<usize>()
        };
        assert_eq!(joined(Evidence::Annotations, [5, 9], tracks), 14);
        assert_eq!(joined(Evidence::KernelSequence, [5, 6], tracks), 11);
        assert_eq!(joined(Evidence::KernelSequence, [5, 9], tracks), 5);
        // Devices without a host: the iterations of one would end where those of another begin.
        assert_eq!(joined(Evidence::KernelSequence, [5, 5], [None; 2]), 5);
    }
}
