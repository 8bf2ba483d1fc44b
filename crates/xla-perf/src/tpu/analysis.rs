//! What all tables of a TPU profile share, computed once.

use std::collections::HashMap;

use gpu_timeline::{Interval, busy_time};

use super::category;
use super::op_metrics::{OpMetrics, OpTable, OpTableBuilder, extent_ps, op_table, own_times};
use super::profile::{Execution, PicoSpan, TpuCore, TpuOp, TpuProfile, TpuStep};

/// A profile of TPUs with the sums that its tables are made from.
#[derive(Clone, Debug)]
pub struct TpuAnalysis {
    /// The profile.
    pub profile: TpuProfile,
    /// Own times of the executions of each core, in picoseconds; positions are those of the profile.
    pub own_times: Vec<Vec<u64>>,
    /// Sums over all executions on all cores.
    pub table: OpTable,
}

/// The operations of one step, on all cores that have the step.
#[derive(Clone, Debug)]
pub struct StepTable {
    /// What the profiler calls the step.
    pub name: String,
    /// Its operations. The total is the length of the step, summed over cores.
    pub table: OpTable,
    /// Length of the step on each core that has it, in picoseconds.
    pub lengths_ps: Vec<u64>,
}

impl TpuAnalysis {
    /// Sums up a profile.
    #[must_use]
    pub fn new(profile: TpuProfile) -> Self {
        let own_times = own_times(&profile);
        let table = op_table(&profile, &own_times);
        TpuAnalysis { profile, own_times, table }
    }

    /// The operation that some sums are of.
    ///
    /// # Panics
    /// When they are sums of another profile that has more operations.
    #[must_use]
    pub fn op(&self, metrics: &OpMetrics) -> &TpuOp {
        &self.profile.ops[metrics.op]
    }

    /// Whether the category of the operation that some sums are of is one of operations around others.
    #[must_use]
    pub fn may_have_inner_ops(&self, metrics: &OpMetrics) -> bool {
        category::may_have_inner_ops(&self.op(metrics).category)
    }

    /// The steps that every core with steps has, in order of their first start. An execution belongs to the step of
    /// its group, or else to the one that it starts in.
    #[must_use]
    pub fn steps(&self) -> Vec<StepTable> {
        let profile = &self.profile;
        let with_steps = || {
            let cores = profile.cores.iter().zip(&self.own_times);
            cores.filter(|(core, _)| !core.steps.is_empty())
        };
        let Some((first, _)) = with_steps().next() else { return Vec::new() };
        let names = first.steps.iter().map(|step| step.name.as_str());
        let places: HashMap<&str, usize> = names.enumerate().map(|(place, name)| (name, place)).collect();
        let mut steps: Vec<(OpTableBuilder<'_>, Vec<u64>)> = Vec::new();
        steps.resize_with(first.steps.len(), || (OpTableBuilder::new(&profile.ops), Vec::new()));
        for (core, own) in with_steps() {
            let on_core = StepsOfCore::new(core, &places);
            for &(step, span) in &on_core.by_start {
                steps[step].1.push(span.duration_ps);
            }
            for (execution, &own) in core.executions.iter().zip(own) {
                if let Some(step) = on_core.step_of(execution) {
                    steps[step].0.add_execution(execution, own);
                }
            }
        }
        let cores = with_steps().count();
        let steps = first.steps.iter().zip(steps);
        let complete = steps.filter(|(_, (_, lengths_ps))| lengths_ps.len() == cores);
        let tables = complete.map(|(step, (builder, lengths_ps))| {
            let table = builder.finish(lengths_ps.iter().sum());
            StepTable { name: step.name.clone(), table, lengths_ps }
        });
        tables.collect()
    }

    /// Time of all cores together from each one's first run or operation to its last, in picoseconds, and the part
    /// of it in which an operation ran that is work of the core: not infeed, outfeed, or waiting for the host.
    #[must_use]
    pub fn duty_cycle_ps(&self) -> DutyCycle {
        let mut cycle = DutyCycle::default();
        for core in &self.profile.cores {
            let spans = core.executions.iter().map(|execution| execution.span);
            cycle.span_ps += extent_ps(spans.chain(core.runs.iter().map(|run| run.span)));
            let on_duty = core
                .executions
                .iter()
                .filter(|execution| !category::is_off_duty(&self.profile.ops[execution.op].category));
            let intervals =
                on_duty.map(|execution| Interval::new(execution.span.start_ps, execution.span.end_ps()));
            cycle.active_ps += busy_time(intervals, &mut Vec::new()).unsigned_abs();
        }
        cycle
    }
}

/// How much of its time a device worked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DutyCycle {
    /// Time in which an operation ran that is work of the core, in picoseconds.
    pub active_ps: u64,
    /// All time, in picoseconds.
    pub span_ps: u64,
}

impl DutyCycle {
    /// The active time as a share of all, 0 to 1; `None` when nothing was recorded.
    #[must_use]
    pub fn fraction(self) -> Option<f64> {
        (self.span_ps > 0).then(|| self.active_ps as f64 / self.span_ps as f64)
    }
}

/// The steps of one core, for finding the one that an execution belongs to.
struct StepsOfCore {
    by_group: HashMap<i64, usize>,
    /// Position of each step among all, by start.
    by_start: Vec<(usize, PicoSpan)>,
}

impl StepsOfCore {
    fn new(core: &TpuCore, places: &HashMap<&str, usize>) -> Self {
        let known = |step: &TpuStep| places.get(step.name.as_str()).copied();
        let steps = core.steps.iter();
        let by_group = steps.clone().filter_map(|step| Some((step.group?, known(step)?))).collect();
        let mut by_start: Vec<(usize, PicoSpan)> =
            steps.filter_map(|step| Some((known(step)?, step.span))).collect();
        by_start.sort_by_key(|step| step.1.start_ps);
        StepsOfCore { by_group, by_start }
    }

    fn step_of(&self, execution: &Execution) -> Option<usize> {
        if let Some(step) = execution.group.and_then(|group| self.by_group.get(&group)) {
            return Some(*step);
        }
        let start = execution.span.start_ps;
        let last = self.by_start.partition_point(|step| step.1.start_ps <= start).checked_sub(1)?;
        let (step, span) = self.by_start[last];
        (start < span.end_ps()).then_some(step)
    }
}
