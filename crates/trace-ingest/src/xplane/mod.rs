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

use std::path::Path;

pub use categories::{DEVICE_NOTE, OTHER_PLANE, XLA_ASYNC_OP, XLA_MODULE, XLA_OP, XLA_STEP};
pub(crate) use decode::FORMAT;
pub use decode::profile_from_bytes;
use decode::read_source;
pub use profile::{AggregatedEvent, EventMetadata, KindId, Line, Plane, PlaneKind, Profile, XlaCall};
pub use programs::{EncodedProgram, Programs};
pub use stat::StatValue;

use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::open::detect;
use crate::source::{self, ReadOptions};

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
