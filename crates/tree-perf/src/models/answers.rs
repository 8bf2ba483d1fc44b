//! The answers of models, each kept once.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;
use trace_ingest::EventId;

use super::{CallKey, Evaluation};

/// The number of a call whose answer is not known yet.
const UNKNOWN: u32 = u32::MAX;

/// Answers by call: what distinguishes calls is compared once per call, whoever asks how often.
pub(super) struct Answers {
    /// Number of the answer, per event.
    of_event: Vec<AtomicU32>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    numbers: HashMap<CallKey, u32>,
    /// By number.
    answers: Vec<Arc<Evaluation>>,
}

impl Answers {
    pub(super) fn new(events: usize) -> Self {
        Answers { of_event: (0..events).map(|_| AtomicU32::new(UNKNOWN)).collect(), kept: Mutex::default() }
    }

    /// The answer for this call; `key` and `evaluate` are asked when it is not known.
    pub(super) fn of(
        &self,
        event: EventId,
        key: impl FnOnce() -> CallKey,
        evaluate: impl FnOnce(&CallKey) -> Evaluation,
    ) -> Arc<Evaluation> {
        let number = &self.of_event[event.index()];
        let known = number.load(Ordering::Relaxed);
        if known != UNKNOWN {
            return Arc::clone(&self.kept().answers[known as usize]);
        }
        let key = key();
        let known = self.kept().numbers.get(&key).copied();
        // Not under the lock: a model may be a script.
        let known = known.unwrap_or_else(|| {
            let answer = Arc::new(evaluate(&key));
            let Kept { numbers, answers } = &mut *self.kept();
            *numbers.entry(key).or_insert_with(|| {
                answers.push(answer);
                answers.len() as u32 - 1
            })
        });
        number.store(known, Ordering::Relaxed);
        Arc::clone(&self.kept().answers[known as usize])
    }

    /// A panic elsewhere leaves it whole: entries are put in complete.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
