//! The recorded traces: their sheets beside those of a reference implementation, and what holds of them without one.
//!
//! The corpus is not part of the repository; `testdata` says where it lies and what its absence means.

mod budget;
#[path = "../../conformance/mod.rs"]
mod conformance;
mod conservation;
mod devices;
mod doubles;
mod memory;
mod reference;
mod roofline;
mod timeline;
mod waits;

use std::path::Path;

use trace_ingest::{ReadOptions, Trace, read_path};

use conformance::Reference;

pub(crate) fn cases(folder: &Path) -> Vec<String> {
    let folders = testdata::entries(folder).into_iter().filter(|path| path.is_dir());
    folders.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

/// The tables in a folder, by name.
pub(crate) fn tables(folder: &Path) -> Vec<(String, Reference)> {
    testdata::csv_files(folder).map(|(name, path)| (name, Reference::read(&path))).collect()
}

pub(crate) fn read(file: &Path) -> Trace {
    read_path(file, &ReadOptions::default()).unwrap()
}
