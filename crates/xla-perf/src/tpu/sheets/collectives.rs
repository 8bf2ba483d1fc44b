//! Exchanges among tensor cores.

use polars::prelude::{DataFrame, PolarsResult};

use super::field::{Field, columns, field, frame};
use super::summed;
use tree_perf::{Column, ColumnKind, Unit};
use crate::analysis::JaxAnalysis;
use crate::tpu::{CollectiveRow, tpu_collectives};
use tree_perf::Sheet;

const COLUMNS: &[Column] = &columns(&fields());

pub(super) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "tpu_collectives",
    current_name: "tpu_collectives",
    description: "Exchanges among tensor cores of this host, in order, by the clock of the device. Executions of one operation on several cores are one exchange when they overlap in time.",
    columns: COLUMNS,
    chart: None,
    build,
};

fn build(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    summed(analysis, |tpu| frame(&fields(), &tpu_collectives(tpu)))
}

fn us(ps: u64) -> f64 {
    ps as f64 / 1e6
}

const fn fields<'a>() -> [Field<CollectiveRow<'a>>; 16] {
    use ColumnKind::{Count, Nested, Number, Text};
    use Unit::{Microseconds, One};
    [
        field("Program id", Text, "Number of the program.", |row| row.program.to_string().into()),
        field("HLO op category", Text, "Kind of exchange.", |row| row.op.category.as_str().into()),
        field("HLO op name", Text, "Name of the operation.", |row| row.op.name.as_str().into()),
        field("Index", Count, "Position among the exchanges of the operation, from 0.", |row| {
            (row.index as u64).into()
        }),
        field("Replica groups", Nested, "Who exchanges with whom, as the instruction has it.", |row| {
            row.replica_groups.into()
        }),
        field("Shape", Text, "Shape of the result on one core.", |row| row.op.shape.as_str().into()),
        field("Cores", Text, "Numbers of the devices that took part.", |row| {
            let mut cores: Vec<u32> = row.cores.iter().map(|core| core.0).collect();
            cores.sort_unstable();
            let cores: Vec<String> = cores.iter().map(u32::to_string).collect();
            cores.join(", ").into()
        }),
        field("Start (us)", Number(Microseconds), "Start of the first core, in µs.", |row| {
            row.cores.iter().map(|core| core.1.start_ps).min().map(|start| start as f64 / 1e6).into()
        }),
        field(
            "Shortest time (us)",
            Number(Microseconds),
            "Time of the core that took least, which waited least for others, in µs.",
            |row| us(row.time_range_ps().0).into(),
        ),
        field("Longest time (us)", Number(Microseconds), "Time of the core that took most, in µs.", |row| {
            us(row.time_range_ps().1).into()
        }),
        field(
            "Shared time (us)",
            Number(Microseconds),
            "From the last start to the first end, in which all took part, in µs.",
            |row| us(row.shared_ps()).into(),
        ),
        field(
            "Start skew (us)",
            Number(Microseconds),
            "Between the first start and the last, in µs.",
            |row| us(row.start_skew_ps()).into(),
        ),
        field("End skew (us)", Number(Microseconds), "Between the first end and the last, in µs.", |row| {
            us(row.end_skew_ps()).into()
        }),
        field("Bytes per core", Count, "Bytes that one core moved from and to its memory.", |row| {
            row.bytes().into()
        }),
        field("Bandwidth (GB/s)", Number(One), "These bytes over the shortest time, in GB/s.", |row| {
            row.bandwidth().into()
        }),
        field("Framework op name", Text, "Operation of the framework that it came from.", |row| {
            row.op.framework.as_str().into()
        }),
    ]
}
