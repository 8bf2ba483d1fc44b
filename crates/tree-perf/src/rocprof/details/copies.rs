//! What memory copies moved, and how fast.

use gpu_timeline::{Interval, IntervalSet, Summary};
use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::StringId;
use trace_ingest::rocprof::{CopyDirection, MemoryCopy, Profile};

use super::agent_names::agent_names;
use super::statistics::{MAX, MEAN, MEDIAN, MIN, STD, TOTAL, append_durations, ms, whole};
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::rocprof::RocprofAnalysis;
use crate::sheet::Sheet;

/// One row per direction, agents and range of sizes.
pub(in crate::rocprof) const SHEET: Sheet<RocprofAnalysis> = Sheet {
    name: "memory_copy_bandwidth",
    current_name: "memory_copy_bandwidth",
    description: "Memory copies by direction, source, destination and size, in that order; copies whose size the format does not give have times only.",
    columns: &[
        Column::new(
            "direction",
            ColumnKind::Text,
            "From where to where; the profiler's name of the copy where that does not say.",
        ),
        Column::new(
            "source",
            ColumnKind::Text,
            "CPU or GPU whose memory was read; empty where the format does not say.",
        ),
        Column::new(
            "destination",
            ColumnKind::Text,
            "CPU or GPU whose memory was written; empty where the format does not say.",
        ),
        Column::new(
            "size",
            ColumnKind::Text,
            "Range of sizes of a copy, the lower bound included; empty where the format does not give sizes.",
        ),
        Column::new("Count", ColumnKind::Count, "Copies."),
        Column::new("Bytes", ColumnKind::Count, "Bytes of all of them."),
        TOTAL,
        MEAN,
        MEDIAN,
        STD,
        MIN,
        MAX,
        Column::new(
            "Union Time (ms)",
            ColumnKind::Number(Unit::Milliseconds),
            "Time in ms during which any of the copies ran, overlaps counted once.",
        ),
        Column::new(
            "Bandwidth (GB/s)",
            ColumnKind::Number(Unit::One),
            "Bytes of all copies over the sum of their durations, in GB/s (10⁹ bytes).",
        ),
        Column::new(
            "Min Bandwidth (GB/s)",
            ColumnKind::Number(Unit::One),
            "The same of the slowest copy; copies without a duration are left out.",
        ),
        Column::new(
            "Max Bandwidth (GB/s)",
            ColumnKind::Number(Unit::One),
            "The same of the fastest copy; copies without a duration are left out.",
        ),
        Column::new(
            "Union Bandwidth (GB/s)",
            ColumnKind::Number(Unit::One),
            "Bytes of all copies over Union Time, in GB/s: what they reached together.",
        ),
    ],
    chart: None,
    build,
};

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
type Key = (CopyDirection, StringId, Option<u32>, Option<u32>, Option<usize>);

struct Row {
    key: Key,
    durations: Summary,
    bytes: Option<u64>,
    /// Time during which any of the copies ran, in nanoseconds.
    union: i64,
    /// Of single copies, in bytes per nanosecond, which is GB/s.
    slowest: Option<f64>,
    fastest: Option<f64>,
}

impl Row {
    fn of(key: Key, copies: &[&MemoryCopy]) -> Option<Self> {
        let durations: Vec<i64> = copies.iter().map(|copy| copy.duration()).collect();
        let span = |copy: &&MemoryCopy| Interval::new(copy.start, copy.end);
        let rates = || {
            let timed = copies.iter().filter(|copy| copy.duration() > 0);
            timed.filter_map(|copy| Some(copy.bytes? as f64 / copy.duration() as f64))
        };
        let add = |sum: u64, copy: &&MemoryCopy| copy.bytes.map(|bytes| sum.saturating_add(bytes));
        Some(Row {
            key,
            durations: Summary::of(&durations)?,
            bytes: copies.iter().try_fold(0, add),
            union: copies.iter().map(span).collect::<IntervalSet>().total_length(),
            slowest: rates().reduce(f64::min),
            fastest: rates().reduce(f64::max),
        })
    }

    /// In bytes per nanosecond.
    fn bandwidth(&self, time: i64) -> Option<f64> {
        self.bytes.filter(|_| time > 0).map(|bytes| bytes as f64 / time as f64)
    }
}

fn rows(profile: &Profile) -> Vec<Row> {
    let mut groups: HashMap<Key, Vec<&MemoryCopy>> = HashMap::new();
    for copy in &profile.copies {
        let name = if copy.direction == CopyDirection::Other { copy.name } else { StringId::EMPTY };
        let key = (copy.direction, name, copy.source, copy.destination, copy.bytes.map(size_range));
        groups.entry(key).or_default().push(copy);
    }
    let mut rows: Vec<Row> = groups.into_iter().filter_map(|(key, copies)| Row::of(key, &copies)).collect();
    rows.sort_by_key(|row| row.key);
    rows
}

fn build(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    let profile = analysis.profile();
    let rows = rows(profile);
    if rows.is_empty() {
        return Ok(None);
    }
    let agents = agent_names(profile);
    let agent = |position: Option<u32>| position.and_then(|position| agents.get(position as usize));
    let mut frame = FrameBuilder::default();
    frame.text(
        "direction",
        rows.iter().map(|row| direction_name(row.key.0).or_else(|| Some(profile.strings.get(row.key.1)))),
    );
    frame.text("source", rows.iter().map(|row| agent(row.key.2)));
    frame.text("destination", rows.iter().map(|row| agent(row.key.3)));
    frame.text("size", rows.iter().map(|row| row.key.4.map(|range| SIZES[range].1)));
    frame.integer("Count", rows.iter().map(|row| Some(row.durations.count as i64)));
    frame.integer("Bytes", rows.iter().map(|row| row.bytes.and_then(whole)));
    append_durations(&mut frame, &rows.iter().map(|row| row.durations).collect::<Vec<_>>());
    frame.float("Union Time (ms)", rows.iter().map(|row| Some(ms(row.union))));
    frame.float("Bandwidth (GB/s)", rows.iter().map(|row| row.bandwidth(row.durations.sum)));
    frame.float("Min Bandwidth (GB/s)", rows.iter().map(|row| row.slowest));
    frame.float("Max Bandwidth (GB/s)", rows.iter().map(|row| row.fastest));
    frame.float("Union Bandwidth (GB/s)", rows.iter().map(|row| row.bandwidth(row.union)));
    frame.finish().map(Some)
}

#[cfg(test)]
mod tests {
    use super::{SIZES, size_range};

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
}
