//! What was recorded in one stretch of the program, and how the recorder writes it.
//!
//! A trace is written stretch by stretch, so that memory does not grow with the trace. Within a
//! stretch the order is Kineto's: ops, allocations, Python frames, then runtime calls, each with
//! its flow and what it made the device do.

use std::borrow::Cow;
use std::io;

use super::flavour::{Api, Flavour, Stream, Thread};
use super::json::EventWriter;
use super::plan::{FrameName, Kernel, OpKind, Transfer};

/// A span of time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Span {
    /// From the start of the earlier to the end of the later.
    pub(super) fn and(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

pub(super) struct OpRecord<'p> {
    pub(super) kind: OpKind,
    pub(super) name: Cow<'p, str>,
    pub(super) arguments: &'p str,
    pub(super) thread: Thread,
    pub(super) span: Span,
    pub(super) external_id: u64,
    pub(super) event_index: u64,
    /// Sequence number and the number of the forward thread.
    pub(super) sequence: Option<(u64, u64)>,
}

pub(super) struct FrameRecord {
    pub(super) name: FrameName,
    pub(super) thread: Thread,
    pub(super) layer: u64,
    pub(super) span: Span,
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) event_index: u64,
}

pub(super) struct MemoryRecord {
    pub(super) thread: Thread,
    pub(super) time: u64,
    pub(super) bytes: i64,
    pub(super) allocated: u64,
    pub(super) reserved: u64,
    pub(super) address: u64,
    pub(super) event_index: u64,
}

/// A sample of a counter of the device.
pub(super) struct SampleRecord {
    pub(super) counter: &'static str,
    pub(super) time: u64,
    pub(super) value: f64,
}

/// The pair of flow events between an op and its gradient.
pub(super) struct GradientFlow {
    pub(super) id: u64,
    pub(super) forward: u64,
    pub(super) backward: u64,
}

/// What a call says about itself beside its number.
pub(super) enum CallDetail<'p> {
    None,
    Kernel(&'p Kernel),
    Copy(&'p Transfer),
}

pub(super) struct CallRecord<'p> {
    pub(super) api: Api,
    pub(super) thread: Thread,
    pub(super) span: Span,
    pub(super) external_id: Option<u64>,
    pub(super) correlation: u64,
    pub(super) detail: CallDetail<'p>,
    pub(super) device: Vec<DeviceRecord<'p>>,
}

pub(super) enum DeviceWork<'p> {
    Kernel(&'p Kernel),
    GraphKernel(&'p Kernel),
    Copy(&'p Transfer),
    Set(u64),
}

pub(super) struct DeviceRecord<'p> {
    pub(super) work: DeviceWork<'p>,
    pub(super) stream: Stream,
    pub(super) span: Span,
}

/// The device's side of an annotation.
pub(super) struct DeviceAnnotation {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) external_id: u64,
}

/// All that one stretch of the program had recorded.
#[derive(Default)]
pub(super) struct Segment<'p> {
    pub(super) ops: Vec<OpRecord<'p>>,
    pub(super) memory: Vec<MemoryRecord>,
    pub(super) frames: Vec<FrameRecord>,
    pub(super) gradient_flows: Vec<GradientFlow>,
    pub(super) calls: Vec<CallRecord<'p>>,
    pub(super) annotations: Vec<DeviceAnnotation>,
    pub(super) samples: Vec<SampleRecord>,
}

