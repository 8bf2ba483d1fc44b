//! The two recorders that Kineto has: CUPTI on CUDA, roctracer on ROCm.

/// Whose trace to imitate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Flavour {
    /// An NVIDIA device recorded by CUPTI.
    Cuda,
    /// An AMD device recorded by roctracer.
    Rocm,
}

/// A thread of the recorded process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thread {
    Main,
    Autograd,
}

/// A stream of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Compute,
    Communication,
    /// Copies under the computation.
    Copy,
}

/// What the host asks of the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// A kernel of PyTorch itself.
    LaunchKernel,
    /// A kernel of the vendor's matrix library.
    LaunchLibrary,
    /// A kernel of a module compiled elsewhere.
    LaunchModule,
    /// A kernel of the collective library.
    LaunchCollective,
    LaunchGraph,
    Copy,
    /// A copy that the host goes on beside.
    CopyAsync,
    /// A copy that the host waits for.
    CopyBlocking,
    Set,
    SynchronizeStream,
    SynchronizeDevice,
    SynchronizeEvent,
    RecordEvent,
    WaitEvent,
    QueryCapture,
    SetFunctionAttribute,
}

/// How a recorder names a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Api {
    pub(super) name: &'static str,
    pub(super) category: &'static str,
    /// The recorder's own number of the call: `cbid` or `cid`.
    pub(super) number: u64,
    /// Whether the call starts an `ac2g` flow. Where it does not, the recorder writes the end of
    /// one on the host row.
    pub(super) starts_flow: bool,
}

/// Direction of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
}

/// The host's memory at one end of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostMemory {
    Pinned,
    Pageable,
}

impl Direction {
    /// The runtime's number for the direction (`cudaMemcpyKind`, `hipMemcpyKind`).
    pub(super) fn number(self) -> &'static str {
        match self {
            Direction::HostToDevice => "1",
            Direction::DeviceToHost => "2",
            Direction::DeviceToDevice => "3",
        }
    }

    pub(super) fn short(self) -> &'static str {
        match self {
            Direction::HostToDevice => "HtoD",
            Direction::DeviceToHost => "DtoH",
            Direction::DeviceToDevice => "DtoD",
        }
    }
}

impl Flavour {
    pub(super) fn api(self, call: Call) -> Api {
        let (name, number, starts_flow) = match self {
            Flavour::Cuda => cuda_call(call),
            Flavour::Rocm => rocm_call(call),
        };
        // The driver's own calls begin with `cu` and a capital. HIP's carry CUDA's category.
        let driver = name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(char::is_uppercase));
        Api { name, category: if driver { "cuda_driver" } else { "cuda_runtime" }, number, starts_flow }
    }

    /// Roctracer does not say what kind of memory the host has.
    pub(super) fn copy_name(self, direction: Direction, memory: HostMemory) -> &'static str {
        match (self, direction, memory) {
            (_, Direction::DeviceToDevice, _) => "Memcpy DtoD (Device -> Device)",
            (Flavour::Cuda, Direction::HostToDevice, HostMemory::Pinned) => "Memcpy HtoD (Pinned -> Device)",
            (Flavour::Cuda, Direction::HostToDevice, HostMemory::Pageable) => {
                "Memcpy HtoD (Pageable -> Device)"
            }
            (Flavour::Cuda, Direction::DeviceToHost, HostMemory::Pinned) => "Memcpy DtoH (Device -> Pinned)",
            (Flavour::Cuda, Direction::DeviceToHost, HostMemory::Pageable) => {
                "Memcpy DtoH (Device -> Pageable)"
            }
            (Flavour::Rocm, Direction::HostToDevice, _) => "Memcpy HtoD (Host -> Device)",
            (Flavour::Rocm, Direction::DeviceToHost, _) => "Memcpy DtoH (Device -> Host)",
        }
    }

    /// Rank of the recorded process, also the number of its device.
    pub(super) fn rank(self) -> u64 {
        match self {
            Flavour::Cuda => 0,
            Flavour::Rocm => 2,
        }
    }

    /// PyTorch's number of the kind of device.
    pub(super) fn device_type(self) -> u64 {
        match self {
            Flavour::Cuda => 1,
            Flavour::Rocm => 6,
        }
    }

    pub(super) fn process(self) -> u64 {
        match self {
            Flavour::Cuda => 41_207,
            Flavour::Rocm => 28_816,
        }
    }

    pub(super) fn thread(self, thread: Thread) -> u64 {
        match thread {
            Thread::Main => self.process(),
            Thread::Autograd => self.process() + 214,
        }
    }

    pub(super) fn stream(self, stream: Stream) -> u64 {
        match (self, stream) {
            (Flavour::Cuda, Stream::Compute) => 7,
            (Flavour::Cuda, Stream::Communication) => 24,
            (Flavour::Cuda, Stream::Copy) => 20,
            (Flavour::Rocm, Stream::Compute) => 0,
            (Flavour::Rocm, Stream::Communication) => 5,
            (Flavour::Rocm, Stream::Copy) => 3,
        }
    }
}

