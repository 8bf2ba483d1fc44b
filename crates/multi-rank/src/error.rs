//! What ends the work on a job.

use std::io;
use std::path::PathBuf;

use parquet::errors::ParquetError;

/// Why tables could not be written or read, or say nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system refused.
    #[error("{path}: {source}; check the path, its permissions and the space left", path = .path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A table is damaged, or cannot be written.
    #[error("{path}: {source}; remove the folder it is in and map the recording again", path = .path.display())]
    Table {
        /// Its file.
        path: PathBuf,
        /// What is wrong.
        source: ParquetError,
    },
    /// The manifest of a rank's folder cannot be read.
    #[error("{path}: {source}; remove the folder it is in and map the recording again", path = .path.display())]
    Manifest {
        /// Its file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// Two recordings of one rank, of one time.
    #[error(
        "{first} and {second}: both are of rank {rank}, at the same time; name one of them, or map jobs into folders of \
         their own",
        first = .first.display(), second = .second.display()
    )]
    RankTwice {
        /// The rank.
        rank: i64,
        /// The recording that was mapped before.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// No rank is left to say something of.
    #[error("{path}: has no tables of ranks; map traces into it with `tracelens map TRACE… --out {path}`", path = .path.display())]
    NoRanks {
        /// The folder.
        path: PathBuf,
    },
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { path, source }
    }

    pub(crate) fn table(path: impl Into<PathBuf>) -> impl FnOnce(ParquetError) -> Error {
        let path = path.into();
        move |source| Error::Table { path, source }
    }
}
