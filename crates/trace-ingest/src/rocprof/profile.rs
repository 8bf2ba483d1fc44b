//! What a profile of `rocprofv3` holds, whichever of its output formats it was read from.

use crate::string_table::{StringId, StringTable};
use crate::time::Nanoseconds;
use crate::warning::Warning;

/// A profile of `rocprofv3`: the processes that were profiled, their agents (CPUs and GPUs), kernels, and records of
/// what ran. All times are those of the profiler's clock, as the file gives them. Records stand in
/// file order. Positions in one list are ids in another: [`Dispatch::kernel`] is a position in
/// [`Profile::kernels`], and so on.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Which format it was read from.
    pub source: SourceFormat,
    /// Interned names.
    pub strings: StringTable,
    /// Processes.
    pub processes: Vec<Process>,
    /// CPUs and GPUs.
    pub agents: Vec<Agent>,
    /// Kernels that were loaded and that were dispatched or copied with.
    pub kernels: Vec<Kernel>,
    /// Distinct launch configurations.
    pub launches: Vec<Launch>,
    /// Kernels that ran.
    pub dispatches: Vec<Dispatch>,
    /// Memory copies.
    pub copies: Vec<MemoryCopy>,
    /// Calls of HIP, HSA, RCCL and other libraries, and markers of the program.
    pub calls: Vec<Call>,
    /// Allocations of device memory, and their ends.
    pub allocations: Vec<Allocation>,
    /// Scratch memory that was handed out or taken back.
    pub scratch: Vec<ScratchEvent>,
    /// Hardware counters.
    pub counters: Vec<Counter>,
    /// Values of counters, dispatch by dispatch.
    pub counter_values: Vec<CounterValue>,
    /// Samples of program counters.
    pub samples: Vec<Sample>,
    /// Faults that did not stop reading.
    pub warnings: Vec<Warning>,
}

/// The format that a profile was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceFormat {
    /// `--output-format json`: `*_results.json`
    #[default]
    Json,
    /// `--output-format csv`: a directory of `*_trace.csv`
    Csv,
    /// `--output-format rocpd`: an SQLite database, `*_results.db`
    Rocpd,
    /// `--output-format pftrace`: Perfetto protobuf, `*_results.pftrace`
    Pftrace,
    /// A Perfetto trace converted to Chrome's JSON
    ChromeJson,
}

/// A profiled process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its number; `None` where the format does not give it.
    pub pid: Option<i64>,
    /// Name of its machine.
    pub hostname: Option<String>,
    /// When the profiler was set up in it.
    pub init: Option<Nanoseconds>,
    /// When the profiler ended.
    pub fini: Option<Nanoseconds>,
}

/// What an agent is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentKind {
    /// A processor of the host.
    Cpu,
    /// A GPU.
    Gpu,
    /// The file does not say.
    #[default]
    Unknown,
}

/// A CPU or GPU. Numbers are `None` where the format does not give them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    /// What it is.
    pub kind: AgentKind,
    /// How records refer to it, as text: `37946`, `Agent 2`.
    pub label: String,
    /// Opaque number by which records of the JSON format refer to it.
    pub handle: Option<u64>,
    /// Target, such as `gfx942`, or name of the CPU.
    pub name: Option<String>,
    /// Name of the product, such as `AMD Instinct MI300X`.
    pub product_name: Option<String>,
    /// Number of the node on the machine.
    pub node_id: Option<i64>,
    /// Number among all visible agents.
    pub logical_node_id: Option<i64>,
    /// Number among the visible agents of its kind: the GPU's ordinal.
    pub ordinal: Option<i64>,
    /// Compute units.
    pub compute_units: Option<u32>,
    /// SIMD units of a compute unit.
    pub simds_per_compute_unit: Option<u32>,
    /// Waves that a SIMD unit holds at most.
    pub max_waves_per_simd: Option<u32>,
    /// Lanes of a wave.
    pub wave_size: Option<u32>,
    /// Local data share of a compute unit, in KiB.
    pub lds_kib: Option<u32>,
    /// Accelerator dies.
    pub dies: Option<u32>,
    /// Highest clock, in MHz.
    pub max_clock_mhz: Option<u32>,
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Bandwidth of the memory in bytes per second: bus width times highest clock, two transfers a clock.
    pub memory_bandwidth: Option<f64>,
}

/// A kernel. Names are `None` where the format does not give them; an empty name is a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// Position of its process.
    pub process: u32,
    /// Number by which dispatches refer to it.
    pub id: Option<u64>,
    /// As the code object has it: `_Z3addPf.kd`, `attn_fwd.kd`.
    pub mangled: Option<StringId>,
    /// Demangled with the suffix: `add(float*) [clone .kd]`, `attn_fwd.kd`.
    pub demangled: Option<StringId>,
    /// Demangled without it: `add(float*)`, `attn_fwd`.
    pub formatted: Option<StringId>,
    /// Without namespace, template arguments and parameters: `add`, `attn_fwd.kd`.
    pub truncated: Option<StringId>,
}

