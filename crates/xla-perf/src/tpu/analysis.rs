//! The sums of a profile that the tables are made from: own times, metrics by operation, steps, duty cycle.

use std::collections::HashMap;

use gpu_timeline::{SortFew, busy_time};
use trace_ingest::Picoseconds;

use super::category;
use super::profile::{AccessKind, MemorySpace, OpExecution, PicoSpan, TpuCore, TpuOp, TpuProfile, TpuStep};
use crate::IndexMap;

/// A profile of TPUs with the sums that its tables are made from.
#[derive(Clone, Debug)]
pub struct TpuAnalysis {
    /// The profile.
    pub profile: TpuProfile,
    /// Own times of the executions of each core; positions are those of the profile.
    pub own_times: Vec<Vec<Picoseconds>>,
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
    /// Length of the step on each core that has it.
    pub lengths: Vec<Picoseconds>,
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
        let mut steps: Vec<(OpTableBuilder<'_>, Vec<Picoseconds>)> = Vec::new();
        steps.resize_with(first.steps.len(), || (OpTableBuilder::new(&profile.ops), Vec::new()));
        for (core, own) in with_steps() {
            let on_core = StepsOfCore::new(core, &places);
            for &(step, span) in &on_core.by_start {
                steps[step].1.push(span.duration);
            }
            for (execution, &own) in core.executions.iter().zip(own) {
                if let Some(step) = on_core.step_of(execution) {
                    steps[step].0.add_execution(execution, own);
                }
            }
        }
        let cores = with_steps().count();
        let steps = first.steps.iter().zip(steps);
        let complete = steps.filter(|(_, (_, lengths))| lengths.len() == cores);
        let tables = complete.map(|(step, (builder, lengths))| {
            let table = builder.finish(lengths.iter().copied().sum());
            StepTable { name: step.name.clone(), table, lengths }
        });
        tables.collect()
    }

    /// Time of all cores together from each one's first run or operation to its last, and the part of it in which an
    /// operation ran that is work of the core: not infeed, outfeed, or waiting for the host.
    #[must_use]
    pub fn duty_cycle(&self) -> DutyCycle {
        let mut cycle = DutyCycle::default();
        for core in &self.profile.cores {
            let spans = core.executions.iter().map(|execution| execution.span);
            cycle.span += extent(spans.chain(core.runs.iter().map(|run| run.span)));
            let on_duty = core
                .executions
                .iter()
                .filter(|execution| !category::is_off_duty(&self.profile.ops[execution.op].category));
            let intervals = on_duty.map(|execution| execution.span.interval());
            cycle.active += Picoseconds(busy_time(intervals, &mut Vec::new()));
        }
        cycle
    }
}

/// How much of its time a device worked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DutyCycle {
    /// Time in which an operation ran that is work of the core.
    pub active: Picoseconds,
    /// All time.
    pub span: Picoseconds,
}

impl DutyCycle {
    /// The active time as a share of all, 0 to 1; `None` when nothing was recorded.
    #[must_use]
    pub fn fraction(self) -> Option<f64> {
        (self.span.0 > 0).then(|| self.active.0 as f64 / self.span.0 as f64)
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
        by_start.sort_few_by_key(|step| step.1.start);
        StepsOfCore { by_group, by_start }
    }

    fn step_of(&self, execution: &OpExecution) -> Option<usize> {
        if let Some(step) = execution.group.and_then(|group| self.by_group.get(&group)) {
            return Some(*step);
        }
        let start = execution.span.start;
        let last = self.by_start.partition_point(|step| step.1.start <= start).checked_sub(1)?;
        let (step, span) = self.by_start[last];
        (start < span.end()).then_some(step)
    }
}

/// Bytes by memory and direction, summed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryBytes(Vec<(MemorySpace, AccessKind, u128)>);

impl MemoryBytes {
    /// Adds bytes of one memory and direction.
    pub fn add(&mut self, space: MemorySpace, kind: AccessKind, bytes: u128) {
        match self.0.iter_mut().find(|entry| (entry.0, entry.1) == (space, kind)) {
            Some(entry) => entry.2 += bytes,
            None => self.0.push((space, kind, bytes)),
        }
    }

    /// Adds those of another operation.
    pub fn extend(&mut self, other: &Self) {
        for &(space, kind, bytes) in &other.0 {
            self.add(space, kind, bytes);
        }
    }

