//! The recorded traces.

use std::path::{Path, PathBuf};

use trace_ingest::{ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisOptions};

/// The analysis of a trace with kernel sheets.
pub(crate) fn analysis(file: &Path) -> Analysis {
    let trace = read_path(file, &ReadOptions::default()).unwrap();
    Analysis::new(trace, AnalysisOptions { kernel_summary: true, ..AnalysisOptions::default() })
}

/// Gzipped JSON traces in the folders of a folder.
pub(crate) fn traces(folder: &Path) -> Vec<PathBuf> {
    let folders = testdata::entries(folder).into_iter().filter(|path| path.is_dir());
    let is_trace = |path: &PathBuf| path.to_string_lossy().ends_with(".json.gz");
    folders.flat_map(|folder| testdata::entries(&folder)).filter(is_trace).collect()
}
