//! What was profiled, whichever format it is written in. Times are nanoseconds.

use super::kernels::Symbol;

/// One process on a host with two GPUs.
pub(super) struct Run {
    pub(super) process: u64,
    pub(super) host: &'static str,
    pub(super) command: &'static [&'static str],
    /// When the profiler was set up and when it ended.
    pub(super) init: u64,
    pub(super) fini: u64,
    pub(super) agents: [Agent; 3],
    pub(super) calls: Vec<Call>,
    pub(super) dispatches: Vec<Dispatch>,
    pub(super) copies: Vec<Copy>,
    pub(super) allocations: Vec<Allocation>,
}

/// A CPU or GPU.
pub(super) struct Agent {
    /// What records of JSON call it.
    pub(super) handle: u64,
    /// Position among all agents, and among those of its kind.
    pub(super) node: u64,
    pub(super) ordinal: u64,
    pub(super) is_gpu: bool,
    pub(super) name: &'static str,
    pub(super) vendor: &'static str,
    pub(super) product: &'static str,
}

/// A call of a library, or a marker.
pub(super) struct Call {
    pub(super) domain: Domain,
    /// Function, or text of the marker.
    pub(super) name: String,
    pub(super) thread: u64,
    pub(super) correlation: u64,
    pub(super) start: u64,
    pub(super) end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Domain {
    Hip,
    Rccl,
    Marker,
}

impl Domain {
    pub(super) const ALL: [Domain; 3] = [Domain::Hip, Domain::Rccl, Domain::Marker];

    /// The profiler's finer name of the kind of records.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Domain::Hip => "HIP_RUNTIME_API",
            Domain::Rccl => "RCCL_API",
            Domain::Marker => "MARKER_CORE_API",
        }
    }

    /// Name of its list in JSON, of its files and of its category in Perfetto traces.
    pub(super) fn list(self) -> &'static str {
        match self {
            Domain::Hip => "hip_api",
            Domain::Rccl => "rccl_api",
            Domain::Marker => "marker_api",
        }
    }
}

/// A kernel that ran.
pub(super) struct Dispatch {
    pub(super) symbol: &'static Symbol,
    /// Position of the agent.
    pub(super) agent: usize,
    pub(super) queue: u64,
    pub(super) stream: u64,
    pub(super) thread: u64,
    pub(super) correlation: u64,
    pub(super) start: u64,
    pub(super) end: u64,
    /// Work items.
    pub(super) grid: [u64; 3],
    /// Values of [`super::kernels::COUNTERS`], one list per instance; empty where none were collected.
    pub(super) counters: Vec<[u64; super::kernels::COUNTERS.len()]>,
}

/// A memory copy.
pub(super) struct Copy {
    pub(super) direction: Direction,
    pub(super) source: usize,
    pub(super) destination: usize,
    pub(super) bytes: u64,
    pub(super) stream: u64,
    pub(super) thread: u64,
    pub(super) correlation: u64,
    pub(super) start: u64,
    pub(super) end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
}

impl Direction {
    /// The profiler's operations, in the order of their numbers.
    pub(super) const OPERATIONS: [&'static str; 5] = [
        "MEMORY_COPY_NONE",
        "MEMORY_COPY_HOST_TO_HOST",
        "MEMORY_COPY_HOST_TO_DEVICE",
        "MEMORY_COPY_DEVICE_TO_HOST",
        "MEMORY_COPY_DEVICE_TO_DEVICE",
    ];

    pub(super) fn operation(self) -> usize {
        match self {
            Direction::HostToDevice => 2,
            Direction::DeviceToHost => 3,
            Direction::DeviceToDevice => 4,
        }
    }

    pub(super) fn name(self) -> &'static str {
        Self::OPERATIONS[self.operation()]
    }
}

/// An allocation of a GPU's memory, or its end.
pub(super) struct Allocation {
    pub(super) agent: usize,
    pub(super) address: u64,
    /// 0 of an end.
    pub(super) bytes: u64,
    pub(super) thread: u64,
    pub(super) correlation: u64,
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Allocation {
    /// The profiler's operations, in the order of their numbers.
    pub(super) const OPERATIONS: [&'static str; 5] = [
        "MEMORY_ALLOCATION_NONE",
        "MEMORY_ALLOCATION_ALLOCATE",
        "MEMORY_ALLOCATION_VMEM_ALLOCATE",
        "MEMORY_ALLOCATION_FREE",
        "MEMORY_ALLOCATION_VMEM_FREE",
    ];

    pub(super) fn operation(&self) -> usize {
        if self.bytes > 0 { 1 } else { 3 }
    }

    pub(super) fn name(&self) -> &'static str {
        Self::OPERATIONS[self.operation()]
    }
}
