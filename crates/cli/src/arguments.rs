//! Every flag of the command line: its names, its documentation, its parsing.

pub(crate) mod inference;
pub(crate) mod jax;
pub(crate) mod match_blocks;
pub(crate) mod metal;
pub(crate) mod model;
pub(crate) mod phases;
pub(crate) mod profile_output;
pub(crate) mod rocprof;
pub(crate) mod split;
pub(crate) mod timings;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use inference::InferenceArguments;
use jax::JaxArguments;
use match_blocks::MatchArguments;
use metal::MetalArguments;
pub(crate) use model::{ModelArguments, ModelCommand};
use phases::PhaseArguments;
use rocprof::RocprofArguments;
use split::SplitArguments;
use timings::{TimingsArguments, TimingsForm};

/// Under this name the program takes the place of the reference tool's PyTorch report.
const REFERENCE_PYTORCH: &str = "TraceLens_generate_perf_report_pytorch";

/// Under this name the program takes the place of the reference tool's report of inference engines' traces.
const REFERENCE_INFERENCE: &str = "TraceLens_generate_perf_report_pytorch_inference";

/// Under this name the program takes the place of the reference tool's splitter.
const REFERENCE_SPLIT: &str = "TraceLens_split_inference_trace";

/// Under this name the program takes the place of the reference tool's JAX report.
const REFERENCE_JAX: &str = "TraceLens_generate_perf_report_jax";

/// Under this name the program takes the place of the reference tool's report of rocprofv3's profiles.
const REFERENCE_ROCPROF: &str = "TraceLens_generate_perf_report_rocprof";

/// Under this name the program takes the place of the reference tool's report of Tenstorrent's operations.
const REFERENCE_METAL: &str = "tt-perf-report";

const EXAMPLES: &str = "\
Examples:
  tracelens report trace.json.gz                             summary here, workbook beside the trace
  tracelens report trace.json.gz --output_csvs_dir sheets    CSV files instead of the workbook
  tracelens report trace.json.gz --json                      all sheets as JSON, no file
  tracelens tree trace.json.gz --name aten::mm --parents     who calls aten::mm
  tracelens model gemm --m 8192 --n 8192 --k 8192 --arch h100    FLOPs, bytes, least time";

const SPELLINGS: &str = "\
Options may be written with _ or with -: --topk_ops is --topk-ops. `tracelens columns` explains the sheets.";

/// Answers from profiler traces of GPU jobs: where the time went, which operator launched which kernel.
#[derive(Parser)]
#[command(
    name = "tracelens",
    version,
    max_term_width = 110,
    arg_required_else_help = true,
    after_help = EXAMPLES
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Write a performance report of a trace, whatever its format
    #[command(after_help = SPELLINGS)]
    Report(Box<ReportArguments>),
    /// Write a performance report of a PyTorch trace
    #[command(after_help = SPELLINGS)]
    Pytorch(Box<ReportArguments>),
    /// Write a performance report of a trace of an inference engine: vLLM, SGLang, ATOM, diffusion
    #[command(after_help = inference::EXAMPLES)]
    Inference(Box<InferenceArguments>),
    /// Write a performance report of an XPlane profile (*.xplane.pb): JAX, TensorFlow, PyTorch/XLA on GPUs and TPUs
    #[command(after_help = jax::EXAMPLES)]
    Jax(Box<JaxArguments>),
    /// Write a performance report of a profile of AMD's rocprofv3: JSON, CSV, rocpd or Perfetto
    #[command(after_help = rocprof::EXAMPLES)]
    Rocprof(Box<RocprofArguments>),
    /// Write a performance report of Tenstorrent operations: the CSV of tt-metal's profiler (ops_perf_results_*.csv)
    #[command(after_help = metal::EXAMPLES, infer_long_args = true)]
    Metal(Box<MetalArguments>),
    /// Print the call tree of a trace: operators, launches, kernels
    Tree(TreeArguments),
    /// Split a trace into traces of single steps, of the steady state, or of phases
    #[command(after_help = split::EXAMPLES)]
    Split(SplitArguments),
    /// Find steps of two traces in which an inference engine does the same work
    #[command(after_help = match_blocks::EXAMPLES)]
    Match(MatchArguments),
    /// Say how much work an operation is, and the least time that a GPU takes for it
    #[command(args_conflicts_with_subcommands = true, arg_required_else_help = true, after_help = model::EXAMPLES)]
    Model(ModelArguments),
    /// List the bundled architectures
    Archs,
    /// Say what the columns of the sheets mean
    Columns {
        /// Only this sheet, such as ops_all
        sheet: Option<String>,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print a manual page (roff); `tracelens man | man -l -` shows it
    Man {
        /// The page of this subcommand instead of the program's
        command: Option<String>,
    },
}

