//! Names under which the program takes the place of another tool.

use std::ffi::OsStr;

/// A tool that a subcommand stands for when the program is called by the tool's name.
pub(super) struct ReferenceTool {
    name: &'static str,
    /// What takes its place.
    pub(super) subcommand: &'static str,
    /// What follows the name on its command line.
    usage: &'static str,
    /// Whether its sheets have the names that it gives them at present.
    names_sheets: bool,
}

const TOOLS: [ReferenceTool; 6] = [
    ReferenceTool {
        name: "TraceLens_generate_perf_report_pytorch",
        subcommand: "pytorch",
        usage: "[OPTIONS] --profile_json_path <FILE>",
        names_sheets: true,
    },
    ReferenceTool {
        name: "TraceLens_generate_perf_report_pytorch_inference",
        subcommand: "inference",
        usage: "[OPTIONS] --profile_json_path <FILE>",
        names_sheets: true,
    },
    ReferenceTool {
        name: "TraceLens_split_inference_trace",
        subcommand: "split",
        usage: "[OPTIONS] <FILE>",
        names_sheets: false,
    },
    ReferenceTool {
        name: "TraceLens_generate_perf_report_jax",
        subcommand: "jax",
        usage: "[OPTIONS] --profile_path <FILE>",
        names_sheets: false,
    },
    ReferenceTool {
        name: "TraceLens_generate_perf_report_rocprof",
        subcommand: "rocprof",
        usage: "[OPTIONS] --profile_json_path <FILE>",
        names_sheets: false,
    },
    ReferenceTool {
        name: "tt-perf-report",
        subcommand: "metal",
        usage: "[OPTIONS] <FILE>...",
        names_sheets: false,
    },
];

impl ReferenceTool {
    /// The tool of this name.
    pub(super) fn of_name(name: &OsStr) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| name == tool.name)
    }

    /// The subcommand with the usage and the defaults of the tool.
    pub(super) fn take_place(&self, subcommand: clap::Command) -> clap::Command {
        let subcommand = subcommand.override_usage(format!("{} {}", self.name, self.usage));
        match self.names_sheets {
            true => subcommand.mut_arg("sheet_names", |arg| arg.default_value("current")),
            false => subcommand,
        }
    }
}