/// Launch configuration of a dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Launch {
    /// Work items per dimension (not work groups).
    pub grid: [u32; 3],
    /// Work items of a work group per dimension.
    pub workgroup: [u32; 3],
    /// Whether the file gives only products of the three dimensions, which then stand in the first.
    pub products_only: bool,
    /// Scratch memory of a work item, in bytes.
    pub private_segment: u32,
    /// Local data share of a work group, in bytes.
    pub group_segment: u32,
    /// Vector registers of a work item.
    pub vgprs: u32,
    /// Accumulation registers of a work item.
    pub accum_vgprs: u32,
    /// Scalar registers of a wave.
    pub sgprs: u32,
}

/// A kernel that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// When it started.
    pub start: Nanoseconds,
    /// When it ended; never before the start.
    pub end: Nanoseconds,
    /// Number that the API call which launched it shares; `None` where the format does not give it.
    pub correlation: Option<u64>,
    /// Number in the order of dispatching, from 1; 0 where the format does not give it.
    pub dispatch_id: u64,
    /// Thread that launched it; 0 where the format does not give it.
    pub thread: i64,
    /// HSA queue.
    pub queue: u64,
    /// HIP stream.
    pub stream: u64,
    /// Position of its process.
    pub process: u32,
    /// Position of its agent; `None` where the format does not give it.
    pub agent: Option<u32>,
    /// Position of its kernel.
    pub kernel: u32,
    /// Position of its launch configuration.
    pub launch: u32,
}

/// Direction of a memory copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CopyDirection {
    /// Within the host's memory.
    HostToHost,
    /// To a GPU.
    HostToDevice,
    /// From a GPU.
    DeviceToHost,
    /// Within a GPU's memory or from one GPU to another.
    DeviceToDevice,
    /// Anything else.
    #[default]
    Other,
}

/// A memory copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryCopy {
    /// When it started.
    pub start: Nanoseconds,
    /// When it ended; never before the start.
    pub end: Nanoseconds,
    /// Number that the API call which asked for it shares.
    pub correlation: Option<u64>,
    /// Size in bytes; `None` where the format does not give it.
    pub bytes: Option<u64>,
    /// Thread that asked for it.
    pub thread: i64,
    /// HIP stream.
    pub stream: u64,
    /// Position of its process.
    pub process: u32,
    /// Position of the agent whose memory it read.
    pub source: Option<u32>,
    /// Position of the agent whose memory it wrote.
    pub destination: Option<u32>,
    /// Direction.
    pub direction: CopyDirection,
    /// The profiler's name: `MEMORY_COPY_HOST_TO_DEVICE`.
    pub name: StringId,
}

/// Which library a call belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Domain {
    /// HIP runtime and compiler.
    Hip,
    /// HSA.
    Hsa,
    /// Markers of the program (`roctx`).
    Marker,
    /// RCCL.
    Rccl,
    /// Video decoding.
    Rocdecode,
    /// JPEG decoding.
    Rocjpeg,
    /// Any other.
    Other,
}

/// A call of a library, or a range or mark of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// When it began.
    pub start: Nanoseconds,
    /// When it returned; never before the start.
    pub end: Nanoseconds,
    /// Number that what it set off on a GPU shares.
    pub correlation: Option<u64>,
    /// Thread that called.
    pub thread: i64,
    /// HIP stream; 0 where the format does not give it.
    pub stream: u64,
    /// Number of the operation in its table; 0 where the format does not give it.
    pub operation: u32,
    /// Position of its process.
    pub process: u32,
    /// Which library.
    pub domain: Domain,
    /// The profiler's finer name of the domain: `HIP_RUNTIME_API`.
    pub kind: StringId,
    /// Function that was called, or text of the marker.
    pub name: StringId,
}

/// An allocation of device memory, or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// When the call began.
    pub start: Nanoseconds,
    /// When it returned.
    pub end: Nanoseconds,
    /// Number that the API call shares.
    pub correlation: Option<u64>,
    /// Address.
    pub address: u64,
    /// Size in bytes; 0 for ends.
    pub bytes: u64,
    /// Position of its process.
    pub process: u32,
    /// Position of its agent.
    pub agent: Option<u32>,
    /// The profiler's name: `MEMORY_ALLOCATION_ALLOCATE`.
    pub name: StringId,
}

/// Scratch memory that was handed out or taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScratchEvent {
    /// When it began.
    pub start: Nanoseconds,
    /// When it ended.
    pub end: Nanoseconds,
    /// Size in bytes; `None` where the format does not give it.
    pub bytes: Option<u64>,
    /// HSA queue.
    pub queue: u64,
    /// Position of its process.
    pub process: u32,
    /// Position of its agent.
    pub agent: Option<u32>,
    /// The profiler's name: `SCRATCH_MEMORY_ALLOC`.
    pub name: StringId,
}

/// A hardware counter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    /// Name, such as `SQ_WAVES`.
    pub name: String,
    /// What it counts.
    pub description: Option<String>,
    /// Block of the hardware.
    pub block: Option<String>,
    /// How it is computed from others, if it is.
    pub expression: Option<String>,
}

