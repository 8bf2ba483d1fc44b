//! `tracelens metal`.

mod advice;
mod columns;
mod comparison;
mod files;
mod operations;
mod picture;
mod request;
mod signposts;
mod summary;

use std::path::PathBuf;

use metal_perf::{Comparison, MetalNotice, MetalOptions, MetalReport};
use report_writers::{Json, Report};
use trace_ingest::metal::{OpsTable, read_ops};

use crate::arguments::metal::MetalArguments;
use crate::arguments::report_output::Output;
use crate::console;
use crate::error::Failure;
use crate::notes::Notes;
use crate::report_files::{end_with, write_tables};
use crate::tables;
use crate::timings::{Stage, Timings};
use request::Screen;

pub(crate) fn run(arguments: &MetalArguments, timings: &mut Timings) -> Result<(), Failure> {
    let outputs = arguments.output.tables.destinations();
    request::check_destinations(arguments, &outputs)?;
    let options = request::options(arguments);
    let quiet = arguments.output.tables.quiet;
    let table = read(&arguments.files, timings)?;
    timings.begin(Stage::Analysis);
    if arguments.rows.list_signposts {
        return list_signposts(table, arguments, options, timings);
    }
    let report = report(table, &arguments.files, options.clone())?;
    let comparison = match &arguments.figures.baseline {
        Some(path) => Some(Comparison::new(&report_of_baseline(path, options, timings)?, &report)),
        None => None,
    };
    if !quiet {
        request::without_effect(arguments).iter().for_each(console::warning);
        report.notices.iter().for_each(notify);
    }
    present(arguments, &report, comparison.as_ref(), &outputs, timings)
}

fn read(paths: &[PathBuf], timings: &mut Timings) -> Result<OpsTable, Failure> {
    timings.begin(Stage::Read);
    let table = read_ops(paths)?;
    timings.count_events(table.rows.len());
    Ok(table)
}

/// Says what a reader should know: what is amiss as a warning, what was done as a note.
fn notify(notice: &MetalNotice) {
    match notice {
        MetalNotice::Window { .. }
        | MetalNotice::CardAssumed { .. }
        | MetalNotice::SignpostRepeats { .. }
        | MetalNotice::NoDevices
        | MetalNotice::DevicesKeptApart { .. }
        | MetalNotice::DevicesMerged { .. } => console::note(notice),
        notice => console::warning(notice),
    }
}

fn list_signposts(
    table: OpsTable,
    arguments: &MetalArguments,
    options: MetalOptions,
    timings: &mut Timings,
) -> Result<(), Failure> {
    let whole = MetalOptions {
        start_signpost: None,
        end_signpost: None,
        occurrence: None,
        ignore_signposts: true,
        print_signposts: true,
        ..options
    };
    let report = report(table, &arguments.files, whole)?;
    timings.begin(Stage::Terminal);
    Ok(console::print(signposts::text(&report, &Screen::new(arguments)))?)
}

fn report(table: OpsTable, paths: &[PathBuf], options: MetalOptions) -> Result<MetalReport, Failure> {
    MetalReport::new(table, options).map_err(|error| Failure::Metal { paths: paths.to_vec(), error })
}

/// The other run under the same options, but all of its window: IDs of one file say nothing of another.
fn report_of_baseline(
    path: &PathBuf,
    options: MetalOptions,
    timings: &mut Timings,
) -> Result<MetalReport, Failure> {
    let paths = std::slice::from_ref(path);
    let table = read(paths, timings)?;
    timings.begin(Stage::Analysis);
    report(table, paths, MetalOptions { id_range: None, ..options })
}

/// Writes what was asked for and prints the rest. What can be written is written even if something else cannot.
fn present(
    arguments: &MetalArguments,
    report: &MetalReport,
    comparison: Option<&Comparison>,
    outputs: &[Output],
    timings: &mut Timings,
) -> Result<(), Failure> {
    timings.begin(Stage::Write);
    let output = &arguments.output;
    let mut notes = Notes::default();
    let mut pending = files::write(arguments, report, &mut notes);
    timings.begin(Stage::Sheets);
    let sheets = match outputs.is_empty() && !output.tables.json {
        true => None,
        false => Some(sheets(arguments, report, comparison)?),
    };
    timings.begin(Stage::Write);
    if let Some(sheets) = &sheets {
        pending.extend(write_tables(sheets, outputs, &mut notes));
    }
    timings.begin(Stage::Terminal);
    if let (true, Some(sheets)) = (output.tables.json, &sheets) {
        console::write_with(|out| Json.write_to(sheets, out))?;
        notes.warnings.iter().for_each(console::warning);
    } else if !output.tables.quiet {
        let mut text = screen_text(arguments, report, comparison);
        notes.write(&mut text, console::style());
        console::print(text)?;
    }
    timings.end();
    end_with(pending)
}

fn sheets(
    arguments: &MetalArguments,
    report: &MetalReport,
    comparison: Option<&Comparison>,
) -> Result<Report, Failure> {
    let title = arguments.files.first().and_then(|path| path.file_name()).unwrap_or_default();
    tables::metal_report(report, comparison, &title.to_string_lossy())
}

/// All that is printed; with `--csv` only how the DRAM was used.
fn screen_text(arguments: &MetalArguments, report: &MetalReport, comparison: Option<&Comparison>) -> String {
    let screen = Screen::new(arguments);
    let mut text = String::new();
    match arguments.output.csv {
        Some(_) => operations::roofline(report, &mut text),
        None => {
            operations::write(report, &screen, &mut text);
            if !arguments.terminal.no_advice {
                advice::write(report, &screen, &mut text);
            }
            if !arguments.terminal.no_summary {
                summary::write(report, &screen, &mut text);
            }
        }
    }
    if let Some(comparison) = comparison {
        comparison::write(comparison, &screen, &mut text);
    }
    text
}
