//! The recorded program: training steps until the trace is as long as was asked for.

use std::convert::Infallible;
use std::io::{self, Write};

use super::document::{FOOTER_EVENTS, write_footer, write_header};
use super::flavour::{Flavour, Thread};
use super::forward::Recipe;
use super::json::EventWriter;
use super::model::{Model, Shape};
use super::plan::{FrameName, Node};
use super::player::{Place, Player};
use super::random::Random;
use super::segment::{Segment, Span};
use super::serving::{Batch, Engine};
use super::{Options, Workload};

/// Room for the document's end and for the frames that are always open.
pub(super) const FEWEST_EVENTS: u64 = 100;

/// The last wait for the device, a call and its flow.
const FINAL_WAIT_EVENTS: u64 = 2;

/// Number of the first recorded step: the profiler's warm-up steps come before it.
const FIRST_STEP: u64 = 3;

/// The frames that all steps run in.
const PROGRAM_FRAMES: usize = 2;

impl Workload {
    fn frames(self) -> [&'static str; PROGRAM_FRAMES] {
        match self {
            Workload::Training => ["train.py(9): <module>", "train.py(101): main"],
            Workload::Serving => ["serve.py(7): <module>", "serve.py(58): main"],
        }
    }
}

/// Why recording ended.
enum Stop {
    /// The trace is as long as it may be.
    Full,
    Failed(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Failed(error)
    }
}

/// Records a program of `options.events` events.
///
/// A stretch of the program that no longer fits is dropped whole, and allocations outside of any
/// launch take its place, so that the number is exact.
pub(super) fn record(options: Options, out: &mut dyn Write) -> io::Result<()> {
    let mut random = Random::new(options.seed);
    let trace_id = random.next();
    let model = Model::choose(&mut random, options.events);
    let mut recording = Recording {
        writer: EventWriter::new(out, options.layout),
        player: Player::new(random, options.flavour, options.python_frames),
        flavour: options.flavour,
        workload: options.workload,
        limit: options.events,
    };
    write_header(&mut recording.writer, options.flavour, trace_id);
    match recording.program(model) {
        Err(Stop::Full) => recording.finish(),
        Err(Stop::Failed(error)) => Err(error),
        Ok(never) => match never {},
    }
}

struct Recording<'w> {
    writer: EventWriter<'w>,
    player: Player,
    flavour: Flavour,
    workload: Workload,
    limit: u64,
}

