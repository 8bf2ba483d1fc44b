//! A row per framework operation: the HLO operations that came from it, and the calls on the host.

use sheets::{Cell, Chart, ChartShape, Column, ColumnKind, Role, Sheet, Unit};
use trace_ingest::Picoseconds;

use super::analysis::{TpuAnalysis, Work, extent, self_times};
use super::profile::{HostOp, PicoSpan};
use super::rates::{Rates, Resource, Utilization, ratio};
use super::read::parse_framework_op;
use crate::sheet::tpu_sheet;
use crate::{IndexMap, JaxAnalysis};

/// Where an operation ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// On the TPU.
    Device,
    /// On the host.
    Host,
}

impl Place {
    /// The spelling in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Place::Device => "Device",
            Place::Host => "Host",
        }
    }
}

/// Whether time in which nothing ran is a row of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleTime {
    /// It is, and shares are of all time.
    Included,
    /// It is not, and shares are of the time in which something ran.
    Excluded,
}

/// What the rows of time in which nothing ran are called.
pub const IDLE: &str = "IDLE";

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameworkOpRow<'a> {
    /// 1 for the first.
    pub rank: u32,
    /// Where it ran.
    pub place: Place,
    /// Type; `Unknown` for HLO operations that no framework operation is known of.
    pub kind: &'a str,
    /// Name; of HLO operations that no framework operation is known of, theirs.
    pub name: &'a str,
    /// Most executions of one HLO operation, or calls on the host.
    pub occurrences: u64,
    /// Time without that of operations inside.
    pub self_time: Picoseconds,
    /// Time and work.
    pub work: Work,
    /// Own time as a share of that of its place, 0 to 1.
    pub self_fraction: f64,
    /// Sum of the shares of this row and those above of the same place.
    pub cumulative_fraction: f64,
    /// Its rates.
    pub rates: Rates,
    /// What it is bound by.
    pub bound_by: Resource,
}

impl FrameworkOpRow<'_> {
    /// Whether this is time in which nothing ran.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.occurrences == 0 && self.name == IDLE
    }

    /// Time of one execution, in µs; 0 of none.
    #[must_use]
    pub fn average_us(&self) -> f64 {
        ratio(self.work.time.to_microseconds(), self.occurrences as f64)
    }

    /// The same without operations inside.
    #[must_use]
    pub fn average_self_us(&self) -> f64 {
        ratio(self.self_time.to_microseconds(), self.occurrences as f64)
    }
}

/// A row in the making.
#[derive(Default)]
struct Sum {
    occurrences: u64,
    self_time: Picoseconds,
    work: Work,
}

/// Rows in the making, by name, with their type; a name has the first type that it occurs with.
type Sums<'a> = IndexMap<&'a str, (&'a str, Sum)>;

fn entry<'s, 'a>(sums: &'s mut Sums<'a>, name: &'a str, kind: &'a str) -> &'s mut Sum {
    &mut sums.entry(name).or_insert_with(|| (kind, Sum::default())).1
}

/// The rows, those of the device before those of the host, each most own time first.
#[must_use]
pub fn framework_op_stats<'a>(analysis: &'a TpuAnalysis, idle: IdleTime) -> Vec<FrameworkOpRow<'a>> {
    let mut rows = Vec::new();
    let (host, host_idle_time) = host_ops(&analysis.profile.host_threads);
    let device = (Place::Device, device_ops(analysis), analysis.table.idle_time());
    for (place, mut sums, idle_time) in [device, (Place::Host, host, host_idle_time)] {
        if idle == IdleTime::Included && !(sums.is_empty() && idle_time == Picoseconds(0)) {
            let sum = entry(&mut sums, IDLE, IDLE);
            sum.self_time += idle_time;
            sum.work.time += idle_time;
        }
        push_rows(analysis, place, sums, &mut rows);
    }
    rows
}

