//! One document for every answer: what was asked, of which recordings, how far it can be trusted, and what was found.
//!
//! The contract is `tracelens.answer` 1.0. New members, tables, columns at the end, codes and values of enumerations may be
//! added; nothing that is there goes or changes its meaning without a new first number.

mod about;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use advise::Finding;
use gpu_timeline::LINKED_ENOUGH;
use miette::Diagnostic;
use perf_gate::{Gate, Verdict};
use report_writers::JsonTable;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use trace_ingest::{
    EventFault, IngestError, ReadOptions, RecordFault, RecordingKind, Warning as ReadingWarning,
    is_standard_input, recognise,
};
use trace2tree::TreeWarning;

use crate::diagnostic::{code, help};
use crate::notice::Notice;

/// Version of the contract.
pub const SCHEMA: &str = "tracelens.answer/1.0";

/// An answer, or the reason there is none.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer<'a> {
    /// `tracelens.answer/1.0`: version of the contract, not of the program.
    pub schema: &'static str,
    /// Time of the answer in UTC; only on request, so that the same input gives the same bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// The program that answered.
    pub tool: Tool,
    /// The question.
    pub command: Asked,
    /// The files read.
    pub inputs: Vec<Input>,
    /// Whether there is an answer.
    pub status: Status,
    /// How reliable the figures are; null if no recording was examined.
    pub trust: Option<Trust>,
    /// Warnings to read before relying on a figure.
    pub warnings: Vec<AnswerWarning>,
    /// The error, if there is no answer.
    pub error: Option<Problem>,
    /// The answer in the command's own form; null if the tables are the answer.
    pub result: Value,
    /// Tables, one row per line.
    pub tables: Vec<JsonTable<'a>>,
    /// What to change first.
    pub findings: Vec<AnswerFinding>,
    /// What could not be answered, and how to record it.
    pub cannot_answer: Vec<CannotAnswer>,
}

/// The program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tool {
    /// `tracelens`.
    pub name: &'static str,
    /// Version of the program.
    pub version: &'static str,
    /// Commit of the build; null if not released.
    pub commit: Option<&'static str>,
    /// Optional features of the build, in alphabetical order: `mcp`.
    pub features: &'static [&'static str],
}

impl Tool {
    /// The program built with these features. `cargo xtask dist` sets the commit.
    #[must_use]
    pub const fn with_features(features: &'static [&'static str]) -> Self {
        Tool {
            name: "tracelens",
            version: env!("CARGO_PKG_VERSION"),
            commit: option_env!("TRACELENS_COMMIT"),
            features,
        }
    }
}

/// A question.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Asked {
    /// Name of the command.
    pub name: String,
    /// Options that change figures, including defaults, sorted by name.
    pub options: Vec<String>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Input {
    /// Its path as given.
    #[serde(skip)]
    pub path: PathBuf,
    /// `t1`, `t2` …: how other members refer to it.
    pub id: String,
    /// Its role.
    pub role: Role,
    /// Its name; with its folder only if requested.
    pub file: String,
    /// Its size; null for directories and standard input.
    pub bytes: Option<u64>,
    /// SHA-256 of its bytes on disk, in hexadecimal digits; null if not requested or not readable.
    pub sha256: Option<String>,
    /// Its format; null if unknown.
    pub format: Option<&'static str>,
    /// Compression: `none`, `gzip`, `zstd`, `zip`; null if the file cannot be read.
    pub compression: Option<&'static str>,
    /// Name and version of the recorder; null if the file does not name it.
    pub recorder: Option<String>,
    /// Devices named in it.
    pub devices: Vec<String>,
    /// Rank of the recorded process.
    pub rank: Option<i64>,
    /// Number of ranks in its job.
    pub world_size: Option<i64>,
    /// Number of events in it.
    pub events: Option<u64>,
    /// Time from the first start to the last end in ns.
    pub span_ns: Option<i64>,
}

/// Role of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A recording that the answer is about.
    Trace,
    /// A recording that others are compared with.
    Baseline,
    /// A recording compared with the baseline.
    Candidate,
}

/// Whether there is an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// There is an answer.
    Ok,
    /// The answer is incomplete.
    Partial,
    /// The recordings lack what the answer needs.
    CannotAnswer,
    /// The input cannot be used.
    Error,
}

