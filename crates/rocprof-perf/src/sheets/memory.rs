//! Memory: what copies moved and how fast, and what was allocated and live at once.

use std::collections::BTreeMap;

use gpu_timeline::{IntervalSet, SortFew, Summary};
use hashbrown::HashMap;
use sheets::ColumnKind::{Number, Whole};
use sheets::Unit::{Bytes, GigabytesPerSecond};
use sheets::{Chart, ChartShape, Column, Sheet};
use trace_ingest::rocprof::{Agent, AgentKind, CopyDirection, MemoryCopy, Profile};
use trace_ingest::{Nanoseconds, StringId};

use crate::analysis::{RocprofAnalysis, interval};
use operator_sheets::durations::{durations, ms};

/// Name of each agent of a profile: kind and number, `GPU 0`, where the file gives both, else what its records call it.
/// Agents that would have one name, as those of several machines do, also have the label that records give them.
fn agent_names(profile: &Profile) -> Vec<String> {
    let plain = |agent: &Agent| match (agent.kind, agent.ordinal) {
        (AgentKind::Cpu, Some(ordinal)) => format!("CPU {ordinal}"),
        (AgentKind::Gpu, Some(ordinal)) => format!("GPU {ordinal}"),
        _ => agent.label.clone(),
    };
    let names: Vec<String> = profile.agents.iter().map(plain).collect();
    let mut bearers: HashMap<&str, usize> = HashMap::new();
    for name in &names {
        *bearers.entry(name.as_str()).or_default() += 1;
    }
    let distinct = |(name, agent): (&String, &Agent)| match bearers.get(name.as_str()) {
        Some(2..) if *name != agent.label => format!("{name} ({})", agent.label),
        _ => name.clone(),
    };
    names.iter().zip(&profile.agents).map(distinct).collect()
}

/// What the rows of copies share: the profile and the names of its agents.
type Agents<'a> = (&'a Profile, Vec<String>);

fn agent<'r>((_, names): &'r Agents<'_>, position: Option<u32>) -> Option<&'r str> {
    names.get(position? as usize).map(String::as_str)
}

const DIRECTION: &str = "direction";
const BANDWIDTH: Column = Column::new(
    "Bandwidth (GB/s)",
    Number(GigabytesPerSecond),
    "Bytes of all copies / sum of their durations (10⁹ bytes).",
);

pub(super) fn copies<'a>() -> Sheet<'a, RocprofAnalysis> {
    let keys = [
        Column::text(DIRECTION, "Source to destination, or the profiler's name for the copy if unknown.")
            .field_in(|(profile, _): &Agents<'_>, row: &CopyRow| {
                let (direction, name, ..) = row.key;
                direction_name(direction).unwrap_or_else(|| profile.text(name)).into()
            }),
        Column::text("source", "Source CPU or GPU; empty if the format lacks it.")
            .field_in(|agents: &Agents<'_>, row: &CopyRow| agent(agents, row.key.2).into()),
        Column::text("destination", "Destination CPU or GPU; empty if the format lacks it.")
            .field_in(|agents: &Agents<'_>, row: &CopyRow| agent(agents, row.key.3).into()),
        Column::text("size", "Range of copy sizes, lower bound inclusive; empty if the format has no sizes.")
            .field(|row: &CopyRow| row.key.4.map(|range| SIZES[range].1).into()),
        Column::count("Count", "Copies.").field(|row: &CopyRow| row.durations.count.into()),
        Column::new("Bytes", Whole(Bytes), "Total bytes of all copies.")
            .field(|row: &CopyRow| row.bytes.into()),
    ];
    let rates = [
        Column::milliseconds(
            "Union Time (ms)",
            "Time with any of the copies running, overlaps counted once.",
        )
        .field(|row: &CopyRow| ms(row.union).into()),
        BANDWIDTH.field(|row: &CopyRow| row.bandwidth(row.durations.sum).into()),
        Column::new(
            "Min Bandwidth (GB/s)",
            Number(GigabytesPerSecond),
            "Bandwidth of the slowest copy, excluding copies without a duration.",
        )
        .spread_of(BANDWIDTH.name)
        .per("copy")
        .field(|row: &CopyRow| row.slowest.into()),
        Column::new(
            "Max Bandwidth (GB/s)",
            Number(GigabytesPerSecond),
            "Bandwidth of the fastest copy, excluding copies without a duration.",
        )
        .spread_of(BANDWIDTH.name)
        .per("copy")
        .field(|row: &CopyRow| row.fastest.into()),
        Column::new(
            "Union Bandwidth (GB/s)",
            Number(GigabytesPerSecond),
            "Bytes of all copies / Union Time: their combined rate.",
        )
        .field(|row: &CopyRow| row.bandwidth(row.union).into()),
    ];
    Sheet::with_context(
        "memory_copy_bandwidth",
        "Memory copies by direction, source, destination and size, in that order. If the format has no sizes, the sheet has only times.",
        keys.into_iter().chain(durations("copy", |row: &CopyRow| &row.durations)).chain(rates),
        |analysis: &'a RocprofAnalysis| {
            let profile = analysis.profile();
            let rows = copy_rows(profile);
            (!rows.is_empty()).then(|| ((profile, agent_names(profile)), rows))
        },
    )
    .with_chart(
        Chart::new("Copy bandwidth", DIRECTION, BANDWIDTH.name, "bandwidth (GB/s)", ChartShape::Bars(20))
            .told_by(&["source", "destination", "size"]),
    )
}

