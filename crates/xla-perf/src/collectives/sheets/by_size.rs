//! Collectives by the size of their buffers.

use super::{HasCollectives, columns};
use tree_perf::{Column, ColumnKind, Unit};
use ::sheets::percent;
use tree_perf::FrameBuilder;
use crate::collectives::buffers::{BufferedCollective, buffered, by_range, by_size};
use crate::collectives::collective_analysis::CollectiveAnalysis;
use tree_perf::Sheet;

const BASE: Column = columns::KIND.named("base_collective");
const SIZE: Column = Column::new(
    "buffer_size_kb",
    ColumnKind::Number(Unit::One),
    "Size in KiB of the buffer that the collective fills on a device, by the HLO.",
);
const TIME: Column = Column::new(
    "time_ms",
    ColumnKind::Number(Unit::Milliseconds),
    "Sum in ms over executions of the duration on the fastest device.",
);
const SHARE: Column = Column::new(
    "percent",
    ColumnKind::Number(Unit::Percent),
    "Share of time_ms of all rows of the same base_collective, in percent.",
);

/// One row per collective.
pub(super) const fn buffers<A: HasCollectives>() -> Sheet<A> {
    Sheet {
        name: "collective_buffers",
        current_name: "collective_buffers",
        description: "Collectives with the size of their buffers, by kind; those without a known buffer are left out.",
        columns: const {
            &[
                BASE,
                columns::NAME,
                columns::MODULE,
                columns::PROGRAM,
                Column::new(
                    "latency_us",
                    ColumnKind::Number(Unit::Microseconds),
                    "Shortest duration in µs of any execution on any device.",
                ),
                SIZE,
                Column::new(
                    "effective_bw (GB/s)",
                    ColumnKind::Number(Unit::One),
                    "Buffer size over latency in GB/s (10⁹ bytes); of a reduce-scatter, whose buffer is a device's shard, times the devices of a group.",
                ),
                TIME,
            ]
        },
        chart: None,
        build: |of| {
            let Some((collectives, rows)) = rows(of) else { return Ok(None) };
            let operation = |row: &BufferedCollective| &collectives.operations[row.operation];
            let program = |row: &BufferedCollective| &collectives.programs[row.operation];
            let mut frame = FrameBuilder::default();
            frame.text("base_collective", rows.iter().map(|row| Some(row.kind.name())));
            frame.text("collective_name", rows.iter().map(|row| Some(&operation(row).name)));
            frame.text(
                "module",
                rows.iter().map(|row| Some(&program(row).module).filter(|name| !name.is_empty())),
            );
            frame.text("program_id", rows.iter().map(|row| program(row).program.map(|id| id.to_string())));
            frame.float("latency_us", rows.iter().map(|row| Some(columns::us(row.latency))));
            frame.float("buffer_size_kb", rows.iter().map(|row| Some(row.bytes as f64 / 1024.0)));
            frame.float("effective_bw (GB/s)", rows.iter().map(|row| row.bandwidth));
            frame.float("time_ms", rows.iter().map(|row| Some(columns::ms(row.time))));
            frame.finish().map(Some)
        },
    }
}

/// One row per kind and size.
pub(super) const fn sizes<A: HasCollectives>() -> Sheet<A> {
    Sheet {
        name: "collective_buffer_sizes",
        current_name: "collective_buffer_sizes",
        description: "Collectives by kind and size of their buffers, the smallest first: which sizes take the time.",
        columns: const {
            &[
                BASE,
                SIZE,
                Column::new("count", ColumnKind::Count, "Collectives with a buffer of this size."),
                TIME,
                SHARE,
                Column::new(
                    "effective_bw_mean (GB/s)",
                    ColumnKind::Number(Unit::One),
                    "Mean of their effective bandwidths in GB/s, see the sheet collective_buffers.",
                ),
                Column::new(
                    "effective_bw_std (GB/s)",
                    ColumnKind::Number(Unit::One),
                    "Standard deviation (of the population) of the same.",
                ),
            ]
        },
        chart: None,
        build: |of| {
            let Some((_, rows)) = rows(of) else { return Ok(None) };
            let sizes = by_size(&rows);
            let mut frame = FrameBuilder::default();
            frame.text("base_collective", sizes.iter().map(|size| Some(size.kind.name())));
            frame.float("buffer_size_kb", sizes.iter().map(|size| Some(size.bytes as f64 / 1024.0)));
            frame.integer("count", sizes.iter().map(|size| Some(size.count as i64)));
            frame.float("time_ms", sizes.iter().map(|size| Some(columns::ms(size.time))));
            frame.float("percent", shares(sizes.iter().map(|size| (size.kind, size.time))));
            frame.float(
                "effective_bw_mean (GB/s)",
                sizes.iter().map(|size| size.bandwidth.map(|rates| rates.mean)),
            );
            frame.float(
                "effective_bw_std (GB/s)",
                sizes.iter().map(|size| size.bandwidth.map(|rates| rates.std)),
            );
            frame.finish().map(Some)
        },
    }
}

/// One row per kind and range of bandwidth.
pub(super) const fn ranges<A: HasCollectives>() -> Sheet<A> {
    Sheet {
        name: "collective_bw_ranges",
        current_name: "collective_bw_ranges",
        description: "Time of collectives by kind and range of effective bandwidth; ranges that nothing lies in are left out.",
        columns: const {
            &[
                BASE,
                Column::new(
                    "bandwidth_range (GB/s)",
                    ColumnKind::Text,
                    "Range of the effective bandwidth in GB/s, lower end included.",
                ),
                Column::new("count", ColumnKind::Count, "Collectives in the range."),
                TIME,
                SHARE,
            ]
        },
        chart: None,
        build: |of| {
            let Some((_, rows)) = rows(of) else { return Ok(None) };
            let ranges = by_range(&rows);
            if ranges.is_empty() {
                return Ok(None);
            }
            let mut frame = FrameBuilder::default();
            frame.text("base_collective", ranges.iter().map(|range| Some(range.kind.name())));
            frame.text("bandwidth_range (GB/s)", ranges.iter().map(|range| Some(range.text())));
            frame.integer("count", ranges.iter().map(|range| Some(range.count as i64)));
            frame.float("time_ms", ranges.iter().map(|range| Some(columns::ms(range.time))));
            frame.float("percent", shares(ranges.iter().map(|range| (range.kind, range.time))));
            frame.finish().map(Some)
        },
    }
}

/// The collectives with known buffers; `None` where there are none.
fn rows<A: HasCollectives>(of: &A) -> Option<(&CollectiveAnalysis, Vec<BufferedCollective>)> {
    let collectives = super::collectives(of)?;
    let rows = buffered(&collectives.by_operation, &collectives.operations, collectives.devices.total);
    (!rows.is_empty()).then_some((collectives, rows))
}

/// Each time as a share of all with the same key.
fn shares<K: PartialEq>(times: impl Iterator<Item = (K, i64)> + Clone) -> impl Iterator<Item = Option<f64>> {
    times.clone().map(move |(key, time)| {
        let of_key = times.clone().filter(|(other, _)| *other == key).map(|(_, time)| time);
        percent(time, of_key.sum())
    })
}
