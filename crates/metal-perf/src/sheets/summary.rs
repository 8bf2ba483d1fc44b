//! Device time by operation, memory or category.

use polars::prelude::{DataFrame, PolarsResult};
use tree_perf::{ChartShape, Column, ColumnKind, FrameBuilder, Sheet, SheetChart, Unit};

use crate::report::MetalReport;
use crate::stacked::stacked;

/// One row per group.
pub(super) const SHEET: Sheet<MetalReport> = Sheet::new(
    "summary",
    "Device time by operation, by operation and memory of its first input, or by category (--group-by), most time first; of each device by itself where devices are not put together.",
    &[
        Column::new("Total %", ColumnKind::Number(Unit::Percent), "Share of the device time of all groups (of the device), in percent."),
        Column::new("Op Code", ColumnKind::Text, "The group: operation, with --group-by memory followed by buffer and layout of its first input; or category."),
        Column::new("Device", ColumnKind::Identifier, "The device, where devices are not put together."),
        Column::new("Device Time Sum", ColumnKind::Number(Unit::Microseconds), "Sum of the times on the device, in µs; operations of the host have none."),
        Column::new("Op Count", ColumnKind::Count, "How many operations."),
        Column::new("Op Category", ColumnKind::Text, "Category of the first."),
        Column::new("Min FLOPs", ColumnKind::Number(Unit::Percent), "Lowest FLOPs % of those that have one."),
        Column::new("Max FLOPs", ColumnKind::Number(Unit::Percent), "Highest FLOPs %."),
        Column::new("Mean FLOPs", ColumnKind::Number(Unit::Percent), "Mean of their FLOPs %."),
        Column::new("Std FLOPs", ColumnKind::Number(Unit::Percent), "Standard deviation (of a sample, n − 1) of their FLOPs %; empty for a single one."),
        Column::new("Weighted Mean FLOPs", ColumnKind::Number(Unit::Percent), "Mean of their FLOPs % weighted by device time: Σ(FLOPs % × time) / Σ time."),
        Column::new(
            "Buffer",
            ColumnKind::Text,
            "Kind of memory of the first input (DRAM, L1 or HOST), where groups are by memory.",
        ),
    ],
    build,
)
.with_chart(SheetChart {
    title: "Device time",
    categories: "Op Code",
    values: "Device Time Sum",
    axis: "device time (µs)",
    shape: ChartShape::Bars(10),
});

fn build(report: &MetalReport) -> PolarsResult<Option<DataFrame>> {
    let groups = stacked(report);
    if groups.is_empty() {
        return Ok(None);
    }
    let of = || groups.iter();
    let mut frame = FrameBuilder::default();
    frame.float("Total %", of().map(|group| Some(group.percent)));
    frame.text("Op Code", of().map(|group| Some(&group.name)));
    frame.integer("Device", of().map(|group| group.device.map(Into::into)));
    frame.float("Device Time Sum", of().map(|group| Some(group.time_us)));
    frame.integer("Op Count", of().map(|group| Some(group.count as i64)));
    frame.text("Op Category", of().map(|group| group.category.map(|category| category.as_str())));
    frame.float("Min FLOPs", of().map(|group| group.flops.map(|flops| flops.min)));
    frame.float("Max FLOPs", of().map(|group| group.flops.map(|flops| flops.max)));
    frame.float("Mean FLOPs", of().map(|group| group.flops.map(|flops| flops.mean)));
    frame.float("Std FLOPs", of().map(|group| group.flops.and_then(|flops| flops.std)));
    frame.float("Weighted Mean FLOPs", of().map(|group| group.flops.and_then(|flops| flops.weighted_mean)));
    frame.text("Buffer", of().map(|group| group.buffer.as_deref()));
    frame.finish().map(Some)
}
