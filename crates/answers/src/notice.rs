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

/// Something that a reader has to know before trusting or missing a figure. Its text names no option of any program:
/// who has options says which one would help.
#[derive(Clone, Debug, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum Notice {
    /// Of one of several runs that are compared.
    #[error("{run}: {notice}")]
    #[diagnostic(forward(notice))]
    OfRun {
        /// What the run is called.
        run: String,
        /// What there is to know of it.
        notice: Box<Notice>,
    },
    /// Of a comparison of runs.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Comparison(CompareNotice),
    /// Of a comparison as TraceLens does it.
    #[error(transparent)]
    #[diagnostic(transparent)]
    ComparisonAsTraceLens(ParityNotice),
    /// Two runs whose trees are compared are recordings of different kinds.
    #[error("A is {} and B is {}: recorders of different kinds record different things, so what one run alone has may be in both", .kinds[0], .kinds[1])]
    #[diagnostic(code("other-kind-of-run"), severity(Error))]
    OtherKindOfRun {
        /// The kinds of A and of B.
        kinds: [RecordingKind; 2],
    },
    /// Two runs whose trees are compared have few operators in common.
    #[error(
        "only {operators_percent:.1}% of the operators of both runs have an equal one in the other: these may be different programs"
    )]
    #[diagnostic(code("little-alike"), severity(Error))]
    LittleAlike {
        /// Share of the operators of both that have an equal one in the other, in percent.
        operators_percent: f64,
    },
    /// A run whose tree is compared has no device events.
    #[error("the recording has no device events, so nothing of it is compared")]
    #[diagnostic(code("no-work-to-align"), severity(Warning), help("{advice}"))]
    NoWorkToAlign {
        /// What gives a recording some.
        advice: &'static str,
    },
    /// Device events without a launch in the trace are no part of the operators' figures.
    #[error("{} ({}) without a launch in the recording: {}", counted(*.events, "device event", "device events"), duration(*.time_us), if *.in_timeline { "counted in the timeline, charged to no operator" } else { "left out of the timeline and of operators" })]
    #[diagnostic(code("unlinked-device-events"), severity(Warning))]
    UnlinkedDeviceEvents {
        /// How many.
        events: usize,
        /// Their busy time in µs.
        time_us: f64,
        /// Whether the timeline counts them.
        in_timeline: bool,
    },
    /// The trace has no Python frames, which something that was asked for looks for.
    #[error(transparent)]
    #[diagnostic(transparent)]
    NoPythonFrames(NoPythonFrames),
    /// A baseline keeps a recording of which a part is lost.
    #[error("{file}: a part of the recording is lost, so that no gate takes it")]
    #[diagnostic(code("cut-off-in-baseline"), severity(Error), help("record it again"))]
    CutOffInBaseline {
        /// Its name there.
        file: String,
    },
    /// The tables of a recording, made before, lack a part of it.
    #[error("{path}: its tables were made before and lack a part that is lost: the recording is cut off or damaged", path = .path.display())]
    #[diagnostic(code("cut-off-when-mapped"), severity(Error), help("record it again"))]
    CutOffWhenMapped {
        /// Its path.
        path: PathBuf,
    },
    /// The trace has operators and no device events: what the report would say of a device is left out.
    #[error("gpu_timeline and the other sheets of devices are left out: the trace has no device events")]
    #[diagnostic(code("no-device-events"), severity(Warning), help("{advice}"))]
    NoDeviceEvents {
        /// What gives a recording some.
        advice: &'static str,
    },
    /// The trace has device events only, and their list was not asked for.
    #[error("the trace has no operators, only kernels")]
    #[diagnostic(code("no-operators"), severity(Warning))]
    NoOperators,
    /// The peaks of the device are not known: nothing is held against a roofline.
    #[error("no rooflines: {}", unknown_peaks(.device.as_deref()))]
    #[diagnostic(code("no-rooflines"), severity(Advice))]
    NoRooflines {
        /// The device as the recording names it, if it does.
        device: Option<Box<str>>,
    },
    /// The report is of what the recording has in common with traces; it has one of its own.
    #[error("{kind} has a report of its own, which knows more of it")]
    #[diagnostic(code("lesser-report"), severity(Advice))]
    LesserReport {
        /// Kind of the recording.
        kind: RecordingKind,
    },
    /// XProf wrote the trace of a profile, for viewing.
    #[error("XProf wrote this trace, for viewing, of {} and says more: the programs, their costs and all events", viewed(.profile.as_deref()))]
    #[diagnostic(code("view-of-x-plane"), severity(Advice))]
    ViewOfXPlane {
        /// The profile, if it is beside the trace.
        profile: Option<PathBuf>,
    },
    /// What reading the file got over.
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
    #[error("{} in the figures without the operators inside", counted(*.launches, "graph launch is", "graph launches are"))]
    #[diagnostic(
        code("unopened-graphs"),
        severity(Warning),
        help("name traces of the graphs' capture, which tell them")
    )]
    UnopenedGraphs {
        /// How many.
        launches: usize,
    },
    /// Traces of graph captures were given, and the trace launches no graph.
    #[error("the trace launches no graph that captures could explain")]
    #[diagnostic(code("no-graphs"), severity(Warning))]
    NoGraphs,
    /// The captures do not explain some of the graph launches.
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
    /// Device events of graphs whose operator rests on order and number alone.
    #[error("{} of {} device events of graphs have their operator by order and number alone: the capture names no kernels", grouped(*.device_events as u128), grouped(*.of as u128))]
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
    /// What is odd about a recording whose critical path is looked for.
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
    #[error("the job is reported without a recording: {reason}")]
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
    /// Tables of single collectives are left out: there are too many.
    #[error("{} kernels of collectives are too many to be shown one by one (at most {}): only sums of them are", grouped(*.kernels as u128), grouped(*.most as u128))]
    #[diagnostic(code("too-many-collectives"), severity(Warning))]
    TooManyCollectives {
        /// Kernels of collectives.
        kernels: usize,
        /// So many at most are shown one by one.
        most: usize,
    },
    /// A notice about one of several files.
    #[error("{path}: {notice}", path = .path.display())]
    #[diagnostic(forward(notice))]
    OfFile {
        /// The file.
        path: PathBuf,
        /// The notice.
        notice: Box<Notice>,
    },
    /// A picture that was asked for shows nothing and is left out.
    #[error("there is no picture of {}: {why}", drawn(*.picture))]
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
    /// Operators note their call stacks all the same.
    #[error("the trace has call stacks in texts of operators, which name no modules and no frames' times")]
    #[diagnostic(code("no-python-frames"), severity(Advice), help("record it with PyTorch 1.12 or later"))]
    NotedStacks,
    /// The recorder cannot.
    #[error("the trace has no Python frames, which its profiler does not record")]
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
        Some(profile) => format!("the profile {} beside it, which", profile.display()),
        None => "a profile (*.xplane.pb) not beside it, which".to_owned(),
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
    /// What reading a file got over.
    #[must_use]
    pub fn all_of_reading(path: &Path, trace: &Trace) -> Vec<Self> {
        let of_file = |warning: &Warning| Notice::OfFile {
            path: path.to_path_buf(),
            notice: Box::new(Notice::Reading(warning.clone())),
        };
        trace.warnings().iter().map(of_file).collect()
    }

    /// The notice itself, without the run or file that it is of.
    pub(crate) fn innermost(&self) -> &Notice {
        match self {
            Notice::OfRun { notice, .. } | Notice::OfFile { notice, .. } => notice.innermost(),
            notice => notice,
        }
    }

    /// Whether the answer lacks a part of a file, or a file.
    pub(crate) fn tells_of_loss(&self) -> bool {
        match self.innermost() {
            Notice::Reading(warning) => warning.tells_of_loss(),
            Notice::CutOffInBaseline { .. }
            | Notice::CutOffWhenMapped { .. }
            | Notice::Job(Diagnostic::CutOff { .. })
            | Notice::LeftOut { .. } => true,
            _ => false,
        }
    }

    /// The file that it is about, of several.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Notice::OfFile { path, .. }
            | Notice::LeftOut { path, .. }
            | Notice::CutOffWhenMapped { path } => Some(path),
            Notice::OfRun { notice, .. } => notice.file(),
            _ => None,
        }
    }
}
