//! Flags of `tracelens rocprof`.

use clap::Args;
use rocprof_perf::{HipGrouping, KernelBaseline, KernelGrouping, KernelPattern};
use trace_ingest::rocprof::KernelNames;

use super::devices::{KernelDetailArguments, ShortKernelArguments};
use super::report_output::{Recordings, ReportOutput, SheetNaming};
use super::window::WindowArguments;
use super::{REFERENCES, Reference, one_of};

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens rocprof 908_results.json                           summary here, workbook beside the profile
  tracelens rocprof 908_results.db --output_csvs_dir sheets    CSV files instead of the workbook
  tracelens rocprof out/node-7 --kernel_details                the CSV files of a directory, with a row per dispatch
  tracelens rocprof 908_results.json --steady                  without warm-up, partial and odd iterations
  tracelens rocprof 908_results.pftrace --pftrace_tables       with the tables known from Perfetto traces

rocprofv3 --sys-trace --output-format json -- PROGRAM writes <host>/<pid>_results.json; csv, rocpd and pftrace are
read, too. Options may be written with _ or with -. `tracelens columns` explains the sheets.";

#[derive(Args)]
pub(crate) struct RocprofArguments {
    #[command(flatten)]
    pub(crate) recordings: Recordings,
    #[command(flatten)]
    pub(crate) output: ReportOutput,
    #[command(flatten)]
    pub(crate) naming: SheetNaming,
    #[command(flatten)]
    pub(crate) window: WindowArguments,
    #[command(flatten)]
    pub(crate) analysis: RocprofAnalysisArguments,
    #[command(flatten)]
    pub(crate) pftrace: PftraceArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Analysis")]
pub(crate) struct RocprofAnalysisArguments {
    /// Leave out kernel_summary and kernel_summary_by_category
    #[arg(long = "disable_kernel_summary")]
    pub(crate) disable_kernel_summary: bool,

    #[command(flatten)]
    pub(crate) kernel_details: KernelDetailArguments,

    #[command(flatten)]
    pub(crate) short_kernels: ShortKernelArguments,

    /// Which of a kernel's names the sheets show: without namespace, template arguments and parameters (truncated),
    /// with them (formatted), with the suffix of the code object, too (demangled), or the symbol's (mangled).
    /// Kernels that share the name are one row [default: truncated; formatted in the tables known from Perfetto
    /// traces]
    #[arg(long = "kernel_names", value_parser = one_of(KERNEL_NAMES), value_name = "NAMES")]
    pub(crate) kernel_names: Option<KernelNames>,

    /// Give the figures of TraceLens where it is known to be wrong: nanoseconds under headers that say µs,
    /// percentages cumulated before sorting, its kinds of kernels
    #[arg(
        long,
        value_name = "TOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "tracelens",
        value_parser = one_of(REFERENCES)
    )]
    pub(crate) parity: Option<Reference>,
}

const KERNEL_NAMES: &[(&str, KernelNames)] = &[
    ("truncated", KernelNames::Truncated),
    ("formatted", KernelNames::Formatted),
    ("demangled", KernelNames::Demangled),
    ("mangled", KernelNames::Mangled),
];

/// All but the first say how the tables are made, and need it.
#[derive(Args)]
#[command(next_help_heading = "Tables known from Perfetto traces")]
pub(crate) struct PftraceArguments {
    /// Add category_summary, xla_top, pftrace_kernel_summary, hip_summary, api_kernel_summary and
    /// memory_copy_by_copy_bytes, whatever the format of the profile
    #[arg(long = "pftrace_tables")]
    pub(crate) pftrace_tables: bool,

    /// Count kernels whose names differ in digits only as one
    #[arg(long = "merge_kernels", requires = "pftrace_tables")]
    pub(crate) merge_kernels: bool,

    /// Leave out what threads with lower numbers launched and called [default: -1000000000]
    #[arg(long = "min_tid", value_name = "N", requires = "pftrace_tables", allow_negative_numbers = true)]
    pub(crate) min_tid: Option<i64>,

