//! Allocations of device memory, and how much was live at once.

use std::collections::BTreeMap;

use gpu_timeline::Summary;
use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::StringId;
use trace_ingest::rocprof::Profile;

use super::agent_names::agent_names;
use super::statistics::{MAX, MEAN, MEDIAN, MIN, STD, TOTAL, append_durations, whole};
use crate::column::{Column, ColumnKind};
use crate::frame::FrameBuilder;
use crate::rocprof::RocprofAnalysis;
use crate::sheet::Sheet;

/// One row per agent and operation.
pub(in crate::rocprof) const SHEET: Sheet<RocprofAnalysis> = Sheet {
    name: "memory_allocations",
    current_name: "memory_allocations",
    description: "Allocations of memory by agent and operation. What an operation frees is found by process and address, in time order.",
    columns: &[
        Column::new(
            "agent",
            ColumnKind::Text,
            "CPU or GPU that the memory belongs to, of memory that is freed by its allocation; empty where neither says.",
        ),
        Column::new("operation", ColumnKind::Text, "The profiler's name of the operation."),
        Column::new("Count", ColumnKind::Count, "Operations."),
        Column::new("Bytes", ColumnKind::Count, "Bytes that were allocated or freed."),
        Column::new(
            "Unknown Addresses",
            ColumnKind::Count,
            "Operations that free an address of which the profile has no allocation; their bytes are not known.",
        ),
        TOTAL,
        MEAN,
        MEDIAN,
        STD,
        MIN,
        MAX,
        Column::new(
            "Peak Live Bytes",
            ColumnKind::Count,
            "Most bytes of the agent that were allocated and not yet freed at a time, the same in all of its rows; empty where the profile gives no address of an allocation.",
        ),
        Column::new(
            "Live Bytes at End",
            ColumnKind::Count,
            "Bytes of the agent that were allocated and never freed, the same in all of its rows.",
        ),
    ],
    chart: None,
    build,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Allocate,
    Free,
    Other,
}

impl Operation {
    /// By the profiler's name: `MEMORY_ALLOCATION_VMEM_ALLOCATE`, `FREE`.
    fn of_name(name: &str) -> Self {
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

#[derive(Default)]
struct Row {
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
    rows: BTreeMap<(Option<u32>, StringId), Row>,
    live: BTreeMap<Option<u32>, Live>,
}

impl Usage {
    fn of(profile: &Profile) -> Self {
        let mut usage = Usage::default();
        let mut held: HashMap<(u32, u64), (Option<u32>, u64)> = HashMap::new();
        let mut records: Vec<_> = profile.allocations.iter().collect();
        records.sort_by_key(|record| record.start);
        for record in records {
            // A null pointer is no memory: allocations that failed have one, and freeing one does nothing.
            let address = Some((record.process, record.address)).filter(|_| record.address != 0);
            let (mut agent, mut bytes, mut unknown) = (record.agent, record.bytes, 0);
            match Operation::of_name(profile.strings.get(record.name)) {
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
            row.durations.push(record.end.saturating_sub(record.start));
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

fn build(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    let profile = analysis.profile();
    let usage = Usage::of(profile);
    if usage.rows.is_empty() {
        return Ok(None);
    }
    let agents = agent_names(profile);
    let mut rows: Vec<(Option<u32>, &str, Summary, &Row)> = usage
        .rows
        .iter()
        .filter_map(|(&(agent, name), row)| {
            Some((agent, profile.strings.get(name), Summary::of(&row.durations)?, row))
        })
        .collect();
    rows.sort_by_key(|&(agent, name, ..)| (agent, name));
    let live = |agent: &Option<u32>| usage.live.get(agent);

    let mut frame = FrameBuilder::default();
    frame.text("agent", rows.iter().map(|row| row.0.and_then(|agent| agents.get(agent as usize))));
    frame.text("operation", rows.iter().map(|row| Some(row.1)));
    frame.integer("Count", rows.iter().map(|row| Some(row.2.count as i64)));
    frame.integer("Bytes", rows.iter().map(|row| whole(row.3.bytes)));
    frame.integer("Unknown Addresses", rows.iter().map(|row| Some(row.3.unknown)));
    append_durations(&mut frame, &rows.iter().map(|row| row.2).collect::<Vec<_>>());
    frame.integer("Peak Live Bytes", rows.iter().map(|row| live(&row.0).and_then(|live| whole(live.peak))));
    frame.integer("Live Bytes at End", rows.iter().map(|row| live(&row.0).and_then(|live| whole(live.now))));
    frame.finish().map(Some)
}

#[cfg(test)]
mod tests {
    use super::Operation;

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
            assert_eq!(Operation::of_name(name), operation, "{name}");
        }
    }
}
