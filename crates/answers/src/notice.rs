//! What a reader has to know of a report.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use inference_phase::capture::{CaptureWarning, SkipReason};
use inference_phase::sheets::PhaseNotice;
use metal_perf::MetalNotice;
use multi_rank::Diagnostic;
use reference_tools::ParityNotice;
use rocprof_perf::RocprofNotice;
use trace_diff::CompareNotice;
use trace_ingest::{RecordingKind, Trace, Warning};
use trace2tree::TreeWarning;
use xla_perf::JaxNotice;
use xla_perf::tpu::TpuNotice;

use crate::numbers::{counted, duration, grouped};
use crate::picture::{NothingToDraw, Picture};

/// What a reader must know before trusting or missing a figure. The text names no option of any program:
/// the program adds the option that helps.
#[derive(Clone, Debug, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum Notice {
    /// About one of the compared runs.
    #[error("{run}: {notice}")]
    #[diagnostic(forward(notice))]
    Run {
        /// What the run is called.
        run: String,
        /// What there is to know of it.
        notice: Box<Notice>,
    },
    /// About a comparison of runs.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Comparison(CompareNotice),
    /// About a comparison with `--parity tracelens`.
    #[error(transparent)]
    #[diagnostic(transparent)]
    ComparisonAsTraceLens(ParityNotice),
    /// The compared trees come from different kinds of recordings.
    #[error("A is {} and B is {}: they record different things, so an item found in only one recording may occur in both runs", .kinds[0], .kinds[1])]
    #[diagnostic(code("other-kind-of-run"), severity(Error))]
    OtherKindOfRun {
        /// The kinds of A and of B.
        kinds: [RecordingKind; 2],
    },
    /// The compared trees share few operators.
    #[error(
        "only {operators_percent:.1}% of operators match between the runs: these may be different programs"
    )]
    #[diagnostic(code("little-alike"), severity(Error))]
    LittleAlike {
        /// Percentage of operators that match one in the other run, over both runs.
        operators_percent: f64,
    },
    /// A run whose tree is compared has no device events.
    #[error("the recording has no device events: nothing to compare")]
    #[diagnostic(code("no-work-to-align"), severity(Warning), help("{advice}"))]
    NoWorkToAlign {
        /// What gives a recording some.
        advice: &'static str,
    },
    /// Device events without a launch in the trace are no part of the operators' figures.
    #[error("{} ({}) without a launch in the recording: {}", counted(*.events, "device event", "device events"), duration(*.time_us), if *.in_timeline { "counted in the timeline, but under no operator" } else { "counted neither in the timeline nor under any operator" })]
    #[diagnostic(code("unlinked-device-events"), severity(Warning))]
    UnlinkedDeviceEvents {
        /// How many.
        events: usize,
        /// Their busy time in µs.
        time_us: f64,
        /// Whether the timeline counts them.
        in_timeline: bool,
    },
    /// A requested figure needs Python frames, which the trace lacks.
    #[error(transparent)]
    #[diagnostic(transparent)]
    NoPythonFrames(NoPythonFrames),
    /// A recording in a baseline is incomplete.
    #[error("{file}: part of the recording is lost, so `gate` rejects it")]
    #[diagnostic(code("cut-off-in-baseline"), severity(Error), help("record it again"))]
    CutOffInBaseline {
        /// Its name there.
        file: String,
    },
    /// A recording was incomplete when its tables were made.
    #[error("{path}: was truncated or damaged when its tables were made, so they are incomplete", path = .path.display())]
    #[diagnostic(code("cut-off-when-mapped"), severity(Error), help("record it again"))]
    CutOffWhenMapped {
        /// Its path.
        path: PathBuf,
    },
    /// The trace has operators but no device events: device sheets are omitted.
    #[error("gpu_timeline and the other device sheets are omitted: the trace has no device events")]
    #[diagnostic(code("no-device-events"), severity(Warning), help("{advice}"))]
    NoDeviceEvents {
        /// What gives a recording some.
        advice: &'static str,
    },
    /// The trace has device events only, and their list was not requested.
    #[error("the trace has no operators, only kernels")]
    #[diagnostic(code("no-operators"), severity(Warning))]
    NoOperators,
    /// The device's peaks are unknown: no rooflines.
    #[error("no rooflines: {}", unknown_peaks(.device.as_deref()))]
    #[diagnostic(code("no-rooflines"), severity(Advice))]
    NoRooflines {
        /// The device as the recording names it, if it does.
        device: Option<Box<str>>,
    },
    /// A report as for traces, although this kind of recording has its own.
    #[error("{kind} has its own, more detailed report")]
    #[diagnostic(code("lesser-report"), severity(Advice))]
    LesserReport {
        /// Kind of the recording.
        kind: RecordingKind,
    },
    /// XProf wrote the trace of a profile, for viewing.
    #[error("XProf wrote this trace for viewing; {} has more: programs, their costs and all events", viewed(.profile.as_deref()))]
    #[diagnostic(code("view-of-x-plane"), severity(Advice))]
    ViewOfXPlane {
        /// The profile, if it is beside the trace.
        profile: Option<PathBuf>,
    },
    /// Recoverable faults of the file.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Reading(Warning),
    /// What the tree could not place.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Tree(TreeWarning),
    /// What the sheets of a trace leave out.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Analysis(tree_perf::Notice),
    /// What the phases rest on.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Phases(PhaseNotice),
    /// What was wrong with the traces of graph captures.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Captures(Arc<CaptureWarning>),
    /// Graph launches hide the operators inside.
    #[error("{} operators", counted(*.launches, "graph launch is counted without its", "graph launches are counted without their"))]
    #[diagnostic(
        code("unopened-graphs"),
        severity(Warning),
        help("pass the graphs' capture traces to expand them")
    )]
    UnopenedGraphs {
        /// How many.
        launches: usize,
    },
    /// Graph captures were given, but the trace launches no graph.
    #[error("the trace has no graph launches, so there is nothing to expand with the captures")]
    #[diagnostic(code("no-graphs"), severity(Warning))]
    NoGraphs,
    /// Some graph launches match no capture.
    #[error("{} of {} graph launches hide their operators: {reason}", grouped(*.launches as u128), grouped(*.of as u128))]
    #[diagnostic(code("unmerged-graphs"), severity(Warning))]
    UnmergedGraphs {
        /// How many of them.
        launches: usize,
        /// How many graph launches there are.
        of: usize,
        /// Why.
        reason: SkipReason,
    },
    /// Graph device events matched to operators by order and count only.
    #[error("{} of {} graph device events are matched to operators by order and count only: the capture has no kernel names", grouped(*.device_events as u128), grouped(*.of as u128))]
    #[diagnostic(code("unverified-graphs"), severity(Warning))]
    UnverifiedGraphs {
        /// How many.
        device_events: usize,
        /// How many device events of graphs have an operator.
        of: usize,
    },
    /// What is known of an XLA profile.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Xla(JaxNotice),
    /// What is known of the TPUs of a profile.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Tpu(TpuNotice),
    /// What is known of a rocprofv3 profile.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Rocprof(RocprofNotice),
    /// What is known of Tenstorrent operations.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Tenstorrent(MetalNotice),
    /// What is odd about the recordings of a job.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Job(Diagnostic),
    /// Oddities of a recording on the way to its critical path.
    #[error("{fault}: {}{}", grouped((*.count).into()), first_event(*.first_uid))]
    #[diagnostic(code("critical-path"), severity(Warning))]
    CriticalPath {
        /// What it is.
        fault: critical_path::Fault,
        /// How often.
        count: u64,
        /// Index in the file's list of the first event, where one is known.
        first_uid: Option<u32>,
    },
    /// A recording of a job that cannot be used.
    #[error("a recording of the job is omitted: {reason}")]
    #[diagnostic(code("left-out"), severity(Error))]
    LeftOut {
        /// Its file.
        path: PathBuf,
        /// Why.
        reason: String,
        /// What to do about that.
        #[help]
        advice: Option<String>,
    },
    /// Too many collectives to list.
    #[error("{} collective kernels are too many to list (at most {}): only sums are shown", grouped(*.kernels as u128), grouped(*.most as u128))]
    #[diagnostic(code("too-many-collectives"), severity(Warning))]
    TooManyCollectives {
        /// Kernels of collectives.
        kernels: usize,
        /// The most that are listed.
        most: usize,
    },
    /// A notice about one of several files.
    #[error("{path}: {notice}", path = .path.display())]
    #[diagnostic(forward(notice))]
    File {
        /// The file.
        path: PathBuf,
        /// The notice.
        notice: Box<Notice>,
    },
    /// A requested picture would be empty and is omitted.
    #[error("no plot of {}: {why}", drawn(*.picture))]
    #[diagnostic(code("nothing-to-draw"), severity(Advice))]
    NothingToDraw {
        /// The picture.
        picture: Picture,
        /// Why.
        why: NothingToDraw,
    },
}

