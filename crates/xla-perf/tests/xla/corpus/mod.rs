//! Compares sheets of recorded profiles with those of TraceLens and of the XLA profiler's own tools, and with figures
//! known by heart.

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
    let mut tables: Vec<(String, Reference)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "csv"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), Reference::read(&path)))
        .collect();
    tables.sort_by(|a, b| a.0.cmp(&b.0));
    tables
}
