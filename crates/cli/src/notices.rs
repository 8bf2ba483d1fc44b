//! What is said of a report's notices: the libraries' words, with the options that help.

use std::borrow::Cow;

use answers::{NothingToDraw, Notice, Picture};
use metal_perf::MetalNotice;
use rocprof_perf::RocprofNotice;
use trace_diff::CompareNotice;
use trace_ingest::RecordingKind;
use xla_perf::JaxNotice;

use crate::arguments::Given;
use crate::console;
use crate::error::Failure;

/// Something to say, and where.
pub(crate) enum Say {
    /// Above the figures that it is about.
    Caveat(String),
    /// Below the report.
    Warning(String),
    /// Below the report: a picture that was asked for and is not made.
    NothingDrawn { option: &'static str, reason: String },
    /// On standard error: what the run did.
    Note(String),
    /// On standard error: what the user's script says or does wrong.
    Script(tree_perf::Notice),
}

impl Say {
    /// Whether it goes to standard error even where there is a summary.
    pub(crate) fn is_for_stderr(&self) -> bool {
        matches!(self, Say::Note(_) | Say::Script(_))
    }

    /// What stands below the report, or above its figures.
    pub(crate) fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Say::Caveat(text) | Say::Warning(text) => Some(text.into()),
            Say::NothingDrawn { option, reason } => Some(nothing_drawn(option, reason).into()),
            Say::Note(_) | Say::Script(_) => None,
        }
    }

    /// The failure that it is where nothing else would say so.
    pub(crate) fn nothing_drawn(&self) -> Option<Failure> {
        match self {
            Say::NothingDrawn { option, reason } => {
                Some(Failure::NothingDrawn { option, reason: reason.clone() })
            }
            _ => None,
        }
    }

    /// Prints it to standard error.
    pub(crate) fn print(&self) {
        match self {
            Say::Caveat(text) | Say::Warning(text) => console::warning(text),
            Say::NothingDrawn { option, reason } => console::warning(nothing_drawn(option, reason)),
            Say::Note(text) => console::note(text),
            Say::Script(notice) => console::extension(notice),
        }
    }
}

fn nothing_drawn(option: &str, reason: &str) -> String {
    format!("{option} writes nothing: {reason}")
}

