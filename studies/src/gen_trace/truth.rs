//! What the generated program did, for those who judge what is found in its trace.

use std::io::{self, Write};

use inference_phase::Phase;
use iterations::{LevelKind, Program};
use serde_json::{Map, Value, json};

use super::segment::{Segment, Span};
use super::serving::Batch;

/// The iterations of a run, and what else it did.
#[derive(Debug)]
pub(crate) struct Truth {
    /// What kind of program it is.
    pub(crate) program: Program,
    /// The level that a person would call steps.
    pub(crate) steps: LevelKind,
    /// Whether the kernels of attention show which requests an inference engine's steps work on.
    pub(crate) attention_shows_phases: bool,
    /// Iterations of all levels by start, the outer before those in it.
    pub(crate) iterations: Vec<TrueIteration>,
    /// What the program did between its steps.
    pub(crate) insertions: Vec<Insertion>,
    /// Device time, in nanoseconds, of what was launched in neither.
    pub(crate) device_outside: u64,
    open: Vec<Open>,
}

/// Host time in nanoseconds of the trace's clock, and device time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Start of the first operator or runtime call. Frames and marks around them start a little earlier.
    pub(crate) start: u64,
    /// End of the last.
    pub(crate) end: u64,
    /// Sum over all that was launched in it, whenever it ran.
    pub(crate) device: u64,
}

/// One iteration.
#[derive(Debug)]
pub(crate) struct TrueIteration {
    pub(crate) level: LevelKind,
    /// Place of the iteration that it is a part of.
    pub(crate) within: Option<usize>,
    pub(crate) stretch: Stretch,
    /// Whether it was recorded to its end.
    pub(crate) whole: bool,
    /// What an inference engine worked on.
    pub(crate) batch: Option<Batch>,
}

/// Something that is no part of any step.
#[derive(Debug)]
pub(crate) struct Insertion {
    pub(crate) what: Inserted,
    pub(crate) stretch: Stretch,
}

/// What programs do between their steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// The model goes to the device.
    Setup,
    Evaluation,
    Checkpoint,
}

impl Inserted {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Inserted::Setup => "setup",
            Inserted::Evaluation => "evaluation",
            Inserted::Checkpoint => "checkpoint",
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Open {
    Iteration(usize),
    Insertion(usize),
}

impl Stretch {
    const NOTHING_YET: Stretch = Stretch { start: u64::MAX, end: 0, device: 0 };

    fn is_empty(self) -> bool {
        self.start > self.end
    }

    fn to_json(self) -> Map<String, Value> {
        let Stretch { start, end, device } = self;
        [("start_ns", start), ("end_ns", end), ("device_ns", device)]
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.into()))
            .collect()
    }

    fn add(&mut self, work: Option<Span>, device: u64) {
        if let Some(Span { start, end }) = work {
            (self.start, self.end) = (self.start.min(start), self.end.max(end));
        }
        self.device += device;
    }
}

impl Truth {
    pub(super) fn new(program: Program, steps: LevelKind) -> Self {
        let (iterations, insertions, open) = (Vec::new(), Vec::new(), Vec::new());
        let attention_shows_phases = false;
        Self { program, steps, attention_shows_phases, iterations, insertions, device_outside: 0, open }
    }

    pub(super) fn begin(&mut self, level: LevelKind, batch: Option<Batch>) {
        let within = self.open.iter().rev().find_map(|open| match *open {
            Open::Iteration(at) => Some(at),
            Open::Insertion(_) => None,
        });
        self.open.push(Open::Iteration(self.iterations.len()));
        let stretch = Stretch::NOTHING_YET;
        self.iterations.push(TrueIteration { level, within, stretch, whole: false, batch });
    }

    pub(super) fn begin_insertion(&mut self, what: Inserted) {
        self.open.push(Open::Insertion(self.insertions.len()));
        self.insertions.push(Insertion { what, stretch: Stretch::NOTHING_YET });
    }

    /// Ends what was begun last.
    pub(super) fn end(&mut self) {
        if let Some(Open::Iteration(at)) = self.open.pop() {
            self.iterations[at].whole = true;
        }
    }

    /// Adds what was recorded to all that is open.
    pub(super) fn keep(&mut self, segment: &Segment<'_>) {
        let (work, device) = (segment.work(), segment.device_nanoseconds());
        if self.open.is_empty() {
            self.device_outside += device;
        }
        for open in &self.open {
            let stretch = match *open {
                Open::Iteration(at) => &mut self.iterations[at].stretch,
                Open::Insertion(at) => &mut self.insertions[at].stretch,
            };
            stretch.add(work, device);
        }
    }

    /// The recording ends: what is open was cut, and what never did anything was not recorded.
    pub(super) fn cut(&mut self) {
        self.open.clear();
        // Only the last ones were open, so no place of those before changes.
        self.iterations.retain(|iteration| !iteration.stretch.is_empty());
        self.insertions.retain(|insertion| !insertion.stretch.is_empty());
    }

    /// Iterations of a level.
    pub(crate) fn iterations_at(&self, level: LevelKind) -> impl Iterator<Item = &TrueIteration> {
        self.iterations.iter().filter(move |iteration| iteration.level == level)
    }

    /// Writes it as one JSON object.
    pub(super) fn write(&self, workload: &str, seed: u64, out: &mut dyn Write) -> io::Result<()> {
        let iterations: Vec<Value> = self.iterations.iter().map(TrueIteration::to_json).collect();
        let insertions: Vec<Value> = self
            .insertions
            .iter()
            .map(|Insertion { what, stretch }| {
                let mut fields = stretch.to_json();
                fields.insert("what".into(), what.as_str().into());
                fields.into()
            })
            .collect();
        let document = json!({
            "workload": workload,
            "seed": seed,
            "program": self.program.as_str(),
            "steps": self.steps.as_str(),
            "attention_shows_phases": self.attention_shows_phases,
            "iterations": iterations,
            "insertions": insertions,
            "device_ns_outside": self.device_outside,
        });
        serde_json::to_writer_pretty(&mut *out, &document)?;
        out.write_all(b"\n")
    }
}

impl TrueIteration {
    fn to_json(&self) -> Value {
        let mut fields = self.stretch.to_json();
        fields.insert("level".into(), self.level.as_str().into());
        fields.insert("within".into(), self.within.into());
        fields.insert("whole".into(), self.whole.into());
        if let Some(batch) = self.batch {
            fields.insert("phase".into(), batch.phase().as_str().into());
            fields.insert("requests".into(), batch.requests().into());
            fields.insert("new_tokens".into(), batch.tokens().into());
            fields.insert("cached_tokens".into(), batch.cached_tokens.into());
        }
        fields.into()
    }

    /// The phase of an inference engine's step.
    pub(crate) fn phase(&self) -> Option<Phase> {
        self.batch.map(Batch::phase)
    }
}
