//! Kernels, copies and fills one by one.

use std::cmp::Reverse;

use sheets::{Column, Figure, Role, Sheet};
use trace_ingest::EventId;

use super::annotations::innermost_annotations;
use super::idle_causes::{DEVICE, STREAM};
use crate::analysis::Analysis;

struct Row {
    event: EventId,
    launch: Option<EventId>,
    /// The operator that the launch ran in.
    operator: Option<EventId>,
    host_annotation: Option<EventId>,
    device_annotation: Option<EventId>,
}

/// One row per device event.
pub(crate) fn sheet<'a>() -> Sheet<'a, Analysis> {
    let what = [
        Column::text("name", "Name of the kernel, copy or fill.")
            .field_in(|analysis: &&Analysis, row: &Row| analysis.trace().name(row.event).into()),
        Column::microseconds("duration_us", "Time from start to end.").with_role(Role::Headline).field_in(
            |analysis: &&Analysis, row: &Row| {
                analysis.us(analysis.trace().events().duration(row.event)).into()
            },
        ),
        Column::milliseconds("start_ms", "Start, relative to the trace's first event.").field_in(
            |analysis: &&Analysis, row: &Row| analysis.ms(analysis.trace().events().start(row.event)).into(),
        ),
        DEVICE.field_in(|analysis: &&Analysis, row: &Row| analysis.trace().events().device(row.event).into()),
        STREAM.field_in(|analysis: &&Analysis, row: &Row| analysis.trace().events().stream(row.event).into()),
    ];
    let origin_fields = [
        Column::text("operator", "Innermost operator enclosing the launch; empty if none.")
            .field_in(|analysis: &&Analysis, row: &Row| name(analysis, row.operator).into()),
        Column::text("annotation", "Shortest program range enclosing the launch on the host; empty if none.")
            .field_in(|analysis: &&Analysis, row: &Row| name(analysis, row.host_annotation).into()),
        Column::text(
            "device_annotation",
            "Shortest range on the stream, as seen by the profiler, that overlaps the event; empty if none.",
        )
        .field_in(|analysis: &&Analysis, row: &Row| name(analysis, row.device_annotation).into()),
        Column::text("launch", "Launching call; empty if not in the trace.")
            .field_in(|analysis: &&Analysis, row: &Row| name(analysis, row.launch).into()),
        Column::microseconds("launch_call_us", "Duration of the launching call.").field_in(
            |analysis: &&Analysis, row: &Row| {
                row.launch.map(|call| analysis.us(analysis.trace().events().duration(call))).into()
            },
        ),
        Column::microseconds(
            "launch_delay_us",
            "From the end of the call to the start of the event; 0 if the event starts before the call ends.",
        )
        .showing(&[Figure::LaunchDelays])
        .field_in(|analysis: &&Analysis, row: &Row| {
            let events = analysis.trace().events();
            let delay = |call| (events.start(row.event) - events.end(call)).max(0);
            row.launch.map(|call| analysis.us(delay(call))).into()
        }),
        Column::identifier("correlation", "ID shared by the call and its device events.").field_in(
            |analysis: &&Analysis, row: &Row| analysis.trace().events().correlation(row.event).into(),
        ),
        Column::identifier("UID", "Index of the event in the file's event list.")
            .field_in(|analysis: &&Analysis, row: &Row| analysis.trace().events().uid(row.event).into()),
    ];
    Sheet::with_context(
        "kernel_details",
        "Individual kernels, copies and fills, longest first, ties in file order; on request.",
        what.into_iter().chain(origin_fields),
        |analysis: &Analysis| analysis.options().kernels.kernel_details.then(|| (analysis, rows(analysis))),
    )
}

fn name(analysis: &Analysis, event: Option<EventId>) -> Option<&str> {
    event.map(|event| analysis.trace().name(event))
}

fn rows(analysis: &Analysis) -> Vec<Row> {
    let (tree, events) = (analysis.tree(), analysis.trace().events());
    let [on_host, on_device] = innermost_annotations(analysis);
    let annotations = on_host.into_iter().zip(on_device);
    let row = |(&event, (host_annotation, device_annotation)): (&EventId, _)| {
        let launch = tree.recorded_launch(event);
        let operator = launch.and_then(|launch| tree.operator(launch));
        Row { event, launch, operator, host_annotation, device_annotation }
    };
    let mut rows: Vec<Row> = analysis.device.ids.iter().zip(annotations).map(row).collect();
    rows.sort_by_key(|row| (Reverse(events.duration(row.event)), row.event));
    rows.truncate(analysis.options().kernels.topk_kernels.unwrap_or(usize::MAX));
    rows
}
