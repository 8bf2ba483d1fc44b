//! The recorded traces: their sheets beside those of a reference implementation, and what holds of them without one.
//!
//! The corpus is not part of the repository; `testdata` says where it lies and what its absence means.

mod budget;
#[path = "../../conformance/mod.rs"]
mod conformance;
mod conservation;
mod devices;
mod memory;
mod reference;
mod roofline;
mod waits;

use std::path::Path;

use trace_ingest::{ReadOptions, Trace, read_path};

use conformance::Reference;

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
