//! Flags of `tracelens rocprof`.

use clap::Args;
use flags::one_of;
use iterations::WindowOptions;
use rocprof_perf::RocprofOptions;

use super::reading::OverrunArguments;
use super::report_output::{Recordings, ReportOutput, SheetNaming};
use super::{REFERENCES, Reference};

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens rocprof 908_results.json                           summary here, workbook beside the profile
  tracelens rocprof 908_results.db --output_csvs_dir sheets    CSV files instead of the workbook
  tracelens rocprof out/node-7 --kernel_details                the CSV files of a directory, one row per dispatch
  tracelens rocprof 908_results.json --steady                  without warm-up, partial and outlier iterations
  tracelens rocprof 908_results.pftrace --pftrace_tables       with the tables of Perfetto traces

rocprofv3 --sys-trace --output-format json -- PROGRAM writes <host>/<pid>_results.json; csv, rocpd and pftrace work
too. Options accept _ or -. `tracelens info columns` explains the sheets.";

#[derive(Args)]
pub(crate) struct RocprofArguments {
    #[command(flatten)]
    pub(crate) recordings: Recordings,
    #[command(flatten)]
    pub(crate) output: ReportOutput,
    #[command(flatten)]
    pub(crate) naming: SheetNaming,
    #[command(flatten)]
    pub(crate) window: WindowOptions,
    #[command(flatten)]
    pub(crate) options: RocprofOptions,
    #[command(flatten)]
    pub(crate) overruns: OverrunArguments,

    /// Reproduce TraceLens figures known to be wrong: nanoseconds under µs headers, percentages accumulated before
    /// sorting, its kernel categories
    #[arg(
        long,
        value_name = "TOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "tracelens",
        value_parser = one_of(REFERENCES),
        help_heading = "Analysis"
    )]
    pub(crate) parity: Option<Reference>,
}
