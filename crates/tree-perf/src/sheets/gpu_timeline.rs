//! Where the device's time went.

use std::collections::{BTreeMap, BTreeSet};

use gpu_timeline::{Activity, Breakdown, Interval};
use operator_sheets::{kinds_of_time, per_iteration};
use sheets::columns::{IS_RECOMPUTE, TIME_MS, TIME_SHARE, TIME_TYPE};
use sheets::names;
use sheets::names::GPU_TIMELINE;
use sheets::{Chart, ChartShape, Column, Field, Figure, Role, Sheet};
use trace_ingest::RowId;

use crate::analysis::Analysis;
use crate::derived::DeviceTimeline;
use crate::device::interval;

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
        "Where the device's time went: one row per kind of time; omitted without device events.",
        fields,
        |analysis: &Analysis| (analysis.device_event_count() > 0).then(|| (analysis, rows(analysis))),
    )
    .showing(&[Figure::GpuTimeline, Figure::Span, Figure::IdleTime, Figure::AllOfTheDevice])
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
    let time = TIME_MS.described("Time of this kind on this device, overlaps counted once.");
    Sheet::with_context(
        names::GPU_TIMELINE_PER_DEVICE,
        "Where each device's time went; only for traces with several devices.",
        [device].into_iter().chain(time_fields(time)),
        |analysis| Some((analysis, rows_per_device(analysis)?)),
    )
    .showing(&[Figure::GpuTimeline, Figure::Span, Figure::IdleTime])
    .with_chart(Chart::new(
        "Timeline of each device",
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
    let rows = devices.iter().flat_map(|of| breakdown_rows(&of.breakdown, Some(of.device), false));
    (devices.len() > 1).then(|| rows.collect())
}

/// The device events of a device that the timeline counts.
struct DeviceEvents {
    /// Their positions.
    events: Vec<usize>,
    /// From the first start to the last end.
    window: Interval,
    /// The process that launches on it, as far as it is recorded.
    process: Option<RowId>,
}

impl DeviceEvents {
    fn new(window: Interval) -> Self {
        DeviceEvents { events: Vec::new(), window, process: None }
    }
}

impl Analysis {
    /// The breakdown of each device that has events in the timeline, by its index. Devices that one process uses have one
    /// window: from the first start on any of them to the last end.
    pub fn timelines_of_devices(&self) -> &[DeviceTimeline] {
        self.derived.timelines_of_devices.get_or_init(|| self.break_down_devices())
    }

    fn break_down_devices(&self) -> Vec<DeviceTimeline> {
        let devices = self.events_of_devices();
        let mut windows: BTreeMap<RowId, (Interval, usize)> = BTreeMap::new();
        for DeviceEvents { process, window, .. } in devices.values() {
            if let &Some(process) = process {
                let (shared, devices) = windows.entry(process).or_insert((*window, 0));
                *shared = shared.hull(*window);
                *devices += 1;
            }
        }
        let timeline = |(device, DeviceEvents { events, window, process })| {
            let process_window = process.and_then(|process| windows.get(&process).copied());
            let (window, devices) = process_window.unwrap_or((window, 1));
            let breakdown = self.breakdown(events.into_iter())?.within(window.length());
            Some(DeviceTimeline { device, breakdown, shares_window: devices > 1 })
        };
        devices.into_iter().filter_map(timeline).collect()
    }

    /// Of a recording of several processes with devices of their own, such as the ranks of a job in one file, the devices of
    /// the process that computes longest: the others wait for it. `None` where all devices are of one process. A device
    /// without any recorded launch counts as one of a process of its own.
    pub fn devices_of_slowest_process(&self) -> Option<BTreeSet<i64>> {
        let events = self.trace().events();
        // By process, or by device where that is not known.
        type Process = (Option<RowId>, Option<i64>);
        let mut devices: BTreeMap<Process, BTreeSet<i64>> = BTreeMap::new();
        let mut computation: BTreeMap<Process, i64> = BTreeMap::new();
        for (device, DeviceEvents { events: positions, process, .. }) in self.events_of_devices() {
            let process = (process, if process.is_none() { Some(device) } else { None });
            devices.entry(process).or_default().insert(device);
            let computes = |position: &&usize| self.device.activity[**position] == Activity::Computation;
            let times = positions.iter().filter(computes).map(|&at| events.duration(self.device.ids[at]));
            *computation.entry(process).or_default() += times.sum::<i64>();
        }
        if devices.len() < 2 {
            return None;
        }
        // Of equal ones the first.
        let slowest = computation.into_iter().rev().max_by_key(|&(_, time)| time)?.0;
        devices.remove(&slowest)
    }

    fn events_of_devices(&self) -> BTreeMap<i64, DeviceEvents> {
        let (trace, events) = (self.trace(), self.trace().events());
        let mut devices: BTreeMap<i64, DeviceEvents> = BTreeMap::new();
        for position in self.counted() {
            let event = self.device.ids[position];
            let Some(device) = events.device(event) else { continue };
            let span = interval(trace, event);
            let device_events = devices.entry(device).or_insert_with(|| DeviceEvents::new(span));
            device_events.events.push(position);
            device_events.window = device_events.window.hull(span);
            if device_events.process.is_none() {
                let launch = self.tree().recorded_launch(event);
                device_events.process = launch.map(|launch| trace.tracks().get(events.track(launch)).pid);
            }
        }
        devices
    }
}

fn breakdown_rows(breakdown: &Breakdown, device: Option<i64>, is_recompute: bool) -> Vec<Row> {
    let row = |(kind, time)| {
        let percent = breakdown.percent_of_total(time);
        Row { device, is_recompute, kind, time, percent }
    };
    kinds_of_time(breakdown).into_iter().map(row).collect()
}
