//! Where the device's time went.

use gpu_timeline::Breakdown;
use polars::prelude::{DataFrame, PolarsResult};

use crate::analysis::Analysis;
use crate::column::{Column, ColumnKind, Unit, shared};
use crate::frame::FrameBuilder;
use crate::sheet::{ChartShape, Sheet, SheetChart};

const TYPE: Column = Column::new(
    "type",
    ColumnKind::Text,
    "What the time is: computation_time (kernels that compute, and fills), exposed_comm_time (communication while nothing computes), exposed_memcpy_time (copies while nothing computes or communicates), busy_time (anything runs), idle_time (nothing runs; with --micro_idle_thresh_us split into micro_idle_time below the threshold and macro_idle_time from it on), total_time (first start to last end), total_comm_time and total_memcpy_time (all communication, all copies, hidden or not). Computation, exposed communication, exposed copies and idle add up to the total.",
);
const TIME: Column = Column::new(
    "time ms",
    ColumnKind::Number(Unit::Milliseconds),
    "Length in ms of the union of the spans in question, over all devices of the trace together.",
);
const TIME_OF_DEVICE: Column = Column::new(
    "time ms",
    ColumnKind::Number(Unit::Milliseconds),
    "Length in ms of the union of the spans in question, on this device.",
);
const PERCENT: Column = Column::new(
    "percent",
    ColumnKind::Number(Unit::Percent),
    "time ms as a share of total_time, in percent.",
);
const DEVICE: Column = Column::new("device", ColumnKind::Identifier, "Index of the device.");

/// One row per kind of time.
pub(crate) const SHEET: Sheet = Sheet {
    name: "gpu_timeline",
    current_name: "gpu_timeline",
    description: "Where the device's time went: one row per kind of time.",
    columns: &[TYPE, TIME, PERCENT, shared::IS_RECOMPUTE],
    chart: Some(SheetChart {
        title: "GPU timeline",
        categories: "type",
        values: "time ms",
        axis: "time (ms)",
        shape: ChartShape::Stacked(&[
            "computation_time",
            "exposed_comm_time",
            "exposed_memcpy_time",
            "idle_time",
            "micro_idle_time",
            "macro_idle_time",
        ]),
    }),
    build,
};

/// The same per device, for traces of several devices.
pub(crate) const PER_DEVICE: Sheet = Sheet {
    name: "gpu_timeline_per_device",
    current_name: "gpu_timeline_per_device",
    description: "Where the time of each device went; only for traces of several devices.",
    columns: &[DEVICE, TYPE, TIME_OF_DEVICE, PERCENT],
    chart: None,
    build: build_per_device,
};

/// One breakdown among the rows: what tells it apart, and its figures.
struct Block {
    device: Option<i64>,
    is_recompute: bool,
    breakdown: Breakdown,
}

fn build(analysis: &Analysis) -> PolarsResult<Option<DataFrame>> {
    if !analysis.options().detect_recompute {
        let block = |breakdown| Block { device: None, is_recompute: false, breakdown };
        let blocks: Vec<Block> = analysis.timeline().into_iter().map(block).collect();
        return rows(analysis, &blocks).finish().map(Some);
    }
    let mut blocks = Vec::new();
    for is_recompute in [false, true] {
        let chosen = analysis
            .counted()
            .filter(|&position| analysis.is_recompute(analysis.device.ids[position]) == is_recompute);
        blocks.extend(analysis.breakdown(chosen).map(|breakdown| Block {
            device: None,
            is_recompute,
            breakdown,
        }));
    }
    let mut frame = rows(analysis, &blocks);
    let lengths: Vec<usize> = blocks.iter().map(|block| times(&block.breakdown).len()).collect();
    let flags =
        blocks.iter().zip(&lengths).flat_map(|(block, &rows)| std::iter::repeat_n(block.is_recompute, rows));
    frame.flag("is_recompute", flags);
    frame.finish().map(Some)
}

fn build_per_device(analysis: &Analysis) -> PolarsResult<Option<DataFrame>> {
    let events = analysis.trace().events();
    let device_of = |position: usize| events.device(analysis.device.ids[position]);
    let mut devices: Vec<i64> = analysis.counted().filter_map(device_of).collect();
    devices.sort_unstable();
    devices.dedup();
    if devices.len() < 2 {
        return Ok(None);
    }
    let blocks: Vec<Block> = devices
        .into_iter()
        .filter_map(|device| {
            let chosen = analysis.counted().filter(|&position| device_of(position) == Some(device));
            let breakdown = analysis.breakdown(chosen)?;
            Some(Block { device: Some(device), is_recompute: false, breakdown })
        })
        .collect();
    let mut frame = FrameBuilder::default();
    let devices = blocks.iter().flat_map(|block| times(&block.breakdown).into_iter().map(|_| block.device));
    frame.integer("device", devices);
    append_rows(&mut frame, analysis, &blocks);
    frame.finish().map(Some)
}

fn rows(analysis: &Analysis, blocks: &[Block]) -> FrameBuilder {
    let mut frame = FrameBuilder::default();
    append_rows(&mut frame, analysis, blocks);
    frame
}

fn append_rows(frame: &mut FrameBuilder, analysis: &Analysis, blocks: &[Block]) {
    let rows = || {
        blocks.iter().flat_map(|block| {
            times(&block.breakdown)
                .into_iter()
                .map(|(name, time)| (name, analysis.ms(time), block.breakdown.percent_of_total(time)))
        })
    };
    frame.text("type", rows().map(|(name, _, _)| Some(name)));
    frame.float("time ms", rows().map(|(_, ms, _)| Some(ms)));
    frame.float("percent", rows().map(|(_, _, percent)| Some(percent)));
}

/// The rows of a breakdown: name and time in the trace's unit.
fn times(breakdown: &Breakdown) -> Vec<(&'static str, i64)> {
    let mut times = vec![
        ("computation_time", breakdown.computation),
        ("exposed_comm_time", breakdown.exposed_communication),
        ("exposed_memcpy_time", breakdown.exposed_memcpy),
        ("busy_time", breakdown.busy),
    ];
    match breakdown.idle_split {
        None => times.push(("idle_time", breakdown.idle)),
        Some(split) => {
            times.extend([("micro_idle_time", split.micro_idle), ("macro_idle_time", split.macro_idle)])
        }
    }
    times.extend([
        ("total_time", breakdown.total),
        ("total_comm_time", breakdown.total_communication),
        ("total_memcpy_time", breakdown.total_memcpy),
    ]);
    times
}