impl Command {
    /// How the times of the run are to be printed, if they are.
    pub(crate) fn timings(&self) -> Option<TimingsForm> {
        let asked = match self {
            Command::Report(arguments) | Command::Pytorch(arguments) => &arguments.output.timings,
            Command::Inference(arguments) => &arguments.report.output.timings,
            Command::Jax(arguments) => &arguments.output.tables.timings,
            Command::Rocprof(arguments) => &arguments.output.timings,
            Command::Metal(arguments) => &arguments.output.tables.timings,
            _ => return None,
        };
        asked.timings
    }
}

#[derive(Args)]
pub(crate) struct ReportArguments {
    /// The trace: plain, gzip, zstd or zip
    #[arg(value_name = "FILE", required_unless_present = "profile_json_path")]
    file: Option<PathBuf>,

    /// The same as FILE
    #[arg(long = "profile_json_path", value_name = "FILE", conflicts_with = "file")]
    profile_json_path: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArguments,
    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,
    #[command(flatten)]
    pub(crate) phases: PhaseArguments,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

impl ReportArguments {
    /// The trace file, whichever way it was named.
    pub(crate) fn trace(&self) -> PathBuf {
        self.file.as_ref().or(self.profile_json_path.as_ref()).cloned().unwrap_or_default()
    }
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArguments {
    /// Write the workbook here [default: <trace>_perf_report.xlsx beside the trace, unless another output is named]
    #[arg(long = "output_xlsx_path", value_name = "FILE")]
    pub(crate) output_xlsx_path: Option<PathBuf>,

    /// Write one CSV file per sheet into this directory
    #[arg(long = "output_csvs_dir", value_name = "DIR")]
    pub(crate) output_csvs_dir: Option<PathBuf>,

    /// Write all sheets as one JSON file
    #[arg(long = "output_json_path", value_name = "FILE")]
    pub(crate) output_json_path: Option<PathBuf>,

    /// Draw the operators under the rooflines of the GPU as an SVG picture
    #[arg(long = "roofline_svg", value_name = "FILE")]
    pub(crate) roofline_svg: Option<PathBuf>,

    /// Draw the steps of the engine over time, coloured by phase, as an SVG picture
    #[arg(long = "step_svg", value_name = "FILE", requires = "inference_phase_analysis")]
    pub(crate) step_svg: Option<PathBuf>,

    /// Names of the sheets: the documented ones (ops_all, short_kernels_histogram, short_kernels_all_details)
    /// or those that the reference tool writes at present (ops_unique_args, short_kernel_histogram,
    /// short_kernels_summary)
    #[arg(long = "sheet-names", value_enum, default_value_t, value_name = "NAMES")]
    pub(crate) sheet_names: SheetNames,

    /// Print all sheets as JSON instead of the summary; writes no file unless one is named
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,

    /// Print nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) timings: TimingsArguments,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SheetNames {
    #[default]
    Documented,
    Current,
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
    #[arg(long = "micro_idle_thresh_us", value_name = "US", value_parser = microseconds)]
    pub(crate) micro_idle_thresh_us: Option<f64>,

    /// Add short_kernels_histogram and short_kernels_all_details
    #[arg(long = "short_kernel_study")]
    pub(crate) short_kernel_study: bool,

    /// A kernel is short below this duration
    #[arg(long = "short_kernel_threshold_us", value_name = "US", default_value = "10", value_parser = microseconds)]
    pub(crate) short_kernel_threshold_us: f64,

    /// Bins of the short-kernel histogram
    #[arg(long = "short_kernel_histogram_bins", value_name = "N", default_value = "100")]
    pub(crate) short_kernel_histogram_bins: NonZeroUsize,

    /// Add the kernel_summary sheet
    #[arg(long = "enable_kernel_summary", alias = "kernel_summary")]
    pub(crate) enable_kernel_summary: bool,

    /// Tell work that activation checkpointing did again apart (column is_recompute); needs a trace with stacks
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

    /// Hold the figures against the architecture in this JSON file
    #[arg(long = "gpu_arch_json_path", value_name = "FILE", conflicts_with = "gpu_arch_platform")]
    pub(crate) gpu_arch_json_path: Option<PathBuf>,

    /// Hold the figures against this bundled architecture; see tracelens archs [default: the GPU that the trace names]
    #[arg(long = "gpu_arch_platform", value_name = "NAME")]
    pub(crate) gpu_arch_platform: Option<String>,

    /// Add the models, categories and tree rules of this Starlark script to the built-in ones
    #[arg(long = "extension_file", value_name = "FILE")]
    pub(crate) extension_file: Option<PathBuf>,

    /// Kernels whose name contains this text are communication too (may be given several times)
    #[arg(long = "communication-pattern", value_name = "TEXT")]
    pub(crate) communication_pattern: Vec<String>,
}

#[derive(Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadingArguments {
    /// How device events find their launch: by correlation id, any number of them per launch, or by launch
    /// arrows (flow), one per launch, which gives the figures of the reference tool
    #[arg(long = "link-by", value_enum, default_value_t, value_name = "RULE")]
    pub(crate) link_by: LinkBy,

