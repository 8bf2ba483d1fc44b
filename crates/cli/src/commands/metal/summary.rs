//! The summary: time by operation, by memory or by category.

use metal_perf::{GroupBy, MetalReport, StackedGroup, stacked};

use super::request::Screen;
use crate::metal_table::{
    Align, Cell, Grid, GridColumn, Priority, decimal_text, micros_text, of_label, percent_text,
};

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
    out.push_str("\n📊 Summary 📊\n=============\n\n");
    let by_category = report.options.group_by == GroupBy::Category;
    let has_buffers = groups.iter().any(|group| group.buffer.is_some());
    let columns = columns(has_buffers, has_devices, by_category);
    let rows: Vec<Vec<Cell>> =
        groups.iter().map(|group| row(group, has_buffers, has_devices, by_category)).collect();
    let grid = Grid::new(columns, rows.iter(), screen.frame, screen.paint);
    out.push_str(&grid.head());
    rows.iter().for_each(|row| out.push_str(&grid.line(row)));
    out.push_str(if report.options.compat { grid.rule() } else { grid.foot() }.as_str());
}

fn columns(has_buffers: bool, has_devices: bool, by_category: bool) -> Vec<GridColumn> {
    let column = |header, align, priority| GridColumn { header, align, least: 0, priority };
    let number = |header, order| column(header, Align::Right, Priority::Dropped(order));
    let mut columns = vec![
        column("Total %", Align::Right, Priority::Kept),
        column("Op Code", Align::Left, Priority::Shortened),
    ];
    columns.extend(has_buffers.then(|| column("Buffer", Align::Left, Priority::Dropped(8))));
    columns.extend(has_devices.then(|| column("Device", Align::Right, Priority::Kept)));
    columns.push(column("Device Time Sum", Align::Right, Priority::Kept));
    columns.push(number("Op Count", 1));
    if !by_category {
        columns.push(number("Op Category", 2));
        let flops = [("Min FLOPs", 5), ("Max FLOPs", 4), ("Mean FLOPs", 6), ("Std FLOPs", 7)];
        columns.extend(flops.map(|(header, order)| number(header, order)));
        columns.push(number("Weighted Mean FLOPs", 3));
    }
    columns
}

fn row(group: &StackedGroup, has_buffers: bool, has_devices: bool, by_category: bool) -> Vec<Cell> {
    let text = |text: String| Cell::new(text, None);
    let mut cells = vec![
        text(percent_text(group.percent, 2)),
        Cell::new(group.name.clone(), Some(of_label(&group.name))),
    ];
    if has_buffers {
        cells.push(text(group.buffer.clone().unwrap_or_default()));
    }
    if has_devices {
        cells.push(text(decimal_text(group.device.map(f64::from), 0)));
    }
    cells.push(text(micros_text(group.time_us, 2)));
    cells.push(text(group.count.to_string()));
    if !by_category {
        cells.push(text(group.category.map_or("", |category| category.as_str()).to_owned()));
        let flops = group.flops.as_ref();
        let flops = [
            flops.map(|spread| spread.min),
            flops.map(|spread| spread.max),
            flops.map(|spread| spread.mean),
            flops.and_then(|spread| spread.std),
            flops.and_then(|spread| spread.weighted_mean),
        ];
        cells.extend(flops.map(|value| text(value.map_or(String::new(), |value| percent_text(value, 2)))));
    }
    cells
}