/// How reliable the figures of a recording are.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Trust {
    /// The verdict.
    pub verdict: TrustVerdict,
    /// Number of device events.
    pub device_events: Option<u64>,
    /// Percentage of device time in events whose launch is recorded; null if no launch is recorded.
    pub linked_pct_of_time: Option<f64>,
    /// Percentage of device time spent in work whose FLOPs and bytes are known.
    pub modelled_pct_of_time: Option<f64>,
    /// Whether operators have shapes; null if the recorder cannot record them.
    pub shapes: Option<bool>,
    /// Whether Python frames are recorded.
    pub stacks: Option<bool>,
    /// Whether the file is truncated or damaged, so that events are lost.
    pub truncated: bool,
    /// Bytes of the unpacked file that could not be used; null if damaged compression leaves this unknown.
    pub bytes_lost: Option<u64>,
    /// Number of file entries that are not events, plus events without a usable time.
    pub events_lost: u64,
    /// Number of steps.
    pub steps: Option<u64>,
    /// How well host and device clocks agree; null if unknown.
    pub clock: Option<ClockTrust>,
}

/// How well host and device clocks agree, by rules C1 to C3 of `doctor`. Launch delays, queue times and idle causes
/// depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockTrust {
    /// No disagreement found.
    Sound,
    /// The clocks differ or drift; the sheet `recording` says by how much.
    Doubtful,
    /// The clocks disagree too much to correct, or much device work starts before its launch: times between host and
    /// device are meaningless.
    Wrong,
}

/// Verdict of [`Trust`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustVerdict {
    /// No problem found.
    Full,
    /// Part of the file is lost, or the launches of over 5% of device time are missing although this recorder normally
    /// records launches, or `doctor` finds an error.
    Degraded,
    /// No device work was recorded.
    Unusable,
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AnswerWarning {
    /// Its source and kind, such as `reading/truncated`. Never renamed.
    pub code: String,
    /// Its severity.
    pub severity: Severity,
    /// `id` of the input concerned; null if there is only one, or all are concerned.
    pub input: Option<String>,
    /// How often it happened; null if not countable.
    pub count: Option<u64>,
    /// Where it first happened; null if unknown.
    pub first: Option<Place>,
    /// What was lost; null if nothing or unknown.
    pub lost: Option<Lost>,
    /// What happened.
    pub message: String,
    /// What to do; null if there is no generally applicable remedy.
    pub action: Option<String>,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Index of an event in the file's list, as in tables.
    Uid(u32),
    /// Byte offset in the unpacked file.
    Offset(u64),
}

/// Data missing from all figures, or from operator figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Lost {
    /// Bytes of the unpacked file.
    pub bytes: u64,
    /// Number of events, or of entries that should be events.
    pub events: u64,
    /// Time in which at least one of these events ran, in µs; null if unknown.
    pub time_us: Option<f64>,
}

impl Lost {
    /// What reading lost, according to a warning.
    fn of(warning: &ReadingWarning) -> Option<Self> {
        let lost = |bytes: u64, events: u64| Some(Lost { bytes, events, time_us: None });
        match *warning {
            ReadingWarning::Truncated { bytes_lost } | ReadingWarning::BrokenText { bytes_lost, .. } => {
                lost(bytes_lost, 0)
            }
            ReadingWarning::MalformedEvents { count, bytes_skipped, .. } => lost(bytes_skipped, count),
            ReadingWarning::SecondTrace { bytes, events } => lost(bytes, events),
            ReadingWarning::MalformedRecords { count, .. }
            | ReadingWarning::Records { fault: RecordFault::LostPacket | RecordFault::NotCollected, count }
            | ReadingWarning::Events { fault: EventFault::WithoutTimestamp, count, .. } => lost(0, count),
            _ => None,
        }
    }

    /// Device events that belong to no operator.
    fn to_operators(events: u64, time_us: f64) -> Self {
        Lost { bytes: 0, events, time_us: Some(time_us) }
    }
}

/// Severity of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something optional is missing.
    Info,
    /// Some figures are incomplete.
    Warning,
    /// Figures may be wrong.
    Distrust,
}

/// An error: why there is no answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Problem {
    /// Its source and kind, such as `ingest/unknown-format`. Never renamed.
    pub code: String,
    /// Which file, what was found, what was expected.
    pub message: String,
    /// Name of the file concerned; null if none or several.
    pub input: Option<String>,
    /// What the file holds; null if irrelevant or unknown.
    pub found: Option<String>,
    /// Formats that could have been read instead.
    pub expected: Option<String>,
    /// What to do, or the valid choices; null if unknown.
    pub action: Option<String>,
}

