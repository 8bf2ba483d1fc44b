//! What a reader has to know of a report.

use std::fmt;
use std::path::{Path, PathBuf};

use inference_phase::capture::SkipReason;
use inference_phase::sheets::PhaseNotice;
use metal_perf::MetalNotice;
use multi_rank::Diagnostic;
use perf_models::Architecture;
use reference_tools::ParityNotice;
use rocprof_perf::RocprofNotice;
use trace_diff::CompareNotice;
use trace_ingest::{RecordingKind, Trace, Warning};
use trace2tree::TreeWarning;
use xla_perf::JaxNotice;
use xla_perf::tpu::TpuNotice;

use crate::numbers::{counted, duration, grouped};
use crate::report::Picture;

/// Something that a reader has to know before trusting or missing a figure. Its text names no option of any program:
/// who has options says which one would help.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// Of one of several runs that are compared.
    OfRun {
        /// What the run is called.
        run: String,
        /// What there is to know of it.
        notice: Box<Notice>,
    },
    /// Of a comparison of runs.
    Comparison(CompareNotice),
    /// Of a comparison as TraceLens does it.
    ComparisonAsTraceLens(ParityNotice),
    /// Two runs whose trees are compared are recordings of different kinds.
    OtherKindOfRun {
        /// The kinds of A and of B.
        kinds: [RecordingKind; 2],
    },
    /// Two runs whose trees are compared have few operators in common.
    LittleAlike {
        /// Share of the operators of both that have an equal one in the other, in percent.
        operators_percent: f64,
    },
    /// A run whose tree is compared has no device events.
    NoWorkToAlign {
        /// What gives a recording some.
        advice: &'static str,
    },
    /// Device events without a launch in the trace are no part of the operators' figures.
    UnlinkedDeviceEvents {
        /// How many.
        events: usize,
        /// Their busy time in µs.
        time_us: f64,
        /// Whether the timeline counts them.
        in_timeline: bool,
    },
    /// The trace has no Python frames, which something that was asked for looks for.
    NoPythonFrames {
        /// Whether the recorder could have recorded some.
        recordable: bool,
        /// Whether operators note their call stacks all the same.
        has_noted_stacks: bool,
    },
    /// A baseline keeps a recording of which a part is lost.
    CutOffInBaseline {
        /// Its name there.
        file: String,
    },
    /// The tables of a recording, made before, lack a part of it.
    CutOffWhenMapped {
        /// Its path.
        path: PathBuf,
    },
    /// The trace has operators and no device events: what the report would say of a device is left out.
    NoDeviceEvents {
        /// What gives a recording some.
        advice: &'static str,
    },
    /// The trace has device events only, and their list was not asked for.
    NoOperators,
    /// The peaks of the device are not known: nothing is held against a roofline.
    NoRooflines {
        /// The device as the recording names it, if it does.
        device: Option<Box<str>>,
    },
    /// The report is of what the recording has in common with traces; it has one of its own.
    LesserReport {
        /// Kind of the recording.
        kind: RecordingKind,
    },
    /// XProf wrote the trace of a profile, for viewing.
    ViewOfXPlane {
        /// The profile, if it is beside the trace.
        profile: Option<PathBuf>,
    },
    /// What reading the file got over.
    Reading(Warning),
    /// What the tree could not place.
    Tree(TreeWarning),
    /// What the sheets of a trace leave out.
    Analysis(tree_perf::Notice),
    /// What the phases rest on.
    Phases(PhaseNotice),
    /// What was wrong with the traces of graph captures.
    Captures(String),
    /// Graph launches hide the operators inside.
    UnopenedGraphs {
        /// How many.
        launches: usize,
    },
    /// Traces of graph captures were given, and the trace launches no graph.
    NoGraphs,
    /// The captures do not explain some of the graph launches.
    UnmergedGraphs {
        /// How many of them.
        launches: usize,
        /// How many graph launches there are.
        of: usize,
        /// Why.
        reason: SkipReason,
    },
    /// Device events of graphs whose operator rests on order and number alone.
    UnverifiedGraphs {
        /// How many.
        device_events: usize,
        /// How many device events of graphs have an operator.
        of: usize,
    },
    /// What is known of an XLA profile.
    Xla(JaxNotice),
    /// What is known of the TPUs of a profile.
    Tpu(TpuNotice),
    /// What is known of a rocprofv3 profile.
    Rocprof(RocprofNotice),
    /// What is known of Tenstorrent operations.
    Tenstorrent(MetalNotice),
    /// What is odd about the recordings of a job.
    Job(Diagnostic),
    /// What is odd about a recording whose critical path is looked for.
    CriticalPath {
        /// What it is.
        fault: critical_path::Fault,
        /// How often.
        count: u64,
        /// Index in the file's list of the first event, where one is known.
        first_uid: Option<u32>,
    },
    /// A recording of a job that cannot be used.
    LeftOut {
        /// Its file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Tables of single collectives are left out: there are too many.
    TooManyCollectives {
        /// Kernels of collectives.
        kernels: usize,
        /// So many at most are shown one by one.
        most: usize,
    },
    /// A notice about one of several files.
    OfFile {
        /// The file.
        path: PathBuf,
        /// The notice.
        notice: Box<Notice>,
    },
    /// A picture that was asked for shows nothing and is left out.
    NothingToDraw {
        /// The picture.
        picture: Picture,
        /// Why.
        why: NothingToDraw,
    },
}

