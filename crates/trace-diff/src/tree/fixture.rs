//! Programs for tests: what they call and launch, as traces of which it is known which kernel is which.

use trace_ingest::{ArgumentValue, Category, EventArguments, EventId, TraceBuilder, TrackId};
use trace2tree::{TraceTree, TreeOptions};

/// A piece of a program.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Module(&'static str, Vec<Item>),
    Op(Op),
    Kernel(Kernel),
    /// One call that replays kernels.
    Graph(Vec<Kernel>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Op {
    pub(super) name: String,
    pub(super) extent: i64,
    pub(super) items: Vec<Item>,
}

/// A kernel and the call that launches it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) duration: i64,
    /// Which kernel it is, whatever it is called.
    pub(super) truth: u32,
}

pub(super) fn op(name: &str, items: Vec<Item>) -> Item {
    Item::Op(Op { name: name.to_owned(), extent: 8, items })
}

pub(super) fn kernel(name: &str) -> Item {
    Item::Kernel(Kernel { name: name.to_owned(), duration: 10, truth: 0 })
}

/// An operator that launches one kernel named after it.
pub(super) fn leaf(name: &str) -> Item {
    op(name, vec![kernel(&format!("{name}_kernel"))])
}

impl Item {
    /// The kernels below, in order.
    pub(super) fn kernels(&self) -> Vec<&Kernel> {
        match self {
            Item::Module(_, items) | Item::Op(Op { items, .. }) => {
                items.iter().flat_map(Item::kernels).collect()
            }
            Item::Kernel(kernel) => vec![kernel],
            Item::Graph(kernels) => kernels.iter().collect(),
        }
    }
}

/// A trace of a program, and which kernel each of its device events is.
pub(super) struct Recorded {
    pub(super) tree: TraceTree,
    pub(super) truth: Vec<(EventId, u32)>,
}

/// Runs a program whose threads have these numbers.
pub(super) fn record(threads: &[(i64, Vec<Item>)]) -> Recorded {
    let mut recorder = Recorder {
        builder: TraceBuilder::new(),
        host: 0,
        device: 1_000_000,
        correlation: 0,
        stream: None,
        truth: Vec::new(),
    };
    for (thread, items) in threads {
        let track = recorder.builder.track(1, *thread);
        recorder.items(items, track);
    }
    let options = TreeOptions { python_frames: true, ..TreeOptions::default() };
    Recorded { tree: TraceTree::build(recorder.builder.finish(), &options), truth: recorder.truth }
}

/// The tree of a program with one thread.
pub(super) fn tree(items: &[Item]) -> TraceTree {
    record(&[(1, items.to_vec())]).tree
}

struct Recorder {
    builder: TraceBuilder,
    host: i64,
    device: i64,
    correlation: i64,
    stream: Option<TrackId>,
    truth: Vec<(EventId, u32)>,
}

impl Recorder {
    fn items(&mut self, items: &[Item], track: TrackId) {
        for item in items {
            // Parents come before their children in the list of events, so their end is known from a dry run.
            let start = self.host;
            let end = start + length(item);
            match item {
                Item::Module(name, items) => {
                    let name = format!("nn.Module: {name}_0");
                    let arguments = EventArguments::default();
                    self.builder.event(
                        Category::PYTHON_FUNCTION,
                        &name,
                        track,
                        start,
                        end - start,
                        arguments,
                    );
                    self.host += 1;
                    self.items(items, track);
                }
                Item::Op(Op { name, extent, items }) => {
                    let dims =
                        ArgumentValue::List(vec![ArgumentValue::List(vec![ArgumentValue::Int(*extent)])]);
                    let signature = Some(self.builder.signature([Some(dims), None, None, None]));
                    let arguments = EventArguments { signature, ..EventArguments::default() };
                    self.builder.event(Category::CPU_OP, name, track, start, end - start, arguments);
                    self.host += 1;
                    self.items(items, track);
                }
                Item::Kernel(kernel) => self.launch("cudaLaunchKernel", std::slice::from_ref(kernel), track),
                Item::Graph(kernels) => self.launch("cudaGraphLaunch", kernels, track),
            }
            self.host = end;
        }
    }

    fn launch(&mut self, call: &str, kernels: &[Kernel], track: TrackId) {
        self.correlation += 1;
        let correlation = Some(self.correlation);
        let arguments = EventArguments { correlation, ..EventArguments::default() };
        self.builder.event(Category::CUDA_RUNTIME, call, track, self.host, 1, arguments);
        for kernel in kernels {
            let stream = *self.stream.get_or_insert_with(|| self.builder.track(0, 7));
            let arguments =
                EventArguments { correlation, device: Some(0), stream: Some(7), ..EventArguments::default() };
            let (start, duration) = (self.device, kernel.duration);
            let event =
                self.builder.event(Category::KERNEL, &kernel.name, stream, start, duration, arguments);
            self.device += duration + 1;
            self.truth.push((event, kernel.truth));
        }
    }
}

/// How long the host takes for an item.
fn length(item: &Item) -> i64 {
    match item {
        Item::Module(_, items) | Item::Op(Op { items, .. }) => 2 + items.iter().map(length).sum::<i64>(),
        Item::Kernel(_) | Item::Graph(_) => 2,
    }
}
