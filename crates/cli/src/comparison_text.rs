//! Comparisons on a terminal.

use answers::numbers::{decimal, grouped, unit_of_time};
use report_writers::shortened_apart;
use report_writers::terminal::{Color, Style, TextCell, TextColumn, table};
use trace_diff::{Comparison, Joined, Row, Status, Step, waterfall};

use crate::summary::WIDEST;
use crate::wrapping::wrap;

/// Rows that are printed of what became slower, and of what became faster.
const MOST_ROWS: usize = 8;
/// A change by less of the whole is left out where there is anything larger.
const LEAST_PERCENT: f64 = 0.05;

/// Columns that the name of a run takes in the header of a table.
const WIDEST_NAME: usize = 20;

/// What is printed of comparisons: lines about all, then what changed in each.
pub(crate) fn text<'a>(
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
        TextColumn::left("time category", |step: &Step| step.name.clone()),
        TextColumn::right(&header, move |step: &Step| changed(step.delta_us, 1.0 / size, 3)),
        TextColumn::right("% of total", move |step: &Step| {
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
    // What one recording alone has may only be beyond the cut of the other.
    let is_compared = |row: &&Row| !comparison.is_cut_differently || matches!(row.status, Status::Both(_));
    let (slower, faster): (Vec<&Row>, Vec<&Row>) =
        told.into_iter().filter(is_compared).partition(|row| row.delta_us() > 0.0);
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
    let per = match comparison.steps {
        Some(_) => "/step",
        None if comparison.is_cut_differently => "/call",
        None => "",
    };
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
        TextColumn::right("% of total", move |row: &Row| {
            changed(Some(row.delta_us()).filter(|_| whole > 0.0), 100.0 / whole, 1)
        }),
    ];
    out.push('\n');
    out.push_str(&table(&columns, rows[..shown].iter().copied(), style));
    if rows.len() > shown {
        let left: f64 = rows[shown..].iter().map(|row| row.delta_us()).sum();
        let dots = if style.unicode { "…" } else { "..." };
        let more = grouped((rows.len() - shown) as u128);
        let change = match comparison.is_cut_differently {
            true => String::new(),
            false => format!(" with {} {unit}", signed(left / size, 3)),
        };
        out.push_str(&format!("{dots} and {more} more in {}{change}\n", joined.sheet));
    }
}

fn count(calls: f64) -> String {
    decimal(calls, if calls.fract() == 0.0 { 0 } else { 1 })
}

/// A change with its sign, in red what is added and in green what is saved; nothing where there is none.
pub(crate) fn changed(change: Option<f64>, factor: f64, places: usize) -> TextCell {
    let color = change
        .filter(|&change| change != 0.0)
        .map(|change| if change > 0.0 { Color::Red } else { Color::Green });
    TextCell::new(change.map_or(String::new(), |change| signed(change * factor, places)), color)
}

pub(crate) fn signed(value: f64, places: usize) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", decimal(value, places))
}
