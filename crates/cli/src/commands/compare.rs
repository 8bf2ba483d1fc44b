//! `tracelens compare`.

use std::io::Write;
use std::path::{Path, PathBuf};

use answers::numbers::{decimal, grouped, unit_of_time};
use answers::{Analysed, CompareReporter, Report};
use reference_tools::SheetGroup;
use report_writers::shortened_apart;
use report_writers::terminal::{Color, Style, TextCell, TextColumn, table};
use trace_diff::{
    CompareOptions, Comparison, Joined, Limit, NameClasses, Row, Status, Step, markdown, waterfall,
};

use super::report::{Extras, Request, check_destinations, save};
use crate::arguments::compare::{CompareArguments, SameNames};
use crate::context::Context;
use crate::error::Failure;
use crate::summary::WIDEST;
use crate::wrapping::wrap;

/// Rows that are printed of what became slower, and of what became faster.
const MOST_ROWS: usize = 8;
/// A change by less of the whole is left out where there is anything larger.
const LEAST_PERCENT: f64 = 0.05;

/// Columns that the name of a run takes in the header of a table.
const WIDEST_NAME: usize = 20;

/// The workbook where nothing else is asked for.
const WORKBOOK: &str = "comparison.xlsx";

pub(crate) fn run(arguments: &CompareArguments, context: &Context<'_>) -> Result<(), Failure> {
    let names = name_classes(&arguments.same);
    let is_all = arguments.sheets.is_empty() || arguments.sheets.iter().any(|sheet| sheet == "all");
    let sheets = if is_all { Vec::new() } else { arguments.sheets.clone() };
    let as_tracelens = match arguments.parity {
        None => None,
        Some(_) => Some(groups(arguments, is_all)?),
    };
    let markdown = arguments.output_markdown_path.as_deref();
    check_destinations(&arguments.files, markdown.map(|path| ("markdown", path)))?;
    let reporter = CompareReporter {
        names: arguments.names.clone(),
        options: CompareOptions { names, sheets },
        steps: arguments.steps.clone(),
        as_tracelens,
    };
    let request = Request {
        default_workbook: Some(PathBuf::from(WORKBOOK)),
        ..Request::new("compare", &arguments.files, &arguments.tables, context)
    };
    request.answer(reporter, &FirstPage { limits: &arguments.fail_on, markdown })
}

/// Names that stand for the same operator: those that are known, and these.
pub(super) fn name_classes(same: &[SameNames]) -> NameClasses {
    let mut names = NameClasses::default();
    for same in same {
        names.add(same.0.iter().map(String::as_str));
    }
    names
}

/// The sheets that are compared as TraceLens does, which knows neither steps nor operators of one kind.
fn groups(arguments: &CompareArguments, is_all: bool) -> Result<Vec<SheetGroup>, Failure> {
    let of_ours = [
        ("--same", !arguments.same.is_empty()),
        ("--steps", !arguments.steps.is_empty()),
        ("--fail-on", !arguments.fail_on.is_empty()),
        ("--output_markdown_path", arguments.output_markdown_path.is_some()),
    ];
    if let Some((option, _)) = of_ours.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::OptionOfOurComparison { option });
    }
    let known = SheetGroup::ALL;
    if is_all {
        return Ok(known.iter().map(|(_, group)| *group).collect());
    }
    let group = |sheet: &String| {
        known.iter().find(|(name, _)| name == sheet).map(|(_, group)| *group).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            Failure::Arguments(format!("--sheets {sheet}: with --parity tracelens it takes {names} and all"))
        })
    };
    arguments.sheets.iter().map(group).collect()
}

/// What is printed of a comparison, and what is done with it beside the tables.
struct FirstPage<'a> {
    limits: &'a [Limit],
    markdown: Option<&'a Path>,
}

impl Extras for FirstPage<'_> {
    fn write(&self, report: &Report) -> Vec<Result<PathBuf, Failure>> {
        let Analysed::Comparisons(comparisons) = &report.analysis else { return Vec::new() };
        let mut outcomes = Vec::new();
        outcomes.extend(self.markdown.map(|path| {
            let texts: Vec<String> = comparisons.iter().map(markdown).collect();
            save(path, |file| file.write_all(texts.join("\n").as_bytes()))
        }));
        for (limit, comparison) in
            self.limits.iter().flat_map(|limit| comparisons.iter().map(move |one| (limit, one)))
        {
            match limit.check(comparison) {
                Ok(None) => {}
                Ok(Some(exceeded)) => outcomes.push(Err(Failure::LimitExceeded(exceeded.to_string()))),
                Err(unknown) => outcomes.push(Err(Failure::LimitOfUnknown(unknown.to_string()))),
            }
        }
        outcomes
    }

    fn text(&self, report: &Report, caveats: &str, style: Style) -> String {
        let lines = report.summary.head.iter().chain(&report.summary.statements);
        let comparisons = match &report.analysis {
            Analysed::Comparisons(comparisons) => comparisons.as_slice(),
            _ => &[],
        };
        text(lines, caveats, comparisons, style)
    }
}

/// What is printed of comparisons: lines about all, then what changed in each.
pub(super) fn text<'a>(
    lines: impl Iterator<Item = &'a String>,
    caveats: &str,
    comparisons: &[Comparison],
    style: Style,
) -> String {
    let mut out = String::new();
    lines.for_each(|line| wrap(line, "", "  ", style.width.min(WIDEST), &mut out));
    out.push_str(caveats);
    for comparison in comparisons {
        if comparisons.len() > 1 {
            let [a, b] = &comparison.names;
            out.push_str(&format!("\n{b} against {a}\n"));
        }
        write_parts(comparison, style, &mut out);
        write_changes(comparison, style, &mut out);
    }
    if style.unicode { out } else { out.replace('µ', "u").replace('→', "->").replace('−', "-") }
}