    /// Whether nothing is known by memory.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sum over what the test takes.
    #[must_use]
    pub fn sum(&self, takes: impl Fn(MemorySpace, AccessKind) -> bool) -> u128 {
        self.0.iter().filter(|entry| takes(entry.0, entry.1)).map(|entry| entry.2).sum()
    }
}

/// Work and the time that it took, summed. Times of several cores add up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Time.
    pub time: Picoseconds,
    /// Floating-point operations, weighed by precision.
    pub flops: u128,
    /// Floating-point operations of the model.
    pub model_flops: u128,
    /// Bytes moved.
    pub bytes: u128,
    /// The bytes by memory; empty when no operation says.
    pub memory: MemoryBytes,
}

impl Work {
    /// Adds everything of the other one except its time.
    pub(super) fn add_work(&mut self, other: &Work) {
        self.flops += other.flops;
        self.model_flops += other.model_flops;
        self.bytes += other.bytes;
        self.memory.extend(&other.memory);
    }

    fn add_execution(&mut self, op: &TpuOp, occurrences: u64) {
        let times = |figure: u64| u128::from(figure) * u128::from(occurrences);
        self.flops += times(op.flops);
        self.model_flops += times(if op.model_flops > 0 { op.model_flops } else { op.flops });
        self.bytes += times(op.bytes);
        for access in &op.memory {
            self.memory.add(access.space, access.kind, times(access.bytes));
        }
    }
}

/// All executions of one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct OpMetrics {
    /// Position of the operation in [`TpuProfile::ops`]; of several descriptions the first.
    pub op: usize,
    /// Number of its program.
    pub program: u64,
    /// How often it ran.
    pub occurrences: u64,
    /// Time without that of operations inside it.
    pub self_time: Picoseconds,
    /// Time that the core waited for memory transfers.
    pub dma_stall: Picoseconds,
    /// Its work, with its time.
    pub work: Work,
}

impl OpMetrics {
    /// Whether nothing ran inside it.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.self_time == self.work.time
    }
}

/// All operations, with the time that they are shares of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpTable {
    /// Most own time first, then by name and program.
    pub ops: Vec<OpMetrics>,
    /// From the first start to the last end, per core, summed over cores.
    pub total: Picoseconds,
    /// Executions that belong to no operation of a program: how many.
    pub left_out: u64,
    /// Their time without that of operations inside them; it counts as idle.
    pub left_out_time: Picoseconds,
}

impl OpTable {
    /// Time of all operations.
    #[must_use]
    pub fn op_time(&self) -> Picoseconds {
        self.ops.iter().map(|op| op.self_time).sum()
    }

    /// Time in which no operation ran.
    #[must_use]
    pub fn idle_time(&self) -> Picoseconds {
        self.total.without(self.op_time())
    }
}

/// A table in the making.
struct OpTableBuilder<'a> {
    ops: &'a [TpuOp],
    metrics: IndexMap<(u64, &'a str), OpMetrics>,
    /// Still without the operations.
    table: OpTable,
}

/// What one entry of a line adds to its operation.
struct Share {
    occurrences: u64,
    time: Picoseconds,
    self_time: Picoseconds,
    dma_stall: Picoseconds,
}

impl<'a> OpTableBuilder<'a> {
    /// A table without rows; its operations have positions in `ops`.
    fn new(ops: &'a [TpuOp]) -> Self {
        OpTableBuilder { ops, metrics: IndexMap::default(), table: OpTable::default() }
    }

    fn add(&mut self, op: usize, share: &Share) {
        let described = &self.ops[op];
        let Some(key) = described.key() else {
            self.table.left_out += share.occurrences;
            self.table.left_out_time += share.self_time;
            return;
        };
        let metrics = self.metrics.entry(key).or_insert_with(|| OpMetrics {
            op,
            program: key.0,
            occurrences: 0,
            self_time: Picoseconds(0),
            dma_stall: Picoseconds(0),
            work: Work::default(),
        });
        metrics.occurrences += share.occurrences;
        metrics.self_time += share.self_time;
        metrics.dma_stall += share.dma_stall;
        metrics.work.time += share.time;
        metrics.work.add_execution(described, share.occurrences);
    }

    fn add_execution(&mut self, execution: &OpExecution, self_time: Picoseconds) {
        let share = Share {
            occurrences: 1,
            time: execution.span.duration,
            self_time,
            dma_stall: execution.dma_stall,
        };
        self.add(execution.op, &share);
    }