fn device_ops<'a>(analysis: &'a TpuAnalysis) -> Sums<'a> {
    let mut sums = Sums::default();
    for op in &analysis.table.ops {
        let described = analysis.op(op);
        let framework = described.framework.as_str();
        let (name, kind) = match (framework.is_empty(), parse_framework_op(framework)) {
            (true, _) => (described.name.as_str(), "Unknown"),
            (false, Some(parsed)) if !parsed.kind.is_empty() => (parsed.name, parsed.kind),
            (false, Some(parsed)) => (parsed.name, "Unknown"),
            (false, None) => (framework, "Unknown"),
        };
        let sum = entry(&mut sums, name, kind);
        sum.occurrences = sum.occurrences.max(op.occurrences);
        sum.self_time += op.self_time;
        sum.work.time += op.work.time;
        // The memories are not kept apart: an operation of the framework uses what its HLO operations use.
        sum.work.flops += op.work.flops;
        sum.work.model_flops += op.work.model_flops;
        sum.work.bytes += op.work.bytes;
    }
    sums
}

/// The calls on the host, and the time of its threads between their first and last call in which none ran.
fn host_ops(threads: &[Vec<HostOp>]) -> (Sums<'_>, Picoseconds) {
    let mut sums = Sums::default();
    let mut idle_time = Picoseconds(0);
    for thread in threads {
        let spans: Vec<PicoSpan> = thread.iter().map(|op| op.span).collect();
        let own = self_times(&spans);
        for (op, &own) in thread.iter().zip(&own) {
            let (name, kind) = match parse_framework_op(&op.framework) {
                Some(parsed) => (parsed.name, parsed.kind),
                None => (op.framework.as_str(), ""),
            };
            let sum = entry(&mut sums, name, kind);
            sum.occurrences += 1;
            sum.self_time += own;
            sum.work.time += op.span.duration;
        }
        idle_time += extent(spans.into_iter()).without(own.iter().copied().sum());
    }
    (sums, idle_time)
}

fn push_rows<'a>(
    analysis: &TpuAnalysis,
    place: Place,
    mut sums: Sums<'a>,
    rows: &mut Vec<FrameworkOpRow<'a>>,
) {
    sums.sort_by(|a, (_, x), b, (_, y)| (y.self_time, a).cmp(&(x.self_time, b)));
    let total: Picoseconds = sums.values().map(|(_, sum)| sum.self_time).sum();
    let mut cumulative = 0.0;
    for (name, (kind, sum)) in sums {
        let self_fraction = ratio(sum.self_time.0 as f64, total.0 as f64);
        cumulative += self_fraction;
        let rates = Rates::new(&sum.work);
        let bound_by = analysis.profile.peaks.as_ref().map(|peaks| Utilization::new(&rates, peaks).bound_by);
        rows.push(FrameworkOpRow {
            rank: rows.len() as u32 + 1,
            place,
            kind,
            name,
            occurrences: sum.occurrences,
            self_time: sum.self_time,
            work: sum.work,
            self_fraction,
            cumulative_fraction: cumulative,
            rates,
            bound_by: bound_by.unwrap_or_default(),
        });
    }
}

const NAME: Column = Column::text(
    "Operation Name",
    "Name with scopes; for HLO operations without a known framework operation, the HLO name.",
);
const SELF_TIME: Column = Column::microseconds("Total self-time (us)", "Time minus nested operations.");