impl Segment<'_> {
    /// Takes out every mark that the program or the recorder set.
    pub(super) fn strip_marks(&mut self) {
        self.ops.retain(|op| op.kind != OpKind::Annotation);
        self.annotations.clear();
    }

    /// From the start of the first op or runtime call to the end of the last. Frames and marks only stand around
    /// what the program does.
    pub(super) fn work(&self) -> Option<Span> {
        let ops = self.ops.iter().filter(|op| op.kind == OpKind::Operator).map(|op| op.span);
        ops.chain(self.calls.iter().map(|call| call.span)).reduce(Span::and)
    }

    /// Time of everything on the device.
    pub(super) fn device_nanoseconds(&self) -> u64 {
        self.calls.iter().flat_map(|call| &call.device).map(|work| work.span.end - work.span.start).sum()
    }

    /// Events that writing takes. A call has one flow event, and so has everything on the device.
    pub(super) fn events(&self) -> u64 {
        let calls: usize = self.calls.iter().map(|call| 2 + 2 * call.device.len()).sum();
        let host = self.ops.len() + self.memory.len() + self.frames.len() + 2 * self.gradient_flows.len();
        (host + calls + self.annotations.len() + self.samples.len()) as u64
    }

    pub(super) fn write(&self, writer: &mut EventWriter<'_>, flavour: Flavour) -> io::Result<()> {
        for op in &self.ops {
            write_op(op, writer, flavour)?;
        }
        for flow in &self.gradient_flows {
            write_gradient_flow(flow, writer, flavour)?;
        }
        for memory in &self.memory {
            write_memory(memory, writer, flavour)?;
        }
        for frame in &self.frames {
            write_frame(frame, writer, flavour)?;
        }
        for call in &self.calls {
            write_call(call, writer, flavour)?;
            for work in &call.device {
                write_device(call, work, writer, flavour)?;
            }
        }
        for annotation in &self.annotations {
            write_annotation(annotation, writer, flavour)?;
        }
        for sample in &self.samples {
            write_sample(sample, writer, flavour)?;
        }
        Ok(())
    }
}

fn begin_complete<'e, 'w>(
    writer: &'e mut EventWriter<'w>,
    (category, name): (&str, &str),
    (process, thread): (u64, u64),
    span: Span,
) -> &'e mut EventWriter<'w> {
    writer.begin().text_field("ph", "X").text_field("cat", category).text_field("name", name);
    writer.count("pid", process).count("tid", thread).line();
    writer.time("ts", span.start).time("dur", span.end - span.start).begin_args()
}

/// `s` starts a flow, `f` ends it.
fn write_flow(
    writer: &mut EventWriter<'_>,
    (phase, category): (&str, &str),
    id: u64,
    (process, thread): (u64, u64),
    time: u64,
) -> io::Result<()> {
    writer.begin().text_field("ph", phase).count("id", id).count("pid", process).count("tid", thread);
    writer.time("ts", time).line().text_field("cat", category).text_field("name", category);
    if phase == "f" {
        writer.text_field("bp", "e");
    }
    writer.end()
}

fn write_op(op: &OpRecord<'_>, writer: &mut EventWriter<'_>, flavour: Flavour) -> io::Result<()> {
    let category = match op.kind {
        OpKind::Operator => "cpu_op",
        OpKind::Annotation => "user_annotation",
    };
    let row = (flavour.process(), flavour.thread(op.thread));
    let event = begin_complete(writer, (category, &op.name), row, op.span);
    event.count("External id", op.external_id).count("Record function id", 0);
    if let Some((number, forward_thread)) = op.sequence {
        event.count("Sequence number", number).count("Fwd thread id", forward_thread);
    }
    event.raw_fields(op.arguments).count("Ev Idx", op.event_index).end_args().end()
}

fn write_gradient_flow(
    flow: &GradientFlow,
    writer: &mut EventWriter<'_>,
    flavour: Flavour,
) -> io::Result<()> {
    let row = |thread| (flavour.process(), flavour.thread(thread));
    write_flow(writer, ("s", "fwdbwd"), flow.id, row(Thread::Main), flow.forward)?;
    write_flow(writer, ("f", "fwdbwd"), flow.id, row(Thread::Autograd), flow.backward)
}

