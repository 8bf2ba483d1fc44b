//! Codes and severities of all that is said, as programs rely on them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use inference_phase::capture::{CaptureWarning, SkipReason};
use inference_phase::methods::DetectionMethod;
use inference_phase::sheets::PhaseNotice;
use iterations::WindowError;
use metal_perf::{MetalError, MetalNotice, SignpostMark};
use miette::Diagnostic;
use multi_rank::{Diagnostic as OfJob, Error as JobError, Members};
use perf_gate::BaselineError;
use reference_tools::{ParityError, ParityNotice};
use report_writers::ReportError;
use rocprof_perf::RocprofNotice;
use sheets::TableError;
use trace_diff::{CompareNotice, ReadError};
use trace_ingest::metal::OpsWarning;
use trace_ingest::{EventFault, IngestError, Nanoseconds, RecordFault, RecordingKind, Warning};
use trace2tree::TreeWarning;
use tree_perf::Notice as OfAnalysis;
use xla_perf::JaxNotice;
use xla_perf::tpu::TpuNotice;

use super::{code, help, in_one_line};
use crate::envelope::{AnswerWarning, Problem};
use crate::picture::Picture;
use crate::{Error, NoPythonFrames, NothingToDraw, Notice};

fn file() -> PathBuf {
    "trace.json".into()
}

fn text() -> String {
    "text".to_owned()
}

fn io() -> std::io::Error {
    std::io::ErrorKind::NotFound.into()
}

fn json() -> serde_json::Error {
    serde_json::from_str::<u8>("").unwrap_err()
}

fn mark() -> SignpostMark {
    SignpostMark { name: text(), id: 2 }
}

fn table() -> TableError {
    TableError::Name { name: text() }
}

fn ingest() -> IngestError {
    IngestError::Empty { path: file() }
}

