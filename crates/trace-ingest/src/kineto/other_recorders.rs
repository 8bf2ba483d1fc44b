//! What recorders of other devices, and the autograd profiler, say in names of processes and threads in place of
//! categories. These names may stand at the end of a file, so events are looked at again once all of it was read, and only
//! where such a recorder wrote it.

use crate::category::Category;
use crate::facts::{Accelerator, RecorderFacts};
use crate::sparse_column::SparseColumn;
use crate::string_table::StringId;
use crate::trace::Trace;
use crate::track_table::{RowId, TrackId};

/// Process ids that the autograd profiler's own export (`torch.autograd.profiler`, before and beside Kineto) gives to what
/// ran on the host and on devices.
const HOST_OF_AUTOGRAD: &str = "CPU functions";
const DEVICES_OF_AUTOGRAD: &str = "CUDA functions";

/// Name of the process that stands for the devices of Ascend, and those of the host's runtime and of its program.
const ASCEND_HARDWARE: &str = "Ascend Hardware";
const ASCEND_RUNTIME: &str = "CANN";
const ASCEND_PROGRAM: &str = "Python";
/// Processes of Ascend whose rows are put together from others.
const DERIVED_BY_ASCEND: [&str; 2] = ["Overlap Analysis", "AI Core Freq"];

/// Beginnings of the names of processes that stand for devices where XProf writes a profile as a trace, and the names of
/// their threads that have work: one per stream of a GPU, one of a TPU. Others put the same work together.
const DEVICES_OF_XPROF: [(&str, &str); 2] = [("/device:GPU:", "Stream #"), ("/device:TPU:", "XLA Ops")];

/// Beginning of the names of kernels that carry metrics of Intel's GPUs.
const METRICS: &str = "metrics: ";

/// Gives the events of these recorders the categories and arguments that Kineto has for them. `task_types` is the argument
/// `Task Type` by row.
pub(super) fn settle(trace: &mut Trace, task_types: &[(usize, StringId)]) {
    if trace.facts.accelerator.is_none() {
        trace.facts.accelerator = trace.events.category.iter().find_map(|category| category.accelerator());
    }
    match trace.facts.accelerator {
        Some(Accelerator::Mtia) => leave_out_queues(trace),
        Some(Accelerator::Xpu) => leave_out_metrics(trace),
        _ if !process(trace, ASCEND_HARDWARE).is_empty() => {
            trace.facts.accelerator = Some(Accelerator::Npu);
            settle_ascend(trace, task_types);
        }
        _ if is_of_xprof(trace) => settle_xprof(trace),
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
/// repeat it, and the waits of the host stand there too.
fn leave_out_queues(trace: &mut Trace) {
    let is_queue = |track: TrackId| match trace.thread_name(track) {
        Some("PACKET" | "DMA_REQUEST") => true,
        Some(thread) => thread.ends_with(" Submission Queue"),
        None => false,
    };
    let queues: Vec<bool> = trace.tracks.ids().map(is_queue).collect();
    let events = &mut trace.events;
    for (category, track) in events.category.iter_mut().zip(&events.track) {
        let may_repeat = category.is_device() || *category == Category::MTIA_RUNTIME;
        if may_repeat && queues[track.index()] {
            *category = Category::DEVICE_RECORD;
        }
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
fn is_of_xprof(trace: &Trace) -> bool {
    let is_named = |track| {
        names(trace, track).is_some_and(|(process, _)| {
            process == "/host:CPU" || DEVICES_OF_XPROF.iter().any(|(device, _)| process.starts_with(device))
        })
    };
    let events = &trace.events;
    trace.tracks.ids().any(is_named) && events.category.iter().all(|&category| category == Category::NONE)
}

/// XProf: the work on the streams and cores of devices, without calls of the host that launched it.
fn settle_xprof(trace: &mut Trace) {
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
    let device = |track: TrackId| {
        let (process, thread) = names(trace, track)?;
        let (prefix, _) = DEVICES_OF_XPROF
            .iter()
            .find(|(prefix, work)| process.starts_with(prefix) && thread.starts_with(work))?;
        process[prefix.len()..].split(' ').next()?.parse().ok()
    };
    let of_device: Vec<Option<i64>> = trace.tracks.ids().map(device).collect();
    let mut columns = [SparseColumn::default(), SparseColumn::default()];
    for event in trace.events.ids() {
        let (row, track) = (event.index(), trace.events.track(event));
        let Some(device) = of_device[track.index()] else { continue };
        trace.events.category[row] = category_of_work(trace.strings.get(trace.events.name(event)));
        columns[0].push(row, device);
        if let RowId::Number(stream) = trace.tracks.get(track).tid {
            columns[1].push(row, stream);
        }
    }
    [trace.events.arguments.device, trace.events.arguments.stream] = columns;
}

/// Copies and fills by their names, which begin as CUPTI names them; all else is a kernel.
fn category_of_work(name: &str) -> Category {
    match name {
        name if name.starts_with("Memcpy") => Category::GPU_MEMCPY,
        name if name.starts_with("Memset") => Category::GPU_MEMSET,
        _ => Category::KERNEL,
    }
}

/// Ascend: what a span is stands in the name of its process and, for tasks of the hardware, in their type.
fn settle_ascend(trace: &mut Trace, task_types: &[(usize, StringId)]) {
    #[derive(Clone, Copy)]
    enum Of {
        Hardware,
        Runtime,
        Program,
        Derived,
        Other,
    }
    let mut of = vec![Of::Other; trace.tracks.len()];
    let derived = DERIVED_BY_ASCEND.map(|name| (name, Of::Derived));
    let known =
        [(ASCEND_HARDWARE, Of::Hardware), (ASCEND_RUNTIME, Of::Runtime), (ASCEND_PROGRAM, Of::Program)];
    for (name, kind) in known.into_iter().chain(derived) {
        process(trace, name).into_iter().for_each(|track| of[track.index()] = kind);
    }
    let mut device = SparseColumn::default();
    let mut task_types = task_types.iter().peekable();
    for event in trace.events.ids() {
        let row = event.index();
        let task_type = task_types.next_if(|(of, _)| *of == row).map(|&(_, task_type)| task_type);
        let (category, track) = (trace.events.category(event), trace.events.track(event));
        trace.events.category[row] = match of[track.index()] {
            Of::Hardware => {
                if let RowId::Number(process) = trace.tracks.get(track).pid {
                    device.push(row, process & DEVICE_OF_PROCESS);
                }
                category_of_task(task_type.map(|task_type| trace.strings.get(task_type)))
            }
            Of::Runtime => Category::PRIVATEUSE1_RUNTIME,
            Of::Program if category == Category::NONE => Category::CPU_OP,
            Of::Derived => Category::DEVICE_RECORD,
            Of::Program | Of::Other => category,
        };
    }
    trace.events.arguments.device = device;
}

/// The bits of the id of a process of Ascend that are the index of the device: `pid << 10 | layer << 5 | device`.
const DEVICE_OF_PROCESS: i64 = 31;

/// What a task of Ascend's hardware is, by its type: waits for events and their records are no work.
fn category_of_task(task_type: Option<&str>) -> Category {
    match task_type {
        Some(task_type)
            if ["EVENT", "NOTIFY", "WAIT", "RECORD"].iter().any(|part| task_type.contains(part)) =>
        {
            Category::DEVICE_RECORD
        }
        Some(task_type) if task_type.contains("SDMA") || task_type.contains("MEMCPY") => Category::GPU_MEMCPY,
        _ => Category::KERNEL,
    }
}
