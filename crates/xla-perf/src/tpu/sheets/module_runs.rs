//! Runs of programs.

use polars::prelude::{DataFrame, PolarsResult};

use super::field::{Cell, Field, columns, field, frame};
use super::summed;
use tree_perf::{Column, ColumnKind, Unit};
use crate::analysis::JaxAnalysis;
use crate::tpu::{ModuleRunRow, module_runs};
use tree_perf::Sheet;

const COLUMNS: &[Column] = &columns(&fields());

pub(super) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "module_runs",
    current_name: "module_runs",
    description: "Runs of programs on each tensor core, in order, by the clock of the profile.",
    columns: COLUMNS,
    chart: None,
    build,
};

fn build(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    summed(analysis, |tpu| frame(&fields(), &module_runs(tpu)))
}

fn us(ps: u64) -> Cell {
    Cell::Number(ps as f64 / 1e6)
}

const fn fields<'a>() -> [Field<ModuleRunRow<'a>>; 12] {
    use ColumnKind::{Count, Identifier, Number, Text};
    use Unit::{Microseconds, Percent};
    [
        field("Core", Identifier, "Number of the device.", |row| u64::from(row.core).into()),
        field("Module", Text, "Program with its number.", |row| row.run.module.as_str().into()),
        field("Run", Count, "Position among the runs of the program on the core, from 0.", |row| {
            (row.index as u64).into()
        }),
        field("Run id", Identifier, "Number that the runtime gave the run on its core.", |row| {
            row.run.run_id.into()
        }),
        field("Start (us)", Number(Microseconds), "Start by the clock of the profile, in µs.", |row| {
            (row.run.span.start_ps as f64 / 1e6).into()
        }),
        field("Duration (us)", Number(Microseconds), "Length by the clock of the profile, in µs.", |row| {
            us(row.run.span.duration_ps)
        }),
        field("#Ops", Count, "Operations that started in the run.", |row| (row.ops as u64).into()),
        field(
            "Op time (us)",
            Number(Microseconds),
            "Time in the run in which an operation ran, by the clock of the profile, in µs.",
            |row| us(row.op_time_ps),
        ),
        field(
            "Idle (%)",
            Number(Percent),
            "Time in the run in which none ran, in percent of the run.",
            |row| {
                let length = row.run.span.duration_ps;
                (length > 0).then(|| row.idle_ps as f64 / length as f64 * 100.0).into()
            },
        ),
        field(
            "Device op time (us)",
            Number(Microseconds),
            "Own times of these operations by the clock of the device, in µs. Where it passes the duration, the clock of the profile ran otherwise than that of the device.",
            |row| us(row.device_op_time_ps),
        ),
        field(
            "Start skew (us)",
            Number(Microseconds),
            "How much later it started than the same run on the first core to start, in µs; empty when no other core ran it.",
            |row| row.start_skew_ps.map_or(Cell::Missing, us),
        ),
        field(
            "End skew (us)",
            Number(Microseconds),
            "How much later it ended than the same run on the first core to end, in µs.",
            |row| row.end_skew_ps.map_or(Cell::Missing, us),
        ),
    ]
}
