//! Writes traces the way profilers do: operators nest, launches are linked to kernels, the device runs behind.

use inference_phase::{DetectOptions, Phase, Steps};
use trace_ingest::{ArgumentValue, Category, EventArguments, EventId, TraceBuilder};
use trace2tree::{TraceTree, TreeOptions};

const MICROSECOND: i64 = 1000;

/// What the profiler was asked to record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    pub(crate) annotations: bool,
    pub(crate) frames: bool,
    pub(crate) shapes: bool,
}

/// An argument of an operator: its shape, its type and what it is where it is no tensor.
#[derive(Clone)]
pub(crate) struct Argument(ArgumentValue, &'static str, String);

fn shape(dims: &[i64]) -> ArgumentValue {
    ArgumentValue::List(dims.iter().map(|&dim| ArgumentValue::Int(dim)).collect())
}

/// A tensor of activations or weights.
pub(crate) fn t(dims: &[i64]) -> Argument {
    Argument(shape(dims), "c10::BFloat16", String::new())
}

/// A tensor of indices.
pub(crate) fn i(dims: &[i64]) -> Argument {
    Argument(shape(dims), "int", String::new())
}

pub(crate) fn n(value: i64) -> Argument {
    Argument(shape(&[]), "Scalar", value.to_string())
}

pub(crate) struct Recorder {
    pub(crate) builder: TraceBuilder,
    recorded: Recorded,
    pub(crate) now: i64,
    device: i64,
    correlation: i64,
    pub(crate) process: i64,
    pub(crate) thread: i64,
    pub(crate) device_stream: i64,
    phase: Option<Phase>,
    truth: Vec<(EventId, Option<Phase>)>,
}

impl Recorder {
    pub(crate) fn new(recorded: Recorded) -> Self {
        Recorder {
            builder: TraceBuilder::new(),
            recorded,
            now: 0,
            // Work from before the recording is still under way.
            device: 3_000 * MICROSECOND,
            correlation: 0,
            process: 1,
            thread: 1,
            device_stream: 7,
            phase: None,
            truth: Vec::new(),
        }
    }

    fn host(&mut self, category: Category, name: &str, start: i64, arguments: EventArguments) {
        let track = self.builder.track(self.process, self.thread);
        self.builder.event(category, name, track, start, self.now - start, arguments);
    }

    fn around(&mut self, is_shown: bool, category: Category, name: &str, inside: impl FnOnce(&mut Recorder)) {
        let start = self.now;
        self.now += MICROSECOND;
        inside(self);
        self.now += MICROSECOND;
        if is_shown {
            self.host(category, name, start, EventArguments::default());
        }
    }

    /// A step of the engine that does `phase`, in an annotation of this text.
    pub(crate) fn step(&mut self, phase: Phase, annotation: &str, inside: impl FnOnce(&mut Recorder)) {
        self.phase = Some(phase);
        self.around(self.recorded.annotations, Category::USER_ANNOTATION, annotation, inside);
        self.phase = None;
        self.now += 30 * MICROSECOND;
    }

    pub(crate) fn frame(&mut self, name: &str, inside: impl FnOnce(&mut Recorder)) {
        self.around(self.recorded.frames, Category::PYTHON_FUNCTION, name, inside);
    }

    /// A range that stays where annotations of steps are taken out, such as a call of compiled code.
    pub(crate) fn range(&mut self, name: &str, inside: impl FnOnce(&mut Recorder)) {
        self.around(true, Category::CPU_OP, name, inside);
    }

    /// An operator with these arguments.
    pub(crate) fn call(&mut self, name: &str, arguments: &[Argument], inside: impl FnOnce(&mut Recorder)) {
        let start = self.now;
        self.now += MICROSECOND;
        inside(self);
        self.now += MICROSECOND;
        let signature = self.recorded.shapes.then(|| {
            let list = |part: fn(&Argument) -> ArgumentValue| {
                Some(ArgumentValue::List(arguments.iter().map(part).collect()))
            };
            self.builder.signature([
                list(|argument| argument.0.clone()),
                list(|argument| ArgumentValue::Text(argument.1.into())),
                None,
                list(|argument| ArgumentValue::Text(argument.2.clone())),
            ])
        });
        self.host(Category::CPU_OP, name, start, EventArguments { signature, ..EventArguments::default() });
    }

    /// An operator that launches one kernel of so many microseconds.
    pub(crate) fn op(&mut self, name: &str, arguments: &[Argument], kernel: &str, time: i64) {
        self.call(name, arguments, |r| r.kernel(kernel, time));
    }

    /// `aten::linear` as it looks without compilation.
    pub(crate) fn linear(&mut self, rows: i64, inner: i64, outer: i64, kernel: &str, time: i64) {
        self.call("aten::linear", &[t(&[rows, inner]), t(&[outer, inner]), i(&[])], |r| {
            r.call("aten::t", &[t(&[outer, inner])], |_| ());
            r.call("aten::matmul", &[t(&[rows, inner]), t(&[inner, outer])], |r| {
                r.op("aten::mm", &[t(&[rows, inner]), t(&[inner, outer])], kernel, time);
            });
        });
    }

    fn launch(&mut self, call: &str, kernels: &[(&str, i64)]) {
        self.correlation += 1;
        let arguments = EventArguments { correlation: Some(self.correlation), ..EventArguments::default() };
        let start = self.now;
        self.now += 4 * MICROSECOND;
        self.host(Category::CUDA_RUNTIME, call, start, arguments);
        let stream = self.builder.track(0, self.device_stream);
        for &(kernel, time) in kernels {
            let category = if kernel.starts_with("Memcpy") { Category::GPU_MEMCPY } else { Category::KERNEL };
            let start = self.device.max(self.now);
            self.device = start + time * MICROSECOND;
            let event = self.builder.event(category, kernel, stream, start, time * MICROSECOND, arguments);
            self.truth.push((event, self.phase));
        }
    }

    /// A kernel that is launched on its own.
    pub(crate) fn kernel(&mut self, name: &str, time: i64) {
        let call = if name.starts_with("Memcpy") { "cudaMemcpyAsync" } else { "cudaLaunchKernel" };
        self.launch(call, &[(name, time)]);
    }

    /// A graph whose kernels share the correlation of its launch.
    pub(crate) fn graph(&mut self, kernels: &[(&str, i64)]) {
        self.launch("cudaGraphLaunch", kernels);
    }

    pub(crate) fn judged(self, options: &DetectOptions) -> Judged {
        let tree = TraceTree::build(self.builder.finish(), &TreeOptions::default());
        judge(&tree, &self.truth, options)
    }
}

/// Parts of the device time with a truth.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    /// On the right side of context-bearing and not.
    pub(crate) right: f64,
    /// Mean of that over the sides.
    pub(crate) balanced: f64,
    /// With exactly the right phase.
    pub(crate) exact: f64,
    /// On the wrong side.
    pub(crate) wrong: f64,
    /// Phase and source of every step, with what it has of every phase in truth.
    pub(crate) steps: Vec<String>,
}

