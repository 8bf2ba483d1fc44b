//! What a device did at the same time: kinds of work, and copies.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::{Activity, ConcurrentRate, HeldSamples, Interval, OverlapMatrix, SortFew};
use sheets::{Column, ColumnKind, Field, Figure, Role, Sheet, Unit, percent};
use trace_ingest::{Category, StringId, Trace, TrackId};

use super::idle_causes::DEVICE;
use super::series::{self, Part};
use crate::analysis::Analysis;
use crate::device::interval;

/// One activity of a device beside the others.
struct OverlapRow {
    device: Option<i64>,
    activity: Activity,
    matrix: OverlapMatrix,
}

/// How long kinds of work ran at the same time.
pub(crate) fn overlap_matrix_sheet<'a>() -> Sheet<'a, Analysis> {
    let fields = [
        DEVICE.field(|row: &OverlapRow| row.device.into()),
        Column::text("activity", "Device activity: computation (compute kernels and fills), communication, copy.")
            .field(|row: &OverlapRow| row.activity.as_str().into()),
        Column::milliseconds("time_ms", "Time with the activity running, alone or concurrently.").showing(&[Figure::Overlap])
            .with_role(Role::Headline)
            .field_in(|analysis: &&Analysis, row: &OverlapRow| {
                analysis.ms(row.matrix.shared(row.activity, row.activity)).into()
            }),
        Column::percent("percent overlapped", "Time with another activity also running, as a share of time_ms.")
            .with_role(Role::Headline)
            .field(|row: &OverlapRow| {
                let time = row.matrix.shared(row.activity, row.activity);
                percent(time - row.matrix.alone(row.activity), time).into()
            }),
        with(Column::milliseconds("with_computation_ms", "Time with computation also running; for computation, all its time.").showing(&[Figure::Overlap]), Activity::Computation),
        with(Column::milliseconds("with_communication_ms", "Time with communication also running; for communication, all its time.").showing(&[Figure::Overlap]), Activity::Communication),
        with(Column::milliseconds("with_copy_ms", "Time with copies also running; for copies, all their time.").showing(&[Figure::Overlap, Figure::OverlapOfCopies]), Activity::Memcpy),
        Column::milliseconds("alone_ms", "Time with no other activity running.").showing(&[Figure::Overlap, Figure::OverlapOfCopies])
            .field_in(|analysis: &&Analysis, row: &OverlapRow| analysis.ms(row.matrix.alone(row.activity)).into()),
        Column::milliseconds("with_both_ms", "Time with all three activities running.").showing(&[Figure::Overlap, Figure::OverlapOfCopies])
            .field_in(|analysis: &&Analysis, row: &OverlapRow| {
                analysis.ms(row.matrix.exactly(&OverlapMatrix::ACTIVITIES)).into()
            }),
        Column::milliseconds(
            "busy_ms",
            "Device busy time: the sum of the times of each activity alone, each pair without the third, and all three.",
        ).showing(&[Figure::Overlap, Figure::BusyTime])
        .with_role(Role::Detail)
        .field_in(|analysis: &&Analysis, row: &OverlapRow| analysis.ms(row.matrix.busy()).into()),
    ];
    Sheet::with_context(
        "overlap_matrix",
        "Concurrency of computation, communication and copies on a device; needs --waits. Includes device events without a launch.",
        fields,
        |analysis: &Analysis| Some((analysis, analysis.options().waits.then(|| overlap_rows(analysis))?)),
    )
}

/// A column with the time that an activity ran beside another.
fn with<'a>(column: Column, other: Activity) -> Field<&'a Analysis, OverlapRow> {
    column.field_in(move |analysis: &&Analysis, row: &OverlapRow| {
        analysis.ms(row.matrix.shared(row.activity, other)).into()
    })
}

fn overlap_rows(analysis: &Analysis) -> Vec<OverlapRow> {
    let events = analysis.trace().events();
    let mut devices: BTreeMap<Option<i64>, Vec<usize>> = BTreeMap::new();
    for (position, &event) in analysis.device.ids.iter().enumerate() {
        devices.entry(events.device(event)).or_default().push(position);
    }
    let rows = |(device, positions): (_, Vec<usize>)| {
        let timeline_events =
            positions.into_iter().map(|at| analysis.device.timeline_event(analysis.trace(), at));
        let matrix = OverlapMatrix::from_events(timeline_events);
        OverlapMatrix::ACTIVITIES.map(|activity| OverlapRow { device, activity, matrix })
    };
    devices.into_iter().flat_map(rows).collect()
}