fn write_memory(memory: &MemoryRecord, writer: &mut EventWriter<'_>, flavour: Flavour) -> io::Result<()> {
    let event = writer.begin().text_field("ph", "i").text_field("cat", "cpu_instant_event");
    event.text_field("s", "t").text_field("name", "[memory]");
    event.count("pid", flavour.process()).count("tid", flavour.thread(memory.thread)).line();
    event.time("ts", memory.time).begin_args();
    event.count("Total Reserved", memory.reserved).count("Total Allocated", memory.allocated);
    event.integer("Bytes", memory.bytes).count("Addr", memory.address);
    event
        .count("Device Id", flavour.rank())
        .count("Device Type", flavour.device_type())
        .count("Ev Idx", memory.event_index);
    event.end_args().end()
}

/// As the environment's counters of Cuspy: the device stands in the name of the process.
fn write_sample(sample: &SampleRecord, writer: &mut EventWriter<'_>, flavour: Flavour) -> io::Result<()> {
    let event = writer.begin().text_field("ph", "C");
    event.text_field("pid", &format!("GPU {} Counters", flavour.rank())).text_field("name", sample.counter);
    event.time("ts", sample.time).begin_args().raw("", &format!("{:.3}", sample.value)).end_args().end()
}

fn write_frame(frame: &FrameRecord, writer: &mut EventWriter<'_>, flavour: Flavour) -> io::Result<()> {
    let row = (flavour.process(), flavour.thread(frame.thread));
    let mut module = None;
    let name: Cow<'_, str> = match frame.name {
        FrameName::Fixed(text) => text.into(),
        FrameName::Module { class, per_layer, offset } => {
            let number = frame.layer * per_layer + offset;
            module = Some(number);
            format!("nn.Module: {class}_{number}").into()
        }
    };
    let event = begin_complete(writer, ("python_function", &name), row, frame.span);
    match frame.parent {
        Some(parent) => event.count("Python parent id", parent),
        None => event.raw("Python parent id", "null"),
    };
    event.count("Python id", frame.id);
    if let Some(number) = module {
        event.count("Python module id", number);
    }
    event.count("Ev Idx", frame.event_index).end_args().end()
}

fn write_call(call: &CallRecord<'_>, writer: &mut EventWriter<'_>, flavour: Flavour) -> io::Result<()> {
    let row = (flavour.process(), flavour.thread(call.thread));
    let event = begin_complete(writer, (call.api.category, call.api.name), row, call.span);
    if let Some(id) = call.external_id {
        event.count("External id", id);
    }
    match flavour {
        Flavour::Cuda => {
            event.count("cbid", call.api.number).count("correlation", call.correlation);
        }
        Flavour::Rocm => {
            if let CallDetail::Kernel(kernel) = call.detail {
                event.text_field("kernel", &kernel.name);
            }
            event.count("cid", call.api.number).count("correlation", call.correlation);
            match call.detail {
                CallDetail::Kernel(kernel) => {
                    event.triple("grid", kernel.grid).triple("block", kernel.block);
                    event.count("shared memory", kernel.shared_memory);
                }
                CallDetail::Copy(copy) => {
                    let source =
                        format!("0x7f9e{:08x}", call.correlation.wrapping_mul(0x9E37_79B1) & 0xffff_ffff);
                    event.text_field("src", &source).text_field("dst", "0x7fa5723d0000");
                    event.text_field("bytes", &copy.bytes.to_string());
                    event.text_field("kind", copy.direction.number());
                }
                CallDetail::None => {}
            }
        }
    }
    event.end_args().end()?;
    let phase = if call.api.starts_flow { "s" } else { "f" };
    write_flow(writer, (phase, "ac2g"), call.correlation, row, call.span.start)
}

