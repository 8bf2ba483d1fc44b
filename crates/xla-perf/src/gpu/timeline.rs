//! Where the time of each GPU went, and of a GPU on average.

use gpu_timeline::Breakdown;
use polars::prelude::{DataFrame, PolarsResult};

use super::of_gpus;
use tree_perf::{Column, ColumnKind, Unit};
use tree_perf::FrameBuilder;
use crate::analysis::JaxAnalysis;
use tree_perf::{ChartShape, Sheet, SheetChart};

const TYPE: Column = Column::new(
    "type",
    ColumnKind::Text,
    "What the time is: computation_time (kernels that compute), exposed_comm_time (communication while nothing computes), exposed_memcpy_time (copies and fills while nothing computes or communicates), busy_time (anything runs), idle_time (nothing runs), total_time (first start to last end), total_comm_time and total_memcpy_time (all communication, all copies and fills, hidden or not), overlapped_comm (communication while something computes). Computation, exposed communication, exposed copies and idle add up to the total.",
);
const PERCENT: Column = Column::new(
    "percent",
    ColumnKind::Number(Unit::Percent),
    "time ms as a share of total_time, in percent.",
);
const MEAN_TIME: Column = Column::new(
    "time ms",
    ColumnKind::Number(Unit::Milliseconds),
    "Mean over GPUs with events, those that only copied included, of the length in ms of the union of the spans in question.",
);
const GPUS: Column =
    Column::new("gpus", ColumnKind::Count, "GPUs with events, over which the mean is taken.");

const fn chart(title: &'static str) -> SheetChart {
    SheetChart {
        title,
        categories: "type",
        values: "time ms",
        axis: "time (ms)",
        shape: ChartShape::Stacked(&[
            "computation_time",
            "exposed_comm_time",
            "exposed_memcpy_time",
            "idle_time",
        ]),
    }
}

/// One row per GPU and kind of time.
pub(crate) const PER_GPU: Sheet<JaxAnalysis> = Sheet {
    name: "gpu_timeline",
    current_name: "gpu_timeline",
    description: "Where the time of each GPU went: one row per GPU with events and kind of time.",
    columns: &[
        TYPE,
        Column::new(
            "time ms",
            ColumnKind::Number(Unit::Milliseconds),
            "Length in ms of the union of the spans in question on one GPU.",
        ),
        PERCENT,
        Column::new(
            "gpu_pid",
            ColumnKind::Identifier,
            "The GPU: the id of its plane plus 1, which is the process id of trace viewers.",
        ),
    ],
    chart: None,
    build: |analysis| of_gpus(analysis, per_gpu),
};

fn per_gpu(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    let rows: Vec<(i64, Kind, i64, f64)> = analysis
        .gpus()
        .iter()
        .flat_map(|gpu| {
            let percent = |time| gpu.breakdown.percent_of_total(time);
            kinds(&gpu.breakdown).map(|(kind, time)| (gpu.pid, kind, time, percent(time)))
        })
        .collect();
    let mut frame = FrameBuilder::default();
    frame.text("type", rows.iter().map(|row| Some(row.1)));
    frame.float("time ms", rows.iter().map(|row| Some(analysis.ms(row.2))));
    frame.float("percent", rows.iter().map(|row| Some(row.3)));
    frame.integer("gpu_pid", rows.iter().map(|row| Some(row.0)));
    frame.finish().map(Some)
}

/// One row per kind of time.
pub(crate) const AVERAGES: Sheet<JaxAnalysis> = Sheet {
    name: "gpu_events_averages",
    current_name: "gpu_events_averages",
    description: "Where the time of a GPU went on average: one row per kind of time, as in gpu_timeline.",
    columns: &[TYPE, MEAN_TIME, PERCENT, GPUS],
    chart: Some(chart("GPU timeline, mean over GPUs")),
    build: |analysis| averages(analysis, &|breakdown| kinds(breakdown).to_vec()),
};

/// The same with the communication that computation hides.
pub(crate) const AVERAGES_WITH_OVERLAP: Sheet<JaxAnalysis> = Sheet {
    name: "gpu_events_averages_overlap",
    current_name: "gpu_events_averages_overlap",
    description: "The rows of gpu_events_averages and the communication that computation hides (overlapped_comm).",
    columns: &[TYPE, MEAN_TIME, PERCENT, GPUS],
    chart: None,
    build: |analysis| {
        averages(analysis, &|breakdown| {
            let hidden = breakdown.total_communication - breakdown.exposed_communication;
            let mut kinds = kinds(breakdown).to_vec();
            kinds.insert(6, ("overlapped_comm", hidden));
            kinds
        })
    },
};

type Kind = &'static str;

/// The rows of a breakdown: name and time.
fn kinds(breakdown: &Breakdown) -> [(Kind, i64); 8] {
    [
        ("computation_time", breakdown.computation),
        ("exposed_comm_time", breakdown.exposed_communication),
        ("exposed_memcpy_time", breakdown.exposed_memcpy),
        ("busy_time", breakdown.busy),
        ("idle_time", breakdown.idle),
        ("total_time", breakdown.total),
        ("total_comm_time", breakdown.total_communication),
        ("total_memcpy_time", breakdown.total_memcpy),
    ]
}

/// The means from exact sums; percentages follow from them.
fn averages(
    analysis: &JaxAnalysis,
    kinds: &dyn Fn(&Breakdown) -> Vec<(Kind, i64)>,
) -> PolarsResult<Option<DataFrame>> {
    let gpus = analysis.gpus();
    if gpus.is_empty() {
        return Ok(None);
    }
    let mut sums: Vec<(Kind, i64)> = Vec::new();
    for gpu in gpus {
        let times = kinds(&gpu.breakdown);
        match sums.is_empty() {
            true => sums = times,
            false => sums.iter_mut().zip(times).for_each(|(sum, (_, time))| sum.1 += time),
        }
    }
    let total: i64 = gpus.iter().map(|gpu| gpu.breakdown.total).sum();
    let mean = |sum: i64| analysis.ms(sum) / gpus.len() as f64;
    let mut frame = FrameBuilder::default();
    frame.text("type", sums.iter().map(|(kind, _)| Some(kind)));
    frame.float("time ms", sums.iter().map(|&(_, sum)| Some(mean(sum))));
    frame.float("percent", sums.iter().map(|&(_, sum)| Some(sum as f64 / total as f64 * 100.0)));
    frame.integer("gpus", sums.iter().map(|_| Some(gpus.len() as i64)));
    frame.finish().map(Some)
}
