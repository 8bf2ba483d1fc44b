//! What an analysis is asked to do.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use operator_sheets::KernelOptions;
use perf_models::{Architecture, CommunicationPatterns, PeakBasis};
use regex::Regex;
use trace_ingest::{Accelerator, RecorderFacts, RecordingKind, TraceFacts};
use trace2tree::{LinkBy, TreeOptions};

use crate::conventions::Conventions;

/// Report that the sheets are for, where columns differ and no other option decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportLayout {
    /// Training and everything else.
    #[default]
    Standard,
    /// Inference engines: `ops_summary` counts the device events below operators.
    Inference,
}

/// Names of ranges and operators that are iterations. Runs of digits count as `#` in them.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(try_from = "String"))]
#[non_exhaustive]
pub enum IterationName {
    /// This name, `step 17` as well as `step #`.
    Exactly(String),
    /// The names in which the expression matches.
    Matching(Regex),
}

impl IterationName {
    /// Whether it means a name.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let name = without_numbers(name);
        match self {
            IterationName::Exactly(wanted) => *wanted == name,
            IterationName::Matching(expression) => expression.is_match(&name),
        }
    }
}

impl FromStr for IterationName {
    type Err = regex::Error;

    /// An expression between slashes, or a name.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix('/').and_then(|text| text.strip_suffix('/')) {
            Some(expression) => Regex::new(expression).map(IterationName::Matching),
            None => Ok(IterationName::Exactly(without_numbers(text))),
        }
    }
}

impl TryFrom<String> for IterationName {
    type Error = regex::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for IterationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IterationName::Exactly(name) => f.write_str(name),
            IterationName::Matching(expression) => write!(f, "/{expression}/"),
        }
    }
}

/// A name with `#` for each run of digits.
pub(crate) fn without_numbers(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter.is_ascii_digit() {
            true if text.ends_with('#') => {}
            true => text.push('#'),
            false => text.push(letter),
        }
    }
    text
}

/// Which stretch of time the budget of an iteration divides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum BudgetBounds {
    /// The iteration as the sheet `iterations` has it, which ends with its device work; for ranges of a name, their time on
    /// the host.
    #[default]
    Step,
    /// From the begin to the end of the iteration on the host, whatever the device does then.
    Host,
    /// From the first start to the last end of the device work that the thread of the iteration launched in it.
    Projected,
}

#[cfg(feature = "clap")]
const BUDGET_BOUNDS: &[(&str, BudgetBounds)] =
    &[("step", BudgetBounds::Step), ("host", BudgetBounds::Host), ("projected", BudgetBounds::Projected)];

/// Options of an analysis and of the sheets made from it. The defaults are those of the report.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "clap",
    derive(clap::Args),
    command(next_help_heading = "Analysis", rename_all = "snake_case")
)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(default))]
pub struct AnalysisOptions {
    /// Keep only the first N rows of ops_all; percentages still refer to all rows
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub topk_ops: Option<usize>,

    /// Keep only the first N rows of short_kernels_all_details
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub topk_short_kernels: Option<usize>,

    /// Keep only the first N rows of each roofline sheet
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub topk_roofline_ops: Option<usize>,

    /// With --parity, also count device events whose launch is not in the trace; without --parity they always count
    //
    // On where the recorder cannot know launches, too: the timeline would be empty, or lack a part.
    #[cfg_attr(feature = "clap", arg(long))]
    pub include_unlinked_kernels: bool,

    /// Split idle time in gpu_timeline into gaps shorter than this (micro_idle_time) and longer ones (macro_idle_time)
    #[cfg_attr(feature = "clap", arg(long, value_name = "US", value_parser = flags::microseconds()))]
    pub micro_idle_thresh_us: Option<f64>,

    /// Give time_budget a row per range or operator of this name (# stands for any number) instead of a row
    /// per detected iteration; /EXPRESSION/ selects names by regular expression
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", value_parser = flags::expression::<IterationName>()))]
    pub iteration: Option<IterationName>,