/// One of each kind of notice.
#[rustfmt::skip]
fn notices() -> Vec<Notice> {
    vec![
        Notice::OtherKindOfRun { kinds: [RecordingKind::Trace, RecordingKind::XPlane] },
        Notice::LittleAlike { operators_percent: 2.0 },
        Notice::NoWorkToAlign { advice: "do so" },
        Notice::UnlinkedDeviceEvents { events: 2, time_us: 2.0, in_timeline: true },
        Notice::CutOffInBaseline { file: text() },
        Notice::CutOffWhenMapped { path: file() },
        Notice::NoDeviceEvents { advice: "do so" },
        Notice::NoOperators,
        Notice::NoRooflines { device: None },
        Notice::LesserReport { kind: RecordingKind::XPlane },
        Notice::ViewOfXPlane { profile: None },
        Notice::UnopenedGraphs { launches: 2 },
        Notice::NoGraphs,
        Notice::UnmergedGraphs { launches: 2, of: 2, reason: SkipReason::NoStep },
        Notice::UnverifiedGraphs { device_events: 2, of: 2 },
        Notice::CriticalPath { fault: critical_path::Fault::Circle, count: 2, first_uid: None },
        Notice::LeftOut { path: file(), reason: text(), advice: None },
        Notice::TooManyCollectives { kernels: 2, most: 2 },
        Notice::NothingToDraw { picture: Picture::Steps, why: NothingToDraw::NoSteps },
        Notice::NoPythonFrames(NoPythonFrames::NotRecorded),
        Notice::NoPythonFrames(NoPythonFrames::NotedStacks),
        Notice::NoPythonFrames(NoPythonFrames::NotRecordable),
        Notice::Reading(Warning::Truncated { bytes_lost: 2 }),
        Notice::Reading(Warning::DamagedCompression { bytes_read: None, detail: text() }),
        Notice::Reading(Warning::BrokenText { offset: 2, detail: text(), bytes_lost: 2 }),
        Notice::Reading(Warning::TrailingText { bytes: 2 }),
        Notice::Reading(Warning::SecondTrace { bytes: 2, events: 2 }),
        Notice::Reading(Warning::OtherArchiveMembers { read: text(), ignored: 2 }),
        Notice::Reading(Warning::UnreadFile { name: text(), detail: text() }),
        Notice::Reading(Warning::InvalidUtf8 { count: 2 }),
        Notice::Reading(Warning::MalformedEvents { count: 2, first_offset: 2, detail: "x", bytes_skipped: 2 }),
        Notice::Reading(Warning::Events { fault: EventFault::WithoutName, count: 2, first_uid: 2 }),
        Notice::Reading(Warning::UnusedPhase { phase: None, count: 2 }),
        Notice::Reading(Warning::UnknownMetadata { count: 2 }),
        Notice::Reading(Warning::UnnamedArguments { count: 2 }),
        Notice::Reading(Warning::UnreadableFact { key: "x", detail: text() }),
        Notice::Reading(Warning::MalformedRecords { list: text(), count: 2, detail: text() }),
        Notice::Reading(Warning::UnusedRecords { list: text(), count: 2 }),
        Notice::Reading(Warning::RecordsWithoutTimes { list: text(), count: 2 }),
        Notice::Reading(Warning::DeviceWorkWithoutTimes { count: 2, of: 3 }),
        Notice::Reading(Warning::CounterPass { file: text(), trace: text(), joined: 2, dispatches: 3 }),
        Notice::Reading(Warning::Records { fault: RecordFault::LostPacket, count: 2 }),
        Notice::Reading(Warning::UnreadTables { tables: vec![(text(), 2)] }),
        Notice::Reading(Warning::UnreadVersions { tables: vec![(text(), 2)] }),
        Notice::Reading(Warning::NotRecorded { what: "x", advice: "do so" }),
        Notice::Reading(Warning::RecorderMessage { text: text() }),
        Notice::Tree(TreeWarning::ReattachedHostEvents { count: 2, first_uid: 2 }),
        Notice::Tree(TreeWarning::UnlinkedDeviceEvents { count: 2, busy_microseconds: 2.0 }),
        Notice::Tree(TreeWarning::Pass { pass: text(), problem: text(), count: 2, first_uid: 2 }),
        Notice::Tree(TreeWarning::SharedCorrelations { count: 2 }),
        Notice::Analysis(OfAnalysis::ShortKernelsWithoutArguments { count: 2, time_us: 2.0 }),
        Notice::Analysis(OfAnalysis::CallsOutsideKernelLists { calls: 2, of: 2 }),
        Notice::Analysis(OfAnalysis::PassFailed { pass: text(), reason: text() }),
        Notice::Analysis(OfAnalysis::ExtensionSays { text: text() }),
        Notice::Analysis(OfAnalysis::ExtensionWithoutEffect { reason: text() }),
        Notice::Analysis(OfAnalysis::ExtensionRuleFailed { reason: text() }),
        Notice::Analysis(OfAnalysis::ExtensionModelFailed { reason: text(), calls: 2 }),
        Notice::Analysis(OfAnalysis::CommunicationGuessed { kernels: 2, time_us: 2.0, example: text() }),
        Notice::Analysis(OfAnalysis::MemoryWithoutModules),
        Notice::Analysis(OfAnalysis::MemoryWithoutFrames),
        Notice::Analysis(OfAnalysis::NoRangeOfName { name: text() }),
        Notice::Analysis(OfAnalysis::NoMemory),
        Notice::Analysis(OfAnalysis::MemoryWithoutTotals { count: 2 }),
        Notice::Analysis(OfAnalysis::NoSequences { part: text() }),
        Notice::Analysis(OfAnalysis::PeaksMissing { architecture: text(), calls: vec![(text(), 2)], have_bytes: true }),
        Notice::Phases(PhaseNotice::Inferred { by: Vec::new(), unknown_percent: 2.0, prompts_percent: 2.0 }),
        Notice::Phases(PhaseNotice::Undecided { method: DetectionMethod::Hybrid, percent: 2.0 }),
        Notice::Phases(PhaseNotice::DeviceOnly),
        Notice::Phases(PhaseNotice::TraceLens { method: inference_phase::tracelens::Method::default() }),
        Notice::Captures(Arc::new(CaptureWarning::NoTraces { folder: file() })),
        Notice::Captures(Arc::new(CaptureWarning::Entry { path: file(), index: 2, detail: text() })),
        Notice::Captures(Arc::new(CaptureWarning::Unreadable(ingest()))),
        Notice::Captures(Arc::new(CaptureWarning::NoCapture { path: file() })),
        Notice::Xla(JaxNotice::DamagedProgram { reason: text() }),
        Notice::Xla(JaxNotice::UnknownInstructions { kernels: 2, time_us: 2.0 }),
        Notice::Xla(JaxNotice::KernelsWithoutInstruction { kernels: 2, time_us: 2.0 }),
        Notice::Xla(JaxNotice::CopyKernelsAreComputation { kernels: 2, time_us: 2.0 }),
        Notice::Xla(JaxNotice::NothingHasKeyword { keywords: vec![text()] }),
        Notice::Xla(JaxNotice::SumsLeftOut { sums: 2 }),
        Notice::Xla(JaxNotice::Recorder { text: text() }),
        Notice::Tpu(TpuNotice::SparseCores { planes: vec![text()] }),
        Notice::Tpu(TpuNotice::NoPeaks { reason: text() }),
        Notice::Tpu(TpuNotice::WithoutOperation { executions: 2, time_us: 2.0 }),
        Notice::Tpu(TpuNotice::Unfinished { transfers: 2 }),
        Notice::Rocprof(RocprofNotice::NoKernels),
        Notice::Rocprof(RocprofNotice::NoShortKernels { threshold_us: 2.0 }),
        Notice::Rocprof(RocprofNotice::NoProcessTimes),
        Notice::Rocprof(RocprofNotice::OutsideProcessTimes { records: 2 }),
        Notice::Rocprof(RocprofNotice::TraceLensFigures),
        Notice::Rocprof(RocprofNotice::PftraceShortKernels { count: 2, time: Nanoseconds(2), min_event: Nanoseconds(2) }),
        Notice::Rocprof(RocprofNotice::PftraceShortCalls { count: 2, time: Nanoseconds(2), min_event: Nanoseconds(2) }),
        Notice::Rocprof(RocprofNotice::KernelsWithoutAgent { count: 2 }),
        Notice::Rocprof(RocprofNotice::LaunchesWithoutKernel { count: 2 }),
        Notice::Rocprof(RocprofNotice::CopiesWithoutSize { count: 2 }),
        Notice::Tenstorrent(MetalNotice::ChipGuessed { chip: "x", cores: 2, most_used: None }),
        Notice::Tenstorrent(MetalNotice::SeveralChips { names: vec![text()], taken: "x" }),
        Notice::Tenstorrent(MetalNotice::CardAssumed { chip: text(), dram_gb_per_s: 2.0, others: "x" }),
        Notice::Tenstorrent(MetalNotice::NotSorted),
        Notice::Tenstorrent(MetalNotice::Window { after: None, before: None, file: None, asked: true }),
        Notice::Tenstorrent(MetalNotice::SignpostNotFound { name: text(), is_end: true, occurrences: 2 }),
        Notice::Tenstorrent(MetalNotice::SignpostRepeats { name: text(), occurrences: 2 }),
        Notice::Tenstorrent(MetalNotice::SteppedBack { empty: mark(), taken: None }),
        Notice::Tenstorrent(MetalNotice::EmptyWindow { after: None, before: None }),
        Notice::Tenstorrent(MetalNotice::OnlySignposts { signposts: 2 }),
        Notice::Tenstorrent(MetalNotice::NothingLeft { of: 2 }),
        Notice::Tenstorrent(MetalNotice::NoDevices),
        Notice::Tenstorrent(MetalNotice::DevicesKeptApart { devices: 2 }),
        Notice::Tenstorrent(MetalNotice::DevicesMerged { devices: 2, rows: 2, into: 2 }),
        Notice::Tenstorrent(MetalNotice::IncompleteCalls { calls: 2, first: text(), id: 2, lacking: vec![2] }),
        Notice::Tenstorrent(MetalNotice::AlignedByName { rows: 2 }),
        Notice::Tenstorrent(MetalNotice::FrontsDiffer { times: 2, first: text() }),
        Notice::Tenstorrent(MetalNotice::DeviceUnknown { rows: 2 }),
        Notice::Tenstorrent(MetalNotice::Unclassified { names: vec![(text(), 2)] }),
        Notice::Tenstorrent(MetalNotice::ActiveExpertsUnknown { rows: 2 }),
        Notice::Tenstorrent(MetalNotice::InvalidDurations { rows: 2, id: 2 }),
        Notice::Tenstorrent(MetalNotice::SubDevices { named: true, budgets: vec![2] }),
        Notice::Tenstorrent(MetalNotice::AboveHundred { rows: 2, id: 2, percent: 2.0 }),
        Notice::Tenstorrent(MetalNotice::Reading(OpsWarning::MalformedRows { path: file(), count: 2, first_line: 2, detail: text() })),
        Notice::Tenstorrent(MetalNotice::Reading(OpsWarning::Source { path: file(), detail: text(), loses_rows: true })),
        Notice::Tenstorrent(MetalNotice::Reading(OpsWarning::NoDevices { path: file() })),
        Notice::Tenstorrent(MetalNotice::Reading(OpsWarning::UnusableCells { column: text(), count: 2 })),
        Notice::Tenstorrent(MetalNotice::Reading(OpsWarning::DifferentColumns { path: file(), columns: vec![text()] })),
        Notice::Job(OfJob::RanksMissing { ranks: Members::new([0, 1]), of: 2 }),
        Notice::Job(OfJob::OtherJob { path: text(), world_size: 2, usual: 2 }),
        Notice::Job(OfJob::RankByOrder { path: text(), rank: 2 }),
        Notice::Job(OfJob::NoRank { path: text(), why: "x" }),
        Notice::Job(OfJob::CutOff { rank: 2, path: text() }),
        Notice::Job(OfJob::Unreliable { rule: text(), ranks: Members::new([0, 1]), finding: text(), consequence: text() }),
        Notice::Job(OfJob::NoCollectives { rank: 2 }),
        Notice::Job(OfJob::OtherSteps { rank: 2, steps: 2, usual: 2 }),
        Notice::Job(OfJob::OtherFirstStep { host: text(), against: text() }),
        Notice::Job(OfJob::NoMetadata { ranks: Members::new([0, 1]), kernels: 2 }),
        Notice::Job(OfJob::MembersPartial { group: text() }),
        Notice::Job(OfJob::Ambiguous { group: text(), rank: 2, why: "x" }),
        Notice::Job(OfJob::Unmatched { group: text(), rank: 2, collectives: 2 }),
        Notice::Job(OfJob::KernelsMissing { rank: 2, collectives: 2 }),
        Notice::Job(OfJob::StartSkew { rank: 2, microseconds: 2 }),
        Notice::Job(OfJob::ShorterWindow { rank: 2, before: 2, after: 2 }),
        Notice::Job(OfJob::Contradiction { group: text(), collectives: 2 }),
        Notice::Job(OfJob::EndsApart { group: text(), collectives: 2 }),
        Notice::Job(OfJob::ClockJump { host: text(), against: text(), by: 2 }),
        Notice::Job(OfJob::ClockAlone { host: text() }),
        Notice::Job(OfJob::StaleTables { path: text(), why: text() }),
        Notice::Comparison(CompareNotice::OnlyIn { sheet: text(), run: text() }),
        Notice::Comparison(CompareNotice::WithoutKey { sheet: text(), key: text(), run: text() }),
        Notice::Comparison(CompareNotice::NoTime { sheet: text() }),
        Notice::Comparison(CompareNotice::OneFactor { factor: 2.0, runs: [text(), text()] }),
        Notice::Comparison(CompareNotice::CutDifferently { runs: [text(), text()] }),
        Notice::Comparison(CompareNotice::LittleInCommon { likeness: 2.0, sheet: text() }),
        Notice::ComparisonAsTraceLens(ParityNotice::Missing { sheet: "x", run: text() }),
        Notice::ComparisonAsTraceLens(ParityNotice::Empty { sheet: "x" }),
        Notice::ComparisonAsTraceLens(ParityNotice::Multiplied { sheet: "x", rows: 2, joined: 2 }),
    ]
}

