//! Flags of `tracelens pytorch`, which `tracelens inference` has too.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use tree_perf::{BudgetBounds, IterationName};

use super::devices::{DeviceArguments, KernelDetailArguments, ShortKernelArguments};
use super::phases::PhaseArguments;
use super::reading::ReadingArguments;
use super::report_output::{Recordings, ReportOutput, SheetNaming};
use super::window::WindowArguments;
use super::{Reference, TRACE_REFERENCES, microseconds, one_of};

#[derive(Args)]
pub(crate) struct TraceArguments {
    #[command(flatten)]
    pub(crate) recordings: Recordings,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,
    #[command(flatten)]
    pub(crate) phases: PhaseArguments,
    #[command(flatten)]
    pub(crate) window: WindowArguments,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArguments {
    #[command(flatten)]
    pub(crate) tables: ReportOutput,

    /// Draw the operators under the rooflines of the GPU as an SVG picture
    #[arg(long = "roofline_svg", value_name = "FILE")]
    pub(crate) roofline_svg: Option<PathBuf>,

    /// Draw the iterations over time as an SVG picture; with --inference_phase_analysis the steps of the engine, coloured
    /// by phase
    #[arg(long = "step_svg", value_name = "FILE")]
    pub(crate) step_svg: Option<PathBuf>,

    /// Write the trace with counters of the lengths of queues and of the rates of copies, for viewers: .json, .json.gz or
    /// .json.zst
    #[arg(long = "counter_trace", value_name = "FILE")]
    pub(crate) counter_trace: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) naming: SheetNaming,
}

#[derive(Args)]
#[command(next_help_heading = "Analysis")]
pub(crate) struct AnalysisArguments {
    /// Keep only the first N rows of ops_all; percentages stay those of all rows
    #[arg(long = "topk_ops", value_name = "N")]
    pub(crate) topk_ops: Option<usize>,

    /// Keep only the first N rows of short_kernels_all_details
    #[arg(long = "topk_short_kernels", value_name = "N")]
    pub(crate) topk_short_kernels: Option<usize>,

    /// Keep only the first N rows of each roofline sheet
    #[arg(long = "topk_roofline_ops", value_name = "N")]
    pub(crate) topk_roofline_ops: Option<usize>,

    /// Count device events whose launch is not in the trace in the timeline too
    #[arg(long = "include_unlinked_kernels")]
    pub(crate) include_unlinked_kernels: bool,

    /// Split idle time of gpu_timeline into gaps shorter than this (micro_idle_time) and the rest (macro_idle_time)
    #[arg(long = "micro_idle_thresh_us", value_name = "US", value_parser = microseconds())]
    pub(crate) micro_idle_thresh_us: Option<f64>,

    /// The sheet time_budget has a row for each range or operator of this name, with # for numbers in it, in place of the
    /// iterations that are detected; /EXPRESSION/ means all names that the regular expression matches
    #[arg(long = "iteration", value_name = "NAME")]
    pub(crate) iteration: Option<IterationName>,

    /// What a row of time_budget divides: the time of the iteration on the host, or from the first start to the last end of
    /// the device work that its thread launched in it
    #[arg(long = "budget", value_name = "BOUNDS", value_parser = one_of(BUDGET_BOUNDS), default_value = "host")]
    pub(crate) budget: BudgetBounds,

    #[command(flatten)]
    pub(crate) kernel_details: KernelDetailArguments,

    #[command(flatten)]
    pub(crate) short_kernels: ShortKernelArguments,

    #[command(flatten)]
    pub(crate) waits: WaitArguments,

    /// Name the modules in the sheets of memory, which needs a trace with stacks; the sheets themselves are written wherever
    /// the trace has allocations (profile_memory)
    #[arg(long)]
    pub(crate) memory: bool,

    /// Add the kernel_summary sheet
    #[arg(long = "enable_kernel_summary", alias = "kernel_summary")]
    pub(crate) enable_kernel_summary: bool,

    /// Add host_ops, the time of the host by operator; always there where no operator launched device work
    #[arg(long = "host_ops", alias = "host-ops")]
    pub(crate) host_ops: bool,

    /// Mark work repeated by activation checkpointing (column is_recompute)
    #[arg(long = "detect_recompute")]
    pub(crate) detect_recompute: bool,

    /// Add call stacks and entry points to ops_all; needs a trace with stacks
    #[arg(long = "include_call_stack")]
    pub(crate) include_call_stack: bool,

    /// Split fused operators of inference engines (MoE, MLA …) into pseudo operators by their kernels
    #[arg(long = "enable_pseudo_ops")]
    pub(crate) enable_pseudo_ops: bool,

    /// Add ops_all_kl_overlap: what ran at the same time on other streams
    #[arg(long = "include_overlap_info")]
    pub(crate) include_overlap_info: bool,

    /// Add the time of the first call to ops_all
    #[arg(long = "include_first_occurrence_time")]
    pub(crate) include_first_occurrence_time: bool,

    /// Give calls with different numbers of kernels rows of their own in ops_all
    #[arg(long = "group_by_num_kernels")]
    pub(crate) group_by_num_kernels: bool,

    /// Leave out coll_analysis, the sheet of collective operations
    #[arg(long = "disable_coll_analysis")]
    pub(crate) disable_coll_analysis: bool,

    #[command(flatten)]
    pub(crate) devices: DeviceArguments,

    /// tracelens: the categories of TraceLens, which are those of the operator's name or its first kernel, its list of
    /// communication kernels, and tables of operators without communication. hta: the tables of Holistic Trace Analysis
    /// too, with its figures (sheets hta_…)
    #[arg(
        long,
        value_name = "TOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "tracelens",
        value_parser = one_of(TRACE_REFERENCES)
    )]
    pub(crate) parity: Option<Reference>,

    /// With --parity hta: add the sequences of kernels below operators whose names contain this text
    #[arg(long = "hta_sequences_of", value_name = "TEXT")]
    pub(crate) hta_sequences_of: Option<String>,

    /// Add the models, categories and tree passes of this file (.toml or .py) to the built-in ones
    #[arg(long = "extension_file", value_name = "FILE")]
    pub(crate) extension_file: Option<PathBuf>,

    /// Python interpreter for an --extension_file that ends in .py (default: python3 on PATH)
    #[arg(long, value_name = "PATH", requires = "extension_file")]
    pub(crate) python: Option<PathBuf>,
}

const BUDGET_BOUNDS: &[(&str, BudgetBounds)] =
    &[("host", BudgetBounds::Host), ("projected", BudgetBounds::Projected)];

#[derive(Args)]
pub(crate) struct WaitArguments {
    /// Add sheets of why devices and streams had nothing to run, of launch queues and delays, of what ran at the same time,
    /// of the bandwidth of copies, and of annotations
    #[arg(long)]
    pub(crate) waits: bool,

    /// A wait of launched work is the device's own time between two events (kernel_wait) below this length
    #[arg(long = "kernel_wait_threshold_us", value_name = "US", default_value = "30", value_parser = microseconds())]
    pub(crate) kernel_wait_threshold_us: f64,

    /// The sheet gpu_gaps has gaps of this length and more
    #[arg(long = "min_gap_us", value_name = "US", default_value = "10", value_parser = microseconds())]
    pub(crate) min_gap_us: f64,

    /// A queue of this many launched events counts as full
    #[arg(long = "queue_limit", value_name = "N", default_value = "1024")]
    pub(crate) queue_limit: NonZeroUsize,
}
