//! Runs of programs on each core.

use std::collections::HashMap;

use gpu_timeline::{Interval, busy_time};
use sheets::{Column, ColumnKind, Role, Sheet, Unit};
use trace_ingest::Picoseconds;

use super::analysis::TpuAnalysis;
use super::profile::ModuleRun;
use crate::JaxAnalysis;
use crate::sheet::tpu_sheet;

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
    /// Time in the run in which an operation ran.
    pub op_time: Picoseconds,
    /// Time in the run in which none ran.
    pub idle_time: Picoseconds,
    /// Time of its operations by the clock of the device.
    pub device_op_time: Picoseconds,
    /// How much later it started than the same run on the core that was first; `None` when no other
    /// core ran it.
    pub start_skew: Option<Picoseconds>,
    /// How much later it ended than the same run on the core that was first to end.
    pub end_skew: Option<Picoseconds>,
}

/// The runs of each core, in order. Runs of one program on several cores are the same run when they are as many from
/// the first on each core.
#[must_use]
pub fn module_runs<'a>(analysis: &'a TpuAnalysis) -> Vec<ModuleRunRow<'a>> {
    let mut rows = Vec::new();
    for (core, own) in analysis.profile.cores.iter().zip(&analysis.own_times) {
        let mut starts: Vec<(Picoseconds, usize)> = core
            .executions
            .iter()
            .enumerate()
            .map(|(at, execution)| (execution.recorded.start, at))
            .collect();
        starts.sort_unstable();
        let mut counts = HashMap::new();
        for run in &core.runs {
            let (start, end) = (run.span.start, run.span.end());
            let inside = starts.partition_point(|entry| entry.0 < start)
                ..starts.partition_point(|entry| entry.0 < end);
            let inside = &starts[inside];
            let spans = inside.iter().map(|&(_, at)| {
                let span = core.executions[at].recorded;
                Interval::between(span.start.0, span.end().min(end).0)
            });
            let op_time = Picoseconds(busy_time(spans, &mut Vec::new()));
            let index = counts.entry(run.module.as_str()).or_insert(0_usize);
            rows.push(ModuleRunRow {
                core: core.ordinal,
                run,
                index: *index,
                ops: inside.len(),
                op_time,
                idle_time: run.span.duration.without(op_time),
                device_op_time: inside.iter().map(|&(_, at)| own[at]).sum(),
                start_skew: None,
                end_skew: None,
            });
            *index += 1;
        }
    }
    fill_skew(&mut rows);
    rows
}

fn fill_skew(rows: &mut [ModuleRunRow<'_>]) {
    // (cores, first start, first end) of each run
    let mut first: HashMap<(&str, usize), (usize, Picoseconds, Picoseconds)> = HashMap::new();
    for row in &*rows {
        let ends = (row.run.span.start, row.run.span.end());
        let entry = first.entry((&row.run.module, row.index)).or_insert((0, ends.0, ends.1));
        *entry = (entry.0 + 1, entry.1.min(ends.0), entry.2.min(ends.1));
    }
    for row in rows {
        let Some(&(cores, start, end)) = first.get(&(row.run.module.as_str(), row.index)) else { continue };
        if cores > 1 {
            row.start_skew = Some(row.run.span.start - start);
            row.end_skew = Some(row.run.span.end() - end);
        }
    }
}

/// The table as a sheet.
pub(super) fn module_runs_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    use ColumnKind::{Count, Identifier, Number, Text};
    use Unit::{Microseconds, Percent};
    let fields = [
        Column::new("Core", Identifier, "Device number.").with_role(Role::Name).field(|row: &ModuleRunRow<'_>| u64::from(row.core).into()),
        Column::new("Module", Text, "Program name and number.").field(|row: &ModuleRunRow<'_>| row.run.module.as_str().into()),
        Column::new("Run", Count, "Position among the program's runs on the core, from 0.").with_role(Role::Name).field(|row: &ModuleRunRow<'_>| {
            (row.index as u64).into()
        }),
        Column::new("Run id", Identifier, "Run number on the core, from the runtime.").field(|row: &ModuleRunRow<'_>| {
            row.run.run_id.into()
        }),
        Column::new("Start (us)", Number(Microseconds), "Start by the profile clock.").field(|row: &ModuleRunRow<'_>| {
            row.run.span.start.to_microseconds().into()
        }),
        Column::new("Duration (us)", Number(Microseconds), "Duration by the profile clock.").field(|row: &ModuleRunRow<'_>| {
            row.run.span.duration.to_microseconds().into()
        }),
        Column::new("#Ops", Count, "Number of operations started in the run.").field(|row: &ModuleRunRow<'_>| (row.ops as u64).into()),
        Column::new("Op time (us)", Number(Microseconds), "Time in the run with an operation running, by the profile clock.").field(|row: &ModuleRunRow<'_>| row.op_time.to_microseconds().into()),
        Column::new("Idle (%)", Number(Percent), "Idle share of the run.").field(|row: &ModuleRunRow<'_>| {
                let length = row.run.span.duration;
                (length.0 > 0).then(|| row.idle_time.0 as f64 / length.0 as f64 * 100.0).into()
            }),
        Column::new("Device op time (us)", Number(Microseconds), "Self time of these operations by the device clock. If above the duration, the two clocks ran at different rates.").field(|row: &ModuleRunRow<'_>| row.device_op_time.to_microseconds().into()),
        Column::new("Start skew (us)", Number(Microseconds), "Delay behind the first core to start the same run; empty if no other core ran it.").field(|row: &ModuleRunRow<'_>| row.start_skew.map(Picoseconds::to_microseconds).into()),
        Column::new("End skew (us)", Number(Microseconds), "Delay behind the first core to end the same run.").field(|row: &ModuleRunRow<'_>| row.end_skew.map(Picoseconds::to_microseconds).into()),
    ];
    tpu_sheet(
        "module_runs",
        "Runs of programs on each tensor core, in order, by the profile's clock.",
        fields,
        module_runs,
    )
}
