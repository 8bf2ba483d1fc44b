//! The first page of a report, as text.

use std::fmt::Write;

use advise::Finding;
use answers::numbers::{counted, decimal, duration, grouped, unit_of_time};
use answers::{Report, Summary, Timeline};
use operator_sheets::{BestRates, RooflineShares};
use perf_models::bare_kernel_name;
use report_writers::terminal::{
    Color, Segment, Style, TextColumn, bar, bar_alone, legend, table, truncate_middle,
};
use sheets::names;
use sheets::{Cell, ColumnKind, Excerpt, Table, TableColumn, Unit, escaped};
use tree_perf::{KernelSums, KernelTotal, SanityCheck};

use crate::wrapping::wrap;

/// Lines of text longer than this are hard to follow, however wide the terminal is; tables take its width.
pub(crate) const WIDEST: usize = 100;

/// How much of a summary is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What fits one screen: what limits the program, what to do about it, one table of kinds of work and one of operators or
    /// kernels.
    FirstPage {
        /// Lines that there are for it.
        lines: usize,
    },
    /// All tables and remarks.
    All,
}

/// Everything of a report but its notices.
pub(crate) fn text(report: &Report, detail: Detail, style: Style) -> String {
    page(&report.summary, report.tables.tables(), detail, style)
}

/// A summary with excerpts of these tables.
pub(crate) fn page(summary: &Summary, tables: &[Table], detail: Detail, style: Style) -> String {
    let lines = |lines: &[String]| {
        let mut text = String::new();
        lines.iter().for_each(|line| wrap(line, "", "  ", style.width.min(WIDEST), &mut text));
        text
    };
    let head = match style.unicode {
        true => summary.head.join(" · "),
        false => summary.head.join(" - ").replace('×', "x"),
    };
    let (headline, remarks) = summary.statements.split_at(summary.headlines.min(summary.statements.len()));
    let mut before = vec![lines(&[&[head], headline].concat()) + &timelines(summary, detail, style)];
    before.extend([findings(&summary.findings, style), lines(&summary.program)]);
    let mut figures = String::new();
    if let Some(coverage) = &summary.coverage {
        let architecture = summary.architecture.as_deref().filter(|_| summary.tells_rooflines());
        write_coverage(&mut figures, coverage, architecture, detail, style);
    }
    if let Some(best) = summary.best_rates.as_ref().filter(|_| detail == Detail::All) {
        write_best_rates(&mut figures, best, style);
    }
    let height = |sections: &[String]| {
        sections.iter().filter(|text| !text.is_empty()).map(|text| 1 + text.lines().count()).sum::<usize>()
    };
    let page = if let Detail::FirstPage { lines } = detail { lines } else { usize::MAX };
    let doubts = shown_remarks(remarks, 0, style).lines().count();
    let left = |figures: &String| {
        page.saturating_sub(height(&before) + height(std::slice::from_ref(figures)) + doubts)
    };
    // Where they leave no room for two rows of each table, the tables say more.
    if left(&figures) < AROUND_TABLES + 4 {
        figures.clear();
    }
    let left = left(&figures);
    let mut sections = before;
    sections.extend(excerpts(summary, tables, left, detail, style));
    sections.extend(summary.check.as_ref().map(|check| write_check(check, style)));
    let has_figures = !figures.is_empty();
    sections.push(figures);
    sections.retain(|section| !section.is_empty());
    let is_apart = !has_figures && !remarks.is_empty() && sections.len() > 1;
    let mut text = sections.join("\n");
    text.push_str(if is_apart { "\n" } else { "" });
    text.push_str(&shown_remarks(remarks, page.saturating_sub(text.lines().count()), style));
    if style.unicode { text } else { text.replace('µ', "u") }
}

/// The remarks for which there are so many lines; the first, which is about what cannot be trusted, in any case.
fn shown_remarks(remarks: &[String], lines: usize, style: Style) -> String {
    let mut out = String::new();
    let mut left = lines;
    for (position, remark) in remarks.iter().enumerate() {
        let mut text = String::new();
        wrap(remark, "", "  ", style.width.min(WIDEST), &mut text);
        let taken = text.lines().count();
        if taken > left && position > 0 {
            break;
        }
        left = left.saturating_sub(taken);
        out.push_str(&text);
    }
    out
}

