//! PyTorch's Kineto profiler: Chrome trace-event JSON with Kineto's categories and arguments, and Perfetto traces with
//! the same.

mod append;
mod arguments;
mod assemble;
mod boundary;
mod entries;
mod facts;
mod key_predictor;
mod members;
mod other_recorders;
mod pftrace;
mod pipeline;
mod rare_arguments;
mod run;
mod samples;
mod translation;
mod valid_json;

use std::path::Path;

use memchr::memmem;

use assemble::Refusal;
pub use entries::{EntryVisitor, RawEntry, check_entries, visit_entries};
pub use members::{Member, members};
pub(crate) use pftrace::FORMAT as PFTRACE;

/// For other formats whose files are lists of events in the same JSON.
#[cfg(feature = "rocprof")]
pub(crate) mod event_list {
    pub(crate) use super::assemble::{EVENTS_NOT_A_LIST, Refusal, Sink, TrailingText};
    pub(crate) use super::pipeline::{BLOCK, read_into};
    pub(crate) use super::run::{RunEnd, walk};
}

use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::format::{Certainty, Format};
use crate::json::scanner::BYTE_ORDER_MARK;
use crate::recording::Recording;
use crate::source::{ReadOptions, TextSource};

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
