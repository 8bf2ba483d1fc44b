//! `tracelens metal`.

mod advice;
mod columns;
mod groups;
mod operations;
mod request;
mod signposts;

use std::path::PathBuf;

use answers::{Analysed, Picture, Report, Summary, TenstorrentReporter, Watch};
use iterations::WindowOptions;
use metal_perf::{CsvOptions, MetalOptions, MetalReport, write_csv, write_summary_csv};
use report_writers::stacked_time::Arrangement;
use report_writers::terminal::Style;
use trace_diff::Comparison;
use trace_ingest::metal::read_ops;

use crate::arguments::metal::{MetalArguments, TerminalArguments};
use crate::comparison_text;
use crate::console;
use crate::context::Context;
use crate::destinations::{check_destinations, save};
use crate::error::Failure;
use crate::request::{Extras, Request};
use crate::standard_input;
use crate::summary::{self, Detail};
use request::Screen;

pub(crate) fn run(arguments: &MetalArguments, context: &Context<'_>) -> Result<(), Failure> {
    if let Some(option) = context.given.names(&WindowOptions::NAMES).into_iter().next() {
        return Err(Failure::WindowOfOperations { option });
    }
    let output = &arguments.output;
    let read: Vec<PathBuf> = arguments.files.iter().chain(&arguments.baseline).cloned().collect();
    let own = [&output.csv, &output.summary_file, &output.summary_svg].into_iter().flatten();
    let files = output.tables.files();
    let files = files.iter().map(|(format, path)| (*format, path.as_path()));
    check_destinations(&read, own.map(|path| ("file", path.as_path())).chain(files))?;
    let options = request::options(arguments);
    if arguments.terminal.list_signposts {
        return list_signposts(arguments, options, context);
    }
    let picture = output.summary_svg.as_deref();
    let arrangement = if output.classic_colors { Arrangement::ByTime } else { Arrangement::ByCategory };
    let mut request = Request {
        pictures: picture.map(|path| (Picture::StackedTime(arrangement), path)).into_iter().collect(),
        ..Request::new("metal", &arguments.files, &output.tables, context)
    };
    request.warnings.extend(request::without_effect(arguments, context));
    let reporter = TenstorrentReporter { analysis: options, baseline: arguments.baseline.clone() };
    request.answer(reporter, arguments)
}

fn list_signposts(
    arguments: &MetalArguments,
    options: MetalOptions,
    context: &Context<'_>,
) -> Result<(), Failure> {
    let whole = MetalOptions {
        start_signpost: None,
        end_signpost: None,
        occurrence: None,
        ignore_signposts: true,
        print_signposts: true,
        ..options
    };
    context.timings.borrow_mut().begin(answers::Stage::Read);
    let table = read_ops(&arguments.files, &standard_input::reading())?;
    context.timings.borrow_mut().count_events(table.rows.len());
    context.timings.borrow_mut().begin(answers::Stage::Analysis);
    let report = MetalReport::new(table, whole)
        .map_err(|error| answers::Error::Metal { paths: arguments.files.clone(), error })?;
    context.timings.borrow_mut().begin(answers::Stage::Terminal);
    Ok(console::print(signposts::text(&report, &Screen::new(arguments, context.style())))?)
}

fn analysis(report: &Report) -> Option<(&MetalReport, Option<&Comparison>)> {
    match &report.analysis {
        Analysed::Tenstorrent(report, comparison) => Some((report, comparison.as_ref())),
        _ => None,
    }
}

impl Extras for MetalArguments {
    fn has_notices_first(&self) -> bool {
        self.compat
    }

    fn write(&self, report: &Report) -> Vec<Result<PathBuf, Failure>> {
        let Some((report, _)) = analysis(report) else { return Vec::new() };
        let output = &self.output;
        let mut files = Vec::new();
        let options = CsvOptions { advice: !self.terminal.no_advice, raw_op_codes: output.raw_op_codes };
        if let Some(path) = &output.csv {
            files.push(save(path, |file| write_csv(report, options, file)));
        }
        if let Some(path) = &output.summary_file {
            files.push(save(path, |file| write_summary_csv(report, file)));
        }
        files
    }

    /// The first page, with `-v` the operations, what to change in each, and the summary below it; with `--csv` only how the
    /// DRAM was used. As tt-perf-report everything but the page.
    fn text(&self, report: &Report, _: &str, detail: Detail, style: Style) -> String {
        let (page, tables) = (&report.summary, report.tables.tables());
        let (headlines, comparison_lines) =
            page.statements.split_at(page.headlines.min(page.statements.len()));
        let Some((report, comparison)) = analysis(report) else { return String::new() };
        let TerminalArguments { no_advice, no_summary, .. } = self.terminal;
        let screen = Screen::new(self, style);
        let mut text = String::new();
        if self.output.csv.is_some() {
            operations::roofline(report, &mut text);
        } else {
            if !self.compat {
                let mut page = Summary { statements: headlines.to_vec(), ..page.clone() };
                if no_advice {
                    page.findings.clear();
                }
                let tables = if no_summary { &[] } else { tables };
                text.push_str(&summary::page(&page, tables, detail, style));
            }
            if self.compat || (detail == Detail::All && !report.ops.is_empty()) {
                operations::write(report, &screen, &mut text);
                if !no_advice {
                    advice::write(report, &screen, &mut text);
                }
                if !no_summary {
                    groups::write(report, &screen, &mut text);
                }
            }
        }
        if let Some(comparison) = comparison {
            let [baseline, now] = &comparison.names;
            let title = format!("{baseline} → {now}");
            let lines = [&title].into_iter().chain(comparison_lines);
            text.push('\n');
            text.push_str(&comparison_text::text(lines, "", std::slice::from_ref(comparison), style));
        }
        text
    }
}