/// Between where something is to be changed and what to do.
const BETWEEN: &str = " - ";

/// What to change first: two lines each, the figures and the place.
fn findings(findings: &[Finding], style: Style) -> String {
    let mut out = String::new();
    for (position, finding) in findings.iter().enumerate() {
        let gain = finding.gain.map_or_else(String::new, |gain| format!(", {}", gain.in_words()));
        if position == 0 {
            out.push_str("fix first\n");
        }
        let doubt = finding.doubts.first().map_or_else(String::new, |doubt| format!(", see {}", doubt.rule));
        let (amount, what) = (finding.amount_in_words(), &finding.what);
        let line = format!("{amount} {what}{gain} [{}{doubt}]", finding.rule);
        let width = style.width.min(WIDEST);
        wrap(&line, "  ", "    ", width, &mut out);
        let place = escaped(&finding.subject).to_string();
        let room = width - 4;
        // A place says enough in half a line where the action needs the rest.
        let least = place.chars().count().min(room / 2);
        let (action, place) = match clause(&finding.remedy, room - least - BETWEEN.len()) {
            Some(action) => {
                let left = room - BETWEEN.len() - action.chars().count();
                let place = truncate_middle(&place, left, style.unicode);
                let taken = place.chars().count() + BETWEEN.len();
                (clause(&finding.remedy, room - taken), place)
            }
            None => (None, truncate_middle(&place, room, style.unicode)),
        };
        let action = action.map_or_else(String::new, |action| format!("{BETWEEN}{action}"));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "    {place}{action}");
    }
    out
}

/// The beginning of an action up to the end of a part of it that has so many characters at most; `None` where its first part
/// is longer.
fn clause(action: &str, most: usize) -> Option<&str> {
    let ends = action.char_indices().filter(|&(at, c)| {
        let is_inside = action[..at].matches('(').count() > action[..at].matches(')').count();
        matches!(c, ';' | ',') && !is_inside
    });
    let ends = ends.map(|(at, _)| at).chain([action.len()]);
    ends.map(|end| &action[..end]).rfind(|part| part.chars().count() <= most)
}

/// Devices from which on each has one line on a first page.
const MANY_DEVICES: usize = 3;

/// Where the time of each device went. Many share a legend.
fn timelines(summary: &Summary, detail: Detail, style: Style) -> String {
    let mut out = String::new();
    let timelines = &summary.timelines;
    let has_unrecorded = timelines.iter().any(|timeline| timeline.breakdown.unrecorded > 0);
    let shown = if has_unrecorded { 5 } else { 4 };
    let one_line_each = detail != Detail::All && timelines.len() >= MANY_DEVICES;
    for timeline in timelines {
        let segments = &segments(timeline)[..shown];
        let Timeline { device, total_us, busy_us, idle_us, breakdown, .. } = timeline;
        let (device, total) = (escaped(device), duration(*total_us));
        let (busy, idle) = (duration(*busy_us), duration(*idle_us));
        // Writing to a String cannot fail.
        if one_line_each {
            let start = format!("{device}  window {total:>8}  busy {busy:>8}, idle {idle:>8}  ");
            let width = style.width.saturating_sub(start.chars().count());
            let _ = writeln!(out, "{start}{}", bar_alone(segments, Style { width, ..style }));
            continue;
        }
        let mut line =
            format!("{device} window {total} ({}): busy {busy}, idle {idle}", timeline.window_bounds());
        if breakdown.unrecorded > 0 {
            let unrecorded = total_us * breakdown.unrecorded as f64 / breakdown.total as f64;
            let _ = write!(line, ", not recorded {}", duration(unrecorded));
        }
        wrap(&line, "", "  ", style.width, &mut out);
        out.push_str(&bar(segments, style));
    }
    if let Some(first) = timelines.first().filter(|_| one_line_each) {
        out.push_str(&legend(&segments(first)[..shown], false, style));
    }
    if let Some((more, sheet)) = summary.more_timelines {
        let _ = writeln!(out, "and {} more, see {sheet}", counted(more, "device", "devices"));
    }
    out
}

