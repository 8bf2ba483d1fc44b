//! Compares sheets of recorded profiles with those of TraceLens and of the XLA profiler's own tools, and with figures
//! known by heart.
//!
//! The profiles are not part of the repository: `TRACE_CORPUS` names the folder of recorded traces, or it lies beside
//! the workspace. Without it the comparison is skipped, except under `CI=true`, where that is a failure.
#![allow(clippy::unwrap_used, clippy::print_stderr)] // helpers of tests

mod common;
mod conformance;
mod gpu;
mod tpu;

use std::path::{Path, PathBuf};

use conformance::Reference;

/// The folder of a recorded profile; `None` when it is absent and that is allowed.
fn folder(case: &str) -> Option<PathBuf> {
    let beside_workspace = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let corpus = std::env::var_os("TRACE_CORPUS").map_or_else(beside_workspace, PathBuf::from);
    let folder = corpus.join("jax").join(case);
    if folder.is_dir() {
        return Some(folder);
    }
    let absent = format!("no recorded profile at {} (TRACE_CORPUS names the corpus)", folder.display());
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{absent}");
    eprintln!("SKIPPED: {absent}");
    None
}

/// The tables in a folder, by name.
fn tables(folder: &Path) -> Vec<(String, Reference)> {
    let mut tables: Vec<(String, Reference)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "csv"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), Reference::read(&path)))
        .collect();
    tables.sort_by(|a, b| a.0.cmp(&b.0));
    tables
}
