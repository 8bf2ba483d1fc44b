//! What recorders of other devices, and the autograd profiler, say in names of processes and threads in place of
//! categories. These names may stand at the end of a file, so events are looked at again once all of it was read, and only
//! where such a recorder wrote it.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::slice::Iter;

use crate::category::Category;
use crate::event_table::EventId;
use crate::facts::{Accelerator, RecorderFacts};
use crate::sparse_column::SparseColumn;
use crate::string_table::StringId;
use crate::trace::Trace;
use crate::track_table::{RowId, TrackId};
use crate::warning::{EventFault, Warning};

/// Process ids that the autograd profiler's own export (`torch.autograd.profiler`, before and beside Kineto) gives to what
/// ran on the host and on devices.
const HOST_OF_AUTOGRAD: &str = "CPU functions";
const DEVICES_OF_AUTOGRAD: &str = "CUDA functions";

/// Name of the process that stands for the devices of Ascend, and those of the host's runtime and of its program.
const ASCEND_HARDWARE: &str = "Ascend Hardware";
const ASCEND_RUNTIME: &str = "CANN";
const ASCEND_PROGRAM: &str = "Python";
/// Processes of Ascend that show collective operations, by its versions, and the beginning of the names of their threads
/// that show the tasks of these.
const ASCEND_COMMUNICATION: [&str; 2] = ["HCCL", "Communication"];
const PLANE: &str = "Plane";
/// Processes of Ascend whose rows are put together from others.
const DERIVED_BY_ASCEND: [&str; 2] = ["Overlap Analysis", "AI Core Freq"];

/// Beginnings of the names of processes that stand for devices where XProf writes a profile as a trace, and the names of
/// their threads that have work: one per stream of a GPU, one of a TPU. Others put the same work together.
const TPU_OF_XPROF: &str = "/device:TPU:";
const DEVICES_OF_XPROF: [(&str, &str); 2] = [("/device:GPU:", "Stream #"), (TPU_OF_XPROF, "XLA Ops")];

/// Threads of these processes that show runs of programs and marked steps, and the categories that XPlane profiles have
/// for them.
const RUNS_OF_XPROF: [(&str, &str); 2] = [("XLA Modules", "xla_module"), ("Steps", "xla_step")];

/// Beginning of the names of kernels that carry metrics of Intel's GPUs.
const METRICS: &str = "metrics: ";

/// Gives the events of these recorders the categories and arguments that Kineto has for them. `task_types` is the argument
/// arguments say of it, by row.
pub(super) fn settle(trace: &mut Trace, kinds_of_work: &[(usize, StringId)]) {
    if trace.facts.accelerator.is_none() {
        trace.facts.accelerator = trace.events.category.iter().find_map(|category| category.accelerator());
    }
    match trace.facts.accelerator {
        Some(Accelerator::Mtia) => leave_out_queues(trace),
        Some(Accelerator::Xpu) => leave_out_metrics(trace),
        _ if !process(trace, ASCEND_HARDWARE).is_empty() => {
            trace.facts.accelerator = Some(Accelerator::Npu);
            settle_ascend(trace, kinds_of_work);
        }
        _ if is_xprof(trace) => settle_xprof(trace, kinds_of_work),
        _ if trace.strings.find(HOST_OF_AUTOGRAD).is_some() => settle_autograd(trace),
        _ => {}
    }
}

/// The tracks of processes of this name.
fn process(trace: &Trace, name: &str) -> Vec<TrackId> {
    let Some(name) = trace.strings.find(name) else { return Vec::new() };
    trace.tracks.ids().filter(|&track| trace.process(track).name == Some(name)).collect()
}

/// MTIA: work stands on threads `Stream 108` of a device. Its submission queues and the tracks of all packets and all copies
/// repeat it, and the waits of the host stand there too. The work that is left out is said.
fn leave_out_queues(trace: &mut Trace) {
    let is_queue = |track: TrackId| match trace.thread_name(track) {
        Some("PACKET" | "DMA_REQUEST") => true,
        Some(thread) => thread.ends_with(" Submission Queue"),
        None => false,
    };
    let queues: Vec<bool> = trace.tracks.ids().map(is_queue).collect();
    let events = &mut trace.events;
    let (mut count, mut first) = (0, None);
    for (row, (category, track)) in events.category.iter_mut().zip(&events.track).enumerate() {
        let may_repeat = category.is_device() || *category == Category::MTIA_RUNTIME;
        if may_repeat && queues[track.index()] {
            if category.is_device() {
                count += 1;
                first = first.or(Some(row));
            }
            *category = Category::DEVICE_RECORD;
        }
    }
    if let Some(first) = first {
        let first_uid = events.uid(EventId(first as u32));
        trace.warnings.push(Warning::Events { fault: EventFault::RepeatedOnQueue, count, first_uid });
    }
}

