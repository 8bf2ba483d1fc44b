//! How long launched work waits: the lengths of queues, and the delay of each launch.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::{HeldSamples, QueueLength, SortFew, Spread, Summary};
use sheets::{Column, ColumnKind, Figure, Role, Sheet, Statistics, Unit, percent, statistics};
use trace_ingest::{EventId, StringId, TrackId};

use super::idle_causes::{DEVICE, STREAM};
use super::series::{self, Part};
use crate::IndexMap;
use crate::analysis::Analysis;

/// The queue of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamQueue {
    /// The device, where it is recorded.
    pub device: Option<i64>,
    /// Its stream.
    pub stream: Option<i64>,
    /// Device events whose launch is in the trace.
    pub launched: usize,
    /// Device events whose launch is not; they do not count in the queue.
    pub unlinked: usize,
    /// How many were launched and not started, over time in the trace's unit.
    pub queue: QueueLength,
}

const QUEUE_LENGTH_MEAN: Column = Column::new(
            "queue_length_mean",
            ColumnKind::Number(Unit::One),
            "Mean over time of the number of events that were launched but had not started. The number rises by 1 at the start of each launch (for a graph, by 1 per event) and falls by 1 at the start of each event.",
        )
        .with_role(Role::Headline)
        .per("moment");

/// How many launched events wait on each stream.
pub(crate) fn queue_length_sheet<'a>() -> Sheet<'a, Analysis> {
    let fields = [
        DEVICE.field(|row: &StreamQueue| row.device.into()),
        STREAM.field(|row: &StreamQueue| row.stream.into()),
        QUEUE_LENGTH_MEAN.field(|row: &StreamQueue| row.queue.mean().into()),
        Column::count("queue_length_median", "Median queue length over time.")
            .spread_of(QUEUE_LENGTH_MEAN.name)
            .per("moment")
            .field(|row: &StreamQueue| row.queue.quantile(0.5).into()),
        Column::count("queue_length_p95", "95th percentile of the queue length over time.")
            .spread_of(QUEUE_LENGTH_MEAN.name)
            .per("moment")
            .field(|row: &StreamQueue| row.queue.quantile(0.95).into()),
        Column::count("queue_length_max", "Maximum queue length, however brief.")
            .per("moment")
            .field(|row: &StreamQueue| row.queue.max().into()),
        Column::percent(
            "percent empty",
            "Time with an empty queue as a share of the time from first launch to last start.",
        )
        .field(|row: &StreamQueue| {
            let time = row.queue.time();
            percent(time - row.queue.time_at_least(1), time).into()
        }),
    ];
    let trace_fields = [
        Column::milliseconds("full_ms", "Time with at least --queue_limit events in the queue.").field_in(
            |analysis: &&Analysis, row: &StreamQueue| {
                analysis.ms(row.queue.time_at_least(analysis.options().queue_limit.get())).into()
            },
        ),
        Column::milliseconds("time_ms", "From the first launch to the last start.")
            .field_in(|analysis: &&Analysis, row: &StreamQueue| analysis.ms(row.queue.time()).into()),
        Column::count("launched_events", "Number of device events with their launch in the trace.")
            .field(|row: &StreamQueue| row.launched.into()),
        Column::count(
            "unlinked_events",
            "Number of device events without a launch in the trace; not counted in the queue.",
        )
        .with_role(Role::Detail)
        .field(|row: &StreamQueue| row.unlinked.into()),
    ];
    Sheet::with_context(
        "queue_length",
        "Number of launched events waiting in each stream, weighted by time; needs --waits. A queue that is empty most of the time means that the host does not run ahead of the device.",
        fields.into_iter().chain(trace_fields),
        |analysis: &Analysis| Some((analysis, analysis.options().waits.then(|| analysis.queues())?)),
    ).showing(&[Figure::QueueTimes])
}

const LONGEST: Column =
    Column::count("queue_length_max", "Maximum queue length in the interval, however brief.").per("moment");

/// The lengths of the queues over time.
pub(crate) fn queue_length_timeline_sheet<'a>() -> Sheet<'a, Analysis> {
    let figures = [
        Column::count("queue_length_min", "Minimum queue length in the interval.")
            .per("moment")
            .field_in(|_, part: &Part| (part.min as i64).into()),
        LONGEST.with_role(Role::Headline).field_in(|_, part: &Part| (part.max as i64).into()),
    ];
    Sheet::with_context(
        "queue_length_timeline",
        "Number of launched events waiting in each stream over time, from the stream's first launch to its last start, in at most 2,000 equal intervals; needs --waits.",
        series::names("Device and stream.").into_iter().chain(figures),
        |analysis: &Analysis| {
            let queues = analysis.options().waits.then(|| analysis.queue_lengths_over_time())?;
            let parts = |queue: &StreamQueueOverTime| {
                let part = |name, number: Option<i64>| number.map(|number| format!("{name} {number}"));
                let names = [part("device", queue.device), part("stream", queue.stream)];
                let series = names.into_iter().flatten().collect::<Vec<_>>().join(", ");
                series::parts(&series, &queue.lengths)
            };
            let rows: Vec<Part> = queues.iter().flat_map(parts).collect();
            (!rows.is_empty()).then_some((analysis, rows))
        },
    ).showing(&[Figure::QueueTimes])
    .with_chart(series::chart("Queue length over time", &LONGEST, "maximum queue length"))
}

