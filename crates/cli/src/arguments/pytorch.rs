//! Flags of `tracelens pytorch`, which `tracelens inference` has too.

use std::path::PathBuf;

use clap::Args;
use flags::one_of;
use iterations::WindowOptions;
use tree_perf::AnalysisOptions;

use super::devices::DeviceArguments;
use super::phases::PhaseArguments;
use super::reading::ReadingArguments;
use super::report_output::{Recordings, ReportOutput, SheetNaming};
use super::{Reference, TRACE_REFERENCES};

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
    pub(crate) window: WindowOptions,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArguments {
    #[command(flatten)]
    pub(crate) tables: ReportOutput,

    /// Draw the operators on a roofline plot (SVG)
    #[arg(long = "roofline_svg", value_name = "FILE")]
    pub(crate) roofline_svg: Option<PathBuf>,

    /// Draw the iterations over time (SVG); with --inference_phase_analysis, the engine's steps colored by phase
    #[arg(long = "step_svg", value_name = "FILE")]
    pub(crate) step_svg: Option<PathBuf>,

    /// Write the trace with counters of queue lengths and copy rates, for viewers: .json, .json.gz or .json.zst
    #[arg(long = "counter_trace", value_name = "FILE")]
    pub(crate) counter_trace: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) naming: SheetNaming,
}

#[derive(Args)]
#[command(next_help_heading = "Analysis")]
pub(crate) struct AnalysisArguments {
    #[command(flatten)]
    pub(crate) options: AnalysisOptions,

    #[command(flatten)]
    pub(crate) devices: DeviceArguments,

    /// tracelens: use TraceLens's categories (by operator name or first kernel) and communication kernels, and exclude
    /// communication from the operator tables. hta: add the tables of Holistic Trace Analysis (sheets hta_…)
    #[arg(
        long,
        value_name = "TOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "tracelens",
        value_parser = one_of(TRACE_REFERENCES)
    )]
    pub(crate) parity: Option<Reference>,

    /// With --parity hta: add the kernel sequences of operators whose names contain this text
    #[arg(long = "hta_sequences_of", value_name = "TEXT")]
    pub(crate) hta_sequences_of: Option<String>,

    /// Add the models, categories and tree passes of this file (.toml or .py)
    #[arg(long = "extension_file", value_name = "FILE")]
    pub(crate) extension_file: Option<PathBuf>,

    /// Python interpreter for a .py extension file [default: python3 on PATH]
    #[arg(long, value_name = "PATH", requires = "extension_file")]
    pub(crate) python: Option<PathBuf>,
}