    /// Threads that parse [default: as many as the machine has]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LinkBy {
    #[default]
    Correlation,
    Flow,
}

#[derive(Args)]
pub(crate) struct TreeArguments {
    /// The trace: plain, gzip, zstd or zip
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Start at the event with this index in the trace's event list (ex_UID of ops_all)
    #[arg(long, value_name = "N", group = "start")]
    pub(crate) uid: Option<u32>,

    /// Start at every event with this name
    #[arg(long, value_name = "TEXT", group = "start")]
    pub(crate) name: Option<String>,

    /// Start at the event with this External id
    #[arg(long = "external-id", value_name = "N", group = "start", requires_all = ["pid", "tid"])]
    pub(crate) external_id: Option<i64>,

    /// Process of the External id
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) pid: Option<i64>,

    /// Thread of the External id
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) tid: Option<i64>,

    /// Print the chain of callers instead of what is below
    #[arg(long, requires = "start")]
    pub(crate) parents: bool,

    /// Print this many levels below the start
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<usize>,

    /// Print events without device work too
    #[arg(long)]
    pub(crate) all: bool,

    /// Show Python frames; needs a trace with stacks
    #[arg(long = "python-frames")]
    pub(crate) python_frames: bool,

    /// Go on with backward operators (or, with --parents, with the forward operator)
    #[arg(long)]
    pub(crate) backward: bool,

    /// Show this argument of operators, such as "Input Dims" (may be given several times)
    #[arg(long = "field", value_name = "ARGUMENT")]
    pub(crate) fields: Vec<String>,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

fn microseconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("expected a number of microseconds, 0 or more".to_string()),
    }
}

/// The command as clap knows it, every option under its own spelling and with `-` and `_` exchanged.
pub(crate) fn command() -> clap::Command {
    // No workbook is written unless one is asked for, as it is by the other reports.
    let metal = |metal: clap::Command| {
        metal.mut_arg("output_xlsx_path", |arg| arg.help("Write the tables as a workbook here"))
    };
    with_both_spellings(CommandLine::command().mut_subcommand("metal", metal))
}

fn with_both_spellings(command: clap::Command) -> clap::Command {
    let exchanged = |arg: clap::Arg| match arg.get_long() {
        Some(long) if long.contains('_') => {
            let kebab = long.replace('_', "-");
            arg.alias(kebab)
        }
        Some(long) if long.contains('-') => {
            let snake = long.replace('-', "_");
            arg.alias(snake)
        }
        _ => arg,
    };
    command.mut_args(exchanged).mut_subcommands(with_both_spellings)
}

