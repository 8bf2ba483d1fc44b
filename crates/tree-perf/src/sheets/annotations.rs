//! Ranges that the program named, with the device time below them.

use std::cmp::Reverse;

use gpu_timeline::{Spread, Summary, busy_time};
use hashbrown::HashMap;
use sheets::{Column, ColumnKind, Role, Sheet, Statistics, Unit, statistics};
use trace_ingest::{Category, EventId, StringId, TrackId};

use crate::IndexMap;
use crate::analysis::Analysis;
use crate::device::interval;

/// The ranges of one name on the host, or as a device saw them.
struct Row {
    on_device: bool,
    name: StringId,
    time: i64,
    length: Spread,
    count: usize,
    device_time: i64,
    device_events: usize,
    innermost: usize,
}

const LENGTH: Statistics = statistics!(
    "length_us",
    ColumnKind::Number(Unit::Microseconds),
    "the length of the range in µs",
    "from its start to its end"
);

/// One row per name, of the host and of devices.
pub(crate) fn sheet<'a>() -> Sheet<'a, Analysis> {
    let names = [
        Column::text("side", "host (the range as the program marked it) or device (the same range as the profiler saw it on a stream, from its first to its last device event).")
            .field(|row: &Row| if row.on_device { "device" } else { "host" }.into()),
        Column::text("annotation", "Name of the range, as the program gives it.")
            .field_in(|analysis: &&Analysis, row: &Row| analysis.trace().text(row.name).into()),
    ];
    let figures = [
        Column::milliseconds("device_ms", "Time in ms in which at least one device event below the range ran, summed over ranges: those launched while it lasted of host ranges, by any thread of the process, those on its stream that share time with it of device ranges. Nested ranges share their device time.")
            .with_role(Role::Headline)
            .field_in(|analysis: &&Analysis, row: &Row| analysis.ms(row.device_time).into()),
        Column::milliseconds("length_ms", "Sum of the lengths of the ranges in ms.")
            .field_in(|analysis: &&Analysis, row: &Row| analysis.ms(row.time).into()),
        Column::count("count", "Number of ranges.").field(|row: &Row| row.count.into()),
        Column::count("device_events", "Number of device events below the ranges.")
            .field(|row: &Row| row.device_events.into()),
        Column::count("innermost_events", "Those of them that are below no shorter range of the same side; these numbers add up over the rows of a side.")
            .field(|row: &Row| row.innermost.into()),
    ];
    Sheet::with_context(
        "annotations",
        "Ranges that the program named (record_function, profiler steps), on the host and as devices saw them, with the device time below them, most device time first; written when waits are asked for and the trace has such ranges.",
        names.into_iter().chain(figures).chain(LENGTH.fields(|row: &Row| &row.length)),
        |analysis: &Analysis| {
            let rows = analysis.options().waits.then(|| rows(analysis))?;
            (!rows.is_empty()).then_some((analysis, rows))
        },
    )
}

/// The device events below an annotation.
type Below = (EventId, Vec<EventId>);

fn rows(analysis: &Analysis) -> Vec<Row> {
    let of_host = rows_of(analysis, false, below_host_annotations(analysis));
    let mut rows: Vec<Row> =
        of_host.into_iter().chain(rows_of(analysis, true, below_device_annotations(analysis))).collect();
    rows.sort_by_key(|row| (row.on_device, Reverse(row.device_time), Reverse(row.time)));
    rows
}

fn rows_of(analysis: &Analysis, on_device: bool, mut annotations: Vec<Below>) -> Vec<Row> {
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    // The shortest annotation around an event is its innermost; of equal ones the later in the file.
    annotations.sort_by_key(|&(annotation, _)| (Reverse(events.duration(annotation)), annotation));
    let mut innermost: HashMap<EventId, EventId> = HashMap::new();
    for (annotation, below) in &annotations {
        innermost.extend(below.iter().map(|&event| (event, *annotation)));
    }
    let mut by_name: IndexMap<StringId, (Vec<i64>, Row)> = IndexMap::default();
    let mut scratch = Vec::new();
    for (annotation, below) in &annotations {
        let name = events.name(*annotation);
        let (lengths, row) = by_name.entry(name).or_insert_with(|| {
            let row = Row {
                on_device,
                name,
                time: 0,
                length: Spread::default(),
                count: 0,
                device_time: 0,
                device_events: 0,
                innermost: 0,
            };
            (Vec::new(), row)
        });
        lengths.push(events.duration(*annotation));
        row.time += events.duration(*annotation);
        row.count += 1;
        row.device_time += busy_time(below.iter().map(|&event| interval(trace, event)), &mut scratch);
        row.device_events += below.len();
        row.innermost += below.iter().filter(|&event| innermost.get(event) == Some(annotation)).count();
    }
    let unit = trace.time_unit().per_microsecond() as f64;
    let with_length = |(lengths, row): (Vec<i64>, Row)| Row {
        length: Summary::from_values(&lengths).map(|summary| summary.spread(unit)).unwrap_or_default(),
        ..row
    };
    by_name.into_values().map(with_length).collect()
}

/// What was launched while the annotations of the host lasted, by any thread of their process: that of the backward pass is
/// not the one that the program's ranges are on.
fn below_host_annotations(analysis: &Analysis) -> Vec<Below> {
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    let process = |event: EventId| trace.tracks().get(events.track(event)).pid;
    let mut by_process: HashMap<_, Vec<(i64, EventId)>> = HashMap::new();
    for &event in &analysis.device.ids {
        if let Some(launch) = analysis.tree().recorded_launch(event) {
            by_process.entry(process(launch)).or_default().push((events.start(launch), event));
        }
    }
    for launched in by_process.values_mut() {
        launched.sort_unstable();
    }
    let annotations = events.ids().filter(|&event| events.category(event) == Category::USER_ANNOTATION);
    let below = |annotation: EventId| {
        let launched = by_process.get(&process(annotation)).map_or(&[][..], Vec::as_slice);
        let from = launched.partition_point(|&(start, _)| start < events.start(annotation));
        let until = launched.partition_point(|&(start, _)| start < events.end(annotation));
        launched.get(from..until).unwrap_or_default().iter().map(|&(_, event)| event).collect()
    };
    annotations.map(|annotation| (annotation, below(annotation))).collect()
}

/// What shares time with the annotations of streams, on the same stream.
fn below_device_annotations(analysis: &Analysis) -> Vec<Below> {
    let events = analysis.trace().events();
    let mut by_track: HashMap<TrackId, Vec<EventId>> = HashMap::new();
    for &event in &analysis.device.ids {
        by_track.entry(events.track(event)).or_default().push(event);
    }
    for own in by_track.values_mut() {
        own.sort_by_key(|&event| events.start(event));
    }
    let annotations = events.ids().filter(|&event| events.category(event) == Category::GPU_USER_ANNOTATION);
    let below = |annotation: EventId| {
        let (start, end) = (events.start(annotation), events.end(annotation));
        let own = by_track.get(&events.track(annotation)).map_or(&[][..], Vec::as_slice);
        // Events of a stream follow each other, so their ends ascend as their starts do.
        let from = own.partition_point(|&event| events.end(event) <= start);
        let until = own.partition_point(|&event| events.start(event) < end);
        own.get(from..until).unwrap_or_default().to_vec()
    };
    annotations.map(|annotation| (annotation, below(annotation))).collect()
}
