//! A make-believe inference engine that leaves a trace.

use inference_phase::{DetectOptions, Phase, Source, Steps};
use trace_ingest::{ArgumentValue, Category, EventArguments, EventId, TraceBuilder};
use trace2tree::{TraceTree, TreeOptions};

const MICROSECOND: i64 = 1000;

/// Writes a trace call by call; every operator that runs on the device launches one kernel.
pub(crate) struct Engine {
    pub(crate) builder: TraceBuilder,
    /// Time of the host.
    pub(crate) now: i64,
    /// Time of the device, which runs behind.
    pub(crate) device: i64,
    pub(crate) correlation: i64,
    pub(crate) thread: i64,
    pub(crate) process: i64,
    /// Device events in order.
    pub(crate) kernels: Vec<EventId>,
    pub(crate) model: Model,
}

/// Widths of the model that the engine runs.
#[derive(Clone, Copy)]
pub(crate) struct Model {
    pub(crate) layers: usize,
    pub(crate) hidden: i64,
    pub(crate) qkv: i64,
    pub(crate) feed_forward: i64,
    /// Entries of the vocabulary on this rank, and on all.
    pub(crate) vocabulary: [i64; 2],
}

pub(crate) const MODEL: Model =
    Model { layers: 4, hidden: 4096, qkv: 6144, feed_forward: 14_336, vocabulary: [128_256, 128_256] };

impl Engine {
    pub(crate) fn new() -> Self {
        Engine {
            builder: TraceBuilder::new(),
            now: 0,
            device: 50 * MICROSECOND,
            correlation: 0,
            thread: 1,
            process: 1,
            kernels: Vec::new(),
            model: MODEL,
        }
    }

    fn event(
        &mut self,
        category: Category,
        name: &str,
        start: i64,
        end: i64,
        arguments: EventArguments,
    ) -> EventId {
        let track = self.builder.track(self.process, self.thread);
        self.builder.event(category, name, track, start, end - start, arguments)
    }

    pub(crate) fn launch(&mut self, call: &str, kernels: &[&str]) {
        self.correlation += 1;
        let arguments = EventArguments { correlation: Some(self.correlation), ..EventArguments::default() };
        self.event(Category::CUDA_RUNTIME, call, self.now, self.now + MICROSECOND, arguments);
        self.now += 2 * MICROSECOND;
        for kernel in kernels {
            let stream = self.builder.track(0, 7);
            let start = self.device.max(self.now);
            self.device = start + 5 * MICROSECOND;
            let id = self.builder.event(Category::KERNEL, kernel, stream, start, 5 * MICROSECOND, arguments);
            self.kernels.push(id);
        }
    }

    /// An operator with these shapes that launches a kernel of this name.
    pub(crate) fn op(&mut self, name: &str, kernel: &str, shapes: &[&[i64]]) {
        let list =
            |items: &[i64]| ArgumentValue::List(items.iter().map(|&item| ArgumentValue::Int(item)).collect());
        let dims = ArgumentValue::List(shapes.iter().map(|shape| list(shape)).collect());
        let kind = |shape: &&[i64]| {
            ArgumentValue::Text(if shape.len() == 1 { "int" } else { "c10::BFloat16" }.into())
        };
        let types = ArgumentValue::List(shapes.iter().map(kind).collect());
        let signature = self.builder.signature([Some(dims), Some(types), None, None]);
        let start = self.now;
        self.now += MICROSECOND;
        self.launch("cudaLaunchKernel", &[kernel]);
        let arguments = EventArguments { signature: Some(signature), ..EventArguments::default() };
        self.now += MICROSECOND;
        self.event(Category::CPU_OP, name, start, self.now, arguments);
        self.now += MICROSECOND;
    }

    pub(crate) fn mm(&mut self, rows: i64, inner: i64, outer: i64) {
        self.op("aten::mm", "Cijk_Alik_Bljk_BBS_USL1_SL128_MT256x32x64", &[&[rows, inner], &[inner, outer]]);
    }

    pub(crate) fn head(&mut self, rows: i64) {
        let [share, all] = self.model.vocabulary;
        self.mm(rows, self.model.hidden, share);
        self.op("aten::argmax", "reduce_kernel", &[&[rows, all], &[], &[]]);
    }

    pub(crate) fn embedding(&mut self, tokens: i64) {
        let [share, _] = self.model.vocabulary;
        self.op("aten::embedding", "gather_kernel", &[&[share, self.model.hidden], &[tokens]]);
    }