/// One of each kind of error.
#[rustfmt::skip]
fn errors() -> Vec<Error> {
    vec![
        Error::NoRecording,
        Error::BaselineOfTrace { path: file(), kind: RecordingKind::XPlane, baseline: file() },
        Error::OneRun { given: 2 },
        Error::TwoRuns { given: 2 },
        Error::CountOfRuns { what: "x", given: 2, runs: 2 },
        Error::NameOfRun { name: text() },
        Error::NothingInCommon { baseline: file(), path: file(), sheets: text() },
        Error::NotRecorded { path: file(), what: text(), advice: "do so" },
        Error::OneAtATime { kind: RecordingKind::XPlane, second: file() },
        Error::NeedsFile { path: file() },
        Error::Baseline { path: file(), error: BaselineError::Empty },
        Error::LargeBaseline { path: file(), most: 2 },
        Error::NoRanks { recordings: 2, first: Box::new(Error::NoRecording), advice: None },
        Error::FuseOfProfile { path: file() },
        Error::TablesOfProfile { path: file(), option: "x" },
        Error::RanksOfProfile { path: file() },
        Error::NoGpuAtWork { path: file(), planes: text() },
        Error::NoGpuInExport { path: file() },
        Error::SameSession { first: file(), second: file() },
        Error::NoGpuEvents { path: file(), events: 2, advice: "do so", warnings: Vec::new() },
        Error::Window { path: file(), error: WindowError::Empty },
        Error::NoSuchAnnotation { path: file(), name: text(), last: 2, found: 2, near: vec![] },
        Error::NoPath { path: file() },
        Error::NothingToChange { path: file(), name: text(), near: vec![text()] },
        Error::Overlay { path: file(), source: io() },
        Error::NoDevicePlane { path: file(), planes: text(), lost: "x" },
        Error::SameRecording { path: file() },
        Error::MoreGpus { path: file(), gpu: 2, gpus_per_node: 2 },
        Error::NoCollectives { profiles: 2 },
        Error::Metal { paths: vec![file()], error: MetalError::OccurrenceZero },
        Error::ArchitectureFile { path: file(), detail: text() },
        Error::UnknownArchitecture { name: text(), known: text() },
        Error::Ingest(IngestError::Io { path: file(), source: io() }),
        Error::Ingest(IngestError::Stopped { path: file() }),
        Error::Ingest(IngestError::Directory { path: file(), recordings: vec![file()] }),
        Error::Ingest(IngestError::Empty { path: file() }),
        Error::Ingest(IngestError::UnknownFormat { path: file(), found: text(), expected: text() }),
        Error::Ingest(IngestError::Pattern { path: file() }),
        Error::Ingest(IngestError::NotCompiled { path: file(), what: "x", feature: "y" }),
        Error::Ingest(IngestError::Foreign { path: file(), what: "x", advice: "do so" }),
        Error::Ingest(IngestError::OtherKind { path: file(), found: RecordingKind::XPlane, expected: text() }),
        Error::Ingest(IngestError::AmbiguousFormat { path: file(), first: "x", second: "x" }),
        Error::Ingest(IngestError::Archive { path: file(), detail: text() }),
        Error::Ingest(IngestError::NoEvents { path: file(), detail: text(), offset: 2 }),
        Error::Ingest(IngestError::OtherPerfetto { path: file(), found: text() }),
        Error::Ingest(IngestError::NoEntries { path: file() }),
        Error::Ingest(IngestError::NotRocprof { path: file(), missing: text(), found: text() }),
        Error::Ingest(IngestError::NothingRecorded { path: file(), faults: vec![text()] }),
        Error::Ingest(IngestError::NotOpsCsv { path: file(), found: text() }),
        Error::Ingest(IngestError::MissingColumns { path: file(), missing: text(), header: text() }),
        Error::Ingest(IngestError::DifferentDevices { path: file(), devices: 2, first: file(), expected: 2 }),
        Error::Ingest(IngestError::Damaged { path: file(), format: "x", field: text(), offset: 2, detail: text() }),
        Error::Ingest(IngestError::DamagedDatabase { path: file(), table: text(), detail: text() }),
        Error::Ingest(IngestError::TooLong { path: file(), what: "x", limit: text() }),
        Error::Ingest(IngestError::TooManyEvents { path: file(), limit: 2 }),
        Error::Job(JobError::Io { path: file(), source: io() }),
        Error::Job(JobError::Table { path: file(), source: io().into() }),
        Error::Job(JobError::Manifest { path: file(), source: json() }),
        Error::Job(JobError::RankTwice { rank: 2, first: file(), second: file() }),
        Error::Job(JobError::TwoKinds { profile: file(), trace: file() }),
        Error::Job(JobError::Ingest(ingest())),
        Error::Job(JobError::OtherEnding { path: file() }),
        Error::Job(JobError::OverwritesRecording { path: file() }),
        Error::Job(JobError::Changed { path: file() }),
        Error::Job(JobError::NoSuchRank { missing: Members::new([0, 1]), there: Members::new([0, 1]) }),
        Error::Job(JobError::NoSuchStep { wanted: 0..2, there: None }),
        Error::Job(JobError::NoRanks { path: file(), unused: None }),
        Error::Parity(ParityError::NoColumn { sheet: "x", run: text(), column: text() }),
        Error::Parity(ParityError::TooManyRows { sheet: "x" }),
        Error::Parity(ParityError::Table(table())),
        Error::ReadReport(ReadError::Io { path: file(), source: io() }),
        Error::ReadReport(ReadError::Csv { path: file(), source: io().into() }),
        Error::ReadReport(ReadError::Workbook { path: file(), detail: text() }),
        Error::ReadReport(ReadError::Json { path: file(), source: json() }),
        Error::ReadReport(ReadError::TooLarge { path: file(), most: 2, what: "x" }),
        Error::ReadReport(ReadError::Table { path: file(), source: table() }),
        Error::Table(TableError::Name { name: text() }),
        Error::Table(TableError::DuplicateColumn { table: text(), column: text() }),
        Error::Table(TableError::ColumnLength { table: text(), column: text(), cells: 2, rows: 2 }),
        Error::Table(TableError::ChartColumn { table: text(), chart: "x", column: "x" }),
        Error::Table(TableError::ChartValues { table: text(), chart: "x", column: "x" }),
        Error::Report(ReportError::DuplicateName { name: text() }),
        Error::Report(ReportError::ChartTable { table: text(), chart: "x", points: "x" }),
        Error::Report(ReportError::Points(table())),
    ]
}