/// Ranges of sizes: upper bound in bytes, excluded, and name.
const SIZES: [(u64, &str); 6] = [
    (4 << 10, "< 4 KiB"),
    (64 << 10, "4 KiB - 64 KiB"),
    (1 << 20, "64 KiB - 1 MiB"),
    (16 << 20, "1 MiB - 16 MiB"),
    (256 << 20, "16 MiB - 256 MiB"),
    (u64::MAX, ">= 256 MiB"),
];

/// Position in [`SIZES`].
fn size_range(bytes: u64) -> usize {
    SIZES.iter().position(|&(end, _)| bytes < end).unwrap_or(SIZES.len() - 1)
}

fn direction_name(direction: CopyDirection) -> Option<&'static str> {
    match direction {
        CopyDirection::HostToHost => Some("host to host"),
        CopyDirection::HostToDevice => Some("host to device"),
        CopyDirection::DeviceToHost => Some("device to host"),
        CopyDirection::DeviceToDevice => Some("device to device"),
        CopyDirection::Other => None,
    }
}

/// What a row is: direction, name where the direction says nothing, source, destination, range of sizes.
type CopyKey = (CopyDirection, StringId, Option<u32>, Option<u32>, Option<usize>);

struct CopyRow {
    key: CopyKey,
    durations: Summary,
    bytes: Option<u64>,
    /// Time during which any of the copies ran, in nanoseconds.
    union: i64,
    /// Of single copies, in GB/s.
    slowest: Option<f64>,
    fastest: Option<f64>,
}

impl CopyRow {
    fn new(key: CopyKey, copies: &[&MemoryCopy]) -> Option<Self> {
        let durations: Vec<i64> = copies.iter().map(|copy| copy.duration().0).collect();
        let span = |copy: &&MemoryCopy| interval(copy.start, copy.end);
        let rates = || {
            let timed = copies.iter().filter(|copy| copy.duration() > Nanoseconds(0));
            timed.filter_map(|copy| Some(copy.bytes? as f64 / copy.duration().0 as f64))
        };
        let add = |sum: u64, copy: &&MemoryCopy| copy.bytes.map(|bytes| sum.saturating_add(bytes));
        Some(CopyRow {
            key,
            durations: Summary::from_values(&durations)?,
            bytes: copies.iter().try_fold(0, add),
            union: copies.iter().map(span).collect::<IntervalSet>().total_length(),
            slowest: rates().reduce(f64::min),
            fastest: rates().reduce(f64::max),
        })
    }

    /// In bytes per nanosecond, which is GB/s.
    fn bandwidth(&self, time: i64) -> Option<f64> {
        self.bytes.filter(|_| time > 0).map(|bytes| bytes as f64 / time as f64)
    }
}

