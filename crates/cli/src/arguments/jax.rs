//! Flags of `tracelens jax`.

use std::path::PathBuf;

use clap::Args;
use flags::one_of;
use iterations::WindowOptions;
use xla_perf::JaxOptions;

use super::devices::DeviceArguments;
use super::report_output::{Recordings, ReportOutput, SheetNaming};
use super::{REFERENCES, Reference};

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens jax host.xplane.pb                              summary here, workbook beside the profile
  tracelens jax host.xplane.pb --output_csvs_dir sheets     CSV files instead of the workbook
  tracelens jax host.xplane.pb --kernel_metadata_keyword_filters attention mlp    kernels of these operations only
  tracelens jax host.xplane.pb --steady                     steady iterations only: no warm-up, no outliers
  tracelens jax host0.xplane.pb host1.xplane.pb             collectives of a run on two hosts

jax.profiler.trace(DIR) writes profiles to DIR/plugins/profile/<time>/<host>.xplane.pb.
Options accept _ or -. `tracelens info columns` explains the sheets.";

#[derive(Args)]
pub(crate) struct JaxArguments {
    #[command(flatten)]
    pub(crate) recordings: Recordings,

    #[command(flatten)]
    pub(crate) output: JaxOutput,
    #[command(flatten)]
    pub(crate) analysis: JaxAnalysisArguments,
    #[command(flatten)]
    pub(crate) window: WindowOptions,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct JaxOutput {
    #[command(flatten)]
    pub(crate) tables: ReportOutput,

    #[command(flatten)]
    pub(crate) naming: SheetNaming,

    /// Draw GPU instructions on a roofline plot (SVG)
    #[arg(long = "roofline_svg", value_name = "FILE")]
    pub(crate) roofline_svg: Option<PathBuf>,

    /// Draw the iterations over time (SVG)
    #[arg(long = "step_svg", value_name = "FILE")]
    pub(crate) step_svg: Option<PathBuf>,
}

#[derive(Args)]
#[command(next_help_heading = "Analysis")]
pub(crate) struct JaxAnalysisArguments {
    #[command(flatten)]
    pub(crate) options: JaxOptions,

    #[command(flatten)]
    pub(crate) devices: DeviceArguments,

    /// Reproduce TraceLens figures known to be wrong: in the op_… sheets, apply its library-call formulas to every
    /// kernel
    #[arg(
        long,
        value_name = "TOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "tracelens",
        value_parser = one_of(REFERENCES)
    )]
    pub(crate) parity: Option<Reference>,

    // What the tool whose place the subcommand takes has and this one has not: refused, never ignored.
    #[arg(long = "enable-origami", hide = true)]
    pub(crate) enable_origami: bool,
}
