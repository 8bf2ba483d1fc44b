//! What the tree needs to know of names, decided once per distinct name.

use trace_ingest::{StringId, StringTable};

/// Name of the profiler's event around one backward operator.
const EVALUATE_FUNCTION: &str = "autograd::engine::evaluate_function:";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameClass {
    /// A Python frame of this name is the call of an `nn.Module`.
    Module,
    /// An event of this name runs one backward operator.
    EvaluateFunction,
    Other,
}

/// Classes of all strings of a trace, by id.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameClasses {
    classes: Vec<NameClass>,
}

impl NameClasses {
    /// Classifies the strings added since the last call.
    pub(crate) fn extend(&mut self, strings: &StringTable) {
        let known = self.classes.len();
        self.classes.extend(strings.iter().skip(known).map(|(_, text)| match text {
            _ if is_module_frame(text) => NameClass::Module,
            _ if text.starts_with(EVALUATE_FUNCTION) => NameClass::EvaluateFunction,
            _ => NameClass::Other,
        }));
    }

    /// Whether a Python frame of this name is the call of an `nn.Module`.
    #[inline]
    pub(crate) fn is_module(&self, name: StringId) -> bool {
        self.classes[name.index()] == NameClass::Module
    }

    /// Whether an event of this name runs one backward operator.
    #[inline]
    pub(crate) fn is_evaluate_function(&self, name: StringId) -> bool {
        self.classes[name.index()] == NameClass::EvaluateFunction
    }
}

/// Whether a Python frame of this name is the call of an `nn.Module`.
pub fn is_module_frame(name: &str) -> bool {
    name.starts_with("nn.Module:")
}

/// The module that a frame names: `Linear_3` for `nn.Module: Linear_3`, other names as they stand.
pub fn module_name(frame: &str) -> &str {
    frame.strip_prefix("nn.Module: ").unwrap_or(frame)
}

/// A module's name without the number that the profiler appends to tell instances apart:
/// `nn.Module: Linear_3` is `nn.Module: Linear`.
pub fn module_class(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match stem.strip_suffix('_') {
        Some(module) if stem.len() < name.len() => module,
        _ => name,
    }
}

/// Whether a runtime or driver call of this name launches a captured graph: `cudaGraphLaunch`, `cuGraphLaunch_ptsz`,
/// `hipGraphLaunch_spt`. ASCII letters compare without regard to case.
#[must_use]
pub fn is_graph_launch(name: &str) -> bool {
    const PART: &[u8] = b"graphlaunch";
    name.as_bytes().windows(PART.len()).any(|window| window.eq_ignore_ascii_case(PART))
}

/// What a runtime or driver call of CUDA, HIP or another runtime may hold the host for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostWait {
    /// All work of a device or context.
    Device,
    /// The work of a stream or queue.
    Stream,
    /// The work before an event.
    Event,
    /// Nothing by itself: it asks whether the work before an event has ended, and programs ask until it has.
    EventQuery,
    /// The copy that it starts.
    Copy,
    /// The copy that it starts, where the recorder or the kind of memory makes it wait in spite of its name.
    AsyncCopy,
}

impl HostWait {
    /// Of a call by its name; `None` of calls that only start work, or do something else. ASCII letters compare without
    /// regard to case.
    #[must_use]
    pub fn from_call(name: &str) -> Option<HostWait> {
        let name = name.to_ascii_lowercase();
        if let Some((before, _)) = name.split_once("synchronize") {
            return Some(match () {
                () if before.ends_with("stream") || before.ends_with("queue") => HostWait::Stream,
                () if before.ends_with("event") || before.ends_with("eventhost") => HostWait::Event,
                () => HostWait::Device,
            });
        }
        match () {
            () if name.contains("eventquery") => Some(HostWait::EventQuery),
            () if !name.contains("memcpy") => None,
            () if name.contains("async") => Some(HostWait::AsyncCopy),
            () => Some(HostWait::Copy),
        }
    }

    /// Whether it waits for a copy.
    #[must_use]
    pub const fn is_copy(self) -> bool {
        matches!(self, HostWait::Copy | HostWait::AsyncCopy)
    }

