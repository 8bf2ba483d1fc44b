//! What to change, below the table.

use indexmap::IndexMap;
use metal_perf::{Finding, MetalReport, Op, findings};
use report_writers::terminal::{Color, Grid, TextColumn};
use sheets::Layout;

use super::columns::{is_minor, micros_text, op_columns};
use super::request::Screen;
use crate::wrapping::wrap;
use answers::numbers::grouped;

/// Rows that are shown of those that one piece of advice is about.
const MOST_ROWS: usize = 20;

/// The findings in sections: the operations that each is about, then what it says.
pub(super) fn write(report: &MetalReport, screen: &Screen, out: &mut String) {
    let findings = findings(report);
    if findings.is_empty() {
        return;
    }
    if report.options.conventions.layout == Layout::Listed {
        out.push_str("\n💡 Advice 💡\n============\n");
    }
    for section in findings.chunk_by(|a, b| a.title() == b.title()) {
        let Some(first) = section.first() else { continue };
        let title = first.title();
        out.push_str(&format!("\n{title}\n{}\n", "-".repeat(title.chars().count())));
        match report.options.conventions.layout == Layout::Listed {
            true => one_by_one(report, section, screen, out),
            false => grouped_by_text(report, section, screen, out),
        }
    }
}

fn ops_of<'a>(report: &'a MetalReport, finding: &'a Finding) -> impl Iterator<Item = &'a Op> {
    finding.ops().iter().filter_map(|position| report.ops.get(*position))
}

/// Every operation in its columns of the table above, with what is said of it.
fn one_by_one(report: &MetalReport, section: &[Finding], screen: &Screen, out: &mut String) {
    let grid = Grid::new(&op_columns(report), &report.ops, screen.frame, screen.style);
    for finding in section {
        finding.ops().iter().for_each(|position| out.push_str(&grid.line(*position)));
        let is_muted = ops_of(report, finding).all(|op| is_minor(report, op));
        say(finding, is_muted, screen, out);
        out.push('\n');
    }
}

/// Operations with the same advice together, those with the most time to win first.
fn grouped_by_text(report: &MetalReport, section: &[Finding], screen: &Screen, out: &mut String) {
    let mut groups: IndexMap<String, Vec<&Finding>> = IndexMap::new();
    for finding in section {
        groups.entry(finding.to_string()).or_default().push(finding);
    }
    let columns: Vec<_> = op_columns(report).into_iter().map(TextColumn::without_total).collect();
    let to_win = |group: &[&Finding]| group.iter().filter_map(|finding| finding.at_most_us()).sum::<f64>();
    groups.sort_by(|_, a, _, b| to_win(b).total_cmp(&to_win(a)));
    for group in groups.values() {
        let Some(first) = group.first() else { continue };
        let mut ops: Vec<&Op> = group.iter().flat_map(|finding| ops_of(report, finding)).collect();
        let count = ops.len();
        if count > MOST_ROWS {
            let time = |op: &Op| match first {
                Finding::HighGaps { .. } => op.gap_us.unwrap_or(0.0),
                _ => op.device_time_us.unwrap_or(0.0),
            };
            ops.sort_by(|a, b| time(b).total_cmp(&time(a)));
            ops.truncate(MOST_ROWS);
        }
        let grid = Grid::new(&columns, ops.iter().copied(), screen.frame, screen.style);
        out.push_str(&grid.text());
        if count > ops.len() {
            out.push_str(&format!("… and {} more with less time\n", grouped((count - ops.len()) as u128)));
        }
        say(first, false, screen, out);
        let time = to_win(group);
        if matches!(first, Finding::MatrixProduct { .. }) && time > 0.0 {
            out.push_str(&format!("Up to {} recoverable.\n", micros_text(time, 0)));
        }
        out.push('\n');
    }
}

fn say(finding: &Finding, is_muted: bool, screen: &Screen, out: &mut String) {
    let color = if is_muted { Color::Gray } else { Color::White };
    let mut text = String::new();
    for line in finding.to_string().lines() {
        wrap(line, "", "  ", screen.text_width, &mut text);
    }
    for line in text.lines() {
        out.push_str(&screen.style.paint(line, color));
        out.push('\n');
    }
}