/// A warning has its help apart from its message, and says how much it matters.
fn is_well_said(said: &dyn Diagnostic) -> bool {
    let message = said.to_string();
    !message.ends_with('.') && help(said).is_none_or(|help| !help.is_empty() && !message.contains(&help))
}

#[test]
fn codes_are_never_renamed() {
    let notices = notices();
    let warnings = notices.iter().map(|notice| {
        assert!(is_well_said(notice) && notice.severity().is_some(), "{}", in_one_line(notice));
        let AnswerWarning { code, severity, .. } = notice.into();
        format!("warning {code} {}", serde_json::to_value(severity).unwrap().as_str().unwrap())
    });
    let errors = errors();
    let errors = errors.iter().map(|error| {
        assert!(is_well_said(error), "{}", in_one_line(error));
        format!("error {}", code(error))
    });
    let mut said: Vec<String> = warnings.chain(errors).collect();
    // Two kinds of notice may be one to programs.
    said.dedup();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/codes-1.txt");
    let kept = std::fs::read_to_string(&path).unwrap();
    let lost: Vec<&str> = kept.lines().filter(|kept| !said.iter().any(|said| said == kept)).collect();
    assert!(lost.is_empty(), "codes that programs rely on are gone: {lost:?}");
    let said = said.join("\n") + "\n";
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, said).unwrap();
    } else {
        assert_eq!(
            kept, said,
            "new codes are kept: UPDATE_SCHEMA=1 cargo test -p tracelens-answers diagnostic"
        );
    }
}

#[test]
fn what_is_wrapped_is_heard() {
    let notice =
        Notice::Reading(Warning::NotRecorded { what: "GPU activity", advice: "record with --trace=cuda" });
    let notice = Notice::File { path: "a; b".into(), notice: Box::new(notice) };
    let warning = AnswerWarning::from(&notice);
    assert_eq!(warning.message, "a; b: the recording lacks GPU activity");
    assert_eq!(
        (warning.code.as_str(), warning.action.as_deref()),
        ("reading/not-recorded", Some("record with --trace=cuda"))
    );
    let lost = Notice::Reading(Warning::Records { fault: RecordFault::LostPacket, count: 2 });
    assert_eq!(AnswerWarning::from(&lost).action.as_deref(), Some("record with a larger buffer"));
    let problem = Problem::new(&Error::Job(JobError::Ingest(ingest())));
    assert_eq!(
        (problem.code.as_str(), problem.action.as_deref()),
        ("job/ingest/empty", Some("record it again"))
    );
}