/// Value of a counter during a dispatch: the sum over the counter's instances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterValue {
    /// Position of the dispatch.
    pub dispatch: u32,
    /// Position of the counter.
    pub counter: u32,
    /// Value.
    pub value: f64,
}

/// A sample of a wave's program counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When it was taken.
    pub time: Nanoseconds,
    /// Number of the dispatch ([`Dispatch::dispatch_id`]).
    pub dispatch_id: u64,
    /// Number of the code object.
    pub code_object: u64,
    /// Offset of the instruction in the code object, in bytes.
    pub offset: u64,
    /// Position of the process.
    pub process: u32,
    /// Text of the instruction; empty where the format does not give it.
    pub instruction: StringId,
}

/// Which of a kernel's names a report shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelNames {
    /// Without namespace, template arguments and parameters.
    #[default]
    Truncated,
    /// Demangled, without the suffix of the code object.
    Formatted,
    /// Demangled, with it.
    Demangled,
    /// As the code object has it.
    Mangled,
}

impl Profile {
    /// Name of a kernel. Where the chosen name is missing or empty, the next best stands in; a kernel without any
    /// name is `unknown_kernel_<id>`.
    pub fn kernel_name(&self, kernel: u32, names: KernelNames) -> std::borrow::Cow<'_, str> {
        let Kernel { id, mangled, demangled, formatted, truncated, .. } = self.kernels[kernel as usize];
        let order = match names {
            KernelNames::Truncated => [truncated, formatted, mangled],
            KernelNames::Formatted => [formatted, truncated, mangled],
            KernelNames::Demangled => [demangled, formatted, mangled],
            KernelNames::Mangled => [mangled, formatted, truncated],
        };
        let given = || order.into_iter().flatten();
        let name = given().find(|&name| name != StringId::EMPTY).or_else(|| given().next());
        match (name, id) {
            (Some(name), _) => self.strings.get(name).into(),
            (None, Some(id)) => format!("unknown_kernel_{id}").into(),
            (None, None) => "unknown_kernel_None".into(),
        }
    }

    /// Text of an interned string.
    pub fn text(&self, id: StringId) -> &str {
        self.strings.get(id)
    }
}

macro_rules! durations {
    ($($record:ident)*) => {
        $(impl $record {
            /// Its length, never negative.
            pub fn duration(&self) -> Nanoseconds {
                self.end - self.start
            }
        })*
    };
}

durations! { Dispatch MemoryCopy Call Allocation ScratchEvent }

impl CopyDirection {
    /// The direction that a profiler's name tells: `MEMORY_COPY_HOST_TO_DEVICE`, `HOST_TO_DEVICE`, `H2D`.
    pub fn from_name(name: &str) -> Self {
        let name = name.to_ascii_uppercase();
        let named = |long: &str, short: &str| name.contains(long) || name == short;
        if named("HOST_TO_DEVICE", "H2D") {
            CopyDirection::HostToDevice
        } else if named("DEVICE_TO_HOST", "D2H") {
            CopyDirection::DeviceToHost
        } else if named("DEVICE_TO_DEVICE", "D2D") {
            CopyDirection::DeviceToDevice
        } else if named("HOST_TO_HOST", "H2H") {
            CopyDirection::HostToHost
        } else {
            CopyDirection::Other
        }
    }

    /// What the agents are that such a copy reads from and writes to.
    pub(crate) fn agent_kinds(self) -> [AgentKind; 2] {
        match self {
            CopyDirection::HostToHost => [AgentKind::Cpu, AgentKind::Cpu],
            CopyDirection::HostToDevice => [AgentKind::Cpu, AgentKind::Gpu],
            CopyDirection::DeviceToHost => [AgentKind::Gpu, AgentKind::Cpu],
            CopyDirection::DeviceToDevice => [AgentKind::Gpu, AgentKind::Gpu],
            CopyDirection::Other => [AgentKind::Unknown, AgentKind::Unknown],
        }
    }

    /// The direction of a copy between agents of these kinds.
    pub(crate) fn between(kinds: [AgentKind; 2]) -> Self {
        let known = [
            CopyDirection::HostToHost,
            CopyDirection::HostToDevice,
            CopyDirection::DeviceToHost,
            CopyDirection::DeviceToDevice,
        ];
        let found = known.into_iter().find(|direction| direction.agent_kinds() == kinds);
        found.unwrap_or(CopyDirection::Other)
    }
}

impl Domain {
    /// The domain that a profiler's name tells: `HIP_RUNTIME_API`, `hip_api`, `MARKER_CORE_API`.
    pub fn from_kind(kind: &str) -> Self {
        const DOMAINS: [(&str, Domain); 6] = [
            ("HIP", Domain::Hip),
            ("HSA", Domain::Hsa),
            ("MARKER", Domain::Marker),
            ("RCCL", Domain::Rccl),
            ("ROCDECODE", Domain::Rocdecode),
            ("ROCJPEG", Domain::Rocjpeg),
        ];
        let begins = |prefix: &str| {
            kind.as_bytes()
                .get(..prefix.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(prefix.as_bytes()))
        };
        DOMAINS.iter().find(|(prefix, _)| begins(prefix)).map_or(Domain::Other, |&(_, domain)| domain)
    }
}
