//! Collectives of the programs.

use std::cmp::Reverse;

use gpu_timeline::Summary;
use perf_models::hlo::ArrayShape;
use trace_ingest::TimeUnit;

use super::{HasCollectives, columns};
use tree_perf::{Column, ColumnKind, Unit};
use ::sheets::percent;
use tree_perf::FrameBuilder;
use crate::collectives::operation::CollectiveOperation;
use crate::collectives::summary::OperationSummary;
use tree_perf::Sheet;

/// One row per collective of a program.
pub(super) const fn sheet<A: HasCollectives>() -> Sheet<A> {
    Sheet {
        name: "collectives",
        current_name: "collectives",
        description: "Collectives of the programs, the most time first: what they exchange by the HLO, and how fast their kernels did it.",
        columns: const {
            &[
                columns::KIND,
                columns::NAME,
                columns::MODULE,
                columns::PROGRAM,
                Column::new(
                    "channel_id",
                    ColumnKind::Identifier,
                    "Channel that ties the instruction to those of other devices.",
                ),
                Column::new(
                    "replica_groups",
                    ColumnKind::Text,
                    "Groups of devices as HLO writes them: lists, {} for all devices, [groups,size]<=[dims]T(permutation) for the numbers from 0 laid out as an array, transposed and cut; pairs of source and target for a permute. Numbers are taken to be ranks.",
                ),
                Column::new("group_size", ColumnKind::Count, "Devices of a group, by the first."),
                Column::new(
                    "num_groups",
                    ColumnKind::Count,
                    "Groups, those without a recorded device included.",
                ),
                Column::new("inputs", ColumnKind::Text, "Type and shape of what a device gives."),
                Column::new("outputs", ColumnKind::Text, "Type and shape of what a device gets."),
                Column::new("input_bytes", ColumnKind::Count, "Bytes that a device gives."),
                Column::new("output_bytes", ColumnKind::Count, "Bytes that a device gets."),
                Column::new(
                    "data_bytes",
                    ColumnKind::Count,
                    "Bytes D that the algorithmic bandwidth is computed from: a device's shard for all-gather, the whole input for reduce-scatter, else the output.",
                ),
                Column::new(
                    "num_slices",
                    ColumnKind::Count,
                    "Executions, each counted once for all devices.",
                ),
                Column::new(
                    "incomplete_slices",
                    ColumnKind::Count,
                    "Executions that lack the kernel of a device whose profile shows other work; their skew and fastest device may be of a part only.",
                ),
                Column::new("num_kernels", ColumnKind::Count, "Kernels of all devices."),
                Column::new(
                    "total_time_ms",
                    ColumnKind::Number(Unit::Milliseconds),
                    "Sum over devices of the kernels' durations in ms, waiting for other devices included.",
                ),
                Column::new(
                    "waiting_ms",
                    ColumnKind::Number(Unit::Milliseconds),
                    "Part of total_time_ms that kernels ran longer than the fastest of their execution: they waited for a device that came later.",
                ),
                Column::new(
                    "exposed_ms",
                    ColumnKind::Number(Unit::Milliseconds),
                    "Part of total_time_ms in which the device computed nothing. Collectives at the same time count each.",
                ),
                columns::EXPOSED_SHARE,
                Column::new(
                    "min_dur_mean_us",
                    ColumnKind::Number(Unit::Microseconds),
                    "Duration in µs of an execution's fastest kernel, mean over executions.",
                ),
                Column::new("min_dur_median_us", ColumnKind::Number(Unit::Microseconds), "The same, median."),
                Column::new("min_dur_min_us", ColumnKind::Number(Unit::Microseconds), "The same, least."),
                Column::new("min_dur_max_us", ColumnKind::Number(Unit::Microseconds), "The same, largest."),
                columns::ALGORITHMIC,
                columns::BUS,
                columns::MESSAGE_BUS,
                Column::new(
                    "bandwidth_min (GiB/s)",
                    ColumnKind::Number(Unit::One),
                    "Least algorithmic bandwidth of a group in an execution, in GiB/s.",
                ),
                Column::new(
                    "bandwidth_max (GiB/s)",
                    ColumnKind::Number(Unit::One),
                    "Largest algorithmic bandwidth of a group in an execution, in GiB/s.",
                ),
                Column::new(
                    "start_skew_mean_us",
                    ColumnKind::Number(Unit::Microseconds),
                    "Latest less earliest start of an execution's kernels on a node in µs, mean over executions.",
                ),
                Column::new(
                    "start_skew_max_us",
                    ColumnKind::Number(Unit::Microseconds),
                    "The same, largest.",
                ),
                Column::new(
                    "end_skew_mean_us",
                    ColumnKind::Number(Unit::Microseconds),
                    "Latest less earliest end of an execution's kernels on a node in µs, mean over executions.",
                ),
            ]
        },
        chart: None,
        build: |of| {
            let Some(collectives) = super::collectives(of) else { return Ok(None) };
            let mut rows: Vec<&OperationSummary> = collectives.by_operation.iter().collect();
            rows.sort_by_key(|row| (Reverse(row.total_duration), row.operation));
            let devices = collectives.devices.total;
            let operation = |row: &OperationSummary| &collectives.operations[row.operation];
            let size = |row: &OperationSummary| operation(row).groups.as_ref()?.group_size(devices);
            let known = |row: &OperationSummary| !operation(row).outputs.is_empty();
            let bytes = |figure: fn(&CollectiveOperation) -> u64| {
                rows.iter()
                    .map(move |row| known(row).then(|| figure(operation(row)).try_into().ok()).flatten())
            };
            let us = |time: f64| time / TimeUnit::Picoseconds.per_microsecond() as f64;
            let of = |times: fn(&OperationSummary) -> &Vec<i64>, figure: fn(&Summary) -> f64| {
                rows.iter().map(move |row| Summary::of(times(row)).map(|summary| us(figure(&summary))))
            };

            let mut frame = FrameBuilder::default();
            columns::identity(&mut frame, collectives, rows.iter().map(|row| row.operation));
            frame.integer("channel_id", rows.iter().map(|row| operation(row).channel));
            frame.text(
                "replica_groups",
                rows.iter().map(|row| operation(row).groups.as_ref().map(ToString::to_string)),
            );
            frame.integer("group_size", rows.iter().map(|row| size(row).map(|size| size as i64)));
            frame.integer(
                "num_groups",
                rows.iter().map(|row| {
                    operation(row)
                        .groups
                        .as_ref()
                        .map(|groups| groups.resolve(&collectives.devices).len() as i64)
                }),
            );
            frame.text("inputs", rows.iter().map(|row| known(row).then(|| texts(&operation(row).inputs))));
            frame.text("outputs", rows.iter().map(|row| known(row).then(|| texts(&operation(row).outputs))));
            frame.integer("input_bytes", bytes(CollectiveOperation::input_bytes));
            frame.integer("output_bytes", bytes(CollectiveOperation::output_bytes));
            frame.integer(
                "data_bytes",
                rows.iter().map(|row| {
                    let data =
                        size(row).filter(|_| known(row)).map(|size| operation(row).data_bytes(size))?;
                    i64::try_from(data).ok()
                }),
            );
            frame.integer("num_slices", rows.iter().map(|row| Some(row.slices as i64)));
            frame.integer("incomplete_slices", rows.iter().map(|row| Some(row.incomplete as i64)));
            frame.integer("num_kernels", rows.iter().map(|row| Some(row.kernels as i64)));
            frame.float("total_time_ms", rows.iter().map(|row| Some(columns::ms(row.total_duration))));
            frame.float("waiting_ms", rows.iter().map(|row| Some(columns::ms(row.waited))));
            frame.float("exposed_ms", rows.iter().map(|row| Some(columns::ms(row.exposed))));
            frame.float("exposed (%)", rows.iter().map(|row| percent(row.exposed, row.total_duration)));
            frame.float("min_dur_mean_us", of(|row| &row.min_durations, |times| times.mean));
            frame.float("min_dur_median_us", of(|row| &row.min_durations, |times| times.median));
            frame.float("min_dur_min_us", of(|row| &row.min_durations, |times| times.min as f64));
            frame.float("min_dur_max_us", of(|row| &row.min_durations, |times| times.max as f64));
            columns::rates(&mut frame, rows.iter().map(|row| row.bandwidth));
            frame.float(
                "bandwidth_min (GiB/s)",
                rows.iter().map(|row| row.algorithmic_range.map(|range| range.0)),
            );
            frame.float(
                "bandwidth_max (GiB/s)",
                rows.iter().map(|row| row.algorithmic_range.map(|range| range.1)),
            );
            frame.float("start_skew_mean_us", of(|row| &row.start_skews, |times| times.mean));
            frame.float("start_skew_max_us", of(|row| &row.start_skews, |times| times.max as f64));
            frame.float("end_skew_mean_us", of(|row| &row.end_skews, |times| times.mean));
            frame.finish().map(Some)
        },
    }
}

fn texts(tensors: &[ArrayShape]) -> String {
    let texts: Vec<String> = tensors.iter().map(ToString::to_string).collect();
    texts.join(", ")
}
