//! The tables of a critical path.

use sheets::names;
use sheets::names::GRAPH_REPLAYS;
use sheets::{Column, ColumnKind, Figure, Role, Sheet, Unit, percent};
use trace_ingest::{EventId, Trace};

use crate::analysis::{CriticalPath, PathGroup, PathPart, WhatIf};
use crate::graph_replays::{Dependencies, GraphReplay, GraphReplays};

const CLASS: &str = "gpu_compute, gpu_communication, gpu_memory, gpu_other (other graph nodes): device work; kernel_gap: between two device events; graph_dependency: between two graph nodes; launch_delay: from a launch to the start of its work on a free stream; sync_return: from the end of device work to the end of the call that waited for it; host_operator, host_runtime (calls); host_untraced: nothing recorded on the host; unknown: before device work without a recorded launch.";

/// The sheet of replays of graphs, one per row. A recording without replays has no such sheet.
#[must_use]
pub fn graph_replays_sheet<'a, 't: 'a>() -> Sheet<'a, GraphReplays<'t>> {
    type Row<'p> = (&'p Trace, &'p GraphReplay);
    let us = |trace: &Trace, time: i64| trace.to_microseconds(time);
    fn said<T>((_, replay): &Row<'_>, what: impl Fn(Dependencies) -> T) -> Option<T> {
        replay.dependencies.map(what)
    }
    let fields = [
        Column::identifier("launch_UID", "Index of the launching call in the file's event list.")
            .with_role(Role::Name)
            .field(|(trace, replay): &Row<'_>| trace.events().uid(replay.launch).into()),
        Column::text("launch", "Name of the launching call.").field(|(trace, replay): &Row<'_>| trace.name(replay.launch).into()),
        Column::microseconds("launch_us", "Start of the launching call, relative to the trace's first event.")
            .field(move |(trace, replay): &Row<'_>| us(trace, trace.events().start(replay.launch)).into()),
        Column::identifier("graph_id", "Graph number; empty if not recorded.")
            .field(|(_, replay): &Row<'_>| replay.graph.into()),
        Column::count("kernels", "Number of kernels, copies and fills in the replay.")
            .field(|(_, replay): &Row<'_>| replay.works.into()),
        Column::count("edges", "Number of dependencies between nodes; empty if none were recorded.")
            .field(|row: &Row<'_>| said(row, |found| found.edges).into()),
        Column::count("roots", "Number of nodes without a predecessor; empty if no dependencies were recorded.")
            .field(|row: &Row<'_>| said(row, |found| found.roots).into()),
        Column::microseconds("span_us", "From the first node's start to the last node's end.")
            .with_role(Role::Headline)
            .field(move |(trace, replay): &Row<'_>| us(trace, replay.span).into()),
        Column::microseconds("kernel_time_us", "Sum of kernel, copy and fill durations.")
            .field(move |(trace, replay): &Row<'_>| us(trace, replay.work_time).into()),
        Column::microseconds(
            "critical_us",
            "Duration of the longest chain of dependent nodes: a lower bound on the replay's duration with these kernel times. Empty if no dependencies were recorded.",
        )
        .with_role(Role::Headline)
        .field(move |row: &Row<'_>| said(row, |found| us(row.0, found.critical)).into()),
        Column::new(
            "width",
            ColumnKind::Number(Unit::One),
            "kernel_time_us / critical_us: mean number of kernels that could run concurrently.",
        )
        .field(|row: &Row<'_>| {
            let critical = said(row, |found| found.critical).filter(|&critical| critical > 0);
            critical.map(|critical| row.1.work_time as f64 / critical as f64).into()
        }),
    ];
    Sheet::new(
        GRAPH_REPLAYS,
        "Replays of captured graphs in launch order: duration and longest kernel chain of each.",
        fields,
        |found: &'a GraphReplays<'t>| found.replays.iter().map(|replay| (found.trace, replay)).collect(),
    )
    .showing(&[Figure::GraphReplays])
}

/// The sheets of a critical path, in order.
#[must_use]
pub fn critical_path_sheets<'a>() -> Vec<Sheet<'a, CriticalPath>> {
    vec![summary(), what_if(), segments()]
}

fn summary<'a>() -> Sheet<'a, CriticalPath> {
    type Row<'p> = (&'p CriticalPath, PathGroup);
    let us = |path: &CriticalPath, time: i64| path.trace().to_microseconds(time);
    let fields = [
        Column::text("class", CLASS).field(|(_, group): &Row<'_>| group.class.as_str().into()),
        Column::text(
            "name",
            "Kernel, operator or call; for a gap, what follows it; empty if nothing was recorded after it.",
        )
        .field(|(_, group): &Row<'_>| group.name.as_str().into()),
        Column::microseconds("path_us", "Time on the path.")
            .showing(&[Figure::CriticalPath])
            .with_role(Role::Headline)
            .field(move |(path, group): &Row<'_>| us(path, group.time).into()),
        Column::new("path_percent", ColumnKind::Number(Unit::Percent), "Share of the path's total time.")
            .showing(&[Figure::CriticalPath])
            .with_role(Role::Headline)
            .field(|(path, group): &Row<'_>| percent(group.time, path.length()).into()),
        Column::count("parts", "Number of path segments.").field(|(_, group): &Row<'_>| group.parts.into()),
        Column::microseconds("longest_us", "Longest segment.")
            .showing(&[Figure::CriticalPath])
            .per("stretch")
            .field(move |(path, group): &Row<'_>| us(path, group.longest).into()),
    ];
    Sheet::new(
        names::CRITICAL_PATH,
        "What the run waited for: the critical path by class and name, largest first. Segments add up to the time from the first to the last event (mode wall), or to the longest path through the dependency graph (mode dag).",
        fields,
        |path: &'a CriticalPath| path.by_name().into_iter().map(|group| (path, group)).collect(),
    )
}

fn what_if<'a>() -> Sheet<'a, CriticalPath> {
    type Row<'p> = (&'p CriticalPath, &'p WhatIf);
    let us = |path: &CriticalPath, time: i64| path.trace().to_microseconds(time);
    fn before(path: &CriticalPath) -> i64 {
        path.time.end - path.time.start
    }
    let fields = [
        Column::text("change", "Changed operators and kernels, each with its factor.").field(
            |(_, what_if): &Row<'_>| {
                let changes = what_if.changes.iter().map(|change| format!("{} × {}", change.name, change.factor));
                changes.collect::<Vec<_>>().join(", ").into()
            },
        ),
        Column::microseconds("predicted_us", "Predicted time from the first to the last event: a replay of the recording in which everything starts as early as its dependencies allow. Order on threads and streams, latencies and unrecorded host time stay the same.").showing(&[Figure::CriticalPath])
            .with_role(Role::Headline)
            .field(move |(path, what_if): &Row<'_>| us(path, what_if.replayed.duration).into()),
        Column::microseconds("saved_us", "Recorded minus predicted time.").showing(&[Figure::CriticalPath])
            .with_role(Role::Headline)
            .field(move |(path, what_if): &Row<'_>| us(path, before(path) - what_if.replayed.duration).into()),
        Column::new("saved_percent", ColumnKind::Number(Unit::Percent), "Saved time as a share of the recorded time.").showing(&[Figure::CriticalPath])
            .field(|(path, what_if): &Row<'_>| {
                percent(before(path) - what_if.replayed.duration, before(path)).into()
            }),
        Column::microseconds("recorded_us", "Recorded time from the first to the last event.")
            .field(move |(path, _): &Row<'_>| us(path, before(path)).into()),
        Column::count("events", "Number of operators, calls and kernels with these names, including what they call and launch.")
            .field(|(_, what_if): &Row<'_>| what_if.replayed.matched.into()),
    ];
    Sheet::new(
        "critical_path_what_if",
        "Predicted duration of the recording if some operators or kernels took a different time.",
        fields,
        |path: &'a CriticalPath| path.what_if.iter().map(|what_if| (path, what_if)).collect(),
    )
}

fn segments<'a>() -> Sheet<'a, CriticalPath> {
    type Row<'p> = (&'p CriticalPath, usize, PathPart);
    let us = |path: &CriticalPath, time: i64| path.trace().to_microseconds(time);
    fn operator(path: &CriticalPath, event: EventId) -> Option<&str> {
        path.tree().operator(event).map(|operator| path.trace().name(operator))
    }
    let fields = [
        Column::identifier("segment", "Position in time order, from 0.")
            .with_role(Role::Name)
            .field(|(_, number, _): &Row<'_>| (*number).into()),
        Column::text("class", CLASS)
            .field(|(_, _, part): &Row<'_>| part.class.map(|class| class.as_str()).into()),
        Column::text("name", "Kernel, operator or call; for a gap, what follows it.")
            .field(|(path, _, part): &Row<'_>| part.event.map(|event| path.trace().name(event)).into()),
        Column::text("operator", "Innermost operator that contains or launched the segment's event.")
            .with_role(Role::Detail)
            .field(|(path, _, part): &Row<'_>| part.event.and_then(|event| operator(path, event)).into()),
        Column::microseconds("start_us", "Start, relative to the trace's first event.")
            .field(move |(path, _, part): &Row<'_>| us(path, part.start).into()),
        Column::microseconds("duration_us", "Duration; 0 for graph edges that only impose order.")
            .showing(&[Figure::CriticalPath])
            .with_role(Role::Headline)
            .field(move |(path, _, part): &Row<'_>| us(path, part.duration).into()),
        Column::text("edge", "Meaning of the graph edge, in HTA's terms; empty in mode wall.")
            .with_role(Role::Detail)
            .field(|(_, _, part): &Row<'_>| part.edge.map(|edge| edge.as_str()).into()),
        Column::text("process", "Process or device of the event.").with_role(Role::Provenance).field(
            |(path, _, part): &Row<'_>| {
                let track = |event| path.trace().tracks().get(path.trace().events().track(event));
                part.event.and_then(|event| path.trace().row_text(track(event).pid)).into()
            },
        ),
        Column::text("thread", "Thread or stream of the event.").with_role(Role::Provenance).field(
            |(path, _, part): &Row<'_>| {
                let track = |event| path.trace().tracks().get(path.trace().events().track(event));
                part.event.and_then(|event| path.trace().row_text(track(event).tid)).into()
            },
        ),
        Column::identifier("event", "Index of the event in the file's event list.").field(
            |(path, _, part): &Row<'_>| part.event.map(|event| path.trace().events().uid(event)).into(),
        ),
    ];
    Sheet::new(
        "critical_path_segments",
        "Critical path in time order, one row per segment.",
        fields,
        |path: &'a CriticalPath| {
            path.parts.iter().enumerate().map(|(number, &part)| (path, number, part)).collect()
        },
    )
}
