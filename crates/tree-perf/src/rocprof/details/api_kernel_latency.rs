//! From the call that launches a kernel or copy to its end on the GPU.

use std::cmp::Reverse;

use gpu_timeline::Summary;
use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::StringId;
use trace_ingest::rocprof::{Domain, Profile};

use super::callers::Callers;
use super::statistics::{ms, percentile, us};
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::rocprof::RocprofAnalysis;
use crate::sheet::Sheet;

/// Columns of a figure, and the sentence that says what it is.
macro_rules! figure {
    ($name:literal, $what:literal) => {
        [
            Column::new(
                concat!($name, " Mean (µs)"),
                ColumnKind::Number(Unit::Microseconds),
                concat!($what, " Mean in µs."),
            ),
            Column::new(
                concat!($name, " Median (µs)"),
                ColumnKind::Number(Unit::Microseconds),
                concat!($what, " Median in µs."),
            ),
            Column::new(
                concat!($name, " P95 (µs)"),
                ColumnKind::Number(Unit::Microseconds),
                concat!($what, " 95th percentile in µs, between the two nearest values in proportion."),
            ),
            Column::new(
                concat!($name, " Max (µs)"),
                ColumnKind::Number(Unit::Microseconds),
                concat!($what, " Largest in µs."),
            ),
        ]
    };
}

const OVERHEAD: [Column; 4] = figure!(
    "Launch Overhead",
    "Launch overhead A: duration of the call, once per call whatever it launched; empty without a call."
);
const QUEUED: [Column; 4] = figure!(
    "Queue Delay",
    "Queue delay Q: start on the GPU less end of the call, 0 where the GPU began before the call returned; of every event of a call, so those of a graph wait for the ones before them."
);
const LATENCY: [Column; 4] = figure!(
    "Start Latency",
    "Start latency: start on the GPU less start of the call; negative where the clocks disagree."
);
const ON_GPU: [Column; 4] = figure!("GPU Time", "Time on the GPU K: duration of the kernel or copy.");

/// One row per function, and kernel or kind of copy.
pub(in crate::rocprof) const SHEET: Sheet<RocprofAnalysis> = Sheet {
    name: "api_kernel_latency",
    current_name: "api_kernel_latency",
    description: "Calls joined with the kernels and copies that they set off, by process and correlation id, most time on the GPU first; an event whose call the profile does not have stands in a row without a function.",
    columns: &[
        Column::new(
            "function",
            ColumnKind::Text,
            "Function that was called; empty where the profile has no call for the events of the row.",
        ),
        Column::new("event", ColumnKind::Text, "What the call set off: kernel or copy."),
        Column::new("name", ColumnKind::Text, "Kernel, or the profiler's name of the copy."),
        Column::new("Launches", ColumnKind::Count, "Calls."),
        Column::new(
            "Count",
            ColumnKind::Count,
            "Kernels or copies; more than calls where a call sets off several.",
        ),
        OVERHEAD[0],
        OVERHEAD[1],
        OVERHEAD[2],
        OVERHEAD[3],
        QUEUED[0],
        QUEUED[1],
        QUEUED[2],
        QUEUED[3],
        LATENCY[0],
        LATENCY[1],
        LATENCY[2],
        LATENCY[3],
        ON_GPU[0],
        ON_GPU[1],
        ON_GPU[2],
        ON_GPU[3],
        Column::new(
            "GPU Time Total (ms)",
            ColumnKind::Number(Unit::Milliseconds),
            "Sum of the times on the GPU in ms.",
        ),
    ],
    chart: None,
    build,
};

/// What a call set off: a kernel by position of its name, or a copy by its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Event {
    Kernel(u32),
    Copy(StringId),
}

#[derive(Default)]
struct Group {
    calls: Vec<u32>,
    queued: Vec<i64>,
    latency: Vec<i64>,
    on_gpu: Vec<i64>,
}

struct Row<'a> {
    function: Option<&'a str>,
    event: &'static str,
    name: &'a str,
    total: i64,
    overhead: Vec<i64>,
    group: Group,
}