/// The table as a sheet.
pub(super) fn framework_op_stats_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    use ColumnKind::{Count, Number, Text};
    use Unit::{FlopsPerByte, GibibytesPerSecond, GigaflopsPerSecond, Microseconds, Percent};
    let fields = [
        Column::new("Rank", Count, "Row number, from 1: device rows by self time, then host rows by self time.").with_role(Role::Name).field(|row: &Row<'_>| u64::from(row.row.rank).into()),
        Column::new("Host/device", Text, "Host or device on which the operation ran.").field(|row: &Row<'_>| row.row.place.as_str().into()),
        Column::new("Operation Type", Text, "Type of the framework operation; Unknown for HLO operations without a known one, IDLE for idle time.").field(|row: &Row<'_>| row.row.kind.into()),
        NAME.field(|row: &Row<'_>| row.row.name.into()),
        Column::new("#Occurrences", Count, "Largest number of executions of any one HLO operation, or number of host calls.").field(|row: &Row<'_>| {
            row.row.occurrences.into()
        }),
        Column::new("Total time (us)", Number(Microseconds), "Time by the device clock, or the host clock for host rows.").field(|row: &Row<'_>| row.row.work.time.to_microseconds().into()),
        Column::new("Avg. time (us)", Number(Microseconds), "Mean time per occurrence.").per("occurrence").field(|row: &Row<'_>| {
            row.row.average_us().into()
        }),
        SELF_TIME.field(|row: &Row<'_>| row.row.self_time.to_microseconds().into()),
        Column::new("Avg. self-time (us)", Number(Microseconds), "Mean self time per occurrence.").per("occurrence").field(|row: &Row<'_>| {
            row.row.average_self_us().into()
        }),
        Column::new("Total self-time (%)", Number(Percent), "Share of total self time on the device or host, including idle time.").field(|row: &Row<'_>| (row.row.self_fraction * 100.0).into()),
        Column::new("Cumulative total self-time (%)", Number(Percent), "Running sum of the shares for the device or host.").field(|row: &Row<'_>| (row.row.cumulative_fraction * 100.0).into()),
        Column::new("Total self-time excluding idle (%)", Number(Percent), "Self time as a share of the busy time of the device or host.").field(|row: &Row<'_>| {
                let share = row.row.self_time.0 as f64 / row.busy_time.0 as f64 * 100.0;
                Some(share).filter(|_| row.busy_time.0 > 0 && !row.row.is_idle()).into()
            }),
        Column::new("Normalized FLOP Rate (GFLOP/s)", Number(GigaflopsPerSecond), "Floating-point operations / time, normalized to the precision of the stated peak.").field(|row: &Row<'_>| on_device(row, row.row.rates.flop_rate)),
        Column::new("Model FLOP Rate (GFLOP/s)", Number(GigaflopsPerSecond), "The model's floating-point operations / time.").field(|row: &Row<'_>| on_device(row, row.row.rates.model_flop_rate)),
        Column::new("Measured Memory BW (GiB/s)", Number(GibibytesPerSecond), "Bytes of all memories / time (labeled GBytes/s by the XLA profiler).").field(|row: &Row<'_>| on_device(row, row.row.rates.memory_bandwidth)),
        Column::new("Operational Intensity (FLOPs/Byte)", Number(FlopsPerByte), "Floating-point operations per byte.").field(|row: &Row<'_>| on_device(row, row.row.rates.intensity)),
        Column::new("Bound by", Text, "Compute or HBM, whichever has the larger share of its peak; Unknown if neither is used or no peak is known.").with_role(Role::Detail).field(|row: &Row<'_>| row.row.bound_by.as_str().into()),
        Column::new("Execution mode", Text, "Always Function, because XLA runs complete programs.").with_role(Role::Detail).field(|_| "Function".into()),
    ];
    tpu_sheet(
        "framework_op_stats",
        "Framework operations, each with its HLO operations on all tensor cores \
        and its host calls, as in the XLA profiler's Framework Op Stats; most self time first, the device \
        before the host.",
        fields,
        rows,
    )
    .with_chart(Chart::new(
        "Framework operations by self time",
        NAME.name,
        SELF_TIME.name,
        "self time (µs)",
        ChartShape::Bars(10),
    ))
}

/// A row with its share of the time in which something ran.
struct Row<'a> {
    row: FrameworkOpRow<'a>,
    busy_time: Picoseconds,
}

fn rows<'a>(tpu: &'a TpuAnalysis) -> Vec<Row<'a>> {
    let rows = framework_op_stats(tpu, IdleTime::Included);
    let busy_time = |place: Place| -> Picoseconds {
        let busy = rows.iter().filter(|row| row.place == place && !row.is_idle());
        busy.map(|row| row.self_time).sum()
    };
    let (device, host) = (busy_time(Place::Device), busy_time(Place::Host));
    let busy = |place| if place == Place::Device { device } else { host };
    rows.into_iter().map(|row| Row { busy_time: busy(row.place), row }).collect()
}

fn on_device(row: &Row<'_>, figure: f64) -> Cell<'static> {
    Some(figure).filter(|_| row.row.place == Place::Device && !row.row.is_idle()).into()
}
