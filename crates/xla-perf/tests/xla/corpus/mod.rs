//! Compares sheets of recorded profiles with those of TraceLens and of the XLA profiler's own tools, and with figures
//! known by heart.

#[path = "../../../../tree-perf/tests/conformance/mod.rs"]
mod conformance;
mod gpu;
mod iterations;
mod tpu;

use std::path::{Path, PathBuf};

use conformance::Reference;

/// The folder of a recorded profile.
fn folder(case: &str) -> Option<PathBuf> {
    testdata::corpus(&format!("jax/{case}"))
}

/// The tables in a folder, by name.
fn tables(folder: &Path) -> Vec<(String, Reference)> {
    testdata::csv_files(folder).map(|(name, path)| (name, Reference::read(&path))).collect()
}
