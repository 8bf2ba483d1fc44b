//! PyTorch's Kineto profiler: Chrome trace-event JSON with Kineto's categories and arguments, and Perfetto traces with
//! the same.

mod append;
mod arguments;
mod assemble;
mod boundary;
mod entries;
mod facts;
mod members;
mod other_recorders;
mod pftrace;
mod pipeline;
mod rare_arguments;
mod run;
mod samples;
mod translation;
mod valid_json;

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use memchr::memmem;

use assemble::Refusal;
use entries::EntrySink;
pub use entries::{EntryVisitor, RawEntry};
pub use members::{Member, members};
pub(crate) use pftrace::FORMAT as PFTRACE;

/// For other formats whose files are lists of events in the same JSON.
#[cfg(feature = "rocprof")]
pub(crate) mod event_list {
    pub(crate) use super::assemble::{EVENTS_ARE_NO_LIST, Refusal, Sink};
    pub(crate) use super::pipeline::{BLOCK, read_into};
    pub(crate) use super::run::{RunEnd, walk};
}

use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::format::{Certainty, Format};
use crate::json::scanner::BYTE_ORDER_MARK;
use crate::open::{detect, other_kind, recognise};
use crate::recording::Recording;
use crate::source::{self, ReadOptions, TextSource};

/// Kineto JSON.
pub(crate) const FORMAT: Format =
    Format { name: "PyTorch/Kineto JSON", kind: RecordingKind::Trace, probe, read };

/// Never certain: other programs write lists of trace events too.
fn probe(head: &[u8]) -> Certainty {
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start();
    let has = |key: &str| memmem::find(text, key.as_bytes()).is_some();
    match text.first() {
        Some(b'{' | b'[') if has("\"traceEvents\"") => Certainty::Likely,
        Some(b'{') if has("\"schemaVersion\"") || has("\"deviceProperties\"") => Certainty::Likely,
        Some(b'[') if has("\"ph\"") => Certainty::Likely,
        // The event list may come after more top-level text than a probe sees.
        Some(b'{' | b'[') => Certainty::Possible,
        _ => Certainty::No,
    }
}

fn read(path: &Path, source: TextSource<'_>, options: &ReadOptions<'_>) -> Result<Recording, IngestError> {
    let skip_frames = options.skip_python_frames;
    let outcome = pipeline::read_text(source.text, options.thread_count(), pipeline::BLOCK, skip_frames);
    let mut trace = outcome.map_err(|refusal| refused(path, refusal))?;
    trace.warnings.splice(0..0, source.warnings);
    trace.facts.recorder.kind = Some(RecordingKind::Trace);
    Ok(Recording::Trace(Box::new(trace)))
}

fn refused(path: &Path, refusal: Refusal) -> IngestError {
    let path = path.to_path_buf();
    match refusal {
        Refusal::NotATrace { detail, offset } => IngestError::NoEvents { path, detail, offset },
        Refusal::TooManyEvents => IngestError::TooManyEvents { path, limit: u32::MAX },
    }
}

/// Goes through a Kineto file and hands its known top-level facts and the entries of its event list to
/// `visitor` as they stand there, in constant memory. Returns the number of entries, malformed ones
/// included; after the visitor broke off, the number so far.
///
/// For copying parts of a file: read it with [`crate::read_path`], choose events, and take their text here.
/// What [`crate::read_path`] warns of (a cut-off end, damage) is skipped silently here.
///
/// # Errors
/// Those of [`crate::read_path`], [`IngestError::OtherKind`] for a recording of another kind, and
/// [`IngestError::NoEntries`] for one that is no JSON.
pub fn visit_entries(
    path: &Path,
    options: &ReadOptions<'_>,
    visitor: &mut dyn EntryVisitor,
) -> Result<u32, IngestError> {
    let source = open_entries(path, options)?;
    let sink = EntrySink { visitor, entries: 0, outcome: ControlFlow::Continue(()) };
    let outcome = pipeline::read_into(source.text, sink, pipeline::BLOCK);
    let entries = outcome.map(|(sink, ..)| sink.entries).map_err(|refusal| refused(path, refusal));
    source.expansion.end(path, entries)
}

/// Whether [`visit_entries`] can go through a file, by its beginning alone. A pipe is not looked at: what it gives here, it
/// gives to no one else.
///
/// # Errors
/// Those of [`visit_entries`] that the beginning shows.
pub fn check_entries(path: &Path, options: &ReadOptions<'_>) -> Result<(), IngestError> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Ok(());
    }
    match recognise(path, options)? {
        RecordingKind::Trace => open_entries(path, &ReadOptions { progress: None, ..*options }).map(drop),
        other => Err(other_kind(path, other, &[RecordingKind::Trace])),
    }
}

fn open_entries<'a>(path: &Path, options: &ReadOptions<'a>) -> Result<TextSource<'a>, IngestError> {
    let source = source::open(path, options)?;
    match detect(&[RecordingKind::Trace], path, &source.head, options)?.name == FORMAT.name {
        true => Ok(source),
        false => Err(IngestError::NoEntries { path: path.to_path_buf() }),
    }
}
