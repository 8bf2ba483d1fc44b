//! The recorded program: its iterations until it ends, or until the trace is as long as was asked for.

use std::io::{self, Write};

use iterations::{LevelKind, Program};

use super::document::{Recorder, footer_events, write_footer, write_header};
use super::flavour::{Flavour, Stream, Thread};
use super::json::{EventWriter, Layout};
use super::model::Model;
use super::nsys;
use super::plan::{FrameName, Node};
use super::player::{Place, Player};
use super::random::Random;
use super::segment::{Segment, Span};
use super::serving::Batch;
use super::truth::{Inserted, Truth};
use super::{Length, Options, Workload};

/// Room for the document's end and for the frames that are always open.
pub(super) const FEWEST_EVENTS: u64 = 100;

/// The last wait for the device, a call and its flow.
const FINAL_WAIT_EVENTS: u64 = 2;

/// Number of the first recorded step: the profiler's warm-up steps come before it.
const FIRST_STEP: u64 = 3;

/// The frames that all steps run in.
const PROGRAM_FRAMES: usize = 2;

/// Events per layer that a model gets: several times what a layer and its gradient take in one step,
/// so that a trace of a few thousand events holds several steps of a few layers.
const EVENTS_PER_LAYER: u64 = 1_500;

impl Workload {
    fn frames(self) -> [&'static str; PROGRAM_FRAMES] {
        match self {
            Workload::Training
            | Workload::TrainingAccumulation
            | Workload::TrainingEvaluation
            | Workload::TrainingCheckpoint
            | Workload::TrainingSlowStart
            | Workload::Recommender => ["train.py(9): <module>", "train.py(101): main"],
            Workload::Diffusion => ["generate.py(5): <module>", "generate.py(40): main"],
            Workload::Serving | Workload::ServingSteady | Workload::ServingAgentic => {
                ["serve.py(7): <module>", "serve.py(58): main"]
            }
        }
    }

    fn truth(self) -> Truth {
        match self {
            Workload::Training
            | Workload::TrainingAccumulation
            | Workload::TrainingEvaluation
            | Workload::TrainingCheckpoint
            | Workload::TrainingSlowStart
            | Workload::Recommender => Truth::new(Program::Training, LevelKind::Step),
            Workload::Diffusion => Truth::new(Program::Diffusion, LevelKind::Image),
            Workload::Serving | Workload::ServingSteady | Workload::ServingAgentic => {
                Truth::new(Program::LanguageModel, LevelKind::EngineStep)
            }
        }
    }

    /// The streams that its recording names.
    fn streams(self) -> &'static [Stream] {
        match self {
            Workload::Training | Workload::Serving => &[Stream::Compute, Stream::Communication],
            _ => &[Stream::Compute, Stream::Communication, Stream::Copy],
        }
    }
}

/// Why recording ended before the program did.
pub(super) enum Stop {
    /// The trace is as long as it may be.
    Full,
    Failed(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Failed(error)
    }
}

/// Records a program: a number of events of it, or all of it.
///
/// A stretch of the program that no longer fits is dropped whole, and allocations outside of any
/// launch take its place, so that the number is exact. The number is of events of the document, not of rows of the export.
pub(super) fn record(
    options: Options,
    out: &mut dyn Write,
    export: Option<&mut nsys::Database>,
) -> io::Result<Truth> {
    let mut random = Random::new(options.seed);
    let trace_id = random.next();
    let (limit, most_layers) = match options.length {
        Length::Events(events) => (events, (events / EVENTS_PER_LAYER).max(2)),
        Length::Steps(_) => (u64::MAX, random.between(2, 4)),
    };
    let model = Model::choose(&mut random, most_layers);
    let mut recording = Recording {
        writer: EventWriter::new(out, options.layout),
        export,
        player: Player::new(random, options.flavour, options.python_frames, options.plants),
        flavour: options.flavour,
        workload: options.workload,
        is_marked: options.is_marked,
        length: options.length,
        limit,
        truth: options.workload.truth(),
    };
    write_header(&mut recording.writer, options.flavour, trace_id, Recorder::ALL);
    match recording.program(model) {
        Ok(()) => recording.limit = recording.writer.events() + recording.remaining_events(),
        Err(Stop::Full) => {}
        Err(Stop::Failed(error)) => return Err(error),
    }
    recording.finish()?;
    Ok(recording.truth)
}

/// A program that is being recorded.
pub(super) struct Recording<'w> {
    writer: EventWriter<'w>,
    /// Where the same run is written as an export of Nsight Systems.
    export: Option<&'w mut nsys::Database>,
    player: Player,
    flavour: Flavour,
    workload: Workload,
    is_marked: bool,
    length: Length,
    limit: u64,
    truth: Truth,
}

