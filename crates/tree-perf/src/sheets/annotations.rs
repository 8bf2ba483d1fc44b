//! Ranges that the program named, with the device time below them.

use std::cmp::Reverse;
use std::ops::Range;

use gpu_timeline::{SortFew, Spread, Summary, busy_time};
use sheets::{Column, ColumnKind, Figure, Role, Sheet, Statistics, Unit, statistics};
use trace_ingest::{Category, EventId, RowId, StringId};

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
    "the length",
    "from the range's start to its end",
    "range"
)
.showing(&[Figure::LengthsOfAnnotations]);

/// One row per name, of the host and of devices.
pub(crate) fn sheet<'a>() -> Sheet<'a, Analysis> {
    let names = [
        Column::text("side", "host (as marked by the program) or device (as seen by the profiler on a stream, from the range's first to its last device event).")
            .field(|row: &Row| if row.on_device { "device" } else { "host" }.into()),
        Column::text("annotation", "Range name.")
            .field_in(|analysis: &&Analysis, row: &Row| analysis.trace().text(row.name).into()),
    ];
    let figures = [
        Column::milliseconds("device_ms", "Time with at least one of the range's device events running, summed over ranges. For a host range: events launched during it by any thread of the process; for a device range: events on its stream that overlap it. Nested ranges share device time.").showing(&[Figure::BusyTime])
            .with_role(Role::Headline)
            .field_in(|analysis: &&Analysis, row: &Row| analysis.ms(row.device_time).into()),
        Column::milliseconds("length_ms", "Sum of the ranges' lengths.").showing(&[Figure::LengthsOfAnnotations])
            .field_in(|analysis: &&Analysis, row: &Row| analysis.ms(row.time).into()),
        Column::count("count", "Number of ranges.").field(|row: &Row| row.count.into()),
        Column::count("device_events", "Number of device events in the ranges.")
            .field(|row: &Row| row.device_events.into()),
        Column::count("innermost_events", "Number of device events whose shortest enclosing range is one of these; no event counts twice among the host rows or among the device rows.")
            .field(|row: &Row| row.innermost.into()),
    ];
    Sheet::with_context(
        "annotations",
        "Ranges named by the program (record_function, profiler steps), on host and device, most device time first; needs --waits and such ranges in the trace.",
        names.into_iter().chain(figures).chain(LENGTH.fields(|row: &Row| &row.length)),
        |analysis: &Analysis| {
            let rows = analysis.options().waits.then(|| rows(analysis))?;
            (!rows.is_empty()).then_some((analysis, rows))
        },
    )
}

/// Annotations, with the device events below each: a stretch of a list of positions among the device events.
struct Annotations {
    positions: Vec<u32>,
    stretches: Vec<(EventId, Range<usize>)>,
}

fn rows(analysis: &Analysis) -> Vec<Row> {
    let host_rows = rows_of(analysis, false, host_annotations(analysis));
    let mut rows: Vec<Row> =
        host_rows.into_iter().chain(rows_of(analysis, true, device_annotations(analysis))).collect();
    rows.sort_few_by_key(|row| (row.on_device, Reverse(row.device_time), Reverse(row.time)));
    rows
}

/// By device event the shortest annotation around it, on the host and as the device saw it; of equal ones the later in the
/// file.
pub(super) fn innermost_annotations(analysis: &Analysis) -> [Vec<Option<EventId>>; 2] {
    [host_annotations(analysis), device_annotations(analysis)]
        .map(|mut annotations| annotations.innermost(analysis))
}

impl Annotations {
    /// By device event the innermost annotation. Sorts the longest ones to the front.
    fn innermost(&mut self, analysis: &Analysis) -> Vec<Option<EventId>> {
        let events = analysis.trace().events();
        self.stretches.sort_by_key(|&(annotation, _)| (Reverse(events.duration(annotation)), annotation));
        let mut innermost: Vec<Option<EventId>> = vec![None; analysis.device.len()];
        for (annotation, below) in &self.stretches {
            self.positions[below.clone()].iter().for_each(|&at| innermost[at as usize] = Some(*annotation));
        }
        innermost
    }
}