/// Why a trace has no Python frames.
#[derive(Clone, Copy, Debug, thiserror::Error, miette::Diagnostic)]
pub enum NoPythonFrames {
    /// They were not asked for.
    #[error("the trace has no Python frames")]
    #[diagnostic(code("no-python-frames"), severity(Advice), help("record it with with_stack=True"))]
    NotRecorded,
    /// Only operators have call stacks, as text.
    #[error("the trace has call stacks only as operator arguments, without modules or frame times")]
    #[diagnostic(code("no-python-frames"), severity(Advice), help("record it with PyTorch 1.12 or later"))]
    NotedStacks,
    /// The recorder cannot.
    #[error("the trace has no Python frames: its profiler does not record them")]
    #[diagnostic(code("no-python-frames"), severity(Advice))]
    NotRecordable,
}

fn unknown_peaks(device: Option<&str>) -> String {
    match device {
        Some(device) => format!("the peaks of {device} are not known"),
        None => "the recording does not name its GPU".to_owned(),
    }
}

fn viewed(profile: Option<&Path>) -> String {
    match profile {
        Some(profile) => format!("the profile {} beside it", profile.display()),
        None => "its profile (*.xplane.pb), which is not beside it,".to_owned(),
    }
}

fn first_event(uid: Option<u32>) -> String {
    uid.map_or_else(String::new, |uid| format!(" (first: event {uid})"))
}

