//! Sums over the executions of each operation, on all cores together.

use std::collections::HashMap;

use super::profile::{AccessKind, Execution, MemorySpace, PicoSpan, TpuCore, TpuOp, TpuProfile};
use super::self_time::self_times;

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
    /// Time, in picoseconds.
    pub time_ps: u64,
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
    /// Time without that of operations inside it, in picoseconds.
    pub self_time_ps: u64,
    /// Time that the core waited for memory transfers, in picoseconds.
    pub dma_stall_ps: u64,
    /// Its work, with its time.
    pub work: Work,
}

impl OpMetrics {
    /// Whether nothing ran inside it.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.self_time_ps == self.work.time_ps
    }
}

/// All operations, with the time that they are shares of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpTable {
    /// Most own time first, then by name and program.
    pub ops: Vec<OpMetrics>,
    /// From the first start to the last end, per core, summed over cores, in picoseconds.
    pub total_ps: u64,
    /// Executions that belong to no operation of a program: how many.
    pub left_out: u64,
    /// Their time without that of operations inside them, in picoseconds; it counts as idle.
    pub left_out_ps: u64,
}

impl OpTable {
    /// Time of all operations, in picoseconds.
    #[must_use]
    pub fn op_time_ps(&self) -> u64 {
        self.ops.iter().map(|op| op.self_time_ps).sum()
    }

    /// Time in which no operation ran, in picoseconds.
    #[must_use]
    pub fn idle_ps(&self) -> u64 {
        self.total_ps.saturating_sub(self.op_time_ps())
    }
}

/// A table in the making.
pub(super) struct OpTableBuilder<'a> {
    ops: &'a [TpuOp],
    places: HashMap<(u64, &'a str), usize>,
    table: OpTable,
}

/// What one entry of a line adds to its operation.
struct Share {
    occurrences: u64,
    time_ps: u64,
    self_ps: u64,
    dma_stall_ps: u64,
}

impl<'a> OpTableBuilder<'a> {
    /// A table without rows of operations that have positions in these.
    pub(super) fn new(ops: &'a [TpuOp]) -> Self {
        OpTableBuilder { ops, places: HashMap::new(), table: OpTable::default() }
    }

    fn add(&mut self, op: usize, share: &Share) {
        let described = &self.ops[op];
        let Some(key) = described.key() else {
            self.table.left_out += share.occurrences;
            self.table.left_out_ps += share.self_ps;
            return;
        };
        let ops = &mut self.table.ops;
        let place = *self.places.entry(key).or_insert_with(|| {
            ops.push(OpMetrics {
                op,
                program: key.0,
                occurrences: 0,
                self_time_ps: 0,
                dma_stall_ps: 0,
                work: Work::default(),
            });
            ops.len() - 1
        });
        let metrics = &mut ops[place];
        metrics.occurrences += share.occurrences;
        metrics.self_time_ps += share.self_ps;
        metrics.dma_stall_ps += share.dma_stall_ps;
        metrics.work.time_ps += share.time_ps;
        metrics.work.add_execution(described, share.occurrences);
    }

    pub(super) fn add_execution(&mut self, execution: &Execution, self_ps: u64) {
        let share = Share {
            occurrences: 1,
            time_ps: execution.span.duration_ps,
            self_ps,
            dma_stall_ps: execution.dma_stall_ps,
        };
        self.add(execution.op, &share);
    }

    pub(super) fn finish(mut self, total_ps: u64) -> OpTable {
        self.table.total_ps = total_ps;
        let name = |metrics: &OpMetrics| self.ops[metrics.op].name.as_str();
        self.table
            .ops
            .sort_by(|a, b| (b.self_time_ps, name(a), a.program).cmp(&(a.self_time_ps, name(b), b.program)));
        self.table
    }
}

/// The table of everything in a profile.
///
/// `own` has the own times of each core's executions, in picoseconds.
pub(super) fn op_table(profile: &TpuProfile, own: &[Vec<u64>]) -> OpTable {
    let mut builder = OpTableBuilder::new(&profile.ops);
    let mut total_ps = 0;
    for (core, own) in profile.cores.iter().zip(own) {
        for (execution, &self_ps) in core.executions.iter().zip(own) {
            builder.add_execution(execution, self_ps);
        }
        for sum in &core.aggregated {
            let share = Share {
                occurrences: sum.occurrences,
                time_ps: sum.duration_ps,
                self_ps: sum.self_ps,
                dma_stall_ps: sum.dma_stall_ps,
            };
            builder.add(sum.op, &share);
        }
        let spans = core.executions.iter().map(|execution| execution.span);
        let spans = spans.chain(core.steps.iter().map(|step| step.span));
        total_ps += extent_ps(spans);
    }
    builder.finish(total_ps)
}

/// From the first start to the last end, in picoseconds; 0 of nothing.
pub(super) fn extent_ps(spans: impl Iterator<Item = PicoSpan>) -> u64 {
    let ends = spans.fold(None, |ends: Option<(i64, i64)>, span| {
        let (first, last) = ends.unwrap_or((span.start_ps, span.end_ps()));
        Some((first.min(span.start_ps), last.max(span.end_ps())))
    });
    ends.map_or(0, |(first, last)| last.abs_diff(first))
}

/// Own times of the executions of each core, in picoseconds.
pub(super) fn own_times(profile: &TpuProfile) -> Vec<Vec<u64>> {
    let of_core = |core: &TpuCore| {
        let spans: Vec<_> = core.executions.iter().map(|execution| execution.span).collect();
        self_times(&spans)
    };
    profile.cores.iter().map(of_core).collect()
}
