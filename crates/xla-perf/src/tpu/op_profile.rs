//! Operations as a tree: by category, or by program and category, with copies of one operation together.

use std::cmp::Reverse;
use std::collections::HashMap;

use gpu_timeline::SortFew;
use sheets::{Column, ColumnKind, Role, Sheet, Unit};
use trace_ingest::Picoseconds;

use super::analysis::{OpMetrics, TpuAnalysis, Work};
use super::framework_op_stats::{IDLE, IdleTime};
use super::profile::{AccessKind, MemorySpace, Peaks, TpuOp, TpuProfile};
use super::rates::{giga_to_gibi, ratio};
use crate::JaxAnalysis;
use crate::sheet::tpu_sheet;

/// What the first level of the tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpProfileGrouping {
    /// Categories.
    ByCategory,
    /// Programs, and categories below.
    ByProgram,
}

impl OpProfileGrouping {
    /// The spelling in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            OpProfileGrouping::ByCategory => "by_category",
            OpProfileGrouping::ByProgram => "by_program",
        }
    }
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OpProfileLevel<'a> {
    /// Everything.
    Root,
    /// A program.
    Program,
    /// A category.
    Category,
    /// An operation and its copies; the first of them says what it is.
    Duplicates(&'a TpuOp),
    /// One operation.
    Op(&'a TpuOp),
    /// Time in which nothing ran.
    Idle,
}

/// Shares of peaks and amounts of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpProfileMetrics {
    /// Executions; 0 where they were not summed, which is of programs and of everything.
    pub occurrences: u64,
    /// Time and work.
    pub work: Work,
    /// Arithmetic over the whole time of the profile as a share of its peak, 0 to 1: shares of siblings add up.
    pub flops_utilization: f64,
    /// Bandwidths as shares of their peaks, no more than 1: high-bandwidth memory, reads and writes on the chip.
    pub bandwidth_utilization: [f64; 3],
    /// The bytes of these.
    pub bytes: [u128; 3],
}

impl OpProfileMetrics {
    /// Time of one execution, in picoseconds; 0 where executions were not summed.
    #[must_use]
    pub fn average_ps(&self) -> f64 {
        ratio(self.work.time.0 as f64, self.occurrences as f64)
    }
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct OpProfileNode<'a> {
    /// Title.
    pub name: String,
    /// What it stands for.
    pub level: OpProfileLevel<'a>,
    /// Number of its program, of operations only.
    pub program: Option<u64>,
    /// Its figures.
    pub metrics: OpProfileMetrics,
    /// Its parts, most time first.
    pub children: Vec<OpProfileNode<'a>>,
}

/// The tree. Operations with others inside count with their own time in programs and in everything, and are in no
/// category: what they did is what those inside did. Without [`MissingPeaks`](super::MissingPeaks) shares of peaks
/// are 0.
#[must_use]
pub fn op_profile<'a>(
    analysis: &'a TpuAnalysis,
    grouping: OpProfileGrouping,
    idle: IdleTime,
) -> OpProfileNode<'a> {
    let table = &analysis.table;
    let mut root = Node::new(grouping.as_str().to_string(), OpProfileLevel::Root, None);
    for op in &table.ops {
        root.add_part(op);
        let mut around = &mut root;
        if grouping == OpProfileGrouping::ByProgram {
            let title = program_title(&analysis.profile, op.program);
            around = around.child(&op.program.to_string(), title, OpProfileLevel::Program, None);
            around.add_part(op);
        }
        if op.is_leaf() {
            around.add_leaf(op, analysis.op(op));
        }
    }
    let total = match idle {
        IdleTime::Included => table.total.max(table.op_time()),
        IdleTime::Excluded => table.op_time(),
    };
    if idle == IdleTime::Included {
        let mut node = Node::new(IDLE.to_string(), OpProfileLevel::Idle, None);
        node.metrics.work.time = table.idle_time();
        root.push(node);
    }
    root.metrics.work.time = total;
    root.finish(total, analysis.profile.peaks.as_ref().ok())
}