    /// Leave out what threads with higher numbers launched and called [default: 1000000000]
    #[arg(long = "max_tid", value_name = "N", requires = "pftrace_tables", allow_negative_numbers = true)]
    pub(crate) max_tid: Option<i64>,

    /// Leave out shorter kernels and HIP calls, but not from xla_top [default: 5000]
    #[arg(
        long = "min_event_ns",
        value_name = "NS",
        requires = "pftrace_tables",
        allow_negative_numbers = true
    )]
    pub(crate) min_event_ns: Option<i64>,

    /// Leave out pftrace_kernel_summary
    #[arg(long = "no_kernel_summary", requires = "pftrace_tables")]
    pub(crate) no_kernel_summary: bool,

    /// Add collectives to pftrace_kernel_summary
    #[arg(long = "kernel_summary_include_rccl", requires = "pftrace_tables")]
    pub(crate) kernel_summary_include_rccl: bool,

    /// What percentages of pftrace_kernel_summary are of [default: total]
    #[arg(long = "kernel_summary_baseline", value_parser = one_of(BASELINES), value_name = "WHAT", requires = "pftrace_tables")]
    pub(crate) kernel_summary_baseline: Option<KernelBaseline>,

    /// What a row of pftrace_kernel_summary is: a kernel with its launch configuration, or a kernel [default: config]
    #[arg(long = "kernel_summary_group", value_parser = one_of(KERNEL_GROUPINGS), value_name = "BY", requires = "pftrace_tables")]
    pub(crate) kernel_summary_group: Option<KernelGrouping>,

    /// Leave out hip_summary
    #[arg(long = "no_hip_summary", requires = "pftrace_tables")]
    pub(crate) no_hip_summary: bool,

    /// What a row of hip_summary is [default: name]
    #[arg(long = "hip_summary_group", value_parser = one_of(HIP_GROUPINGS), value_name = "BY", requires = "pftrace_tables")]
    pub(crate) hip_summary_group: Option<HipGrouping>,

    /// Rows of xla_top [default: 30]
    #[arg(long = "top_xla", value_name = "N", requires = "pftrace_tables")]
    pub(crate) top_xla: Option<usize>,

    /// Leave kernels whose name this regular expression finds out of api_kernel_summary; an empty one leaves none out
    /// [default: redzone_checker_kernel as a word]
    #[arg(long = "exclude_kernel_regex", value_name = "REGEX", requires = "pftrace_tables", value_parser = pattern)]
    pub(crate) exclude_kernel_regex: Option<ExcludedKernels>,

    /// Count a call with each kernel that it launched, not only with the first
    #[arg(long = "allow_multi_kernel_per_api", requires = "pftrace_tables")]
    pub(crate) allow_multi_kernel_per_api: bool,

    /// Add HIP calls that launch nothing to api_kernel_summary
    #[arg(long = "include_nonlaunch_apis", requires = "pftrace_tables")]
    pub(crate) include_nonlaunch_apis: bool,
}

const BASELINES: &[(&str, KernelBaseline)] =
    &[("total", KernelBaseline::Total), ("compute", KernelBaseline::Compute)];

const KERNEL_GROUPINGS: &[(&str, KernelGrouping)] =
    &[("config", KernelGrouping::Config), ("name", KernelGrouping::Name)];

const HIP_GROUPINGS: &[(&str, HipGrouping)] = &[
    ("name", HipGrouping::Name),
    ("name+stream", HipGrouping::NameStream),
    ("name+op", HipGrouping::NameOp),
    ("name+stream+op", HipGrouping::NameStreamOp),
];

/// Kernels that are left out; none without a pattern.
#[derive(Clone, Debug)]
pub(crate) struct ExcludedKernels(pub(crate) Option<KernelPattern>);

fn pattern(text: &str) -> Result<ExcludedKernels, String> {
    match text {
        "" => Ok(ExcludedKernels(None)),
        text => match text.parse() {
            Ok(pattern) => Ok(ExcludedKernels(Some(pattern))),
            Err(error) => Err(error.to_string()),
        },
    }
}
