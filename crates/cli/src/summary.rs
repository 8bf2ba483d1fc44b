//! The summary on the terminal.

use std::fmt::Write;
use std::path::Path;

use polars::prelude::DataFrame;
use report_writers::Report;
use report_writers::terminal::{Alignment, Color, Segment, Style, TextColumn, bar, table};
use tree_perf::Analysis;

/// Rows of the tables in the summary.
const TOP_CATEGORIES: usize = 6;
const TOP_OPERATORS: usize = 10;

/// What is said below the figures.
pub(crate) struct Notes {
    pub(crate) warnings: Vec<String>,
    written: Vec<String>,
}

impl Notes {
    /// What reading, the tree and the analysis got over.
    pub(crate) fn of(analysis: &Analysis, notices: &[String]) -> Self {
        let mut warnings = notices.to_vec();
        warnings.extend(analysis.trace().warnings().iter().map(ToString::to_string));
        warnings.extend(analysis.tree().warnings().iter().map(ToString::to_string));
        warnings.extend(analysis.notices().iter().map(ToString::to_string));
        Notes { warnings, written: Vec::new() }
    }

    pub(crate) fn wrote(&mut self, destination: &Path, files: usize) {
        let count = if destination.is_dir() { format!(" ({files} files)") } else { String::new() };
        self.written.push(format!("wrote {}{count}", destination.display()));
    }
}

/// The summary as text.
pub(crate) fn text(analysis: &Analysis, report: &Report, notes: &Notes, style: Style) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_head(&mut out, analysis, report.title());
    write_timeline(&mut out, analysis, style);
    let frame =
        |name: &str| report.tables().iter().find(|table| table.name() == name).map(|table| table.frame());
    if let Some(frame) = frame("ops_summary_by_category") {
        let columns = ["op category", "Count", "total_direct_kernel_time_ms", "Percentage (%)"];
        write_top(&mut out, frame, ["category", "calls", "kernel ms", "%"], columns, TOP_CATEGORIES, style);
    }
    if let Some(frame) = frame("ops_summary") {
        let columns = ["name", "Count", "total_direct_kernel_time_ms", "Percentage (%)"];
        write_top(&mut out, frame, ["operator", "calls", "kernel ms", "%"], columns, TOP_OPERATORS, style);
    }
    for warning in &notes.warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    for written in &notes.written {
        let _ = writeln!(out, "{written}");
    }
    out
}

fn write_head(out: &mut String, analysis: &Analysis, title: &str) -> std::fmt::Result {
    let trace = analysis.trace();
    write!(out, "{title}")?;
    let mut devices: Vec<&str> =
        trace.facts().devices.iter().filter_map(|device| device.name.as_deref()).collect();
    devices.dedup();
    if !devices.is_empty() {
        let count = trace.facts().devices.len();
        write!(
            out,
            "  ·  {}{}",
            if count > 1 { format!("{count} × ") } else { String::new() },
            devices.join(", ")
        )?;
    }
    if let Some(distributed) = &trace.facts().distributed
        && let (Some(rank), Some(size)) = (distributed.rank, distributed.world_size)
    {
        write!(out, "  ·  rank {rank} of {size}")?;
    }
    writeln!(out, "  ·  {} events", grouped(trace.entries().into()))?;

    let coverage = analysis.coverage();
    let total = coverage.linked_events + coverage.unlinked_events;
    let share = coverage.linked_time_us / (coverage.linked_time_us + coverage.unlinked_time_us) * 100.0;
    writeln!(
        out,
        "{} of {} device events linked to their launch ({:.1} % of device time)",
        grouped(coverage.linked_events as u64),
        grouped(total as u64),
        if share.is_nan() { 0.0 } else { share },
    )
}

fn write_timeline(out: &mut String, analysis: &Analysis, style: Style) {
    let Some(timeline) = analysis.timeline() else {
        out.push_str(
            "\nNo device event is linked to a launch; --include_unlinked_kernels counts them all.\n",
        );
        return;
    };
    let ms = |time| analysis.trace().to_microseconds(time) / 1000.0;
    let _ = writeln!(
        out,
        "\nGPU time {} ms: busy {} ms, idle {} ms",
        decimal(ms(timeline.total), 3),
        decimal(ms(timeline.busy), 3),
        decimal(ms(timeline.idle), 3)
    );
    let parts = [
        ("computation", timeline.computation, Color::Green),
        ("exposed communication", timeline.exposed_communication, Color::Magenta),
        ("exposed copies", timeline.exposed_memcpy, Color::Yellow),
        ("idle", timeline.idle, Color::Gray),
    ];
    let segments: Vec<Segment<'_>> = parts
        .iter()
        .map(|&(label, time, color)| Segment {
            label,
            fraction: timeline.percent_of_total(time) / 100.0,
            color,
        })
        .collect();
    out.push_str(&bar(&segments, Style { width: style.width.min(100), ..style }));
}

fn write_top(
    out: &mut String,
    frame: &DataFrame,
    headers: [&str; 4],
    columns: [&str; 4],
    rows: usize,
    style: Style,
) {
    let text = |column: &str, row: usize| -> Option<String> {
        Some(frame.column(column).ok()?.str().ok()?.get(row)?.to_string())
    };
    let integer = |column: &str, row: usize| -> Option<String> {
        Some(grouped(frame.column(column).ok()?.i64().ok()?.get(row)?.unsigned_abs()))
    };
    let float = |column: &str, row: usize, places: usize| -> Option<String> {
        Some(decimal(frame.column(column).ok()?.f64().ok()?.get(row)?, places))
    };
    let cells: Vec<Vec<String>> = (0..frame.height().min(rows))
        .map(|row| {
            [
                text(columns[0], row),
                integer(columns[1], row),
                float(columns[2], row, 3),
                float(columns[3], row, 1),
            ]
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect()
        })
        .collect();
    let alignment = |position| if position == 0 { Alignment::Left } else { Alignment::Right };
    let headers: Vec<TextColumn<'_>> = headers
        .iter()
        .enumerate()
        .map(|(position, header)| TextColumn { header, alignment: alignment(position) })
        .collect();
    out.push('\n');
    out.push_str(&table(&headers, &cells, Style { width: style.width.min(100), ..style }));
    if frame.height() > rows {
        let _ = writeln!(out, "… and {} more", frame.height() - rows);
    }
}

/// A count with its thousands apart.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(" ")
}

/// A number with its thousands apart and a fixed number of decimals.
fn decimal(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    match text.split_once('.') {
        Some((whole, decimals)) => match whole.parse() {
            Ok(whole) => format!("{}.{decimals}", grouped(whole)),
            Err(_) => text,
        },
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1 000"), (1_234_567, "1 234 567")] {
            assert_eq!(grouped(value), text);
        }
        assert_eq!(decimal(1234.5678, 3), "1 234.568");
        assert_eq!(decimal(0.05, 1), "0.1");
    }
}
