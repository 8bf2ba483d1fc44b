//! Why files of a split trace cannot be written.

use std::io;
use std::path::PathBuf;

use trace_ingest::IngestError;

/// Why a trace could not be split.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum SplitError {
    /// The trace cannot be read again.
    #[error(transparent)]
    #[diagnostic(code("split"))]
    Ingest(
        #[from]
        #[diagnostic_source]
        IngestError,
    ),
    /// The trace is not what it was when the steps were found.
    #[error("{path}: changed while it was read", path = .path.display())]
    #[diagnostic(code("split/changed"), help("split it when nothing writes to it any more"))]
    Changed {
        /// The trace.
        path: PathBuf,
    },
    /// A file or directory cannot be written.
    #[error("cannot write {path}: {source}", path = .path.display())]
    #[diagnostic(
        code("split/write"),
        help("check that you may write to its folder and that there is room, or choose another place")
    )]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