/// The queue of one stream over time.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StreamQueueOverTime {
    /// The device, where it is recorded.
    pub device: Option<i64>,
    /// Its stream.
    pub stream: Option<i64>,
    /// Where its events stand in the trace.
    pub track: TrackId,
    /// Its length from the first launch to the last start.
    pub lengths: HeldSamples,
}

/// What was launched onto a stream.
struct Queued {
    track: TrackId,
    /// Launch and start of each event whose launch is in the trace.
    times: Vec<(i64, i64)>,
    unlinked: usize,
}

impl Analysis {
    /// What was launched onto each stream, by device and stream.
    fn queued(&self) -> BTreeMap<(Option<i64>, Option<i64>), Queued> {
        let (tree, events) = (self.tree(), self.trace().events());
        let mut streams: BTreeMap<_, Queued> = BTreeMap::new();
        for &event in &self.device.ids {
            let new = || Queued { track: events.track(event), times: Vec::new(), unlinked: 0 };
            let queued = streams.entry((events.device(event), events.stream(event))).or_insert_with(new);
            match tree.recorded_launch(event) {
                Some(launch) => queued.times.push((events.start(launch), events.start(event))),
                None => queued.unlinked += 1,
            }
        }
        streams
    }

    /// The queues of all streams, by device and stream.
    #[must_use]
    pub fn queues(&self) -> Vec<StreamQueue> {
        let row = |((device, stream), queued): (_, Queued)| StreamQueue {
            device,
            stream,
            launched: queued.times.len(),
            unlinked: queued.unlinked,
            queue: QueueLength::from_events(queued.times),
        };
        self.queued().into_iter().map(row).collect()
    }

    /// The same over time; streams without a launch in the trace are left out.
    #[must_use]
    pub fn queue_lengths_over_time(&self) -> Vec<StreamQueueOverTime> {
        let row = |((device, stream), queued): (_, Queued)| StreamQueueOverTime {
            device,
            stream,
            track: queued.track,
            lengths: QueueLength::over_time(queued.times),
        };
        let mut rows: Vec<StreamQueueOverTime> = self.queued().into_iter().map(row).collect();
        rows.retain(|row| !row.lengths.stretches().is_empty());
        rows
    }
}

/// One call that launched device work.
struct Launch {
    operator: StringId,
    /// From its end to the start of its first event; 0 where that starts before.
    delay: i64,
    start_to_start: i64,
    call: i64,
    events: usize,
}

/// The launches of one operator, or all.
struct DelayRow {
    operator: Option<StringId>,
    launches: usize,
    events: usize,
    total: i64,
    calls: i64,
    delay: Spread,
    start_to_start: Spread,
}

const ALL: &str = "(all)";
const DELAY: Statistics = statistics!(
    "launch_delay_us",
    ColumnKind::Number(Unit::Microseconds),
    "the launch delay",
    "from the end of the call to the start of its first device event, 0 if the event starts before the call ends"
)
.showing(&[Figure::Gaps, Figure::LaunchDelays]);
const START_TO_START: Statistics = statistics!(
    "start_to_start_us",
    ColumnKind::Number(Unit::Microseconds),
    "the start-to-start time",
    "from the start of the call to the start of its first device event"
)
.showing(&[Figure::Gaps, Figure::LaunchDelays]);

/// How long after its launch work started, by operator.
pub(crate) fn launch_delay_sheet<'a>() -> Sheet<'a, Analysis> {
    let name = Column::text(
        "operator",
        "Innermost operator enclosing the call; the call itself if none. (all): all launches together.",
    )
    .field_in(|analysis: &&Analysis, row: &DelayRow| {
        row.operator.map_or(ALL, |name| analysis.trace().text(name)).into()
    });
    let times = [
        Column::milliseconds("launch_delay_ms", "Launch delay, summed over calls.")
            .showing(&[Figure::Gaps, Figure::LaunchDelays])
            .with_role(Role::Headline)
            .field_in(|analysis: &&Analysis, row: &DelayRow| analysis.ms(row.total).into()),
        Column::milliseconds("launch_calls_ms", "Total duration of the calls.")
            .showing(&[Figure::Gaps])
            .field_in(|analysis: &&Analysis, row: &DelayRow| analysis.ms(row.calls).into()),
        Column::count(
            "launches",
            "Number of calls that launched device work of any kind: kernels, copies, fills, graphs.",
        )
        .field(|row: &DelayRow| row.launches.into()),
        Column::count("device_events", "Number of device events launched.")
            .field(|row: &DelayRow| row.events.into()),
    ];
    Sheet::with_context(
        "launch_delay",
        "Time from launch to start of the work, by operator, longest sum first; needs --waits. A long delay means that the device has enough queued work, or that the work depends on other work.",
        [name]
            .into_iter()
            .chain(times)
            .chain(DELAY.fields(|row: &DelayRow| &row.delay))
            .chain(START_TO_START.fields(|row: &DelayRow| &row.start_to_start)),
        |analysis: &Analysis| Some((analysis, analysis.options().waits.then(|| delay_rows(analysis))?)),
    )
}

