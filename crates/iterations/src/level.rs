//! Levels of iterations.

use std::fmt;

use trace_ingest::TrackId;

/// Iterations of one kind. Those of one host thread neither overlap nor stand out of order.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// What the program does in each.
    pub kind: LevelKind,
    /// Name in the recording without the number of the iteration, such as `ProfilerStep`; in words where the
    /// recording has none.
    pub name: String,
    /// What shows the iterations.
    pub evidence: Evidence,
    /// From 0 to 1: how sure it is that these are iterations, whose number is right.
    pub confidence: f64,
    /// Index of the first of these iterations among those of the recording: 0, but where only a window is looked at.
    pub first: usize,
    /// The iterations by start.
    pub iterations: Vec<Iteration>,
}

impl Level {
    /// Confidence from which on iterations are claimed; less sure ones stand in the sheet of iterations only.
    const SURE: f64 = 0.7;
    /// The most confidence of iterations of which hardly two are alike, or which take next to no time.
    pub(crate) const UNSURE: f64 = 0.6;

    /// Whether it is sure enough that these are iterations to speak of them.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        self.confidence >= Self::SURE
    }
}

/// One iteration: a half-open stretch of time of a host thread, or of a device where nothing of the host was recorded.
/// Device work belongs to the iteration that launched it, whenever it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// Number that the program gave it: 12 for `ProfilerStep#12`.
    pub number: Option<i64>,
    /// Thread that runs the program's loop. Other threads of its process work for the iteration of that time. `None`
    /// where the iteration was found on the device alone.
    pub track: Option<TrackId>,
    /// First moment, in the trace's time unit.
    pub start: i64,
    /// First moment after it, in the trace's time unit.
    pub end: i64,
    /// Whether all of it was recorded; the first and the last of a recording are often cut.
    pub whole: bool,
}

/// What the program does in each iteration of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LevelKind {
    /// What a person would call a step: an update of the parameters, a batch, a pass of the main loop.
    Step,
    /// A step of an inference engine: one pass over the model for a batch of requests.
    EngineStep,
    /// An image or a video, or a batch of them.
    Image,
    /// A run of a compiled program.
    ProgramRun,
    /// A pass of another loop than that of the steps, inside of a step or around several.
    Pass,
    /// A forward and a backward pass, of which several make one update of the parameters.
    MicroBatch,
    /// A pass over a diffusion model, which takes away part of the noise.
    DenoisingStep,
    /// A layer, or a group of layers, of one pass over a model.
    Layer,
}

impl LevelKind {
    /// Name in sheets.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LevelKind::Step => "step",
            LevelKind::EngineStep => "engine step",
            LevelKind::Image => "image",
            LevelKind::ProgramRun => "program run",
            LevelKind::Pass => "pass",
            LevelKind::MicroBatch => "micro-batch",
            LevelKind::DenoisingStep => "denoising step",
            LevelKind::Layer => "layer",
        }
    }

    /// The name of several.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            LevelKind::Step => "steps",
            LevelKind::EngineStep => "engine steps",
            LevelKind::Image => "images",
            LevelKind::ProgramRun => "program runs",
            LevelKind::Pass => "passes",
            LevelKind::MicroBatch => "micro-batches",
            LevelKind::DenoisingStep => "denoising steps",
            LevelKind::Layer => "layers",
        }
    }
}

/// The name of a kind with its article: `an engine step`.
#[must_use]
pub fn with_article(name: &str) -> String {
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {name}")
}

impl fmt::Display for LevelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What shows iterations, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Evidence {
    /// Marks that say step: `ProfilerStep#12`, an engine's annotation of its step, runs of XLA programs, and ranges of
    /// a marker library that tile the program's loop.
    RecordedSteps,
    /// Ranges that the program named, which repeat and cover its work.
    Annotations,
    /// Runs of compiled programs that repeat in turn.
    ProgramSequence,
    /// Calls of the model, or of another Python function, below one frame.
    ModuleCalls,
    /// Forward, backward and optimizer, one after the other.
    TrainingCycle,
    /// Operators of the main thread that repeat.
    OperatorSequence,
    /// Kernels, copies or graph launches that repeat.
    KernelSequence,
}

impl Evidence {
    /// Name in sheets.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Evidence::RecordedSteps => "recorded steps",
            Evidence::Annotations => "annotations",
            Evidence::ProgramSequence => "program sequence",
            Evidence::ModuleCalls => "module calls",
            Evidence::TrainingCycle => "training cycle",
            Evidence::OperatorSequence => "operator sequence",
            Evidence::KernelSequence => "kernel sequence",
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