impl Problem {
    /// What went wrong, of no file.
    #[must_use]
    pub fn new(said: &dyn Diagnostic) -> Self {
        let (code, message, action) = (code(said), said.to_string(), help(said));
        Problem { code, message, input: None, found: None, expected: None, action }
    }

    /// The same of a file.
    #[must_use]
    pub fn with_input(self, file: &Path, details: InputDetails) -> Self {
        Problem { input: Some(details.name_of(file)), ..self }
    }

    /// What reading says of the content of a file beside its message.
    #[must_use]
    pub fn with_content(self, error: &IngestError) -> Self {
        let (found, expected) = match error {
            IngestError::UnknownFormat { found, expected, .. } => (found.clone(), expected),
            IngestError::OtherKind { found, expected, .. } => (found.to_string(), expected),
            _ => return self,
        };
        Problem { found: Some(found), expected: Some(expected.clone()), ..self }
    }
}

/// A recommended change. Times are in µs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AnswerFinding {
    /// The rule.
    pub rule: String,
    /// Its rank, from 1.
    pub rank: usize,
    /// What is wrong, and where.
    pub title: String,
    /// Time affected, including the gain; null if unknown.
    pub amount_us: Option<f64>,
    /// Recoverable time; null if unknown.
    pub us: Option<Gain>,
    /// Probable gain in percent of the window.
    pub share_pct: Option<f64>,
    /// Its confidence.
    pub confidence: &'static str,
    /// Rows as evidence.
    pub evidence: Vec<Row>,
    /// Reasons to doubt it, by rule of `doctor`.
    pub doubts: Vec<String>,
    /// What to do.
    pub action: String,
}

/// A gain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Gain {
    /// Minimum.
    pub low: f64,
    /// Probable value.
    pub mid: f64,
    /// Maximum.
    pub high: f64,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// The table.
    pub table: String,
    /// Column of the key.
    pub column: String,
    /// The key.
    pub key: String,
}

/// What could not be answered.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CannotAnswer {
    /// The missing tables or figure.
    pub question: String,
    /// The reason as a code: `no-shapes`, `no-stacks`, `no-steps`, `no-device-events`, `no-links`, `no-architecture`,
    /// `no-sync-events`, `format-lacks`, `not-comparable`, `not-told`.
    pub code: &'static str,
    /// The reason.
    pub reason: String,
    /// How to record what is missing.
    pub needs: String,
}

impl<'a> Answer<'a> {
    /// An answer without content.
    #[must_use]
    pub fn new(tool: Tool, command: Asked, inputs: Vec<Input>) -> Self {
        Answer {
            schema: SCHEMA,
            created_at: None,
            tool,
            command,
            inputs,
            status: Status::Ok,
            trust: None,
            warnings: Vec::new(),
            error: None,
            result: Value::Null,
            tables: Vec::new(),
            findings: Vec::new(),
            cannot_answer: Vec::new(),
        }
    }

    /// Why there is no answer.
    #[must_use]
    pub fn failed(self, problem: Problem) -> Self {
        Answer { status: Status::Error, error: Some(problem), ..self }
    }

    /// What the command says in its own form.
    ///
    /// # Errors
    /// When it has keys that JSON cannot have.
    pub fn with_result(mut self, result: &impl Serialize) -> serde_json::Result<Self> {
        self.result = serde_json::to_value(result)?;
        Ok(self)
    }