/// Name of a program with its number; `main` when the profile does not have its name.
fn program_title(profile: &TpuProfile, program: u64) -> String {
    match profile.programs.get(&program) {
        Some(name) => format!("{name}({program})"),
        None => "main".to_string(),
    }
}

/// A node in the making, with the places of its children by key.
struct Node<'a> {
    name: String,
    level: OpProfileLevel<'a>,
    program: Option<u64>,
    metrics: OpProfileMetrics,
    children: Vec<Node<'a>>,
    places: HashMap<String, usize>,
}

impl<'a> Node<'a> {
    fn new(name: String, level: OpProfileLevel<'a>, program: Option<u64>) -> Self {
        let (children, places) = (Vec::new(), HashMap::new());
        Node { name, level, program, metrics: OpProfileMetrics::default(), children, places }
    }

    fn push(&mut self, node: Node<'a>) {
        self.children.push(node);
    }

    fn child(
        &mut self,
        key: &str,
        title: String,
        level: OpProfileLevel<'a>,
        program: Option<u64>,
    ) -> &mut Self {
        let place = *self.places.entry(key.to_string()).or_insert_with(|| {
            self.children.push(Node::new(title, level, program));
            self.children.len() - 1
        });
        &mut self.children[place]
    }

    /// Counts an operation among others: its own time, and its work unless others inside did it.
    fn add_part(&mut self, op: &OpMetrics) {
        self.metrics.work.time += op.self_time;
        if op.is_leaf() {
            self.metrics.work.add_work(&op.work);
        }
    }

    fn add_whole(&mut self, op: &OpMetrics) {
        self.metrics.occurrences += op.occurrences;
        self.metrics.work.time += op.work.time;
        self.metrics.work.add_work(&op.work);
    }

    fn add_leaf(&mut self, op: &OpMetrics, described: &'a TpuOp) {
        let category =
            self.child(&described.category, described.category.clone(), OpProfileLevel::Category, None);
        category.add_whole(op);
        let original =
            if described.deduplicated.is_empty() { &described.name } else { &described.deduplicated };
        let program = Some(op.program);
        let group =
            category.child(original, original.clone(), OpProfileLevel::Duplicates(described), program);
        group.add_whole(op);
        let mut leaf = Node::new(described.name.clone(), OpProfileLevel::Op(described), program);
        leaf.add_whole(op);
        group.push(leaf);
    }

    fn finish(self, total: Picoseconds, peaks: Option<&Peaks>) -> OpProfileNode<'a> {
        let children = self.children.into_iter().map(|child| child.finish(total, peaks));
        let mut children: Vec<OpProfileNode<'a>> = children.collect();
        children.sort_few_by_key(|child| Reverse(child.metrics.work.time));
        let mut name = self.name;
        if let OpProfileLevel::Duplicates(_) = self.level {
            if children.len() == 1 {
                // An operation without copies stands for itself.
                if let Some(only) = children.pop() {
                    return only;
                }
            } else if let Some(first) = children.first() {
                name = format!("{} and its duplicate(s)", first.name);
            }
        }
        let level = match (self.level, children.first()) {
            (OpProfileLevel::Duplicates(_), Some(OpProfileNode { level: OpProfileLevel::Op(op), .. })) => {
                OpProfileLevel::Duplicates(op)
            }
            (level, _) => level,
        };
        let metrics = with_shares(self.metrics, total, peaks);
        OpProfileNode { name, level, program: self.program, metrics, children }
    }
}

