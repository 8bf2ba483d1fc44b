//! The steps of an inference engine: what each does, and which device event belongs to which.

use std::fmt;

use perf_models::StepPhase;
use trace_ingest::{EventId, TrackId};

/// Kind of work of an engine step, and of everything that it launched.
///
/// *Context* requests have their prompt processed (all of it or a chunk); *generation* requests are extended by
/// a token or a few.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Context requests only.
    Prefill,
    /// Generation requests only.
    Decode,
    /// Both kinds in one step.
    Mixed,
    /// Nothing in the trace says which.
    Unknown,
}

impl Phase {
    /// All phases, in the order of reports.
    pub const ALL: [Phase; 4] = [Phase::Prefill, Phase::Decode, Phase::Mixed, Phase::Unknown];

    /// The name that reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Prefill => "Prefill",
            Phase::Decode => "Decode",
            Phase::Mixed => "Mixed",
            Phase::Unknown => "Unknown",
        }
    }

    /// The phase of work on requests of these kinds; `None` for neither.
    pub(crate) fn from_kinds(context: bool, generation: bool) -> Option<Phase> {
        match (context, generation) {
            (true, true) => Some(Phase::Mixed),
            (true, false) => Some(Phase::Prefill),
            (false, true) => Some(Phase::Decode),
            (false, false) => None,
        }
    }

    /// The phase of work of which so much is for context and so much for generation requests; `None` without any.
    /// Less than a fifth is noise.
    pub(crate) fn from_weights([context, generation]: [i64; 2]) -> Option<Phase> {
        let all = context.saturating_add(generation);
        let counts = |part: i64| part > 0 && part.saturating_mul(5) >= all;
        Phase::from_kinds(counts(context), counts(generation))
    }

    /// Position in [`Phase::ALL`].
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// Whether context requests are part of it.
    #[must_use]
    pub fn bears_context(self) -> bool {
        matches!(self, Phase::Prefill | Phase::Mixed)
    }
}

impl From<Option<StepPhase>> for Phase {
    fn from(phase: Option<StepPhase>) -> Self {
        match phase {
            Some(StepPhase::PrefillOnly) => Phase::Prefill,
            Some(StepPhase::PrefillDecode) => Phase::Mixed,
            Some(StepPhase::DecodeOnly) => Phase::Decode,
            None => Phase::Unknown,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// What said which phase a step is, surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The engine's own annotation of the step.
    Annotation,
    /// Python frames of the engine.
    EngineFrames,
    /// Tokens of the step against rows of its logits.
    Tokens,
    /// Names and shapes of attention.
    Attention,
    /// How the step was replayed from captured graphs.
    Graphs,
    /// Names of operators and kernels, or how often they occur: a last resort.
    Names,
    /// Nothing.
    Nothing,
}

impl Source {
    /// The name that reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Annotation => "annotation",
            Source::EngineFrames => "engine_frames",
            Source::Tokens => "tokens",
            Source::Attention => "attention",
            Source::Graphs => "graphs",
            Source::Names => "names",
            Source::Nothing => "none",
        }
    }
}

/// A step of an inference engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The annotation that marks it, if one does.
    pub annotation: Option<EventId>,
    /// Thread of the engine; `None` for work that no host thread of the trace launched.
    pub track: Option<TrackId>,
    /// When the host began it, in the trace's unit.
    pub start: i64,
    /// When the host had launched all of it.
    pub end: i64,
    /// What it does.
    pub phase: Phase,
    /// What said so.
    pub source: Source,
    /// How sure that is, 0 to 1.
    pub confidence: f64,
    /// Whether it is known to process prompts: in [`Phase::Prefill`] and [`Phase::Mixed`], and where the phase is
    /// [`Phase::Unknown`] only because nothing shows whether requests are extended beside the prompts.
    pub has_prompts: bool,
    /// Requests and tokens, as far as known.
    pub load: Load,
}

impl Step {
    /// Whether context requests are part of it; `None` where that is not known.
    #[must_use]
    pub fn bears_context(&self) -> Option<bool> {
        match self.phase {
            Phase::Prefill | Phase::Mixed => Some(true),
            Phase::Decode => Some(false),
            Phase::Unknown => self.has_prompts.then_some(true),
        }
    }
}

