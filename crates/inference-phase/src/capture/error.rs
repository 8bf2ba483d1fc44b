//! What keeps a folder of captures from being used, and what is got over.

use std::path::PathBuf;

use trace_ingest::IngestError;

/// Why a folder of captures cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The folder, or the list of captures in it, cannot be read or written.
    #[error("{path}: {source}; check the path and its permissions", path = .path.display())]
    Io {
        /// Folder or file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The path is no folder.
    #[error("{path}: is not a folder; name the folder that holds the traces of the graph captures", path = .path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// The list of captures is not what it should be.
    #[error(
        "{path}: {detail}; expected a list of {{\"file\", \"batch_size\", \"mode\"}}, remove the file to have it derived from the traces",
        path = .path.display()
    )]
    Details {
        /// The list.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
}

/// What was got over in a folder of captures.
#[derive(Debug, thiserror::Error)]
pub enum CaptureWarning {
    /// The folder has no trace in it.
    #[error("{folder}: holds no trace (*.json, *.json.gz, *.json.zst, *.zip)", folder = .folder.display())]
    NoTraces {
        /// The folder.
        folder: PathBuf,
    },
    /// An entry of the list of captures cannot be used.
    #[error("{path}: entry {index} is left out: {detail}", path = .path.display())]
    Entry {
        /// The list.
        path: PathBuf,
        /// Which entry, counted from 0.
        index: usize,
        /// What is wrong.
        detail: String,
    },
    /// A trace cannot be read.
    #[error("{0}")]
    Unreadable(#[from] IngestError),
    /// A trace has no finished capture in it.
    #[error("{path}: no graph was captured while it was recorded", path = .path.display())]
    NoCapture {
        /// The trace.
        path: PathBuf,
    },
}
