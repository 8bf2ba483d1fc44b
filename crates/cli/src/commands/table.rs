//! `tracelens table` and `tracelens why`: rows of a report, and one thing in it.

use std::path::Path;
use std::slice;

use answers::numbers::{counted, decimal, duration};
use answers::{
    AnyReporter, Part, REQUESTED_TABLES, Report, Reporter, RowError, RowQuery, Rows, Run, TargetKind, Why,
    requested_table, table_named,
};
use report_writers::JsonTable;
use report_writers::terminal::{Frame, Grid, Style, TextColumn, table as text_table};
use serde::Serialize;
use sheets::{ColumnKind, Table, TableColumn, Unit, escaped};

use crate::arguments::reading::ReadingArguments;
use crate::arguments::table::{TableArguments, WhyArguments};
use crate::console;
use crate::context::Context;
use crate::error::Failure;
use crate::progress::with_progress;
use crate::summary::WIDEST;
use crate::wrapping::wrap;

/// A table without its rows.
#[derive(Serialize)]
struct Listed<'t> {
    name: &'t str,
    rows: usize,
    columns: usize,
}

pub(crate) fn table(arguments: &TableArguments, context: &Context<'_>) -> Result<(), Failure> {
    let has_frames = arguments.table.as_deref() == Some(REQUESTED_TABLES[0]);
    let report = read(&arguments.file, arguments.answer.is_json(), &arguments.reading, has_frames)?;
    let Some(name) = &arguments.table else { return list(arguments, &report, context) };
    let query = arguments.query();
    let made = requested_table(&report, name).transpose().map_err(RowError::Table)?;
    let whole = made.as_ref().map_or_else(|| table_named(&report.tables, name), Ok)?;
    if arguments.answer.is_json() {
        let mut answer = context.about(slice::from_ref(&arguments.file)).about(&report);
        answer.tables = vec![query.json(whole)?];
        return context.print(&answer);
    }
    let Rows { table, total, .. } = query.rows(whole)?;
    let shown = table.height();
    let rest = match total - shown {
        0 => String::new(),
        _ => format!("{shown} of {} shown\n", counted(total, "row", "rows")),
    };
    // Only a terminal cuts: whoever reads from a pipe or a file wants whole names.
    let style = Style { width: console::terminal_width().unwrap_or(usize::MAX), ..context.style() };
    Ok(console::print(format_args!("{}{rest}", text(&table, style)))?)
}

