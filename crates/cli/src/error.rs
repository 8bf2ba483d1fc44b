//! What ends a run: a message, what to do, and an exit code.

use std::borrow::Cow;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use answers::diagnostic::help;
use answers::{RowError, WhyError, nearest};
use extension::ExtensionError;
use inference_phase::capture::CaptureError;
use inference_phase::methods::UnknownMethod;
use inference_phase::split::SplitError;
use metal_perf::MetalError;
use miette::Diagnostic;
use perf_gate::{GateError, ThresholdsError};
use report_writers::WriteError;
use trace_ingest::{IngestError, RecordingKind};

/// Why the program gives up.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(crate) enum Failure {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Ingest(IngestError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Answer(Unanswered),
    #[error("{path}: is {kind}; {option} applies to {of}", path = .path.display())]
    #[diagnostic(code("option-of-other-recorder"), help("omit it"))]
    OptionOfOtherRecorder { option: String, of: String, path: PathBuf, kind: RecordingKind },
    #[error("{0}")]
    #[diagnostic(code("arguments"))]
    Arguments(String),
    #[error("{option} does not apply with --parity tracelens")]
    #[diagnostic(code("arguments"), help("omit one of them"))]
    OptionOfOurComparison { option: &'static str },
    #[error("{pattern}: is not a path pattern; expected {expected}")]
    #[diagnostic(code("pattern"))]
    Pattern { pattern: String, expected: &'static str },
    #[error("{failed} of {of} recordings could not be reduced to tables")]
    #[diagnostic(code("not-mapped"), help("see the warnings"))]
    NotMapped { failed: usize, of: usize },
    #[error("none of the {files} files is from rank {missing}")]
    #[diagnostic(code("ranks-not-found"), help("pass --rank_regex to find the rank in a path"))]
    RanksNotFound { files: usize, missing: String },
    /// Of a kind that another subcommand reads.
    #[error("{error}")]
    #[diagnostic(code("other-reader"), help("{advice}"))]
    OtherReader { error: IngestError, advice: &'static str },
    #[error(
        "{option} applies to a single profile; a report on several profiles covers only their collectives"
    )]
    #[diagnostic(code("several-profiles"), help("omit the option, or pass one profile"))]
    SeveralProfiles { option: String },
    #[error("{option} applies to traces and profiles, not to Tenstorrent operations")]
    #[diagnostic(
        code("window-of-operations"),
        help(
            "select by signposts (--start-signpost, --end-signpost; --list-signposts lists them) or rows (--id-range)"
        )
    )]
    WindowOfOperations { option: String },
    #[error("{path}: has no event {uid}", path = .path.display())]
    #[diagnostic(code("no-such-event"), help("pass an index into the event list, 0 to {last}"))]
    NoSuchEvent { path: PathBuf, uid: u32, last: u32 },
    #[error("{path}: has no event {what}", path = .path.display())]
    #[diagnostic(code("nothing-found"), help("list its events with `tracelens tree --all`"))]
    NothingFound { path: PathBuf, what: String },
    #[error("no event is named {name:?}, but several names contain it")]
    #[diagnostic(code("several-names"), help("choose one: {candidates}"))]
    SeveralNames { name: String, candidates: String },
    #[error("{unsound} of {of} recordings {have} findings at or above the severity of --fail-on", have = if *.unsound == 1 { "has" } else { "have" })]
    #[diagnostic(code("unsound"))]
    Unsound { unsound: usize, of: usize },
    #[error("{found} {noun} --fail-on", noun = if *.found == 1 { "finding matches" } else { "findings match" })]
    #[diagnostic(code("found"))]
    Found { found: usize },
    /// A run that is compared takes longer than --fail-on allows.
    #[error("--fail-on: {0}")]
    #[diagnostic(code("limit-exceeded/exceeded"))]
    LimitExceeded(String),
    #[error("--fail-on: {0}")]
    #[diagnostic(code("limit-of-unknown/unknown"), help("use a name from a sheet of the comparison"))]
    LimitOfUnknown(String),
    #[error("the answer is incomplete, which --strict forbids")]
    #[diagnostic(code("lacking"), help("see the answer for what is missing"))]
    Lacking,
    #[error("the candidate is slower than the baseline by more than the limit")]
    #[diagnostic(code("slower"))]
    Slower,
    #[error("the recordings do not show whether the candidate is slower, which counts as a failure here")]
    #[diagnostic(code("not-known-to-pass"))]
    NotKnownToPass,
    #[error("the recordings do not show whether the candidate is slower")]
    #[diagnostic(code("not-told"))]
    NotTold,
    #[error("the recordings cannot be compared: they are unreliable, or from different work or machines")]
    #[diagnostic(code("not-comparable"))]
    NotComparable,
    #[error(transparent)]
    #[diagnostic(transparent)]
    Rows(#[from] RowError),
    #[cfg(feature = "mcp")]
    #[error(transparent)]
    #[diagnostic(transparent)]
    Roots(#[from] mcp::RootError),
    #[cfg(feature = "mcp")]
    #[error(transparent)]
    #[diagnostic(transparent)]
    Serve(#[from] mcp::ServeError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Why(#[from] WhyError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Gate(#[from] GateError),
    #[error("{path}: {error}", path = .path.display())]
    #[diagnostic(code("thresholds"), help("write a commented thresholds file with `tracelens gate --init`"))]
    Thresholds { path: PathBuf, error: ThresholdsError },
    #[error("the sizes do not match: {detail}")]
    #[diagnostic(code("sizes"))]
    Sizes { detail: String },
    #[error("{option} needs the engine's steps, which only method hybrid finds")]
    #[diagnostic(code("steps-not-looked-for"), help("omit --phase_detection_method and --phase_legacy"))]
    StepsNotLookedFor { option: &'static str },
    #[error("{option} is not supported")]
    #[diagnostic(code("unsupported"), help("{instead}"))]
    Unsupported { option: &'static str, instead: &'static str },
    /// Says itself which folder or file.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Captures(#[from] CaptureError),
    #[error("{path}: cannot be read: {detail}", path = .path.display())]
    #[diagnostic(code("input"))]
    Input { path: PathBuf, detail: String },
    #[error("{path}: {count} malformed line{s} (first: line {first}); all others are answered", path = .path.display(), s = if *.count == 1 { "" } else { "s" })]
    #[diagnostic(code("malformed-lines"))]
    MalformedLines { path: PathBuf, count: u64, first: u64 },
    /// Says itself which file and line.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Extension(#[from] ExtensionError),
    #[error("{path}: has no steps: neither inference engine annotations (vLLM's execute_…, SGLang's step[…], ATOM's prefill[…] and decode[…], execute_diffusion_…) nor a loop repeating the same GPU work at least three times", path = .path.display())]
    #[diagnostic(code("no-steps"), help("{advice}"))]
    NoSteps { path: PathBuf, advice: &'static str },
    #[error("{path}: no inference engine annotated its steps (vLLM's execute_…, SGLang's step[…], ATOM's prefill[…] and decode[…]); steps are matched by annotation", path = .path.display())]
    #[diagnostic(code("no-annotated-steps"))]
    NoAnnotatedSteps { path: PathBuf },
    #[error("{path}: has no step {step}", path = .path.display())]
    #[diagnostic(code("no-such-step"), help("choose one from 0 to {last}", last = .count - 1))]
    NoSuchStep { path: PathBuf, step: usize, count: usize },
    #[error("{path}: nothing written: {detail}", path = .path.display())]
    #[diagnostic(code("nothing-to-split"))]
    NothingToSplit { path: PathBuf, detail: String },
    #[error("{path}: is {found}; events can be copied from JSON traces only", path = .path.display())]
    #[diagnostic(code("not-copyable"), help("{instead}"))]
    NotCopyable { path: PathBuf, found: RecordingKind, instead: String },
    #[error("{path}: none of these operators can be replayed: nothing written", path = .path.display())]
    #[diagnostic(code("nothing-to-replay"))]
    NothingToReplay { path: PathBuf },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Split(#[from] SplitError),
    #[error("--phase_detection_method {name} requires --phase_legacy")]
    #[diagnostic(code("legacy-method"), help("add it, or choose one of {known}"))]
    LegacyMethod { name: String, known: String },
    #[error("--phase_detection_method: {0}")]
    #[diagnostic(forward(0))]
    PhaseMethod(#[from] UnknownMethod),
    #[error("unknown sheet {name:?}{}", meant(name, known))]
    #[diagnostic(code("unknown-sheet"), help("the sheets are {known}"))]
    UnknownSheet { name: String, known: String },
    #[error("unknown subcommand {name:?}{}", meant(name, known))]
    #[diagnostic(code("unknown-subcommand"), help("the subcommands are {known}"))]
    UnknownSubcommand { name: String, known: String },
    #[error("unknown argument {name:?}{}", meant(name, known))]
    #[diagnostic(code("unknown-field"), help("--field takes {known}"))]
    UnknownField { name: String, known: String },
    #[error("{path}: is the trace itself and would be overwritten", path = .path.display())]
    #[diagnostic(code("overwrites-trace"), help("choose another path for the report"))]
    OverwritesTrace { path: PathBuf },
    #[error("cannot write {path}: {detail}", path = .path.display())]
    #[diagnostic(code("destination"), help("{help}"))]
    Destination { path: PathBuf, detail: Cow<'static, str>, help: Cow<'static, str> },
    /// A picture is not made, and with `--quiet` nothing else says so.
    #[error("{option} writes nothing: {reason}")]
    #[diagnostic(code("nothing-drawn"))]
    NothingDrawn {
        option: &'static str,
        reason: String,
        #[help]
        help: Option<&'static str>,
    },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Write(#[from] WriteError),
    #[error("cannot write {path}: {source}", path = .path.display())]
    #[diagnostic(
        code("file"),
        help("check that its folder exists, is writable and has room, or choose another path")
    )]
    File { path: PathBuf, source: std::io::Error },
    #[error("cannot write to standard output: {0}")]
    #[diagnostic(code("output/os"))]
    Output(#[from] std::io::Error),
}

impl From<answers::Error> for Failure {
    fn from(error: answers::Error) -> Self {
        match error {
            answers::Error::Ingest(error) => error.into(),
            error => Failure::Answer(Unanswered(error)),
        }
    }
}

/// What the libraries do not answer, with the option of this program that helps.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct Unanswered(answers::Error);

impl Diagnostic for Unanswered {
    fn code(&self) -> Option<Box<dyn Display + '_>> {
        Some(Box::new("answer"))
    }

    fn help(&self) -> Option<Box<dyn Display + '_>> {
        with_option(&self.0, remedy_option(&self.0))
    }

    fn diagnostic_source(&self) -> Option<&dyn Diagnostic> {
        Some(&self.0)
    }
}

/// What to do by a library, and the option of this program behind it.
fn with_option(error: &dyn Diagnostic, option: Option<Cow<'static, str>>) -> Option<Box<dyn Display>> {
    let helps = [help(error).map(Cow::Owned), option].into_iter().flatten().collect::<Vec<_>>();
    (!helps.is_empty()).then(|| Box::new(helps.join("; ")) as Box<dyn Display>)
}

/// What a name with a slip of the fingers probably means, as a remark behind it.
fn meant(name: &str, known: &str) -> String {
    nearest(name, known.split(", ")).map_or_else(String::new, |meant| format!(" (did you mean {meant}?)"))
}

/// The command or option that helps, which libraries do not know.
fn remedy_option(error: &answers::Error) -> Option<Cow<'static, str>> {
    if let answers::Error::UnknownArchitecture { name, known } = error {
        let meant = nearest(name, known.split(", ")).map(|meant| format!("did you mean {meant}?"));
        return Some(
            meant.map_or("--gpu_arch_json_path reads any other architecture from a file".into(), Cow::Owned),
        );
    }
    let option = match error {
        answers::Error::NoGpuEvents { .. } => "`tracelens tree --all` shows the recorded events",
        answers::Error::NoDevicePlane { .. } => "`tracelens tree --all` shows the host's events",
        answers::Error::Metal { error: MetalError::UnknownChipInFile { .. }, .. } => {
            "choose another with --arch"
        }
        answers::Error::OneAtATime { kind: RecordingKind::Trace | RecordingKind::Nsys, .. } => {
            "`tracelens ranks` reports on several ranks of one job"
        }
        answers::Error::MoreGpus { .. } => "pass the GPUs per node with --gpus_per_node",
        _ => return None,
    };
    Some(option.into())
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
        RecordingKind::Nsys => "`tracelens nsys` reads it",
        RecordingKind::XPlane => "`tracelens jax` reads it",
        RecordingKind::Rocprof => "`tracelens rocprof` reads it",
        RecordingKind::TenstorrentOps => "`tracelens metal` reads it",
    }
}

/// What the exit codes of the program mean.
pub(crate) const EXIT_CODES: [(u8, &str); 7] = [
    (0, "Success. Problems with a recording that did not stop the run are shown as warnings."),
    (1, "An output could not be written, or an internal error occurred."),
    (
        2,
        "Invalid options, a file that is not a recording or has nothing to show, or, with --quiet, a requested \
         plot that cannot be drawn.",
    ),
    (
        3,
        "A --fail-on condition of `tracelens doctor`, `advise` or `compare` is met; the candidate of \
         `tracelens gate` is slower.",
    ),
    (4, "`tracelens gate` is inconclusive, or a command run with --strict has an incomplete answer."),
    (5, "The recordings of `tracelens gate` are unreliable, or differ in work or machine."),
    (130, "Ctrl-C or a signal to end ended the run; unfinished files are removed, earlier files are kept."),
];

impl Failure {
    /// The file that was read and that it is about.
    pub(crate) fn input(&self) -> Option<&Path> {
        match self {
            Failure::Ingest(error)
            | Failure::OtherReader { error, .. }
            | Failure::Split(SplitError::Ingest(error)) => Some(error.path()),
            Failure::Answer(Unanswered(error)) => error.input(),
            Failure::Pattern { pattern, .. } => Some(Path::new(pattern)),
            Failure::OptionOfOtherRecorder { path, .. }
            | Failure::NoSuchEvent { path, .. }
            | Failure::NothingFound { path, .. }
            | Failure::Thresholds { path, .. }
            | Failure::Captures(
                CaptureError::Io { path, .. }
                | CaptureError::NotAFolder { path }
                | CaptureError::Details { path, .. },
            )
            | Failure::Input { path, .. }
            | Failure::MalformedLines { path, .. }
            | Failure::NoSteps { path, .. }
            | Failure::NoAnnotatedSteps { path }
            | Failure::NoSuchStep { path, .. }
            | Failure::NothingToSplit { path, .. }
            | Failure::NotCopyable { path, .. }
            | Failure::NothingToReplay { path }
            | Failure::Split(SplitError::Changed { path })
            | Failure::OverwritesTrace { path } => Some(path),
            _ => None,
        }
    }

    /// Whether its text is of several lines: an excerpt of a script, the usage of a command.
    pub(crate) fn has_lines(&self) -> bool {
        matches!(self, Failure::Extension(_) | Failure::Arguments(_))
    }

    /// 1 for what is no fault of what the user gave: output that cannot be written, faults of the program. 3 to 5 for
    /// recordings that are at fault, slower or not comparable where that was asked. 2 else.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Split(SplitError::Ingest(_)) => 2,
            Failure::Unsound { .. }
            | Failure::Found { .. }
            | Failure::LimitExceeded(_)
            | Failure::Slower
            | Failure::NotKnownToPass => 3,
            Failure::NotTold | Failure::Lacking => 4,
            Failure::NotComparable => 5,
            Failure::Answer(Unanswered(
                answers::Error::Table(_)
                | answers::Error::Report(_)
                | answers::Error::Drawing(_)
                | answers::Error::Overlay { .. }
                | answers::Error::Job(multi_rank::Error::Write { .. }),
            ))
            | Failure::Destination { .. }
            | Failure::Split(_)
            | Failure::Write(_)
            | Failure::File { .. }
            | Failure::Output(_) => 1,
            _ => 2,
        }
    }
}

