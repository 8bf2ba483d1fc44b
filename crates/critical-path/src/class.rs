//! What a stretch of the path is, and what calls and kernels are by their names.

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
}

impl fmt::Display for PathClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a call may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocking {
    /// All work of a device.
    Device,
    /// The work of a stream.
    Stream,
    /// The work before an event.
    Event,
    /// The copy that it starts.
    Copy,
}

/// What a call of this name may wait for; CUDA, its driver, and HIP.
pub(crate) fn blocking(name: &str) -> Option<Blocking> {
    let name = name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_spt")).unwrap_or(name);
    let call = ["cuda", "hip", "cu"].into_iter().find_map(|prefix| name.strip_prefix(prefix))?;
    match call {
        "DeviceSynchronize" | "CtxSynchronize" => Some(Blocking::Device),
        "StreamSynchronize" => Some(Blocking::Stream),
        "EventSynchronize" | "EventQuery" => Some(Blocking::Event),
        _ if call.starts_with("Memcpy") => Some(Blocking::Copy),
        _ => None,
    }
}

/// What a kernel of this name does.
pub(crate) fn work_class(name: &str, communication: &CommunicationPatterns) -> PathClass {
    match communication.is_communication(name) {
        true => PathClass::GpuCommunication,
        false => PathClass::GpuCompute,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_wait_are_known_in_all_their_spellings() {
        for (name, kind) in [
            ("cudaDeviceSynchronize", Some(Blocking::Device)),
            ("cuCtxSynchronize", Some(Blocking::Device)),
            ("hipStreamSynchronize_spt", Some(Blocking::Stream)),
            ("cuStreamSynchronize_ptsz", Some(Blocking::Stream)),
            ("hipEventSynchronize", Some(Blocking::Event)),
            ("hipMemcpyWithStream", Some(Blocking::Copy)),
            ("cudaMemcpyAsync", Some(Blocking::Copy)),
            ("cudaStreamWaitEvent", None),
            ("cudaLaunchKernel", None),
            ("aten::copy_", None),
        ] {
            assert_eq!(blocking(name), kind, "{name}");
        }
    }
}
