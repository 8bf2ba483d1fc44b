//! What an analysis is asked to do.

use std::fmt;
use std::str::FromStr;

use perf_models::{Architecture, CommunicationPatterns, PeakBasis};
use regex::Regex;
use trace_ingest::{Accelerator, RecorderFacts, RecordingKind, TraceFacts};
use trace2tree::{LinkBy, TreeOptions};

use crate::conventions::Conventions;

/// Which report the sheets are for, where reports differ in columns that no other option decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportLayout {
    /// Training and everything else.
    #[default]
    Standard,
    /// Inference engines: `ops_summary` counts the device events below operators.
    Inference,
}

/// Which sheets of memory are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemorySheets {
    /// None.
    None,
    /// All, where the trace has allocations, but without modules unless another option reads Python frames. None in a report
    /// of the core alone ([`Scope::Core`](sheets::Scope::Core)).
    #[default]
    Recorded,
    /// All, with modules; reads Python frames.
    WithModules,
}

/// Names of ranges and operators that are iterations. Runs of digits count as `#` in them.
#[derive(Clone, Debug)]
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
#[non_exhaustive]
pub enum BudgetBounds {
    /// From the begin to the end of the iteration on the host, whatever the device does then.
    #[default]
    Host,
    /// From the first start to the last end of the device work that the thread of the iteration launched in it.
    Projected,
}

/// Options of an analysis and of the sheets made from it. The defaults are those of the report.
#[derive(Clone, Debug)]
pub struct AnalysisOptions {
    /// How device events find their launch.
    pub link_by: LinkBy,
    /// Which report the sheets are for.
    pub layout: ReportLayout,
    /// How figures are made and shown where reports differ.
    pub conventions: Conventions,
    /// Count device events without a launch in the timeline too. On where the recorder cannot know launches
    /// ([`RecorderFacts::launches`], [`RecorderFacts::all_launches`], [`Accelerator::links_all_work`]): the timeline would be empty, or lack a part.
    pub include_unlinked_kernels: bool,
    /// Split idle time at this gap length in µs.
    pub micro_idle_threshold_us: Option<f64>,
    /// Tell recomputed work of activation checkpointing apart.
    pub detect_recompute: bool,
    /// Read Python frames and show call stacks.
    pub include_call_stack: bool,
    /// Split fused operators of inference engines into pseudo operators by their kernels; reads Python
    /// frames.
    pub enable_pseudo_ops: bool,
    /// Add the sheets of kernel overlap.
    pub include_overlap_info: bool,
    /// Add the time of the first call to the operator sheet.
    pub include_first_occurrence_time: bool,
    /// Group calls by their number of kernels too.
    pub group_by_num_kernels: bool,
    /// Group calls by the `nn.Module` that they ran in too, and show the modules around them; reads Python
    /// frames.
    pub group_by_parent_module: bool,
    /// Write the kernel summary. On where the recorder cannot know operators ([`RecorderFacts::operators`]), and for exports
    /// of Nsight Systems.
    pub kernel_summary: bool,
    /// Write a row per kernel, copy and fill.
    pub kernel_details: bool,
    /// Keep this many rows of these.
    pub topk_kernels: Option<usize>,
    /// Write the host time of operators. On where no operator launched device work, or the recorder
    /// does not link all work ([`Accelerator::links_all_work`]): their device time is not known.
    pub host_ops: bool,
    /// Write the short-kernel sheets.
    pub short_kernel_study: bool,
    /// A kernel is short below this duration in µs.
    pub short_kernel_threshold_us: f64,
    /// Bins of the short-kernel histogram.
    pub short_kernel_histogram_bins: std::num::NonZeroUsize,
    /// Write the sheets of waits: causes of idle time, queues, launches, overlap of activities, rates of copies,
    /// annotations.
    pub waits: bool,
    /// A wait of launched work is the device's own time between two events below this length in µs.
    pub kernel_wait_threshold_us: f64,
    /// The sheet of gaps has those of this length in µs and more.
    pub min_gap_us: f64,
    /// Which stretch of time a row of the sheet of budgets is about.
    pub budget: BudgetBounds,
    /// The ranges or operators of this name are the iterations in the sheet of budgets. `None` takes the iterations that are
    /// detected.
    pub iteration: Option<IterationName>,
    /// A queue of this many launched events counts as full.
    pub queue_limit: std::num::NonZeroUsize,
    /// Write the sheets of memory.
    pub memory: MemorySheets,
    /// Keep this many rows of the short-kernel details.
    pub topk_short_kernels: Option<usize>,
    /// Keep this many rows of the operator sheet.
    pub topk_ops: Option<usize>,
    /// Keep this many rows of each roofline sheet.
    pub topk_roofline_ops: Option<usize>,
    /// Write the collectives.
    pub collective_analysis: bool,
    /// What the device can do at most; `None` takes the bundled architecture of the device that the trace
    /// names, if there is one.
    pub architecture: Option<Architecture>,
    /// Which of the architecture's peaks count; `None` takes those of [`Conventions::peak_basis`].
    pub peak_basis: Option<PeakBasis>,
    /// Kernel names that mean communication.
    pub communication: CommunicationPatterns,
}

