//! The summary: time by operation, by memory or by category.

use metal_perf::{FlopsSpread, GroupBy, MetalReport, OpCategory, StackedGroup, stacked};
use report_writers::terminal::{Grid, TextColumn};
use sheets::Layout;

use super::columns::{count, labelled, micros_text, percent_text};
use super::request::Screen;

/// A line per group, most time first; a device after the other where they are kept apart.
pub(super) fn write(report: &MetalReport, screen: &Screen, out: &mut String) {
    let mut groups = stacked(report);
    if groups.is_empty() {
        return;
    }
    let has_devices = groups.iter().any(|group| group.device.is_some());
    if has_devices {
        // Those of a device are in the order of their time.
        groups.sort_by_key(|group| group.device);
    }
    let compat = report.options.conventions.layout == Layout::Listed;
    let has_buffers = groups.iter().any(|group| group.buffer.is_some());
    let mut columns = vec![
        TextColumn::right("Total %", move |group: &StackedGroup| percent_text(group.percent, 2, compat)),
        TextColumn::left("Op Code", |group: &StackedGroup| labelled(&group.name)),
    ];
    if has_buffers {
        let buffer = |group: &StackedGroup| group.buffer.clone().unwrap_or_default();
        columns.push(TextColumn::left("Buffer", buffer).droppable(8));
    }
    if has_devices {
        columns.push(TextColumn::right("Device", |group: &StackedGroup| count(group.device)));
    }
    columns.extend([
        TextColumn::right("Device Time Sum", |group: &StackedGroup| micros_text(group.time_us, 2)),
        TextColumn::right("Op Count", |group: &StackedGroup| group.count.to_string()).droppable(1),
    ]);
    if report.options.group_by != GroupBy::Category {
        let category = |group: &StackedGroup| group.category.map_or("", OpCategory::as_str);
        columns.extend([
            TextColumn::right("Op Category", category).droppable(2),
            flops("Min FLOPs", compat, |spread| Some(spread.min)).droppable(5),
            flops("Max FLOPs", compat, |spread| Some(spread.max)).droppable(4),
            flops("Mean FLOPs", compat, |spread| Some(spread.mean)).droppable(6),
            flops("Std FLOPs", compat, |spread| spread.std).droppable(7),
            flops("Weighted Mean FLOPs", compat, |spread| spread.weighted_mean).droppable(3),
        ]);
    }
    out.push_str(match report.options.conventions.layout {
        Layout::Listed => "\n📊 Summary 📊\n=============\n\n",
        Layout::Roles => "\n",
    });
    out.push_str(&Grid::new(&columns, &groups, screen.frame, screen.style).text());
}

fn flops<'a>(
    header: &'a str,
    compat: bool,
    of: fn(&FlopsSpread) -> Option<f64>,
) -> TextColumn<'a, StackedGroup> {
    TextColumn::right(header, move |group: &StackedGroup| {
        let percent = group.flops.as_ref().and_then(of);
        percent.map_or(String::new(), |value| percent_text(value, 2, compat))
    })
}
