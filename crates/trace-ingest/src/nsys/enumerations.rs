//! What numbers of an export stand for, and what calls of the API are.

/// From where to where a copy goes, as CUPTI's names of copies have it.
pub(super) fn copy_kind(kind: i64) -> Option<&'static str> {
    const KINDS: [&str; 14] = [
        "Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP",
        "UVM HtoD", "UVM DtoH", "UVM DtoD",
    ];
    label(&KINDS, kind)
}

/// What memory is.
pub(super) fn memory_kind(kind: i64) -> Option<&'static str> {
    const KINDS: [&str; 8] =
        ["Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown"];
    label(&KINDS, kind)
}

/// What time of the driver or of the recorder was spent on.
pub(super) fn overhead_type(kind: i64) -> Option<&'static str> {
    const TYPES: [&str; 9] = [
        "Undefined",
        "Unknown",
        "Driver compilation",
        "Buffer flush",
        "Instrumentation",
        "Resource",
        "Runtime-triggered module loading",
        "Lazy function loading",
        "Command buffer full",
    ];
    label(&TYPES, kind)
}

fn label(labels: &[&'static str], kind: i64) -> Option<&'static str> {
    usize::try_from(kind).ok().and_then(|kind| labels.get(kind)).copied()
}

/// What a synchronization waits for, under the names that PyTorch's profiler gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncKind {
    Event,
    StreamWaitsForEvent,
    Stream,
    Context,
    Unknown,
}

impl SyncKind {
    pub(super) fn from_column(kind: i64) -> SyncKind {
        match kind {
            1 => SyncKind::Event,
            2 => SyncKind::StreamWaitsForEvent,
            3 => SyncKind::Stream,
            4 => SyncKind::Context,
            _ => SyncKind::Unknown,
        }
    }

    /// What a call waits for. The name is surer than the column: schema 3.24 has waits for streams as waits of streams.
    pub(super) fn from_call(name: &str) -> Option<SyncKind> {
        const CALLS: [(&str, SyncKind); 6] = [
            ("EventSynchronize", SyncKind::Event),
            ("StreamWaitEvent", SyncKind::StreamWaitsForEvent),
            ("StreamSynchronize", SyncKind::Stream),
            ("DeviceSynchronize", SyncKind::Context),
            ("CtxSynchronize", SyncKind::Context),
            ("ThreadSynchronize", SyncKind::Context),
        ];
        CALLS.iter().find(|(call, _)| name.contains(call)).map(|&(_, kind)| kind)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            SyncKind::Event => "Event Sync",
            SyncKind::StreamWaitsForEvent => "Stream Wait Event",
            SyncKind::Stream => "Stream Sync",
            SyncKind::Context => "Context Sync",
            SyncKind::Unknown => "Unknown Sync",
        }
    }
}

/// A call without the version of CUDA in which its signature appeared: `_v` and four or more digits. Shorter numbers are
/// the function's own.
pub(super) fn call_name(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((call, version)) if version.len() >= 4 && version.bytes().all(|byte| byte.is_ascii_digit()) => {
            call
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_signatures_are_no_part_of_a_call() {
        for (recorded, call) in [
            ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
            ("cudaLaunchKernelExC_v11060", "cudaLaunchKernelExC"),
            ("cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync_ptsz"),
            ("cuMemAlloc_v2", "cuMemAlloc_v2"),
            ("cuLaunchKernel", "cuLaunchKernel"),
            ("_v1234", ""),
        ] {
            assert_eq!(call_name(recorded), call);
        }
    }

    #[test]
    fn numbers_beyond_the_tables_have_no_label() {
        assert_eq!((copy_kind(1), copy_kind(13)), (Some("HtoD"), Some("UVM DtoD")));
        assert_eq!((copy_kind(14), copy_kind(-1), memory_kind(i64::MAX)), (None, None, None));
        assert_eq!(SyncKind::from_call("cudaStreamSynchronize"), Some(SyncKind::Stream));
        assert_eq!(SyncKind::from_call("cudaMemcpyAsync"), None);
    }
}
