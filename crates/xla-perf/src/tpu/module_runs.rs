//! Runs of programs on each core.

use std::collections::HashMap;

use gpu_timeline::{Interval, busy_time};

use super::analysis::TpuAnalysis;
use super::profile::ModuleRun;
use crate::JaxAnalysis;
use crate::sheet::tpu_sheet;
use sheets::{Cell, Column, ColumnKind, Sheet, Unit};

/// A run of a program, by the clock of the profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModuleRunRow<'a> {
    /// Number of the device.
    pub core: u32,
    /// The run.
    pub run: &'a ModuleRun,
    /// Position of the run among those of its program on its core, from 0.
    pub index: usize,
    /// Operations that started in the run.
    pub ops: usize,
    /// Time in the run in which an operation ran, in picoseconds.
    pub op_time_ps: u64,
    /// Time in the run in which none ran, in picoseconds.
    pub idle_ps: u64,
    /// Time of its operations by the clock of the device, in picoseconds.
    pub device_op_time_ps: u64,
    /// How much later it started than the same run on the core that was first, in picoseconds; `None` when no other
    /// core ran it.
    pub start_skew_ps: Option<u64>,
    /// How much later it ended than the same run on the core that was first to end, in picoseconds.
    pub end_skew_ps: Option<u64>,
}

/// The runs of each core, in order. Runs of one program on several cores are the same run when they are as many from
/// the first on each core.
#[must_use]
pub fn module_runs<'a>(analysis: &'a TpuAnalysis) -> Vec<ModuleRunRow<'a>> {
    let mut rows = Vec::new();
    for (core, own) in analysis.profile.cores.iter().zip(&analysis.own_times) {
        let mut starts: Vec<(i64, usize)> = core
            .executions
            .iter()
            .enumerate()
            .map(|(at, execution)| (execution.recorded.start_ps, at))
            .collect();
        starts.sort_unstable();
        let mut counts = HashMap::new();
        for run in &core.runs {
            let (start, end) = (run.span.start_ps, run.span.end_ps());
            let inside = starts.partition_point(|entry| entry.0 < start)
                ..starts.partition_point(|entry| entry.0 < end);
            let inside = &starts[inside];
            let spans = inside.iter().map(|&(_, at)| {
                let span = core.executions[at].recorded;
                Interval::new(span.start_ps, span.end_ps().min(end))
            });
            let op_time_ps = busy_time(spans, &mut Vec::new()).unsigned_abs();
            let index = counts.entry(run.module.as_str()).or_insert(0_usize);
            rows.push(ModuleRunRow {
                core: core.ordinal,
                run,
                index: *index,
                ops: inside.len(),
                op_time_ps,
                idle_ps: run.span.duration_ps.saturating_sub(op_time_ps),
                device_op_time_ps: inside.iter().map(|&(_, at)| own[at]).sum(),
                start_skew_ps: None,
                end_skew_ps: None,
            });
            *index += 1;
        }
    }
    fill_skew(&mut rows);
    rows
}

fn fill_skew(rows: &mut [ModuleRunRow<'_>]) {
    // (cores, first start, first end) of each run
    let mut first: HashMap<(&str, usize), (usize, i64, i64)> = HashMap::new();
    for row in &*rows {
        let ends = (row.run.span.start_ps, row.run.span.end_ps());
        let entry = first.entry((&row.run.module, row.index)).or_insert((0, ends.0, ends.1));
        *entry = (entry.0 + 1, entry.1.min(ends.0), entry.2.min(ends.1));
    }
    for row in rows {
        let Some(&(cores, start, end)) = first.get(&(row.run.module.as_str(), row.index)) else { continue };
        if cores > 1 {
            row.start_skew_ps = Some(row.run.span.start_ps.abs_diff(start));
            row.end_skew_ps = Some(row.run.span.end_ps().abs_diff(end));
        }
    }
}

/// The table as a sheet.
pub(super) fn module_runs_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    use ColumnKind::{Count, Identifier, Number, Text};
    use Unit::{Microseconds, Percent};
    let fields = [
        Column::new("Core", Identifier, "Number of the device.").field(|row: &ModuleRunRow<'_>| u64::from(row.core).into()),
        Column::new("Module", Text, "Program with its number.").field(|row: &ModuleRunRow<'_>| row.run.module.as_str().into()),
        Column::new("Run", Count, "Position among the runs of the program on the core, from 0.").field(|row: &ModuleRunRow<'_>| {
            (row.index as u64).into()
        }),
        Column::new("Run id", Identifier, "Number that the runtime gave the run on its core.").field(|row: &ModuleRunRow<'_>| {
            row.run.run_id.into()
        }),
        Column::new("Start (us)", Number(Microseconds), "Start by the clock of the profile, in µs.").field(|row: &ModuleRunRow<'_>| {
            (row.run.span.start_ps as f64 / 1e6).into()
        }),
        Column::new("Duration (us)", Number(Microseconds), "Length by the clock of the profile, in µs.").field(|row: &ModuleRunRow<'_>| {
            us(row.run.span.duration_ps)
        }),
        Column::new("#Ops", Count, "Operations that started in the run.").field(|row: &ModuleRunRow<'_>| (row.ops as u64).into()),
        Column::new("Op time (us)", Number(Microseconds), "Time in the run in which an operation ran, by the clock of the profile, in µs.").field(|row: &ModuleRunRow<'_>| us(row.op_time_ps)),
        Column::new("Idle (%)", Number(Percent), "Time in the run in which none ran, in percent of the run.").field(|row: &ModuleRunRow<'_>| {
                let length = row.run.span.duration_ps;
                (length > 0).then(|| row.idle_ps as f64 / length as f64 * 100.0).into()
            }),
        Column::new("Device op time (us)", Number(Microseconds), "Own times of these operations by the clock of the device, in µs. Where it passes the duration, the clock of the profile ran otherwise than that of the device.").field(|row: &ModuleRunRow<'_>| us(row.device_op_time_ps)),
        Column::new("Start skew (us)", Number(Microseconds), "How much later it started than the same run on the first core to start, in µs; empty when no other core ran it.").field(|row: &ModuleRunRow<'_>| row.start_skew_ps.map_or(Cell::Missing, us)),
        Column::new("End skew (us)", Number(Microseconds), "How much later it ended than the same run on the first core to end, in µs.").field(|row: &ModuleRunRow<'_>| row.end_skew_ps.map_or(Cell::Missing, us)),
    ];
    tpu_sheet(
        "module_runs",
        "Runs of programs on each tensor core, in order, by the clock of the profile.",
        fields,
        module_runs,
    )
}

fn us(ps: u64) -> Cell<'static> {
    Cell::Number(ps as f64 / 1e6)
}