fn write_device(
    call: &CallRecord<'_>,
    record: &DeviceRecord<'_>,
    writer: &mut EventWriter<'_>,
    flavour: Flavour,
) -> io::Result<()> {
    let row = (flavour.rank(), flavour.stream(record.stream));
    let span = record.span;
    let (category, name) = match &record.work {
        DeviceWork::Kernel(kernel) | DeviceWork::GraphKernel(kernel) => ("kernel", &*kernel.name),
        DeviceWork::Copy(copy) => ("gpu_memcpy", flavour.copy_name(copy.direction, copy.memory)),
        DeviceWork::Set(_) => ("gpu_memset", "Memset (Device)"),
    };
    let event = begin_complete(writer, (category, name), row, span);
    if let Some(id) = call.external_id {
        event.count("External id", id);
    }
    match flavour {
        Flavour::Cuda => cuda_device_fields(event, call, record, row),
        Flavour::Rocm => rocm_device_fields(event, call, record, row),
    }
    if let DeviceWork::Kernel(kernel) = &record.work {
        event.raw_fields(&kernel.collective);
    }
    event.end_args().end()?;
    write_flow(writer, ("f", "ac2g"), call.correlation, row, span.start)
}

/// Streaming multiprocessors of the device, for the occupancy that CUPTI writes.
pub(super) const MULTIPROCESSORS: u64 = 132;

fn cuda_device_fields(
    event: &mut EventWriter<'_>,
    call: &CallRecord<'_>,
    record: &DeviceRecord<'_>,
    (device, stream): (u64, u64),
) {
    if let DeviceWork::Kernel(_) | DeviceWork::GraphKernel(_) = record.work {
        event.count("queued", 0);
    }
    event.count("device", device).count("context", 1).count("stream", stream);
    event.count("correlation", call.correlation);
    match &record.work {
        DeviceWork::Kernel(kernel) | DeviceWork::GraphKernel(kernel) => {
            let blocks: u64 = kernel.grid.iter().product();
            let threads: u64 = kernel.block.iter().product();
            let per_multiprocessor = blocks as f64 / MULTIPROCESSORS as f64;
            let warps = per_multiprocessor * threads as f64 / 32.0;
            event
                .count("registers per thread", kernel.registers)
                .count("shared memory", kernel.shared_memory);
            event.raw("blocks per SM", &format!("{per_multiprocessor:.6}"));
            event.raw("warps per SM", &format!("{warps:.6}"));
            event.triple("grid", kernel.grid).triple("block", kernel.block);
            event.count("est. achieved occupancy %", (warps / 64.0 * 100.0).min(100.0) as u64);
        }
        DeviceWork::Copy(Transfer { bytes, .. }) | DeviceWork::Set(bytes) => {
            bandwidth(event, *bytes, record.span)
        }
    }
}

fn rocm_device_fields(
    event: &mut EventWriter<'_>,
    call: &CallRecord<'_>,
    record: &DeviceRecord<'_>,
    (device, stream): (u64, u64),
) {
    event.count("device", device).count("stream", stream).count("correlation", call.correlation);
    match &record.work {
        DeviceWork::Kernel(kernel) => {
            event.text_field("kind", "Dispatch Kernel");
            event.triple("grid", kernel.grid).triple("block", kernel.block);
        }
        DeviceWork::GraphKernel(_) => {
            event.text_field("kind", "Dispatch Task");
        }
        DeviceWork::Copy(copy) => {
            event.text_field("kind", copy.direction.short());
            bandwidth(event, copy.bytes, record.span);
        }
        DeviceWork::Set(_) => {
            event.text_field("kind", "Device");
        }
    }
}

/// Bytes, and bytes per nanosecond.
fn bandwidth(event: &mut EventWriter<'_>, bytes: u64, span: Span) {
    let rate = bytes as f64 / (span.end - span.start) as f64;
    event.count("bytes", bytes).raw("memory bandwidth (GB/s)", &rate.to_string());
}

fn write_annotation(
    annotation: &DeviceAnnotation,
    writer: &mut EventWriter<'_>,
    flavour: Flavour,
) -> io::Result<()> {
    let row = (flavour.rank(), flavour.stream(Stream::Compute));
    let event = begin_complete(writer, ("gpu_user_annotation", &annotation.name), row, annotation.span);
    event.count("External id", annotation.external_id).end_args().end()
}
