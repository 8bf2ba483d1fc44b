//! Small traces for tests, with times in microseconds.

use trace_ingest::{Category, EventArguments, EventId, Flow, FlowEnd, FlowKind, Trace, TraceBuilder};

use crate::{TraceTree, TreeOptions};

/// A trace in the making: host threads of process 1, streams of device 0.
pub(crate) struct Fixture {
    pub(crate) builder: TraceBuilder,
}

fn nanoseconds(microseconds: f64) -> i64 {
    (microseconds * 1000.0).round() as i64
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Fixture { builder: TraceBuilder::new() }
    }

    /// Any event; `row` is `(pid, tid)`, `span` is `(ts, dur)`.
    pub(crate) fn event(
        &mut self,
        category: Category,
        name: &str,
        row: (i64, i64),
        span: (f64, f64),
        arguments: EventArguments,
    ) -> EventId {
        let track = self.builder.track(row.0, row.1);
        self.builder.event(category, name, track, nanoseconds(span.0), nanoseconds(span.1), arguments)
    }

    pub(crate) fn op(&mut self, name: &str, span: (f64, f64)) -> EventId {
        self.op_on(1, name, span)
    }

    pub(crate) fn op_on(&mut self, tid: i64, name: &str, span: (f64, f64)) -> EventId {
        self.event(Category::CPU_OP, name, (1, tid), span, EventArguments::default())
    }

    pub(crate) fn op_with_sequence(
        &mut self,
        tid: i64,
        name: &str,
        span: (f64, f64),
        number: i64,
    ) -> EventId {
        let arguments = EventArguments { sequence_number: Some(number), ..EventArguments::default() };
        self.event(Category::CPU_OP, name, (1, tid), span, arguments)
    }

    /// An operator that notes its call stack.
    pub(crate) fn op_with_stack(&mut self, name: &str, span: (f64, f64), stack: &str) -> EventId {
        let arguments =
            EventArguments { call_stack: Some(self.builder.intern(stack)), ..EventArguments::default() };
        self.event(Category::CPU_OP, name, (1, 1), span, arguments)
    }

    pub(crate) fn python(&mut self, name: &str, span: (f64, f64)) -> EventId {
        self.event(Category::PYTHON_FUNCTION, name, (1, 1), span, EventArguments::default())
    }

    pub(crate) fn launch(&mut self, name: &str, span: (f64, f64), correlation: i64) -> EventId {
        let arguments = EventArguments { correlation: Some(correlation), ..EventArguments::default() };
        self.event(Category::CUDA_RUNTIME, name, (1, 1), span, arguments)
    }

    pub(crate) fn kernel(&mut self, name: &str, span: (f64, f64), correlation: i64) -> EventId {
        self.device(Category::KERNEL, name, 7, span, correlation)
    }

    pub(crate) fn device(
        &mut self,
        category: Category,
        name: &str,
        stream: i64,
        span: (f64, f64),
        correlation: i64,
    ) -> EventId {
        let arguments = EventArguments {
            correlation: Some(correlation),
            device: Some(0),
            stream: Some(stream),
            ..EventArguments::default()
        };
        self.event(category, name, (0, stream), span, arguments)
    }

    /// The two ends of a launch arrow from thread 1 to stream 7.
    pub(crate) fn arrow(&mut self, id: i64) {
        let (host, stream) = (self.builder.track(1, 1), self.builder.track(0, 7));
        self.builder.flow(Flow {
            kind: FlowKind::Launch,
            end: FlowEnd::Start,
            id,
            track: host,
            time: None,
            event: None,
        });
        self.builder.flow(Flow {
            kind: FlowKind::Launch,
            end: FlowEnd::Finish,
            id,
            track: stream,
            time: None,
            event: None,
        });
    }

    /// An end of an arrow of the autograd profiler, on a row `(pid, tid)`.
    pub(crate) fn operator_arrow(&mut self, id: i64, end: FlowEnd, row: (i64, i64), time: f64) {
        let (track, time) = (self.builder.track(row.0, row.1), Some(nanoseconds(time)));
        self.builder.flow(Flow { kind: FlowKind::OperatorToDevice, end, id, track, time, event: None });
    }

    pub(crate) fn finish(self) -> Trace {
        self.builder.finish()
    }

    /// The tree with Python frames.
    pub(crate) fn tree(self) -> TraceTree {
        TraceTree::build(self.finish(), &TreeOptions { python_frames: true, ..TreeOptions::default() })
    }
}

pub(crate) fn names<'t>(tree: &'t TraceTree, events: &[EventId]) -> Vec<&'t str> {
    events.iter().map(|&event| tree.trace().name(event)).collect()
}
