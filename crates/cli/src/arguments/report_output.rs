//! Where reports go: flags that all subcommands with a report share.

use std::path::{Path, PathBuf};

use answers::SheetNames;
use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};
use flags::one_of;
use report_writers::{CsvDirectory, Workbook, Writer};

use super::answer_output::{AnswerOutput, JSON_DOCUMENT};
use super::timings::TimingsArguments;

/// A file of tables, or a directory of them, and what writes it.
pub(crate) type Output = (&'static dyn Writer, PathBuf);

#[derive(Args)]
pub(crate) struct Recordings {
    /// The recording: plain, gzip, zstd or zip, or a directory of rocprofv3 CSV files; - reads standard input (no
    /// workbook unless named). Several XPlane or Tenstorrent files are the hosts of one run, in rank order
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
    /// Write the result to this file, in the format of its extension: .xlsx, .json, .html or .md; without one, a folder
    /// of CSV files. Repeatable
    #[arg(short = 'o', long = "output", value_name = "FILE", value_parser = NamedOutput::parser(), group = JSON_DOCUMENT)]
    named: Vec<NamedOutput>,

    /// Overwrite existing files even if tracelens did not write them
    #[arg(long)]
    pub(crate) force: bool,

    /// Write the workbook to this file [default: <input>_perf_report.xlsx beside the input, unless another output is
    /// named]
    #[arg(long = "output_xlsx_path", value_name = "FILE")]
    output_xlsx_path: Option<PathBuf>,

    /// Write one CSV file per sheet to this directory
    #[arg(long = "output_csvs_dir", value_name = "DIR")]
    output_csvs_dir: Option<PathBuf>,

    /// Write the answer with all sheets as one JSON file
    #[arg(long = "output_json_path", value_name = "FILE", group = JSON_DOCUMENT)]
    output_json_path: Option<PathBuf>,

    /// Write one offline HTML page with all sheets and charts: where the time goes, which modules and operators spend
    /// it, timeline, rooflines. Reads Python frames, so that page and sheets show modules
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Print nothing but errors
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,

    /// Print the full summary and all remarks, not only the first page
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
    /// Sheet names: those that TraceLens documents (documented: ops_all, short_kernels_histogram,
    /// short_kernels_all_details), or those that it writes (current: ops_unique_args, short_kernel_histogram,
    /// short_kernels_summary). current also uses TraceLens's column order and rocprofv3 categories, and omits overview
    #[arg(long = "sheet-names", default_value = "documented", value_parser = one_of(SHEET_NAMES), value_name = "NAMES")]
    pub(crate) sheet_names: SheetNames,
}

const SHEET_NAMES: &[(&str, SheetNames)] =
    &[("documented", SheetNames::Documented), ("current", SheetNames::Current)];

impl ReportOutput {
    /// Writers with the destinations that were asked for.
    pub(crate) fn destinations(&self) -> Vec<Output> {
        let workbooks = self.in_form(Form::Workbook, &self.output_xlsx_path);
        let folders = self.in_form(Form::Csv, &self.output_csvs_dir);
        let workbooks = workbooks.map(|path| -> Output { (&Workbook, path.to_path_buf()) });
        workbooks.chain(folders.map(|path| -> Output { (&CsvDirectory, path.to_path_buf()) })).collect()
    }

    /// Where the answer goes as JSON, as a page, and as Markdown, with the name of the format.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let json = self.in_form(Form::Json, &self.output_json_path).map(|path| ("json", path));
        let html = self.in_form(Form::Html, &self.html).map(|path| ("html", path));
        json.chain(html).chain(self.in_form(Form::Markdown, &None).map(|path| ("md", path)))
    }

    /// Whether a page is asked for.
    pub(crate) fn has_page(&self) -> bool {
        self.documents().any(|(format, _)| format == "html")
    }

    fn in_form<'o>(&'o self, form: Form, own: &'o Option<PathBuf>) -> impl Iterator<Item = &'o Path> {
        let named = self.named.iter().filter(move |output| output.form == form);
        own.as_deref().into_iter().chain(named.map(|output| output.path.as_path()))
    }

    /// Everything that is written, with the name of its format.
    pub(crate) fn files(&self) -> Vec<(&'static str, PathBuf)> {
        let tables = self.destinations().into_iter().map(|(writer, path)| (writer.name(), path));
        tables.chain(self.documents().map(|(format, path)| (format, path.to_path_buf()))).collect()
    }
}

/// A file whose ending says its form.
#[derive(Clone, Debug)]
struct NamedOutput {
    form: Form,
    path: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Workbook,
    Csv,
    Json,
    Html,
    Markdown,
}

impl NamedOutput {
    fn parser() -> impl TypedValueParser<Value = Self> {
        PathBufValueParser::new().try_map(|path| {
            if path.as_os_str() == "-" {
                return Err("standard output already carries the first page (with --json, the answer); name a file".to_owned());
            }
            let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
            let is_folder = path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/");
            let form = match ending.as_deref() {
                _ if is_folder => Form::Csv,
                None => Form::Csv,
                Some("xlsx") => Form::Workbook,
                Some("json") => Form::Json,
                Some("html") => Form::Html,
                Some("md") => Form::Markdown,
                Some(other) => {
                    return Err(format!(
                        "ends in .{other}; expected .xlsx, .json, .html, .md, or a folder for CSV files (end it in /)"
                    ));
                }
            };
            Ok(NamedOutput { form, path })
        })
    }
}