impl Recording<'_> {
    /// Works for ever; the length of the trace stops it.
    fn program(&mut self, model: Model) -> Result<Infallible, Stop> {
        self.enter(&self.workload.frames())?;
        match self.workload {
            Workload::Training => self.train(model),
            Workload::Serving => self.serve(),
        }
    }

    fn serve(&mut self) -> Result<Infallible, Stop> {
        let engine = Engine { flavour: self.flavour, layout: self.writer.layout() };
        loop {
            for batch in Batch::round(self.player.random()) {
                self.run(&engine.step(batch), Thread::Main, 0)?;
            }
        }
    }

    fn train(&mut self, model: Model) -> Result<Infallible, Stop> {
        for number in FIRST_STEP.. {
            let shape = model.batch(self.player.random());
            self.step(number, shape)?;
        }
        Err(Stop::Full)
    }

    fn step(&mut self, number: u64, shape: Shape) -> Result<(), Stop> {
        let recipe = Recipe { flavour: self.flavour, layout: self.writer.layout(), shape };
        let layers = shape.model.layers as usize;
        let outside = self.player.depth();
        self.check_room(2)?;
        self.player.begin_step(number);
        self.enter(&["train.py(72): training_step"])?;
        let inside = self.player.depth();

        self.run(&recipe.load_batch(), Thread::Main, 0)?;
        self.run(&recipe.zero_gradients(), Thread::Main, 0)?;

        self.enter(&["torch/nn/modules/module.py(1776): _call_impl", "model/transformer.py(52): forward"])?;
        let forward = recipe.forward_layer();
        for layer in 0..layers {
            self.run(&forward, Thread::Main, layer)?;
        }
        self.leave_to(inside)?;
        self.run(&recipe.loss(), Thread::Main, 0)?;

        self.enter(&[
            "torch/_tensor.py(592): backward",
            "torch/autograd/graph.py(829): _engine_run_backward",
            "<built-in method run_backward of torch._C._EngineBase object at 0x7f0ca88d9690>",
        ])?;
        self.player.begin_backward();
        let backward = recipe.backward_layer();
        for layer in (0..layers).rev() {
            let ran = self.run(&backward, Thread::Autograd, layer);
            self.player.end_backward();
            ran?;
        }
        self.leave_to(inside)?;

        self.run(&recipe.optimise(), Thread::Main, 0)?;
        self.run(&recipe.replay_graph(), Thread::Main, 0)?;
        self.run(&recipe.read_loss(), Thread::Main, 0)?;
        self.leave_to(outside)?;
        let mut end = Segment::default();
        self.player.end_step(&mut end);
        self.keep(&end)
    }

    /// Runs a plan and keeps what it recorded, if the trace has room for it.
    fn run(&mut self, plan: &[Node], thread: Thread, layer: usize) -> Result<(), Stop> {
        let mut segment = Segment::default();
        let before = self.player.clocks();
        self.player.play(plan, Place { thread, layer }, &mut segment);
        let kept = self.keep(&segment);
        if kept.is_err() {
            self.player.turn_back(before);
        }
        kept
    }

    fn keep(&mut self, segment: &Segment<'_>) -> Result<(), Stop> {
        self.check_room(segment.events())?;
        Ok(segment.write(&mut self.writer, self.flavour)?)
    }

    /// Enters frames that later stretches run in; leaving them takes events, too.
    fn enter(&mut self, names: &[&'static str]) -> Result<(), Stop> {
        self.check_room(names.len() as u64)?;
        for name in names {
            self.player.enter(FrameName::Fixed(name));
        }
        Ok(())
    }

    fn leave_to(&mut self, depth: usize) -> Result<(), Stop> {
        let mut segment = Segment::default();
        self.player.leave_to(depth, &mut segment);
        self.keep(&segment)
    }

    fn check_room(&self, events: u64) -> Result<(), Stop> {
        if events > self.room() { Err(Stop::Full) } else { Ok(()) }
    }

    /// Events that may still be written before those that end the trace.
    fn room(&self) -> u64 {
        let to_come = self.player.events_to_close() + FINAL_WAIT_EVENTS + FOOTER_EVENTS;
        self.limit.saturating_sub(self.writer.events() + to_come)
    }

    /// Ends everything that is open, fills up to the number of events, and ends the document.
    fn finish(&mut self) -> io::Result<()> {
        let filler = [Node::Memory(512), Node::Memory(-512)];
        let mut end = Segment::default();
        let main = Place { thread: Thread::Main, layer: 0 };
        let missing = self.room();
        for pair in 0..missing.div_ceil(2) {
            let nodes = if 2 * pair + 1 == missing { &filler[..1] } else { &filler[..] };
            self.player.play(nodes, main, &mut end);
        }
        self.player.leave_to(PROGRAM_FRAMES, &mut end);
        self.player.end_step(&mut end);
        self.player.leave_to(0, &mut end);
        self.player.synchronize(&mut end);
        end.write(&mut self.writer, self.flavour)?;
        // A step that never reached the device has no annotation there.
        let mut rest = Segment::default();
        while self.writer.events() + rest.events() + FOOTER_EVENTS < self.limit {
            self.player.play(&filler[..1], main, &mut rest);
        }
        rest.write(&mut self.writer, self.flavour)?;
        let recording = Span { start: Player::start_of_recording(), end: self.player.now() };
        write_footer(&mut self.writer, self.flavour, recording)
    }
}
