//! What ends the work on a job.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use parquet::errors::ParquetError;
use trace_ingest::IngestError;

use crate::members::Members;

/// Why tables could not be written or read, or say nothing.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum Error {
    /// The file system refused.
    #[error("{path}: {source}", path = .path.display())]
    #[diagnostic(code("io"), help("check the path, its permissions and free space"))]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file system refused to write.
    #[error("cannot write {path}: {source}", path = .path.display())]
    #[diagnostic(code("write"), help("check the path, its permissions and free space"))]
    Write {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A table is damaged, or cannot be written.
    #[error("{path}: {source}", path = .path.display())]
    #[diagnostic(code("table"), help("delete the folder of the tables and reduce the recording again"))]
    Table {
        /// Its file.
        path: PathBuf,
        /// What is wrong.
        source: ParquetError,
    },
    /// The manifest of a rank's folder cannot be read.
    #[error("{path}: {source}", path = .path.display())]
    #[diagnostic(code("manifest"), help("delete the folder of the tables and reduce the recording again"))]
    Manifest {
        /// Its file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A manifest names folders elsewhere.
    #[error("{path}: names {name:?} as the folder of a rank, expected a plain name such as rank-00000", path = .path.display())]
    #[diagnostic(
        code("manifest-name"),
        help("delete the folder of the tables and reduce the recordings again")
    )]
    NotAName {
        /// The manifest.
        path: PathBuf,
        /// What it names.
        name: String,
    },
    /// What would be removed may be of others.
    #[error("{path}: not removed: it is a link or has files that tracelens did not write", path = .path.display())]
    #[diagnostic(code("foreign"), help("move it out of the folder and run the command again"))]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// Tables name a recording elsewhere.
    #[error("{path}: the tables name this recording, which is neither beside their folder nor in the current one", path = .path.display())]
    #[diagnostic(
        code("elsewhere"),
        help(
            "run the command in the folder of the recordings, or pass the recordings instead of the tables"
        )
    )]
    Elsewhere {
        /// The recording.
        path: PathBuf,
    },
    /// Two recordings of one rank, of one time.
    #[error("{first} and {second}: both are recordings of rank {rank} from the same time", first = .first.display(), second = .second.display())]
    #[diagnostic(code("rank-twice"), help("pass one of them, or reduce each job into its own folder"))]
    RankTwice {
        /// The rank.
        rank: i64,
        /// The recording that was mapped before.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// Traces of ranks and profiles of hosts as one job.
    #[error("{profile}: covers a whole host, but {trace} a single rank", profile = .profile.display(), trace = .trace.display())]
    #[diagnostic(code("two-kinds"), help("report on each kind separately, from tables in separate folders"))]
    TwoKinds {
        /// A profile.
        profile: PathBuf,
        /// A trace.
        trace: PathBuf,
    },
    /// A recording cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Ingest(#[from] IngestError),
    /// The name of a trace does not tell how it is to be written.
    #[error("{path}: unknown file extension", path = .path.display())]
    #[diagnostic(code("other-ending"), help("use .json, .json.gz or .json.zst"))]
    OtherEnding {
        /// The name.
        path: PathBuf,
    },
    /// What is to be written is one of the recordings.
    #[error("{path}: is one of the recordings and would be overwritten", path = .path.display())]
    #[diagnostic(code("overwrites-recording"), help("choose another path for the trace"))]
    OverwritesRecording {
        /// The recording.
        path: PathBuf,
    },
    /// A recording is not the one any more that tables were made from.
    #[error("{path}: changed after its tables were made", path = .path.display())]
    #[diagnostic(
        code("changed"),
        help("reduce it again with `tracelens ranks collect`, or pass the recordings instead of the tables")
    )]
    Changed {
        /// The recording.
        path: PathBuf,
    },
    /// Ranks were asked for that have no recording.
    #[error("no recording has rank {missing}")]
    #[diagnostic(code("no-such-rank"), help("choose from {there}"))]
    NoSuchRank {
        /// The ranks.
        missing: Members,
        /// Ranks that have one.
        there: Members,
    },
    /// Steps were asked for that no recording has.
    #[error("no recording has steps {first} to {last}", first = .wanted.start, last = .wanted.end.saturating_sub(1))]
    #[diagnostic(code("no-such-step"), help("{found}", found = .there.map_or_else(
            || "no steps were found: omit the step selection".to_owned(),
            |(first, last)| format!("the recordings have steps {first} to {last}"),
        )))]
    NoSuchStep {
        /// The steps, without the end.
        wanted: Range<i64>,
        /// The first and the last step that there is.
        there: Option<(i64, i64)>,
    },
    /// No rank is left to say something of.
    #[error("{path}: has no rank tables{unused}", path = .path.display(), unused = .unused.as_ref().map_or(String::new(), |why| format!(" that are usable ({why})")))]
    #[diagnostic(code("no-ranks"), help("`tracelens ranks --trace_dir {path}` reports on the recordings in it; `tracelens ranks collect TRACE… --out TABLES` makes rank tables", path = .path.display()))]
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

    pub(crate) fn write(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Write { path, source }
    }

    pub(crate) fn table(path: impl Into<PathBuf>) -> impl FnOnce(ParquetError) -> Error {
        let path = path.into();
        move |source| Error::Table { path, source }
    }
}