    /// Whether it waits for work that other calls started, and for nothing else.
    #[must_use]
    pub const fn is_synchronization(self) -> bool {
        matches!(self, HostWait::Device | HostWait::Stream | HostWait::Event)
    }
}

/// The names by which TraceLens knows the launch of a graph.
pub(crate) const TRACELENS_GRAPH_LAUNCHES: [&str; 2] = ["cudaGraphLaunch", "hipGraphLaunch"];

/// What a runtime or driver call of some name starts, the likeliest to start device work first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CallKind {
    /// A captured graph, see [`is_graph_launch`].
    GraphLaunch,
    /// A kernel or a copy: the name contains `launch` or `memcpy`.
    Launch,
    /// A fill: the name contains `memset`.
    Memset,
    /// A function of the host, in the order of a stream (`cudaLaunchHostFunc`).
    HostFunction,
    /// Nothing, such as a synchronisation.
    Other,
}

impl CallKind {
    /// Kind of a call of this name. ASCII letters compare without regard to case.
    #[must_use]
    pub fn from_name(name: &str) -> CallKind {
        if is_graph_launch(name) {
            return CallKind::GraphLaunch;
        }
        let name = name.to_ascii_lowercase();
        match name {
            _ if name.contains("memset") => CallKind::Memset,
            _ if name.contains("hostfunc") => CallKind::HostFunction,
            _ if name.contains("launch") || name.contains("memcpy") => CallKind::Launch,
            _ => CallKind::Other,
        }
    }

    /// Whether it starts work of the device.
    #[must_use]
    pub const fn starts_device_work(self) -> bool {
        matches!(self, CallKind::GraphLaunch | CallKind::Launch | CallKind::Memset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_start_device_work_come_before_others() {
        for (name, kind) in [
            ("cudaGraphLaunch", CallKind::GraphLaunch),
            ("cuGraphLaunch_ptsz", CallKind::GraphLaunch),
            ("hipGraphLaunch_spt", CallKind::GraphLaunch),
            ("cuLaunchKernelEx", CallKind::Launch),
            ("hipMemcpyWithStream", CallKind::Launch),
            ("cudaMemsetAsync", CallKind::Memset),
            ("cudaLaunchHostFunc", CallKind::HostFunction),
            ("cudaStreamSynchronize", CallKind::Other),
        ] {
            assert_eq!(CallKind::from_name(name), kind, "{name}");
        }
        assert!(CallKind::GraphLaunch < CallKind::Launch && CallKind::Launch < CallKind::Other);
    }

    #[test]
    fn calls_that_wait_are_known_in_all_their_spellings() {
        for (name, wait) in [
            ("cudaDeviceSynchronize", Some(HostWait::Device)),
            ("cuCtxSynchronize", Some(HostWait::Device)),
            ("hipStreamSynchronize_spt", Some(HostWait::Stream)),
            ("cuStreamSynchronize_ptsz", Some(HostWait::Stream)),
            ("zeCommandQueueSynchronize", Some(HostWait::Stream)),
            ("hipEventSynchronize", Some(HostWait::Event)),
            ("zeEventHostSynchronize", Some(HostWait::Event)),
            ("cudaEventQuery", Some(HostWait::EventQuery)),
            ("hipMemcpyWithStream", Some(HostWait::Copy)),
            ("cuMemcpyDtoH_v2", Some(HostWait::Copy)),
            ("cudaMemcpyAsync", Some(HostWait::AsyncCopy)),
            ("cuMemcpyDtoHAsync_v2_ptsz", Some(HostWait::AsyncCopy)),
            ("cudaStreamWaitEvent", None),
            ("cudaStreamQuery", None),
            ("cudaLaunchKernel", None),
            ("cudaMemsetAsync", None),
        ] {
            assert_eq!(HostWait::from_call(name), wait, "{name}");
        }
    }

    #[test]
    fn strings_added_later_are_classified_too() {
        let mut strings = StringTable::default();
        let module = strings.intern("nn.Module: Linear_3");
        let mut classes = NameClasses::default();
        classes.extend(&strings);
        let evaluate = strings.intern("autograd::engine::evaluate_function: MmBackward0");
        classes.extend(&strings);
        assert!(classes.is_module(module) && !classes.is_evaluate_function(module));
        assert!(classes.is_evaluate_function(evaluate) && !classes.is_module(evaluate));
    }
}