    /// Span that each row of time_budget breaks down: the duration in the sheet iterations (step; ranges of --iteration
    /// on the host), the time on the host, or the device work that the iteration's thread launched during it
    /// (projected)
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "BOUNDS", value_parser = flags::one_of(BUDGET_BOUNDS), default_value = "step")
    )]
    pub budget: BudgetBounds,

    /// Sheets of individual kernels.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub kernels: KernelOptions,

    /// Add sheets on idle causes (by device and by stream), launch queues and delays, overlap, copy bandwidth, and
    /// annotations
    #[cfg_attr(feature = "clap", arg(long))]
    pub waits: bool,

    /// Count gaps shorter than this as kernel_wait if the next work was already launched
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "US", default_value_t = Self::default().kernel_wait_threshold_us, value_parser = flags::microseconds())
    )]
    pub kernel_wait_threshold_us: f64,

    /// Shortest gap that the sheet gpu_gaps lists
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "US", default_value_t = Self::default().min_gap_us, value_parser = flags::microseconds())
    )]
    pub min_gap_us: f64,

    /// Count a queue as full at this many launched events
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = Self::default().queue_limit))]
    pub queue_limit: NonZeroUsize,

    /// Add modules to the memory sheets; needs a trace with stacks. The sheets themselves need only recorded
    /// allocations (profile_memory)
    #[cfg_attr(feature = "clap", arg(long))]
    pub memory: bool,

    /// Add the kernel_summary sheet
    //
    // On where the recorder cannot know operators, and for exports of Nsight Systems.
    #[cfg_attr(feature = "clap", arg(long = "enable_kernel_summary", alias = "kernel_summary"))]
    pub kernel_summary: bool,

    /// Add host_ops, host time by operator; always written if no operator launched device work
    //
    // And where the recorder does not link all work: the device time of operators is not known then.
    #[cfg_attr(feature = "clap", arg(long))]
    pub host_ops: bool,

    /// Mark work repeated by activation checkpointing (column recompute)
    #[cfg_attr(feature = "clap", arg(long))]
    pub detect_recompute: bool,

    /// Add call stacks and entry points to ops_all; needs a trace with stacks
    #[cfg_attr(feature = "clap", arg(long))]
    pub include_call_stack: bool,

    /// Split fused operators of inference engines (MoE, MLA …) into pseudo operators by their kernels
    #[cfg_attr(feature = "clap", arg(long))]
    pub enable_pseudo_ops: bool,

    /// Add ops_all_kl_overlap: overlapping work on other streams
    #[cfg_attr(feature = "clap", arg(long))]
    pub include_overlap_info: bool,

    /// Add the start time of the first call to ops_all
    #[cfg_attr(feature = "clap", arg(long))]
    pub include_first_occurrence_time: bool,

    /// In ops_all, separate calls by their number of kernels
    #[cfg_attr(feature = "clap", arg(long))]
    pub group_by_num_kernels: bool,

    /// Omit coll_analysis, the sheet of collectives
    #[cfg_attr(feature = "clap", arg(long))]
    pub disable_coll_analysis: bool,

    /// Write the memory sheets if the trace has allocations, even if they were not requested.
    #[cfg_attr(feature = "clap", arg(skip = true))]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub memory_unasked: bool,

    /// Report that the sheets belong to.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub layout: ReportLayout,

    /// Also group calls by `nn.Module`, and show the enclosing modules; reads Python frames.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub group_by_parent_module: bool,

    /// How to match device events to launches.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub link_by: LinkBy,

    /// Keep recorded end times even if they lie far beyond the start of the next event on the queue
    /// ([`TreeOptions::keep_overruns`]).
    #[cfg_attr(feature = "clap", arg(skip))]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub keep_overruns: bool,

    /// Which conventions to follow where reports of other tools differ from ours.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub conventions: Conventions,

    /// Architecture for rooflines; by default the bundled one of the recorded device, if any.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub architecture: Option<Architecture>,

    /// Peaks to use; `None`: [`Conventions::peak_basis`].
    #[cfg_attr(feature = "clap", arg(skip))]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub peak_basis: Option<PeakBasis>,

    /// Names of communication kernels.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub communication: CommunicationPatterns,
}