/// What to say of a notice.
pub(crate) fn say(notice: &Notice, given: &Given) -> Say {
    match notice {
        Notice::UnlinkedDeviceEvents { in_timeline: false, .. } => {
            Say::Caveat(format!("{notice}; with --include_unlinked_kernels in the timeline"))
        }
        Notice::UnlinkedDeviceEvents { in_timeline: true, .. } => Say::Caveat(notice.to_string()),
        Notice::Analysis(tree_perf::Notice::CommunicationGuessed { .. }) => {
            Say::Warning(format!("{notice}; --communication-pattern names kernels that do communicate"))
        }
        Notice::NoRooflines { .. } => Say::Caveat(format!("{notice}{NAME_ARCHITECTURE}")),
        Notice::Analysis(notice) if notice.is_of_extension() => Say::Script(notice.clone()),
        Notice::Analysis(tree_perf::Notice::CallsOutsideKernelLists { .. }) => {
            Say::Warning(format!("{notice} (--group_by_num_kernels)"))
        }
        Notice::Analysis(tree_perf::Notice::MemoryWithoutModules { were_read: false }) => {
            Say::Note(format!("{notice} (--memory reads them)"))
        }
        Notice::Analysis(
            tree_perf::Notice::MemoryWithoutModules { were_read: true } | tree_perf::Notice::NoMemory,
        ) => Say::Warning(format!("--memory finds nothing: {notice}")),
        Notice::Analysis(tree_perf::Notice::NoRangeOfName { .. }) => {
            Say::Warning(format!("--iteration finds nothing: {notice}"))
        }
        Notice::NoPythonFrames { has_noted_stacks, .. } => {
            let all = ["include_call_stack", "detect_recompute", "group_by_parent_module"];
            let asked = given.names(if *has_noted_stacks { &all[1..] } else { &all });
            let find = if asked.len() == 1 { "finds" } else { "find" };
            Say::Warning(format!("{} {find} nothing: {notice}", asked.join(" and ")))
        }
        Notice::NoOperators => Say::Warning(format!("{notice}; --enable_kernel_summary lists them")),
        Notice::UnopenedGraphs { .. } => Say::Warning(format!("{notice} (--capture_folder)")),
        Notice::NoGraphs => Say::Warning(format!("--capture_folder has no effect: {notice}")),
        Notice::Xla(JaxNotice::CopyKernelsAreComputation { .. }) => {
            Say::Warning(format!("{notice}; --rebucket_copy_kernels counts them as copies"))
        }
        // Without the options that would help the report of the run, which a comparison does not have.
        Notice::OfRun { notice: of_run, .. } => match say(of_run, given) {
            Say::Note(_) => Say::Note(notice.to_string()),
            Say::Caveat(_) => Say::Caveat(notice.to_string()),
            _ => Say::Warning(notice.to_string()),
        },
        Notice::Comparison(CompareNotice::OneFactor { .. }) => {
            Say::Caveat(format!("{notice}; --steps says how many each run has"))
        }
        Notice::Comparison(CompareNotice::LittleInCommon { .. })
        | Notice::OtherKindOfRun { .. }
        | Notice::LittleAlike { .. }
        | Notice::NoWorkToAlign { .. } => Say::Caveat(notice.to_string()),
        Notice::NothingToDraw { picture, why } => {
            let option = match picture {
                Picture::Rooflines => "--roofline_svg",
                Picture::Steps => "--step_svg",
                Picture::StackedTime(_) => "--summary-svg",
            };
            let advice = match why {
                NothingToDraw::NoArchitecture => NAME_ARCHITECTURE,
                _ => "",
            };
            Say::NothingDrawn { option, reason: format!("{why}{advice}") }
        }
        Notice::Tenstorrent(
            note @ (MetalNotice::Window { .. }
            | MetalNotice::CardAssumed { .. }
            | MetalNotice::SignpostRepeats { .. }
            | MetalNotice::NoDevices
            | MetalNotice::DevicesKeptApart { .. }
            | MetalNotice::DevicesMerged { .. }),
        ) => Say::Note(format!("{notice}{}", metal_option(note))),
        Notice::Tenstorrent(warning) => Say::Warning(format!("{notice}{}", metal_option(warning))),
        Notice::LesserReport { kind } => {
            let command = match kind {
                RecordingKind::XPlane => "jax",
                _ => "rocprof",
            };
            Say::Warning(format!("{notice}; `tracelens {command}` makes it"))
        }
        Notice::Rocprof(
            RocprofNotice::PftraceShortKernels { .. } | RocprofNotice::PftraceShortCalls { .. },
        ) => Say::Warning(format!("{notice} (--min_event_ns)")),
        Notice::Rocprof(RocprofNotice::LaunchesWithoutKernel { .. }) => {
            Say::Warning(format!("{notice} (--include_nonlaunch_apis adds them)"))
        }
        notice => Say::Warning(notice.to_string()),
    }
}

/// The options that say which device it is.
const NAME_ARCHITECTURE: &str = "; name one with --gpu_arch_platform or --gpu_arch_json_path";

/// The option that helps with a notice about Tenstorrent operations.
fn metal_option(notice: &MetalNotice) -> &'static str {
    match notice {
        MetalNotice::ChipGuessed { .. } | MetalNotice::CardAssumed { .. } => "; --arch names another",
        MetalNotice::Window { asked: false, .. } | MetalNotice::EmptyWindow { .. } => {
            "; --ignore-signposts reports the whole file"
        }
        MetalNotice::SignpostRepeats { .. } => "; --occurrence chooses one",
        MetalNotice::ActiveExpertsUnknown { .. } => "; --active-experts says it",
        _ => "",
    }
}