    /// Adds the warnings, and `partial` if a file is cut off or left out.
    #[must_use]
    pub fn with_notices<'n>(mut self, notices: impl IntoIterator<Item = &'n Notice>) -> Self {
        // What a script prints is no warning.
        let is_said =
            |notice: &&Notice| matches!(notice, Notice::Analysis(tree_perf::Notice::ExtensionSays { .. }));
        for notice in notices.into_iter().filter(|notice| !is_said(notice)) {
            let input = self.inputs.iter().find(|input| notice.file() == Some(&input.path));
            let said = match (notice, input) {
                // The input says which file.
                (Notice::File { notice, .. }, Some(_)) => notice,
                _ => notice,
            };
            self.warnings.push(AnswerWarning { input: input.map(|input| input.id.clone()), ..said.into() });
            if notice.reports_loss() {
                self.status = Status::Partial;
            }
        }
        self
    }

    /// The verdict of a gate, which may be inconclusive.
    ///
    /// # Errors
    /// Never in practice: all of it can be written as JSON.
    pub fn with_gate(mut self, gate: &Gate) -> serde_json::Result<Self> {
        self.result = gate.to_json()?;
        let lacking = match gate.verdict {
            Verdict::Inconclusive => {
                Some(("not-told", "make three recordings of each version, in separate jobs"))
            }
            Verdict::NotComparable => Some((
                "not-comparable",
                "record the same work on the same kind of machine, with the same options",
            )),
            Verdict::Pass | Verdict::Improved | Verdict::Fail => None,
        };
        if let Some((code, needs)) = lacking {
            self.status = Status::CannotAnswer;
            self.cannot_answer.push(CannotAnswer {
                question: "whether the candidate is slower".to_owned(),
                code,
                reason: gate.headline(),
                needs: needs.to_owned(),
            });
        }
        Ok(self)
    }
}

/// Optional details of input files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputDetails {
    /// Their hash, which requires reading them in full.
    pub hash: bool,
    /// Their names with folders, as given.
    pub full_path: bool,
}

impl InputDetails {
    /// The name of a file.
    #[must_use]
    pub fn name_of(self, path: &Path) -> String {
        match self.full_path && !is_standard_input(path) {
            true => path.display().to_string(),
            false => crate::report::title(path),
        }
    }
}

impl Input {
    /// A file, and what its beginning says of it. `number` counts from 1.
    #[must_use]
    pub fn of(path: &Path, role: Role, number: usize, details: InputDetails) -> Self {
        let is_file = !is_standard_input(path) && path.is_file();
        let kind = recognise(path, &ReadOptions::default()).ok();
        Input {
            id: format!("t{number}"),
            role,
            path: path.to_path_buf(),
            file: details.name_of(path),
            bytes: is_file.then(|| path.metadata().ok().map(|metadata| metadata.len())).flatten(),
            sha256: (is_file && details.hash).then(|| File::open(path).and_then(sha256).ok()).flatten(),
            format: kind.map(format),
            compression: is_file.then(|| File::open(path).and_then(compression).ok()).flatten(),
            recorder: None,
            devices: Vec::new(),
            rank: None,
            world_size: None,
            events: None,
            span_ns: None,
        }
    }

    /// The files of a question, in order.
    #[must_use]
    pub fn all(paths: &[PathBuf], role: Role, details: InputDetails) -> Vec<Self> {
        let inputs = paths.iter().enumerate();
        inputs.map(|(place, path)| Input::of(path, role, place + 1, details)).collect()
    }
}

/// How bytes are packed, by their beginning.
fn compression(bytes: impl io::Read) -> io::Result<&'static str> {
    let mut beginning = Vec::with_capacity(4);
    bytes.take(4).read_to_end(&mut beginning)?;
    Ok(match beginning[..] {
        [0x1f, 0x8b, ..] => "gzip",
        [0x28, 0xb5, 0x2f, 0xfd] => "zstd",
        [b'P', b'K', 3, 4] => "zip",
        _ => "none",
    })
}

/// What a kind of recording is called.
fn format(kind: RecordingKind) -> &'static str {
    match kind {
        RecordingKind::Trace => "kineto",
        RecordingKind::XPlane => "xplane",
        RecordingKind::Nsys => "nsys",
        RecordingKind::Rocprof => "rocprof",
        RecordingKind::TenstorrentOps => "tenstorrent-ops",
    }
}

/// Documents that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// What `--json` prints: [`Answer`].
    Answer,
    /// What `tracelens gate save` writes.
    Baseline,
}

impl Document {
    /// All of them.
    pub const ALL: [Document; 2] = [Document::Answer, Document::Baseline];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Document::Answer => "answer",
            Document::Baseline => "baseline",
        }
    }
}

