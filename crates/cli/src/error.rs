//! What ends a run, as one line and an exit code.

use std::path::PathBuf;
use std::process::ExitCode;

use report_writers::roofline_chart::DrawError;
use report_writers::{TableError, WriteError};
use trace_ingest::IngestError;

/// Why the program gives up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Ingest(#[from] IngestError),
    #[error("{path}: holds no GPU events, only {events} events of the host; {advice}; `tracelens tree --all` shows what there is", path = .path.display())]
    NoGpuEvents { path: PathBuf, events: usize, advice: &'static str },
    #[error("{path}: has no event {uid}; indices count the entries of the event list from 0 to {last}", path = .path.display())]
    NoSuchEvent { path: PathBuf, uid: u32, last: u32 },
    #[error("{path}: has no event {what}", path = .path.display())]
    NothingFound { path: PathBuf, what: String },
    #[error("{path}: is no architecture file: {detail}", path = .path.display())]
    ArchitectureFile { path: PathBuf, detail: String },
    #[error(
        "unknown architecture {name:?}; the bundled ones are {known}; --gpu_arch_json_path takes any other from a file"
    )]
    UnknownArchitecture { name: String, known: String },
    #[error("the sizes do not fit: {detail}")]
    Sizes { detail: String },
    #[error("{path}: cannot be read: {detail}", path = .path.display())]
    Input { path: PathBuf, detail: String },
    #[error("{path}: {count} malformed lines (first: line {first}); the others are answered", path = .path.display())]
    MalformedLines { path: PathBuf, count: u64, first: u64 },
    #[error("unknown sheet {name:?}; the sheets are {known}")]
    UnknownSheet { name: String, known: String },
    #[error("unknown subcommand {name:?}; the subcommands are {known}")]
    UnknownSubcommand { name: String, known: String },
    #[error("unknown argument {name:?}; --field takes {known}")]
    UnknownField { name: String, known: String },
    #[error("{path}: is the trace itself; write the report to another place", path = .path.display())]
    OverwritesTrace { path: PathBuf },
    #[error("cannot write {path}: {detail}", path = .path.display())]
    Destination { path: PathBuf, detail: &'static str },
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("cannot write {path}: {source}", path = .path.display())]
    Picture { path: PathBuf, source: std::io::Error },
    #[error("{0}")]
    Drawing(#[from] DrawError),
    #[error("the report cannot be put together: {0}; please report this as a bug")]
    Table(#[from] TableError),
    #[error("the report cannot be put together: {0}; please report this as a bug")]
    Frame(#[from] polars::error::PolarsError),
    #[error("standard output cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

impl Failure {
    /// 2 for what the user gave, 1 for everything else.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Ingest(_)
            | Failure::NoGpuEvents { .. }
            | Failure::NoSuchEvent { .. }
            | Failure::NothingFound { .. }
            | Failure::ArchitectureFile { .. }
            | Failure::UnknownArchitecture { .. }
            | Failure::Sizes { .. }
            | Failure::Input { .. }
            | Failure::MalformedLines { .. }
            | Failure::UnknownSheet { .. }
            | Failure::UnknownSubcommand { .. }
            | Failure::OverwritesTrace { .. }
            | Failure::UnknownField { .. } => ExitCode::from(2),
            Failure::Destination { .. }
            | Failure::Write(_)
            | Failure::Picture { .. }
            | Failure::Drawing(_)
            | Failure::Table(_)
            | Failure::Frame(_)
            | Failure::Output(_) => ExitCode::from(1),
        }
    }
}