fn rows_of(analysis: &Analysis, on_device: bool, mut annotations: Annotations) -> Vec<Row> {
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    let innermost = annotations.innermost(analysis);
    let Annotations { positions, stretches } = annotations;
    let mut by_name: IndexMap<StringId, (Vec<i64>, Row)> = IndexMap::default();
    let mut scratch = Vec::new();
    for (annotation, below) in &stretches {
        let below = &positions[below.clone()];
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
        row.device_time += busy_time(
            below.iter().map(|&at| interval(trace, analysis.device.ids[at as usize])),
            &mut scratch,
        );
        row.device_events += below.len();
        row.innermost += below.iter().filter(|&&at| innermost[at as usize] == Some(*annotation)).count();
    }
    let unit = trace.time_unit().per_microsecond() as f64;
    let with_length = |(lengths, row): (Vec<i64>, Row)| Row {
        length: Summary::from_values(&lengths).map(|summary| summary.spread(unit)).unwrap_or_default(),
        ..row
    };
    by_name.into_values().map(with_length).collect()
}

/// With what was launched while the annotations of the host lasted, by any thread of their process: that of the backward
/// pass is not the one that the program's ranges are on.
fn host_annotations(analysis: &Analysis) -> Annotations {
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    let process = |event: EventId| trace.tracks().get(events.track(event)).pid;
    let mut launched: Vec<(RowId, i64, u32)> = (analysis.device.ids.iter().zip(0..))
        .filter_map(|(&event, at)| {
            let launch = analysis.tree().recorded_launch(event)?;
            Some((process(launch), events.start(launch), at))
        })
        .collect();
    // Mostly in order already: recorders write device events about as they were launched.
    launched.sort_by_key(|&(process, start, _)| (process, start));
    let before = |key: (RowId, i64)| launched.partition_point(|&(process, start, _)| (process, start) < key);
    let stretches = category_events(analysis, Category::USER_ANNOTATION)
        .map(|annotation| {
            let process = process(annotation);
            let from = before((process, events.start(annotation)));
            (annotation, from..before((process, events.end(annotation))).max(from))
        })
        .collect();
    Annotations { stretches, positions: launched.iter().map(|&(.., at)| at).collect() }
}

/// With what shares time with the annotations of streams, on the same stream.
fn device_annotations(analysis: &Analysis) -> Annotations {
    let events = analysis.trace().events();
    let annotations: Vec<EventId> = category_events(analysis, Category::GPU_USER_ANNOTATION).collect();
    if annotations.is_empty() {
        return Annotations { positions: Vec::new(), stretches: Vec::new() };
    }
    let ids = &analysis.device.ids;
    let mut positions: Vec<u32> = (0..).take(ids.len()).collect();
    positions.sort_by_key(|&at| (events.track(ids[at as usize]), events.start(ids[at as usize])));
    let stretches = annotations
        .into_iter()
        .map(|annotation| {
            let track = events.track(annotation);
            let first = positions.partition_point(|&at| events.track(ids[at as usize]) < track);
            let last = positions.partition_point(|&at| events.track(ids[at as usize]) <= track);
            let own = &positions[first..last];
            // Events of a stream follow each other, so their ends ascend as their starts do.
            let (start, end) = (events.start(annotation), events.end(annotation));
            let from = first + own.partition_point(|&at| events.end(ids[at as usize]) <= start);
            let until = first + own.partition_point(|&at| events.start(ids[at as usize]) < end);
            (annotation, from..until.max(from))
        })
        .collect();
    Annotations { positions, stretches }
}

fn category_events(analysis: &Analysis, category: Category) -> impl Iterator<Item = EventId> {
    let events = analysis.trace().events();
    events.ids().filter(move |&event| events.category(event) == category)
}
