//! Asynchronous operations: in flight, hidden, exposed.

use polars::prelude::{DataFrame, PolarsResult};

use super::field::{Field, columns, field, frame};
use super::summed;
use tree_perf::{Column, ColumnKind, Unit};
use crate::analysis::JaxAnalysis;
use crate::tpu::{AsyncCopyRow, async_copies, transfers};
use tree_perf::{ChartShape, Sheet, SheetChart};

const COLUMNS: &[Column] = &columns(&fields());

pub(super) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "async_copies",
    current_name: "async_copies",
    description: "Copies and exchanges that run beside the operations of a core, from the operation that starts each to the one that waits for its end, all cores together, most exposed time first; by the clock of the device.",
    columns: COLUMNS,
    chart: Some(SheetChart {
        title: "Asynchronous copies by exposed time",
        categories: "Done op",
        values: "Exposed (us)",
        axis: "exposed time (µs)",
        shape: ChartShape::Bars(10),
    }),
    build,
};

fn build(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    summed(analysis, |tpu| frame(&fields(), &async_copies(&transfers(tpu).0)))
}

fn us(ps: u64) -> f64 {
    ps as f64 / 1e6
}

const fn fields<'a>() -> [Field<AsyncCopyRow<'a>>; 16] {
    use ColumnKind::{Count, Number, Text};
    use Unit::{Microseconds, One, Percent};
    [
        field("Program id", Text, "Number of the program.", |row| row.program.to_string().into()),
        field("Start op", Text, "Operation that starts it.", |row| row.start.name.as_str().into()),
        field("Done op", Text, "Operation that waits for its end.", |row| row.done.name.as_str().into()),
        field(
            "Direction",
            Text,
            "host to device, device to host, host to host or device to device by the memories of its shapes; among devices; other for what is no copy.",
            |row| row.direction.as_str().into(),
        ),
        field("Shape", Text, "Shape of what arrives.", |row| row.done.shape.as_str().into()),
        field("Count", Count, "Executions on all cores.", |row| row.count.into()),
        field("Bytes each", Number(One), "Bytes of one, mean.", |row| {
            (row.bytes as f64 / row.count as f64).into()
        }),
        field(
            "In flight (us)",
            Number(Microseconds),
            "From the start of the one operation to the end of the other, summed, in µs.",
            |row| us(row.in_flight_ps).into(),
        ),
        field("Mean in flight (us)", Number(Microseconds), "The same of one, mean, in µs.", |row| {
            (us(row.in_flight_ps) / row.count as f64).into()
        }),
        field("Shortest in flight (us)", Number(Microseconds), "The same of the shortest, in µs.", |row| {
            us(row.min_ps).into()
        }),
        field("Longest in flight (us)", Number(Microseconds), "The same of the longest, in µs.", |row| {
            us(row.max_ps).into()
        }),
        field(
            "Exposed (us)",
            Number(Microseconds),
            "Time that the core did nothing but start it or wait for its end, summed, in µs.",
            |row| us(row.exposed_ps).into(),
        ),
        field("Exposed (%)", Number(Percent), "The same in percent of the time in flight.", |row| {
            (row.in_flight_ps > 0).then(|| row.exposed_ps as f64 / row.in_flight_ps as f64 * 100.0).into()
        }),
        field(
            "Hidden by compute (us)",
            Number(Microseconds),
            "Time in flight in which the core computed, summed, in µs.",
            |row| us(row.hidden_ps).into(),
        ),
        field(
            "Behind other waits (us)",
            Number(Microseconds),
            "Time in flight that the core spent with other copies and exchanges or without an operation, summed, in µs.",
            |row| us(row.other_ps).into(),
        ),
        field(
            "Bandwidth (GiB/s)",
            Number(One),
            "Bytes over the time in flight, in GiB/s; a copy that waits for others is in flight meanwhile.",
            |row| row.bandwidth().into(),
        ),
    ]
}
