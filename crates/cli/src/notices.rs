//! What is said of a report's notices: the libraries' words, with the options that help.

use std::borrow::Cow;

use answers::{NoPythonFrames, NothingToDraw, Notice, Picture};
use metal_perf::MetalNotice;
use rocprof_perf::RocprofNotice;
use trace_diff::CompareNotice;
use trace_ingest::RecordingKind;
use xla_perf::JaxNotice;

use crate::arguments::Given;
use crate::console::{self, Said};
use crate::error::Failure;

/// Something to say, and where.
pub(crate) enum Say {
    /// Above the figures that it is about.
    Caveat(Said),
    /// Below the report.
    Warning(Said),
    /// Below the report: a picture that was asked for and is not made.
    NothingDrawn { option: &'static str, reason: String, help: Option<&'static str> },
    /// On standard error: what the run did.
    Note(Said),
    /// The same, where no page is printed that says it.
    OnPage(Said),
    /// On standard error: what the user's script says or does wrong.
    Script(tree_perf::Notice),
}

impl Say {
    /// Whether it goes to standard error even where there is a summary.
    pub(crate) fn is_for_stderr(&self) -> bool {
        matches!(self, Say::Note(_) | Say::Script(_))
    }

    /// What stands below the report, or above its figures.
    pub(crate) fn said(&self) -> Option<Cow<'_, Said>> {
        match self {
            Say::Caveat(said) | Say::Warning(said) => Some(Cow::Borrowed(said)),
            Say::NothingDrawn { .. } => self.nothing_drawn().map(|failure| Cow::Owned(Said::new(&failure))),
            Say::Note(_) | Say::OnPage(_) | Say::Script(_) => None,
        }
    }

    /// The failure that it is where nothing else would say so.
    pub(crate) fn nothing_drawn(&self) -> Option<Failure> {
        match self {
            Say::NothingDrawn { option, reason, help } => {
                Some(Failure::NothingDrawn { option, reason: reason.clone(), help: *help })
            }
            _ => None,
        }
    }

    /// Prints it to standard error.
    pub(crate) fn print(&self) {
        match self {
            Say::Note(said) | Say::OnPage(said) => console::say("note", said),
            Say::Script(notice) => console::extension(notice),
            said => said.said().iter().for_each(|said| console::say("warning", said)),
        }
    }
}

