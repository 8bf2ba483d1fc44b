//! The recorded traces that tests compare with.
#![allow(clippy::unwrap_used)] // test code: fail loudly

use trace_ingest::{ReadOptions, Trace, read_path};

/// Reads a recorded trace; `None` where it is absent.
pub(crate) fn read(file: &str) -> Option<Trace> {
    Some(read_path(&testdata::corpus(file)?, &ReadOptions::default()).unwrap())
}
