//! Flags of `tracelens compare`.

use std::path::PathBuf;

use clap::Args;
use flags::one_of;
use trace_diff::{Limit, NameClasses};

use super::report_output::ReportOutput;
use super::{REFERENCES, Reference};

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens compare before.json.gz after.json.gz                  two recordings: what became slower or faster
  tracelens compare h100_sheets mi300.xlsx --names H100 MI300     reports: directories of CSV files, workbooks, JSON
  tracelens compare a.json b.json c.json --output_csvs_dir diff   several runs, each against the first
  tracelens compare a.json b.json --same my::gemm=aten::mm        operators that do the same work
  tracelens compare a.json b.json --fail-on 'total_time>5%'       exit code 3 if a step takes that much longer

The first run is the baseline, A; slowdowns in the others are positive and red. Options accept _ or -.
`tracelens info columns time_change` explains a sheet.";

#[derive(Args)]
pub(crate) struct CompareArguments {
    /// Runs, baseline first: recordings of any kind or reports by this program or TraceLens (workbook, CSV directory,
    /// JSON), in any mix
    #[arg(value_name = "RUN", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Names of the runs, one per run [default: the parts of their paths that differ]
    #[arg(long, value_name = "NAME", num_args = 1.., help_heading = "Comparison")]
    pub(crate) names: Vec<String>,

    /// Write only these sheets, such as ops_summary, or all
    #[arg(long, value_name = "SHEET", num_args = 1.., help_heading = "Comparison")]
    pub(crate) sheets: Vec<String>,

    /// Number of steps in each run; times and calls are divided by it [default: as recorded, if known for the run and
    /// the baseline]
    #[arg(
        long,
        value_name = "N",
        num_args = 1..,
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "Comparison"
    )]
    pub(crate) steps: Vec<u64>,

    /// Treat operators with these names as the same, in addition to the built-in groups (convolution, batch normalization
    /// and attention of different libraries). Repeatable. Example: my::gemm=aten::mm
    #[arg(long, value_name = "NAME=NAME[=NAME...]", value_parser = same, help_heading = "Comparison")]
    pub(crate) same: Vec<SameNames>,

    /// Reproduce TraceLens's tables: all rows that share a key are paired; keys must match literally. --sheets then
    /// accepts gpu_timeline, ops_summary, kernel_summary, ops_all, roofline and all
    #[arg(
        long,
        value_name = "TOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "tracelens",
        value_parser = one_of(REFERENCES),
        help_heading = "Comparison"
    )]
    pub(crate) parity: Option<Reference>,

    /// Exit with code 3 if a run exceeds a limit. WHAT is total_time or another row of gpu_timeline, op:NAME,
    /// kernel:NAME, category:NAME, new or gone; AMOUNT is a number with %, us, ms or s. Repeatable. Example:
    /// total_time>5%
    #[arg(long = "fail-on", value_name = "WHAT>AMOUNT", value_parser = limit, help_heading = "Comparison")]
    pub(crate) fail_on: Vec<Limit>,

    #[command(flatten)]
    pub(crate) tables: ReportOutput,

    /// Write the changes as Markdown, for a pull request
    #[arg(long = "output_markdown_path", value_name = "FILE", help_heading = "Output")]
    pub(crate) output_markdown_path: Option<PathBuf>,
}

fn limit(text: &str) -> Result<Limit, String> {
    text.parse().map_err(|error: trace_diff::NoLimit| error.to_string())
}

/// Names that stand for the same work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SameNames(pub(crate) Vec<String>);

/// Names of the same operator: the known ones and these.
pub(crate) fn name_classes(same: &[SameNames]) -> NameClasses {
    let mut names = NameClasses::default();
    for same in same {
        names.add(same.0.iter().map(String::as_str));
    }
    names
}

pub(super) fn same(text: &str) -> Result<SameNames, String> {
    let names: Vec<String> = text.split('=').map(|name| name.trim().to_owned()).collect();
    match names.len() > 1 && names.iter().all(|name| !name.is_empty()) {
        true => Ok(SameNames(names)),
        false => Err("expected names joined by =, such as my::gemm=aten::mm".to_owned()),
    }
}