pub(crate) fn say(notice: &Notice, given: &Given) -> Say {
    let said = Said::new(notice);
    match notice {
        Notice::UnlinkedDeviceEvents { in_timeline: false, .. } => {
            Say::Caveat(said.with_help("count them in the timeline with --include_unlinked_kernels"))
        }
        Notice::Analysis(tree_perf::Notice::CommunicationGuessed { .. }) => {
            Say::Warning(said.with_help("select communication kernels with --communication-pattern"))
        }
        Notice::NoRooflines { .. } => Say::Caveat(said.with_help(NAME_ARCHITECTURE)),
        Notice::Analysis(notice) if notice.is_extension_notice() => Say::Script(notice.clone()),
        Notice::Analysis(tree_perf::Notice::CallsOutsideKernelLists { .. }) => {
            Say::Warning(said.with_help("use --group_by_num_kernels"))
        }
        Notice::Analysis(tree_perf::Notice::MemoryWithoutFrames) => {
            // Nobody asked for them, and the page tells who owns most of the memory.
            Say::OnPage(said.with_help("read them with --memory"))
        }
        Notice::Analysis(tree_perf::Notice::MemoryWithoutModules | tree_perf::Notice::NoMemory) => {
            Say::Warning(said.with_start("--memory finds nothing"))
        }
        Notice::Analysis(tree_perf::Notice::NoRangeOfName { .. }) => {
            Say::Warning(said.with_start("--iteration finds nothing"))
        }
        Notice::NoPythonFrames(why) => {
            let all = ["include_call_stack", "detect_recompute", "group_by_parent_module"];
            let asked =
                given.names(if matches!(why, NoPythonFrames::NotedStacks) { &all[1..] } else { &all });
            let find = if asked.len() == 1 { "finds" } else { "find" };
            Say::Warning(said.with_start(&format!("{} {find} nothing", asked.join(" and "))))
        }
        Notice::NoOperators => Say::Warning(said.with_help("list them with --enable_kernel_summary")),
        Notice::UnopenedGraphs { .. } => {
            Say::Warning(said.with_help("pass their folder with --capture_folder"))
        }
        Notice::NoGraphs => Say::Warning(said.with_start("--capture_folder has no effect")),
        Notice::Xla(JaxNotice::CopyKernelsAreComputation { .. }) => {
            Say::Warning(said.with_help("count them as copies with --rebucket_copy_kernels"))
        }
        // Without the options that would help the report of the run, which a comparison does not have.
        Notice::Run { notice: run_notice, .. } => match say(run_notice, given) {
            Say::Note(_) => Say::Note(said),
            Say::Caveat(_) => Say::Caveat(said),
            _ => Say::Warning(said),
        },
        Notice::Comparison(CompareNotice::OneFactor { .. } | CompareNotice::CutDifferently { .. }) => {
            Say::Caveat(said.with_help("pass each run's step count with --steps"))
        }
        Notice::UnlinkedDeviceEvents { .. }
        | Notice::Comparison(CompareNotice::LittleInCommon { .. })
        | Notice::OtherKindOfRun { .. }
        | Notice::LittleAlike { .. }
        | Notice::NoWorkToAlign { .. } => Say::Caveat(said),
        Notice::NothingToDraw { picture, why } => {
            let option = match picture {
                Picture::Rooflines => "--roofline_svg",
                Picture::Steps => "--step_svg",
                Picture::StackedTime(_) => "--summary-svg",
            };
            let help = matches!(why, NothingToDraw::NoArchitecture).then_some(NAME_ARCHITECTURE);
            Say::NothingDrawn { option, reason: why.to_string(), help }
        }
        Notice::Tenstorrent(metal_notice) => {
            let option = metal_option(metal_notice);
            let said = option.map_or_else(|| said.clone(), |option| said.clone().with_help(option));
            match metal_notice {
                MetalNotice::Window { .. }
                | MetalNotice::DevicesKeptApart { .. }
                | MetalNotice::DevicesMerged { .. } => Say::OnPage(said),
                MetalNotice::CardAssumed { .. }
                | MetalNotice::SignpostRepeats { .. }
                | MetalNotice::NoDevices => Say::Note(said),
                _ => Say::Warning(said),
            }
        }
        Notice::LesserReport { kind } => {
            let command = match kind {
                RecordingKind::XPlane => "jax",
                _ => "rocprof",
            };
            Say::Warning(said.with_help(&format!("create it with `tracelens {command}`")))
        }
        Notice::Rocprof(
            RocprofNotice::PftraceShortKernels { .. } | RocprofNotice::PftraceShortCalls { .. },
        ) => Say::Warning(said.with_help("choose another limit with --min_event_ns")),
        Notice::Rocprof(RocprofNotice::LaunchesWithoutKernel { .. }) => {
            Say::Warning(said.with_help("add them with --include_nonlaunch_apis"))
        }
        _ => Say::Warning(said),
    }
}

/// The options that say which device it is.
const NAME_ARCHITECTURE: &str = "choose one with --gpu_arch_platform or --gpu_arch_json_path";

/// The option that helps with a notice about Tenstorrent operations.
fn metal_option(notice: &MetalNotice) -> Option<&'static str> {
    Some(match notice {
        MetalNotice::ChipGuessed { .. } | MetalNotice::CardAssumed { .. } => "choose another with --arch",
        MetalNotice::Window { asked: false, .. } | MetalNotice::EmptyWindow { .. } => {
            "report the whole file with --ignore-signposts"
        }
        MetalNotice::SignpostRepeats { .. } => "choose one with --occurrence",
        MetalNotice::ActiveExpertsUnknown { .. } => "set it with --active-experts",
        _ => return None,
    })
}
