//! Executions of collectives.

use super::{HasCollectives, columns};
use tree_perf::{Column, ColumnKind, Unit};
use tree_perf::FrameBuilder;
use tree_perf::Sheet;

/// One row per execution of a collective.
pub(super) const fn sheet<A: HasCollectives>() -> Sheet<A> {
    Sheet {
        name: "collective_slices",
        current_name: "collective_slices",
        description: "Executions of collectives in the order of their starts: the kernels of all devices that are one exchange.",
        columns: const {
            &[
                columns::KIND,
                columns::NAME,
                columns::MODULE,
                columns::PROGRAM,
                Column::new(
                    "slice",
                    ColumnKind::Identifier,
                    "Number of the execution among those of the collective, from 0.",
                ),
                Column::new(
                    "start_ms",
                    ColumnKind::Number(Unit::Milliseconds),
                    "Earliest start in ms since the first event of the profile; of several profiles, the least of their numbers, for each host has a clock of its own.",
                ),
                Column::new("num_devices", ColumnKind::Count, "Devices whose kernel the profile shows."),
                Column::new(
                    "missing_devices",
                    ColumnKind::Count,
                    "Devices of the groups that the profile shows at other work but not in this execution.",
                ),
                Column::new(
                    "fastest_device",
                    ColumnKind::Identifier,
                    "Rank of the device that ran the shortest: it entered last and did not wait. Of several groups, that of the first.",
                ),
                Column::new("min_dur_us", ColumnKind::Number(Unit::Microseconds), "Shortest duration in µs."),
                Column::new("max_dur_us", ColumnKind::Number(Unit::Microseconds), "Longest duration in µs."),
                Column::new(
                    "start_skew_us",
                    ColumnKind::Number(Unit::Microseconds),
                    "Latest less earliest start on a node in µs; empty for one device.",
                ),
                Column::new(
                    "end_skew_us",
                    ColumnKind::Number(Unit::Microseconds),
                    "Latest less earliest end on a node in µs; empty for one device.",
                ),
                Column::new(
                    "exposed_us",
                    ColumnKind::Number(Unit::Microseconds),
                    "Time in µs in which the device computed nothing, mean over the devices.",
                ),
                columns::ALGORITHMIC,
                columns::BUS,
                columns::MESSAGE_BUS,
            ]
        },
        chart: None,
        build: |of| {
            let Some(collectives) = super::collectives(of) else { return Ok(None) };
            let mut rows: Vec<_> = collectives.slices.iter().collect();
            rows.sort_by_key(|row| (row.start, row.operation, row.index));
            let us = |time: i64| Some(columns::us(time));
            let mut frame = FrameBuilder::default();
            columns::identity(&mut frame, collectives, rows.iter().map(|row| row.operation));
            frame.integer("slice", rows.iter().map(|row| Some(row.index as i64)));
            frame.float("start_ms", rows.iter().map(|row| Some(columns::ms(row.start))));
            frame.integer("num_devices", rows.iter().map(|row| Some(row.ranks.len() as i64)));
            frame.integer("missing_devices", rows.iter().map(|row| Some(row.missing as i64)));
            frame.integer(
                "fastest_device",
                rows.iter().map(|row| i64::try_from(row.groups.first()?.fastest).ok()),
            );
            frame.float("min_dur_us", rows.iter().map(|row| us(row.min_duration)));
            frame.float("max_dur_us", rows.iter().map(|row| us(row.max_duration)));
            frame.float("start_skew_us", rows.iter().map(|row| us(row.start_skew?)));
            frame.float("end_skew_us", rows.iter().map(|row| us(row.end_skew?)));
            frame.float(
                "exposed_us",
                rows.iter().map(|row| us(row.exposed).map(|time| time / row.ranks.len() as f64)),
            );
            columns::rates(&mut frame, rows.iter().map(|row| row.bandwidth));
            frame.finish().map(Some)
        },
    }
}
