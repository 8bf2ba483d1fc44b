//! Generated recordings: times in microseconds, one process, one device.

use std::io::Write;

use trace_ingest::{
    Accelerator, Category, EventArguments, EventId, ReadOptions, RecorderFacts, RecordingKind, Trace,
    TraceBuilder, TraceFacts, read_path,
};
use trace2tree::{TraceTree, TreeOptions};

use crate::{Diagnosis, Finding};

/// A recording in the making.
pub(crate) struct Recording {
    pub(crate) builder: TraceBuilder,
    pub(crate) facts: TraceFacts,
}

/// Arguments of an event with this correlation id.
pub(crate) fn correlated(id: i64) -> EventArguments {
    EventArguments { correlation: Some(id), ..EventArguments::default() }
}

impl Recording {
    pub(crate) fn new() -> Self {
        Recording { builder: TraceBuilder::new(), facts: TraceFacts::default() }
    }

    pub(crate) fn rocm() -> Self {
        let facts = TraceFacts { roctracer_version: Some("4.1".to_owned()), ..TraceFacts::default() };
        Recording { facts, ..Recording::new() }
    }

    pub(crate) fn of(kind: RecordingKind) -> Self {
        let recorder = RecorderFacts { kind: Some(kind), ..RecorderFacts::default() };
        Recording { facts: TraceFacts { recorder, ..TraceFacts::default() }, ..Recording::new() }
    }

    pub(crate) fn mtia() -> Self {
        let facts = TraceFacts { accelerator: Some(Accelerator::Mtia), ..TraceFacts::default() };
        Recording { facts, ..Recording::new() }
    }

    /// Any event of thread 1; `span` is start and length.
    pub(crate) fn host(
        &mut self,
        category: &str,
        name: &str,
        span: (f64, f64),
        arguments: EventArguments,
    ) -> EventId {
        self.host_of((1, 1), category, name, span, arguments)
    }

    pub(crate) fn host_of(
        &mut self,
        (process, thread): (i64, i64),
        category: &str,
        name: &str,
        (start, length): (f64, f64),
        arguments: EventArguments,
    ) -> EventId {
        let track = self.builder.track(process, thread);
        let category = self.builder.category(category);
        self.builder.event(category, name, track, nanoseconds(start), nanoseconds(length), arguments)
    }

    pub(crate) fn operator(&mut self, name: &str, span: (f64, f64)) -> EventId {
        self.host("cpu_op", name, span, EventArguments::default())
    }

    pub(crate) fn call(&mut self, name: &str, span: (f64, f64), id: i64) -> EventId {
        self.host("cuda_runtime", name, span, correlated(id))
    }

    /// A kernel on stream 7.
    pub(crate) fn kernel(&mut self, name: &str, span: (f64, f64), id: i64) -> EventId {
        self.device(Category::KERNEL, name, 7, span, correlated(id))
    }

    pub(crate) fn device(
        &mut self,
        category: Category,
        name: &str,
        stream: i64,
        (start, length): (f64, f64),
        arguments: EventArguments,
    ) -> EventId {
        let track = self.builder.track(0, stream);
        let arguments =
            EventArguments { device: Some(0), stream: arguments.stream.or(Some(stream)), ..arguments };
        self.builder.event(category, name, track, nanoseconds(start), nanoseconds(length), arguments)
    }

    /// An operator at each tenth of a millisecond that launches a kernel, with the ids `first` and on.
    pub(crate) fn launches(&mut self, first: i64, count: i64) {
        for id in first..first + count {
            let at = 100.0 * id as f64 + 0.125;
            self.operator("aten::mm", (at, 20.0));
            self.call("cudaLaunchKernel", (at + 1.0, 5.0), id);
            self.kernel("gemm", (at + 10.0, 50.0), id);
        }
    }

    pub(crate) fn trace(mut self) -> Trace {
        self.builder.facts(self.facts);
        self.builder.finish()
    }

    pub(crate) fn diagnosis(self) -> Diagnosis {
        Diagnosis::new(&TraceTree::build(self.trace(), &TreeOptions::default()))
    }
}

impl Diagnosis {
    pub(crate) fn find(&self, rule: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.rule.id == rule)
    }

    /// What a rule that does not fire explains away.
    pub(crate) fn guarded(&self, rule: &str) -> u64 {
        self.guarded.iter().find(|(other, _)| other.id == rule).map_or(0, |&(_, count)| count)
    }
}

/// The diagnosis of a file with this text.
pub(crate) fn diagnose_text(text: &str) -> Diagnosis {
    let mut file = tempfile::NamedTempFile::with_suffix(".json").unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let trace = read_path(file.path(), &ReadOptions::default()).unwrap();
    Diagnosis::new(&TraceTree::build(trace, &TreeOptions::default()))
}

fn nanoseconds(microseconds: f64) -> i64 {
    (microseconds * 1000.0).round() as i64
}