/// The schema of a document, draft 2020-12, as the crate has it in `schema/NAME-1.json`.
#[must_use]
pub fn schema(document: Document) -> String {
    let schema = match document {
        Document::Answer => schemars::schema_for!(Answer<'_>),
        Document::Baseline => perf_gate::baseline_schema(),
    };
    let mut schema = schema.to_value();
    schema["$id"] = Value::from(format!("urn:tracelens:{}-1", document.name()));
    without_formats(&mut schema);
    // A schema is made of maps with text for keys.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// Takes away `"format": "uint64"` and the like, which validators report as unknown.
fn without_formats(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("format").is_some_and(Value::is_string) {
                members.remove("format");
            }
            members.values_mut().for_each(without_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(without_formats),
        _ => {}
    }
}

/// SHA-256 of bytes in hexadecimal digits.
pub fn sha256(mut bytes: impl io::Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut bytes, &mut HashWriter(&mut hash))?;
    let mut digits = String::with_capacity(64);
    for byte in hash.finalize() {
        // Writing to a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    Ok(digits)
}

struct HashWriter<'h>(&'h mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What reading lost.
pub(crate) struct Losses {
    /// Whether the file ends early or is damaged.
    pub truncated: bool,
    /// Bytes; `None` where damaged compression leaves that unknown.
    pub bytes: Option<u64>,
    /// Number of events, or of entries that should be events.
    pub events: u64,
}

impl Losses {
    /// What these warnings tell of.
    pub(crate) fn of<'w>(warnings: impl IntoIterator<Item = &'w ReadingWarning>) -> Self {
        let mut losses = Losses { truncated: false, bytes: Some(0), events: 0 };
        for warning in warnings {
            let is_damaged = matches!(warning, ReadingWarning::DamagedCompression { .. });
            losses.truncated |= is_damaged || matches!(warning, ReadingWarning::Truncated { .. });
            let lost = Lost::of(warning).unwrap_or_default();
            losses.bytes = losses.bytes.filter(|_| !is_damaged).map(|bytes| bytes + lost.bytes);
            losses.events += lost.events;
        }
        losses
    }
}

impl Trust {
    /// What reading alone tells.
    pub(crate) fn new(device_events: usize, losses: Losses) -> Self {
        let Losses { truncated, bytes, events } = losses;
        Trust {
            verdict: match (device_events, bytes) {
                (0, _) => TrustVerdict::Unusable,
                (_, Some(0)) if !truncated && events == 0 => TrustVerdict::Full,
                _ => TrustVerdict::Degraded,
            },
            device_events: Some(device_events as u64),
            linked_pct_of_time: None,
            modelled_pct_of_time: None,
            shapes: None,
            stacks: None,
            truncated,
            bytes_lost: bytes,
            events_lost: events,
            steps: None,
            clock: None,
        }
    }

    /// With the share of the device time whose launch is recorded, by a recorder that tells all launches.
    pub(crate) fn with_all_launches(mut self, linked: Option<f64>) -> Self {
        self.linked_pct_of_time = linked;
        self.with_doubts(linked.is_some_and(|linked| linked < LINKED_ENOUGH))
    }

    /// Degraded where there are doubts about figures.
    pub(crate) fn with_doubts(mut self, has_doubts: bool) -> Self {
        if self.verdict == TrustVerdict::Full && has_doubts {
            self.verdict = TrustVerdict::Degraded;
        }
        self
    }
}

/// Share of device time whose launch is recorded, in percent, from lengths and whether linked. `None` without time.
pub(crate) fn linked_percent(work: impl Iterator<Item = (i64, bool)>) -> Option<f64> {
    let (linked, all) = work.fold((0.0, 0.0), |(linked, all), (length, is_linked)| {
        let length = length as f64;
        (if is_linked { linked + length } else { linked }, all + length)
    });
    (all > 0.0).then(|| 100.0 * linked / all)
}

impl From<&Notice> for AnswerWarning {
    fn from(notice: &Notice) -> Self {
        let (count, first, lost) = match notice.innermost() {
            Notice::Reading(warning) => (count_of(warning), first_of(warning), Lost::of(warning)),
            Notice::Tree(warning) => tree_warning_details(warning),
            &Notice::UnlinkedDeviceEvents { events, time_us, .. } => {
                (Some(events as u64), None, Some(Lost::to_operators(events as u64, time_us)))
            }
            &Notice::CriticalPath { count, first_uid, .. } => (Some(count), first_uid.map(Place::Uid), None),
            _ => (None, None, None),
        };
        AnswerWarning {
            code: code(notice),
            severity: notice.severity().into(),
            input: None,
            count,
            first,
            lost,
            message: notice.to_string(),
            action: help(notice),
        }
    }
}

impl From<Option<miette::Severity>> for Severity {
    fn from(severity: Option<miette::Severity>) -> Self {
        match severity {
            Some(miette::Severity::Advice) => Severity::Info,
            Some(miette::Severity::Error) => Severity::Distrust,
            Some(miette::Severity::Warning) | None => Severity::Warning,
        }
    }
}

/// How often the tree met something, where first, and what operators lack for it.
fn tree_warning_details(warning: &TreeWarning) -> (Option<u64>, Option<Place>, Option<Lost>) {
    match *warning {
        TreeWarning::UnlinkedDeviceEvents { count, busy_microseconds } => {
            (Some(count), None, Some(Lost::to_operators(count, busy_microseconds)))
        }
        TreeWarning::ReattachedHostEvents { count, first_uid }
        | TreeWarning::Pass { count, first_uid, .. } => (Some(count), Some(Place::Uid(first_uid)), None),
        TreeWarning::SharedCorrelations { count } => (Some(count), None, None),
        _ => (None, None, None),
    }
}

/// How often reading met something.
fn count_of(warning: &ReadingWarning) -> Option<u64> {
    match *warning {
        ReadingWarning::InvalidUtf8 { count }
        | ReadingWarning::MalformedEvents { count, .. }
        | ReadingWarning::Events { count, .. }
        | ReadingWarning::UnusedPhase { count, .. }
        | ReadingWarning::UnknownMetadata { count }
        | ReadingWarning::LongNames { count, .. }
        | ReadingWarning::UnnamedArguments { count }
        | ReadingWarning::MalformedRecords { count, .. }
        | ReadingWarning::UnusedRecords { count, .. }
        | ReadingWarning::RecordsWithoutTimes { count, .. }
        | ReadingWarning::DeviceWorkWithoutTimes { count, .. }
        | ReadingWarning::Records { count, .. }
        | ReadingWarning::OtherArchiveMembers { ignored: count, .. } => Some(count),
        _ => None,
    }
}

/// Where reading first met something.
fn first_of(warning: &ReadingWarning) -> Option<Place> {
    match *warning {
        ReadingWarning::Events { first_uid, .. } => Some(Place::Uid(first_uid)),
        ReadingWarning::MalformedEvents { first_offset: offset, .. }
        | ReadingWarning::BrokenText { offset, .. } => Some(Place::Offset(offset)),
        _ => None,
    }
}

impl From<&Finding> for AnswerFinding {
    fn from(finding: &Finding) -> Self {
        let row = |row: &advise::EvidenceRow| Row {
            table: row.table.clone(),
            column: row.key.0.clone(),
            key: row.key.1.clone(),
        };
        AnswerFinding {
            rule: finding.rule.clone(),
            rank: finding.rank,
            title: format!("{}: {}", finding.what, finding.subject),
            amount_us: finding.amount_us,
            us: finding.gain.map(|gain| Gain { low: gain.low_us, mid: gain.mid_us, high: gain.high_us }),
            share_pct: finding.share_percent,
            confidence: finding.confidence.as_str(),
            evidence: finding.rows.iter().map(row).collect(),
            doubts: finding.doubts.iter().map(|doubt| doubt.rule.clone()).collect(),
            action: finding.remedy.clone(),
        }
    }
}

impl From<&crate::summary::LeftOut> for CannotAnswer {
    fn from(left_out: &crate::summary::LeftOut) -> Self {
        CannotAnswer {
            question: left_out.sheets.join(", "),
            code: match left_out.rule {
                "R1" | "R2" | "R5" => "no-device-events",
                "R3" => "no-shapes",
                "R4" => "no-stacks",
                "R8" => "no-architecture",
                "R9" => "no-sync-events",
                "R12" => "no-steps",
                _ => "format-lacks",
            },
            reason: left_out.lacks.clone(),
            needs: left_out.remedy.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_those_of_the_types() {
        for document in Document::ALL {
            let schema = schema(document);
            let file = format!("schema/{}-1.json", document.name());
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&file);
            if std::env::var_os("UPDATE_SCHEMA").is_some() {
                std::fs::write(&path, &schema).unwrap();
            }
            let kept = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                kept == schema,
                "{file} is not what the types say; UPDATE_SCHEMA=1 cargo test -p tracelens-answers envelope"
            );
        }
    }
}
