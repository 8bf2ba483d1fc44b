//! What ran on the GPUs of a profile, and kinds of kernels by their names.

use gpu_timeline::{Activity, DeviceEvent};
use hashbrown::HashMap;
use iterations::Part;
use perf_models::{CommunicationPatterns, XlaKernel};
use trace_ingest::xplane::{Line, Plane, PlaneKind, Profile};
use trace_ingest::{Category, EventId, StringId, Trace};

use crate::options::JaxOptions;
use crate::programs::innermost;

/// Something that ran on a GPU: a kernel, a copy or a fill.
#[derive(Clone, Copy, Debug)]
pub struct GpuEvent {
    /// The event in the trace.
    pub event: EventId,
    /// Position of the GPU in [`crate::JaxAnalysis::gpus`].
    pub gpu: usize,
    /// Id of the GPU's plane plus 1: the process id of trace viewers.
    pub pid: i64,
    /// Stream: the number of its line.
    pub stream: i64,
    /// What the GPU did meanwhile, as the timeline counts it.
    pub activity: Activity,
    /// Kind of kernel; `None` for copies and fills.
    pub category: Option<XlaKernel>,
    /// The host's call that launched it: the last with the same correlation id.
    pub launch: Option<EventId>,
    /// Position of its instruction in [`crate::JaxAnalysis::operators`].
    pub operator: usize,
    /// The part of the profile that launched it, by the iterations of the level of steps; `None` without these.
    pub part: Option<Part>,
}

impl GpuEvent {
    /// As functions of time take it; the device is its GPU.
    #[must_use]
    pub fn device_event(&self, trace: &Trace) -> DeviceEvent {
        let events = trace.events();
        let launch = self.launch.map(|launch| events.start(launch));
        DeviceEvent::new(events.start(self.event), events.end(self.event), self.activity)
            .on(Some(self.gpu as i64), Some(self.stream))
            .launched(launch)
    }
}

/// The events of all GPUs in the order of their uids. GPU and operator follow once all events are known.
pub(crate) fn collect(profile: &Profile, options: &JaxOptions) -> Vec<GpuEvent> {
    let events = profile.trace.events();
    let launches = launches(profile);
    let mut found = Vec::new();
    for plane in gpu_planes(profile) {
        for line in streams(plane) {
            let collected = line.events.iter().map(|&event| {
                let (activity, category) = kind(profile, event, options);
                GpuEvent {
                    event,
                    gpu: 0,
                    pid: plane.id + 1,
                    stream: line.id,
                    activity,
                    category,
                    launch: events.correlation(event).and_then(|id| launches.get(&id).copied()),
                    operator: 0,
                    part: None,
                }
            });
            found.extend(collected);
        }
    }
    found.sort_by_key(|event| events.uid(event.event));
    found
}

/// The planes of GPUs, in file order.
pub(crate) fn gpu_planes(profile: &Profile) -> impl Iterator<Item = &Plane> {
    profile.planes.iter().filter(|plane| matches!(plane.kind, PlaneKind::Gpu { .. }))
}

/// The lines of a GPU that are streams.
fn streams(gpu: &Plane) -> impl Iterator<Item = &Line> {
    gpu.lines.iter().filter(|line| line.name.starts_with("Stream"))
}

/// Ids of the planes of the GPUs that did something, ascending: those of [`crate::JaxAnalysis::gpus`].
#[must_use]
pub fn gpus_at_work(profile: &Profile) -> Vec<i64> {
    let works = |gpu: &&Plane| streams(gpu).any(|stream| !stream.events.is_empty());
    let mut ids: Vec<i64> = gpu_planes(profile).filter(works).map(|gpu| gpu.id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The host's calls by correlation id.
fn launches(profile: &Profile) -> HashMap<i64, EventId> {
    let events = profile.trace.events();
    let host = profile.planes.iter().filter(|plane| plane.kind == PlaneKind::HostCpu);
    let mut calls: Vec<(i64, EventId)> = host
        .flat_map(|plane| &plane.lines)
        .flat_map(|line| &line.events)
        .filter_map(|&event| Some((events.correlation(event)?, event)))
        .collect();
    // Of several calls with one id the last counts.
    calls.sort_by_key(|&(_, event)| events.uid(event));
    calls.into_iter().collect()
}

impl JaxOptions {
    /// Whether a kernel of this name counts as a copy or fill, such as `__amd_rocclr_copyBuffer`, which some ROCm releases
    /// record as a kernel.
    pub(crate) fn counts_as_copy(&self, kernel: &str) -> bool {
        self.rebucket_copy_kernels && is_copy_kernel(kernel)
    }
}

/// What an event is, by its name and that of its instruction.
fn kind(profile: &Profile, event: EventId, options: &JaxOptions) -> (Activity, Option<XlaKernel>) {
    let name = profile.trace.name(event);
    if options.counts_as_copy(name) || profile.trace.events().category(event) != Category::KERNEL {
        return (Activity::Memcpy, None);
    }
    let hlo_op: Option<StringId> = profile.xla(event).and_then(|call| call.hlo_op);
    let instruction = hlo_op.map(|id| innermost(profile.trace.text(id)));
    (activity(name, &options.communication), Some(XlaKernel::from_kernel(name, instruction)))
}

fn activity(kernel: &str, communication: &CommunicationPatterns) -> Activity {
    match communication.is_communication(kernel) {
        true => Activity::Communication,
        false => Activity::Computation,
    }
}

/// Kernels of the ROCm runtime that copy or fill memory.
pub(crate) fn is_copy_kernel(name: &str) -> bool {
    name.starts_with("__amd_rocclr_copyBuffer") || name.starts_with("__amd_rocclr_fillBuffer")
}
