//! Small traces of captures and replays, as the profiler writes them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use trace_ingest::{Category, EventId, ReadOptions, read_path};
use trace2tree::{TraceTree, TreeOptions};

/// A trace in the making; times are in µs.
#[derive(Default)]
pub(crate) struct Recording {
    events: Vec<Value>,
    clock: i64,
    correlation: i64,
}

/// A call to capture: operator, its first operand's rows, the kernel it launches (`None` for a copy).
pub(crate) type Call<'c> = (&'c str, i64, Option<&'c str>);

impl Recording {
    pub(crate) fn push(
        &mut self,
        category: &str,
        name: &str,
        track: (i64, i64),
        span: (i64, i64),
        args: Value,
    ) {
        self.events.push(json!({
            "ph": "X", "cat": category, "name": name, "pid": track.0, "tid": track.1,
            "ts": span.0, "dur": span.1, "args": args,
        }));
    }

    pub(crate) fn annotate(&mut self, name: &str, span: (i64, i64)) {
        self.push("user_annotation", name, (1, 1), span, json!({}));
    }

    /// One capture in a module's frame. Without `named`, launches do not say which kernel they are for.
    pub(crate) fn capture(&mut self, calls: &[Call<'_>], named: bool) {
        let begin = self.clock;
        self.push("cuda_runtime", "hipStreamBeginCapture", (1, 1), (begin, 1), json!({}));
        let module = (begin + 5, calls.len() as i64 * 20 + 5);
        self.push("python_function", "nn.Module: Mlp_0", (1, 1), module, json!({}));
        for (at, &(operator, rows, kernel)) in (0..).zip(calls) {
            let start = begin + 10 + at * 20;
            let dims =
                json!({"Input Dims": [[rows, 8], [8, 16]], "Input type": ["c10::BFloat16", "c10::BFloat16"]});
            self.push("cpu_op", operator, (1, 1), (start, 15), dims);
            let (call, args) = match kernel {
                Some(kernel) if named => ("hipLaunchKernel", json!({"kernel": kernel})),
                Some(_) => ("cudaLaunchKernel", json!({})),
                None => ("hipMemcpyAsync", json!({})),
            };
            self.push("cuda_runtime", call, (1, 1), (start + 5, 5), args);
        }
        self.clock = module.0 + module.1 + 10;
        self.push("cuda_runtime", "hipStreamEndCapture", (1, 1), (self.clock, 1), json!({}));
        self.clock += 10;
    }

    /// A step with graph launches, each with its device events as `(name, stream, duration)`; a copy's name begins
    /// with `Memcpy`.
    pub(crate) fn step(&mut self, annotation: &str, replays: &[&[(&str, i64, i64)]]) {
        let start = self.clock;
        for replay in replays {
            self.clock += 10;
            self.correlation += 1;
            let correlation = self.correlation;
            self.push(
                "cuda_runtime",
                "hipGraphLaunch",
                (1, 1),
                (self.clock, 5),
                json!({"correlation": correlation}),
            );
            for (at, &(name, stream, duration)) in (self.clock + 100..).zip(*replay) {
                let category = if name.starts_with("Memcpy") { "gpu_memcpy" } else { "kernel" };
                let args = json!({"correlation": correlation, "stream": stream, "device": 0});
                self.push(category, name, (0, stream), (at, duration), args);
            }
        }
        self.clock += 20;
        self.annotate(annotation, (start, self.clock - start));
        self.clock += 10;
    }

    pub(crate) fn text(&self) -> String {
        json!({"schemaVersion": 1, "traceEvents": self.events}).to_string()
    }

    pub(crate) fn write(&self, path: &Path) {
        fs::write(path, self.text()).unwrap();
    }

    /// The tree, with Python frames.
    pub(crate) fn tree(&self) -> TraceTree {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("replay.json");
        self.write(&path);
        tree(&path)
    }
}

pub(crate) fn tree(path: &Path) -> TraceTree {
    let trace = read_path(path, &ReadOptions::default()).unwrap();
    TraceTree::build(trace, &TreeOptions { python_frames: true, ..TreeOptions::default() })
}

/// The device events of the trace, in file order.
pub(crate) fn device_events(tree: &TraceTree) -> Vec<EventId> {
    let events = tree.trace().events();
    events.ids().filter(|&event| events.category(event).is_device()).collect()
}

/// Checks that each linked device event is charged to one launcher, with the time that it had.
pub(crate) fn assert_conserved(before: &TraceTree, after: &TraceTree) {
    let (all, events) = (device_events(before), after.trace().events());
    assert_eq!(all, device_events(after));
    for &event in &all {
        let recorded = before.trace().events();
        assert_eq!(
            (events.start(event), events.duration(event)),
            (recorded.start(event), recorded.duration(event))
        );
    }
    let charged = |tree: &TraceTree| {
        let launchers = tree.kernel_launchers(|_| true);
        let mut charged: Vec<EventId> = launchers.iter().flat_map(|(_, events)| events.to_vec()).collect();
        charged.sort_unstable();
        charged
    };
    assert_eq!(charged(before), charged(after));
    let mut below: Vec<EventId> =
        after.roots().iter().flat_map(|&root| after.device_events(root)).copied().collect();
    below.sort_unstable();
    assert_eq!(below, charged(after), "each hangs below one root");
    assert_eq!(before.unlinked_device_events(), after.unlinked_device_events());
    let time = |tree: &TraceTree| tree.roots().iter().map(|&root| tree.gpu_time(root).ticks()).sum::<i64>();
    let same_roots = before.roots() == after.roots();
    assert!(!same_roots || time(before) == time(after));
}

/// Whether the nearest operator of a device event has recorded shapes.
pub(crate) fn has_shapes(tree: &TraceTree, device_event: EventId) -> bool {
    let operator = tree.operator(device_event);
    operator.is_some_and(|operator| {
        tree.trace().events().category(operator) == Category::CPU_OP
            && tree.trace().argument(operator, |signature| signature.dims).is_some()
    })
}
