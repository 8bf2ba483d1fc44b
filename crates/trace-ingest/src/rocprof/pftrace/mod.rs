//! Perfetto traces (`*_results.pftrace`), and Chrome's JSON that was converted from them.
//!
//! A trace is a list of packets. Each slice of the profiler carries its exact times in its annotations, so records
//! are made in one pass, in file order; only slices of older releases, without these annotations, are paired with
//! their ends. Tracks of counters repeat what the slices tell (bytes that are copied at a time) and are not read.

mod arguments;
pub(super) mod chrome;
mod collector;
mod decoder;
mod event;
mod slice;

use std::path::Path;

pub(crate) use chrome::read_chrome;

use super::profile::Profile;
use crate::error::IngestError;
use crate::source::TextSource;

/// Reads a trace.
///
/// # Errors
/// When it is damaged from its first packet on, holds a packet of more than 256 MiB, or is another program's.
pub(crate) fn read(path: &Path, source: TextSource<'_>) -> Result<Profile, IngestError> {
    let mut profile = decoder::read(path, source.text, &source.expansion)?;
    profile.warnings.splice(0..0, source.warnings);
    Ok(profile)
}