/// Compares what is found in a trace with the truth.
pub(crate) fn judge(tree: &TraceTree, truth: &[(EventId, Option<Phase>)], options: &DetectOptions) -> Judged {
    let found = Steps::detect(tree, options);
    let events = tree.trace().events();
    let (mut sides, mut exact, mut wrong) = ([[0.0; 2]; 2], 0.0, 0.0);
    let mut in_steps = vec![[0.0; 4]; found.steps().len() + 1];
    for &(event, phase) in truth {
        let Some(phase) = phase else { continue };
        let time = events.duration(event) as f64;
        let label = found.phase_of(event);
        let side_found = found.bears_context(event);
        let is_right = side_found == Some(phase.bears_context());
        let side = &mut sides[usize::from(phase.bears_context())];
        side[0] += time;
        side[1] += if is_right { time } else { 0.0 };
        exact += if label == phase { time } else { 0.0 };
        wrong += if side_found.is_none() || is_right { 0.0 } else { time };
        let step = found.step_of(event).unwrap_or(found.steps().len());
        in_steps[step][phase as usize] += time / 1000.0;
    }
    let total = sides[0][0] + sides[1][0];
    let recalls: Vec<f64> = sides.iter().filter(|side| side[0] > 0.0).map(|side| side[1] / side[0]).collect();
    let steps = found.steps().iter().map(|step| format!("{} by {}", step.phase, step.source.as_str()));
    let steps = steps.chain(["none".into()]).zip(in_steps).map(|(step, in_it)| format!("{step} {in_it:?}"));
    Judged {
        right: (sides[0][1] + sides[1][1]) / total,
        balanced: recalls.iter().sum::<f64>() / recalls.len() as f64,
        exact: exact / total,
        wrong: wrong / total,
        steps: steps.collect(),
    }
}
