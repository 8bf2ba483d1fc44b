//! Why there is no answer.

use std::path::{Path, PathBuf};

use iterations::WindowError;
use metal_perf::MetalError;
use multi_rank::Error as JobError;
use perf_gate::BaselineError;
use reference_tools::ParityError;
use report_writers::{DrawError, ReportError};
use sheets::TableError;
use thiserror::Error as ThisError;
use trace_diff::ReadError;
use trace_ingest::{IngestError, RecordingKind};

/// Why a question has no answer.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// No file was named.
    #[error("no recording is named; name at least one")]
    NoRecording,
    /// A baseline of something else than traces.
    #[error(
        "{path}: is {kind}; only traces of PyTorch's profiler are held against a baseline ({baseline}): compare others with tracelens compare",
        path = .path.display(), baseline = .baseline.display()
    )]
    BaselineOfTrace {
        /// The recording.
        path: PathBuf,
        /// What it is.
        kind: RecordingKind,
        /// The baseline.
        baseline: PathBuf,
    },
    /// A comparison of less than two runs.
    #[error("{given} run is named; name at least two, the one that the others are compared with first")]
    OneRun {
        /// How many were named.
        given: usize,
    },
    /// A question about two runs.
    #[error("name two runs, the one that the other is held against first (given: {given})")]
    TwoRuns {
        /// How many were named.
        given: usize,
    },
    /// Something was given for each of the runs, but not as many times as there are runs.
    #[error("{given} {what} are given for {runs} runs; give one for each, in the order of the runs")]
    CountOfRuns {
        /// What was given.
        what: &'static str,
        /// How many.
        given: usize,
        /// How many runs there are.
        runs: usize,
    },
    /// A name that would not tell a run apart.
    #[error("`{name}` cannot name a run: names differ, are not empty, and have no `::`; choose another")]
    NameOfRun {
        /// The name.
        name: String,
    },
    /// Two reports without a table that both have.
    #[error(
        "{path}: has no sheet that could be compared with one of {baseline}{asked}; compare reports of the same kind",
        path = .path.display(),
        baseline = .baseline.display(),
        asked = if .sheets.is_empty() { String::new() } else { format!(", of those that were asked for ({sheets})") }
    )]
    NothingInCommon {
        /// The first run.
        baseline: PathBuf,
        /// The other.
        path: PathBuf,
        /// The sheets that were asked for; empty for all.
        sheets: String,
    },
    /// Reports cannot be compared as TraceLens does it.
    #[error(transparent)]
    Parity(#[from] ParityError),
    /// A report cannot be read again.
    #[error(transparent)]
    ReadReport(#[from] ReadError),
    /// Nothing of what was asked for can be found.
    #[error("{path}: has no {what}; {advice}", path = .path.display())]
    NotRecorded {
        /// The recording or report.
        path: PathBuf,
        /// What was asked for.
        what: String,
        /// What there is, or what to do.
        advice: &'static str,
    },
    /// A recording cannot be read.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// Several files where the report is of one.
    #[error(
        "{second}: is a second recording, and the report is of {kind}, one at a time; make a report of each",
        second = .second.display()
    )]
    OneAtATime {
        /// Kind of the recordings.
        kind: RecordingKind,
        /// The file too many.
        second: PathBuf,
    },
    /// A gate reads its recordings twice, once for their hash.
    #[error("{path}: standard input cannot be held against a baseline or kept as one; write it to a file, and name that", path = .path.display())]
    NeedsFile {
        /// The path that stands for standard input.
        path: PathBuf,
    },
    /// A file says that it is a baseline, and cannot be used.
    #[error("{path}: {error}", path = .path.display())]
    Baseline {
        /// The file.
        path: PathBuf,
        /// Why.
        error: BaselineError,
    },
    /// A file says that it is a baseline, and is too large for one.
    #[error("{path}: says that it is a baseline and has more than {most} bytes; make it again with `tracelens baseline`", path = .path.display())]
    LargeBaseline {
        /// The file.
        path: PathBuf,
        /// The most that a baseline may have.
        most: u64,
    },
    /// Tables of a job cannot be written or read.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Of the recordings of a job none can be used.
    #[error("none of {recordings} recordings can be used, for instance {first}")]
    NoRanks {
        /// How many.
        recordings: usize,
        /// What is wrong with the first.
        first: Box<Error>,
    },
    /// A profile among what is to be one trace.
    #[error(
        "{path}: is {kind}, which has no entries of a trace to copy; `tracelens ranks` reports on the job",
        path = .path.display(),
        kind = RecordingKind::XPlane
    )]
    FuseOfProfile {
        /// The profile.
        path: PathBuf,
    },
    /// Tables of a profile that there are of traces alone.
    #[error(
        "{path}: is {kind}, and the tables that {option} asks for are made of traces alone; leave it out",
        path = .path.display(),
        kind = RecordingKind::XPlane
    )]
    TablesOfProfile {
        /// A profile.
        path: PathBuf,
        /// The option that asks for them.
        option: &'static str,
    },
    /// Ranks that the paths of profiles are to tell.
    #[error(
        "{path}: is the recording of a host, whose devices get their ranks by the order of the hosts; name these in that order and \
         leave out --rank_regex and --world_size",
        path = .path.display()
    )]
    RanksOfProfile {
        /// A profile.
        path: PathBuf,
    },
    /// A profile without a GPU that did something, among those of a job.
    #[error(
        "{path}: shows no work of a GPU, only {planes}, and the ranks of a job of profiles are GPUs; `tracelens jax` \
         reports on TPUs",
        path = .path.display()
    )]
    NoGpuAtWork {
        /// The profile.
        path: PathBuf,
        /// Its planes.
        planes: String,
    },
    /// An export of Nsight Systems without work of a GPU, among those of a job.
    #[error(
        "{path}: shows no work of a GPU, and the ranks of a job are GPUs; leave it out, or record with --trace=cuda,nvtx",
        path = .path.display()
    )]
    NoGpuInExport {
        /// The export.
        path: PathBuf,
    },
    /// Two exports of Nsight Systems are of one session, so that its ranks would count twice.
    #[error(
        "{second}: is the same session twice: it began when that of {first} did, and processes are in both; name each once",
        first = .first.display(), second = .second.display()
    )]
    SameSession {
        /// One of them.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// A trace without device events.
    #[error("{path}: contains no GPU events ({events} host events only); {advice}", path = .path.display())]
    NoGpuEvents {
        /// The file.
        path: PathBuf,
        /// How many other events it contains.
        events: usize,
        /// What may help.
        advice: &'static str,
        /// What reading got over; it may be the reason.
        warnings: Vec<trace_ingest::Warning>,
    },
    /// There is no such part of a trace.
    #[error("{path}: {error}", path = .path.display())]
    Window {
        /// The trace.
        path: PathBuf,
        /// Why.
        error: WindowError,
    },
    /// A trace without so many ranges of a name.
    #[error(
        "{path}: has {found} ranges or operators of the host whose names begin with {name:?}, and number {last}, counted from \
         0, was asked for; `tracelens tree` prints operators, a viewer shows ranges",
        path = .path.display()
    )]
    NoSuchAnnotation {
        /// The trace.
        path: PathBuf,
        /// What their names begin with.
        name: String,
        /// The last number that was asked for.
        last: usize,
        /// How many there are.
        found: usize,
    },
    /// A trace without operators, calls and device events.
    #[error("{path}: has no operators, calls or device events that a path could lead through", path = .path.display())]
    NoPath {
        /// The trace.
        path: PathBuf,
    },
    /// Names that no operator or kernel has.
    #[error(
        "{path}: no operator, call or kernel is named {name:?}; the sheet critical_path has names, and * stands for any characters",
        path = .path.display()
    )]
    NothingToChange {
        /// The trace.
        path: PathBuf,
        /// The name that was asked for.
        name: String,
    },
    /// The trace with the path cannot be written.
    #[error("cannot write {path}: {source}; check that you may write to its folder and that there is room", path = .path.display())]
    Overlay {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An XPlane profile without a device.
    #[error("{path}: contains no device, only {planes}; record it where the program runs on a GPU or TPU{lost}", path = .path.display())]
    NoDevicePlane {
        /// The file.
        path: PathBuf,
        /// Names of its planes.
        planes: String,
        /// A remark where part of the file is lost; empty else.
        lost: &'static str,
    },
    /// Two paths lead to one recording.
    #[error("{path}: is named twice; each rank or host of a run has a recording of its own", path = .path.display())]
    SameRecording {
        /// The second of the paths.
        path: PathBuf,
    },
    /// A host has more GPUs than it is said to have, so that ranks of two hosts would coincide.
    #[error(
        "{path}: shows GPU {gpu}, but with {gpus_per_node} GPUs per host the last is {last}",
        path = .path.display(),
        last = .gpus_per_node - 1
    )]
    MoreGpus {
        /// The profile.
        path: PathBuf,
        /// Highest number of a GPU in it.
        gpu: i64,
        /// How many GPUs a host was said to have.
        gpus_per_node: u32,
    },
    /// The report of several profiles is about their collectives, and there are none.
    #[error(
        "none of the {profiles} profiles shows a collective on GPUs, and the report of several profiles is about these; name one profile for everything else"
    )]
    NoCollectives {
        /// How many profiles.
        profiles: usize,
    },
    /// Tenstorrent operations that the options do not fit.
    #[error("{files}: {error}", files = names(.paths))]
    Metal {
        /// The files of the run.
        paths: Vec<PathBuf>,
        /// What is wrong.
        error: MetalError,
    },
    /// A file describes no architecture.
    #[error("{path}: is no architecture file: {detail}", path = .path.display())]
    ArchitectureFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// No architecture of this name is bundled.
    #[error("unknown architecture {name:?}; the bundled ones are {known}")]
    UnknownArchitecture {
        /// The name.
        name: String,
        /// The names of those that are bundled.
        known: String,
    },
    /// A sheet of ours is at fault.
    #[error("the report cannot be put together: {0}; please report this as a bug")]
    Table(#[from] TableError),
    /// Sheets of ours do not go together.
    #[error("the report cannot be put together: {0}; please report this as a bug")]
    Report(#[from] ReportError),
    /// A picture cannot be drawn.
    #[error(transparent)]
    Drawing(#[from] DrawError),
}

impl Error {
    /// The file that was read and that it is about; of several the one that is at fault.
    #[must_use]
    pub fn input(&self) -> Option<&Path> {
        match self {
            Error::BaselineOfTrace { path, .. }
            | Error::NothingInCommon { path, .. }
            | Error::NotRecorded { path, .. }
            | Error::OneAtATime { second: path, .. }
            | Error::NeedsFile { path }
            | Error::Baseline { path, .. }
            | Error::LargeBaseline { path, .. }
            | Error::FuseOfProfile { path }
            | Error::TablesOfProfile { path, .. }
            | Error::RanksOfProfile { path }
            | Error::NoGpuAtWork { path, .. }
            | Error::NoGpuInExport { path }
            | Error::SameSession { second: path, .. }
            | Error::NoGpuEvents { path, .. }
            | Error::Window { path, .. }
            | Error::NoSuchAnnotation { path, .. }
            | Error::NoPath { path }
            | Error::NothingToChange { path, .. }
            | Error::NoDevicePlane { path, .. }
            | Error::SameRecording { path }
            | Error::MoreGpus { path, .. }
            | Error::ArchitectureFile { path, .. } => Some(path),
            Error::Metal { paths, .. } => paths.first().filter(|_| paths.len() == 1).map(PathBuf::as_path),
            Error::Ingest(error) | Error::Job(JobError::Ingest(error)) => Some(error.path()),
            Error::ReadReport(error) => Some(error.path()),
            Error::NoRanks { first, .. } => first.input(),
            Error::Job(
                JobError::Table { path, .. }
                | JobError::Manifest { path, .. }
                | JobError::RankTwice { second: path, .. }
                | JobError::OverwritesRecording { path }
                | JobError::Changed { path }
                | JobError::NoRanks { path, .. },
            ) => Some(path),
            _ => None,
        }
    }
}

/// The first file, and how many others there are.
fn names(paths: &[PathBuf]) -> String {
    match paths {
        [] => String::new(),
        [only] => only.display().to_string(),
        [first, others @ ..] => format!("{} and {} more", first.display(), others.len()),
    }
}