/// The parts of a device's time; what is not recorded is the last.
fn segments(timeline: &Timeline) -> [Segment<'static>; 5] {
    let breakdown = &timeline.breakdown;
    let parts = [
        ("computation", breakdown.computation, Color::Green),
        ("exposed comm", breakdown.exposed_communication, Color::Magenta),
        ("exposed copies", breakdown.exposed_memcpy, Color::Yellow),
        ("idle", breakdown.idle, Color::Gray),
        ("not recorded", breakdown.unrecorded, Color::Blue),
    ];
    parts.map(|(label, time, color)| Segment {
        label,
        fraction: breakdown.percent_of_total(time) / 100.0,
        color,
    })
}

/// Header, rule, the line of what is cut, and the blank one of the two tables of a first page.
const AROUND_TABLES: usize = 8;

/// The most rows of each.
const ROWS: usize = 5;

/// Share in percent of the largest row from which on a table says little beside another.
const SAYS_LITTLE: f64 = 60.0;

/// The tables: all of them, or in so many lines the first, which is of kinds of work, and one of operators or kernels, whichever
/// says more.
fn excerpts(summary: &Summary, tables: &[Table], lines: usize, detail: Detail, style: Style) -> Vec<String> {
    let excerpts = tables.iter().filter_map(|table| Some((table, table.excerpt()?)));
    let mut excerpts: Vec<(&Table, &Excerpt)> = excerpts.collect();
    excerpts
        .sort_by_key(|(table, _)| !["category", "categories"].iter().any(|end| table.name().ends_with(end)));
    let written = |(table, excerpt): (&Table, &Excerpt), most: usize| {
        let mut text = String::new();
        write_excerpt(&mut text, table, excerpt, excerpt.rows.min(most), detail, style);
        text
    };
    let kernels = |rows| kernels(&summary.kernels, rows, style);
    if detail == Detail::All {
        let all = excerpts.into_iter().map(|excerpt| written(excerpt, usize::MAX));
        return all.chain([kernels(ROWS)]).collect();
    }
    let kernel_excerpt = excerpts.iter().skip(2).find(|(table, _)| table.name() == names::KERNEL_SUMMARY);
    let kernel =
        kernel_excerpt.map_or_else(|| summary.kernels.first().map(|kernel| kernel.percent), largest_share);
    let operator = excerpts.get(1).and_then(largest_share);
    let shows_kernels =
        operator.is_none_or(|share| share >= SAYS_LITTLE && kernel.is_some_and(|kernel| kernel < share));
    let first = |rows| excerpts.first().map_or_else(String::new, |&excerpt| written(excerpt, rows));
    let second = |rows| {
        let kernel_text = || kernel_excerpt.map_or_else(|| kernels(rows), |&excerpt| written(excerpt, rows));
        let text = if shows_kernels { kernel_text() } else { String::new() };
        match excerpts.get(1) {
            Some(&operators) if text.is_empty() => written(operators, rows),
            _ => text,
        }
    };
    // Row by row, as long as both fit.
    let mut shown = [first(1), second(1)];
    for rows in 2..=ROWS {
        for (table, text) in [first(rows), second(rows)].into_iter().enumerate() {
            let height = |text: &String| 1 + text.lines().count();
            if height(&shown[1 - table]) + height(&text) <= lines {
                shown[table] = text;
            }
        }
    }
    shown.into_iter().collect()
}

/// Share of the first row of a table in percent, where it shows one.
fn largest_share((table, excerpt): &(&Table, &Excerpt)) -> Option<f64> {
    let (_, share) = excerpt.columns.iter().find(|(header, _)| header.starts_with("% of "))?;
    match table.column(share)?.cell(0) {
        Cell::Number(share) => Some(share),
        _ => None,
    }
}

