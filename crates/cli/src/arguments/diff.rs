//! Flags of `tracelens diff`.

use std::path::PathBuf;

use clap::Args;
use iterations::WindowOptions;

use super::compare::{SameNames, same};
use super::reading::ReadingArguments;
use super::report_output::ReportOutput;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens diff before.json.gz after.json.gz                       which modules, operators and kernels differ
  tracelens diff h100.json.gz mi300.json.gz --names H100 MI300      GPUs of different vendors
  tracelens diff a.json.gz b.json.gz --steady                       the steady iterations of both
  tracelens diff a.json.gz b.json.gz --merged_tree merged.txt       the merged call tree, as text
  tracelens diff eager.json.gz graphs.json.gz --capture_folder_b captures    operators of replayed graphs

A is the baseline; slowdowns in B are positive and red. Options accept _ or -.
`tracelens info columns diff_units` explains a sheet. `tracelens compare` compares reports by operator, without call trees.";

#[derive(Args)]
pub(crate) struct DiffArguments {
    /// Two recordings, baseline A first: Kineto JSON or Perfetto traces of PyTorch's profiler, or any recording that
    /// `tracelens tree` reads
    #[arg(value_name = "RUN", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Names of the runs [default: the parts of their paths that differ]
    #[arg(long, value_names = ["A", "B"], num_args = 2, help_heading = "Comparison")]
    pub(crate) names: Vec<String>,

    /// Treat operators with these names as the same, in addition to the built-in groups (convolution, batch normalization
    /// and attention of different libraries). Repeatable. Example: my::gemm=aten::mm
    #[arg(long, value_name = "NAME=NAME[=NAME...]", value_parser = same, help_heading = "Comparison")]
    pub(crate) same: Vec<SameNames>,

    /// Expand the replayed graphs of A with the capture traces in this folder
    #[arg(
        long = "capture_folder",
        visible_alias = "capture_folder_a",
        value_name = "DIR",
        help_heading = "Comparison"
    )]
    pub(crate) capture_folder: Option<PathBuf>,

    /// Expand the replayed graphs of B with the capture traces in this folder
    #[arg(
        long = "capture_folder_b",
        alias = "comparison_capture_folder",
        value_name = "DIR",
        help_heading = "Comparison"
    )]
    pub(crate) capture_folder_b: Option<PathBuf>,

    /// Add diff_map: matching events of A and B, one row per module, operator, call and kernel
    #[arg(long, help_heading = "Comparison")]
    pub(crate) map: bool,

    #[command(flatten)]
    pub(crate) window: WindowOptions,

    #[command(flatten)]
    pub(crate) tables: ReportOutput,

    /// Write the merged call tree as text: one line per module, operator, call and kernel with its kernel times in A
    /// and B; >> trace1: marks lines found only in A, << trace2: lines found only in B
    #[arg(long = "merged_tree", value_name = "FILE", help_heading = "Output")]
    pub(crate) merged_tree: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}
