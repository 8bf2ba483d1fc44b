//! Flags of `tracelens diff`.

use std::path::PathBuf;

use clap::Args;
use iterations::WindowOptions;

use super::compare::{SameNames, same};
use super::reading::ReadingArguments;
use super::report_output::ReportOutput;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens diff before.json.gz after.json.gz                       where the difference is
  tracelens diff h100.json.gz mi300.json.gz --names H100 MI300      recordings of different vendors
  tracelens diff a.json.gz b.json.gz --steady                       the steady iterations of both
  tracelens diff a.json.gz b.json.gz --merged_tree merged.txt       both call trees as one, as text
  tracelens diff eager.json.gz graphs.json.gz --capture_folder_b captures    operators of replayed graphs

A is the baseline: what takes longer in B is above 0 and red. Options may be written with _ or with -. `tracelens info columns
diff_units` explains a sheet. `tracelens compare` joins the reports of runs by operator, without their call trees.";

#[derive(Args)]
pub(crate) struct DiffArguments {
    /// The two recordings, the baseline A first: Kineto JSON or Perfetto traces of PyTorch's profiler, or any recording
    /// that `tracelens tree` reads
    #[arg(value_name = "RUN", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// What the runs are called [default: what tells their files apart]
    #[arg(long, value_names = ["A", "B"], num_args = 2, help_heading = "Comparison")]
    pub(crate) names: Vec<String>,

    /// Operators that do the same work under different names, beside those that are known: convolutions, batch
    /// normalisations and attention of different libraries. May be given several times
    #[arg(long, value_name = "NAME=NAME[=NAME...]", value_parser = same, help_heading = "Comparison")]
    pub(crate) same: Vec<SameNames>,

    /// Give the replayed graphs of A the operators of the traces in this folder, which were recorded while the graphs were
    /// captured
    #[arg(
        long = "capture_folder",
        visible_alias = "capture_folder_a",
        value_name = "DIR",
        help_heading = "Comparison"
    )]
    pub(crate) capture_folder: Option<PathBuf>,

    /// The same of B
    #[arg(
        long = "capture_folder_b",
        alias = "comparison_capture_folder",
        value_name = "DIR",
        help_heading = "Comparison"
    )]
    pub(crate) capture_folder_b: Option<PathBuf>,

    /// Add diff_map: which event of A is which of B, a row per module, operator, call and kernel
    #[arg(long, help_heading = "Comparison")]
    pub(crate) map: bool,

    #[command(flatten)]
    pub(crate) window: WindowOptions,

    #[command(flatten)]
    pub(crate) tables: ReportOutput,

    /// Write both call trees as one, as text: a line for each module, operator, call and kernel with its kernel time in A
    /// and in B, and with >> trace1: or << trace2: before what A or B alone has
    #[arg(long = "merged_tree", value_name = "FILE", help_heading = "Output")]
    pub(crate) merged_tree: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}
