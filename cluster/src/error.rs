//! What ends a query.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use datafusion::error::DataFusionError;

use crate::engine::Engine;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A pack has rows of recordings that were reduced again since.
    #[error("{path}: has tables of recordings that were reduced again; run `tracelens ranks pack {folder}`", path = .path.display(), folder = .folder.display())]
    Outdated {
        /// The pack.
        path: PathBuf,
        /// The folder of tables.
        folder: PathBuf,
    },
    /// The folder of tables is not there.
    #[error("{path}: is no folder; expected the tables of a job, which `tracelens ranks collect TRACE… --out {path}` writes", path = .path.display())]
    NoFolder {
        /// The path.
        path: PathBuf,
    },
    /// The tables of a rank are of another version, or cannot be read: an answer would lack the rank.
    #[error("{path}: {why}; map its recording again, or remove the folder", path = .path.display())]
    Stale {
        /// The folder of the rank.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A file of a rank's tables is gone. Engines would answer without it and say nothing.
    #[error("{path}: is missing; map the recording of its folder again, or remove the folder", path = .path.display())]
    MissingFile {
        /// The file.
        path: PathBuf,
    },
    /// The cluster does not see the tables that are here.
    #[error(
        "{engine} finds the tables of {found} of {expected} ranks in {path}; its scheduler and executors must see them at this \
         path, on a file system that all machines share",
        path = .path.display()
    )]
    NotShared {
        /// The engine.
        engine: Engine,
        /// The folder of the job.
        path: PathBuf,
        /// Ranks that it found.
        found: i64,
        /// Ranks that are here.
        expected: usize,
    },
    /// The folder cannot be listed, or has no tables.
    #[error(transparent)]
    Tables(#[from] multi_rank::Error),
    /// The path of a table is none that an engine can be told.
    #[error("{path}: is no path for a query engine; expected an absolute path in UTF-8: move the tables", path = .path.display())]
    Path {
        /// The file.
        path: PathBuf,
    },
    /// A query of two jobs without the other job.
    #[error("{query}: compares with the tables of another job, and none is given: name its folder")]
    NoBaseline {
        /// The query.
        query: String,
    },
    /// Nobody answers at the address of the scheduler.
    #[error("no Ballista scheduler answers at {scheduler}: {source}; start one, or correct the address")]
    NoScheduler {
        /// Its address.
        scheduler: String,
        /// What the system said.
        source: io::Error,
    },
    /// The engine refuses the query, or could not run it.
    #[error("{query}: {engine} says: {}", .source.strip_backtrace())]
    Engine {
        /// The query.
        query: String,
        /// The engine.
        engine: Engine,
        /// What it said.
        source: Box<DataFusionError>,
    },
    /// The engine gave no answer in time.
    #[error(
        "{query}: {engine} gave no answer in {seconds} s; see whether its executors are alive, or allow more time",
        seconds = .allowed.as_secs()
    )]
    TimedOut {
        /// The query.
        query: String,
        /// The engine.
        engine: Engine,
        /// How long it was allowed.
        allowed: Duration,
    },
    /// The system gives no threads.
    #[error("no threads for a query: {0}; free some, or allow more")]
    Threads(io::Error),
}
