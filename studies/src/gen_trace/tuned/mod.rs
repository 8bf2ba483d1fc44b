//! Programs that keep their device busy, and that can be given faults: the traces by which findings are judged.
//!
//! Unlike the other programs of the generator, these have kernels that take as long as their FLOPs and bytes need on
//! the named device ([`device`]), fused operators, copies and collectives beside the computation, and captured graphs.
//! A [`Fault`] changes the plan and nothing else: every operator has random numbers of its own (`placed`), so that a
//! [`Run`] without a fault is what the program would have done without it.

mod device;
mod fault;
mod nodes;
mod serving;
mod training;

use std::io::{self, Write};

use super::document::{Recorder, write_footer, write_header};
use super::flavour::{Flavour, Stream, Thread};
use super::json::{EventWriter, Layout};
use super::placed::mixed;
use super::plan::{FrameName, Node};
use super::player::{Place, Player};
use super::random::Random;
use super::segment::{Segment, Span};
use device::Device;
pub(crate) use fault::{Fault, Faults};
use nodes::Builder;

/// The streams that a recording names.
const STREAMS: [Stream; 3] = [Stream::Compute, Stream::Communication, Stream::Copy];

/// What a program does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// Trains a compiled decoder with data parallelism.
    Training,
    /// Serves requests: prompts operator by operator, generation by captured graphs.
    Serving,
}

/// One run of a program.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    pub(crate) program: Program,
    pub(crate) flavour: Flavour,
    /// Chooses the model's sizes and all random numbers.
    pub(crate) seed: u64,
    pub(crate) faults: Faults,
}

/// A part of a program's plan.
enum Part {
    BeginStep(String),
    EndStep,
    Enter(&'static [&'static str]),
    /// Leaves all frames but so many.
    LeaveTo(usize),
    /// Runs on the main thread, for a layer.
    Main(usize, Vec<Node>),
    BeginForward,
    BeginBackward,
    /// Runs on autograd's thread, for a layer, while the main thread waits.
    Autograd(usize, Vec<Node>),
}

/// Makes the plan of a step.
type PlanStep = dyn Fn(&Builder<'_>) -> Vec<Part>;

impl Run {
    /// Nanoseconds from the start of the first work on the device to the end of the last.
    pub(crate) fn device_span(&self) -> u64 {
        let mut whole: Option<Span> = None;
        // Nothing that visits a segment here can fail.
        let _ = self.play(&mut |segment| {
            let work = segment.calls.iter().flat_map(|call| &call.device).map(|work| work.span);
            whole = work.chain(whole).reduce(Span::and);
            Ok(())
        });
        whole.map_or(0, |span| span.end - span.start)
    }

    /// The share of that span in which no stream of the device has anything to do.
    #[cfg(test)]
    pub(crate) fn idle_share(&self) -> f64 {
        let mut spans = Vec::new();
        let played = self.play(&mut |segment| {
            spans.extend(segment.calls.iter().flat_map(|call| &call.device).map(|work| work.span));
            Ok(())
        });
        played.expect("nothing is written");
        spans.sort_by_key(|span| span.start);
        let start = spans.first().map_or(0, |span| span.start);
        let (mut idle, mut end) = (0, start);
        for span in &spans {
            idle += span.start.saturating_sub(end);
            end = end.max(span.end);
        }
        idle as f64 / (end - start) as f64
    }

    /// Writes its trace.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = EventWriter::new(out, Layout::Compact);
        let recorder = Recorder {
            shapes: !self.faults.has(Fault::NoShapes),
            memory: false,
            stacks: !self.faults.has(Fault::NoStacks),
        };
        write_header(&mut writer, self.flavour, self.seed, recorder);
        let end = self.play(&mut |segment| segment.write(&mut writer, self.flavour))?;
        let recording = Span { start: Player::start_of_recording(), end };
        write_footer(&mut writer, self.flavour, &STREAMS, recording)
    }

    /// Plays the program and hands out what was recorded, stretch by stretch; returns the host's time at the end.
    fn play(&self, visit: &mut dyn FnMut(&Segment<'_>) -> io::Result<()>) -> io::Result<u64> {
        let has_stacks = !self.faults.has(Fault::NoStacks);
        let mut player = Player::with_placed_numbers(self.seed, self.flavour, has_stacks);
        let device = Device { flavour: self.flavour, seed: self.seed };
        let mut random = Random::new(mixed(self.seed, 1));
        let plan: Box<PlanStep>;
        let steps;
        match self.program {
            Program::Training => {
                let shape = training::Shape::draw(&mut random);
                steps = training::STEPS;
                plan = Box::new(move |builder| training::step(builder, shape));
            }
            Program::Serving => {
                let engine = serving::Engine::draw(&mut random);
                steps = engine.steps();
                plan = Box::new(move |builder| engine.step(builder));
            }
        }
        player.enter(FrameName::Fixed("main.py(7): <module>"));
        let outside = player.depth();
        for step in 0..steps {
            player.begin_stretch(step);
            let builder = Builder { device, faults: &self.faults, step };
            for part in plan(&builder) {
                let mut segment = Segment::default();
                match &part {
                    Part::BeginStep(name) => player.begin_step(name.clone()),
                    Part::EndStep => player.end_step(&mut segment),
                    Part::Enter(names) => {
                        names.iter().for_each(|name| player.enter(FrameName::Fixed(name)));
                    }
                    Part::LeaveTo(depth) => player.leave_to(outside + depth, &mut segment),
                    Part::Main(layer, nodes) => {
                        player.play(nodes, Place { thread: Thread::Main, layer: *layer }, &mut segment);
                    }
                    Part::BeginForward => player.begin_forward(true),
                    Part::BeginBackward => player.begin_backward(),
                    Part::Autograd(layer, nodes) => {
                        player.play(nodes, Place { thread: Thread::Autograd, layer: *layer }, &mut segment);
                        player.end_backward();
                    }
                }
                visit(&segment)?;
            }
        }
        let mut end = Segment::default();
        player.leave_to(0, &mut end);
        player.synchronize(&mut end);
        visit(&end)?;
        Ok(player.now())
    }
}