impl Recording<'_> {
    fn program(&mut self, model: Model) -> Result<(), Stop> {
        self.enter(&self.workload.frames())?;
        match self.workload {
            Workload::Training
            | Workload::TrainingAccumulation
            | Workload::TrainingEvaluation
            | Workload::TrainingCheckpoint
            | Workload::TrainingSlowStart => self.train(model),
            Workload::Recommender => {
                let shape = model.batch(self.random());
                self.train_recommender(shape)
            }
            Workload::Diffusion => self.paint(),
            Workload::Serving => self.serve_rounds(),
            Workload::ServingSteady | Workload::ServingAgentic => self.serve_requests(),
        }
    }

    pub(super) fn workload(&self) -> Workload {
        self.workload
    }

    pub(super) fn flavour(&self) -> Flavour {
        self.flavour
    }

    pub(super) fn layout(&self) -> Layout {
        self.writer.layout()
    }

    pub(super) fn player(&mut self) -> &mut Player {
        &mut self.player
    }

    pub(super) fn random(&mut self) -> &mut Random {
        self.player.random()
    }

    /// Whether the trace ends after a number of events, wherever the program is then.
    pub(super) fn is_cut(&self) -> bool {
        matches!(self.length, Length::Events(_))
    }

    /// How many iterations the program has: as many as were asked for, or `low..high` of them.
    pub(super) fn iterations(&mut self, low: u64, high: u64) -> u64 {
        match self.length {
            Length::Events(_) => u64::MAX - FIRST_STEP,
            Length::Steps(Some(steps)) => steps,
            Length::Steps(None) => self.random().between(low, high),
        }
    }

    /// Begins a step that the profiler marks, `ProfilerStep#N`.
    pub(super) fn begin_mark(&mut self, index: u64) -> Result<(), Stop> {
        self.check_room(2)?;
        self.player.begin_step(format!("ProfilerStep#{}", FIRST_STEP + index));
        Ok(())
    }

    /// Ends the marked step.
    pub(super) fn end_mark(&mut self) -> Result<(), Stop> {
        let mut end = Segment::default();
        self.player.end_step(&mut end);
        self.keep(end)
    }

    /// What is kept until [`Recording::end`] is an iteration.
    pub(super) fn begin(&mut self, level: LevelKind) {
        self.truth.begin(level, None);
    }

    /// What is kept until [`Recording::end`] is a step of an inference engine.
    pub(super) fn begin_batch(&mut self, batch: Batch) {
        self.truth.begin(LevelKind::EngineStep, Some(batch));
    }

    /// Whether attention's kernels show which requests an engine's steps work on.
    pub(super) fn attention_shows_phases(&mut self, shows: bool) {
        self.truth.attention_shows_phases = shows;
    }

    /// What is kept until [`Recording::end`] belongs to no iteration.
    pub(super) fn begin_insertion(&mut self, what: Inserted) {
        self.truth.begin_insertion(what);
    }

    /// Ends what was begun last.
    pub(super) fn end(&mut self) {
        self.truth.end();
    }

    /// Runs a plan on the main thread.
    pub(super) fn run(&mut self, plan: &[Node]) -> Result<(), Stop> {
        self.run_layer(plan, Thread::Main, 0)
    }

    /// Runs a plan and keeps what it recorded, if the trace has room for it.
    pub(super) fn run_layer(&mut self, plan: &[Node], thread: Thread, layer: usize) -> Result<(), Stop> {
        let mut segment = Segment::default();
        let before = self.player.clocks();
        self.player.play(plan, Place { thread, layer }, &mut segment);
        let kept = self.keep(segment);
        if kept.is_err() {
            self.player.turn_back(before);
        }
        kept
    }

    fn keep(&mut self, mut segment: Segment<'_>) -> Result<(), Stop> {
        self.strip(&mut segment);
        self.player.sample(&mut segment);
        self.check_room(segment.events())?;
        self.truth.keep(&segment);
        Ok(self.write(&segment)?)
    }

    /// Writes what was recorded, in each form that the run has.
    fn write(&mut self, segment: &Segment<'_>) -> io::Result<()> {
        segment.write(&mut self.writer, self.flavour)?;
        match &mut self.export {
            Some(export) => export.record(segment).map_err(io::Error::other),
            None => Ok(()),
        }
    }

    fn strip(&self, segment: &mut Segment<'_>) {
        if !self.is_marked {
            segment.strip_marks();
        }
    }

    /// Enters frames that later stretches run in; leaving them takes events, too.
    pub(super) fn enter(&mut self, names: &[&'static str]) -> Result<(), Stop> {
        self.check_room(names.len() as u64)?;
        for name in names {
            self.player.enter(FrameName::Fixed(name));
        }
        Ok(())
    }

    /// Frames that are open.
    pub(super) fn depth(&self) -> usize {
        self.player.depth()
    }

    pub(super) fn leave_to(&mut self, depth: usize) -> Result<(), Stop> {
        let mut segment = Segment::default();
        self.player.leave_to(depth, &mut segment);
        self.keep(segment)
    }

    fn check_room(&self, events: u64) -> Result<(), Stop> {
        if events > self.room() { Err(Stop::Full) } else { Ok(()) }
    }

    /// Events that may still be written before those that end the trace.
    fn room(&self) -> u64 {
        self.limit.saturating_sub(self.writer.events() + self.remaining_events())
    }

    /// Events that end the trace.
    fn remaining_events(&self) -> u64 {
        self.player.events_to_close() + FINAL_WAIT_EVENTS + footer_events(self.workload.streams())
    }

    /// Ends everything that is open, fills up to the number of events, and ends the document.
    fn finish(&mut self) -> io::Result<()> {
        self.truth.cut();
        let filler = [Node::Memory(512), Node::Memory(-512)];
        let mut end = Segment::default();
        let main = Place { thread: Thread::Main, layer: 0 };
        let missing = self.room();
        for _ in 0..missing / 2 {
            self.player.play(&filler, main, &mut end);
        }
        self.player.leave_to(PROGRAM_FRAMES, &mut end);
        self.player.end_step(&mut end);
        self.player.leave_to(0, &mut end);
        self.player.synchronize(&mut end);
        self.strip(&mut end);
        self.write(&end)?;
        // A step that never reached the device has no annotation there, and one without marks has none at all.
        let mut rest = Segment::default();
        let footer = footer_events(self.workload.streams());
        while self.writer.events() + rest.events() + footer < self.limit {
            self.player.play(&filler[..1], main, &mut rest);
        }
        self.write(&rest)?;
        let recording = Span { start: Player::start_of_recording(), end: self.player.now() };
        write_footer(&mut self.writer, self.flavour, self.workload.streams(), recording)
    }
}
