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
    #[error("{path}: changed while being read", path = .path.display())]
    #[diagnostic(code("split/changed"), help("split it once it is completely written"))]
    Changed {
        /// The trace.
        path: PathBuf,
    },
    /// A file or directory cannot be written.
    #[error("cannot write {path}: {source}", path = .path.display())]
    #[diagnostic(
        code("split/write"),
        help("check that its folder is writable and has room, or choose another path")
    )]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