/// Name, callback number, starts a flow. CUPTI starts flows on launches, copies, sets, waits.
fn cuda_call(call: Call) -> (&'static str, u64, bool) {
    match call {
        Call::LaunchKernel => ("cudaLaunchKernel", 211, true),
        Call::LaunchLibrary => ("cuLaunchKernelEx", 652, true),
        Call::LaunchModule => ("cuLaunchKernel", 307, true),
        Call::LaunchCollective => ("cudaLaunchKernelExC", 430, true),
        Call::LaunchGraph => ("cudaGraphLaunch", 311, true),
        Call::Copy | Call::CopyAsync => ("cudaMemcpyAsync", 41, true),
        Call::CopyBlocking => ("cudaMemcpy", 31, true),
        Call::Set => ("cudaMemsetAsync", 51, true),
        Call::SynchronizeStream => ("cudaStreamSynchronize", 131, true),
        Call::SynchronizeDevice => ("cudaDeviceSynchronize", 165, true),
        Call::SynchronizeEvent => ("cudaEventSynchronize", 137, true),
        Call::RecordEvent => ("cudaEventRecord", 135, false),
        Call::WaitEvent => ("cudaStreamWaitEvent", 147, true),
        Call::QueryCapture => ("cudaStreamIsCapturing", 317, false),
        Call::SetFunctionAttribute => ("cudaFuncSetAttribute", 273, false),
    }
}

/// Name, operation number, starts a flow. Roctracer starts none on sets and graph launches.
fn rocm_call(call: Call) -> (&'static str, u64, bool) {
    match call {
        Call::LaunchKernel => ("hipLaunchKernel", 107, true),
        Call::LaunchLibrary => ("hipExtModuleLaunchKernel", 65, true),
        Call::LaunchModule => ("hipModuleLaunchKernel", 169, true),
        Call::LaunchCollective => ("hipExtLaunchKernel", 64, true),
        Call::LaunchGraph => ("hipGraphLaunch", 215, false),
        Call::Copy | Call::CopyBlocking => ("hipMemcpyWithStream", 153, true),
        Call::CopyAsync => ("hipMemcpyAsync", 138, true),
        Call::Set => ("hipMemsetAsync", 159, false),
        Call::SynchronizeStream => ("hipStreamSynchronize", 199, false),
        Call::SynchronizeDevice => ("hipDeviceSynchronize", 48, false),
        Call::SynchronizeEvent => ("hipEventSynchronize", 60, false),
        Call::RecordEvent => ("hipEventRecord", 59, false),
        Call::WaitEvent => ("hipStreamWaitEvent", 200, false),
        Call::QueryCapture => ("hipStreamIsCapturing", 290, false),
        Call::SetFunctionAttribute => ("hipFuncSetAttribute", 77, false),
    }
}
