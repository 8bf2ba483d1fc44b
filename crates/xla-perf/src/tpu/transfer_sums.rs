//! Sums over asynchronous operations: by operation, and by core and direction for copies from and to the host.

use std::collections::BTreeMap;

use gpu_timeline::{Interval, busy_time};

use super::async_copies::{Direction, Transfer};
use super::peaks::giga_to_gibi;
use super::profile::TpuOp;
use super::rates::ratio;

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
    /// Time in flight, summed, in picoseconds.
    pub in_flight_ps: u64,
    /// Shortest time in flight, in picoseconds.
    pub min_ps: u64,
    /// Longest time in flight, in picoseconds.
    pub max_ps: u64,
    /// Time that a core did nothing but start it or wait for its end, summed, in picoseconds.
    pub exposed_ps: u64,
    /// Time in flight in which the core computed, summed, in picoseconds.
    pub hidden_ps: u64,
    /// Time in flight that the core spent otherwise, summed, in picoseconds.
    pub other_ps: u64,
}

impl AsyncCopyRow<'_> {
    /// Bytes over the time in flight, in GiB/s.
    #[must_use]
    pub fn bandwidth(&self) -> f64 {
        giga_to_gibi(ratio(self.bytes as f64 * 1e3, self.in_flight_ps as f64))
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
            in_flight_ps: 0,
            min_ps: u64::MAX,
            max_ps: 0,
            exposed_ps: 0,
            hidden_ps: 0,
            other_ps: 0,
        });
        let in_flight_ps = transfer.span.duration_ps;
        row.count += 1;
        row.bytes += u128::from(transfer.bytes);
        row.in_flight_ps += in_flight_ps;
        row.min_ps = row.min_ps.min(in_flight_ps);
        row.max_ps = row.max_ps.max(in_flight_ps);
        row.exposed_ps += transfer.exposed_ps;
        row.hidden_ps += transfer.hidden_ps;
        row.other_ps += transfer.other_ps;
    }
    let mut rows: Vec<AsyncCopyRow<'a>> = rows.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.exposed_ps));
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
    /// Time in which one was in flight, in picoseconds.
    pub busy_ps: u64,
    /// Time that the core waited for them, in picoseconds.
    pub exposed_ps: u64,
}

impl HostOffloadRow {
    /// Bytes over the time in which a copy was in flight, in GB/s. Copies of both directions share a link, and a copy
    /// counts from its start although it may have waited for those before it, so the link can be faster.
    #[must_use]
    pub fn bandwidth(&self) -> f64 {
        ratio(self.bytes as f64 * 1e3, self.busy_ps as f64)
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
        let spans =
            group.iter().map(|transfer| Interval::new(transfer.span.start_ps, transfer.span.end_ps()));
        HostOffloadRow {
            core,
            direction,
            count: group.len() as u64,
            bytes: group.iter().map(|transfer| u128::from(transfer.bytes)).sum(),
            busy_ps: busy_time(spans, &mut Vec::new()).unsigned_abs(),
            exposed_ps: group.iter().map(|transfer| transfer.exposed_ps).sum(),
        }
    });
    rows.collect()
}
