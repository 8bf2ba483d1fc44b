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
#[derive(Debug, ThisError, miette::Diagnostic)]
#[non_exhaustive]
pub enum Error {
    /// No file was named.
    #[error("no recording is named")]
    #[diagnostic(code("no-recording"), help("name at least one"))]
    NoRecording,
    /// A baseline of something else than traces.
    #[error("{path}: is {kind}, and only traces of PyTorch's profiler are held against a baseline ({baseline})", path = .path.display(), baseline = .baseline.display())]
    #[diagnostic(code("baseline-of-trace"), help("compare others with tracelens compare"))]
    BaselineOfTrace {
        /// The recording.
        path: PathBuf,
        /// What it is.
        kind: RecordingKind,
        /// The baseline.
        baseline: PathBuf,
    },
    /// A comparison of less than two runs.
    #[error("{given} run is named")]
    #[diagnostic(code("one-run"), help("name at least two, the one that the others are compared with first"))]
    OneRun {
        /// How many were named.
        given: usize,
    },
    /// A question about two runs.
    #[error("the comparison is of two runs, and {given} are named")]
    #[diagnostic(code("two-runs"), help("name two runs, the one that the other is held against first"))]
    TwoRuns {
        /// How many were named.
        given: usize,
    },
    /// Something was given for each of the runs, but not as many times as there are runs.
    #[error("{given} {what} are given for {runs} runs")]
    #[diagnostic(code("count-of-runs"), help("give one for each, in the order of the runs"))]
    CountOfRuns {
        /// What was given.
        what: &'static str,
        /// How many.
        given: usize,
        /// How many runs there are.
        runs: usize,
    },
    /// A name that would not tell a run apart.
    #[error("`{name}` cannot name a run: names differ, are not empty, and have no `::`")]
    #[diagnostic(code("name-of-run"), help("choose another"))]
    NameOfRun {
        /// The name.
        name: String,
    },
    /// Two reports without a table that both have.
    #[error("{path}: has no sheet that could be compared with one of {baseline}{asked}", path = .path.display(), baseline = .baseline.display(), asked = if .sheets.is_empty() { String::new() } else { format!(", of those that were asked for ({sheets})") })]
    #[diagnostic(code("nothing-in-common"), help("compare reports of the same kind"))]
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
    #[diagnostic(transparent)]
    Parity(#[from] ParityError),
    /// A report cannot be read again.
    #[error(transparent)]
    #[diagnostic(transparent)]
    ReadReport(#[from] ReadError),
    /// Nothing of what was asked for can be found.
    #[error("{path}: has no {what}", path = .path.display())]
    #[diagnostic(code("not-recorded"), help("{advice}"))]
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
    #[diagnostic(transparent)]
    Ingest(#[from] IngestError),
    /// Several files where the report is of one.
    #[error("{second}: is a second recording, and the report is of {kind}, one at a time", second = .second.display())]
    #[diagnostic(code("one-at-a-time"), help("make a report of each"))]
    OneAtATime {
        /// Kind of the recordings.
        kind: RecordingKind,
        /// The file too many.
        second: PathBuf,
    },
    /// A gate reads its recordings twice, once for their hash.
    #[error("{path}: standard input cannot be held against a baseline or kept as one", path = .path.display())]
    #[diagnostic(code("needs-file"), help("write it to a file, and name that"))]
    NeedsFile {
        /// The path that stands for standard input.
        path: PathBuf,
    },
    /// A file says that it is a baseline, and cannot be used.
    #[error("{path}: {error}", path = .path.display())]
    #[diagnostic(code("baseline"), forward(error))]
    Baseline {
        /// The file.
        path: PathBuf,
        /// Why.
        error: BaselineError,
    },
    /// A file says that it is a baseline, and is too large for one.
    #[error("{path}: says that it is a baseline and has more than {most} bytes", path = .path.display())]
    #[diagnostic(code("large-baseline"), help("make it again with `tracelens gate save`"))]
    LargeBaseline {
        /// The file.
        path: PathBuf,
        /// The most that a baseline may have.
        most: u64,
    },
    /// Tables of a job cannot be written or read.
    #[error(transparent)]
    #[diagnostic(code("job"))]
    Job(
        #[from]
        #[diagnostic_source]
        JobError,
    ),
    /// Of the recordings of a job none can be used.
    #[error("none of {recordings} recordings can be used, for instance {first}")]
    #[diagnostic(code("no-ranks"))]
    NoRanks {
        /// How many.
        recordings: usize,
        /// What is wrong with the first.
        first: Box<Error>,
        /// What to do about that.
        #[help]
        advice: Option<String>,
    },
    /// A profile among what is to be one trace.
    #[error("{path}: is {kind}, which has no entries of a trace to copy", path = .path.display(), kind = RecordingKind::XPlane)]
    #[diagnostic(code("fuse-of-profile"), help("`tracelens ranks` reports on the job"))]
    FuseOfProfile {
        /// The profile.
        path: PathBuf,
    },
    /// Tables of a profile that there are of traces alone.
    #[error("{path}: is {kind}, and the tables that {option} asks for are made of traces alone", path = .path.display(), kind = RecordingKind::XPlane)]
    #[diagnostic(code("tables-of-profile"), help("leave it out"))]
    TablesOfProfile {
        /// A profile.
        path: PathBuf,
        /// The option that asks for them.
        option: &'static str,
    },
    /// Ranks that the paths of profiles are to tell.
    #[error("{path}: is the recording of a host, whose devices get their ranks by the order of the hosts", path = .path.display())]
    #[diagnostic(
        code("ranks-of-profile"),
        help("name these in that order and leave out --rank_regex and --world_size")
    )]
    RanksOfProfile {
        /// A profile.
        path: PathBuf,
    },
    /// A profile without a GPU that did something, among those of a job.
    #[error("{path}: shows no work of a GPU, only {planes}, and the ranks of a job of profiles are GPUs", path = .path.display())]
    #[diagnostic(code("no-gpu-at-work"), help("`tracelens jax` reports on TPUs"))]
    NoGpuAtWork {
        /// The profile.
        path: PathBuf,
        /// Its planes.
        planes: String,
    },
    /// An export of Nsight Systems without work of a GPU, among those of a job.
    #[error("{path}: shows no work of a GPU, and the ranks of a job are GPUs", path = .path.display())]
    #[diagnostic(code("no-gpu-in-export"), help("leave it out, or record with --trace=cuda,nvtx"))]
    NoGpuInExport {
        /// The export.
        path: PathBuf,
    },
    /// Two exports of Nsight Systems are of one session, so that its ranks would count twice.
    #[error("{second}: is the same session twice: it began when that of {first} did, and processes are in both", first = .first.display(), second = .second.display())]
    #[diagnostic(code("same-session"), help("name each once"))]
    SameSession {
        /// One of them.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// A trace without device events.
    #[error("{path}: contains no GPU events ({events} host events only)", path = .path.display())]
    #[diagnostic(code("no-gpu-events"), help("{advice}"))]
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
    #[diagnostic(code("window"), forward(error))]
    Window {
        /// The trace.
        path: PathBuf,
        /// Why.
        error: WindowError,
    },
    /// A trace without so many ranges of a name.
    #[error("{path}: has {found} ranges or operators of the host whose names begin with {name:?}, and number {last}, counted from 0, was asked for", path = .path.display())]
    #[diagnostic(
        code("no-such-annotation"),
        help("`tracelens tree` prints operators, a viewer shows ranges")
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
    #[diagnostic(code("no-path"))]
    NoPath {
        /// The trace.
        path: PathBuf,
    },
    /// Names that no operator or kernel has.
    #[error("{path}: no operator, call or kernel is named {name:?}", path = .path.display())]
    #[diagnostic(
        code("nothing-to-change"),
        help("the sheet critical_path has names, and * stands for any characters")
    )]
    NothingToChange {
        /// The trace.
        path: PathBuf,
        /// The name that was asked for.
        name: String,
    },
    /// The trace with the path cannot be written.
    #[error("cannot write {path}: {source}", path = .path.display())]
    #[diagnostic(code("overlay"), help("check that you may write to its folder and that there is room"))]
    Overlay {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An XPlane profile without a device.
    #[error("{path}: contains no device, only {planes}", path = .path.display())]
    #[diagnostic(code("no-device-plane"), help("record it where the program runs on a GPU or TPU{lost}"))]
    NoDevicePlane {
        /// The file.
        path: PathBuf,
        /// Names of its planes.
        planes: String,
        /// A remark where part of the file is lost; empty else.
        lost: &'static str,
    },
    /// Two paths lead to one recording.
    #[error("{path}: is named twice", path = .path.display())]
    #[diagnostic(code("same-recording"), help("each rank or host of a run has a recording of its own"))]
    SameRecording {
        /// The second of the paths.
        path: PathBuf,
    },
    /// A host has more GPUs than it is said to have, so that ranks of two hosts would coincide.
    #[error("{path}: shows GPU {gpu}, but with {gpus_per_node} GPUs per host the last is {last}", path = .path.display(), last = .gpus_per_node - 1)]
    #[diagnostic(code("more-gpus"))]
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
        "none of the {profiles} profiles shows a collective on GPUs, and the report of several profiles is about these"
    )]
    #[diagnostic(code("no-collectives"), help("name one profile for everything else"))]
    NoCollectives {
        /// How many profiles.
        profiles: usize,
    },
    /// Tenstorrent operations that the options do not fit.
    #[error("{files}: {error}", files = names(.paths))]
    #[diagnostic(code("metal"), forward(error))]
    Metal {
        /// The files of the run.
        paths: Vec<PathBuf>,
        /// What is wrong.
        error: MetalError,
    },
    /// A file describes no architecture.
    #[error("{path}: is no architecture file: {detail}", path = .path.display())]
    #[diagnostic(code("architecture-file"))]
    ArchitectureFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// No architecture of this name is bundled.
    #[error("unknown architecture {name:?}")]
    #[diagnostic(code("unknown-architecture"), help("choose one of {known}"))]
    UnknownArchitecture {
        /// The name.
        name: String,
        /// The names of those that are bundled.
        known: String,
    },
    /// A sheet of ours is at fault.
    #[error("the report cannot be put together: {0}")]
    #[diagnostic(code("table"), help("report this as a bug"))]
    Table(
        #[from]
        #[diagnostic_source]
        TableError,
    ),
    /// Sheets of ours do not go together.
    #[error("the report cannot be put together: {0}")]
    #[diagnostic(forward(0), help("report this as a bug"))]
    Report(#[from] ReportError),
    /// A picture cannot be drawn.
    #[error(transparent)]
    #[diagnostic(transparent)]
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