impl Default for AnalysisOptions {
    fn default() -> Self {
        AnalysisOptions {
            link_by: LinkBy::default(),
            layout: ReportLayout::default(),
            conventions: Conventions::default(),
            include_unlinked_kernels: false,
            micro_idle_threshold_us: None,
            detect_recompute: false,
            include_call_stack: false,
            enable_pseudo_ops: false,
            include_overlap_info: false,
            include_first_occurrence_time: false,
            group_by_num_kernels: false,
            group_by_parent_module: false,
            kernel_summary: false,
            kernel_details: false,
            topk_kernels: None,
            host_ops: false,
            short_kernel_study: false,
            short_kernel_threshold_us: 10.0,
            short_kernel_histogram_bins: const { std::num::NonZeroUsize::new(100).unwrap() },
            waits: false,
            kernel_wait_threshold_us: 30.0,
            min_gap_us: 10.0,
            budget: BudgetBounds::default(),
            iteration: None,
            queue_limit: const { std::num::NonZeroUsize::new(gpu_timeline::QueueLength::FULL).unwrap() },
            memory: MemorySheets::default(),
            topk_short_kernels: None,
            topk_ops: None,
            topk_roofline_ops: None,
            collective_analysis: true,
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
        let links_all = facts.accelerator.is_none_or(Accelerator::links_all_work);
        let RecorderFacts { launches, all_launches, operators, kind, .. } = facts.recorder;
        self.include_unlinked_kernels |= !(launches && all_launches && links_all);
        // Users of Nsight Systems look for its table of kernels first.
        self.kernel_summary |= !operators || kind == Some(RecordingKind::Nsys);
    }

    /// What a tree must be built from so that an analysis with these options can be made of it
    /// ([`Analysis::from_tree`]).
    ///
    /// [`Analysis::from_tree`]: crate::Analysis::from_tree
    pub fn tree_options(&self) -> TreeOptions {
        let python_frames = self.include_call_stack
            || self.detect_recompute
            || self.enable_pseudo_ops
            || self.group_by_parent_module
            || self.memory == MemorySheets::WithModules;
        TreeOptions { python_frames, link_by: self.link_by, ..TreeOptions::default() }
    }
}

#[cfg(test)]
mod tests {
    use trace_ingest::{Category, EventArguments, RecorderFacts, TraceBuilder};

    use super::*;
    use crate::Analysis;

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
            let analysis = Analysis::new(builder.finish(), AnalysisOptions::default());
            assert_eq!(analysis.timeline().is_some(), !recorder.launches || !recorder.all_launches);
            assert_eq!(analysis.options().kernel_summary, !recorder.operators);
        }
    }
}