/// The parts that the difference is made of.
fn write_parts(comparison: &Comparison, style: Style, out: &mut String) {
    let steps = waterfall(comparison);
    let whole = comparison.whole_us();
    let mut parts: Vec<&Step> = steps.iter().filter(|step| step.delta_us.is_some()).collect();
    parts.retain(|step| step.delta_us.is_some_and(|delta| delta.abs() >= whole * LEAST_PERCENT / 100.0));
    let largest =
        parts.iter().filter_map(|step| step.delta_us).fold(0.0, |most: f64, delta| most.max(delta.abs()));
    let (unit, size) = unit_of_time(largest);
    let header = format!("change in {unit}");
    let columns = [
        TextColumn::left("part of the time", |step: &Step| step.name.clone()),
        TextColumn::right(&header, move |step: &Step| changed(step.delta_us, 1.0 / size, 3)),
        TextColumn::right("% of the whole", move |step: &Step| {
            changed(step.delta_us.filter(|_| whole > 0.0), 100.0 / whole, 1)
        }),
    ];
    if !parts.is_empty() {
        out.push('\n');
        out.push_str(&table(&columns, parts, style));
    }
}

/// What became slower and what faster, or is new or gone.
fn write_changes(comparison: &Comparison, style: Style, out: &mut String) {
    let Some(joined) = comparison.main_table() else { return };
    let whole = comparison.whole_us();
    let is_told = |row: &&Row| row.delta_us().abs() >= whole * LEAST_PERCENT / 100.0 && row.delta_us() != 0.0;
    let told: Vec<&Row> = joined.rows.iter().filter(is_told).collect();
    let (slower, faster): (Vec<&Row>, Vec<&Row>) = told.into_iter().partition(|row| row.delta_us() > 0.0);
    for (rows, what) in [(slower, "slower"), (faster, "faster")] {
        write_rows(comparison, joined, &rows, what, style, out);
    }
}

fn write_rows(
    comparison: &Comparison,
    joined: &Joined,
    rows: &[&Row],
    what: &str,
    style: Style,
    out: &mut String,
) {
    let Some(first) = rows.first() else { return };
    let shown = if rows.len() == MOST_ROWS + 1 { rows.len() } else { rows.len().min(MOST_ROWS) };
    let whole = comparison.whole_us();
    // Names of runs may be longer than those of operators, which need the room.
    let names = comparison.names.each_ref().map(String::as_str);
    let short = shortened_apart(names, WIDEST_NAME, style.unicode);
    let [a, b] = names.map(|name| short.get(name).map_or(name, String::as_str));
    let largest = first.figures[0].time_us.max(first.figures[1].time_us);
    let (unit, size) = unit_of_time(largest);
    let per = if comparison.steps.is_some() { "/step" } else { "" };
    let name = format!("{what} in {b}");
    let headers = [format!("{a} {unit}{per}"), format!("{b} {unit}{per}"), format!("change {unit}")];
    let time = move |side: usize| {
        move |row: &Row| {
            let lacks = [Status::New, Status::Gone][side] == row.status;
            if lacks { String::new() } else { decimal(row.figures[side].time_us / size, 3) }
        }
    };
    let calls = move |row: &Row| match row.figures.map(|figures| figures.calls) {
        [Some(a), Some(b)] if matches!(row.status, Status::Both(_)) && a != b => {
            format!("{} → {}", count(a), count(b))
        }
        [Some(a), Some(b)] => count(a.max(b)),
        _ => String::new(),
    };
    let columns = [
        TextColumn::left(&name, |row: &Row| row.name().to_owned()),
        TextColumn::left("", |row: &Row| match row.status {
            Status::Both(_) => "",
            alone => alone.as_str(),
        })
        .kept(),
        TextColumn::right("calls", calls).droppable(1),
        TextColumn::right(&headers[0], time(0)),
        TextColumn::right(&headers[1], time(1)),
        TextColumn::right(&headers[2], move |row: &Row| changed(Some(row.delta_us()), 1.0 / size, 3)),
        TextColumn::right("%", |row: &Row| changed(row.delta_percent(), 1.0, 1)),
        TextColumn::right("% of the whole", move |row: &Row| {
            changed(Some(row.delta_us()).filter(|_| whole > 0.0), 100.0 / whole, 1)
        }),
    ];
    out.push('\n');
    out.push_str(&table(&columns, rows[..shown].iter().copied(), style));
    if rows.len() > shown {
        let left: f64 = rows[shown..].iter().map(|row| row.delta_us()).sum();
        let dots = if style.unicode { "…" } else { "..." };
        let more = grouped((rows.len() - shown) as u128);
        let (sheet, change) = (&joined.sheet, signed(left / size, 3));
        out.push_str(&format!("{dots} and {more} more in {sheet} with {change} {unit}\n"));
    }
}

fn count(calls: f64) -> String {
    decimal(calls, if calls.fract() == 0.0 { 0 } else { 1 })
}

/// A change with its sign, in red what is added and in green what is saved; nothing where there is none.
pub(super) fn changed(change: Option<f64>, factor: f64, places: usize) -> TextCell {
    let color = change
        .filter(|&change| change != 0.0)
        .map(|change| if change > 0.0 { Color::Red } else { Color::Green });
    TextCell::new(change.map_or(String::new(), |change| signed(change * factor, places)), color)
}

pub(super) fn signed(value: f64, places: usize) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", decimal(value, places))
}
