//! Training of a transformer: its steps, and what programs do between and around them.

use iterations::LevelKind;

use super::Workload;
use super::flavour::{Stream, Thread};
use super::forward::Recipe;
use super::model::{Model, Shape};
use super::plan::{Node, code};
use super::random::Random;
use super::recording::{Recording, Stop};
use super::step::Optimizer;
use super::truth::Inserted;

/// How a training program goes about its steps.
struct Habits {
    /// Forward and backward passes before the parameters are updated.
    micro_batches: u64,
    /// Whether the ranks exchange gradients after every backward pass, not only after the last of a step.
    always_exchanges: bool,
    /// Every how many steps the model is evaluated, on how many batches.
    evaluation: Option<(u64, u64)>,
    /// Every how many steps the parameters are saved.
    checkpoint: Option<u64>,
    /// Whether the marked step around evaluation and checkpoint is that after them, not that before.
    marks_before: bool,
    /// Whether the first step loads the data and sets everything up.
    starts_slowly: bool,
    /// Whether the model goes to the device while the profiler records.
    sets_up: bool,
    /// Whether sequences of all batches are equally long.
    pads: bool,
    /// Stream of the batches' copies.
    copies: Stream,
    /// One in how many steps waits for its data; never for 0.
    steps_per_wait: u64,
    /// Whether gradients are clipped.
    clips: bool,
    optimizer: Optimizer,
    zeroes: Zeroes,
    replays_graph: bool,
    /// Every how many steps the loss is read.
    reads_loss: u64,
    /// Whether it is read before the backward pass, not at the end of the step.
    reads_loss_early: bool,
    /// Whether each step is the call of a function.
    has_function: bool,
}

/// Where a step zeroes the gradients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zeroes {
    First,
    Last,
    /// It drops them, which is not recorded.
    Never,
}

impl Habits {
    /// Each step like the others.
    const PLAIN: Habits = Habits {
        micro_batches: 1,
        always_exchanges: true,
        evaluation: None,
        checkpoint: None,
        marks_before: false,
        starts_slowly: false,
        sets_up: false,
        pads: false,
        copies: Stream::Compute,
        steps_per_wait: 0,
        clips: false,
        optimizer: Optimizer::Fused,
        zeroes: Zeroes::First,
        replays_graph: true,
        reads_loss: 1,
        reads_loss_early: false,
        has_function: true,
    };

    /// Those of a program that does what the workload is named after, and the rest in one of many ways.
    fn draw(workload: Workload, random: &mut Random) -> Habits {
        let mut coin = || random.between(0, 2) == 1;
        let mut habits = Habits {
            marks_before: coin(),
            pads: coin(),
            copies: if coin() { Stream::Copy } else { Stream::Compute },
            clips: coin(),
            replays_graph: coin() && coin(),
            sets_up: coin() && coin(),
            has_function: coin(),
            reads_loss_early: coin() && coin(),
            ..Habits::PLAIN
        };
        habits.optimizer = Optimizer::ALL[random.between(0, Optimizer::ALL.len() as u64) as usize];
        habits.zeroes = [Zeroes::First, Zeroes::Last, Zeroes::Never][random.between(0, 3) as usize];
        habits.steps_per_wait = random.between(0, 5);
        habits.reads_loss = random.between(1, 4);
        match workload {
            Workload::TrainingAccumulation => {
                habits.micro_batches = random.between(2, 7);
                habits.always_exchanges = random.between(0, 2) == 1;
            }
            Workload::TrainingEvaluation => {
                habits.evaluation = Some((random.between(1, 4), random.between(1, 5)));
            }
            Workload::TrainingCheckpoint => habits.checkpoint = Some(random.between(2, 5)),
            Workload::TrainingSlowStart => habits.starts_slowly = true,
            _ => {}
        }
        habits
    }
}

