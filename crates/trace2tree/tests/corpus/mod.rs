//! The recorded traces that tests compare with. They are not part of this repository; `TRACE_CORPUS` names
//! their folder.
#![allow(clippy::unwrap_used, clippy::print_stderr)] // test code: fail loudly, tell when skipping

use std::path::{Path, PathBuf};

use trace_ingest::{ReadOptions, Trace, read_path};

/// The folder of recorded traces; `None` when it is absent and that is allowed.
fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("TRACE_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    let absent = format!("no recorded traces at {} (TRACE_CORPUS names their folder)", folder.display());
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{absent}");
    eprintln!("SKIPPED: {absent}");
    None
}

/// Reads a recorded trace; `None` when there are none.
pub(crate) fn read(file: &str) -> Option<Trace> {
    Some(read_path(&folder()?.join(file), &ReadOptions::default()).unwrap())
}
