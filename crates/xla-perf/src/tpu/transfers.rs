//! Asynchronous operations from the one that starts each to the one that waits for its end: in flight, hidden,
//! exposed; and copies between tensor cores and the memory of the host.

use std::collections::{BTreeMap, HashMap};

use gpu_timeline::{IntervalSet, SortFew, busy_time};
use sheets::{Chart, ChartShape, Column, ColumnKind, Role, Sheet, Unit};
use trace_ingest::Picoseconds;

use super::analysis::TpuAnalysis;
use super::category::{self, WorkClass, work_class};
use super::profile::{OpExecution, PicoSpan, TpuCore, TpuOp, TpuProfile};
use super::rates::{giga_to_gibi, ratio};
use crate::JaxAnalysis;
use crate::brackets::parts;
use crate::sheet::tpu_sheet;

/// Which memories an asynchronous operation moves data between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the host's memory to the device.
    HostToDevice,
    /// From the device to the host's memory.
    DeviceToHost,
    /// Within the host's memory.
    HostToHost,
    /// Within the device.
    DeviceToDevice,
    /// Among devices.
    Collective,
    /// Something else that runs on its own, such as a call on another thread of the device.
    Other,
}

impl Direction {
    /// The spelling in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Direction::HostToDevice => "host to device",
            Direction::DeviceToHost => "device to host",
            Direction::HostToHost => "host to host",
            Direction::DeviceToDevice => "device to device",
            Direction::Collective => "among devices",
            Direction::Other => "other",
        }
    }

    /// Whether it is a copy from or to the host's memory.
    #[must_use]
    pub const fn is_host_offload(self) -> bool {
        matches!(self, Direction::HostToDevice | Direction::DeviceToHost)
    }
}

/// One asynchronous operation in flight, by the clock of the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer<'a> {
    /// Number of the device.
    pub core: u32,
    /// The operation that starts it.
    pub start: &'a TpuOp,
    /// The operation that waits for its end.
    pub done: &'a TpuOp,
    /// Between which memories.
    pub direction: Direction,
    /// Bytes moved; of the operation that starts it.
    pub bytes: u64,
    /// From the start of the one to the end of the other.
    pub span: PicoSpan,
    /// Time in which the core did nothing but start it or wait for its end.
    pub exposed: Picoseconds,
    /// Time in flight in which the core computed.
    pub hidden: Picoseconds,
    /// Time in flight that the core spent otherwise: other transfers, collectives, or nothing.
    pub other: Picoseconds,
}

impl Transfer<'_> {
    /// Bytes over the time in flight, in GiB/s; 0 without time.
    #[must_use]
    pub fn bandwidth(&self) -> f64 {
        giga_to_gibi(ratio(self.bytes as f64 * 1e3, self.span.duration.0 as f64))
    }
}

/// Every start with its end, in order of the starts on each core. An end belongs to the latest start of the operation
/// that it names; starts without an end are in the second value.
#[must_use]
pub fn transfers<'a>(analysis: &'a TpuAnalysis) -> (Vec<Transfer<'a>>, u64) {
    let profile = &analysis.profile;
    let starts = start_of_done(profile);
    let (mut found, mut unfinished) = (Vec::new(), 0);
    if starts.is_empty() {
        return (found, unfinished);
    }
    for (core, own) in profile.cores.iter().zip(&analysis.own_times) {
        let compute = compute_time(profile, core, own);
        let mut order: Vec<&OpExecution> = core.executions.iter().collect();
        order.sort_by_key(|execution| execution.span.start);
        // By program and name, because the copies of a description are several operations.
        let mut open: HashMap<(u64, &str), OpExecution> = HashMap::new();
        for execution in order {
            let op = &profile.ops[execution.op];
            let Some(key) = op.key() else { continue };
            if let Some(started) = starts.get(&key).and_then(|name| open.remove(&(key.0, *name))) {
                found.push(transfer(profile, core.ordinal, &started, execution, &compute));
            }
            if op.category.ends_with("-start") || matches!(op.category.as_str(), "send" | "recv") {
                unfinished += u64::from(open.insert(key, *execution).is_some());
            }
        }
        unfinished += open.len() as u64;
    }
    found.sort_few_by_key(|transfer| (transfer.core, transfer.span.start));
    (found, unfinished)
}