fn list(arguments: &TableArguments, report: &Report, context: &Context<'_>) -> Result<(), Failure> {
    let listed =
        |table| Listed { name: Table::name(table), rows: table.height(), columns: table.columns().len() };
    let listed: Vec<Listed<'_>> = report.tables.tables().iter().map(listed).collect();
    if arguments.answer.is_json() {
        let answer = context.about(slice::from_ref(&arguments.file)).about(report);
        return context.print_result(answer, &serde_json::json!({ "tables": listed }));
    }
    let columns = [
        TextColumn::left("table", |table: &Listed<'_>| escaped(table.name).into_owned()).kept(),
        TextColumn::right("rows", |table: &Listed<'_>| table.rows.to_string()),
        TextColumn::right("columns", |table: &Listed<'_>| table.columns.to_string()),
    ];
    Ok(console::print(text_table(&columns, &listed, context.style()))?)
}

pub(crate) fn why(arguments: &WhyArguments, context: &Context<'_>) -> Result<(), Failure> {
    let report = read(&arguments.file, arguments.answer.is_json(), &arguments.reading, true)?;
    let why = report.why(&arguments.target, arguments.top.get())?;
    if arguments.answer.is_json() {
        let mut answer = context.about(slice::from_ref(&arguments.file)).about(&report);
        answer.findings.retain(|finding| why.findings.iter().any(|named| named.rank == finding.rank));
        answer.tables = why.rows.iter().map(JsonTable::whole).collect();
        return context.print_result(answer, &why);
    }
    Ok(console::print(page(&why, arguments.top.get(), context.style())?)?)
}

fn read(path: &Path, quiet: bool, reading: &ReadingArguments, modules: bool) -> Result<Report, Failure> {
    let (tree, kernel_summary) = (reading.tree_options(), true);
    let reporter = AnyReporter { tree, kernel_summary, modules, ..AnyReporter::default() };
    let report = with_progress(quiet, reading, |options| {
        reporter.report(&[path.to_path_buf()], &mut Run { reading: *options, ..Run::default() })
    });
    Ok(report?)
}

/// A table as text. Where it is too wide, its last columns of numbers are left out and named.
fn text(table: &Table, style: Style) -> String {
    let headers = table.headers();
    let columns = table.columns().iter().zip(&headers).enumerate().map(|(position, (column, header))| {
        let cell = move |row: &usize| escaped(&shown(column, *row)).into_owned();
        match column.kind().is_numeric() {
            true => TextColumn::right(header, cell).droppable(position.min(usize::from(u8::MAX)) as u8),
            false => TextColumn::left(header, cell),
        }
    });
    let columns: Vec<TextColumn<'_, usize>> = columns.collect();
    let rows: Vec<usize> = (0..table.height()).collect();
    let grid = Grid::new(&columns, &rows, Frame::Rule, style);
    let mut text = grid.text();
    let left_out = grid.left_out();
    if !left_out.is_empty() {
        let left_out = format!("no room for {} (--select chooses columns)", left_out.join(", "));
        wrap(&left_out, "", "  ", style.width.min(WIDEST), &mut text);
    }
    text
}

fn shown(column: &TableColumn, row: usize) -> String {
    match (column.kind(), column.cell(row)) {
        (ColumnKind::Number(Unit::Percent), sheets::Cell::Number(number)) => decimal(number, 2),
        (ColumnKind::Number(_), sheets::Cell::Number(number)) => decimal(number, 3),
        (_, cell) => cell.text().into_owned(),
    }
}

/// All that is known of one thing; of each table so many rows.
fn page(why: &Why, top: usize, style: Style) -> Result<String, Failure> {
    let width = style.width.min(WIDEST);
    let mut out = String::new();
    let mut line = |text: &str| wrap(&escaped(text), "", "  ", width, &mut out);
    line(&format!("{}, {}", why.target, format!("{:?}", why.kind).to_lowercase()));
    if let Some(cost) = &why.cost {
        let time = match cost.percent {
            Some(percent) => format!("{}, {}% of device time,", duration(cost.sum_us), decimal(percent, 1)),
            None => format!("{} of device time", duration(cost.sum_us)),
        };
        line(&format!("{time} in {}", counted(cost.calls, "call", "calls")));
        let spread = |[least, middle, most]: [f64; 3]| {
            format!("{} to {}, median {}", duration(least), duration(most), duration(middle))
        };
        if let Some(call) = cost.call_us {
            line(&format!("per call: {}", spread(call)));
        }
        if let Some(step) = cost.step_us {
            line(&format!("per step: {} ({})", spread(step), counted(cost.steps, "step", "steps")));
        }
    }
    let lists: [(&str, &[Part]); 5] = [
        ("launched by", &why.launchers),
        ("launches", &why.kernels),
        ("in modules", &why.modules),
        ("called from", &why.call_sites),
        ("idle time before it", &why.waits),
    ];
    for (title, parts) in lists.iter().filter(|(_, parts)| !parts.is_empty()) {
        out.push_str(&format!("\n{title}\n"));
        for part in *parts {
            let text = format!("{} in {}, {}", duration(part.time_us), part.count, part.name);
            wrap(&escaped(&text), "  ", "    ", width, &mut out);
        }
    }
    if !why.roofline.is_empty() {
        out.push_str("\nshare of the roofline\n");
        for point in &why.roofline {
            let of = if why.kind == TargetKind::Kernel { format!(", {}", point.name) } else { String::new() };
            let dims = point.dims.as_ref().map_or_else(String::new, |dims| format!(", {dims}"));
            let rate = match point.bound {
                "memory" => format!("{} TB/s", decimal(point.tb_per_s, 3)),
                _ => format!("{} TFLOP/s", decimal(point.tflops, 1)),
            };
            let text = format!(
                "{}%, {}-bound: {rate}, {} in {}{of}{dims}",
                decimal(point.percent, 1),
                point.bound,
                duration(point.time_us),
                point.calls
            );
            wrap(&escaped(&text), "  ", "    ", width, &mut out);
        }
    }
    if !why.findings.is_empty() {
        out.push_str("\nrelated findings\n");
        for finding in &why.findings {
            let gain = finding
                .mid_us
                .map_or_else(String::new, |mid| format!(", probably {} recoverable", duration(mid)));
            out.push_str(&format!("  {}. {}{gain}\n", finding.rank, finding.rule));
        }
    }
    if why.cost.is_some() && !why.rows.is_empty() {
        // Their figures stand above.
        let sheets: Vec<String> = why
            .rows
            .iter()
            .map(|table| format!("{} ({})", table.name(), counted(table.height(), "row", "rows")))
            .collect();
        out.push_str("\nin the sheets\n");
        wrap(&escaped(&sheets.join(", ")), "  ", "  ", width, &mut out);
    } else {
        for table in &why.rows {
            let rows = RowQuery { top, ..RowQuery::default() }.rows(table)?;
            out.push_str(&format!("\n{}\n{}", escaped(table.name()), text(&rows.table, style)));
        }
    }
    for unknown in &why.unknown {
        out.push('\n');
        wrap(&format!("not known: {unknown}"), "", "  ", width, &mut out);
    }
    Ok(if style.unicode { out } else { out.replace('µ', "u") })
}