/// Intel's GPUs: kernels named `metrics: …` are copies of others.
fn leave_out_metrics(trace: &mut Trace) {
    let is_metric: Vec<bool> = trace.strings.iter().map(|(_, name)| name.starts_with(METRICS)).collect();
    let events = &mut trace.events;
    for (category, name) in events.category.iter_mut().zip(&events.name) {
        if *category == Category::KERNEL && is_metric[name.index()] {
            *category = Category::KERNEL_METRICS;
        }
    }
}

/// The autograd profiler: spans without a category. Device work is copies and fills by name, as in Kineto, and kernels.
fn settle_autograd(trace: &mut Trace) {
    let id = |text| trace.strings.find(text).map(RowId::Text);
    let (host, devices) = (id(HOST_OF_AUTOGRAD), id(DEVICES_OF_AUTOGRAD));
    let mut device = SparseColumn::default();
    for event in trace.events.ids() {
        let row = event.index();
        let track = trace.tracks.get(trace.events.track(event));
        if trace.events.category(event) != Category::NONE {
            continue;
        }
        if Some(track.pid) == host {
            trace.events.category[row] = Category::CPU_OP;
        } else if Some(track.pid) == devices {
            trace.events.category[row] = category_of_work(trace.strings.get(trace.events.name(event)));
            if let RowId::Number(index) = track.tid {
                device.push(row, index);
            }
        }
    }
    trace.events.arguments.device = device;
}

/// The name of the process and of the thread of a track.
fn names(trace: &Trace, track: TrackId) -> Option<(&str, &str)> {
    let process = trace.strings.get(trace.process(track).name?);
    Some((process, trace.thread_name(track).unwrap_or_default()))
}

/// Whether XProf wrote the trace: it has a process of a host or device under XLA's name for it, and no category.
fn is_xprof(trace: &Trace) -> bool {
    let is_named = |track| {
        names(trace, track).is_some_and(|(process, _)| {
            process == "/host:CPU" || DEVICES_OF_XPROF.iter().any(|(device, _)| process.starts_with(device))
        })
    };
    let events = &trace.events;
    trace.tracks.ids().any(is_named) && events.category.iter().all(|&category| category == Category::NONE)
}

/// XProf: the work on the streams and cores of devices, without calls of the host that launched it.
fn settle_xprof(trace: &mut Trace, framework_ops: &[(usize, StringId)]) {
    trace.facts.is_view_of_xplane = true;
    trace.facts.recorder = RecorderFacts {
        operators: false,
        launches: false,
        shapes: false,
        python_frames: false,
        launch_geometry: false,
        allocations: false,
        ..trace.facts.recorder
    };
    let xprof_tracks: Vec<Option<XprofTrack>> =
        trace.tracks.ids().map(|track| XprofTrack::from_track(trace, track)).collect();
    if xprof_tracks.iter().flatten().any(|track| track.is_tpu) {
        trace.facts.accelerator = Some(Accelerator::Tpu);
    }
    let runs = RUNS_OF_XPROF.map(|(_, category)| trace.intern_category(category));
    let mut columns = [SparseColumn::default(), SparseColumn::default()];
    for event in trace.events.ids() {
        let (row, track) = (event.index(), trace.events.track(event));
        let Some(XprofTrack { device, is_tpu, runs_as }) = xprof_tracks[track.index()] else { continue };
        let name = trace.strings.get(trace.events.name(event));
        trace.events.category[row] = match runs_as {
            Some(kind) => runs[kind],
            None if is_tpu && is_copy_of_xla(name) => Category::GPU_MEMCPY,
            None => category_of_work(name),
        };
        if runs_as.is_some() {
            continue;
        }
        columns[0].push(row, device);
        if let RowId::Number(stream) = trace.tracks.get(track).tid {
            columns[1].push(row, stream);
        }
    }
    [trace.events.arguments.device, trace.events.arguments.stream] = columns;
    for &(row, op) in framework_ops {
        if trace.events.category[row] == Category::KERNEL {
            trace.events.arguments.framework_op.push(row, op);
        }
    }
}

