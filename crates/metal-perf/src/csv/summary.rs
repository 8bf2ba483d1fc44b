//! The summary as a CSV file.

use std::io::{self, Write};

use super::cell::Line;
use crate::options::GroupBy;
use crate::report::MetalReport;
use crate::stacked::stacked;

/// Writes the summary, a line per group, with two digits behind the point: times in µs, shares in percent. Lines end
/// with LF.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_summary_csv(report: &MetalReport, out: &mut impl Write) -> io::Result<()> {
    let by_category = report.options.group_by == GroupBy::Category;
    let groups = stacked(report);
    let by_device = groups.iter().any(|group| group.device.is_some());
    let mut line = Line::new(out, "\n");
    line.text("Total % [%]")?;
    line.text("Op Code")?;
    if by_device {
        line.text("Device")?;
    }
    line.text("Device Time Sum [μs]")?;
    line.text("Op Count")?;
    if !by_category {
        for name in ["Op Category", "Min FLOPs [%]", "Max FLOPs [%]", "Mean FLOPs [%]", "Std FLOPs [%]"] {
            line.text(name)?;
        }
        line.text("Weighted Mean FLOPs [%]")?;
    }
    let has_buffers = groups.iter().any(|group| group.buffer.is_some());
    if has_buffers {
        line.text("Buffer")?;
    }
    line.end()?;
    for group in &groups {
        line.rounded(Some(group.percent))?;
        line.text(&group.name)?;
        if by_device {
            line.whole(group.device)?;
        }
        line.rounded(Some(group.time_us))?;
        line.whole(Some(group.count as i64))?;
        if !by_category {
            line.text(group.category.map_or("", |category| category.as_str()))?;
            let flops = [
                group.flops.map(|flops| flops.min),
                group.flops.map(|flops| flops.max),
                group.flops.map(|flops| flops.mean),
                group.flops.and_then(|flops| flops.std),
                group.flops.and_then(|flops| flops.weighted_mean),
            ];
            for figure in flops {
                line.rounded(figure)?;
            }
        }
        if has_buffers {
            line.text(group.buffer.as_deref().unwrap_or_default())?;
        }
        line.end()?;
    }
    Ok(())
}
