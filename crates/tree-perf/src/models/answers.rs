//! The answers of models, each kept once.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};

use hashbrown::HashMap;
use operator_sheets::Evaluated;
use perf_models::Undefined;
use trace_ingest::{EventId, SignatureId, StringId};

/// What a model says of a call, or why there is none.
pub(crate) type Evaluation = Result<Evaluated, Undefined>;

/// What distinguishes calls for a model.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct ModelInput {
    pub(super) name: StringId,
    pub(super) signature: Option<SignatureId>,
    /// By start.
    pub(super) kernels: Vec<StringId>,
    pub(super) annotation: Option<StringId>,
    /// Arguments of the forward call, where the call records none of its own.
    pub(super) forward: Option<(StringId, Option<SignatureId>)>,
    /// The call itself, where it has arguments that differ call by call.
    pub(super) call: Option<EventId>,
}

/// The number of a call whose answer is not known yet.
const UNKNOWN: u32 = u32::MAX;

/// Number of an answer that is kept: calls with the same have the same answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AnswerId(u32);

/// Answers by call: what distinguishes calls is compared once per call, whoever asks how often.
pub(super) struct Answers {
    /// Number of the answer, per event.
    by_event: Vec<AtomicU32>,
    numbers: RwLock<HashMap<ModelInput, u32>>,
    /// By number. Answers stay where they are, so threads that make sheets read them without waiting for each other.
    kept: boxcar::Vec<Evaluation>,
}

impl Answers {
    pub(super) fn new(events: usize) -> Self {
        Answers {
            by_event: (0..events).map(|_| AtomicU32::new(UNKNOWN)).collect(),
            numbers: RwLock::default(),
            kept: boxcar::Vec::new(),
        }
    }

    /// The answer for this call; `key` and `evaluate` are asked when it is not known.
    pub(super) fn answer(
        &self,
        event: EventId,
        key: impl FnOnce() -> ModelInput,
        evaluate: impl FnOnce(&ModelInput) -> Evaluation,
    ) -> AnswerId {
        let number = &self.by_event[event.index()];
        let known = number.load(Ordering::Acquire);
        if known != UNKNOWN {
            return AnswerId(known);
        }
        let key = key();
        // A panic elsewhere leaves the numbers whole: entries are put in complete.
        let known = self.numbers.read().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        // Not under the lock: a model may be a script.
        let known = known.unwrap_or_else(|| {
            let answer = evaluate(&key);
            let mut numbers = self.numbers.write().unwrap_or_else(PoisonError::into_inner);
            *numbers.entry(key).or_insert_with(|| self.kept.push(answer) as u32)
        });
        number.store(known, Ordering::Release);
        AnswerId(known)
    }

    pub(super) fn get(&self, answer: AnswerId) -> &Evaluation {
        &self.kept[answer.0 as usize]
    }
}
