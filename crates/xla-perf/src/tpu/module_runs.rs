//! Runs of programs on each core.

use std::collections::HashMap;

use gpu_timeline::{Interval, busy_time};

use super::analysis::TpuAnalysis;
use super::profile::ModuleRun;

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