    fn finish(mut self, total: Picoseconds) -> OpTable {
        self.table.total = total;
        self.table.ops = self.metrics.into_values().collect();
        let name = |metrics: &OpMetrics| self.ops[metrics.op].name.as_str();
        self.table
            .ops
            .sort_few_by(|a, b| (b.self_time, name(a), a.program).cmp(&(a.self_time, name(b), b.program)));
        self.table
    }
}

/// The table of everything in a profile.
///
/// `own` has the own times of each core's executions.
fn op_table(profile: &TpuProfile, own: &[Vec<Picoseconds>]) -> OpTable {
    let mut builder = OpTableBuilder::new(&profile.ops);
    let mut total = Picoseconds(0);
    for (core, own) in profile.cores.iter().zip(own) {
        for (execution, &self_time) in core.executions.iter().zip(own) {
            builder.add_execution(execution, self_time);
        }
        for sum in &core.aggregated {
            let share = Share {
                occurrences: sum.occurrences,
                time: sum.duration,
                self_time: sum.self_time,
                dma_stall: sum.dma_stall,
            };
            builder.add(sum.op, &share);
        }
        let spans = core.executions.iter().map(|execution| execution.span);
        let spans = spans.chain(core.steps.iter().map(|step| step.span));
        total += extent(spans);
    }
    builder.finish(total)
}

/// From the first start to the last end; 0 of nothing.
pub(super) fn extent(spans: impl Iterator<Item = PicoSpan>) -> Picoseconds {
    let ends = spans.map(|span| (span.start, span.end()));
    let hull = ends.reduce(|hull, span| (hull.0.min(span.0), hull.1.max(span.1)));
    hull.map_or(Picoseconds(0), |(first, last)| last - first)
}

/// Own times of the executions of each core.
fn own_times(profile: &TpuProfile) -> Vec<Vec<Picoseconds>> {
    let core_times = |core: &TpuCore| {
        let spans: Vec<_> = core.executions.iter().map(|execution| execution.span).collect();
        self_times(&spans)
    };
    profile.cores.iter().map(core_times).collect()
}

/// Length of each span minus those of its direct children. A span's parent is the smallest one that
/// includes it whole; a span that sticks out of the one before it is no child of it. Spans may be in any order.
pub(super) fn self_times(spans: &[PicoSpan]) -> Vec<Picoseconds> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    // Of equal spans the earlier in the list is the outer one.
    order.sort_by_key(|&index| (spans[index].start, std::cmp::Reverse(spans[index].duration)));
    let mut own: Vec<Picoseconds> = spans.iter().map(|span| span.duration).collect();
    let mut open: Vec<usize> = Vec::new();
    for index in order {
        while open.last().is_some_and(|&parent| !spans[parent].includes(spans[index])) {
            open.pop();
        }
        if let Some(&parent) = open.last() {
            own[parent] = own[parent].without(spans[index].duration);
        }
        open.push(index);
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(spans: &[(i64, i64)]) -> Vec<i64> {
        let spans: Vec<PicoSpan> = spans
            .iter()
            .map(|&(start, length)| PicoSpan::new(Picoseconds(start), Picoseconds(length)))
            .collect();
        self_times(&spans).into_iter().map(|time| time.0).collect()
    }

    #[test]
    fn only_direct_children_are_taken_off() {
        // while [0, 100) around fusion [10, 60) around copy [20, 30), and add [70, 80)
        assert_eq!(own(&[(0, 100), (10, 50), (20, 10), (70, 10)]), [40, 40, 10, 10]);
    }

    #[test]
    fn order_of_the_list_does_not_matter_and_neighbours_are_no_children() {
        assert_eq!(own(&[(70, 10), (20, 10), (0, 70)]), [10, 10, 60]);
        assert_eq!(own(&[(0, 10), (10, 10)]), [10, 10]);
    }

    #[test]
    fn a_span_that_sticks_out_is_no_child() {
        assert_eq!(own(&[(0, 10), (5, 10)]), [10, 10]);
    }

    #[test]
    fn of_equal_spans_the_first_is_the_parent() {
        assert_eq!(own(&[(0, 10), (0, 10)]), [0, 10]);
        assert!(own(&[]).is_empty());
    }

    #[test]
    fn children_that_overlap_each_other_take_no_more_than_there_is() {
        // [2, 9) sticks out of [1, 8), so both hang under [0, 10)
        assert_eq!(own(&[(0, 10), (1, 7), (2, 7)]), [0, 7, 7]);
    }
}
