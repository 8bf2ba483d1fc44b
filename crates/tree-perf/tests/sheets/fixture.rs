//! Small traces for tests, with times in microseconds.

use trace_ingest::{ArgumentValue, Category, Collective, EventArguments, EventId, TraceBuilder};
use tree_perf::{Analysis, AnalysisOptions};

use crate::common::Table;

/// A trace in the making: host threads of process 1, streams of device 0.
pub(crate) struct Fixture {
    pub(crate) builder: TraceBuilder,
    next_correlation: i64,
}

/// A kernel: name, stream, start and duration.
pub(crate) type Kernel<'a> = (&'a str, i64, f64, f64);

/// An input of an operator: shape, element type and value.
pub(crate) type Input<'a> = (&'a [i64], &'a str, &'a str);

fn nanoseconds(microseconds: f64) -> i64 {
    (microseconds * 1000.0).round() as i64
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Fixture { builder: TraceBuilder::new(), next_correlation: 1 }
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
        self.event(Category::CPU_OP, name, (1, 1), span, EventArguments::default())
    }

    /// An operator with recorded arguments, of which the shapes of the inputs matter.
    pub(crate) fn op_with_dims(&mut self, name: &str, span: (f64, f64), dims: &[&[i64]]) -> EventId {
        let list = |values: Vec<ArgumentValue>| Some(ArgumentValue::List(values));
        let shape =
            |dims: &&[i64]| ArgumentValue::List(dims.iter().copied().map(ArgumentValue::Int).collect());
        let text = |text: &str| ArgumentValue::Text(text.to_owned());
        let signature = self.builder.signature([
            list(dims.iter().map(shape).collect()),
            list(dims.iter().map(|_| text("float")).collect()),
            list(dims.iter().map(|_| ArgumentValue::List(vec![ArgumentValue::Int(1)])).collect()),
            list(dims.iter().map(|_| text("")).collect()),
        ]);
        let arguments = EventArguments { signature: Some(signature), ..EventArguments::default() };
        self.event(Category::CPU_OP, name, (1, 1), span, arguments)
    }

    /// Arguments of an operator as the profiler records them, per input its shape, element type and value;
    /// tensors are contiguous.
    pub(crate) fn arguments(&mut self, inputs: &[Input<'_>]) -> EventArguments {
        let list = |values: Vec<ArgumentValue>| ArgumentValue::List(values);
        let numbers = |values: &[i64]| list(values.iter().copied().map(ArgumentValue::Int).collect());
        let text = |text: &str| ArgumentValue::Text(text.to_owned());
        let strides = |shape: &[i64]| -> Vec<i64> {
            (0..shape.len()).map(|at| shape[at + 1..].iter().product()).collect()
        };
        let signature = self.builder.signature([
            Some(list(inputs.iter().map(|input| numbers(input.0)).collect())),
            Some(list(inputs.iter().map(|input| text(input.1)).collect())),
            Some(list(inputs.iter().map(|input| numbers(&strides(input.0))).collect())),
            Some(list(inputs.iter().map(|input| text(input.2)).collect())),
        ]);
        EventArguments { signature: Some(signature), ..EventArguments::default() }
    }

    /// [`Fixture::call`] of an operator with all its arguments.
    pub(crate) fn modelled_call(
        &mut self,
        name: &str,
        at: f64,
        inputs: &[Input<'_>],
        kernels: &[Kernel<'_>],
    ) -> EventId {
        let arguments = self.arguments(inputs);
        let op = self.event(Category::CPU_OP, name, (1, 1), (at, 10.0), arguments);
        self.launches(at + 1.0, kernels);
        op
    }

    /// `aten::mm` of 32×64 by 64×128 in FP32.
    pub(crate) fn mm(&mut self, at: f64, kernels: &[Kernel<'_>]) -> EventId {
        self.modelled_call("aten::mm", at, &[(&[32, 64], "float", ""), (&[64, 128], "float", "")], kernels)
    }

    pub(crate) fn python(&mut self, name: &str, span: (f64, f64)) -> EventId {
        self.event(Category::PYTHON_FUNCTION, name, (1, 1), span, EventArguments::default())
    }

    /// An annotation of a thread of process 1.
    pub(crate) fn annotation(&mut self, name: &str, thread: i64, span: (f64, f64)) -> EventId {
        self.event(Category::USER_ANNOTATION, name, (1, thread), span, EventArguments::default())
    }

    pub(crate) fn launch(&mut self, name: &str, span: (f64, f64), correlation: i64) -> EventId {
        let arguments = EventArguments { correlation: Some(correlation), ..EventArguments::default() };
        self.event(Category::CUDA_RUNTIME, name, (1, 1), span, arguments)
    }

    /// A device event with the correlation of its launch.
    pub(crate) fn device(
        &mut self,
        category: Category,
        (name, stream, start, duration): Kernel<'_>,
        correlation: i64,
    ) -> EventId {
        let arguments = EventArguments {
            correlation: Some(correlation),
            device: Some(0),
            stream: Some(stream),
            ..EventArguments::default()
        };
        self.event(category, name, (0, stream), (start, duration), arguments)
    }

    /// A kernel whose launch is not in the trace.
    pub(crate) fn unlinked(&mut self, kernel: Kernel<'_>) -> EventId {
        let correlation = self.correlation();
        self.device(Category::KERNEL, kernel, correlation)
    }

    /// Launches, one after the other from `at` on, each with its kernel.
    pub(crate) fn launches(&mut self, at: f64, kernels: &[Kernel<'_>]) {
        for (position, &kernel) in kernels.iter().enumerate() {
            let correlation = self.correlation();
            self.launch("cudaLaunchKernel", (at + position as f64 * 0.2, 0.1), correlation);
            self.device(Category::KERNEL, kernel, correlation);
        }
    }

    /// An operator of 10 µs with its launches inside.
    pub(crate) fn call(&mut self, name: &str, at: f64, kernels: &[Kernel<'_>]) -> EventId {
        let op = self.op(name, (at, 10.0));
        self.launches(at + 1.0, kernels);
        op
    }

    /// [`Fixture::call`] of an operator with recorded arguments.
    pub(crate) fn call_with_dims(
        &mut self,
        name: &str,
        at: f64,
        dims: &[&[i64]],
        kernels: &[Kernel<'_>],
    ) -> EventId {
        let op = self.op_with_dims(name, (at, 10.0), dims);
        self.launches(at + 1.0, kernels);
        op
    }

    /// A kernel of communication with what the profiler recorded of it.
    pub(crate) fn collective(&mut self, kernel: Kernel<'_>, collective: Collective) -> EventId {
        let (name, stream, start, duration) = kernel;
        let arguments = EventArguments {
            correlation: Some(self.correlation()),
            device: Some(0),
            stream: Some(stream),
            collective: Some(collective),
            ..EventArguments::default()
        };
        self.event(Category::KERNEL, name, (0, stream), (start, duration), arguments)
    }

    pub(crate) fn correlation(&mut self) -> i64 {
        self.next_correlation += 1;
        self.next_correlation - 1
    }

    pub(crate) fn analyse(self, options: AnalysisOptions) -> Analysis {
        Analysis::new(self.builder.finish(), options)
    }

    /// A sheet of the trace with default options.
    pub(crate) fn table(self, sheet: &str) -> Table {
        self.table_with(sheet, AnalysisOptions::default())
    }

    /// A sheet of the trace; panics when the report leaves it out.
    pub(crate) fn table_with(self, sheet: &str, options: AnalysisOptions) -> Table {
        Table::of_sheet(&self.analyse(options), sheet)
    }
}
