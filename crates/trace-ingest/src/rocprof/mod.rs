//! AMD's `rocprofv3` (`rocprofiler-sdk-tool`): JSON, CSV, rocpd databases and Perfetto traces, read into one
//! [`Profile`].

mod builder;
mod csv;
mod formats;
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
pub(crate) use formats::{CHROME_JSON, CSV, JSON, PERFETTO, ROCPD};
#[cfg(feature = "nsys")]
pub(crate) use rocpd::is_profile as is_rocpd;

use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::open::{open_one_of, other_kind};
use crate::recording::Recording;
use crate::source::ReadOptions;

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
