//! AMD's `rocprofv3` (`rocprofiler-sdk-tool`): JSON, CSV, rocpd databases and Perfetto traces, read into one
//! [`Profile`].

mod builder;
mod csv;
mod fault;
mod json;
mod kernel_names;
mod machines;
mod pftrace;
mod profile;
mod rocpd;
mod to_trace;

use std::path::Path;

pub use fault::ProfileWarning;
pub use profile::{
    Agent, AgentKind, Allocation, Call, CopyDirection, Counter, CounterValue, Dispatch, Domain, Kernel,
    KernelNames, Launch, MemoryCopy, Process, Profile, Sample, ScratchEvent, SourceFormat,
};

pub(crate) use json::RocprofJson;
pub(crate) use to_trace::Perfetto;

use crate::error::IngestError;
use crate::format::ReadOptions;
use crate::source;

/// Reads a profile: a file of any of the profiler's formats, plain or compressed, recognised by content, or a
/// directory of its CSV files.
///
/// # Errors
/// When the path cannot be read, is of no known format, is damaged beyond use, or is a trace of another profiler.
/// What can be got over is in [`Profile::warnings`].
pub fn read_profile(path: &Path, options: &ReadOptions<'_>) -> Result<Profile, IngestError> {
    if path.is_dir() {
        return csv::read_directory(path);
    }
    let (head, source) = source::open(path, options)?;
    if rocpd::is_database(&head) {
        return rocpd::read(path);
    }
    if csv::is_trace(&head) {
        return csv::read_file(path);
    }
    let expansion = source.expansion.clone();
    let outcome = if pftrace::is_perfetto(&head) {
        pftrace::read(path, source)
    } else {
        json::read(path, &head, source, options)
    };
    expansion.end(path, outcome)
}