fn with_shares(metrics: OpProfileMetrics, total: Picoseconds, peaks: Option<&Peaks>) -> OpProfileMetrics {
    use AccessKind::{Read, Write};
    let memory = &metrics.work.memory;
    let is_hbm = |space| space == MemorySpace::Hbm;
    let bytes = [
        memory.sum(|space, kind| is_hbm(space) && matches!(kind, Read | Write)),
        memory.sum(|space, kind| !is_hbm(space) && kind == Read),
        memory.sum(|space, kind| !is_hbm(space) && kind == Write),
    ];
    let Some(peaks) = peaks else { return OpProfileMetrics { bytes, ..metrics } };
    let time = metrics.work.time.0 as f64;
    let share = |bytes: u128, peak: f64| {
        let rate = giga_to_gibi(ratio(bytes as f64 * 1e3, time));
        ratio(rate, giga_to_gibi(peak)).min(1.0)
    };
    let flops = ratio(ratio(metrics.work.flops as f64, time), peaks.teraflops).min(1.0);
    OpProfileMetrics {
        flops_utilization: flops * ratio(time, total.0 as f64),
        bandwidth_utilization: [
            share(bytes[0], peaks.hbm),
            share(bytes[1], peaks.sram_read),
            share(bytes[2], peaks.sram_write),
        ],
        bytes,
        ..metrics
    }
}