#[cfg(all(test, feature = "mcp"))]
mod tests {
    use answers::diagnostic::{code, in_one_line};
    use sheets::TableError;

    use super::*;

    fn file() -> PathBuf {
        "trace.json".into()
    }

    fn text() -> String {
        "text".to_owned()
    }

    fn io() -> std::io::Error {
        std::io::ErrorKind::NotFound.into()
    }

    fn table() -> TableError {
        TableError::Name { name: text() }
    }

    fn ingest() -> IngestError {
        IngestError::Empty { path: file() }
    }

    /// One of each kind of failure.
    #[rustfmt::skip]
    fn failures() -> Vec<Failure> {
        vec![
            Failure::from(answers::Error::from(IngestError::Empty { path: file() })),
            Failure::from(answers::Error::NoRecording),
            Failure::OptionOfOtherRecorder { option: text(), of: text(), path: file(), kind: RecordingKind::XPlane },
            Failure::Arguments(text()),
            Failure::Pattern { pattern: text(), expected: "x" },
            Failure::NotMapped { failed: 2, of: 2 },
            Failure::RanksNotFound { files: 2, missing: text() },
            Failure::OtherReader { error: ingest(), advice: "do so" },
            Failure::SeveralProfiles { option: text() },
            Failure::WindowOfOperations { option: text() },
            Failure::NoSuchEvent { path: file(), uid: 2, last: 2 },
            Failure::NothingFound { path: file(), what: text() },
            Failure::SeveralNames { name: text(), candidates: text() },
            Failure::Unsound { unsound: 2, of: 2 },
            Failure::Found { found: 2 },
            Failure::LimitExceeded(text()),
            Failure::LimitOfUnknown(text()),
            Failure::Lacking,
            Failure::Slower,
            Failure::NotKnownToPass,
            Failure::NotTold,
            Failure::NotComparable,
            Failure::Thresholds { path: file(), error: perf_gate::ThresholdsError { line: 2, what: text() } },
            Failure::Sizes { detail: text() },
            Failure::StepsNotLookedFor { option: "x" },
            Failure::Unsupported { option: "x", instead: "do so" },
            Failure::Input { path: file(), detail: text() },
            Failure::MalformedLines { path: file(), count: 2, first: 2 },
            Failure::NoSteps { path: file(), advice: "do so" },
            Failure::NoAnnotatedSteps { path: file() },
            Failure::NoSuchStep { path: file(), step: 2, count: 2 },
            Failure::NothingToSplit { path: file(), detail: text() },
            Failure::NotCopyable { path: file(), found: RecordingKind::XPlane, instead: "do so".to_owned() },
            Failure::NothingToReplay { path: file() },
            Failure::LegacyMethod { name: text(), known: text() },
            Failure::PhaseMethod(UnknownMethod { name: text(), known: vec!["x"] }),
            Failure::UnknownSheet { name: text(), known: text() },
            Failure::UnknownSubcommand { name: text(), known: text() },
            Failure::UnknownField { name: text(), known: text() },
            Failure::OverwritesTrace { path: file() },
            Failure::Destination { path: file(), detail: "x".into(), help: "do so".into() },
            Failure::NothingDrawn { option: "x", reason: text(), help: None },
            Failure::File { path: file(), source: io() },
            Failure::Output(io()),
            Failure::Rows(RowError::UnknownTable { name: text(), near: vec![text()] }),
            Failure::Rows(RowError::UnknownColumn { table: text(), name: text(), near: vec![text()] }),
            Failure::Rows(RowError::NoNumbers { table: text(), column: text() }),
            Failure::Rows(RowError::Table(table())),
            Failure::Why(WhyError::Unknown { target: text(), near: vec![text()] }),
            Failure::Why(WhyError::Several { target: text(), candidates: Vec::new() }),
            Failure::Why(WhyError::Table(table())),
            Failure::Gate(GateError::NoSuchWork { metric: perf_gate::Metric::Idle, near: vec![text()], kept: 2 }),
            Failure::Gate(GateError::NoModules { metric: perf_gate::Metric::Idle, file: text() }),
            Failure::Gate(GateError::NoRecording { side: "x" }),
            Failure::Gate(GateError::NoSteps { file: text() }),
            Failure::Captures(CaptureError::Io { path: file(), source: io() }),
            Failure::Captures(CaptureError::NotAFolder { path: file() }),
            Failure::Captures(CaptureError::Details { path: file(), detail: text() }),
            Failure::Split(SplitError::Ingest(ingest())),
            Failure::Split(SplitError::Changed { path: file() }),
            Failure::Split(SplitError::Write { path: file(), source: io() }),
            Failure::Write(WriteError::CreateDirectory { path: file(), source: io() }),
            Failure::Write(WriteError::Create { path: file(), source: io() }),
            Failure::Write(WriteError::Write { path: file(), source: io() }),
            Failure::Write(WriteError::RemoveStale { path: file(), source: io() }),
            Failure::Write(WriteError::Workbook { path: file(), source: Box::new(io().into()) }),
            Failure::Roots(mcp::RootError::None),
            Failure::Roots(mcp::RootError::Folder { path: file(), source: io() }),
            Failure::Serve(mcp::ServeError::Runtime(io())),
            Failure::Serve(mcp::ServeError::Protocol(text())),
        ]
    }

    #[test]
    fn codes_are_never_renamed() {
        let failures = failures();
        let said = failures.iter().map(|failure| {
            let (message, help) = (failure.to_string(), help(failure));
            assert!(help.is_none_or(|help| !message.contains(&help)), "{}", in_one_line(failure));
            code(failure) + "\n"
        });
        let said: String = said.collect();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/codes-1.txt");
        let kept = std::fs::read_to_string(&path).unwrap();
        let lost: Vec<&str> = kept.lines().filter(|kept| !said.lines().any(|said| said == *kept)).collect();
        assert!(lost.is_empty(), "codes that programs rely on are gone: {lost:?}");
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(&path, said).unwrap();
        } else {
            assert_eq!(kept, said, "new codes are kept: UPDATE_SCHEMA=1 cargo test -p tracelens --lib codes");
        }
    }
}
