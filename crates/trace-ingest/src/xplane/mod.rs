//! XPlane: the profiles of JAX, TensorFlow and PyTorch/XLA, one protobuf message per file
//! (`*.xplane.pb`), with the HLO modules that ran embedded.
//!
//! [`read_profile`] gives a [`Profile`]: the same [`Trace`](crate::Trace) that other formats give, in integer
//! picoseconds, and beside it what only this format has. [`crate::read_path`] reads the same files and
//! keeps the trace alone.
//!
//! The file is held in memory as it is. Events are read where they lie, once, into columns; stats that have
//! no column are found again when they are asked for ([`Profile::stat`]), and a module is handed out as the
//! bytes that the file has ([`Programs::encoded`]).

mod appender;
mod categories;
mod decode;
mod derived;
mod details;
mod facts;
mod id_table;
mod kinds;
mod probe;
mod profile;
mod programs;
pub mod proto;
mod rows;
mod scan;
mod stat;

use std::io::Read;
use std::path::Path;

pub use categories::{DEVICE_NOTE, OTHER_PLANE, XLA_ASYNC_OP, XLA_MODULE, XLA_OP, XLA_STEP};
pub use profile::{AggregatedEvent, EventMetadata, KindId, Line, Plane, PlaneKind, Profile, XlaCall};
pub use programs::{EncodedProgram, Programs};
pub use stat::StatValue;

use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::format::Format;
use crate::open::detect;
use crate::recording::Recording;
use crate::source::{self, ReadOptions, TextSource};

/// What users call the format.
const NAME: &str = "XPlane protobuf";

/// Longest message, in bytes: protobuf allows less than 2 GiB, and a file is one message.
const LONGEST_MESSAGE: u64 = i32::MAX as u64;

pub(crate) const FORMAT: Format = Format {
    name: NAME,
    kind: RecordingKind::XPlane,
    probe: probe::probe,
    read: |path, source, _| read_source(path, source).map(|profile| Recording::XPlane(Box::new(profile))),
};

/// Reads an XPlane profile: plain, gzip, zstd or zip, recognised by content.
///
/// # Errors
/// When the file cannot be opened, is of another format, or is damaged: a message that breaks the wire
/// format says at which byte and in which field. Recoverable faults are in [`Trace::warnings`](crate::Trace::warnings).
pub fn read_profile(path: &Path, options: &ReadOptions<'_>) -> Result<Profile, IngestError> {
    let source = source::open(path, options)?;
    detect(&[RecordingKind::XPlane], path, &source.head, options)?;
    let expansion = source.expansion.clone();
    expansion.end(path, read_source(path, source))
}

fn read_source(path: &Path, source: TextSource<'_>) -> Result<Profile, IngestError> {
    let mut bytes = Vec::new();
    // One byte more shows that the message is too long.
    if let Err(error) = source.text.take(LONGEST_MESSAGE + 1).read_to_end(&mut bytes) {
        return Err(IngestError::Damaged {
            path: path.to_path_buf(),
            format: NAME,
            field: "the compressed data".to_string(),
            offset: bytes.len() as u64,
            detail: error.to_string(),
        });
    }
    let mut profile = profile_from_bytes(path, bytes)?;
    profile.trace.warnings.splice(0..0, source.warnings);
    Ok(profile)
}

fn check_length(path: &Path, length: u64) -> Result<(), IngestError> {
    if length > LONGEST_MESSAGE {
        let (what, limit) = ("its protobuf message", "2 GiB".to_string());
        return Err(IngestError::TooLong { path: path.to_path_buf(), what, limit });
    }
    Ok(())
}

/// Reads an XPlane profile that is in memory, decompressed. The file name of `path` gives
/// [`Profile::host`].
///
/// # Errors
/// When the profile is damaged, as in [`read_profile`].
pub fn profile_from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Profile, IngestError> {
    check_length(path, bytes.len() as u64)?;
    decode::decode(path, bytes)
}