impl Recording<'_> {
    /// Trains a transformer.
    pub(super) fn train(&mut self, model: Model) -> Result<(), Stop> {
        let workload = self.workload();
        let is_plain = self.is_cut() && workload == Workload::Training;
        let habits = if is_plain { Habits::PLAIN } else { Habits::draw(workload, self.random()) };
        let has_long_steps = habits.micro_batches > 1 || habits.evaluation.is_some();
        let count = self.iterations(4, if has_long_steps { 9 } else { 13 });
        let mut shape = model.batch(self.random());
        if habits.sets_up {
            self.begin_insertion(Inserted::Setup);
            self.run(&self.recipe(shape).move_model())?;
            self.end();
        }
        for index in 0..count {
            if index > 0 && !habits.pads {
                shape = model.batch(self.random());
            }
            self.begin_mark(index)?;
            if habits.marks_before && index > 0 {
                self.between_steps(&habits, index - 1, shape)?;
            }
            self.begin(LevelKind::Step);
            self.step(&habits, index, shape)?;
            self.end();
            if !habits.marks_before {
                self.between_steps(&habits, index, shape)?;
            }
            self.end_mark()?;
        }
        Ok(())
    }

    fn recipe(&self, shape: Shape) -> Recipe {
        Recipe { flavour: self.flavour(), layout: self.layout(), shape }
    }

    fn step(&mut self, habits: &Habits, index: u64, shape: Shape) -> Result<(), Stop> {
        let recipe = self.recipe(shape);
        let outside = self.depth();
        if habits.has_function {
            self.enter(&["train.py(72): training_step"])?;
        }
        if habits.starts_slowly && index == 0 {
            let pause = self.random().between(30, 400) * 1_000_000;
            self.run(&recipe.start_slowly(pause))?;
        }
        if habits.steps_per_wait > 0 && self.random().between(0, habits.steps_per_wait) == 0 {
            let pause = self.random().between(200, 3_000) * 1_000;
            self.run(&[code("torch/utils/data/dataloader.py(733): __next__", vec![Node::Pause(pause)])])?;
        }
        let reads_loss = index.is_multiple_of(habits.reads_loss);
        for micro_batch in 0..habits.micro_batches {
            if habits.micro_batches > 1 {
                self.begin(LevelKind::MicroBatch);
            }
            self.run(&recipe.load_batch(habits.copies))?;
            if micro_batch == 0 && habits.zeroes == Zeroes::First {
                self.run(&recipe.zero_gradients())?;
            }
            self.forward(&recipe, true)?;
            self.run(&recipe.loss())?;
            let is_last = micro_batch + 1 == habits.micro_batches;
            if reads_loss && habits.reads_loss_early {
                self.run(&recipe.read_loss())?;
            }
            self.backward(&recipe, habits.always_exchanges || is_last)?;
            if habits.micro_batches > 1 {
                self.end();
            }
        }
        if habits.clips {
            self.run(&recipe.clip_gradients())?;
        }
        self.run(&recipe.optimise(habits.optimizer))?;
        if habits.zeroes == Zeroes::Last {
            self.run(&recipe.zero_gradients())?;
        }
        if habits.replays_graph {
            self.run(&recipe.replay_graph())?;
        }
        if reads_loss && !habits.reads_loss_early {
            self.run(&recipe.read_loss())?;
        }
        self.leave_to(outside)
    }

    /// The model on a batch; under `no_grad` where no gradients are recorded.
    fn forward(&mut self, recipe: &Recipe, records_gradients: bool) -> Result<(), Stop> {
        let outside = self.depth();
        self.enter(&["torch/nn/modules/module.py(1776): _call_impl", "model/transformer.py(52): forward"])?;
        self.player().begin_forward(records_gradients);
        let layer = recipe.forward_layer();
        for number in 0..recipe.shape.model.layers as usize {
            self.run_layer(&layer, Thread::Main, number)?;
        }
        self.leave_to(outside)
    }

    fn backward(&mut self, recipe: &Recipe, exchanges: bool) -> Result<(), Stop> {
        let outside = self.depth();
        self.enter(&[
            "torch/_tensor.py(592): backward",
            "torch/autograd/graph.py(829): _engine_run_backward",
            "<built-in method run_backward of torch._C._EngineBase object at 0x7f0ca88d9690>",
        ])?;
        self.player().begin_backward();
        let mut layer = recipe.backward_layer();
        if exchanges {
            layer.push(recipe.exchange_gradients());
        }
        for number in (0..recipe.shape.model.layers as usize).rev() {
            let ran = self.run_layer(&layer, Thread::Autograd, number);
            self.player().end_backward();
            ran?;
        }
        self.leave_to(outside)
    }

    /// What comes after the step of this index and before the next.
    fn between_steps(&mut self, habits: &Habits, index: u64, shape: Shape) -> Result<(), Stop> {
        let is_due = |every: u64| (index + 1).is_multiple_of(every);
        if let Some((_, batches)) = habits.evaluation.filter(|&(every, _)| is_due(every)) {
            // The model is evaluated on sequences of their own lengths.
            let shape = shape.model.batch(self.random());
            let recipe = self.recipe(shape);
            self.begin_insertion(Inserted::Evaluation);
            let outside = self.depth();
            self.enter(&["train.py(88): evaluate"])?;
            for _ in 0..batches {
                self.run(&recipe.load_batch(habits.copies))?;
                self.forward(&recipe, false)?;
                self.run(&recipe.loss())?;
                self.run(&recipe.read_loss())?;
            }
            self.leave_to(outside)?;
            self.end();
        }
        if habits.checkpoint.is_some_and(is_due) {
            self.begin_insertion(Inserted::Checkpoint);
            let pause = self.random().between(5, 80) * 1_000_000;
            self.run(&self.recipe(shape).save(pause))?;
            self.end();
        }
        Ok(())
    }
}
