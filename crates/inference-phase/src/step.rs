//! The steps of an inference engine, as found in a trace.

use trace_ingest::{EventId, TrackId};

use crate::phase::Phase;

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
    /// Requests and tokens, as far as known.
    pub load: Load,
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
}
