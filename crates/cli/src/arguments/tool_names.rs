//! Names under which the program takes the place of another tool.

use std::ffi::OsStr;

/// A tool that a subcommand stands for when the program is called by the tool's name.
pub(super) struct ReferenceTool {
    name: &'static str,
    /// What takes its place.
    pub(super) subcommand: &'static str,
    /// How the recording is named on its command line.
    recording: &'static str,
}

/// Tools by name, each with the subcommand that takes its place and how it is given the recording.
const TOOLS: [(&str, &str, &str); 8] = [
    ("TraceLens_generate_perf_report_pytorch", "pytorch", "--profile_json_path <FILE>"),
    ("TraceLens_generate_perf_report_pytorch_inference", "inference", "--profile_json_path <FILE>"),
    ("TraceLens_split_inference_trace", "split", "<FILE>"),
    ("TraceLens_generate_perf_report_jax", "jax", "--profile_path <FILE>"),
    ("TraceLens_generate_perf_report_rocprof", "rocprof", "--profile_json_path <FILE>"),
    (
        "TraceLens_generate_multi_rank_collective_report_pytorch",
        "ranks",
        "--trace_dir <DIR> --world_size <N>",
    ),
    ("TraceLens_compare_perf_reports_pytorch", "compare", "<REPORT> <REPORT>..."),
    ("tt-perf-report", "metal", "<FILE>..."),
];

impl ReferenceTool {
    /// The tool of this name.
    pub(super) fn from_name(name: &OsStr) -> Option<Self> {
        let (name, subcommand, recording) = TOOLS.into_iter().find(|(tool, ..)| name == *tool)?;
        Some(ReferenceTool { name, subcommand, recording })
    }

    /// The subcommand with the usage of the tool and, where they can be chosen, its names of sheets and its figures.
    pub(super) fn take_place(&self, subcommand: clap::Command) -> clap::Command {
        let has_parity = ["pytorch", "inference", "ranks", "compare"].contains(&self.subcommand);
        let names_sheets = |arg: clap::Arg| match arg.get_id().as_str() {
            "sheet_names" => arg.default_value("current"),
            "parity" if has_parity => arg.default_value("tracelens"),
            "compat" => arg.default_value("true"),
            _ => arg,
        };
        let usage = format!("{} [OPTIONS] {}", self.name, self.recording);
        subcommand.override_usage(usage).mut_args(names_sheets)
    }
}
