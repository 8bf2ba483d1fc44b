//! From a path to what a profiler recorded there.

use std::fmt;
use std::path::Path;

use crate::error::IngestError;
use crate::format::{ReadOptions, detect};
use crate::source;
use crate::trace::Trace;

/// What was recorded, as the reader of its kind gives it.
#[derive(Clone, Debug)]
pub enum Recording {
    /// A trace of PyTorch's profiler.
    #[cfg(feature = "kineto")]
    Kineto(Box<Trace>),
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

/// The kinds of recordings, whether this build reads them or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordingKind {
    /// [`Recording::Kineto`]
    Kineto,
    /// [`Recording::XPlane`]
    XPlane,
    /// [`Recording::Rocprof`]
    Rocprof,
    /// [`Recording::TenstorrentOps`]
    TenstorrentOps,
}

impl RecordingKind {
    /// All kinds.
    pub const ALL: &[RecordingKind] = &[
        RecordingKind::Kineto,
        RecordingKind::XPlane,
        RecordingKind::Rocprof,
        RecordingKind::TenstorrentOps,
    ];

    /// The kinds that [`Recording::into_trace`] converts.
    pub(crate) const TRACES: &[RecordingKind] =
        &[RecordingKind::Kineto, RecordingKind::XPlane, RecordingKind::Rocprof];

    /// What its files are.
    pub(crate) fn files(self) -> &'static str {
        match self {
            RecordingKind::Kineto => "Chrome trace-event JSON",
            RecordingKind::XPlane => "plugins/profile/<time>/<host>.xplane.pb",
            RecordingKind::Rocprof => {
                "*_results.json, *_results.db, *_results.pftrace or a directory of *_trace.csv"
            }
            RecordingKind::TenstorrentOps => "generated/profiler/reports/.../ops_perf_results_*.csv",
        }
    }
}

/// With its article: `an XPlane profile`.
impl fmt::Display for RecordingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RecordingKind::Kineto => "a PyTorch/Kineto trace",
            RecordingKind::XPlane => "an XPlane profile",
            RecordingKind::Rocprof => "a rocprofv3 profile",
            RecordingKind::TenstorrentOps => "a Tenstorrent ops CSV",
        })
    }
}

impl Recording {
    /// Its kind.
    pub fn kind(&self) -> RecordingKind {
        match *self {
            #[cfg(feature = "kineto")]
            Recording::Kineto(_) => RecordingKind::Kineto,
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
            #[cfg(feature = "kineto")]
            Recording::Kineto(trace) => Some(*trace),
            #[cfg(feature = "xplane")]
            Recording::XPlane(profile) => Some(profile.trace),
            #[cfg(feature = "rocprof")]
            Recording::Rocprof(profile) => Some(profile.to_trace()),
            #[cfg(feature = "metal")]
            Recording::TenstorrentOps(_) => None,
        }
    }
}

/// Reads a recording of any known kind, recognised by content: a file, plain or compressed (gzip, zstd, zip), or a
/// directory of rocprofv3's CSV files.
///
/// # Errors
/// When the path cannot be read, holds no known recording, or one that is damaged beyond use. Everything less is a
/// warning of what was read.
pub fn open(path: &Path, options: &ReadOptions<'_>) -> Result<Recording, IngestError> {
    open_one_of(RecordingKind::ALL, path, options)
}

/// Reads a recording as a trace: what [`open`] reads, and [`Recording::into_trace`] converts.
///
/// # Errors
/// Those of [`open`], and [`IngestError::OtherKind`] for a recording that is no trace.
pub fn read_path(path: &Path, options: &ReadOptions<'_>) -> Result<Trace, IngestError> {
    let recording = open_one_of(RecordingKind::TRACES, path, options)?;
    let kind = recording.kind();
    recording.into_trace().ok_or_else(|| IngestError::other_kind(path, kind, RecordingKind::TRACES))
}

/// The kind of recording that a file or directory holds, by its beginning alone.
///
/// # Errors
/// When the path cannot be read or holds no known recording.
pub fn recognise(path: &Path) -> Result<RecordingKind, IngestError> {
    #[cfg(feature = "rocprof")]
    if crate::rocprof::is_directory_of_traces(path) {
        return Ok(RecordingKind::Rocprof);
    }
    let source = source::open(path, &ReadOptions::default())?;
    detect(RecordingKind::ALL, path, &source.head).map(|format| format.kind)
}

/// Reads a recording of one of these kinds; one of another kind is refused before it is read.
pub(crate) fn open_one_of(
    kinds: &[RecordingKind],
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<Recording, IngestError> {
    #[cfg(feature = "rocprof")]
    if kinds.contains(&RecordingKind::Rocprof) && crate::rocprof::is_directory_of_traces(path) {
        return crate::rocprof::read_directory(path).map(Recording::from);
    }
    let source = source::open(path, options)?;
    let format = detect(kinds, path, &source.head)?;
    let expansion = source.expansion.clone();
    expansion.end(path, (format.read)(path, source, options))
}
