//! Where the device's time went.

use gpu_timeline::Breakdown;
use operator_sheets::{kinds_of_time, per_iteration};
use sheets::columns::{IS_RECOMPUTE, TIME_MS, TIME_SHARE, TIME_TYPE};
use sheets::names;
use sheets::names::GPU_TIMELINE;
use sheets::{Chart, ChartShape, Column, Field, Figure, Role, Sheet};

use crate::analysis::Analysis;

const DEVICE: Column = Column::identifier("device", "Index of the device.").with_role(Role::Name);

/// The kinds of time that add up to the total.
const PARTS: &[&str] = &[
    "computation_time",
    "exposed_comm_time",
    "exposed_memcpy_time",
    "idle_time",
    "micro_idle_time",
    "macro_idle_time",
];

/// One kind of time of a breakdown.
struct Row {
    device: Option<i64>,
    is_recompute: bool,
    kind: &'static str,
    time: i64,
    percent: f64,
}

/// One row per kind of time.
pub(crate) fn sheet<'a>() -> Sheet<'a, Analysis> {
    let fields = time_fields(TIME_MS).into_iter().chain([IS_RECOMPUTE
        .field(|row: &Row| row.is_recompute.into())
        .when(|analysis: &&Analysis| analysis.options().detect_recompute)]);
    Sheet::with_context(
        GPU_TIMELINE,
        "Where the device's time went: one row per kind of time; left out of recordings without device events.",
        fields,
        |analysis: &Analysis| (analysis.device_event_count() > 0).then(|| (analysis, rows(analysis))),
    ).showing(&[Figure::GpuTimeline, Figure::Span, Figure::IdleTime, Figure::AllOfTheDevice])
    .with_chart(Chart::new(
        "GPU timeline",
        TIME_TYPE.name,
        TIME_MS.name,
        "time (ms)",
        ChartShape::Stacked { parts: PARTS, per: None },
    ))
}

/// The same per device, for traces of several devices.
pub(crate) fn sheet_per_device<'a>() -> Sheet<'a, Analysis> {
    let device = DEVICE.field(|row: &Row| row.device.into());
    let time = TIME_MS.described("Length in ms of the union of the spans in question, on this device.");
    Sheet::with_context(
        names::GPU_TIMELINE_PER_DEVICE,
        "Where the time of each device went; only for traces of several devices.",
        [device].into_iter().chain(time_fields(time)),
        |analysis| Some((analysis, rows_per_device(analysis)?)),
    )
    .showing(&[Figure::GpuTimeline, Figure::Span, Figure::IdleTime])
    .with_chart(Chart::new(
        "GPU timeline of each device",
        TIME_TYPE.name,
        TIME_MS.name,
        "time (ms)",
        ChartShape::Stacked { parts: PARTS, per: Some(DEVICE.name) },
    ))
}

fn time_fields<'a>(time: Column) -> [Field<&'a Analysis, Row>; 4] {
    [
        TIME_TYPE.field(|row: &Row| row.kind.into()),
        time.field_in(|analysis: &&Analysis, row: &Row| analysis.ms(row.time).into()),
        TIME_SHARE.field(|row: &Row| row.percent.into()),
        per_iteration(&[], |row: &Row| row.time as f64),
    ]
}

fn rows(analysis: &Analysis) -> Vec<Row> {
    if !analysis.options().detect_recompute {
        return analysis.timeline().iter().flat_map(|all| breakdown_rows(all, None, false)).collect();
    }
    let breakdown = |is_recompute| {
        let chosen = analysis
            .counted()
            .filter(move |&position| analysis.is_recompute(analysis.device.ids[position]) == is_recompute);
        Some((analysis.breakdown(chosen)?, is_recompute))
    };
    let breakdowns = [false, true].into_iter().filter_map(breakdown);
    breakdowns.flat_map(|(breakdown, is_recompute)| breakdown_rows(&breakdown, None, is_recompute)).collect()
}

fn rows_per_device(analysis: &Analysis) -> Option<Vec<Row>> {
    let devices = analysis.timelines_of_devices();
    let rows = devices.iter().flat_map(|(device, breakdown)| breakdown_rows(breakdown, Some(*device), false));
    (devices.len() > 1).then(|| rows.collect())
}

impl Analysis {
    /// The breakdown of each device that has events in the timeline, by its index.
    pub fn timelines_of_devices(&self) -> Vec<(i64, Breakdown)> {
        let events = self.trace().events();
        let device_of = |position: usize| events.device(self.device.ids[position]);
        let mut devices: Vec<i64> = self.counted().filter_map(device_of).collect();
        devices.sort_unstable();
        devices.dedup();
        let breakdown = |device| {
            let chosen = self.counted().filter(move |&position| device_of(position) == Some(device));
            Some((device, self.breakdown(chosen)?))
        };
        devices.into_iter().filter_map(breakdown).collect()
    }
}

fn breakdown_rows(breakdown: &Breakdown, device: Option<i64>, is_recompute: bool) -> Vec<Row> {
    let row = |(kind, time)| {
        let percent = breakdown.percent_of_total(time);
        Row { device, is_recompute, kind, time, percent }
    };
    kinds_of_time(breakdown).into_iter().map(row).collect()
}
