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
  tracelens compare a.json b.json c.json --output_csvs_dir diff   several runs, each compared with the first
  tracelens compare a.json b.json --same my::gemm=aten::mm        operators that do the same work
  tracelens compare a.json b.json --fail-on 'total_time>5%'       exit code 3 when a step takes that much longer

The first run is the baseline, A: what takes longer in the others is above 0 and red. Options may be written with _ or
with -. `tracelens info columns time_change` explains a sheet.";

#[derive(Args)]
pub(crate) struct CompareArguments {
    /// The runs, the baseline first: recordings of any kind, or reports of this program or of TraceLens (workbooks,
    /// directories of CSV files, JSON), in any mix
    #[arg(value_name = "RUN", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// What the runs are called, a name for each [default: what tells their files apart]
    #[arg(long, value_name = "NAME", num_args = 1.., help_heading = "Comparison")]
    pub(crate) names: Vec<String>,

    /// Only these sheets, such as ops_summary; all is all of them
    #[arg(long, value_name = "SHEET", num_args = 1.., help_heading = "Comparison")]
    pub(crate) sheets: Vec<String>,

    /// How many steps of the program each run has: times and calls are divided by them [default: as recorded, if the
    /// recordings of both say so]
    #[arg(
        long,
        value_name = "N",
        num_args = 1..,
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "Comparison"
    )]
    pub(crate) steps: Vec<u64>,

    /// Operators that do the same work under different names, beside those that are known: convolutions, batch
    /// normalisations and attention of different libraries. May be given several times
    #[arg(long, value_name = "NAME=NAME[=NAME...]", value_parser = same, help_heading = "Comparison")]
    pub(crate) same: Vec<SameNames>,

    /// Give the sheets, columns and figures of TraceLens where ours differ: rows that share a key are paired each with
    /// each, keys are equal only where they are written alike. --sheets then takes gpu_timeline, ops_summary,
    /// kernel_summary, ops_all, roofline and all
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

    /// End with exit code 3 when a run exceeds a limit: WHAT>AMOUNT, where WHAT is total_time or another kind of time of
    /// gpu_timeline, op:NAME, kernel:NAME, category:NAME, new or gone, and AMOUNT a number with %, us, ms or s. May be
    /// given several times
    #[arg(long = "fail-on", value_name = "WHAT>AMOUNT", value_parser = limit, help_heading = "Comparison")]
    pub(crate) fail_on: Vec<Limit>,

    #[command(flatten)]
    pub(crate) tables: ReportOutput,

    /// Write what changed as Markdown, for a pull request
    #[arg(long = "output_markdown_path", value_name = "FILE", help_heading = "Output")]
    pub(crate) output_markdown_path: Option<PathBuf>,
}

fn limit(text: &str) -> Result<Limit, String> {
    text.parse().map_err(|error: trace_diff::NoLimit| error.to_string())
}

/// Names that stand for the same work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SameNames(pub(crate) Vec<String>);

/// Names that stand for the same operator: those that are known, and these.
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
