//! What a profiler recorded.

use crate::facts::RecordingKind;
use crate::trace::Trace;

/// What was recorded, as the reader of its kind gives it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Recording {
    /// Events on a timeline, in no other form than a [`Trace`]: what PyTorch's profiler and Nsight Systems record, and
    /// whatever reader makes traces alone.
    Trace(Box<Trace>),
    /// A profile of JAX, TensorFlow or PyTorch/XLA.
    #[cfg(feature = "xplane")]
    XPlane(Box<crate::xplane::Profile>),
    /// A profile of AMD's rocprofv3, from any of its output formats.
    #[cfg(feature = "rocprof")]
    Rocprof(Box<crate::rocprof::Profile>),
    /// Operations of Tenstorrent's tt-metal.
    #[cfg(feature = "metal")]
    TenstorrentOps(Box<crate::metal::OpsTable>),
}

impl Recording {
    /// Its kind.
    pub fn kind(&self) -> RecordingKind {
        match self {
            Recording::Trace(trace) => trace.facts().recorder.kind.unwrap_or(RecordingKind::Trace),
            #[cfg(feature = "xplane")]
            Recording::XPlane(_) => RecordingKind::XPlane,
            #[cfg(feature = "rocprof")]
            Recording::Rocprof(_) => RecordingKind::Rocprof,
            #[cfg(feature = "metal")]
            Recording::TenstorrentOps(_) => RecordingKind::TenstorrentOps,
        }
    }

    /// What it has in common with all other traces; `None` for a table of operations, which has no events.
    pub fn into_trace(self) -> Option<Trace> {
        match self {
            Recording::Trace(trace) => Some(*trace),
            #[cfg(feature = "xplane")]
            Recording::XPlane(profile) => Some(profile.trace),
            #[cfg(feature = "rocprof")]
            Recording::Rocprof(profile) => Some(profile.to_trace()),
            #[cfg(feature = "metal")]
            Recording::TenstorrentOps(_) => None,
        }
    }
}