impl Default for AnalysisOptions {
    fn default() -> Self {
        AnalysisOptions {
            topk_ops: None,
            topk_short_kernels: None,
            topk_roofline_ops: None,
            include_unlinked_kernels: false,
            micro_idle_thresh_us: None,
            iteration: None,
            budget: BudgetBounds::default(),
            kernels: KernelOptions::default(),
            waits: false,
            kernel_wait_threshold_us: gpu_timeline::SHORT_WAIT_US,
            min_gap_us: 10.0,
            queue_limit: const { NonZeroUsize::new(gpu_timeline::QueueLength::FULL).unwrap() },
            memory: false,
            kernel_summary: false,
            host_ops: false,
            detect_recompute: false,
            include_call_stack: false,
            enable_pseudo_ops: false,
            include_overlap_info: false,
            include_first_occurrence_time: false,
            group_by_num_kernels: false,
            disable_coll_analysis: false,
            memory_unasked: true,
            layout: ReportLayout::default(),
            group_by_parent_module: false,
            link_by: LinkBy::default(),
            keep_overruns: false,
            conventions: Conventions::default(),
            architecture: None,
            peak_basis: None,
            communication: CommunicationPatterns::default(),
        }
    }
}

impl AnalysisOptions {
    /// Which peaks count where nobody says it.
    pub(crate) fn peak_basis(&self) -> PeakBasis {
        self.peak_basis.unwrap_or(self.conventions.peak_basis)
    }

    /// Turns on what a trace without host calls, or without those of some work, needs, where its recorder cannot know them.
    pub(crate) fn adapt_to(&mut self, facts: &TraceFacts) {
        let RecorderFacts { operators, kind, .. } = facts.recorder;
        self.include_unlinked_kernels |= self.conventions.counts_unlinked() || !links_all_work(facts);
        // Users of Nsight Systems look for its table of kernels first.
        self.kernel_summary |= !operators || kind == Some(RecordingKind::Nsys);
    }

    /// What a tree must contain for an analysis with these options ([`Analysis::from_tree`]).
    ///
    /// [`Analysis::from_tree`]: crate::Analysis::from_tree
    pub fn tree_options(&self) -> TreeOptions {
        let python_frames = self.include_call_stack
            || self.detect_recompute
            || self.enable_pseudo_ops
            || self.group_by_parent_module
            || self.memory;
        let keep_overruns = self.keep_overruns || self.conventions.keep_overruns;
        TreeOptions { python_frames, link_by: self.link_by, keep_overruns, ..TreeOptions::default() }
    }
}

/// Whether the recorder of a trace knows the launches of all device work.
pub(crate) fn links_all_work(facts: &TraceFacts) -> bool {
    let RecorderFacts { launches, all_launches, .. } = facts.recorder;
    launches && all_launches && facts.accelerator.is_none_or(Accelerator::links_all_work)
}

#[cfg(test)]
mod tests {
    use trace_ingest::{Category, EventArguments, RecorderFacts, TraceBuilder};

    use super::*;
    use crate::{Analysis, UnlinkedRule};

    #[test]
    fn kernels_are_in_the_timeline_where_no_launch_could_be_recorded() {
        let everything = RecorderFacts::default();
        let device_alone = RecorderFacts { operators: false, launches: false, ..everything };
        let cut = RecorderFacts { all_launches: false, ..everything };
        for recorder in [everything, device_alone, cut] {
            let mut builder = TraceBuilder::new();
            let stream = builder.track(0, 7);
            builder.event(Category::KERNEL, "gemm", stream, 0, 1_000, EventArguments::default());
            builder.facts(TraceFacts { recorder, ..TraceFacts::default() });
            let trace = builder.finish();
            let analysis = |unlinked| {
                let conventions = Conventions { unlinked, ..Conventions::default() };
                Analysis::new(trace.clone(), AnalysisOptions { conventions, ..AnalysisOptions::default() })
            };
            assert!(analysis(UnlinkedRule::Counted).timeline().is_some());
            let left_out = analysis(UnlinkedRule::LeftOut);
            assert_eq!(left_out.timeline().is_some(), !recorder.launches || !recorder.all_launches);
            assert_eq!(left_out.options().kernel_summary, !recorder.operators);
        }
    }
}
