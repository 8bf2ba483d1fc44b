//! The first page of a report, as text.

use std::fmt::Write;

use answers::numbers::{counted, decimal, duration, grouped};
use answers::{Report, Timeline};
use operator_sheets::RooflineShares;
use report_writers::terminal::{Color, Segment, Style, TextColumn, bar, table, truncate_middle};
use sheets::{Cell, ColumnKind, Excerpt, Table, Unit};
use tree_perf::{KernelSums, SanityCheck};

use crate::wrapping::wrap;

/// Lines longer than this are hard to follow, however wide the terminal is.
pub(crate) const WIDEST: usize = 100;

/// Everything of a report but its notices. `caveats` stand above the figures that they are about.
pub(crate) fn text(report: &Report, caveats: &str, style: Style) -> String {
    let summary = &report.summary;
    let mut out = String::new();
    let head = match style.unicode {
        true => summary.head.join(" · "),
        false => summary.head.join(" - ").replace('×', "x"),
    };
    for line in std::iter::once(&head).chain(&summary.statements) {
        wrap(line, "", "  ", style.width, &mut out);
    }
    out.push_str(caveats);
    for timeline in &summary.timelines {
        write_timeline(&mut out, timeline, style);
    }
    if let Some((more, sheet)) = summary.more_timelines {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "and {} more, see {sheet}", counted(more, "GPU", "GPUs"));
    }
    for table in report.tables.tables() {
        if let Some(excerpt) = table.excerpt() {
            write_excerpt(&mut out, table, excerpt, style);
        }
    }
    if let Some(check) = &summary.check {
        write_check(&mut out, check, style);
    }
    for line in &summary.program {
        out.push('\n');
        wrap(line, "", "  ", style.width, &mut out);
    }
    if let Some((architecture, shares)) = &summary.rooflines {
        write_rooflines(&mut out, architecture, shares, style);
    }
    out
}

fn write_timeline(out: &mut String, timeline: &Timeline, style: Style) {
    let Timeline { device, total_us, busy_us, idle_us, breakdown } = timeline;
    let (total, busy, idle) = (duration(*total_us), duration(*busy_us), duration(*idle_us));
    let _ = writeln!(out, "\n{device} time {total}: busy {busy}, idle {idle}");
    let parts = [
        ("computation", breakdown.computation, Color::Green),
        ("exposed comm", breakdown.exposed_communication, Color::Magenta),
        ("exposed copies", breakdown.exposed_memcpy, Color::Yellow),
        ("idle", breakdown.idle, Color::Gray),
    ];
    let segment =
        |(label, time, color)| Segment { label, fraction: breakdown.percent_of_total(time) / 100.0, color };
    out.push_str(&bar(&parts.map(segment), style));
}

fn write_excerpt(out: &mut String, sheet: &Table, excerpt: &Excerpt, style: Style) {
    let columns = excerpt.columns.iter().filter_map(|(header, name)| Some((*header, sheet.column(name)?)));
    let columns: Vec<TextColumn<'_, usize>> = columns
        .map(|(header, column)| match column.kind() {
            ColumnKind::Text => TextColumn::left(header, |&row: &usize| column.cell(row).text().into_owned()),
            _ => {
                let places = if column.kind() == ColumnKind::Number(Unit::Percent) { 1 } else { 3 };
                TextColumn::right(header, move |&row: &usize| match column.cell(row) {
                    Cell::Whole(count) => grouped(count.unsigned_abs().into()),
                    Cell::Number(number) => decimal(number, places),
                    _ => String::new(),
                })
            }
        })
        .collect();
    let rows: Vec<usize> = (0..sheet.height().min(excerpt.rows)).collect();
    out.push('\n');
    out.push_str(&table(&columns, &rows, style));
    if sheet.height() > excerpt.rows {
        let dots = if style.unicode { "…" } else { "..." };
        let _ = writeln!(out, "{dots} and {} more in {}", sheet.height() - excerpt.rows, sheet.name());
    }
}

/// Mismatches of a table that are shown.
const MISMATCHES: usize = 3;

/// The verdict, and where it is bad the tables and kernels that it is about.
fn write_check(out: &mut String, check: &SanityCheck, style: Style) {
    let sheets = [("ops_summary", &check.launchers), ("unified_perf_summary", &check.unified)];
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
    out.push('\n');
    out.push_str(&table(&columns, &sheets, style).replace("FAIL", &style.paint("FAIL", Color::Yellow)));
    for (sheet, sums) in sheets {
        for mismatch in sums.mismatches.iter().take(MISMATCHES) {
            let kernel = truncate_middle(&mismatch.kernel, 60, style.unicode);
            let (in_table, in_trace) = (mismatch.in_table, mismatch.in_trace);
            let line = format!("{sheet} has {in_table} of {in_trace} {kernel}");
            wrap(&line, "  ", "    ", style.width, out);
        }
        if sums.mismatches.len() > MISMATCHES {
            let _ = writeln!(out, "  and {} more kernels", sums.mismatches.len() - MISMATCHES);
        }
    }
}

/// Operators named with the time that they lose to their roofline.
const LOSSES: usize = 3;

fn write_rooflines(out: &mut String, architecture: &str, shares: &RooflineShares, style: Style) {
    let line = format!(
        "rooflines for {architecture}: {:.1}% of kernel time modelled, {:.1}% of it above 50% of roofline",
        shares.modelled_percent, shares.near_percent
    );
    out.push('\n');
    wrap(&line, "", "  ", style.width, out);
    let lost = |(name, lost): &(String, f64)| {
        format!("{} {}", truncate_middle(name, 44, style.unicode), duration(*lost))
    };
    let most: Vec<String> = shares.losses.iter().take(LOSSES).map(lost).collect();
    if !most.is_empty() {
        wrap(&format!("most time lost to it: {}", most.join(", ")), "", "  ", style.width, out);
    }
}