/// Parses the arguments, the program's name first; ends the program on help, version and wrong usage.
pub(crate) fn parse(mut arguments: Vec<OsString>) -> Command {
    let mut command = command();
    let name = arguments.first().map(Path::new).and_then(Path::file_stem);
    let of_report = [(REFERENCE_PYTORCH, "pytorch"), (REFERENCE_INFERENCE, "inference")];
    if let Some((reference, report)) =
        of_report.into_iter().find(|(reference, _)| name.is_some_and(|name| name == *reference))
    {
        arguments.insert(1, report.into());
        command = command.mut_subcommand(report, |report| as_reference_tool(report, reference));
    } else if name.is_some_and(|name| name == REFERENCE_SPLIT) {
        arguments.insert(1, "split".into());
        let usage = format!("{REFERENCE_SPLIT} [OPTIONS] <FILE>");
        command = command.mut_subcommand("split", |split| split.override_usage(usage));
    } else if name.is_some_and(|name| name == REFERENCE_JAX) {
        arguments.insert(1, "jax".into());
        let usage = format!("{REFERENCE_JAX} [OPTIONS] --profile_path <FILE>");
        command = command.mut_subcommand("jax", |jax| jax.override_usage(usage));
    } else if name.is_some_and(|name| name == REFERENCE_ROCPROF) {
        arguments.insert(1, "rocprof".into());
        let usage = format!("{REFERENCE_ROCPROF} [OPTIONS] --profile_json_path <FILE>");
        command = command.mut_subcommand("rocprof", |rocprof| rocprof.override_usage(usage));
    } else if name.is_some_and(|name| name == REFERENCE_METAL) {
        arguments.insert(1, "metal".into());
        let usage = format!("{REFERENCE_METAL} [OPTIONS] <FILE>...");
        command = command.mut_subcommand("metal", |metal| metal.override_usage(usage));
    }
    let parsed = command
        .try_get_matches_from(&arguments)
        .and_then(|matches| CommandLine::from_arg_matches(&matches))
        .unwrap_or_else(|error| with_tip(error, arguments.get(1)).exit());
    parsed.command
}

/// The subcommand with the usage and the defaults of the tool whose place it takes.
fn as_reference_tool(subcommand: clap::Command, reference: &str) -> clap::Command {
    subcommand
        .override_usage(format!("{reference} [OPTIONS] --profile_json_path <FILE>"))
        .mut_arg("sheet_names", |arg| arg.default_value("current"))
}

/// A trace where the subcommand belongs is a newcomer's likeliest slip.
fn with_tip(mut error: clap::Error, first: Option<&OsString>) -> clap::Error {
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(trace) = first.map(Path::new).filter(|path| path.is_file())
    {
        let tip = format!("for a report on this file, use `tracelens report {}`", trace.display());
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_parse(arguments: &[&str]) -> Result<Command, clap::Error> {
        let matches = command().try_get_matches_from(std::iter::once(&"tracelens").chain(arguments))?;
        CommandLine::from_arg_matches(&matches).map(|line| line.command)
    }

    #[test]
    fn the_command_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_option_is_understood_in_both_spellings() {
        for option in ["--output_csvs_dir", "--output-csvs-dir"] {
            let Ok(Command::Report(arguments)) = try_parse(&["report", "t.json", option, "out"]) else {
                panic!("{option}")
            };
            assert_eq!(arguments.output.output_csvs_dir.as_deref(), Some("out".as_ref()));
        }
        for option in ["--link-by", "--link_by"] {
            let Ok(Command::Pytorch(arguments)) = try_parse(&["pytorch", "t.json", option, "flow"]) else {
                panic!("{option}")
            };
            assert_eq!(arguments.reading.link_by, LinkBy::Flow);
        }
    }

    #[test]
    fn the_trace_is_named_once() {
        let trace = |arguments: &[&str]| match try_parse(arguments) {
            Ok(Command::Pytorch(arguments)) => Some(arguments.trace()),
            _ => None,
        };
        assert_eq!(trace(&["pytorch", "t.json"]), Some("t.json".into()));
        assert_eq!(trace(&["pytorch", "--profile_json_path", "t.json"]), Some("t.json".into()));
        assert_eq!(trace(&["pytorch", "t.json", "--profile-json-path", "u.json"]), None);
        assert_eq!(trace(&["pytorch"]), None);
    }

    #[test]
    fn thresholds_are_checked() {
        for (value, valid) in [("5", true), ("2.5", true), ("-1", false), ("NaN", false), ("x", false)] {
            let argument = format!("--micro_idle_thresh_us={value}");
            assert_eq!(try_parse(&["report", "t", &argument]).is_ok(), valid, "{value}");
        }
        assert!(try_parse(&["report", "t", "--short_kernel_histogram_bins", "0"]).is_err());
    }
}