fn write_excerpt(
    out: &mut String,
    sheet: &Table,
    excerpt: &Excerpt,
    most: usize,
    detail: Detail,
    style: Style,
) {
    let shown = shown_rows(sheet.height(), most);
    let present = |(header, name): &(&'static str, &str)| Some((*header, sheet.column(name)?));
    let mut columns: Vec<_> = excerpt.columns.iter().filter_map(present).collect();
    if let Some(&(_, names)) = columns.first() {
        let telling = excerpt.told_by.iter().filter_map(present);
        let telling: Vec<_> = telling.filter(|(_, column)| tells_apart(column, names, shown)).collect();
        columns.splice(1..1, telling);
    }
    let columns: Vec<(String, &TableColumn, f64)> = columns
        .into_iter()
        .map(|(header, column)| {
            let (header, scale) = in_readable_unit(header, column, shown);
            (header, column, scale)
        })
        .collect();
    let is_share = |header: &str| header.starts_with("% of ");
    let is_time = |column: &TableColumn| {
        matches!(column.kind(), ColumnKind::Number(Unit::Milliseconds | Unit::Microseconds))
    };
    let first = |is_meant: &dyn Fn(&(String, &TableColumn, f64)) -> bool| columns.iter().position(is_meant);
    let (share, time) = (first(&|(header, ..)| is_share(header)), first(&|(_, column, _)| is_time(column)));
    // Without room names and times matter most.
    let may_go = |position: usize| position > 0 && ![share, time].contains(&Some(position));
    let laid_out: Vec<TextColumn<'_, usize>> = columns
        .iter()
        .enumerate()
        .map(|(position, (header, column, scale))| {
            let laid_out = match column.kind() {
                ColumnKind::Text => TextColumn::left(header, |&row: &usize| {
                    // What kernels return tells none from another.
                    column.cell(row).text().trim_start_matches("void ").to_owned()
                }),
                _ => {
                    let places = if column.kind() == ColumnKind::Number(Unit::Percent) { 1 } else { 3 };
                    TextColumn::right(header, move |&row: &usize| match column.cell(row) {
                        Cell::Whole(count) => grouped(count.unsigned_abs().into()),
                        Cell::Number(number) => rounded(number * scale, places),
                        _ => String::new(),
                    })
                }
            };
            match may_go(position) {
                true if column.kind() != ColumnKind::Text => laid_out.droppable(position as u8),
                _ => laid_out,
            }
        })
        .collect();
    let rows: Vec<usize> = (0..shown).collect();
    out.push_str(&table(&laid_out, &rows, style));
    if sheet.height() > shown {
        // Other percentages, such as how much of each row is exposed, are no shares of one whole.
        let share = columns.iter().find(|(header, ..)| header.starts_with("% of "));
        let cut = share.map(|(header, column, _)| {
            let cells = (shown..sheet.height()).map(|row| column.cell(row));
            let sum = cells.map(|cell| if let Cell::Number(number) = cell { number } else { 0.0 }).sum();
            format!(" with {}{header}", decimal(sum, 1))
        });
        let place = format!(" in {}{}", sheet.name(), cut.unwrap_or_default());
        write_cut(out, sheet.height() - shown, &place, style);
    }
    if detail == Detail::All {
        write_caveats(out, sheet, &columns, style);
    }
}

/// Whether a column differs in some of the first rows that have the same name.
fn tells_apart(column: &TableColumn, names: &TableColumn, rows: usize) -> bool {
    let differ = |row: usize, other: usize| {
        names.cell(row).text() == names.cell(other).text()
            && column.cell(row).text() != column.cell(other).text()
    };
    (0..rows).any(|row| (0..row).any(|other| differ(row, other)))
}

/// A line for each reason why columns that are shown are empty or not to be relied on.
fn write_caveats(out: &mut String, sheet: &Table, columns: &[(String, &TableColumn, f64)], style: Style) {
    let mut lines: Vec<(&str, Vec<&str>)> =
        sheet.caveats().iter().map(|caveat| (caveat.brief.as_str(), Vec::new())).collect();
    for (header, column, _) in columns {
        for caveat in column.caveats() {
            match lines.iter_mut().find(|(brief, _)| *brief == caveat.brief) {
                Some((_, headers)) => headers.push(header),
                None => lines.push((&caveat.brief, vec![header])),
            }
        }
    }
    for (brief, headers) in lines {
        let line = match headers.is_empty() {
            true => brief.to_owned(),
            false => format!("{}: {brief}", headers.join(", ")),
        };
        wrap(&line, "", "  ", style.width.min(WIDEST), out);
    }
}

/// A number in so many places; what is not zero never looks like it.
fn rounded(number: f64, places: usize) -> String {
    let least = 0.1_f64.powi(places as i32);
    match number {
        number if number > 0.0 && number < least / 2.0 => format!("<{}", decimal(least, places)),
        number => decimal(number, places),
    }
}

/// How many rows of a table are shown where there is room for so many: a line that says that one is cut off is as long as
/// that row.
fn shown_rows(height: usize, most: usize) -> usize {
    if height == most + 1 { height } else { height.min(most) }
}

/// A line for rows that are not shown; `what` says where they are and what they hold.
fn write_cut(out: &mut String, rows: usize, what: &str, style: Style) {
    let dots = if style.unicode { "…" } else { "..." };
    wrap(&format!("{dots} and {} more{what}", grouped(rows as u128)), "", "  ", style.width, out);
}

/// The header and the factor for cells of times in the unit in which the largest of the first rows is read. A column
/// whose header does not end in its unit stays as it is.
fn in_readable_unit(header: &str, column: &TableColumn, rows: usize) -> (String, f64) {
    let unchanged = || (header.to_owned(), 1.0);
    let unit = match column.kind() {
        ColumnKind::Number(Unit::Milliseconds) => ("ms", 1e3),
        ColumnKind::Number(Unit::Microseconds) => ("µs", 1.0),
        _ => return unchanged(),
    };
    let Some(what) = header.strip_suffix(unit.0) else { return unchanged() };
    let largest = (0..rows).filter_map(|row| match column.cell(row) {
        Cell::Number(number) => Some(number.abs() * unit.1),
        _ => None,
    });
    let (name, size) = unit_of_time(largest.fold(0.0, f64::max));
    (format!("{what}{name}"), unit.1 / size)
}

fn kernels(kernels: &[KernelTotal], most: usize, style: Style) -> String {
    let mut out = String::new();
    let Some(longest) = kernels.first() else { return out };
    let shown = shown_rows(kernels.len(), most);
    let (unit, size) = unit_of_time(longest.time_us);
    let time = format!("kernel {unit}");
    let columns = [
        TextColumn::left("kernel", |kernel: &KernelTotal| bare_kernel_name(&kernel.name)),
        TextColumn::right("calls", |kernel: &KernelTotal| grouped(kernel.calls.into())),
        TextColumn::right(&time, |kernel: &KernelTotal| rounded(kernel.time_us / size, 3)),
        TextColumn::right("% of device time", |kernel: &KernelTotal| rounded(kernel.percent, 1)),
    ];
    out.push_str(&table(&columns, &kernels[..shown], style));
    if kernels.len() > shown {
        let rest = kernels[shown..].iter().map(|kernel| kernel.percent).sum();
        let what = format!(" with {}% of device time", decimal(rest, 1));
        write_cut(&mut out, kernels.len() - shown, &what, style);
    }
    out
}

/// Mismatches of a table that are shown.
const MISMATCHES: usize = 3;

/// The verdict, and where it is bad the tables and kernels that it is about.
fn write_check(check: &SanityCheck, style: Style) -> String {
    let mut out = String::new();
    let sheets = [(names::OPS_SUMMARY, &check.launchers), (names::UNIFIED_PERF_SUMMARY, &check.unified)];
    let verdict = |passes: bool| if passes { "PASS" } else { "FAIL" };
    type Row<'a> = (&'a str, &'a KernelSums);
    let columns = [
        TextColumn::left("sanity check", |(sheet, _): &Row<'_>| *sheet),
        TextColumn::right("kernel time", |(_, sums): &Row<'_>| duration(sums.kernel_time_us)),
        TextColumn::right("at least", |_: &Row<'_>| duration(check.computation_time_us)),
        TextColumn::right("", |(_, sums): &Row<'_>| verdict(sums.time_passes)),
        TextColumn::right("kernels", |(_, sums): &Row<'_>| grouped(sums.device_events as u128)),
        TextColumn::right("of", |_: &Row<'_>| grouped(check.device_events as u128)),
        TextColumn::right("", |(_, sums): &Row<'_>| verdict(sums.count_passes())),
    ];
    out.push_str(&table(&columns, &sheets, style).replace("FAIL", &style.paint("FAIL", Color::Yellow)));
    for (sheet, sums) in sheets {
        for mismatch in sums.mismatches.iter().take(MISMATCHES) {
            let kernel = truncate_middle(&mismatch.kernel, 60, style.unicode);
            let (in_table, in_trace) = (mismatch.in_table, mismatch.in_trace);
            let line = format!("{sheet} has {in_table} of {in_trace} {kernel}");
            wrap(&line, "  ", "    ", style.width.min(WIDEST), &mut out);
        }
        if sums.mismatches.len() > MISMATCHES {
            let _ = writeln!(out, "  and {} more kernels", sums.mismatches.len() - MISMATCHES);
        }
    }
    out
}

/// Operators that are named for the time that they lose to their roofline, and for want of a model.
const NAMED: usize = 3;

fn write_coverage(
    out: &mut String,
    coverage: &RooflineShares,
    architecture: Option<&str>,
    detail: Detail,
    style: Style,
) {
    if detail != Detail::All && coverage.modelled_percent < 0.05 {
        return;
    }
    let percent = |share: f64| format!("{}%", decimal(share, 1));
    let width = style.width.min(WIDEST);
    let line = |text: &str, out: &mut String| wrap(text, "", "  ", width, out);
    // A first page has a line for each, and in it as many parts as fit.
    let with_parts = |mut text: String, title: &str, parts: Vec<String>| {
        for (position, part) in parts.iter().enumerate() {
            let longer = match position {
                0 => format!("{text}; {title}: {part}"),
                _ => format!("{text}, {part}"),
            };
            if detail != Detail::All && longer.chars().count() > width {
                break;
            }
            text = longer;
        }
        text
    };
    // What rounds to nothing says nothing.
    let shows = |share: f64| share >= 0.05;
    let rest = coverage.rest.iter().filter(|(_, share)| shows(*share));
    let rest: Vec<String> = rest.map(|(reason, share)| format!("{reason} {}", percent(*share))).collect();
    let covered = format!("performance models cover {} of device time", percent(coverage.modelled_percent));
    line(&with_parts(covered, "not covered", rest), out);
    let named = |operators: &[(String, f64)], figure: &dyn Fn(f64) -> String| -> Vec<String> {
        let name = |name: &str| truncate_middle(name, 44, style.unicode);
        operators
            .iter()
            .take(NAMED)
            .map(|(operator, value)| format!("{} {}", name(operator), figure(*value)))
            .collect()
    };
    if let (Some(architecture), Some(near)) = (architecture, coverage.near_percent) {
        let reached = format!("roofline of {architecture}: above 50% for {} of covered time", percent(near));
        line(&with_parts(reached, "gaps", named(&coverage.losses, &duration)), out);
    }
    if detail != Detail::All {
        return;
    }
    let unknown = coverage.unknown.iter().filter(|(_, share)| shows(*share)).cloned().collect::<Vec<_>>();
    let unknown = named(&unknown, &percent);
    if !unknown.is_empty() {
        line(&format!("largest operators without a model: {}", unknown.join(", ")), out);
    }
}

/// The highest rates of the recording, said to be these.
fn write_best_rates(out: &mut String, best: &BestRates, style: Style) {
    let name = |name: &str| truncate_middle(name, 44, style.unicode);
    let arithmetic = best
        .tflops_per_s
        .as_ref()
        .map(|(rate, spec, operator)| format!("{} TFLOP/s ({spec}, {})", decimal(*rate, 3), name(operator)));
    let bytes = best
        .tb_per_s
        .as_ref()
        .map(|(rate, operator)| format!("{} TB/s ({}; caches included)", decimal(*rate, 3), name(operator)));
    let rates: Vec<String> = arithmetic.into_iter().chain(bytes).collect();
    let line = format!("highest measured rates, not peaks: {}", rates.join(", "));
    wrap(&line, "", "  ", style.width.min(WIDEST), out);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sheets::{Caveat, Column, Sheet};

    use super::*;

    const STYLE: Style = Style { width: 80, colored: false, unicode: true };

    /// The lines of an excerpt of four rows, of which two are shown.
    fn lines(header: &'static str, share: &'static str) -> Vec<String> {
        let (name, time) = (Column::text("name", ""), Column::microseconds("time", ""));
        let percent = Column::percent("share", "");
        let fields = [
            name.field(|&row: &usize| ["a", "b", "c", "d"][row].into()),
            time.field(|&row: &usize| [5_000.0, 2_000.0, 1.0, 0.2][row].into()),
            percent.field(|&row: &usize| [70.0, 28.0, 1.5, 0.5][row].into()),
        ];
        let sheet = Sheet::new("calls", "", fields, |_: &()| (0..4).collect())
            .with_excerpt(Excerpt::new(2, [("name", name), (header, time), (share, percent)]));
        let table = sheet.table(&()).unwrap().unwrap();
        let mut text = String::new();
        write_excerpt(&mut text, &table, table.excerpt().unwrap(), 2, Detail::All, STYLE);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines().map(words).filter(|line| !line.is_empty() && !line.starts_with('─')).collect()
    }

    #[test]
    fn rows_of_one_name_show_what_tells_them_apart() {
        let name = Column::text("name", "");
        let [operator, stream] = ["operator", "stream"].map(|name| Column::text(name, ""));
        let headers = |names: [&'static str; 3], rows: usize| {
            let fields = [
                name.field(move |&row: &usize| names[row].into()),
                operator.field(|_: &usize| "mm".into()),
                stream.field(|&row: &usize| ["7", "20", "7"][row].into()),
            ];
            let sheet = Sheet::new("kernels", "", fields, |_: &()| (0..3).collect()).with_excerpt(
                Excerpt::new(rows, [("name", name)]).told_by([("operator", operator), ("stream", stream)]),
            );
            let table = sheet.table(&()).unwrap().unwrap();
            let mut text = String::new();
            write_excerpt(&mut text, &table, table.excerpt().unwrap(), rows, Detail::All, STYLE);
            text.lines().next().unwrap().split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(headers(["a", "a", "b"], 3), ["name", "stream"]);
        // Rows that differ are not shown, or do not differ.
        assert_eq!(headers(["a", "a", "a"], 1), ["name"]);
        assert_eq!(headers(["a", "b", "a"], 3), ["name"]);
    }

    #[test]
    fn what_is_cut_off_has_its_share_of_the_whole_where_shares_are_of_one() {
        assert_eq!(
            lines("kernel µs", "% of time"),
            [
                "name kernel ms % of time",
                "a 5.000 70.0",
                "b 2.000 28.0",
                "… and 2 more in calls with 2.0% of time"
            ]
        );
        assert_eq!(lines("kernel µs", "exposed %").pop().as_deref(), Some("… and 2 more in calls"));
    }

    #[test]
    fn caveats_stand_below_the_table_with_the_columns_that_they_are_about() {
        let columns = ["name", "ms", "share"].map(|name| {
            TableColumn::new(Column::new(name, ColumnKind::Number(Unit::Milliseconds), ""), [1.0.into()])
        });
        let mut table = Table::new("calls", columns.into()).unwrap();
        let caveat = |brief: &str| Arc::new(Caveat { brief: brief.to_owned(), text: String::new() });
        table.add_caveat(&caveat("cut off"));
        table.add_caveat_to(&caveat("too small (W2)"), |column| column.name() != "name");
        table.add_caveat_to(&caveat("not shown (C2)"), |column| column.name() == "name");
        let shown: Vec<(String, &TableColumn, f64)> =
            table.columns()[1..].iter().map(|column| (column.name().to_owned(), column, 1.0)).collect();
        let mut text = String::new();
        write_caveats(&mut text, &table, &shown, STYLE);
        assert_eq!(text, "cut off\nms, share: too small (W2)\n");
    }

    #[test]
    fn a_header_that_names_no_unit_keeps_the_unit_of_its_column() {
        assert_eq!(lines("time", "% of time")[..2], ["name time % of time", "a 5,000.000 70.0"]);
    }

    #[test]
    fn a_line_for_one_row_is_that_row_and_small_figures_are_not_zero() {
        assert_eq!((shown_rows(5, 5), shown_rows(6, 5), shown_rows(7, 5)), (5, 6, 5));
        assert_eq!(["<0.001", "0.001", "0.000"], [0.0001, 0.0006, 0.0].map(|number| rounded(number, 3)));
    }
}