/// Copies, or fills, of one kind.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CopyKind {
    /// The device, where it is recorded.
    pub device: Option<i64>,
    /// Kind of copy or fill, as the profiler names it.
    pub kind: StringId,
    /// Where from and where to, where that is recorded beside the name.
    pub direction: Option<StringId>,
    /// How many.
    pub count: usize,
    /// Those without a recorded size, which count in no other figure but `count`.
    pub without_size: usize,
    /// Their bytes.
    pub bytes: i64,
    /// Sum of their durations, in the trace's unit.
    pub time: i64,
    /// Rate of all that run at the same time together, in bytes per unit of the trace's time.
    pub rate: ConcurrentRate,
}

/// The rate of copies, or fills, of one kind over time.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CopyRateOverTime {
    /// The device, where it is recorded.
    pub device: Option<i64>,
    /// Kind of copy or fill, with the direction where that is recorded beside it.
    pub kind: String,
    /// Where the first of them stands in the trace.
    pub track: TrackId,
    /// Rate of all that run at the same time together in GB/s, from the first start to the last end.
    pub gb_per_s: HeldSamples,
}

impl CopyKind {
    /// The kind, with the direction where that is recorded beside it.
    #[must_use]
    pub fn name(&self, trace: &Trace) -> String {
        copy_name(trace, self.kind, self.direction)
    }
}

fn copy_name(trace: &Trace, kind: StringId, direction: Option<StringId>) -> String {
    let kind = trace.text(kind);
    direction.map_or_else(|| kind.to_owned(), |direction| format!("{kind} {}", trace.text(direction)))
}

const RATE: ColumnKind = ColumnKind::Number(Unit::GigabytesPerSecond);

const GB_S_CONCURRENT: Column = Column::new(
    "GB/s concurrent",
    RATE,
    "Bytes / time with at least one copy running, in GB/s (10⁹ bytes), excluding copies without a duration.",
);

/// What bandwidth copies reach.
pub(crate) fn copy_bandwidth_sheet<'a>() -> Sheet<'a, Analysis> {
    let fields = [
        DEVICE.field(|row: &CopyKind| row.device.into()),
        Column::text(
            "kind",
            "Kind of copy or fill, as named by the profiler, with the direction if recorded separately.",
        )
        .field_in(|analysis: &&Analysis, row: &CopyKind| row.name(analysis.trace()).into()),
        Column::new("bytes", ColumnKind::Whole(Unit::Bytes), "Bytes of all copies with a recorded size.")
            .with_role(Role::Headline)
            .field(|row: &CopyKind| row.bytes.into()),
        Column::milliseconds("time_ms", "Sum of durations.")
            .with_role(Role::Headline)
            .field_in(|analysis: &&Analysis, row: &CopyKind| analysis.ms(row.time).into()),
        Column::new(
            "GB/s per copy",
            RATE,
            "Bytes / sum of durations, in GB/s (10⁹ bytes); empty if all durations are zero.",
        )
        .field_in(|analysis: &&Analysis, row: &CopyKind| {
            let rate = (row.time > 0).then(|| row.bytes as f64 / row.time as f64);
            rate.map(|rate| analysis.gb_per_s(rate)).into()
        }),
        GB_S_CONCURRENT.field_in(|analysis: &&Analysis, row: &CopyKind| {
            row.rate.mean().map(|rate| analysis.gb_per_s(rate)).into()
        }),
        Column::new(
            "GB/s concurrent median",
            RATE,
            "Median over busy time of the combined rate of concurrent copies, each counted at its own bytes / duration.",
        )
        .spread_of(GB_S_CONCURRENT.name)
        .per("moment")
        .field_in(|analysis: &&Analysis, row: &CopyKind| {
            row.rate.quantile(0.5).map(|rate| analysis.gb_per_s(rate)).into()
        }),
        Column::new("GB/s concurrent max", RATE, "Highest combined rate of concurrent copies.")
            .spread_of(GB_S_CONCURRENT.name)
            .per("moment")
            .field_in(|analysis: &&Analysis, row: &CopyKind| {
                row.rate.max().map(|rate| analysis.gb_per_s(rate)).into()
            }),
        Column::milliseconds("busy_ms", "Time with at least one copy or fill of this kind running.")
            .field_in(|analysis: &&Analysis, row: &CopyKind| analysis.ms(row.rate.busy()).into()),
        Column::count("count", "Number of copies.").field(|row: &CopyKind| row.count.into()),
        Column::count(
            "without_size",
            "Number of copies without a recorded size; of the other columns, only count includes them.",
        )
        .with_role(Role::Detail)
        .field(|row: &CopyKind| row.without_size.into()),
    ];
    Sheet::with_context(
        "copy_bandwidth",
        "Copy and fill bandwidth by kind, most bytes first, individually and combined with concurrent ones of the same kind; needs --waits and copies in the trace.",
        fields,
        |analysis: &Analysis| {
            let rows = analysis.options().waits.then(|| analysis.copies())?;
            (!rows.is_empty()).then_some((analysis, rows))
        },
    )
}

