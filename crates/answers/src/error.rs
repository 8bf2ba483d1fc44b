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

use crate::rows::nearest_names;

/// Why a question has no answer.
#[derive(Debug, ThisError, miette::Diagnostic)]
#[non_exhaustive]
pub enum Error {
    /// No file was named.
    #[error("no recording given")]
    #[diagnostic(code("no-recording"), help("pass at least one"))]
    NoRecording,
    /// A baseline and recordings other than traces.
    #[error("{path}: is {kind}; only PyTorch traces can be compared with a baseline ({baseline})", path = .path.display(), baseline = .baseline.display())]
    #[diagnostic(code("baseline-of-trace"), help("use `tracelens compare`"))]
    BaselineOfTrace {
        /// The recording.
        path: PathBuf,
        /// What it is.
        kind: RecordingKind,
        /// The baseline.
        baseline: PathBuf,
    },
    /// A comparison of fewer than two runs.
    #[error("only {given} run given")]
    #[diagnostic(code("one-run"), help("pass at least two, the baseline first"))]
    OneRun {
        /// How many were named.
        given: usize,
    },
    /// Not exactly two runs for a comparison of two.
    #[error("the comparison takes two runs, found {given}")]
    #[diagnostic(code("two-runs"), help("pass two runs, the baseline first"))]
    TwoRuns {
        /// How many were named.
        given: usize,
    },
    /// A list with one value per run has the wrong length.
    #[error("{given} {what} for {runs} runs")]
    #[diagnostic(code("count-of-runs"), help("pass one per run, in the same order"))]
    CountOfRuns {
        /// What was given.
        what: &'static str,
        /// How many.
        given: usize,
        /// How many runs there are.
        runs: usize,
    },
    /// A name that cannot identify a run.
    #[error("`{name}` is not a valid run name: names must be unique, non-empty and without `::`")]
    #[diagnostic(code("name-of-run"), help("choose another"))]
    NameOfRun {
        /// The name.
        name: String,
    },
    /// Two reports without a common table.
    #[error("{path}: has no sheet in common with {baseline}{asked}", path = .path.display(), baseline = .baseline.display(), asked = if .sheets.is_empty() { String::new() } else { format!(" among those requested ({sheets})") })]
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
    /// The recording has none of what was requested.
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
    /// Several files for a report on one.
    #[error("{second}: is a second recording; a report covers a single recording ({kind})", second = .second.display())]
    #[diagnostic(code("one-at-a-time"), help("report on each separately"))]
    OneAtATime {
        /// Kind of the recordings.
        kind: RecordingKind,
        /// The superfluous file.
        second: PathBuf,
    },
    /// The gate reads recordings twice, once to hash them.
    #[error("{path}: standard input cannot be saved as a baseline or compared with one", path = .path.display())]
    #[diagnostic(code("needs-file"), help("write it to a file and pass that"))]
    NeedsFile {
        /// The path that stands for standard input.
        path: PathBuf,
    },
    /// A baseline file is unusable.
    #[error("{path}: {error}", path = .path.display())]
    #[diagnostic(code("baseline"), forward(error))]
    Baseline {
        /// The file.
        path: PathBuf,
        /// Why.
        error: BaselineError,
    },
    /// A baseline file is too large.
    #[error("{path}: claims to be a baseline but exceeds {most} bytes", path = .path.display())]
    #[diagnostic(code("large-baseline"), help("save it again with `tracelens gate save`"))]
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
    /// None of a job's recordings can be used.
    #[error("none of the {recordings} recordings can be used; error of the first: {first}")]
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
    /// A profile among the traces to fuse.
    #[error("{path}: is {kind}, which has no trace events to copy", path = .path.display(), kind = RecordingKind::XPlane)]
    #[diagnostic(code("fuse-of-profile"), help("use `tracelens ranks` to report on the job"))]
    FuseOfProfile {
        /// The profile.
        path: PathBuf,
    },
    /// Tables that exist for traces only, requested of a profile.
    #[error("{path}: is {kind}; {option} works with traces only", path = .path.display(), kind = RecordingKind::XPlane)]
    #[diagnostic(code("tables-of-profile"), help("omit it"))]
    TablesOfProfile {
        /// A profile.
        path: PathBuf,
        /// The option that asks for them.
        option: &'static str,
    },
    /// Ranks from paths, requested for profiles.
    #[error("{path}: covers a whole host; its GPUs are ranks, numbered in the order of the hosts", path = .path.display())]
    #[diagnostic(
        code("ranks-of-profile"),
        help("pass the hosts in order, without --rank_regex and --world_size")
    )]
    RanksOfProfile {
        /// A profile.
        path: PathBuf,
    },
    /// A job's profile without GPU work.
    #[error("{path}: has no GPU work, only {planes}; each rank must be a GPU", path = .path.display())]
    #[diagnostic(code("no-gpu-at-work"), help("use `tracelens jax` for TPUs"))]
    NoGpuAtWork {
        /// The profile.
        path: PathBuf,
        /// Its planes.
        planes: String,
    },
    /// A job's Nsight Systems export without GPU work.
    #[error("{path}: has no GPU work; each rank must be a GPU", path = .path.display())]
    #[diagnostic(code("no-gpu-in-export"), help("omit it, or record with --trace=cuda,nvtx"))]
    NoGpuInExport {
        /// The export.
        path: PathBuf,
    },
    /// Two Nsight Systems exports of one session, whose ranks would count twice.
    #[error("{second}: is the same session as {first}: same start time, shared processes", first = .first.display(), second = .second.display())]
    #[diagnostic(code("same-session"), help("pass each session once"))]
    SameSession {
        /// One of them.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// A trace without device events.
    #[error("{path}: has no GPU events, only {events} host {}", if *.events == 1 { "event" } else { "events" }, path = .path.display())]
    #[diagnostic(code("no-gpu-events"), help("{advice}"))]
    NoGpuEvents {
        /// The file.
        path: PathBuf,
        /// How many other events it contains.
        events: usize,
        /// What may help.
        advice: &'static str,
        /// Warnings of the reader; they may explain it.
        warnings: Vec<trace_ingest::Warning>,
    },
    /// The window does not exist or is empty.
    #[error("{path}: {error}", path = .path.display())]
    #[diagnostic(code("window"), forward(error))]
    Window {
        /// The trace.
        path: PathBuf,
        /// Why.
        error: WindowError,
    },
    /// Too few ranges of a name.
    #[error("{path}: has {found} host {} with {name:?}; number {last} (from 0) was requested", if *.found == 1 { "range or operator whose name begins" } else { "ranges or operators whose names begin" }, path = .path.display())]
    #[diagnostic(
        code("no-such-annotation"),
        help("{}", if *.found == 0 { nearest_names(near) } else { format!("request numbers below {found}") })
    )]
    NoSuchAnnotation {
        /// The trace.
        path: PathBuf,
        /// What their names begin with.
        name: String,
        /// The last number requested.
        last: usize,
        /// How many there are.
        found: usize,
        /// The most similar names.
        near: Vec<String>,
    },
    /// A trace without operators, calls and device events.
    #[error("{path}: has no operators, calls or device events, hence no critical path", path = .path.display())]
    #[diagnostic(code("no-path"))]
    NoPath {
        /// The trace.
        path: PathBuf,
    },
    /// A name that no operator, call or kernel has.
    #[error("{path}: no operator, call or kernel is named {name:?}", path = .path.display())]
    #[diagnostic(code("nothing-to-change"), help("{}; * matches any characters", nearest_names(near)))]
    NothingToChange {
        /// The trace.
        path: PathBuf,
        /// The name that was asked for.
        name: String,
        /// The most similar names.
        near: Vec<String>,
    },
    /// The trace with the path cannot be written.
    #[error("cannot write {path}: {source}", path = .path.display())]
    #[diagnostic(code("overlay"), help("check free space and write permission for its folder"))]
    Overlay {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// An XPlane profile without a device.
    #[error("{path}: has no device, only {planes}", path = .path.display())]
    #[diagnostic(code("no-device-plane"), help("record a run on a GPU or TPU{lost}"))]
    NoDevicePlane {
        /// The file.
        path: PathBuf,
        /// Names of its planes.
        planes: String,
        /// A remark if part of the file is lost, else empty.
        lost: &'static str,
    },
    /// Two paths lead to one recording.
    #[error("{path}: is given twice", path = .path.display())]
    #[diagnostic(code("same-recording"), help("pass one recording per rank or host"))]
    SameRecording {
        /// The second of the paths.
        path: PathBuf,
    },
    /// A host has more GPUs than stated, so ranks of two hosts would coincide.
    #[error("{path}: has GPU {gpu}, but with {gpus_per_node} GPUs per host the highest number is {last}", path = .path.display(), last = .gpus_per_node - 1)]
    #[diagnostic(code("more-gpus"))]
    MoreGpus {
        /// The profile.
        path: PathBuf,
        /// Highest number of a GPU in it.
        gpu: i64,
        /// How many GPUs a host was said to have.
        gpus_per_node: u32,
    },
    /// Several profiles, none with a collective.
    #[error("none of the {profiles} profiles has a GPU collective, which a report on several profiles needs")]
    #[diagnostic(code("no-collectives"), help("pass one profile at a time for all other figures"))]
    NoCollectives {
        /// How many profiles.
        profiles: usize,
    },
    /// The options do not fit the Tenstorrent operations.
    #[error("{files}: {error}", files = names(.paths))]
    #[diagnostic(code("metal"), forward(error))]
    Metal {
        /// The files of the run.
        paths: Vec<PathBuf>,
        /// What is wrong.
        error: MetalError,
    },
    /// A file describes no architecture.
    #[error("{path}: is not an architecture file: {detail}", path = .path.display())]
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
    /// A bug in one of our sheets.
    #[error("cannot build the report: {0}")]
    #[diagnostic(code("table"), help("report this as a bug"))]
    Table(
        #[from]
        #[diagnostic_source]
        TableError,
    ),
    /// A bug: our sheets are inconsistent.
    #[error("cannot build the report: {0}")]
    #[diagnostic(forward(0), help("report this as a bug"))]
    Report(#[from] ReportError),
    /// A picture cannot be drawn.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Drawing(#[from] DrawError),
}

impl Error {
    /// The input file at fault.
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
