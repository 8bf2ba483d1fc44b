//! Where the time of each GPU went, and of a GPU on average.

use gpu_timeline::Breakdown;
use operator_sheets::{kinds_of_time, per_iteration};
use sheets::ColumnKind::Identifier;
use sheets::columns::{TIME_MS, TIME_SHARE, TIME_TYPE};
use sheets::names;
use sheets::{Chart, ChartShape, Column, Field, Role, Sheet};

use crate::analysis::JaxAnalysis;
use crate::sheet::{gpu_sheet, sheet};

const TYPE: Column = TIME_TYPE.described("Kind of time: computation_time (compute kernels), exposed_comm_time (communication without computation), exposed_memcpy_time (copies and fills without computation or communication), busy_time (anything runs), idle_time (nothing runs), total_time (first start to last end), total_comm_time and total_memcpy_time (all communication, all copies and fills, exposed or not), overlapped_comm (communication with computation). Computation, exposed communication, exposed copies and idle add up to the total.");
const TIME: Column = TIME_MS.described("Time of this kind on one GPU, overlaps counted once.");
const MEAN_TIME: Column = TIME
    .described(
        "Time of this kind, overlaps counted once; mean over GPUs with events, including those that only copied.",
    )
    .per("gpu");
const GPU: Column =
    Column::new("gpu_pid", Identifier, "GPU: its plane id plus 1, the process id in trace viewers.")
        .with_role(Role::Name);

/// The sheets of GPUs' time, in order.
pub(super) fn timeline_sheets<'a>() -> [Sheet<'a, JaxAnalysis>; 3] {
    let parts = &["computation_time", "exposed_comm_time", "exposed_memcpy_time", "idle_time"];
    let stacked = ChartShape::Stacked { parts, per: None };
    let per_gpu = ChartShape::Stacked { parts, per: Some(GPU.name) };
    let chart = Chart::new("GPU timeline, mean over GPUs", TYPE.name, MEAN_TIME.name, "time (ms)", stacked);
    [
        gpu_sheet(
            names::GPU_TIMELINE,
            "Time breakdown of each GPU: one row per kind of time for each GPU with events.",
            [
                TYPE.field(|row: &GpuTime| row.kind.into()),
                TIME.field_in(|analysis: &&JaxAnalysis, row: &GpuTime| analysis.ms(row.time).into()),
                per_iteration(&[], |row: &GpuTime| row.time as f64),
                TIME_SHARE.field(|row: &GpuTime| row.percent.into()),
                GPU.field(|row: &GpuTime| row.pid.into()),
            ],
            gpu_times,
        )
        .with_chart(Chart::new("Timeline of each GPU", TYPE.name, TIME.name, "time (ms)", per_gpu)),
        sheet(
            names::GPU_EVENTS_AVERAGES,
            "Mean time breakdown of a GPU: one row per kind of time, as in gpu_timeline.",
            mean_fields(),
            |analysis| mean_times(analysis, kinds_of_time),
        )
        .with_chart(chart),
        sheet(
            "gpu_events_averages_overlap",
            "Rows of gpu_events_averages, and the communication hidden by computation (overlapped_comm).",
            mean_fields(),
            |analysis| mean_times(analysis, kinds_with_overlap),
        ),
    ]
}

/// A kind of time of one GPU.
struct GpuTime {
    kind: &'static str,
    time: i64,
    percent: f64,
    pid: i64,
}

fn gpu_times(analysis: &JaxAnalysis) -> Vec<GpuTime> {
    let times = analysis.gpus().iter().flat_map(|gpu| {
        kinds_of_time(&gpu.breakdown).into_iter().map(|(kind, time)| {
            let percent = gpu.breakdown.percent_of_total(time);
            GpuTime { kind, time, percent, pid: gpu.pid }
        })
    });
    times.collect()
}

fn kinds_with_overlap(breakdown: &Breakdown) -> Vec<(&'static str, i64)> {
    let hidden = breakdown.total_communication - breakdown.exposed_communication;
    let mut kinds = kinds_of_time(breakdown);
    kinds.insert(6, ("overlapped_comm", hidden));
    kinds
}

/// A kind of time of a GPU on average.
struct MeanTime {
    kind: &'static str,
    /// Sum over the GPUs.
    sum: i64,
    /// Sum of the GPUs' total times.
    total: i64,
    gpus: usize,
}

fn mean_fields<'a>() -> [Field<&'a JaxAnalysis, MeanTime>; 5] {
    [
        TYPE.field(|row: &MeanTime| row.kind.into()),
        MEAN_TIME.field_in(|analysis: &&JaxAnalysis, row: &MeanTime| {
            (analysis.ms(row.sum) / row.gpus as f64).into()
        }),
        per_iteration(&[], |row: &MeanTime| row.sum as f64 / row.gpus as f64),
        TIME_SHARE.field(|row: &MeanTime| (row.sum as f64 / row.total as f64 * 100.0).into()),
        Column::count("gpus", "Number of GPUs with events; the mean is over these.")
            .with_role(Role::Detail)
            .field(|row: &MeanTime| row.gpus.into()),
    ]
}

/// The means from exact sums; percentages follow from them.
fn mean_times(
    analysis: &JaxAnalysis,
    kinds: impl Fn(&Breakdown) -> Vec<(&'static str, i64)>,
) -> Vec<MeanTime> {
    let gpus = analysis.gpus();
    let total = gpus.iter().map(|gpu| gpu.breakdown.total).sum();
    let mut means: Vec<MeanTime> = Vec::new();
    for gpu in gpus {
        for (at, (kind, time)) in kinds(&gpu.breakdown).into_iter().enumerate() {
            match means.get_mut(at) {
                Some(mean) => mean.sum += time,
                None => means.push(MeanTime { kind, sum: time, total, gpus: gpus.len() }),
            }
        }
    }
    means
}
