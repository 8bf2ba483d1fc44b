//! What to change, below the table.

use metal_perf::{Finding, MetalReport, Op, findings};

use super::request::Screen;
use crate::metal_table::{Cell, Grid, Ink, OpColumns, micros_text};
use crate::numbers::grouped;
use crate::wrapping::wrap;

/// Rows that are shown of those that one piece of advice is about.
const MOST_ROWS: usize = 20;

/// The findings in sections: the operations that each is about, then what it says.
pub(super) fn write(report: &MetalReport, screen: &Screen, out: &mut String) {
    let findings = findings(report);
    if findings.is_empty() {
        return;
    }
    out.push_str("\n💡 Advice 💡\n============\n");
    let columns = OpColumns::new(report);
    for section in findings.chunk_by(|a, b| a.title() == b.title()) {
        let Some(first) = section.first() else { continue };
        let title = first.title();
        out.push_str(&format!("\n{title}\n{}\n", "-".repeat(title.chars().count())));
        match report.options.compat {
            true => one_by_one(report, &columns, section, screen, out),
            false => together(report, &columns, section, screen, out),
        }
    }
}

fn ops_of<'a>(report: &'a MetalReport, finding: &'a Finding) -> impl Iterator<Item = &'a Op> {
    finding.ops().iter().filter_map(|position| report.ops.get(*position))
}

/// Every operation in its columns of the table above, with what is said of it.
fn one_by_one(
    report: &MetalReport,
    columns: &OpColumns<'_>,
    section: &[Finding],
    screen: &Screen,
    out: &mut String,
) {
    let all: Vec<Vec<Cell>> = report.ops.iter().map(|op| columns.row(op)).chain([columns.total()]).collect();
    let grid = Grid::new(columns.columns(), all.iter(), screen.frame, screen.paint);
    for finding in section {
        let rows = finding.ops().iter().filter_map(|position| all.get(*position));
        rows.for_each(|row| out.push_str(&grid.line(row)));
        let is_muted = ops_of(report, finding).all(|op| columns.is_minor(op));
        say(finding, is_muted, screen, out);
        out.push('\n');
    }
}

/// Operations of which the same is said together, most time first, with what there is to win.
fn together(
    report: &MetalReport,
    columns: &OpColumns<'_>,
    section: &[Finding],
    screen: &Screen,
    out: &mut String,
) {
    let mut groups: Vec<(String, Vec<&Finding>)> = Vec::new();
    for finding in section {
        let text = finding.to_string();
        match groups.iter_mut().find(|(said, _)| *said == text) {
            Some((_, group)) => group.push(finding),
            None => groups.push((text, vec![finding])),
        }
    }
    let to_win = |group: &[&Finding]| group.iter().filter_map(|finding| finding.at_most_us()).sum::<f64>();
    groups.sort_by(|(_, a), (_, b)| to_win(b).total_cmp(&to_win(a)));
    for (_, group) in &groups {
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
        let rows: Vec<Vec<Cell>> = ops.iter().map(|op| columns.row(op)).collect();
        let grid = Grid::new(columns.columns(), rows.iter(), screen.frame, screen.paint);
        out.push_str(&grid.head());
        rows.iter().for_each(|row| out.push_str(&grid.line(row)));
        out.push_str(&grid.foot());
        if count > ops.len() {
            out.push_str(&format!("… and {} more with less time\n", grouped((count - ops.len()) as u128)));
        }
        say(first, false, screen, out);
        let time = to_win(group);
        if matches!(first, Finding::MatrixProduct { .. }) && time > 0.0 {
            out.push_str(&format!("At most {} to win.\n", micros_text(time, 0)));
        }
        out.push('\n');
    }
}

fn say(finding: &Finding, is_muted: bool, screen: &Screen, out: &mut String) {
    let ink = if is_muted { Ink::Grey } else { Ink::White };
    let mut text = String::new();
    for line in finding.to_string().lines() {
        wrap(line, "", "  ", screen.text_width, &mut text);
    }
    for line in text.lines() {
        out.push_str(&screen.paint.text(line, Some(ink)));
        out.push('\n');
    }
}
