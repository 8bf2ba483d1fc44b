//! What evidence shows of the iterations, before it is put in order.

use crate::level::Level;
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

    /// Adds what another process did: iterations of levels that both have.
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
            (known.kind, &known.name, known.evidence) == (level.kind, &level.name, level.evidence)
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