/// The table as a sheet.
pub(super) fn op_profile_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    use ColumnKind::{Count, Number, Text};
    use Unit::{Bytes, Gigaflops, Microseconds, Percent};
    let fields = [
        Column::new("Grouping", Text, "by_category or by_program.")
            .field(|row: &Row<'_>| row.grouping.as_str().into()),
        Column::new("Depth", Count, "Depth: 0 for the root, 1 for its parts, and so on.")
            .with_role(Role::Name)
            .field(|row: &Row<'_>| row.depth.into()),
        Column::new(
            "Level",
            Text,
            "Node type: root, program, category, duplicates (all copies of an operation), op or idle.",
        )
        .field(|row: &Row<'_>| {
            match row.node.level {
                OpProfileLevel::Root => "root",
                OpProfileLevel::Program => "program",
                OpProfileLevel::Category => "category",
                OpProfileLevel::Duplicates(_) => "duplicates",
                OpProfileLevel::Op(_) => "op",
                OpProfileLevel::Idle => "idle",
            }
            .into()
        }),
        Column::new("Name", Text, "Node title; IDLE for idle time.")
            .field(|row: &Row<'_>| row.node.name.as_str().into()),
        Column::new("Path", Text, "Titles from the root down to the node; empty for the root.")
            .with_role(Role::Detail)
            .field(|row: &Row<'_>| row.path.as_str().into()),
        Column::new(
            "Occurrences",
            Count,
            "Number of executions on all cores; empty for programs and the root.",
        )
        .field(|row: &Row<'_>| {
            Some(row.node.metrics.occurrences).filter(|&occurrences| occurrences > 0).into()
        }),
        Column::new("Time (us)", Number(Microseconds), "Time on all cores by the device clock.")
            .field(|row: &Row<'_>| row.node.metrics.work.time.to_microseconds().into()),
        Column::new(
            "Avg. time (us)",
            Number(Microseconds),
            "Mean time per execution; empty for programs and the root.",
        )
        .per("execution")
        .field(|row: &Row<'_>| {
            let metrics = &row.node.metrics;
            (metrics.occurrences > 0).then(|| metrics.average_ps() / 1e6).into()
        }),
        Column::new("Time (%)", Number(Percent), "Share of total time, including idle.")
            .field(|row: &Row<'_>| row.share(row.total).into()),
        Column::new(
            "Time excluding idle (%)",
            Number(Percent),
            "Share of busy time; empty for idle time and the root.",
        )
        .field(|row: &Row<'_>| {
            let is_part = !matches!(row.node.level, OpProfileLevel::Root | OpProfileLevel::Idle);
            row.share(row.busy_time).filter(|_| is_part).into()
        }),
        Column::new(
            "FLOPS utilization (%)",
            Number(Percent),
            "Floating-point operations / time as a share of the peak.",
        )
        .field(|row: &Row<'_>| row.flops_utilization().into()),
        Column::new(
            "FLOPS utilization of all time (%)",
            Number(Percent),
            "FLOPS utilization relative to total time, so that parts add up to the total.",
        )
        .field(|row: &Row<'_>| row.percent_of_peak(row.node.metrics.flops_utilization).into()),
        Column::new(
            "HBM bandwidth utilization (%)",
            Number(Percent),
            "HBM bytes / time as a share of the HBM peak, 100 at most.",
        )
        .field(|row: &Row<'_>| row.percent_of_peak(row.node.metrics.bandwidth_utilization[0]).into()),
        Column::new(
            "On-chip read bandwidth utilization (%)",
            Number(Percent),
            "Bytes read from on-chip memory / time as a share of the memory's peak.",
        )
        .field(|row: &Row<'_>| row.percent_of_peak(row.node.metrics.bandwidth_utilization[1]).into()),
        Column::new(
            "On-chip write bandwidth utilization (%)",
            Number(Percent),
            "Bytes written to on-chip memory / time as a share of the memory's peak.",
        )
        .field(|row: &Row<'_>| row.percent_of_peak(row.node.metrics.bandwidth_utilization[2]).into()),
        Column::new("GFLOP", Number(Gigaflops), "The model's floating-point operations, in 10⁹.")
            .field(|row: &Row<'_>| (row.node.metrics.work.model_flops as f64 / 1e9).into()),
        Column::new("HBM bytes", Number(Bytes), "HBM bytes, if the memory is recorded.")
            .field(|row: &Row<'_>| (row.node.metrics.bytes[0] as f64).into()),
        Column::new("HLO op text", Text, "Full text of the HLO instruction; only for op and duplicates.")
            .with_role(Role::Provenance)
            .field(|row: &Row<'_>| row.op().map(|op| op.expression.as_str()).into()),
        Column::new(
            "Framework op name",
            Text,
            "Framework operation that the instruction implements; only for op and duplicates.",
        )
        .with_role(Role::Detail)
        .field(|row: &Row<'_>| row.op().map(|op| op.framework.as_str()).into()),
    ];
    tpu_sheet(
        "op_profile",
        "Operations as two trees (by category; by program and category), each part below its parent, most time \
         first, as in the XLA profiler's Op Profile. An operation that contains others adds only its self time to its program and to the total; it belongs to no category.",
        fields,
        rows,
    )
}

/// A node with what it is a part of.
struct Row<'a> {
    grouping: OpProfileGrouping,
    depth: u64,
    path: String,
    total: Picoseconds,
    busy_time: Picoseconds,
    has_peaks: bool,
    node: OpProfileNode<'a>,
}

fn rows<'a>(tpu: &'a TpuAnalysis) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    if tpu.table.ops.is_empty() {
        return rows;
    }
    for grouping in [OpProfileGrouping::ByCategory, OpProfileGrouping::ByProgram] {
        let root = op_profile(tpu, grouping, IdleTime::Included);
        let total = root.metrics.work.time;
        // Parts that are still to come, the next one last.
        let mut open = vec![(0, String::new(), root)];
        while let Some((depth, around, mut node)) = open.pop() {
            let path = if depth == 0 { String::new() } else { format!("{around}/{}", node.name) };
            let parts = std::mem::take(&mut node.children).into_iter().rev();
            open.extend(parts.map(|part| (depth + 1, path.clone(), part)));
            let (busy_time, has_peaks) = (tpu.table.op_time(), tpu.profile.peaks.is_ok());
            rows.push(Row { grouping, depth, path, total, busy_time, has_peaks, node });
        }
    }
    rows
}

impl Row<'_> {
    fn op(&self) -> Option<&TpuOp> {
        match self.node.level {
            OpProfileLevel::Op(op) | OpProfileLevel::Duplicates(op) => Some(op),
            _ => None,
        }
    }

    fn share(&self, whole: Picoseconds) -> Option<f64> {
        (whole.0 > 0).then(|| self.node.metrics.work.time.0 as f64 / whole.0 as f64 * 100.0)
    }

    fn percent_of_peak(&self, share: f64) -> Option<f64> {
        self.has_peaks.then_some(share * 100.0)
    }

    /// Arithmetic over the node's own time as a share of the peak, in percent.
    fn flops_utilization(&self) -> Option<f64> {
        let time = self.node.metrics.work.time;
        let weighed = self.node.metrics.flops_utilization;
        let share = if time.0 == 0 { 0.0 } else { weighed * self.total.0 as f64 / time.0 as f64 };
        self.percent_of_peak(share)
    }
}
