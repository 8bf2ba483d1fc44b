//! AMD's `rocprofv3` (`rocprofiler-sdk-tool`): JSON, CSV, rocpd databases and Perfetto traces, read into one
//! [`Profile`].

mod builder;
mod csv;
mod json;
mod kernel_names;
mod pftrace;
mod profile;
mod rocpd;
mod to_trace;

use std::path::Path;

pub use profile::{
    Agent, AgentKind, Allocation, Call, CopyDirection, Counter, CounterValue, Dispatch, Domain, Kernel,
    KernelNames, Launch, MemoryCopy, Process, Profile, Sample, ScratchEvent, SourceFormat,
};

pub(crate) use csv::{is_directory_of_traces, read_directory};
#[cfg(feature = "nsys")]
pub(crate) use rocpd::is_profile as is_rocpd;

use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::format::{Certainty, Format};
use crate::open::{open_one_of, other_kind};
use crate::perfetto::{Recorder, recorder};
use crate::recording::Recording;
use crate::source::{ReadOptions, TextSource};
use crate::sqlite::is_database;

/// One of the profiler's output formats.
const fn format(
    name: &'static str,
    probe: fn(&[u8]) -> Certainty,
    read: fn(&Path, TextSource<'_>, &ReadOptions<'_>) -> Result<Recording, IngestError>,
) -> Format {
    Format { name, kind: RecordingKind::Rocprof, probe, read }
}

pub(crate) const JSON: Format = format(json::NAME, json::probe, |path, source, options| {
    json::read(path, source, options).map(Recording::from)
});
pub(crate) const CHROME_JSON: Format =
    format("Chrome JSON of a rocprofv3 Perfetto trace", json::chrome::probe, |path, source, _| {
        pftrace::read_chrome(path, source).map(Recording::from)
    });
/// Of all Perfetto traces that are not another reader's; those of other programs are refused by what they hold.
pub(crate) const PERFETTO: Format = format(
    "rocprofv3 Perfetto trace",
    |head| Certainty::certain_if(recorder(head).is_some_and(|by| by != Some(Recorder::PyTorch))),
    |path, source, _| pftrace::read(path, source).map(Recording::from),
);
/// Of all databases; those of other programs are refused by their tables. SQLite opens the file itself.
pub(crate) const ROCPD: Format = format(
    "rocpd database",
    |head| Certainty::certain_if(is_database(head)),
    |path, _, options| rocpd::read(path, options).map(Recording::from),
);
/// Read together with the files beside it; one that is in memory or comes as a stream has none.
pub(crate) const CSV: Format = format(
    "rocprofv3 CSV",
    |head| Certainty::certain_if(csv::is_trace(head)),
    |path, source, _| csv::read_file(path, source).map(Recording::from),
);

impl From<Profile> for Recording {
    fn from(profile: Profile) -> Self {
        Recording::Rocprof(Box::new(profile))
    }
}

/// Reads a profile: a file of any of the profiler's formats, plain or compressed, recognised by content, or a
/// directory of its CSV files.
///
/// # Errors
/// When the path cannot be read, is of no known format, is damaged beyond use, or is a recording of another kind.
/// Recoverable faults are in [`Profile::warnings`].
pub fn read_profile(path: &Path, options: &ReadOptions<'_>) -> Result<Profile, IngestError> {
    match open_one_of(&[RecordingKind::Rocprof], path, options) {
        Ok(Recording::Rocprof(profile)) => Ok(*profile),
        Ok(other) => Err(other_kind(path, other.kind(), &[RecordingKind::Rocprof])),
        // JSON that does not have it is the likeliest thing to be taken for a profile.
        Err(IngestError::UnknownFormat { path, found, .. }) => {
            let missing = format!("missing '{}' key", json::ROOT);
            Err(IngestError::NotRocprof { path, missing, found })
        }
        Err(error) => Err(error),
    }
}