fn copy_rows(profile: &Profile) -> Vec<CopyRow> {
    let mut groups: HashMap<CopyKey, Vec<&MemoryCopy>> = HashMap::new();
    for copy in &profile.copies {
        let name = if copy.direction == CopyDirection::Other { copy.name } else { StringId::EMPTY };
        let key = (copy.direction, name, copy.source, copy.destination, copy.bytes.map(size_range));
        groups.entry(key).or_default().push(copy);
    }
    let rows = groups.into_iter().filter_map(|(key, copies)| CopyRow::new(key, &copies));
    let mut rows: Vec<CopyRow> = rows.collect();
    rows.sort_few_by_key(|row| row.key);
    rows
}

pub(super) fn allocations<'a>() -> Sheet<'a, RocprofAnalysis> {
    let keys = [
        Column::text(
            "agent",
            "CPU or GPU that owns the memory (for frees, according to the allocation); empty if unknown.",
        )
        .field_in(|agents: &Agents<'_>, row: &AllocationRow<'_>| agent(agents, row.agent).into()),
        Column::text("operation", "Operation, as named by the profiler.")
            .field(|row: &AllocationRow<'_>| row.operation.into()),
        Column::count("Count", "Operations.").field(|row: &AllocationRow<'_>| row.durations.count.into()),
        Column::new("Bytes", Whole(Bytes), "Bytes allocated or freed.")
            .field(|row: &AllocationRow<'_>| row.operations.bytes.into()),
        Column::count(
            "Unknown Addresses",
            "Number of frees of an address without a recorded allocation; their bytes are unknown.",
        )
        .field(|row: &AllocationRow<'_>| row.operations.unknown.into()),
    ];
    let live = [
        Column::new("Peak Live Bytes", Whole(Bytes), "Peak bytes allocated and not yet freed on the agent, the same in all its rows; empty without allocation addresses, and for a window, because memory may have been allocated before it.").per("moment").field(|row: &AllocationRow<'_>| row.live.map(|live| live.peak).into()),
        Column::new("Live Bytes at End", Whole(Bytes), "Bytes allocated and never freed on the agent, the same in all its rows; empty if the peak is empty.").field(|row: &AllocationRow<'_>| row.live.map(|live| live.now).into()),
    ];
    Sheet::with_context(
        "memory_allocations",
        "Memory allocations by agent and operation. Frees are matched to allocations by process and address, in time order.",
        keys.into_iter().chain(durations("operation", |row: &AllocationRow<'_>| &row.durations)).chain(live),
        |analysis: &'a RocprofAnalysis| {
            let profile = analysis.profile();
            let mut rows = allocation_rows(profile);
            rows.iter_mut().for_each(|row| row.live = row.live.filter(|_| !analysis.is_window()));
            (!rows.is_empty()).then(|| ((profile, agent_names(profile)), rows))
        },
    )
}

struct AllocationRow<'a> {
    agent: Option<u32>,
    operation: &'a str,
    durations: Summary,
    operations: Operations,
    live: Option<Live>,
}

fn allocation_rows(profile: &Profile) -> Vec<AllocationRow<'_>> {
    let Usage { rows, live } = Usage::new(profile);
    let row = |((agent, name), operations): ((Option<u32>, StringId), Operations)| {
        let (operation, live) = (profile.strings.get(name), live.get(&agent).copied());
        let durations = Summary::from_values(&operations.durations)?;
        Some(AllocationRow { agent, operation, durations, operations, live })
    };
    let mut rows: Vec<AllocationRow<'_>> = rows.into_iter().filter_map(row).collect();
    rows.sort_few_by_key(|row| (row.agent, row.operation));
    rows
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Allocate,
    Free,
    Other,
}

impl Operation {
    /// By the profiler's name: `MEMORY_ALLOCATION_VMEM_ALLOCATE`, `FREE`.
    fn from_name(name: &str) -> Self {
        let name = name.to_ascii_uppercase();
        let name = name.trim_start_matches("MEMORY_ALLOCATION_");
        if name.contains("FREE") || name.contains("RECLAIM") {
            Operation::Free
        } else if name.contains("ALLOC") {
            Operation::Allocate
        } else {
            Operation::Other
        }
    }
}

/// Operations of one name on an agent.
#[derive(Default)]
struct Operations {
    durations: Vec<i64>,
    bytes: u64,
    unknown: i64,
}

/// Bytes of an agent that are allocated.
#[derive(Clone, Copy, Default)]
struct Live {
    now: u64,
    peak: u64,
}

/// Agents and operations, each with its figures; and agents with addresses, each with what was live.
#[derive(Default)]
struct Usage {
    rows: BTreeMap<(Option<u32>, StringId), Operations>,
    live: BTreeMap<Option<u32>, Live>,
}

impl Usage {
    fn new(profile: &Profile) -> Self {
        let mut usage = Usage::default();
        let mut held: HashMap<(u32, u64), (Option<u32>, u64)> = HashMap::new();
        let mut records: Vec<_> = profile.allocations.iter().collect();
        records.sort_by_key(|record| record.start);
        for record in records {
            // A null pointer is no memory: allocations that failed have one, and freeing one does nothing.
            let address = Some((record.process, record.address)).filter(|_| record.address != 0);
            let (mut agent, mut bytes, mut unknown) = (record.agent, record.bytes, 0);
            match Operation::from_name(profile.strings.get(record.name)) {
                Operation::Allocate => {
                    if let Some(address) = address {
                        // The end of what was there before was not recorded.
                        if let Some((agent, bytes)) = held.insert(address, (agent, bytes)) {
                            usage.release(agent, bytes);
                        }
                        usage.take(agent, bytes);
                    }
                }
                Operation::Free => match address.map(|address| held.remove(&address)) {
                    Some(Some(allocated)) => {
                        (agent, bytes) = allocated;
                        usage.release(agent, bytes);
                    }
                    Some(None) => unknown = 1,
                    None => {}
                },
                Operation::Other => {}
            }
            let row = usage.rows.entry((agent, record.name)).or_default();
            row.durations.push(record.duration().0);
            row.bytes = row.bytes.saturating_add(bytes);
            row.unknown += unknown;
        }
        usage
    }

    fn take(&mut self, agent: Option<u32>, bytes: u64) {
        let live = self.live.entry(agent).or_default();
        live.now = live.now.saturating_add(bytes);
        live.peak = live.peak.max(live.now);
    }

    fn release(&mut self, agent: Option<u32>, bytes: u64) {
        let live = self.live.entry(agent).or_default();
        live.now = live.now.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_named_by_kind_and_number_or_else_by_label() {
        let agent =
            |kind, label: &str, ordinal| Agent { kind, label: label.into(), ordinal, ..Agent::default() };
        let profile = Profile {
            agents: vec![
                agent(AgentKind::Cpu, "100", Some(0)),
                agent(AgentKind::Gpu, "101", Some(0)),
                agent(AgentKind::Gpu, "102", Some(1)),
                agent(AgentKind::Gpu, "201", Some(1)),
                agent(AgentKind::Gpu, "Agent 9", None),
                agent(AgentKind::Unknown, "7", Some(3)),
            ],
            ..Profile::default()
        };
        let names = ["CPU 0", "GPU 0", "GPU 1 (102)", "GPU 1 (201)", "Agent 9", "7"];
        assert_eq!(agent_names(&profile), names);
    }

    #[test]
    fn a_range_of_sizes_holds_its_lower_bound() {
        for (bytes, name) in [
            (0, "< 4 KiB"),
            (4095, "< 4 KiB"),
            (4096, "4 KiB - 64 KiB"),
            (65_536, "64 KiB - 1 MiB"),
            (1 << 20, "1 MiB - 16 MiB"),
            ((256 << 20) - 1, "16 MiB - 256 MiB"),
            (u64::MAX, ">= 256 MiB"),
        ] {
            assert_eq!(SIZES[size_range(bytes)].1, name, "{bytes}");
        }
    }

    #[test]
    fn operations_are_told_by_the_profilers_names() {
        for (name, operation) in [
            ("MEMORY_ALLOCATION_NONE", Operation::Other),
            ("MEMORY_ALLOCATION_ALLOCATE", Operation::Allocate),
            ("MEMORY_ALLOCATION_VMEM_ALLOCATE", Operation::Allocate),
            ("MEMORY_ALLOCATION_FREE", Operation::Free),
            ("MEMORY_ALLOCATION_VMEM_FREE", Operation::Free),
            ("ALLOC", Operation::Allocate),
            ("FREE", Operation::Free),
            ("RECLAIM", Operation::Free),
            ("", Operation::Other),
        ] {
            assert_eq!(Operation::from_name(name), operation, "{name}");
        }
    }
}
