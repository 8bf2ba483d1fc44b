//! What a stretch of the path is, and what kernels are by their names.

use std::fmt;

use perf_models::CommunicationPatterns;

/// What a stretch of the critical path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathClass {
    /// A kernel computes.
    GpuCompute,
    /// A kernel communicates with other ranks.
    GpuCommunication,
    /// A copy or fill runs.
    GpuMemory,
    /// Another node of a graph runs, such as a call of the host.
    GpuOther,
    /// Between two device events, the second of which waited for the first or for its place on the stream.
    KernelGap,
    /// Between two nodes of a graph, the second of which waits for the first.
    GraphDependency,
    /// Between a launch and the start of what it launches, while the stream was free.
    LaunchDelay,
    /// Between the end of the device work that a call waits for and the end of the call.
    SyncReturn,
    /// An operator runs on the host.
    HostOperator,
    /// A runtime or driver call runs on the host and waits for nothing that was recorded.
    HostRuntime,
    /// Nothing was recorded of the host: Python, other libraries, waits.
    HostUntraced,
    /// Device work whose launch and predecessor are not in the recording was not running yet.
    Unknown,
}

impl PathClass {
    /// All classes, in the order of the summary.
    pub const ALL: [PathClass; 12] = [
        PathClass::GpuCompute,
        PathClass::GpuCommunication,
        PathClass::GpuMemory,
        PathClass::GpuOther,
        PathClass::KernelGap,
        PathClass::GraphDependency,
        PathClass::LaunchDelay,
        PathClass::SyncReturn,
        PathClass::HostOperator,
        PathClass::HostRuntime,
        PathClass::HostUntraced,
        PathClass::Unknown,
    ];

    /// Its name in sheets.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            PathClass::GpuCompute => "gpu_compute",
            PathClass::GpuCommunication => "gpu_communication",
            PathClass::GpuMemory => "gpu_memory",
            PathClass::GpuOther => "gpu_other",
            PathClass::KernelGap => "kernel_gap",
            PathClass::GraphDependency => "graph_dependency",
            PathClass::LaunchDelay => "launch_delay",
            PathClass::SyncReturn => "sync_return",
            PathClass::HostOperator => "host_operator",
            PathClass::HostRuntime => "host_runtime",
            PathClass::HostUntraced => "host_untraced",
            PathClass::Unknown => "unknown",
        }
    }

    /// Its name in sentences.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            PathClass::GpuCompute => "GPU compute",
            PathClass::GpuCommunication => "GPU communication",
            PathClass::GpuMemory => "GPU memory",
            PathClass::GpuOther => "other graph nodes",
            PathClass::KernelGap => "gap between kernels",
            PathClass::GraphDependency => "graph dependency",
            PathClass::LaunchDelay => "launch delay",
            PathClass::SyncReturn => "return from synchronization",
            PathClass::HostOperator => "host operators",
            PathClass::HostRuntime => "runtime calls",
            PathClass::HostUntraced => "host, nothing recorded",
            PathClass::Unknown => "unknown",
        }
    }

    /// Whether it is time before what is named.
    #[must_use]
    pub const fn is_gap(self) -> bool {
        matches!(
            self,
            PathClass::KernelGap
                | PathClass::GraphDependency
                | PathClass::LaunchDelay
                | PathClass::HostUntraced
                | PathClass::Unknown
        )
    }
}

impl fmt::Display for PathClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a kernel of this name does.
pub(crate) fn work_class(name: &str, communication: &CommunicationPatterns) -> PathClass {
    match communication.is_communication(name) {
        true => PathClass::GpuCommunication,
        false => PathClass::GpuCompute,
    }
}
