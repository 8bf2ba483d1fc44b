//! Flags of `tracelens inference` beside those of a report.

use std::path::PathBuf;

use clap::Args;

use super::pytorch::TraceArguments;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens inference trace.json.gz                                  summary here, workbook beside the trace
  tracelens inference decode.json.gz --capture_folder captures       operators of replayed graphs
  tracelens inference trace.json.gz --group_by_parent_module --enable_pseudo_ops    by module, fused operators split

Options accept _ or -. `tracelens info columns` explains the sheets.";

#[derive(Args)]
pub(crate) struct InferenceArguments {
    #[command(flatten)]
    pub(crate) trace: TraceArguments,
    #[command(flatten)]
    pub(crate) engine: EngineArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Inference")]
pub(crate) struct EngineArguments {
    /// Expand replayed graphs with the capture traces in this folder. Its execution_details.json says which trace is
    /// which; without it, all are read. Nothing is written there
    #[arg(long = "capture_folder", value_name = "DIR")]
    pub(crate) capture_folder: Option<PathBuf>,

    /// Write details of the captures to this file. If you put it in the capture folder as execution_details.json, the
    /// next run need not read all captures. Batch sizes without an annotation are null
    #[arg(long = "capture_details_path", value_name = "FILE", requires = "capture_folder")]
    pub(crate) capture_details_path: Option<PathBuf>,

    /// Separate calls by nn.Module in ops_summary, ops_summary_by_category and ops_all, and show the enclosing modules;
    /// needs a trace with stacks
    #[arg(long = "group_by_parent_module")]
    pub(crate) group_by_parent_module: bool,

    /// Compare call trees with this trace: adds its times to unified_perf_summary, and adds the sheets diff_ledger,
    /// diff_units and diff_stats
    #[arg(long = "comparison_json_path", value_name = "FILE")]
    pub(crate) comparison_json_path: Option<PathBuf>,

    /// The --capture_folder of the other trace
    #[arg(long = "comparison_capture_folder", value_name = "DIR", requires = "comparison_json_path")]
    pub(crate) comparison_capture_folder: Option<PathBuf>,

    // What the tool whose place the subcommand takes has and this one has not: refused, never ignored.
    #[arg(long = "enable-origami", hide = true)]
    enable_origami: bool,
    #[arg(long = "python_path", value_name = "FILE", hide = true)]
    python_path: Option<PathBuf>,
}

impl EngineArguments {
    /// The first option that is given and not supported, and what to do instead.
    pub(crate) fn unsupported(&self) -> Option<(&'static str, &'static str)> {
        const NO_SIMULATION: &str =
            "matmul times are not simulated here; the roofline columns show the minimum time";
        [
            (self.enable_origami, "--enable-origami", NO_SIMULATION),
            (self.python_path.is_some(), "--python_path", NO_SIMULATION),
        ]
        .into_iter()
        .find_map(|(given, option, instead)| given.then_some((option, instead)))
    }
}