    /// All layers, over packed tokens, with this attention.
    pub(crate) fn layers(&mut self, tokens: i64, mut attention: impl FnMut(&mut Engine)) {
        let Model { layers, hidden, qkv, feed_forward, .. } = self.model;
        for _ in 0..layers {
            self.op(
                "_C::fused_add_rms_norm",
                "rms_norm_kernel",
                &[&[tokens, hidden], &[tokens, hidden], &[hidden]],
            );
            self.mm(tokens, hidden, qkv);
            attention(self);
            self.mm(tokens, hidden, hidden);
            self.mm(tokens, hidden, 2 * feed_forward);
            self.mm(tokens, feed_forward, hidden);
        }
    }

    /// Attention that says no more than how many tokens it reads.
    pub(crate) fn attention(&mut self, tokens: i64) {
        let shape: &[i64] = &[tokens, 32, 128];
        self.op("vllm::unified_attention_with_output", "kernel_unified_attention_2d", &[shape, shape, shape]);
    }

    /// A step without graphs: `rows` of the `tokens` get logits.
    pub(crate) fn eager_step(&mut self, tokens: i64, rows: i64) {
        self.embedding(tokens);
        self.layers(tokens, |engine| engine.attention(tokens));
        self.op("aten::index", "index_kernel", &[&[tokens, self.model.hidden], &[rows]]);
        self.head(rows);
        self.now += 20 * MICROSECOND;
    }

    /// A step whose layers are graphs in pieces around attention, over `tokens` with their padding.
    pub(crate) fn piecewise_step(&mut self, tokens: i64, rows: i64) {
        for _ in 0..self.model.layers {
            self.graph(&["gemm", "act_and_mul"]);
            self.attention(tokens);
        }
        self.graph(&["gemm"]);
        self.op("aten::index", "index_kernel", &[&[tokens, self.model.hidden], &[rows]]);
        self.head(rows);
        self.now += 20 * MICROSECOND;
    }

    pub(crate) fn graph(&mut self, kernels: &[&str]) {
        self.launch("cudaGraphLaunch", kernels);
    }

    /// Something that lasts as long as what runs in it.
    fn around(&mut self, category: Category, name: &str, inside: impl FnOnce(&mut Engine)) {
        let start = self.now;
        self.now += MICROSECOND;
        inside(self);
        self.now += MICROSECOND;
        self.event(category, name, start, self.now, EventArguments::default());
        self.now += MICROSECOND;
    }

    pub(crate) fn annotate(&mut self, name: &str, inside: impl FnOnce(&mut Engine)) {
        self.around(Category::USER_ANNOTATION, name, inside);
    }

    pub(crate) fn frame(&mut self, name: &str, inside: impl FnOnce(&mut Engine)) {
        self.around(Category::PYTHON_FUNCTION, name, inside);
    }

    pub(crate) fn found(self) -> Found {
        self.found_with(&DetectOptions::default())
    }

    pub(crate) fn blind(self) -> Found {
        self.found_with(&DetectOptions {
            use_annotations: false,
            use_frames: false,
            ..DetectOptions::default()
        })
    }

    pub(crate) fn found_with(self, options: &DetectOptions) -> Found {
        let tree = TraceTree::build(self.builder.finish(), &TreeOptions::default());
        let steps = Steps::detect(&tree, options);
        Found { tree, steps, kernels: self.kernels }
    }
}

/// What was found in a trace.
pub(crate) struct Found {
    pub(crate) tree: TraceTree,
    pub(crate) steps: Steps,
    pub(crate) kernels: Vec<EventId>,
}

impl Found {
    /// Phases of the steps, in order.
    pub(crate) fn phases(&self) -> Vec<Phase> {
        self.steps.steps().iter().map(|step| step.phase).collect()
    }

    pub(crate) fn sources(&self) -> Vec<Source> {
        self.steps.steps().iter().map(|step| step.source).collect()
    }

    /// Phases of the kernels, in order of their launches.
    pub(crate) fn kernel_phases(&self) -> Vec<Phase> {
        self.kernels.iter().map(|&kernel| self.steps.phase_of(kernel)).collect()
    }

    /// The phase of all kernels, which must have one and the same.
    pub(crate) fn only_phase(&self) -> Phase {
        let phases = self.kernel_phases();
        assert!(phases.iter().all(|&phase| phase == phases[0]), "{:?}", self.steps.steps());
        phases[0]
    }

    /// Whether the kernels' steps process prompts, in order of their launches.
    pub(crate) fn sides(&self) -> Vec<Option<bool>> {
        self.kernels.iter().map(|&kernel| self.steps.bears_context(kernel)).collect()
    }

    /// Whether all kernels are of steps that process prompts, and nothing shows whether with generation beside.
    pub(crate) fn has_prompts_and_no_phase(&self) -> bool {
        self.only_phase() == Phase::Unknown && self.sides().iter().all(|&side| side == Some(true))
    }
}
