//! Small traces made by hand: host threads of process 1, streams of device 0, times in microseconds.

use trace_ingest::{
    ArgumentValue, Category, Collective, EventArguments, EventId, Flow, FlowEnd, FlowKind, MemoryTransfer,
    Trace, TraceBuilder,
};

/// A kernel: name, stream, start and duration.
pub type Kernel<'a> = (&'a str, i64, f64, f64);

/// An input of an operator: shape, element type and value.
pub type Input<'a> = (&'a [i64], &'a str, &'a str);

/// Arguments of an event with this correlation id.
pub fn correlated(id: i64) -> EventArguments {
    EventArguments { correlation: Some(id), ..EventArguments::default() }
}

/// Numbers, such as a shape.
pub fn ints(values: &[i64]) -> ArgumentValue {
    ArgumentValue::List(values.iter().copied().map(ArgumentValue::Int).collect())
}

/// A list of shapes.
pub fn shapes(shapes: &[&[i64]]) -> ArgumentValue {
    ArgumentValue::List(shapes.iter().map(|shape| ints(shape)).collect())
}

/// A list of texts.
pub fn texts(texts: &[&str]) -> ArgumentValue {
    ArgumentValue::List(texts.iter().map(|&text| ArgumentValue::Text(text.to_owned())).collect())
}

/// A time as the builder of traces takes it.
pub fn nanoseconds(microseconds: f64) -> i64 {
    (microseconds * 1000.0).round() as i64
}

/// A trace in the making.
#[derive(Default)]
pub struct Fixture {
    /// For what has no function here.
    pub builder: TraceBuilder,
    last_correlation: i64,
}

impl Fixture {
    /// Without events.
    pub fn new() -> Self {
        Self::default()
    }