fn transfer<'a>(
    profile: &'a TpuProfile,
    core: u32,
    start: &OpExecution,
    done: &OpExecution,
    compute: &Coverage,
) -> Transfer<'a> {
    let (start_op, done_op) = (&profile.ops[start.op], &profile.ops[done.op]);
    let begin = start.span.start;
    let end = done.span.end().max(begin);
    let span = PicoSpan::new(begin, end - begin);
    let hidden = Picoseconds(compute.between(begin.0, end.0));
    let exposed = (start.span.duration + done.span.duration).min(span.duration);
    Transfer {
        core,
        start: start_op,
        done: done_op,
        direction: direction(start_op),
        bytes: start_op.raw_bytes.unwrap_or(start_op.bytes),
        span,
        exposed,
        hidden,
        other: span.duration.without(exposed).without(hidden),
    }
}

/// Times in which operations without others inside computed.
fn compute_time(profile: &TpuProfile, core: &TpuCore, own: &[Picoseconds]) -> Coverage {
    let computes = |execution: &OpExecution| {
        let op = &profile.ops[execution.op];
        let is_flying = ["-start", "-done"].iter().any(|end| op.category.ends_with(end));
        work_class(&op.category, &op.expression) == WorkClass::Compute && !is_flying
    };
    let leaves = core.executions.iter().zip(own);
    let leaves = leaves.filter(|(execution, own)| **own == execution.span.duration && computes(execution));
    let spans = leaves.map(|(execution, _)| execution.span.interval());
    Coverage::new(&spans.collect())
}

/// How much of any span is covered by a set of intervals, in the time of a binary search.
struct Coverage {
    /// Start and end of each interval, and the length of all before it.
    intervals: Vec<(i64, i64, i64)>,
}

impl Coverage {
    fn new(set: &IntervalSet) -> Self {
        let mut before = 0;
        let intervals = set.iter().map(|interval| {
            let entry = (interval.start, interval.end, before);
            before += interval.length();
            entry
        });
        Coverage { intervals: intervals.collect() }
    }

    /// Covered time before a moment.
    fn until(&self, time: i64) -> i64 {
        let next = self.intervals.partition_point(|interval| interval.0 < time);
        let Some(&(start, end, before)) = next.checked_sub(1).and_then(|last| self.intervals.get(last))
        else {
            return 0;
        };
        before + time.min(end) - start
    }

    fn between(&self, begin: i64, end: i64) -> i64 {
        self.until(end) - self.until(begin)
    }
}

/// The name of the start that each end waits for: the operand that is one, or else the end's own name with `start` for
/// `done`.
fn start_of_done(profile: &TpuProfile) -> HashMap<(u64, &str), &str> {
    let ops: HashMap<(u64, &str), &TpuOp> =
        profile.ops.iter().filter_map(|op| op.key().map(|key| (key, op))).collect();
    let known = |program, name: &str| ops.get(&(program, name)).map(|op| op.name.as_str());
    let mut starts = HashMap::new();
    for (&(program, name), op) in ops.iter().filter(|(_, op)| op.category.ends_with("-done")) {
        let mut operands = operands(&op.expression).filter_map(|operand| known(program, operand));
        let by_name = || known(program, &name.replace("-done", "-start").replace("_done", "_start"));
        if let Some(start) = operands.next().or_else(by_name).filter(|start| *start != name) {
            starts.insert((program, name), start);
        }
    }
    starts
}

/// Names of instructions behind the equals sign of an instruction's text.
fn operands(expression: &str) -> impl Iterator<Item = &str> {
    let right = expression.split_once(" = ").map_or("", |sides| sides.1);
    right.split('%').skip(1).map(|rest| {
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c))).unwrap_or(rest.len());
        &rest[..end]
    })
}

/// A start's result has the destination first and the source second.
fn direction(start: &TpuOp) -> Direction {
    if category::is_collective(&start.category) {
        return Direction::Collective;
    }
    if start.category != "copy-start" {
        return Direction::Other;
    }
    let shape = start.expression.split_once(" = ").map_or(start.shape.as_str(), |sides| sides.1);
    let mut parts = parts(shape.strip_prefix('(').unwrap_or(shape));
    let mut in_host = || parts.next().is_some_and(category::touches_host_memory);
    match (in_host(), in_host()) {
        (false, true) => Direction::HostToDevice,
        (true, false) => Direction::DeviceToHost,
        (true, true) => Direction::HostToHost,
        (false, false) => Direction::DeviceToDevice,
    }
}

