//! What ends the work on a job.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use parquet::errors::ParquetError;
use trace_ingest::IngestError;

use crate::members::Members;

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
    /// Traces of ranks and profiles of hosts as one job.
    #[error(
        "{profile}: is the recording of a host with several GPUs, and {trace} is none of these; a job has recordings of one kind: \
         make a report of each kind, from tables in folders of their own",
        profile = .profile.display(), trace = .trace.display()
    )]
    TwoKinds {
        /// A profile.
        profile: PathBuf,
        /// A trace.
        trace: PathBuf,
    },
    /// A recording cannot be read.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// The name of a trace does not tell how it is to be written.
    #[error(
        "{path}: its name does not tell how to write the trace; end it in .json, .json.gz or .json.zst",
        path = .path.display()
    )]
    OtherEnding {
        /// The name.
        path: PathBuf,
    },
    /// What is to be written is one of the recordings.
    #[error("{path}: is one of the recordings; write the trace to another place", path = .path.display())]
    OverwritesRecording {
        /// The recording.
        path: PathBuf,
    },
    /// A recording is not the one any more that tables were made from.
    #[error(
        "{path}: has changed since its tables were made; map it again with `tracelens map`, or name the recordings in \
         place of the tables",
        path = .path.display()
    )]
    Changed {
        /// The recording.
        path: PathBuf,
    },
    /// Ranks were asked for that have no recording.
    #[error("no recording is of rank {missing}; there are recordings of rank {there}")]
    NoSuchRank {
        /// The ranks.
        missing: Members,
        /// Ranks that have one.
        there: Members,
    },
    /// Steps were asked for that no recording has.
    #[error(
        "no recording has a step of {first} to {last}; {found}",
        first = .wanted.start, last = .wanted.end.saturating_sub(1),
        found = .there.map_or_else(
            || "no steps were found in them, so leave the choice of steps out".to_owned(),
            |(first, last)| format!("their steps are {first} to {last}"),
        )
    )]
    NoSuchStep {
        /// The steps, without the end.
        wanted: Range<i64>,
        /// The first and the last step that there is.
        there: Option<(i64, i64)>,
    },
    /// No rank is left to say something of.
    #[error(
        "{path}: has no tables of ranks{unused}; map traces into it with `tracelens map TRACE… --out {path}`",
        path = .path.display(),
        unused = .unused.as_ref().map_or(String::new(), |why| format!(" that can be used ({why})"))
    )]
    NoRanks {
        /// The folder.
        path: PathBuf,
        /// Why the first of the tables there is not used, if there are some.
        unused: Option<String>,
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
