//! Operations as trees, a node a row.

use polars::prelude::{DataFrame, PolarsResult};

use super::field::{Field, columns, field, frame};
use super::summed;
use tree_perf::{Column, ColumnKind, Unit};
use crate::analysis::JaxAnalysis;
use crate::tpu::{
    IdleTime, OpProfileGrouping, OpProfileLevel, OpProfileNode, TpuAnalysis, TpuOp, op_profile,
};
use tree_perf::Sheet;

const COLUMNS: &[Column] = &columns(&fields());

pub(super) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "op_profile",
    current_name: "op_profile",
    description: "Operations as two trees, by category and by program and category, parts below their whole and most time first, as the Op Profile tool of the XLA profiler has them. Operations with others inside count with their own time in programs and in everything and are in no category.",
    columns: COLUMNS,
    chart: None,
    build,
};

fn build(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    summed(analysis, |tpu| frame(&fields(), &rows(tpu)))
}

/// A node with what it is a part of.
struct Row<'a> {
    grouping: OpProfileGrouping,
    depth: u64,
    path: String,
    total_ps: u64,
    busy_ps: u64,
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
        let total_ps = root.metrics.work.time_ps;
        // Parts that are still to come, the next one last.
        let mut open = vec![(0, String::new(), root)];
        while let Some((depth, around, mut node)) = open.pop() {
            let path = if depth == 0 { String::new() } else { format!("{around}/{}", node.name) };
            let parts = std::mem::take(&mut node.children).into_iter().rev();
            open.extend(parts.map(|part| (depth + 1, path.clone(), part)));
            let (busy_ps, has_peaks) = (tpu.table.op_time_ps(), tpu.profile.peaks.is_ok());
            rows.push(Row { grouping, depth, path, total_ps, busy_ps, has_peaks, node });
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

    fn share(&self, whole_ps: u64) -> Option<f64> {
        (whole_ps > 0).then(|| self.node.metrics.work.time_ps as f64 / whole_ps as f64 * 100.0)
    }

    fn of_peak(&self, share: f64) -> Option<f64> {
        self.has_peaks.then_some(share * 100.0)
    }

    /// Arithmetic over the node's own time as a share of the peak, in percent.
    fn flops_utilization(&self) -> Option<f64> {
        let time_ps = self.node.metrics.work.time_ps;
        let weighed = self.node.metrics.flops_utilization;
        let share = if time_ps == 0 { 0.0 } else { weighed * self.total_ps as f64 / time_ps as f64 };
        self.of_peak(share)
    }
}

const fn fields<'a>() -> [Field<Row<'a>>; 19] {
    use ColumnKind::{Count, Number, Text};
    use Unit::{Microseconds, One, Percent};
    [
        field("Grouping", Text, "by_category or by_program.", |row| row.grouping.as_str().into()),
        field("Depth", Count, "0 for everything, 1 for its parts, and so on.", |row| row.depth.into()),
        field(
            "Level",
            Text,
            "What the node is: root, program, category, duplicates (copies of one operation together), op or idle.",
            |row| {
                match row.node.level {
                    OpProfileLevel::Root => "root",
                    OpProfileLevel::Program => "program",
                    OpProfileLevel::Category => "category",
                    OpProfileLevel::Duplicates(_) => "duplicates",
                    OpProfileLevel::Op(_) => "op",
                    OpProfileLevel::Idle => "idle",
                }
                .into()
            },
        ),
        field("Name", Text, "Title of the node; IDLE for time in which nothing ran.", |row| {
            row.node.name.as_str().into()
        }),
        field("Path", Text, "Titles from the whole down to the node; empty for everything.", |row| {
            row.path.as_str().into()
        }),
        field("Occurrences", Count, "Executions on all cores; empty for programs and everything.", |row| {
            Some(row.node.metrics.occurrences).filter(|&occurrences| occurrences > 0).into()
        }),
        field(
            "Time (us)",
            Number(Microseconds),
            "Time on all cores by the clock of the device, in µs.",
            |row| (row.node.metrics.work.time_ps as f64 / 1e6).into(),
        ),
        field(
            "Avg. time (us)",
            Number(Microseconds),
            "Time of one execution, in µs; empty for programs and everything.",
            |row| {
                let metrics = &row.node.metrics;
                (metrics.occurrences > 0).then(|| metrics.average_ps() / 1e6).into()
            },
        ),
        field("Time (%)", Number(Percent), "Share of all time, idle time included, in percent.", |row| {
            row.share(row.total_ps).into()
        }),
        field(
            "Time excluding idle (%)",
            Number(Percent),
            "Share of the time in which something ran, in percent; empty for idle time and for everything.",
            |row| {
                let is_part = !matches!(row.node.level, OpProfileLevel::Root | OpProfileLevel::Idle);
                row.share(row.busy_ps).filter(|_| is_part).into()
            },
        ),
        field(
            "FLOPS utilization (%)",
            Number(Percent),
            "Floating-point operations over the time as a share of the peak, in percent.",
            |row| row.flops_utilization().into(),
        ),
        field(
            "FLOPS utilization of all time (%)",
            Number(Percent),
            "The same over all time, so that parts add up to the whole, in percent.",
            |row| row.of_peak(row.node.metrics.flops_utilization).into(),
        ),
        field(
            "HBM bandwidth utilization (%)",
            Number(Percent),
            "Bytes of the high-bandwidth memory over the time as a share of its peak, in percent, 100 at most.",
            |row| row.of_peak(row.node.metrics.bandwidth_utilization[0]).into(),
        ),
        field(
            "On-chip read bandwidth utilization (%)",
            Number(Percent),
            "The same of bytes read from memory on the chip.",
            |row| row.of_peak(row.node.metrics.bandwidth_utilization[1]).into(),
        ),
        field(
            "On-chip write bandwidth utilization (%)",
            Number(Percent),
            "The same of bytes written to memory on the chip.",
            |row| row.of_peak(row.node.metrics.bandwidth_utilization[2]).into(),
        ),
        field("GFLOP", Number(One), "Floating-point operations of the model, in 10⁹.", |row| {
            (row.node.metrics.work.model_flops as f64 / 1e9).into()
        }),
        field(
            "HBM bytes",
            Number(One),
            "Bytes of the high-bandwidth memory, where the compiler says which memory.",
            |row| (row.node.metrics.bytes[0] as f64).into(),
        ),
        field("HLO op text", Text, "The instruction in full, of operations.", |row| {
            row.op().map(|op| op.expression.as_str()).into()
        }),
        field(
            "Framework op name",
            Text,
            "Operation of the framework that it came from, of operations.",
            |row| row.op().map(|op| op.framework.as_str()).into(),
        ),
    ]
}
