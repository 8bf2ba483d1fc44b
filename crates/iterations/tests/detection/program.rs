//! Programs that are played into recordings, with times in microseconds.

use iterations::{DetectOptions, Iterations};
use trace_ingest::{Category, EventArguments, RecorderFacts, RecordingKind, TraceBuilder, TraceFacts};
use trace2tree::{TraceTree, TreeOptions};

/// The loop's thread, autograd's thread, the device.
pub(crate) const MAIN: (i64, i64) = (1, 1);
pub(crate) const AUTOGRAD: (i64, i64) = (1, 2);
const STREAM: (i64, i64) = (0, 7);

/// A recording in the making. Calls follow one another on a clock of the host; kernels run behind.
pub(crate) struct Program {
    builder: TraceBuilder,
    pub(crate) clock: i64,
    correlation: i64,
    sequence: i64,
    /// Whether operators launch kernels.
    pub(crate) has_device: bool,
}

impl Program {
    pub(crate) fn new() -> Self {
        Program { builder: TraceBuilder::new(), clock: 1000, correlation: 0, sequence: 0, has_device: true }
    }

    pub(crate) fn event(
        &mut self,
        category: Category,
        name: &str,
        row: (i64, i64),
        start: i64,
        duration: i64,
    ) {
        self.add(category, name, row, start, duration, EventArguments::default());
    }

    fn add(
        &mut self,
        category: Category,
        name: &str,
        row: (i64, i64),
        start: i64,
        duration: i64,
        arguments: EventArguments,
    ) {
        let track = self.builder.track(row.0, row.1);
        self.builder.event(category, name, track, 1000 * start, 1000 * duration, arguments);
    }

    /// Says which kind of recorder recorded it.
    pub(crate) fn recorded_as(&mut self, kind: RecordingKind) {
        let recorder = RecorderFacts { kind: Some(kind), ..RecorderFacts::default() };
        self.builder.facts(TraceFacts { recorder, ..TraceFacts::default() });
    }

    fn call(&mut self, row: (i64, i64), name: &str, kernel: &str, category: Category, sequence: Option<i64>) {
        let arguments = EventArguments { sequence_number: sequence, ..EventArguments::default() };
        self.add(Category::CPU_OP, name, row, self.clock, 10, arguments);
        if self.has_device {
            self.launch(row, "cudaLaunchKernel", kernel, category, self.clock + 2);
        }
        self.clock += 12;
    }

    fn launch(&mut self, row: (i64, i64), name: &str, kernel: &str, category: Category, at: i64) {
        self.correlation += 1;
        let linked = EventArguments { correlation: Some(self.correlation), ..EventArguments::default() };
        self.add(Category::CUDA_RUNTIME, name, row, at, 4, linked);
        self.add(category, kernel, STREAM, at + 500, 8, linked);
    }

    /// An operator that launches a kernel.
    pub(crate) fn op(&mut self, name: &str) {
        self.call(MAIN, name, &format!("kernel of {name}"), Category::KERNEL, None);
    }

    /// The same, recorded by autograd.
    pub(crate) fn forward(&mut self, name: &str) {
        self.sequence += 1;
        self.call(MAIN, name, &format!("kernel of {name}"), Category::KERNEL, Some(self.sequence));
    }

    /// Functions of the backward pass of the last operators that autograd recorded.
    pub(crate) fn backward(&mut self, functions: i64) {
        let row = if self.has_device { AUTOGRAD } else { MAIN };
        for number in (self.sequence - functions + 1..=self.sequence).rev() {
            let name = "autograd::engine::evaluate_function: MmBackward0";
            self.call(row, name, "backward kernel", Category::KERNEL, Some(number));
        }
    }

    /// A kernel that a thread launches outside of operators.
    pub(crate) fn kernel_on(&mut self, row: (i64, i64), kernel: &str) {
        self.launch(row, "cudaLaunchKernel", kernel, Category::KERNEL, self.clock);
        self.clock += 12;
    }

    /// A graph that is launched outside of operators.
    pub(crate) fn graph(&mut self) {
        self.launch(MAIN, "cudaGraphLaunch", "graph kernel", Category::KERNEL, self.clock);
        self.clock += 12;
    }

    /// What `content` does while a graph is captured: nothing of it runs on the device.
    pub(crate) fn captured(&mut self, content: impl FnOnce(&mut Self)) {
        let had_device = std::mem::replace(&mut self.has_device, false);
        for (name, content) in
            [("cudaStreamBeginCapture", Some(content)), ("cudaStreamEndCapture_ptsz", None)]
        {
            self.event(Category::CUDA_RUNTIME, name, MAIN, self.clock, 2);
            self.clock += 3;
            content.into_iter().for_each(|content| content(self));
        }
        self.has_device = had_device;
    }

    /// A copy from the device to the host.
    pub(crate) fn copy_to_host(&mut self) {
        let name = "Memcpy DtoH (Device -> Pageable)";
        self.launch(MAIN, "cudaMemcpyAsync", name, Category::GPU_MEMCPY, self.clock);
        self.clock += 12;
    }

    pub(crate) fn pause(&mut self, time: i64) {
        self.clock += time;
    }

    /// What `content` does, in a range.
    pub(crate) fn marked(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.around(Category::USER_ANNOTATION, name, content);
    }

    /// What `content` does, in a Python frame.
    pub(crate) fn framed(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.around(Category::PYTHON_FUNCTION, name, content);
    }

    fn around(&mut self, category: Category, name: &str, content: impl FnOnce(&mut Self)) {
        let start = self.clock;
        self.clock += 1;
        content(self);
        self.event(category, name, MAIN, start, self.clock - start);
        self.clock += 1;
    }

    /// An iteration of training: so many forward and backward passes, then an update.
    pub(crate) fn train(&mut self, micro_batches: usize) {
        for _ in 0..micro_batches {
            self.op("aten::to");
            for name in
                ["aten::embedding", "aten::linear", "aten::gelu", "aten::linear", "aten::cross_entropy_loss"]
            {
                self.forward(name);
            }
            self.backward(5);
        }
        self.op("aten::_fused_adamw_");
        self.op("aten::zero_");
        self.pause(3);
    }

    /// A pass over a model of so many layers.
    pub(crate) fn infer(&mut self, layers: usize) {
        for name in ["aten::embedding", "aten::arange", "aten::cumsum"] {
            self.op(name);
        }
        for _ in 0..layers {
            for name in ["aten::layer_norm", "aten::linear", "aten::softmax", "aten::linear", "aten::gelu"] {
                self.op(name);
            }
        }
        for name in ["aten::pool", "aten::classify", "aten::argmax"] {
            self.op(name);
        }
    }

    pub(crate) fn tree(self) -> TraceTree {
        TraceTree::build(
            self.builder.finish(),
            &TreeOptions { python_frames: true, ..TreeOptions::default() },
        )
    }

    pub(crate) fn detect(self) -> Iterations {
        Iterations::detect(&self.tree(), &DetectOptions::default())
    }
}

/// Marks and annotations are not looked at.
pub(crate) const STRIPPED: DetectOptions =
    DetectOptions { use_recorded_steps: false, use_annotations: false, use_frames: false };

/// Number of steps; 0 where none were found.
pub(crate) fn count(found: &Iterations) -> usize {
    found.steps().map_or(0, |steps| steps.iterations.len())
}