/// What the events of a thread of XProf are.
#[derive(Clone, Copy)]
struct XprofTrack {
    device: i64,
    is_tpu: bool,
    /// Their position in [`RUNS_OF_XPROF`], where they are no work.
    runs_as: Option<usize>,
}

impl XprofTrack {
    /// `None` of threads of the host, and of those that put work together.
    fn from_track(trace: &Trace, track: TrackId) -> Option<XprofTrack> {
        let (process, thread) = names(trace, track)?;
        let (prefix, work) = DEVICES_OF_XPROF.iter().find(|(prefix, _)| process.starts_with(prefix))?;
        let runs_as = RUNS_OF_XPROF.iter().position(|(runs, _)| thread == *runs);
        if runs_as.is_none() && !thread.starts_with(work) {
            return None;
        }
        let device = process[prefix.len()..].split(' ').next()?.parse().ok()?;
        Some(XprofTrack { device, is_tpu: *prefix == TPU_OF_XPROF, runs_as })
    }
}

/// Whether an instruction of XLA copies: `copy.4`, `copy-start.2`.
fn is_copy_of_xla(name: &str) -> bool {
    matches!(name.split('.').next(), Some("copy" | "copy-start" | "copy-done"))
}

/// Copies and fills by their names, which begin as CUPTI names them; all else is a kernel.
fn category_of_work(name: &str) -> Category {
    match name {
        name if name.starts_with("Memcpy") => Category::GPU_MEMCPY,
        name if name.starts_with("Memset") => Category::GPU_MEMSET,
        _ => Category::KERNEL,
    }
}

/// Ascend: what a span is stands in the name of its process and, for tasks of the hardware, in their type. A collective
/// operation is a span of its own; the tasks that it consists of are none beside it.
fn settle_ascend(trace: &mut Trace, task_types: &[(usize, StringId)]) {
    #[derive(Clone, Copy)]
    enum Of {
        Hardware,
        Runtime,
        Program,
        Communication,
        Derived,
        Other,
    }
    let mut of = vec![Of::Other; trace.tracks.len()];
    let derived = DERIVED_BY_ASCEND.map(|name| (name, Of::Derived));
    let communication = ASCEND_COMMUNICATION.map(|name| (name, Of::Communication));
    let known =
        [(ASCEND_HARDWARE, Of::Hardware), (ASCEND_RUNTIME, Of::Runtime), (ASCEND_PROGRAM, Of::Program)];
    for (name, kind) in known.into_iter().chain(communication).chain(derived) {
        for track in process(trace, name) {
            let is_plane = || trace.thread_name(track).is_some_and(|thread| thread.starts_with(PLANE));
            let repeats = matches!(kind, Of::Communication) && is_plane();
            of[track.index()] = if repeats { Of::Derived } else { kind };
        }
    }
    let device_of: Vec<Option<i64>> =
        trace.tracks.ids().map(|track| device_of_process(trace.tracks.get(track).pid)).collect();
    let operations = trace.events.ids().filter_map(|event| {
        let track = trace.events.track(event).index();
        matches!(of[track], Of::Communication).then_some((event, device_of[track]))
    });
    let mut operations = Operations::new(trace, operations);
    let task = |row, next: &mut Peekable<Iter<'_, (usize, StringId)>>| {
        let task_type = next.next_if(|(of, _)| *of == row).map(|&(_, task_type)| task_type);
        Task::from_type(task_type.map(|task_type| trace.strings.get(task_type)))
    };
    let mut next = task_types.iter().peekable();
    let tasks: Vec<Task> = (0..trace.events.len()).map(|row| task(row, &mut next)).collect();
    let mut signals = vec![false; trace.tracks.len()];
    for event in trace.events.ids() {
        signals[trace.events.track(event).index()] |= tasks[event.index()].is_signal();
    }
    let mut device = SparseColumn::default();
    for event in trace.events.ids() {
        let row = event.index();
        let (category, track) = (trace.events.category(event), trace.events.track(event).index());
        trace.events.category[row] = match of[track] {
            Of::Hardware => {
                device_of[track].into_iter().for_each(|index| device.push(row, index));
                match operations.takes(trace, event, device_of[track], tasks[row], signals[track]) {
                    true => Category::DEVICE_RECORD,
                    false => tasks[row].category(),
                }
            }
            Of::Communication => {
                device_of[track].into_iter().for_each(|index| device.push(row, index));
                Category::KERNEL
            }
            Of::Runtime => Category::PRIVATEUSE1_RUNTIME,
            Of::Program if category == Category::NONE => Category::CPU_OP,
            Of::Derived => Category::DEVICE_RECORD,
            Of::Program | Of::Other => category,
        };
    }
    trace.events.arguments.device = device;
    operations.give_launches(trace);
}