/// Requests and tokens of a step; `None` where the trace does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Requests whose prompt is processed.
    pub context_requests: Option<i64>,
    /// Tokens of prompts.
    pub context_tokens: Option<i64>,
    /// Requests that are extended.
    pub generation_requests: Option<i64>,
    /// Tokens that they are extended by.
    pub generation_tokens: Option<i64>,
    /// Tokens of both kinds that the operators' shapes show, padding of replayed graphs included, where nothing says how
    /// many of them are of prompts.
    pub undivided_tokens: Option<i64>,
}

impl Load {
    /// Tokens of both kinds; `None` unless all of them are known.
    #[must_use]
    pub fn tokens(&self) -> Option<i64> {
        let divided = || Some(self.context_tokens?.saturating_add(self.generation_tokens?));
        self.undivided_tokens.or_else(divided)
    }
}

/// Steps of the inference engine in a trace, and the step of every device event.
///
/// Made by [`Steps::detect`]. Every device event has exactly one phase: its step's, or [`Phase::Unknown`] outside of
/// steps, so that the device times of the phases add up to that of the trace.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    pub(crate) steps: Vec<Step>,
    /// Step per event row; [`NONE`] for events of no step.
    pub(crate) step_of: Vec<u32>,
    pub(crate) links: StepLinks,
    pub(crate) time_by_source: Vec<(Source, i64)>,
    pub(crate) time_by_phase: [i64; 4],
}

pub(crate) const NONE: u32 = u32::MAX;

/// How device events were found to belong to their steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepLinks {
    /// Launched by the step's own thread.
    pub on_thread: u64,
    /// Launched by another thread of the process, while exactly one step was under way.
    pub by_time: u64,
    /// Without launch, inside the step's range on the device.
    pub by_device_annotation: u64,
    /// Of no step.
    pub none: u64,
}

impl Steps {
    /// The steps, by start.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Index of the step that a device event belongs to; `None` outside of steps and for any other event.
    #[must_use]
    pub fn step_of(&self, device_event: EventId) -> Option<usize> {
        self.step_of.get(device_event.index()).filter(|&&step| step != NONE).map(|&step| step as usize)
    }

    /// Phase of a device event: its step's.
    #[must_use]
    pub fn phase_of(&self, device_event: EventId) -> Phase {
        self.step_of(device_event).map_or(Phase::Unknown, |step| self.steps[step].phase)
    }

    /// Whether context requests are part of the step that a device event belongs to; `None` where that is not known.
    #[must_use]
    pub fn bears_context(&self, device_event: EventId) -> Option<bool> {
        self.steps.get(self.step_of(device_event)?)?.bears_context()
    }

    /// How device events were linked to steps.
    #[must_use]
    pub fn links(&self) -> StepLinks {
        self.links
    }

    /// Σ of the durations of device events by what decided their phase, in the trace's unit; surest first, and only
    /// sources that decided something. Device events of no step count under [`Source::Nothing`].
    #[must_use]
    pub fn time_by_source(&self) -> &[(Source, i64)] {
        &self.time_by_source
    }

    /// Σ of the durations of the device events of a phase, in the trace's unit.
    #[must_use]
    pub fn time_of(&self, phase: Phase) -> i64 {
        self.time_by_phase[phase.index()]
    }

    /// Part of the device time, 0 to 1, whose phase neither an annotation nor the engine's frames say: it was inferred
    /// or is unknown. Reports warn above 0.01.
    #[must_use]
    pub fn inferred_share(&self) -> f64 {
        let total: i64 = self.time_by_source.iter().map(|&(_, time)| time).sum();
        let inferred: i64 = self
            .time_by_source
            .iter()
            .filter(|(source, _)| *source > Source::EngineFrames)
            .map(|&(_, time)| time)
            .sum();
        if total == 0 { 0.0 } else { inferred as f64 / total as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_stand_where_their_index_says() {
        assert_eq!(Phase::ALL.map(|phase| Phase::ALL[phase.index()]), Phase::ALL);
    }

    #[test]
    fn a_phase_with_less_than_a_fifth_of_the_weight_is_noise() {
        for (time, expected) in [
            ([90, 10], Some(Phase::Prefill)),
            ([10, 90], Some(Phase::Decode)),
            ([50, 50], Some(Phase::Mixed)),
            ([0, 0], None),
        ] {
            assert_eq!(Phase::from_weights(time), expected);
        }
    }
}
