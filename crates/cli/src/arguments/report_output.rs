//! Where reports go: flags that all subcommands with a report share.

use std::path::PathBuf;

use answers::SheetNames;
use clap::Args;
use flags::one_of;
use report_writers::{CsvDirectory, Workbook, Writer};

use super::answer_output::{AnswerOutput, JSON_DOCUMENT};
use super::timings::TimingsArguments;

/// A file of tables, or a directory of them, and what writes it.
pub(crate) type Output = (&'static dyn Writer, PathBuf);

#[derive(Args)]
pub(crate) struct Recordings {
    /// The recording: plain, gzip, zstd or zip, or a directory of rocprofv3 CSV files; - reads standard input (no
    /// workbook unless named). Several XPlane or Tenstorrent files: the hosts of one run, in rank order
    #[arg(value_name = "FILE", required_unless_present = "profile_json_path")]
    files: Vec<PathBuf>,

    /// Same as FILE
    #[arg(
        long = "profile_json_path",
        alias = "profile_path",
        value_name = "FILE",
        num_args = 1..,
        conflicts_with = "files"
    )]
    profile_json_path: Vec<PathBuf>,
}

impl Recordings {
    /// The recordings, whichever way they were named; one at least.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        if self.files.is_empty() { &self.profile_json_path } else { &self.files }
    }
}

#[derive(Args)]
#[command(
    next_help_heading = "Output",
    mut_arg("json", |arg| {
        arg.help("Print the answer with all sheets as JSON instead of the summary; writes no file unless one is named")
    })
)]
pub(crate) struct ReportOutput {
    /// Write the workbook to this file [default: <input>_perf_report.xlsx beside the input, unless another output is
    /// named]
    #[arg(long = "output_xlsx_path", value_name = "FILE")]
    output_xlsx_path: Option<PathBuf>,

    /// Write one CSV file per sheet to this directory
    #[arg(long = "output_csvs_dir", value_name = "DIR")]
    output_csvs_dir: Option<PathBuf>,

    /// Write the answer with all sheets as one JSON file
    #[arg(long = "output_json_path", value_name = "FILE", group = JSON_DOCUMENT)]
    pub(crate) output_json_path: Option<PathBuf>,

    /// Write one offline HTML page with all sheets and charts: where the time goes, who spends it, timeline, rooflines.
    /// Reads a trace's Python frames, so that page and sheets show modules
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Print nothing but errors
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,

    /// Print the whole summary and every remark, not only the first page
    #[arg(long, short, conflicts_with_all = ["json", "quiet"])]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) answer: AnswerOutput,

    #[command(flatten)]
    pub(crate) timings: TimingsArguments,
}

/// Whose names and columns the sheets have.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct SheetNaming {
    /// Sheet names: documented (ops_all, short_kernels_histogram, short_kernels_all_details), or current, those of
    /// TraceLens (ops_unique_args, short_kernel_histogram, short_kernels_summary), with its column order and rocprofv3
    /// categories, and no overview
    #[arg(long = "sheet-names", default_value = "documented", value_parser = one_of(SHEET_NAMES), value_name = "NAMES")]
    pub(crate) sheet_names: SheetNames,
}

const SHEET_NAMES: &[(&str, SheetNames)] =
    &[("documented", SheetNames::Documented), ("current", SheetNames::Current)];

impl ReportOutput {
    /// Writers with the destinations that were asked for.
    pub(crate) fn destinations(&self) -> Vec<Output> {
        let asked: [(&'static dyn Writer, &Option<PathBuf>); 2] =
            [(&Workbook, &self.output_xlsx_path), (&CsvDirectory, &self.output_csvs_dir)];
        asked.into_iter().filter_map(|(writer, path)| Some((writer, path.clone()?))).collect()
    }

    /// Everything that is written, with the name of its format.
    pub(crate) fn files(&self) -> Vec<(&'static str, PathBuf)> {
        let tables = self.destinations().into_iter().map(|(writer, path)| (writer.name(), path));
        let documents = [("json", &self.output_json_path), ("html", &self.html)];
        let documents = documents.into_iter().filter_map(|(format, path)| Some((format, path.clone()?)));
        tables.chain(documents).collect()
    }
}