/// All executions of one asynchronous operation, on all cores.
#[derive(Clone, Debug, PartialEq)]
pub struct AsyncCopyRow<'a> {
    /// Number of its program.
    pub program: u64,
    /// The operation that starts it.
    pub start: &'a TpuOp,
    /// The operation that waits for its end.
    pub done: &'a TpuOp,
    /// Between which memories.
    pub direction: Direction,
    /// How many.
    pub count: u64,
    /// Bytes, summed.
    pub bytes: u128,
    /// Time in flight, summed.
    pub in_flight: Picoseconds,
    /// Shortest time in flight.
    pub shortest: Picoseconds,
    /// Longest time in flight.
    pub longest: Picoseconds,
    /// Time that a core did nothing but start it or wait for its end, summed.
    pub exposed: Picoseconds,
    /// Time in flight in which the core computed, summed.
    pub hidden: Picoseconds,
    /// Time in flight that the core spent otherwise, summed.
    pub other: Picoseconds,
}

impl AsyncCopyRow<'_> {
    /// Bytes over the time in flight, in GiB/s.
    #[must_use]
    pub fn bandwidth(&self) -> f64 {
        giga_to_gibi(ratio(self.bytes as f64 * 1e3, self.in_flight.0 as f64))
    }
}

/// Sums by operation, most exposed time first.
#[must_use]
pub fn async_copies<'a>(transfers: &[Transfer<'a>]) -> Vec<AsyncCopyRow<'a>> {
    let mut rows: BTreeMap<(u64, &'a str), AsyncCopyRow<'a>> = BTreeMap::new();
    for transfer in transfers {
        let program = transfer.done.program.unwrap_or(0);
        let row = rows.entry((program, transfer.done.name.as_str())).or_insert_with(|| AsyncCopyRow {
            program,
            start: transfer.start,
            done: transfer.done,
            direction: transfer.direction,
            count: 0,
            bytes: 0,
            in_flight: Picoseconds(0),
            shortest: Picoseconds(i64::MAX),
            longest: Picoseconds(0),
            exposed: Picoseconds(0),
            hidden: Picoseconds(0),
            other: Picoseconds(0),
        });
        let in_flight = transfer.span.duration;
        row.count += 1;
        row.bytes += u128::from(transfer.bytes);
        row.in_flight += in_flight;
        row.shortest = row.shortest.min(in_flight);
        row.longest = row.longest.max(in_flight);
        row.exposed += transfer.exposed;
        row.hidden += transfer.hidden;
        row.other += transfer.other;
    }
    let mut rows: Vec<AsyncCopyRow<'a>> = rows.into_values().collect();
    rows.sort_few_by_key(|row| std::cmp::Reverse(row.exposed));
    rows
}

/// Copies between one core and the memory of the host, in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct HostOffloadRow {
    /// Number of the device.
    pub core: u32,
    /// Which way.
    pub direction: Direction,
    /// How many.
    pub count: u64,
    /// Bytes, summed.
    pub bytes: u128,
    /// Time in which one was in flight.
    pub busy_time: Picoseconds,
    /// Time that the core waited for them.
    pub exposed: Picoseconds,
}

impl HostOffloadRow {
    /// Bytes over the time in which a copy was in flight, in GB/s. Copies of both directions share a link, and a copy
    /// counts from its start although it may have waited for those before it, so the link can be faster.
    #[must_use]
    pub fn bandwidth(&self) -> f64 {
        ratio(self.bytes as f64 * 1e3, self.busy_time.0 as f64)
    }
}