/// The device that a process of Ascend is of.
fn device_of_process(process: RowId) -> Option<i64> {
    match process {
        RowId::Number(process) => Some(process & DEVICE_OF_PROCESS),
        RowId::Text(_) | RowId::Missing => None,
    }
}

/// The bits of the id of a process of Ascend that are the index of the device: `pid << 10 | layer << 5 | device`.
const DEVICE_OF_PROCESS: i64 = 31;

/// What a task of Ascend's hardware is, by its type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    /// Work of the cores.
    Work,
    Copy,
    /// Waiting for the signal of another device.
    Wait,
    /// Giving a signal to another device.
    Signal,
    /// Events and marks of the recorder, which are no work.
    Record,
}

impl Task {
    fn from_type(task_type: Option<&str>) -> Self {
        let Some(task_type) = task_type else { return Task::Work };
        let words = task_type.to_ascii_lowercase().replace('_', " ");
        let has = |part: &str| words.contains(part);
        match () {
            () if has("notify") && has("wait") => Task::Wait,
            () if has("notify") || has("write value") => Task::Signal,
            () if ["event", "wait", "record", "place holder"].into_iter().any(has) => Task::Record,
            () if has("dma") || has("memcpy") => Task::Copy,
            () => Task::Work,
        }
    }

    fn is_signal(self) -> bool {
        matches!(self, Task::Wait | Task::Signal)
    }

    /// Its category where no collective operation takes it.
    fn category(self) -> Category {
        match self {
            Task::Work | Task::Wait => Category::KERNEL,
            Task::Copy => Category::GPU_MEMCPY,
            Task::Signal | Task::Record => Category::DEVICE_RECORD,
        }
    }
}

/// The collective operations of a recording of Ascend.
struct Operations {
    /// Device, start, end and operation, in this order.
    spans: Vec<(Option<i64>, i64, i64, EventId)>,
    /// Devices that have operations.
    devices: BTreeSet<Option<i64>>,
    /// Devices with the ids by which operations are launched there.
    launches: BTreeSet<(Option<i64>, i64)>,
    /// Ids of the launches of operations that have none, by row: those of their tasks.
    found: BTreeMap<usize, i64>,
}

impl Operations {
    fn new(trace: &Trace, operations: impl Iterator<Item = (EventId, Option<i64>)>) -> Self {
        let events = &trace.events;
        let (mut spans, mut devices, mut launches) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for (event, device) in operations {
            devices.insert(device);
            spans.push((device, events.start(event), events.end(event), event));
            launches.extend(events.correlation(event).map(|id| (device, id)));
        }
        spans.sort_unstable();
        Operations { spans, devices, launches, found: BTreeMap::new() }
    }

    /// Whether a task is part of an operation: both are launched by one call, or it signals, or it copies during the
    /// operation on a stream that signals.
    fn takes(
        &mut self,
        trace: &Trace,
        event: EventId,
        device: Option<i64>,
        task: Task,
        stream_signals: bool,
    ) -> bool {
        if !self.devices.contains(&device) {
            return false;
        }
        let events = &trace.events;
        let launch = events.correlation(event);
        if launch.is_some_and(|id| self.launches.contains(&(device, id))) {
            return true;
        }
        let start = events.start(event);
        let until = self.spans.partition_point(|&(of, from, ..)| (of, from) <= (device, start));
        let last = until.checked_sub(1).map(|last| self.spans[last]);
        let during = last.filter(|&(of, _, end, _)| of == device && start < end);
        match task {
            Task::Wait | Task::Signal => {
                let without_launch =
                    during.filter(|&(.., operation)| events.correlation(operation).is_none());
                if let (Some((.., operation)), Some(launch)) = (without_launch, launch) {
                    self.found.entry(operation.index()).or_insert(launch);
                }
                true
            }
            Task::Copy => during.is_some() && stream_signals,
            Task::Work | Task::Record => false,
        }
    }

    /// Gives operations the launches of their tasks.
    fn give_launches(self, trace: &mut Trace) {
        if self.found.is_empty() {
            return;
        }
        let known = &trace.events.arguments.correlation;
        let mut all = SparseColumn::default();
        for row in 0..trace.events.len() {
            let id = self.found.get(&row).copied().or_else(|| known.get(row));
            id.into_iter().for_each(|id| all.push(row, id));
        }
        trace.events.arguments.correlation = all;
    }
}
