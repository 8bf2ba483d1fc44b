//! The recorded traces, and what holds of them without a reference.

mod conservation;

mod rocprof;
mod roofline;

use std::path::{Path, PathBuf};

use trace_ingest::{ReadOptions, Trace, read_path};

use crate::conformance::Reference;

/// The folder of recorded traces; `None` when it is absent and that is allowed.
pub(crate) fn folder() -> Option<PathBuf> {
    let beside_workspace = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = std::env::var_os("TRACE_CORPUS").map_or_else(beside_workspace, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    let absent = format!("no recorded traces at {} (TRACE_CORPUS names their folder)", folder.display());
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{absent}");
    eprintln!("SKIPPED: {absent}");
    None
}

/// Names of the folders in a folder.
pub(crate) fn cases(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The tables in a folder, by name.
pub(crate) fn tables(folder: &Path) -> Vec<(String, Reference)> {
    let mut tables: Vec<(String, Reference)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "csv"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), Reference::read(&path)))
        .collect();
    tables.sort_by(|a, b| a.0.cmp(&b.0));
    tables
}

pub(crate) fn read(file: &Path) -> Trace {
    read_path(file, &ReadOptions::default()).unwrap()
}