/// Why a picture shows nothing.
#[derive(Clone, Debug)]
pub enum NothingToDraw {
    /// No architecture was named, and the recording names no known device.
    NoArchitecture,
    /// No operator has FLOPs and bytes under a peak of this architecture.
    NoOperators(Box<str>),
    /// Rooflines are drawn of GPUs only.
    TpusOnly,
    /// The trace has no steps.
    NoSteps,
    /// The figures of TraceLens, which were asked for, have no steps.
    NoStepsAsReference,
    /// Reports of this kind have no such picture.
    OtherReports,
}

impl NothingToDraw {
    pub(crate) fn under(architecture: &Architecture) -> Self {
        NothingToDraw::NoOperators(architecture.name.as_str().into())
    }
}

impl fmt::Display for NothingToDraw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NothingToDraw::NoArchitecture => f.write_str("the recording names no GPU with known peaks"),
            NothingToDraw::NoOperators(architecture) => {
                write!(f, "no operator has FLOPs and bytes under a peak of {architecture}")
            }
            NothingToDraw::TpusOnly => {
                f.write_str("it shows what ran on GPUs; the sheet roofline_model shows what ran on TPUs")
            }
            NothingToDraw::OtherReports => f.write_str("reports of other recordings have it"),
            NothingToDraw::NoSteps => f.write_str("the trace has no steps"),
            NothingToDraw::NoStepsAsReference => f.write_str("the figures of TraceLens have no steps"),
        }
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

    /// Whether its text repeats that of recorders, scripts and users, in which a semicolon means nothing.
    pub(crate) fn repeats_others(&self) -> bool {
        use tree_perf::Notice::{
            CommunicationGuessed, ExtensionModelFailed, ExtensionRuleFailed, ExtensionWithoutEffect,
            NoRangeOfName, NoSequences, PassFailed,
        };
        matches!(
            self,
            Notice::Captures(_)
                | Notice::Reading(
                    Warning::OtherArchiveMembers { .. }
                        | Warning::RecorderMessage { .. }
                        | Warning::UnreadFile { .. }
                        | Warning::UnreadTables { .. }
                )
                | Notice::Analysis(
                    CommunicationGuessed { .. }
                        | ExtensionModelFailed { .. }
                        | ExtensionRuleFailed { .. }
                        | ExtensionWithoutEffect { .. }
                        | NoRangeOfName { .. }
                        | NoSequences { .. }
                        | PassFailed { .. }
                )
                | Notice::Xla(JaxNotice::NothingHasKeyword { .. } | JaxNotice::Recorder { .. })
                | Notice::Tenstorrent(
                    MetalNotice::SignpostNotFound { .. }
                        | MetalNotice::SignpostRepeats { .. }
                        | MetalNotice::SteppedBack { .. }
                        | MetalNotice::Unclassified { .. }
                        | MetalNotice::Window { .. }
                        | MetalNotice::EmptyWindow { .. }
                )
        )
    }

    /// Whether the answer lacks a part of a file, or a file.
    pub(crate) fn tells_of_loss(&self) -> bool {
        matches!(
            self.innermost(),
            Notice::Reading(Warning::Truncated { .. } | Warning::DamagedCompression { .. })
                | Notice::CutOffInBaseline { .. }
                | Notice::CutOffWhenMapped { .. }
                | Notice::Job(Diagnostic::CutOff { .. })
                | Notice::LeftOut { .. }
        )
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

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::OfRun { run, notice } => write!(f, "{run}: {notice}"),
            Notice::Comparison(notice) => notice.fmt(f),
            Notice::ComparisonAsTraceLens(notice) => notice.fmt(f),
            Notice::OtherKindOfRun { kinds: [a, b] } => write!(
                f,
                "A is {a} and B is {b}: recorders of different kinds record different things, so what one run alone has may be \
                 in both"
            ),
            Notice::LittleAlike { operators_percent } => write!(
                f,
                "only {operators_percent:.1}% of the operators of both runs have an equal one in the other: these may be \
                 different programs"
            ),
            Notice::NoWorkToAlign { advice } => {
                write!(f, "the recording has no device events, so nothing of it is compared; {advice}")
            }
            Notice::UnlinkedDeviceEvents { events, time_us, in_timeline } => {
                let place = match in_timeline {
                    true => "in the timeline, but in no operator's figures",
                    false => "in no figure",
                };
                let events = counted(*events, "device event", "device events");
                write!(f, "{events} ({}) without a launch in the trace: {place}", duration(*time_us))
            }
            Notice::NoPythonFrames { has_noted_stacks: true, .. } => f.write_str(
                "the trace has call stacks in texts of operators, which name no modules and no frames' times; record it with \
                 PyTorch 1.12 or later",
            ),
            Notice::NoPythonFrames { recordable: true, .. } => {
                f.write_str("the trace has no Python frames; record it with with_stack=True")
            }
            Notice::NoPythonFrames { recordable: false, .. } => {
                f.write_str("the trace has no Python frames, which its profiler does not record")
            }
            Notice::NoDeviceEvents { advice } => write!(
                f,
                "gpu_timeline and the other sheets of devices are left out: the trace has no device events; {advice}"
            ),
            Notice::NoOperators => f.write_str("the trace has no operators, only kernels"),
            Notice::NoRooflines { device: Some(device) } => {
                write!(f, "no rooflines: the peaks of {device} are not known")
            }
            Notice::NoRooflines { device: None } => {
                f.write_str("no rooflines: the recording does not say which GPU it is of")
            }
            Notice::LesserReport { kind } => {
                write!(f, "{kind} has a report of its own, which knows more of it")
            }
            Notice::ViewOfXPlane { profile: Some(profile) } => write!(
                f,
                "XProf wrote this trace, for viewing, of the profile {} beside it, which says more: the programs, their \
                 costs and all events",
                profile.display()
            ),
            Notice::ViewOfXPlane { profile: None } => f.write_str(
                "XProf wrote this trace, for viewing, of a profile (*.xplane.pb) that is not beside it and says more: the \
                 programs, their costs and all events",
            ),
            Notice::CutOffInBaseline { file } => {
                write!(f, "{file}: a part of the recording is lost, so that no gate takes it; record it again")
            }
            Notice::CutOffWhenMapped { path } => write!(
                f,
                "{}: its tables were made before and lack a part that is lost: the recording is cut off or damaged; record it \
                 again",
                path.display()
            ),
            Notice::Reading(warning) => warning.fmt(f),
            Notice::Tree(warning) => warning.fmt(f),
            Notice::Analysis(notice) => notice.fmt(f),
            Notice::Phases(notice) => notice.fmt(f),
            Notice::Captures(text) => f.write_str(text),
            Notice::UnopenedGraphs { launches } => {
                let launches = counted(*launches, "graph launch is", "graph launches are");
                write!(
                    f,
                    "{launches} in the figures without the operators inside; name traces of the graphs' capture, which tell them"
                )
            }
            Notice::NoGraphs => f.write_str("the trace launches no graph that captures could explain"),
            Notice::UnmergedGraphs { launches, of, reason } => write!(
                f,
                "{} of {} graph launches keep their operators to themselves: {reason}",
                grouped(*launches as u128),
                grouped(*of as u128)
            ),
            Notice::UnverifiedGraphs { device_events, of } => write!(
                f,
                "{} of {} device events of graphs have their operator by order and number alone: the capture names no kernels",
                grouped(*device_events as u128),
                grouped(*of as u128)
            ),
            Notice::Xla(notice) => notice.fmt(f),
            Notice::Tpu(notice) => notice.fmt(f),
            Notice::Rocprof(notice) => notice.fmt(f),
            Notice::Tenstorrent(notice) => notice.fmt(f),
            Notice::Job(diagnostic) => diagnostic.fmt(f),
            Notice::CriticalPath { fault, count, first_uid } => {
                write!(f, "{fault}: {}", grouped((*count).into()))?;
                first_uid.map_or(Ok(()), |uid| write!(f, " (first: event {uid})"))
            }
            // Says itself which file.
            Notice::LeftOut { reason, .. } => write!(f, "the job is reported without a recording: {reason}"),
            Notice::TooManyCollectives { kernels, most } => write!(
                f,
                "{} kernels of collectives are too many to be shown one by one (at most {}): only sums of them are",
                grouped(*kernels as u128),
                grouped(*most as u128)
            ),
            Notice::OfFile { path, notice } => write!(f, "{}: {notice}", path.display()),
            Notice::NothingToDraw { picture, why } => {
                let picture = match picture {
                    Picture::Rooflines => "the rooflines",
                    Picture::Steps => "the steps",
                    Picture::StackedTime(_) => "time by operation",
                };
                write!(f, "there is no picture of {picture}: {why}")
            }
        }
    }
}