/// The calls that launched device work, in order of the first device event in the file.
fn launches(analysis: &Analysis) -> Vec<Launch> {
    let (tree, events) = (analysis.tree(), analysis.trace().events());
    let mut first_start: IndexMap<EventId, (i64, usize)> = IndexMap::default();
    for &event in &analysis.device.ids {
        let Some(launch) = tree.recorded_launch(event) else { continue };
        let (start, count) = first_start.entry(launch).or_insert((i64::MAX, 0));
        *start = events.start(event).min(*start);
        *count += 1;
    }
    let launch = |(launch, (start, count)): (EventId, (i64, usize))| Launch {
        operator: events.name(tree.operator(launch).unwrap_or(launch)),
        delay: (start - events.end(launch)).max(0),
        start_to_start: start - events.start(launch),
        call: events.duration(launch),
        events: count,
    };
    first_start.into_iter().map(launch).collect()
}

fn delay_rows(analysis: &Analysis) -> Vec<DelayRow> {
    let unit = analysis.trace().time_unit().per_microsecond() as f64;
    let launches = launches(analysis);
    let spread = |launches: &[&Launch], figure: fn(&Launch) -> i64| {
        let values: Vec<i64> = launches.iter().map(|launch| figure(launch)).collect();
        Summary::from_values(&values).map(|summary| summary.spread(unit)).unwrap_or_default()
    };
    let row = |operator, launches: &[&Launch]| DelayRow {
        operator,
        launches: launches.len(),
        events: launches.iter().map(|launch| launch.events).sum(),
        total: launches.iter().map(|launch| launch.delay).sum(),
        calls: launches.iter().map(|launch| launch.call).sum(),
        delay: spread(launches, |launch| launch.delay),
        start_to_start: spread(launches, |launch| launch.start_to_start),
    };
    let mut by_operator: IndexMap<StringId, Vec<&Launch>> = IndexMap::default();
    for launch in &launches {
        by_operator.entry(launch.operator).or_default().push(launch);
    }
    let mut rows: Vec<DelayRow> =
        by_operator.iter().map(|(&operator, launches)| row(Some(operator), launches)).collect();
    rows.sort_few_by_key(|row| (Reverse(row.total), Reverse(row.launches)));
    let all: Vec<&Launch> = launches.iter().collect();
    (!all.is_empty()).then(|| row(None, &all)).into_iter().chain(rows).collect()
}

/// A range of times with how many launches lie in it.
struct BinRow {
    start: f64,
    /// `None`: without end.
    end: Option<f64>,
    delays: usize,
    start_to_starts: usize,
}

/// Edges of the bins in µs.
const EDGES: [f64; 14] = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 1e4, 1e5, 1e6];

/// How many launches have which delay.
pub(crate) fn delay_histogram_sheet<'a>() -> Sheet<'a, Analysis> {
    let fields = [
        Column::microseconds("bin_start", "Start of the bin in µs.")
            .with_role(Role::Name)
            .field(|row: &BinRow| row.start.into()),
        Column::microseconds(
            "bin_end",
            "End of the bin in µs, exclusive; empty for the last bin, which is open-ended.",
        )
        .with_role(Role::Name)
        .field(|row: &BinRow| row.end.into()),
        Column::count("launch_delays", "Number of calls with a launch delay in the bin, as in launch_delay.")
            .with_role(Role::Headline)
            .field(|row: &BinRow| row.delays.into()),
        Column::count(
            "start_to_starts",
            "Number of calls with a start-to-start time in the bin; negative times count as 0.",
        )
        .with_role(Role::Headline)
        .field(|row: &BinRow| row.start_to_starts.into()),
    ];
    Sheet::new(
        "launch_delay_histogram",
        "Distribution of launch delays; needs --waits.",
        fields,
        |analysis: &Analysis| if analysis.options().waits { bins(analysis) } else { Vec::new() },
    )
    .showing(&[Figure::LaunchDelays])
}

fn bins(analysis: &Analysis) -> Vec<BinRow> {
    let launches = launches(analysis);
    if launches.is_empty() {
        return Vec::new();
    }
    let end = |at: usize| EDGES.get(at + 1).copied();
    let bin = |at| BinRow { start: EDGES[at], end: end(at), delays: 0, start_to_starts: 0 };
    let mut bins: Vec<BinRow> = (0..EDGES.len()).map(bin).collect();
    let at = |time: i64| EDGES[1..].partition_point(|&edge| edge <= analysis.us(time));
    for launch in launches {
        bins[at(launch.delay)].delays += 1;
        bins[at(launch.start_to_start)].start_to_starts += 1;
    }
    bins
}
