//! Comparisons on a terminal.

use answers::numbers::{decimal, grouped, unit_of_time};
use report_writers::shortened_apart;
use report_writers::terminal::{Color, Style, TextCell, TextColumn, table};
use sheets::columns;
use trace_diff::{Comparison, Joined, RepeatedPart, Row, Status, Step, waterfall};

use crate::summary::WIDEST;
use crate::wrapping::wrap;

/// Rows that are printed of what became slower, and of what became faster.
const MOST_ROWS: usize = 8;
/// A change by less of the whole is left out where there is anything larger.
const LEAST_PERCENT: f64 = 0.05;

/// Part of a table that the name of a run takes in a header.
const NAME_OF: usize = 8;

/// What is printed of comparisons: lines about all, then what changed in each.
pub(crate) fn text<'a>(
    lines: impl Iterator<Item = &'a String>,
    caveats: &str,
    comparisons: &[Comparison],
    style: Style,
) -> String {
    let mut out = String::new();
    // A title is that of the runs as they stand in headers.
    let mut first = if is_narrow(style) && comparisons.len() == 1 { "A → B: " } else { "" };
    lines.for_each(|line| wrap(line, std::mem::take(&mut first), "  ", style.width.min(WIDEST), &mut out));
    out.push_str(caveats);
    for comparison in comparisons {
        if comparisons.len() > 1 {
            let [a, b] = &comparison.names;
            let letters = if is_narrow(style) { "A → B: " } else { "" };
            wrap(&format!("{letters}{a} → {b}"), "\n", "  ", style.width.min(WIDEST), &mut out);
        }
        write_parts(comparison, style, &mut out);
        let names = comparison.names.each_ref().map(String::as_str);
        write_repeated(&comparison.repeated, short_names(names, style), style, &mut out);
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

/// Whether names of runs leave too little room for those of operators.
fn is_narrow(style: Style) -> bool {
    style.width < WIDEST * 4 / 5
}

/// Names of runs for headers of tables: they may be longer than those of operators, which need the room.
fn short_names(names: [&str; 2], style: Style) -> [String; 2] {
    if is_narrow(style) {
        return ["A", "B"].map(str::to_owned);
    }
    let short = shortened_apart(names, style.width.min(WIDEST) / NAME_OF, style.unicode);
    names.map(|name| short.get(name).cloned().unwrap_or_default())
}

/// The time of one of each part that both runs repeat, such as a layer.
pub(crate) fn write_repeated(parts: &[RepeatedPart], [a, b]: [String; 2], style: Style, out: &mut String) {
    let Some(first) = parts.first() else { return };
    let (unit, size) = unit_of_time(first.median_us[0].max(first.median_us[1]));
    let headers = [format!("{a} {unit} each"), format!("{b} {unit} each"), format!("change {unit}")];
    let columns = [
        TextColumn::left("repeated, by median", |part: &RepeatedPart| part.name.clone()),
        TextColumn::right("count", |part: &RepeatedPart| {
            let [a, b] = part.counts.map(|count| grouped(count as u128));
            if a == b { a } else { format!("{a} → {b}") }
        }),
        TextColumn::right(&headers[0], move |part: &RepeatedPart| decimal(part.median_us[0] / size, 3)),
        TextColumn::right(&headers[1], move |part: &RepeatedPart| decimal(part.median_us[1] / size, 3)),
        TextColumn::right(&headers[2], move |part: &RepeatedPart| {
            changed(Some(part.delta_us()), 1.0 / size, 3)
        }),
        TextColumn::right("%", |part: &RepeatedPart| {
            changed(
                Some(100.0 * part.delta_us() / part.median_us[0]).filter(|percent| percent.is_finite()),
                1.0,
                1,
            )
        }),
    ];
    out.push('\n');
    out.push_str(&table(&columns, parts, style));
}

/// What became slower and what faster, or is new or gone.
fn write_changes(comparison: &Comparison, style: Style, out: &mut String) {
    let Some(joined) = comparison.ranked_table() else { return };
    let weight = |row: &Row, us: f64| {
        // Times are those of a call then.
        if comparison.is_cut_differently { us * row.figures[0].calls.unwrap_or_default() } else { us }
    };
    let whole = match comparison.is_cut_differently {
        true => joined.rows.iter().map(|row| weight(row, row.figures[0].time_us)).sum(),
        false => comparison.whole_us(),
    };
    let is_told = |row: &&Row| {
        row.delta_us() != 0.0 && weight(row, row.delta_us().abs()) >= whole * LEAST_PERCENT / 100.0
    };
    let told: Vec<&Row> = joined.rows.iter().filter(is_told).collect();
    // What one recording alone has may only be beyond the cut of the other.
    let is_compared = |row: &&Row| {
        !comparison.is_cut_differently || (matches!(row.status, Status::Both(_)) && !row.is_noise())
    };
    let (slower, faster): (Vec<&Row>, Vec<&Row>) =
        told.into_iter().filter(is_compared).partition(|row| row.delta_us() > 0.0);
    if comparison.is_cut_differently && slower.is_empty() && faster.is_empty() {
        out.push_str("\nno call that occurs in both runs differs by more than noise\n");
    }
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
    let shown = if rows.len() == MOST_ROWS + 1 { rows.len() } else { rows.len().min(MOST_ROWS) };
    let whole = comparison.whole_us();
    let [a, b] = short_names(comparison.names.each_ref().map(String::as_str), style);
    let times = rows[..shown].iter().map(|row| row.figures[0].time_us.max(row.figures[1].time_us));
    let (unit, size) = match times.reduce(if comparison.is_cut_differently { f64::min } else { f64::max }) {
        Some(time) => unit_of_time(time),
        None => return,
    };
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
    let mut columns = vec![
        TextColumn::left(&name, |row: &Row| call(joined, row, &rows[..shown])),
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
    ];
    if whole > 0.0 {
        let share_column =
            TextColumn::right("% of total", move |row: &Row| changed(Some(row.delta_us()), 100.0 / whole, 1));
        columns.push(share_column.droppable(2));
    }
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

/// The name of a row, of a call with its shapes, and with what else tells it from others that are shown.
fn call(joined: &Joined, row: &Row, shown: &[&Row]) -> String {
    let mut keys = joined.keys.iter().zip(&row.keys).enumerate().skip(1);
    let dims =
        keys.find(|(_, (header, _))| *header == columns::INPUT_DIMS.name).map(|(position, _)| position);
    let Some(dims) = dims else { return row.name().to_owned() };
    let key = |row: &Row, position: usize| row.keys.get(position).cloned().flatten().unwrap_or_default();
    let is_alike = |other: &&&Row| other.name() == row.name() && key(other, dims) == key(row, dims);
    let differs = |position: usize| {
        shown.iter().filter(is_alike).any(|other| key(other, position) != key(row, position))
    };
    let others = (1..row.keys.len()).filter(|&position| position != dims && differs(position));
    let parts =
        [row.name().to_owned(), key(row, dims)].into_iter().chain(others.map(|position| key(row, position)));
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
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
