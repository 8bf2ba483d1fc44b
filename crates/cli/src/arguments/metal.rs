//! Flags of `tracelens metal`.

use std::path::PathBuf;

use clap::Args;
use iterations::WindowOptions;
use metal_perf::MetalOptions;

use super::report_output::ReportOutput;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens metal ops_perf_results.csv                       what takes the time, what to change first
  tracelens metal ops_perf_results.csv -v                    also every operation, what bounds it, advice
  tracelens metal ops.csv --signpost run --end-signpost end  what ran between two signposts
  tracelens metal ops.csv --id-range 5-10                    these rows only; 31- and -12 are open ranges
  tracelens metal ops.csv --baseline before.csv              what got faster and slower
  tracelens metal ops.csv --csv report.csv --summary-svg time.svg    files instead of the table

TT_METAL_DEVICE_PROFILER=1 and `python -m tracy -r -p -m pytest …` write ops_perf_results_<date>.csv.
Options accept _ or -.";

#[derive(Args)]
pub(crate) struct MetalArguments {
    /// Operations listed by tt-metal's profiler (CSV); files from several hosts of one run are merged
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) output: MetalOutput,
    #[command(flatten)]
    pub(crate) options: MetalOptions,
    /// Compare with this run, as `tracelens compare` does: operations by name and size, largest change first
    #[arg(long, value_name = "FILE", help_heading = "Figures")]
    pub(crate) baseline: Option<PathBuf>,
    /// Reproduce figures, rules and layout of tt-perf-report 1.4.1, known errors included
    #[arg(long, help_heading = "Figures")]
    pub(crate) compat: bool,
    #[command(flatten)]
    pub(crate) terminal: TerminalArguments,
    /// Not supported; the error says what to use instead
    #[command(flatten)]
    pub(crate) window: WindowOptions,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct MetalOutput {
    #[command(flatten)]
    pub(crate) tables: ReportOutput,

    /// Write the operations as a CSV file instead of printing them
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Add the profiler's operation names to --csv
    #[arg(long = "raw-op-codes")]
    pub(crate) raw_op_codes: bool,

    /// Write the summary as a CSV file
    #[arg(long = "summary-file", value_name = "FILE", alias = "stacked-csv")]
    pub(crate) summary_file: Option<PathBuf>,

    /// Draw the summary as a stacked bar (SVG); with --no-merge-devices, one per device
    #[arg(long = "summary-svg", value_name = "FILE")]
    pub(crate) summary_svg: Option<PathBuf>,

    /// Stack the bar by time, not by category
    #[arg(long = "classic-colors")]
    pub(crate) classic_colors: bool,
}

/// What is printed.
#[derive(Args)]
#[command(next_help_heading = "Terminal")]
pub(crate) struct TerminalArguments {
    /// List the signposts with the operations and time after each, and exit
    #[arg(long = "list-signposts", help_heading = "Rows")]
    pub(crate) list_signposts: bool,

    /// Hide minor rows of the table
    #[arg(long = "hide-minor")]
    pub(crate) hide_minor: bool,

    /// Same as --color never
    #[arg(long = "no-color")]
    pub(crate) no_color: bool,

    /// Omit advice from the output and from --csv
    #[arg(long = "no-advice")]
    pub(crate) no_advice: bool,

    /// Print no summary
    #[arg(long = "no-summary", alias = "no-stacked-report")]
    pub(crate) no_summary: bool,

    /// Same as --group-by op
    #[arg(long = "no-stack-by-in0", hide = true, conflicts_with = "group_by")]
    pub(crate) no_stack_by_in0: bool,
}