fn drawn(picture: Picture) -> &'static str {
    match picture {
        Picture::Rooflines => "the rooflines",
        Picture::Steps => "the steps",
        Picture::StackedTime(_) => "time by operation",
    }
}

impl Notice {
    /// The reader's warnings about a file.
    #[must_use]
    pub fn all_of_reading(path: &Path, trace: &Trace) -> Vec<Self> {
        let file_notice = |warning: &Warning| Notice::File {
            path: path.to_path_buf(),
            notice: Box::new(Notice::Reading(warning.clone())),
        };
        trace.warnings().iter().map(file_notice).collect()
    }

    /// The notice without its run or file.
    pub(crate) fn innermost(&self) -> &Notice {
        match self {
            Notice::Run { notice, .. } | Notice::File { notice, .. } => notice.innermost(),
            notice => notice,
        }
    }

    /// Whether the answer lacks a part of a file, or a file.
    pub(crate) fn reports_loss(&self) -> bool {
        match self.innermost() {
            Notice::Reading(warning) => warning.reports_loss(),
            Notice::CutOffInBaseline { .. }
            | Notice::CutOffWhenMapped { .. }
            | Notice::Job(Diagnostic::CutOff { .. })
            | Notice::LeftOut { .. } => true,
            _ => false,
        }
    }

    /// The file it is about, of several.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Notice::File { path, .. } | Notice::LeftOut { path, .. } | Notice::CutOffWhenMapped { path } => {
                Some(path)
            }
            Notice::Run { notice, .. } => notice.file(),
            _ => None,
        }
    }
}