const HIGHEST: Column = Column::new(
    "GB/s max",
    RATE,
    "Highest combined rate of concurrent copies in the interval, each counted at its own bytes / duration, in GB/s (10⁹ bytes).",
)
.per("moment");

/// The bandwidth of copies over time.
pub(crate) fn copy_bandwidth_timeline_sheet<'a>() -> Sheet<'a, Analysis> {
    let figures = [
        Column::new(
            "GB/s min",
            RATE,
            "Lowest combined rate in the interval; 0 if the interval includes any time without a copy.",
        )
        .per("moment")
        .field_in(|_, part: &Part| part.min.into()),
        HIGHEST.with_role(Role::Headline).field_in(|_, part: &Part| part.max.into()),
    ];
    Sheet::with_context(
        "copy_bandwidth_timeline",
        "Copy and fill bandwidth over time, by kind, from the first start to the last end, in at most 2,000 equal intervals; needs --waits and copies with a recorded size.",
        series::names("Device and kind of copy or fill.").into_iter().chain(figures),
        |analysis: &Analysis| {
            let copies = analysis.options().waits.then(|| analysis.copy_rates_over_time())?;
            let parts = |copies: &CopyRateOverTime| {
                let device = copies.device.map_or(String::new(), |device| format!("device {device}: "));
                series::parts(&format!("{device}{}", copies.kind), &copies.gb_per_s)
            };
            let rows: Vec<Part> = copies.iter().flat_map(parts).collect();
            (!rows.is_empty()).then_some((analysis, rows))
        },
    )
    .with_chart(series::chart("Copy and fill bandwidth", &HIGHEST, "GB/s"))
}

/// A copy with its bytes, where these are recorded.
type Copy = (Interval, Option<i64>);

/// Device, name and direction of copies or fills.
type KindOfCopy = (Option<i64>, StringId, Option<StringId>);

impl Analysis {
    /// Copies and fills by device and kind, in the order of the file, with the first one's track.
    fn copies_by_kind(&self) -> BTreeMap<KindOfCopy, (TrackId, Vec<Copy>)> {
        let events = self.trace().events();
        let mut kinds: BTreeMap<_, (TrackId, Vec<Copy>)> = BTreeMap::new();
        for &event in &self.device.ids {
            if matches!(events.category(event), Category::GPU_MEMCPY | Category::GPU_MEMSET) {
                let transfer = events.arguments().transfer.get(event.index());
                let bytes = transfer.and_then(|transfer| i64::try_from(transfer.bytes?).ok());
                let direction = transfer.and_then(|transfer| transfer.direction);
                let kind = (events.device(event), events.name(event), direction);
                let (_, copies) = kinds.entry(kind).or_insert_with(|| (events.track(event), Vec::new()));
                copies.push((interval(self.trace(), event), bytes));
            }
        }
        kinds
    }

    /// Copies and fills by device and kind, of a device the most bytes first.
    #[must_use]
    pub fn copies(&self) -> Vec<CopyKind> {
        let row = |((device, kind, direction), (_, copies)): (_, (TrackId, Vec<Copy>))| {
            let sized = copies.iter().filter_map(|&(time, bytes)| Some((time, bytes?)));
            CopyKind {
                device,
                kind,
                direction,
                count: copies.len(),
                without_size: copies.len() - sized.clone().count(),
                bytes: sized.clone().map(|(_, bytes)| bytes).sum(),
                time: sized.clone().map(|(time, _)| time.length()).sum(),
                rate: ConcurrentRate::from_transfers(sized),
            }
        };
        let mut rows: Vec<CopyKind> = self.copies_by_kind().into_iter().map(row).collect();
        rows.sort_few_by_key(|row| (row.device, Reverse(row.bytes)));
        rows
    }

    /// The rates of copies and fills with a recorded size over time, by device and kind.
    #[must_use]
    pub fn copy_rates_over_time(&self) -> Vec<CopyRateOverTime> {
        let rate = |((device, kind, direction), (track, copies)): (_, (TrackId, Vec<Copy>))| {
            let sized = copies.into_iter().filter_map(|(time, bytes)| Some((time, bytes?)));
            let rates = ConcurrentRate::over_time(sized);
            let gb_per_s = rates.stretches().iter().map(|&(time, rate)| (time, self.gb_per_s(rate)));
            let gb_per_s = HeldSamples::from_stretches(gb_per_s);
            CopyRateOverTime { device, kind: copy_name(self.trace(), kind, direction), track, gb_per_s }
        };
        let mut rates: Vec<CopyRateOverTime> = self.copies_by_kind().into_iter().map(rate).collect();
        rates.retain(|rate| !rate.gb_per_s.stretches().is_empty());
        rates
    }

    /// A rate in bytes per unit of the trace's time, in GB/s.
    fn gb_per_s(&self, rate: f64) -> f64 {
        rate * self.trace().time_unit().per_microsecond() as f64 / 1e3
    }
}