/// Sums by core and direction.
#[must_use]
pub fn host_offload(transfers: &[Transfer<'_>]) -> Vec<HostOffloadRow> {
    let mut groups: BTreeMap<(u32, Direction), Vec<&Transfer<'_>>> = BTreeMap::new();
    for transfer in transfers.iter().filter(|transfer| transfer.direction.is_host_offload()) {
        groups.entry((transfer.core, transfer.direction)).or_default().push(transfer);
    }
    let rows = groups.into_iter().map(|((core, direction), group)| {
        let spans = group.iter().map(|transfer| transfer.span.interval());
        HostOffloadRow {
            core,
            direction,
            count: group.len() as u64,
            bytes: group.iter().map(|transfer| u128::from(transfer.bytes)).sum(),
            busy_time: Picoseconds(busy_time(spans, &mut Vec::new())),
            exposed: group.iter().map(|transfer| transfer.exposed).sum(),
        }
    });
    rows.collect()
}

const DONE: Column =
    Column::text("Done op", "Operation that waits for the transfer to end.").with_role(Role::Detail);
const EXPOSED: Column = Column::microseconds(
    "Exposed (us)",
    "Time the core spent only starting or awaiting the transfer, summed.",
);

const MEAN_IN_FLIGHT: Column =
    Column::microseconds("Mean in flight (us)", "Mean time in flight per transfer.").per("copy");

/// The table as a sheet.
pub(super) fn async_copies_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    use ColumnKind::{Count, Number, Text};
    use Unit::{Bytes, GibibytesPerSecond, Microseconds, Percent};
    let fields = [
        Column::new("Program id", Text, "Program number.").with_role(Role::Provenance).field(|row: &AsyncCopyRow<'_>| row.program.to_string().into()),
        Column::new("Start op", Text, "Operation that starts the transfer.").field(|row: &AsyncCopyRow<'_>| row.start.name.as_str().into()),
        DONE.field(|row: &AsyncCopyRow<'_>| row.done.name.as_str().into()),
        Column::new("Direction", Text, "host to device, device to host, host to host, device to device (within one device): a copy, by the memories in its shapes. among devices: a collective. other: any other asynchronous operation.").field(|row: &AsyncCopyRow<'_>| row.direction.as_str().into()),
        Column::new("Shape", Text, "Shape of the received data.").with_role(Role::Detail).field(|row: &AsyncCopyRow<'_>| row.done.shape.as_str().into()),
        Column::new("Count", Count, "Number of executions on all cores.").field(|row: &AsyncCopyRow<'_>| row.count.into()),
        Column::new("Bytes each", Number(Bytes), "Mean size per transfer.").per("copy").field(|row: &AsyncCopyRow<'_>| {
            (row.bytes as f64 / row.count as f64).into()
        }),
        Column::new("In flight (us)", Number(Microseconds), "From the start of the start op to the end of the done op, summed.").field(|row: &AsyncCopyRow<'_>| row.in_flight.to_microseconds().into()),
        MEAN_IN_FLIGHT.field(|row: &AsyncCopyRow<'_>| {
            (row.in_flight.to_microseconds() / row.count as f64).into()
        }),
        Column::new("Shortest in flight (us)", Number(Microseconds), "Shortest time in flight.").spread_of(MEAN_IN_FLIGHT.name).per("copy").field(|row: &AsyncCopyRow<'_>| {
            row.shortest.to_microseconds().into()
        }),
        Column::new("Longest in flight (us)", Number(Microseconds), "Longest time in flight.").spread_of(MEAN_IN_FLIGHT.name).per("copy").field(|row: &AsyncCopyRow<'_>| {
            row.longest.to_microseconds().into()
        }),
        EXPOSED.field(|row: &AsyncCopyRow<'_>| row.exposed.to_microseconds().into()),
        Column::new("Exposed (%)", Number(Percent), "Exposed time as a share of the time in flight.").field(|row: &AsyncCopyRow<'_>| {
            (row.in_flight.0 > 0).then(|| row.exposed.0 as f64 / row.in_flight.0 as f64 * 100.0).into()
        }),
        Column::new("Hidden by compute (us)", Number(Microseconds), "Time in flight during which the core computed, summed.").field(|row: &AsyncCopyRow<'_>| row.hidden.to_microseconds().into()),
        Column::new("Behind other waits (us)", Number(Microseconds), "Time in flight while the core handled other copies and collectives or was idle, summed.").field(|row: &AsyncCopyRow<'_>| row.other.to_microseconds().into()),
        Column::new("Bandwidth (GiB/s)", Number(GibibytesPerSecond), "Bytes / time in flight, which includes waiting for other copies.").field(|row: &AsyncCopyRow<'_>| row.bandwidth().into()),
    ];
    tpu_sheet(
        "async_copies",
        "Asynchronous copies and collectives, from each start op to the done op that waits for it, all cores \
        together, most exposed time first; by the device's clock.",
        fields,
        |tpu| async_copies(&transfers(tpu).0),
    )
    .with_chart(Chart::new(
        "Asynchronous copies by exposed time",
        DONE.name,
        EXPOSED.name,
        "exposed time (µs)",
        ChartShape::Bars(10),
    ))
}

/// The table as a sheet.
pub(super) fn host_offload_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    use ColumnKind::{Count, Identifier, Number, Text};
    use Unit::{Gigabytes, GigabytesPerSecond, Microseconds};
    let fields = [
        Column::new("Core", Identifier, "Device number.").with_role(Role::Name).field(|row: &HostOffloadRow| u64::from(row.core).into()),
        Column::new("Direction", Text, "host to device or device to host.").field(|row: &HostOffloadRow| row.direction.as_str().into()),
        Column::new("Count", Count, "Copies.").field(|row: &HostOffloadRow| row.count.into()),
        Column::new("GB", Number(Gigabytes), "Bytes of all copies, in 10⁹.").field(|row: &HostOffloadRow| (row.bytes as f64 / 1e9).into()),
        Column::new("Busy (us)", Number(Microseconds), "Time with at least one copy in flight.").field(|row: &HostOffloadRow| {
            row.busy_time.to_microseconds().into()
        }),
        Column::new("Exposed (us)", Number(Microseconds), "Time the core waited for the copies.").field(|row: &HostOffloadRow| {
            row.exposed.to_microseconds().into()
        }),
        Column::new("Bandwidth (GB/s)", Number(GigabytesPerSecond), "Bytes / busy time. Copies in both directions share a link, and each counts from its start, even while waiting for others, so the link itself may be faster.").field(|row: &HostOffloadRow| row.bandwidth().into()),
    ];
    tpu_sheet(
        "host_offload",
        "Asynchronous copies between each tensor core and host memory, by direction.",
        fields,
        |tpu| host_offload(&transfers(tpu).0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_timeline::Interval;

    fn start(expression: &str) -> TpuOp {
        TpuOp { category: "copy-start".into(), expression: expression.into(), ..TpuOp::default() }
    }

    #[test]
    fn the_first_element_of_a_start_is_where_the_data_goes() {
        for (expression, expected) in [
            (
                "%c = (f32[5]{0:T(8,128)}, f32[5]{0:T(8,128)S(5)}, u32[]{:S(2)}) copy-start(f32[5] %p)",
                Direction::HostToDevice,
            ),
            (
                "%c = (f32[5]{0:T(8,128)S(5)}, f32[5]{0:T(8,128)}, u32[]{:S(2)}) copy-start(f32[5] %p)",
                Direction::DeviceToHost,
            ),
            ("%c = (f32[5]{0:S(5)}, f32[5]{0:S(5)}, u32[]) copy-start(%p)", Direction::HostToHost),
            (
                "%c = (f32[5]{0:S(1)}, f32[5]{0}, u32[]{:S(2)}) copy-start(f32[5]{0} %p)",
                Direction::DeviceToDevice,
            ),
            ("", Direction::DeviceToDevice),
        ] {
            assert_eq!(direction(&start(expression)), expected, "{expression}");
        }
        let gather = TpuOp { category: "all-gather-start".into(), ..TpuOp::default() };
        assert_eq!(direction(&gather), Direction::Collective);
    }

    #[test]
    fn coverage_counts_parts_of_intervals() {
        let coverage =
            Coverage::new(&[Interval::between(0, 10), Interval::between(20, 30)].into_iter().collect());
        for (begin, end, covered) in
            [(-5, 0, 0), (-5, 5, 5), (5, 25, 10), (10, 20, 0), (12, 99, 10), (0, 30, 20)]
        {
            assert_eq!(coverage.between(begin, end), covered, "{begin}..{end}");
        }
        assert_eq!(Coverage::new(&IntervalSet::default()).between(0, 9), 0);
    }

    #[test]
    fn operands_are_the_names_behind_the_equals_sign() {
        let text =
            "%copy-done.4 = f32[5]{0} copy-done((f32[5]{0}, u32[]) %copy-start.4), metadata={op=\"%x\"}";
        assert_eq!(operands(text).collect::<Vec<_>>(), ["copy-start.4", "x"]);
        assert_eq!(operands("%lonely").count(), 0);
    }
}
