//! Flags of `tracelens metal`.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;
use metal_perf::{CollectiveTime, DurationSource, GroupBy, IdRange};

use super::report_output::ReportOutput;
use super::window::WindowArguments;
use super::{number, one_of};

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens metal ops_perf_results.csv                       the operations, what bounds each, advice
  tracelens metal ops.csv --signpost run --end-signpost end  what ran between two signposts
  tracelens metal ops.csv --id-range 5-10                    these rows only; 31- and -12 are open ranges
  tracelens metal ops.csv --baseline before.csv              what got faster and slower
  tracelens metal ops.csv --csv report.csv --summary-svg time.svg    files instead of the table

TT_METAL_DEVICE_PROFILER=1 and `python -m tracy -r -p -m pytest …` write ops_perf_results_<date>.csv. Options may be
written with _ or with -.";

#[derive(Args)]
pub(crate) struct MetalArguments {
    /// Operations as the profiler of tt-metal lists them, a row each; files of several hosts of one run are put together
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) output: MetalOutput,
    #[command(flatten)]
    pub(crate) rows: RowArguments,
    #[command(flatten)]
    pub(crate) figures: FigureArguments,
    #[command(flatten)]
    pub(crate) terminal: TerminalArguments,
    /// Known so that the refusal can say what to do instead.
    #[command(flatten)]
    pub(crate) window: WindowArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct MetalOutput {
    #[command(flatten)]
    pub(crate) tables: ReportOutput,

    /// Write the operations as a CSV file instead of printing them
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Add a column with the operation as the profiler names it to --csv
    #[arg(long = "raw-op-codes")]
    pub(crate) raw_op_codes: bool,

    /// Write the summary as a CSV file
    #[arg(long = "summary-file", value_name = "FILE", alias = "stacked-csv")]
    pub(crate) summary_file: Option<PathBuf>,

    /// Draw the summary as a stacked bar, one per device with --no-merge-devices, as an SVG picture
    #[arg(long = "summary-svg", value_name = "FILE")]
    pub(crate) summary_svg: Option<PathBuf>,

    /// Stack the picture by time alone, not by category
    #[arg(long = "classic-colors")]
    pub(crate) classic_colors: bool,
}

#[derive(Args)]
#[command(next_help_heading = "Rows")]
pub(crate) struct RowArguments {
    /// Report what comes after this signpost [default: the last one with operations after it]
    #[arg(long = "start-signpost", value_name = "NAME", visible_alias = "signpost")]
    pub(crate) start_signpost: Option<String>,

    /// Report what comes before this signpost
    #[arg(long = "end-signpost", value_name = "NAME")]
    pub(crate) end_signpost: Option<String>,

    /// Which of the signposts of that name is the start, counted from 1 [default: the first]
    #[arg(long, value_name = "N", requires = "start_signpost")]
    pub(crate) occurrence: Option<NonZeroUsize>,

    /// Report the whole file
    #[arg(long = "ignore-signposts", conflicts_with_all = ["start_signpost", "end_signpost"])]
    pub(crate) ignore_signposts: bool,

    /// Show signposts among the operations
    #[arg(long = "print-signposts")]
    pub(crate) print_signposts: bool,

    /// List the signposts with the operations and the time after each, and report nothing
    #[arg(long = "list-signposts")]
    pub(crate) list_signposts: bool,

    /// Report rows with these IDs only: 5-10, 31- (from there on), -12 (up to there). An ID is the row's line when the
    /// file is opened as a spreadsheet
    #[arg(long = "id-range", value_name = "RANGE", allow_hyphen_values = true, value_parser = str::parse::<IdRange>)]
    pub(crate) id_range: Option<IdRange>,

    /// Leave out operations that ran on the host
    #[arg(long = "no-host-ops")]
    pub(crate) no_host_ops: bool,

    /// Keep the order of the file: a replayed trace has the host's times of its capture
    #[arg(long = "tracing-mode")]
    pub(crate) tracing_mode: bool,

    /// Show what each device did instead of one row for all
    #[arg(long = "no-merge-devices")]
    pub(crate) no_merge_devices: bool,
}

#[derive(Args)]
#[command(next_help_heading = "Figures")]
pub(crate) struct FigureArguments {
    /// Chip that the operations ran on, such as wormhole, blackhole, p100 [default: what the file says, else wormhole]
    #[arg(long, value_name = "NAME")]
    pub(crate) arch: Option<String>,

    /// Experts that a sparse product computes, where its attributes do not say
    #[arg(long = "active-experts", value_name = "K")]
    pub(crate) active_experts: Option<NonZeroU64>,

    /// Which duration counts: that of the kernel, or with the firmware around it (fw)
    #[arg(long, default_value = "kernel", value_parser = one_of(DURATIONS), value_name = "WHICH")]
    pub(crate) duration: DurationSource,

    /// Time of a collective on several devices: their mean, the shortest (of the device that came last and did not
    /// wait), or the longest
    #[arg(long = "collective-time", default_value = "mean", value_parser = one_of(COLLECTIVE_TIMES), value_name = "WHICH")]
    pub(crate) collective_time: CollectiveTime,

    /// Compare with this run, as `tracelens compare` does: operations by name and sizes, biggest changes first
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// Give the figures, rules and layout of tt-perf-report 1.4.1, where it is known to be wrong too
    #[arg(long)]
    pub(crate) compat: bool,
}

#[derive(Args)]
#[command(next_help_heading = "Terminal")]
pub(crate) struct TerminalArguments {
    /// Share in percent, of the time and of device time, below which a row is minor: grey, and left out where there is no
    /// colour. With --compat that of the time decides alone
    #[arg(long = "min-percentage", value_name = "PERCENT", default_value = "0.5", value_parser = number("of percent, 0 or more", |value| value >= 0.0))]
    pub(crate) min_percentage: f64,

    /// Leave minor rows out of the table
    #[arg(long = "hide-minor")]
    pub(crate) hide_minor: bool,

    /// The same as --color never
    #[arg(long = "no-color")]
    pub(crate) no_color: bool,

    /// Print no advice, and leave its column out of --csv
    #[arg(long = "no-advice")]
    pub(crate) no_advice: bool,

    /// Print no summary
    #[arg(long = "no-summary", alias = "no-stacked-report")]
    pub(crate) no_summary: bool,

    /// What a row of the summary is: an operation (op), an operation and where its first input lies (memory), or a
    /// category [default: memory]
    #[arg(long = "group-by", value_parser = one_of(GROUPINGS), value_name = "BY")]
    pub(crate) group_by: Option<GroupBy>,

    /// The same as --group-by op
    #[arg(long = "no-stack-by-in0", hide = true, conflicts_with = "group_by")]
    pub(crate) no_stack_by_in0: bool,
}

impl TerminalArguments {
    /// What a row of the summary is, whichever way it was said.
    pub(crate) fn group_by(&self) -> GroupBy {
        self.group_by.unwrap_or(if self.no_stack_by_in0 { GroupBy::Op } else { GroupBy::Memory })
    }
}

const DURATIONS: &[(&str, DurationSource)] =
    &[("kernel", DurationSource::Kernel), ("fw", DurationSource::Firmware)];

const COLLECTIVE_TIMES: &[(&str, CollectiveTime)] =
    &[("mean", CollectiveTime::Mean), ("min", CollectiveTime::Min), ("max", CollectiveTime::Max)];

const GROUPINGS: &[(&str, GroupBy)] =
    &[("op", GroupBy::Op), ("memory", GroupBy::Memory), ("category", GroupBy::Category)];
