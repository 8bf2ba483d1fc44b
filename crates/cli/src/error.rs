//! What ends a run, as one line and an exit code.

use std::path::PathBuf;
use std::process::ExitCode;

use inference_phase::capture::CaptureError;
use inference_phase::methods::UnknownMethod;
use inference_phase::split::SplitError;
use metal_perf::MetalError;
use report_writers::WriteError;
use script_extension::ExtensionError;
use trace_ingest::{IngestError, RecordingKind};

/// Why the program gives up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Ingest(IngestError),
    #[error("{0}{hint}", hint = hint(.0))]
    Answer(answers::Error),
    #[error("{option} is an option of the report of {of}; {path} is {kind}", path = .path.display())]
    OptionOfOtherRecorder { option: String, of: String, path: PathBuf, kind: RecordingKind },
    #[error("{0}")]
    Arguments(String),
    /// Of a kind that another subcommand reads.
    #[error("{error}; {advice}")]
    OtherReader { error: IngestError, advice: &'static str },
    #[error(
        "{option} is for the report of one profile; that of several is about their collectives: leave the option out, or name one profile"
    )]
    SeveralProfiles { option: String },
    #[error("{path}: has no event {uid}; indices count the entries of the event list from 0 to {last}", path = .path.display())]
    NoSuchEvent { path: PathBuf, uid: u32, last: u32 },
    #[error("{path}: has no event {what}", path = .path.display())]
    NothingFound { path: PathBuf, what: String },
    #[error("the sizes do not fit: {detail}")]
    Sizes { detail: String },
    #[error(
        "{option} shows steps of the engine, which only the method hybrid looks for; leave out --phase_detection_method and --phase_legacy"
    )]
    StepsNotLookedFor { option: &'static str },
    #[error("{option} is not supported: {instead}")]
    Unsupported { option: &'static str, instead: &'static str },
    /// Says itself which folder or file.
    #[error(transparent)]
    Captures(#[from] CaptureError),
    #[error("{path}: cannot be read: {detail}", path = .path.display())]
    Input { path: PathBuf, detail: String },
    #[error(
        "{path}: {count} malformed line{s} (first: line {first}); the others are answered",
        path = .path.display(),
        s = if *.count == 1 { "" } else { "s" }
    )]
    MalformedLines { path: PathBuf, count: u64, first: u64 },
    /// Says itself which file and line.
    #[error(transparent)]
    Extension(#[from] ExtensionError),
    #[error(
        "{path}: has no steps: neither annotations of an inference engine (vLLM's execute_…, SGLang's step[…], ATOM's prefill[…] and decode[…], execute_diffusion_…) nor a loop that does the same GPU work three times or more; {advice}",
        path = .path.display()
    )]
    NoSteps { path: PathBuf, advice: &'static str },
    #[error("{path}: no step is annotated by an inference engine (vLLM's execute_…, SGLang's step[…], ATOM's prefill[…] and decode[…]); steps are matched by what annotations say", path = .path.display())]
    NoAnnotatedSteps { path: PathBuf },
    #[error("{path}: has no step {step}; its steps are 0 to {last}", path = .path.display(), last = .count - 1)]
    NoSuchStep { path: PathBuf, step: usize, count: usize },
    #[error("{path}: nothing is written: {detail}", path = .path.display())]
    NothingToSplit { path: PathBuf, detail: String },
    #[error(transparent)]
    Split(#[from] SplitError),
    #[error(
        "--phase_detection_method {name} is a method of TraceLens alone: give --phase_legacy with it, or choose one of {known}"
    )]
    LegacyMethod { name: String, known: String },
    #[error("--phase_detection_method: {0}")]
    PhaseMethod(#[from] UnknownMethod),
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
    #[error(
        "cannot write {path}: {source}; check that its folder exists, that you may write to it and that there is room, or choose another place",
        path = .path.display()
    )]
    File { path: PathBuf, source: std::io::Error },
    #[error("standard output cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

impl From<answers::Error> for Failure {
    fn from(error: answers::Error) -> Self {
        match error {
            answers::Error::Ingest(error) => error.into(),
            error => Failure::Answer(error),
        }
    }
}

/// The command or option that helps, which libraries do not know.
fn hint(error: &answers::Error) -> &'static str {
    match error {
        answers::Error::NoGpuEvents { .. } => "; `tracelens tree --all` shows what there is",
        answers::Error::NoDevicePlane { .. } => "; `tracelens tree --all` shows the host's events",
        answers::Error::Metal { error: MetalError::UnknownChipInFile { .. }, .. } => {
            "; name another with --arch"
        }
        answers::Error::MoreGpus { .. } => "; say how many there are with --gpus_per_node",
        answers::Error::UnknownArchitecture { .. } => "; --gpu_arch_json_path takes any other from a file",
        _ => "",
    }
}

impl From<IngestError> for Failure {
    fn from(error: IngestError) -> Self {
        match error {
            IngestError::OtherKind { found, .. } => Failure::OtherReader { error, advice: reader_of(found) },
            error => Failure::Ingest(error),
        }
    }
}

/// The subcommand with the full report of a kind of recording.
fn reader_of(kind: RecordingKind) -> &'static str {
    match kind {
        RecordingKind::Trace => "`tracelens report` reads it",
        RecordingKind::XPlane => "`tracelens jax` reads it",
        RecordingKind::Rocprof => "`tracelens rocprof` reads it",
        RecordingKind::TenstorrentOps => "`tracelens metal` reads it",
    }
}

impl Failure {
    /// 1 for what is no fault of what the user gave: output that cannot be written, faults of the program. 2 else.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Split(SplitError::Ingest(_)) => ExitCode::from(2),
            Failure::Answer(
                answers::Error::Table(_) | answers::Error::Report(_) | answers::Error::Drawing(_),
            )
            | Failure::Destination { .. }
            | Failure::Split(_)
            | Failure::Write(_)
            | Failure::File { .. }
            | Failure::Output(_) => ExitCode::from(1),
            _ => ExitCode::from(2),
        }
    }
}