fn groups(analysis: &RocprofAnalysis) -> HashMap<(Option<StringId>, Event), Group> {
    let profile = analysis.profile();
    let callers = Callers::of(profile);
    let kernels = profile.dispatches.iter().zip(callers.dispatches).map(|(kernel, call)| {
        (Event::Kernel(analysis.name_of_kernel(kernel.kernel)), kernel.start, kernel.duration(), call)
    });
    let copies = profile
        .copies
        .iter()
        .zip(callers.copies)
        .map(|(copy, call)| (Event::Copy(copy.name), copy.start, copy.duration(), call));
    let mut groups: HashMap<(Option<StringId>, Event), Group> = HashMap::new();
    for (event, start, duration, caller) in kernels.chain(copies) {
        let call = caller.map(|caller| &profile.calls[caller as usize]);
        let group = groups.entry((call.map(|call| call.name), event)).or_default();
        group.on_gpu.push(duration);
        if let (Some(caller), Some(call)) = (caller, call) {
            group.calls.push(caller);
            group.queued.push(start.saturating_sub(call.end).max(0));
            group.latency.push(start.saturating_sub(call.start));
        }
    }
    groups
}

fn rows(analysis: &RocprofAnalysis) -> Vec<Row<'_>> {
    let profile: &Profile = analysis.profile();
    let mut rows: Vec<Row<'_>> = groups(analysis)
        .into_iter()
        .map(|((function, event), mut group)| {
            group.calls.sort_unstable();
            group.calls.dedup();
            let (event, name) = match event {
                Event::Kernel(name) => ("kernel", analysis.names()[name as usize].as_str()),
                Event::Copy(name) => ("copy", profile.strings.get(name)),
            };
            Row {
                function: function.map(|name| profile.strings.get(name)),
                event,
                name,
                total: group.on_gpu.iter().fold(0, |sum: i64, &time| sum.saturating_add(time)),
                overhead: group.calls.iter().map(|&call| profile.calls[call as usize].duration()).collect(),
                group,
            }
        })
        .collect();
    rows.sort_by_key(|row| (Reverse(row.total), row.function, row.event, row.name));
    rows
}

fn build(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    // Without calls there is nothing to join.
    if !analysis.profile().calls.iter().any(|call| call.domain != Domain::Marker) {
        return Ok(None);
    }
    let rows = rows(analysis);
    if rows.is_empty() {
        return Ok(None);
    }
    let mut frame = FrameBuilder::default();
    frame.text("function", rows.iter().map(|row| row.function));
    frame.text("event", rows.iter().map(|row| Some(row.event)));
    frame.text("name", rows.iter().map(|row| Some(row.name)));
    frame.integer("Launches", rows.iter().map(|row| Some(row.group.calls.len() as i64)));
    frame.integer("Count", rows.iter().map(|row| Some(row.group.on_gpu.len() as i64)));
    append(&mut frame, &OVERHEAD, rows.iter().map(|row| &row.overhead));
    append(&mut frame, &QUEUED, rows.iter().map(|row| &row.group.queued));
    append(&mut frame, &LATENCY, rows.iter().map(|row| &row.group.latency));
    append(&mut frame, &ON_GPU, rows.iter().map(|row| &row.group.on_gpu));
    frame.float("GPU Time Total (ms)", rows.iter().map(|row| Some(ms(row.total))));
    frame.finish().map(Some)
}

/// Appends mean, median, 95th percentile and largest of each row's values, in nanoseconds.
fn append<'v>(
    frame: &mut FrameBuilder,
    [mean, median, p95, max]: &[Column; 4],
    values: impl Iterator<Item = &'v Vec<i64>> + Clone,
) {
    let summaries: Vec<Option<Summary>> = values.clone().map(|values| Summary::of(values)).collect();
    frame.float(mean.name, summaries.iter().map(|summary| summary.map(|summary| us(summary.mean))));
    frame.float(median.name, summaries.iter().map(|summary| summary.map(|summary| us(summary.median))));
    frame.float(p95.name, values.map(|values| percentile(values, 95).map(us)));
    frame.float(max.name, summaries.iter().map(|summary| summary.map(|summary| us(summary.max as f64))));
}
