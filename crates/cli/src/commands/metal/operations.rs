//! The table of operations.

use std::fmt::Write;

use metal_perf::{MetalReport, Op};
use report_writers::terminal::Grid;
use sheets::Layout;

use super::columns::{is_minor, micros_text, op_columns, percent_text};
use super::request::Screen;
use crate::wrapping::wrap;
use answers::numbers::{counted, decimal};

/// Operations with a line of sums, or a sentence where there are none.
pub(super) fn write(report: &MetalReport, screen: &Screen, out: &mut String) {
    out.push_str(match report.options.conventions.layout {
        Layout::Listed => "🚀 Operations 🚀\n================\n\n",
        Layout::Roles => "\n",
    });
    if report.ops.is_empty() {
        out.push_str("no operations to show\n");
        return;
    }
    let is_shown = |op: &&Op| !(screen.hides_minor && is_minor(report, op));
    let shown: Vec<&Op> = report.ops.iter().filter(is_shown).collect();
    let grid = Grid::new(&op_columns(report), shown.iter().copied(), screen.frame, screen.style);
    out.push_str(&grid.text());
    notes(report, &grid, shown.len(), screen, out);
}

/// What the table does not show.
fn notes(report: &MetalReport, grid: &Grid<'_>, shown: usize, screen: &Screen, out: &mut String) {
    let mut say = |text: String| wrap(&text, "", "  ", screen.text_width, out);
    let hidden = report.ops.len() - shown;
    if hidden > 0 {
        let minor = || report.ops.iter().filter(|op| is_minor(report, op));
        let device: f64 = minor().filter_map(|op| op.device_time_us).sum();
        let gap: f64 = minor().filter_map(|op| op.gap_us).sum();
        let share: f64 = minor().filter_map(|op| op.total_percent).sum();
        say(format!(
            "{} {}% of total time and of device time) not shown: device time {}, gaps {}, together {}; --min-percentage 0 shows all",
            counted(hidden, "minor row (below", "minor rows (each below"),
            report.options.min_percentage,
            micros_text(device, 0),
            micros_text(gap, 0),
            percent_text(share, 1, false),
        ));
    }
    let left_out = grid.left_out();
    if !left_out.is_empty() {
        say(format!("no room for {}; widen the terminal or use --csv to see them", left_out.join(", ")));
    }
}

/// How the DRAM was used, in a line.
pub(super) fn roofline(report: &MetalReport, out: &mut String) {
    if let (Some(rate), Some(share)) = (report.totals.dram_gb_per_s, report.totals.dram_percent) {
        let _ = writeln!(
            out,
            "DRAM: {} GB/s over all device time, {} of the chip's bandwidth",
            decimal(rate, 0),
            percent_text(share, 1, false)
        );
    }
}
