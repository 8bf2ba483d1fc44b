//! How busy each device was, and how evenly they shared the work.

use polars::prelude::{DataFrame, PolarsResult};
use tree_perf::{Column, ColumnKind, FrameBuilder, Sheet, Unit};

use crate::devices::{device_loads, imbalances};
use crate::report::MetalReport;

/// One row per device.
pub(super) const SHEET: Sheet<MetalReport> = Sheet::new(
    "devices",
    "Work of each device in the rows shown; operations that were put together count for each of their devices.",
    &[
        Column::new("Device", ColumnKind::Identifier, "The device."),
        Column::new("Op Count", ColumnKind::Count, "Its operations."),
        Column::new(
            "Device Time Sum",
            ColumnKind::Number(Unit::Microseconds),
            "Sum of their times in µs, overlaps counted twice.",
        ),
        Column::new(
            "Gap Sum",
            ColumnKind::Number(Unit::Microseconds),
            "Sum of the gaps before them in µs, without that before the first.",
        ),
        Column::new(
            "Busy Time",
            ColumnKind::Number(Unit::Microseconds),
            "Time in µs in which at least one ran: the union of their firmware's cycles, divided by the clock; empty without cycles.",
        ),
        Column::new(
            "Idle Time",
            ColumnKind::Number(Unit::Microseconds),
            "Time in µs between the first and the last in which none ran; empty without cycles.",
        ),
        Column::new(
            "Clock (MHz)",
            ColumnKind::Number(Unit::One),
            "Cycles of the firmware divided by its duration.",
        ),
    ],
    build,
);

fn build(report: &MetalReport) -> PolarsResult<Option<DataFrame>> {
    let loads = device_loads(report);
    if loads.is_empty() {
        return Ok(None);
    }
    let of = || loads.iter();
    let mut frame = FrameBuilder::default();
    frame.integer("Device", of().map(|load| Some(load.device.into())));
    frame.integer("Op Count", of().map(|load| Some(load.count as i64)));
    frame.float("Device Time Sum", of().map(|load| Some(load.time_us)));
    frame.float("Gap Sum", of().map(|load| Some(load.gap_us)));
    frame.float("Busy Time", of().map(|load| load.busy_us));
    frame.float("Idle Time", of().map(|load| load.idle_us));
    frame.float("Clock (MHz)", of().map(|load| load.clock_mhz));
    frame.finish().map(Some)
}

/// One row per operation that several devices ran.
pub(super) const IMBALANCE: Sheet<MetalReport> = Sheet::new(
    "imbalance",
    "Operations that several devices ran, in their order, with the spread of their times.",
    &[
        Column::new("ID", ColumnKind::Identifier, "Line of the row shown in the profiler's file."),
        Column::new("OP Code", ColumnKind::Text, "The operation."),
        Column::new("Devices", ColumnKind::Count, "Devices that have a time."),
        Column::new("Min Time", ColumnKind::Number(Unit::Microseconds), "Shortest time in µs."),
        Column::new("Mean Time", ColumnKind::Number(Unit::Microseconds), "Mean time in µs."),
        Column::new("Max Time", ColumnKind::Number(Unit::Microseconds), "Longest time in µs."),
        Column::new("Slowest Device", ColumnKind::Identifier, "The device that took longest."),
        Column::new(
            "Imbalance %",
            ColumnKind::Number(Unit::Percent),
            "How much longer that is than the mean: (max / mean − 1) × 100.",
        ),
    ],
    build_imbalance,
);

fn build_imbalance(report: &MetalReport) -> PolarsResult<Option<DataFrame>> {
    let found = imbalances(report);
    if found.is_empty() {
        return Ok(None);
    }
    let of = || found.iter();
    let op = |position: usize| report.ops.get(position);
    let mut frame = FrameBuilder::default();
    frame.integer("ID", of().map(|one| op(one.op).map(|op| op.id.into())));
    frame.text("OP Code", of().map(|one| op(one.op).map(|op| &op.label)));
    frame.integer("Devices", of().map(|one| Some(one.devices as i64)));
    frame.float("Min Time", of().map(|one| Some(one.min_us)));
    frame.float("Mean Time", of().map(|one| Some(one.mean_us)));
    frame.float("Max Time", of().map(|one| Some(one.max_us)));
    frame.integer("Slowest Device", of().map(|one| Some(one.slowest.into())));
    frame.float("Imbalance %", of().map(|one| Some(one.imbalance_percent)));
    frame.finish().map(Some)
}