    /// Any event; `row` is `(pid, tid)`, `span` is `(ts, dur)`.
    pub fn event(
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

    /// An operator of thread 1.
    pub fn op(&mut self, name: &str, span: (f64, f64)) -> EventId {
        self.op_on(1, name, span)
    }

    /// An operator of a thread.
    pub fn op_on(&mut self, thread: i64, name: &str, span: (f64, f64)) -> EventId {
        self.event(Category::CPU_OP, name, (1, thread), span, EventArguments::default())
    }

    /// An operator of a thread, with the number that autograd gives it.
    pub fn op_with_sequence(&mut self, thread: i64, name: &str, span: (f64, f64), number: i64) -> EventId {
        let arguments = EventArguments { sequence_number: Some(number), ..EventArguments::default() };
        self.event(Category::CPU_OP, name, (1, thread), span, arguments)
    }

    /// An operator that notes its call stack.
    pub fn op_with_stack(&mut self, name: &str, span: (f64, f64), stack: &str) -> EventId {
        let call_stack = Some(self.builder.intern(stack));
        let arguments = EventArguments { call_stack, ..EventArguments::default() };
        self.event(Category::CPU_OP, name, (1, 1), span, arguments)
    }

    /// An operator with recorded arguments, of which the shapes of the inputs matter.
    pub fn op_with_dims(&mut self, name: &str, span: (f64, f64), dims: &[&[i64]]) -> EventId {
        let inputs: Vec<Input<'_>> = dims.iter().map(|&dims| (dims, "float", "")).collect();
        let arguments = self.arguments(&inputs);
        self.event(Category::CPU_OP, name, (1, 1), span, arguments)
    }

    /// What an operator records of its inputs: shapes, element types, strides and values.
    pub fn recorded(&mut self, lists: [Option<ArgumentValue>; 4]) -> EventArguments {
        EventArguments { signature: Some(self.builder.signature(lists)), ..EventArguments::default() }
    }

    /// Arguments of an operator as the profiler records them; tensors are contiguous.
    pub fn arguments(&mut self, inputs: &[Input<'_>]) -> EventArguments {
        let strides = |shape: &[i64]| -> Vec<i64> {
            (0..shape.len()).map(|at| shape[at + 1..].iter().product()).collect()
        };
        let dims: Vec<&[i64]> = inputs.iter().map(|input| input.0).collect();
        let strides: Vec<Vec<i64>> = dims.iter().map(|shape| strides(shape)).collect();
        let strides: Vec<&[i64]> = strides.iter().map(Vec::as_slice).collect();
        let types: Vec<&str> = inputs.iter().map(|input| input.1).collect();
        let values: Vec<&str> = inputs.iter().map(|input| input.2).collect();
        self.recorded([
            Some(shapes(&dims)),
            Some(texts(&types)),
            Some(shapes(&strides)),
            Some(texts(&values)),
        ])
    }

    /// A Python frame of thread 1.
    pub fn python(&mut self, name: &str, span: (f64, f64)) -> EventId {
        self.event(Category::PYTHON_FUNCTION, name, (1, 1), span, EventArguments::default())
    }

    /// An annotation of a thread.
    pub fn annotation(&mut self, name: &str, thread: i64, span: (f64, f64)) -> EventId {
        self.event(Category::USER_ANNOTATION, name, (1, thread), span, EventArguments::default())
    }

    /// A correlation id that no event has yet.
    pub fn correlation(&mut self) -> i64 {
        self.last_correlation += 1;
        self.last_correlation
    }

    /// A call of the runtime by thread 1.
    pub fn launch(&mut self, name: &str, span: (f64, f64), correlation: i64) -> EventId {
        self.event(Category::CUDA_RUNTIME, name, (1, 1), span, correlated(correlation))
    }

    /// A kernel of stream 7.
    pub fn kernel(&mut self, name: &str, span: (f64, f64), correlation: i64) -> EventId {
        self.device(Category::KERNEL, (name, 7, span.0, span.1), correlation)
    }

    /// A device event with the correlation of its launch.
    pub fn device(&mut self, category: Category, kernel: Kernel<'_>, correlation: i64) -> EventId {
        let (name, stream, start, duration) = kernel;
        let arguments = EventArguments { device: Some(0), stream: Some(stream), ..correlated(correlation) };
        self.event(category, name, (0, stream), (start, duration), arguments)
    }

    /// A copy of so many bytes with the correlation of its launch.
    pub fn transfer(&mut self, copy: Kernel<'_>, bytes: Option<u64>, correlation: i64) -> EventId {
        let (name, stream, start, duration) = copy;
        let transfer = Some(MemoryTransfer { bytes, ..MemoryTransfer::default() });
        let (device, stream) = (Some(0), Some(stream));
        let arguments = EventArguments { device, stream, transfer, ..correlated(correlation) };
        self.event(Category::GPU_MEMCPY, name, (0, copy.1), (start, duration), arguments)
    }

    /// A kernel whose launch is not in the trace.
    pub fn unlinked(&mut self, kernel: Kernel<'_>) -> EventId {
        let correlation = self.correlation();
        self.device(Category::KERNEL, kernel, correlation)
    }

    /// A call of the runtime with all the kernels that it launches.
    pub fn launch_kernels(&mut self, name: &str, span: (f64, f64), kernels: &[Kernel<'_>]) {
        let correlation = self.correlation();
        self.launch(name, span, correlation);
        for &kernel in kernels {
            self.device(Category::KERNEL, kernel, correlation);
        }
    }

    /// Launches, one after the other from `at` on, each with its kernel.
    pub fn launches(&mut self, at: f64, kernels: &[Kernel<'_>]) {
        for (position, &kernel) in kernels.iter().enumerate() {
            self.launch_kernels("cudaLaunchKernel", (at + position as f64 * 0.2, 0.1), &[kernel]);
        }
    }

    /// An operator of 10 µs with its launches inside.
    pub fn call(&mut self, name: &str, at: f64, kernels: &[Kernel<'_>]) -> EventId {
        let op = self.op(name, (at, 10.0));
        self.launches(at + 1.0, kernels);
        op
    }

    /// [`Fixture::call`] of an operator with recorded shapes.
    pub fn call_with_dims(
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

    /// [`Fixture::call`] of an operator with all its arguments.
    pub fn modelled_call(
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
    pub fn mm(&mut self, at: f64, kernels: &[Kernel<'_>]) -> EventId {
        self.modelled_call("aten::mm", at, &[(&[32, 64], "float", ""), (&[64, 128], "float", "")], kernels)
    }

    /// A kernel of communication with what the profiler recorded of it.
    pub fn collective(&mut self, kernel: Kernel<'_>, collective: Collective) -> EventId {
        let (name, stream, start, duration) = kernel;
        let arguments = EventArguments {
            device: Some(0),
            stream: Some(stream),
            collective: Some(collective),
            ..correlated(self.correlation())
        };
        self.event(Category::KERNEL, name, (0, stream), (start, duration), arguments)
    }

    /// The two ends of a launch arrow from thread 1 to stream 7.
    pub fn arrow(&mut self, id: i64) {
        for (end, row) in [(FlowEnd::Start, (1, 1)), (FlowEnd::Finish, (0, 7))] {
            let track = self.builder.track(row.0, row.1);
            self.builder.flow(Flow { kind: FlowKind::Launch, end, id, track, time: None, event: None });
        }
    }

    /// An end of an arrow of the autograd profiler, on a row `(pid, tid)`.
    pub fn operator_arrow(&mut self, id: i64, end: FlowEnd, row: (i64, i64), time: f64) {
        let (track, time) = (self.builder.track(row.0, row.1), Some(nanoseconds(time)));
        self.builder.flow(Flow { kind: FlowKind::OperatorToDevice, end, id, track, time, event: None });
    }

    /// The trace.
    pub fn finish(self) -> Trace {
        self.builder.finish()
    }
}
