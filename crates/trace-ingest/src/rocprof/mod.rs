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

use crate::error::IngestError;
use crate::format::{Certainty, Format, ReadOptions};
use crate::recording::{Recording, RecordingKind, open_one_of};
use crate::source::TextSource;

/// One of the profiler's output formats.
pub(crate) struct OutputFormat {
    name: &'static str,
    probe: fn(&[u8]) -> Certainty,
    read: fn(&Path, TextSource<'_>, &ReadOptions<'_>) -> Result<Profile, IngestError>,
}

pub(crate) const JSON: OutputFormat = OutputFormat { name: json::NAME, probe: json::probe, read: json::read };
pub(crate) const CHROME_JSON: OutputFormat = OutputFormat {
    name: "Chrome JSON of a rocprofv3 Perfetto trace",
    probe: json::chrome::probe,
    read: |path, source, _| pftrace::read_chrome(path, source),
};
pub(crate) const PERFETTO: OutputFormat = OutputFormat {
    name: "rocprofv3 Perfetto trace",
    probe: |head| certain_if(pftrace::is_perfetto(head)),
    read: |path, source, _| pftrace::read(path, source),
};
/// Of all databases; those of other programs are refused by their tables. SQLite opens the file itself.
pub(crate) const ROCPD: OutputFormat = OutputFormat {
    name: "rocpd database",
    probe: |head| certain_if(rocpd::is_database(head)),
    read: |path, _, _| rocpd::read(path),
};
/// Read together with the files beside it.
pub(crate) const CSV: OutputFormat = OutputFormat {
    name: "rocprofv3 CSV",
    probe: |head| certain_if(csv::is_trace(head)),
    read: |path, source, _| csv::read_file(path, &source.head),
};

fn certain_if(is_own: bool) -> Certainty {
    if is_own { Certainty::Certain } else { Certainty::No }
}

impl Format for OutputFormat {
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> RecordingKind {
        RecordingKind::Rocprof
    }

    fn probe(&self, head: &[u8]) -> Certainty {
        (self.probe)(head)
    }

    fn read(
        &self,
        path: &Path,
        source: TextSource<'_>,
        options: &ReadOptions<'_>,
    ) -> Result<Recording, IngestError> {
        (self.read)(path, source, options).map(Recording::from)
    }
}

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
/// What can be got over is in [`Profile::warnings`].
pub fn read_profile(path: &Path, options: &ReadOptions<'_>) -> Result<Profile, IngestError> {
    match open_one_of(&[RecordingKind::Rocprof], path, options) {
        Ok(Recording::Rocprof(profile)) => Ok(*profile),
        Ok(other) => Err(IngestError::other_kind(path, other.kind(), &[RecordingKind::Rocprof])),
        // JSON that does not have it is the likeliest thing to be taken for a profile.
        Err(IngestError::UnknownFormat { path, found, .. }) => {
            let missing = format!("missing '{}' key", json::ROOT);
            Err(IngestError::NotRocprof { path, missing, found })
        }
        Err(error) => Err(error),
    }
}
