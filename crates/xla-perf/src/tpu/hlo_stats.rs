//! A row per HLO operation: time, rates, what bounds it.

use sheets::columns::hlo;
use sheets::names;
use sheets::{Chart, ChartShape, Column, ColumnKind, Excerpt, Role, Sheet, Unit};

use super::analysis::{OpMetrics, TpuAnalysis};
use super::profile::{MissingPeaks, TpuOp};
use super::rates::{Rates, Utilization, ratio};
use crate::JaxAnalysis;
use crate::sheet::tpu_sheet;

/// Times of an operation, those of several cores together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OpTimes {
    /// Executions on all cores.
    pub occurrences: u64,
    /// Time, in µs.
    pub total_us: f64,
    /// Time of one execution, in µs.
    pub average_us: f64,
    /// Time without that of operations inside it, in µs.
    pub self_us: f64,
    /// The same of one execution, in µs.
    pub average_self_us: f64,
    /// Share of its time that the core waited for memory transfers, 0 to 1.
    pub dma_stall_fraction: f64,
}

impl OpTimes {
    /// The times of an operation.
    pub(super) fn new(op: &OpMetrics) -> Self {
        let total_us = op.work.time.to_microseconds();
        let self_us = op.self_time.to_microseconds();
        let occurrences = op.occurrences as f64;
        OpTimes {
            occurrences: op.occurrences,
            total_us,
            average_us: ratio(total_us, occurrences),
            self_us,
            average_self_us: ratio(self_us, occurrences),
            dma_stall_fraction: ratio(op.dma_stall.0 as f64, op.work.time.0 as f64),
        }
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct HloStatsRow<'a> {
    /// 1 for the most own time.
    pub rank: u32,
    /// The operation.
    pub op: &'a TpuOp,
    /// Number of its program.
    pub program: u64,
    /// Its times.
    pub times: OpTimes,
    /// Own time as a share of all time, idle time included, 0 to 1.
    pub self_fraction: f64,
    /// Sum of the shares of this row and all above.
    pub cumulative_fraction: f64,
    /// Its rates.
    pub rates: Rates,
    /// What bounds it, or why that cannot be said.
    pub roof: Result<Utilization, &'a MissingPeaks>,
    /// Whether its result is computed again rather than kept.
    pub is_rematerialized: bool,
    /// Whether it was compiled outside of the program around it.
    pub is_outside_compilation: bool,
}

/// Rows of all operations, most own time first.
#[must_use]
pub fn hlo_stats<'a>(analysis: &'a TpuAnalysis) -> Vec<HloStatsRow<'a>> {
    let total = analysis.table.total.0 as f64;
    let mut cumulative = 0.0;
    let mut rank = 0;
    let ops = analysis.table.ops.iter();
    let rows = ops.map(|op| {
        let described = analysis.op(op);
        let self_fraction = ratio(op.self_time.0 as f64, total);
        cumulative += self_fraction;
        rank += 1;
        let rates = Rates::new(&op.work);
        HloStatsRow {
            rank,
            op: described,
            program: op.program,
            times: OpTimes::new(op),
            self_fraction,
            cumulative_fraction: cumulative,
            roof: analysis.profile.peaks.as_ref().map(|peaks| Utilization::new(&rates, peaks)),
            rates,
            is_rematerialized: is_rematerialized(&described.expression, &described.framework),
            is_outside_compilation: is_outside_compilation(&described.expression, &described.framework),
        }
    });
    rows.collect()
}

/// The compiler marks what it computes again in the name, the framework in the scope.
fn is_rematerialized(expression: &str, framework: &str) -> bool {
    let name = expression.split('=').next().unwrap_or_default();
    name.contains(".remat") || framework.contains("/rematted_computation/")
}

/// Such operations run on the host: their text or the scope of the framework says so.
fn is_outside_compilation(expression: &str, framework: &str) -> bool {
    framework.ends_with(":XlaSendToHost")
        || framework.ends_with(":XlaRecvFromHost")
        || expression.contains("send-done") && expression.contains("is_host_transfer=true")
}

const SELF_SHARE: Column = Column::percent(
    "Total self time (%)",
    "Self time as a share of the time from first start to last end, idle time included, summed over cores.",
);
/// The table as a sheet.
pub(super) fn hlo_stats_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    use ColumnKind::{Count, Number, Text};
    use Unit::{FlopsPerByte, GibibytesPerSecond, GigaflopsPerSecond, Microseconds, Percent};
    let fields = [
        Column::new("Rank", Count, "Rank by self time, from 1.").with_role(Role::Name).field(|row: &HloStatsRow<'_>| u64::from(row.rank).into()),
        Column::new("Program id", Text, "Program number.").with_role(Role::Provenance).field(|row: &HloStatsRow<'_>| row.program.to_string().into()),
        Column::new("HLO op category", Text, "Operation category, from the compiler.").field(|row: &HloStatsRow<'_>| {
            row.op.category.as_str().into()
        }),
        hlo::OP_NAME.field(|row: &HloStatsRow<'_>| row.op.name.as_str().into()),
        Column::new("HLO op text", Text, "Full text of the HLO instruction.").with_role(Role::Provenance).field(|row: &HloStatsRow<'_>| row.op.expression.as_str().into()),
        Column::new("Framework op name", Text, "Framework operation that the instruction implements, as <name>:<type>.").with_role(Role::Detail).field(|row: &HloStatsRow<'_>| row.op.framework.as_str().into()),
        hlo::OCCURRENCES.field(|row: &HloStatsRow<'_>| row.times.occurrences.into()),
        Column::new("Total time (us)", Number(Microseconds), "Time of all executions by the device clock.").field(|row: &HloStatsRow<'_>| row.times.total_us.into()),
        Column::new("Avg. time (us)", Number(Microseconds), "Mean time per execution.").per("execution").field(|row: &HloStatsRow<'_>| {
            row.times.average_us.into()
        }),
        hlo::SELF_TIME.field(|row: &HloStatsRow<'_>| row.times.self_us.into()),
        Column::new("Avg. self time (us)", Number(Microseconds), "Mean self time per execution.").per("execution").field(|row: &HloStatsRow<'_>| {
            row.times.average_self_us.into()
        }),
        SELF_SHARE.field(|row: &HloStatsRow<'_>| (row.self_fraction * 100.0).into()),
        Column::new("Cumulative total self time (%)", Number(Percent), "Running sum of the shares.").field(|row: &HloStatsRow<'_>| (row.cumulative_fraction * 100.0).into()),
        Column::new("%time stalled by DMA", Number(Percent), "Share of the operation's time stalled on memory transfers; 0 if not recorded.").field(|row: &HloStatsRow<'_>| (row.times.dma_stall_fraction * 100.0).into()),
        Column::new("Model GFLOP/s", Number(GigaflopsPerSecond), "The model's floating-point operations / time.").field(|row: &HloStatsRow<'_>| row.rates.model_flop_rate.into()),
        Column::new("Normalized GFLOP/s", Number(GigaflopsPerSecond), "Floating-point operations / time, normalized to the precision of the stated peak.").field(|row: &HloStatsRow<'_>| row.rates.flop_rate.into()),
        Column::new("Measured memory BW (GiB/s)", Number(GibibytesPerSecond), "Bytes of all memories / time.").field(|row: &HloStatsRow<'_>| row.rates.memory_bandwidth.into()),
        Column::new("HBM BW (GiB/s)", Number(GibibytesPerSecond), "HBM bytes / time; all bytes if the memory is not recorded.").field(|row: &HloStatsRow<'_>| row.rates.bandwidth.hbm.into()),
        Column::new("CMEM Read BW (GiB/s)", Number(GibibytesPerSecond), "Bytes read from common memory / time.").field(|row: &HloStatsRow<'_>| row.rates.bandwidth.cmem_read.into()),
        Column::new("CMEM Write BW (GiB/s)", Number(GibibytesPerSecond), "Bytes written to common memory / time.").field(|row: &HloStatsRow<'_>| row.rates.bandwidth.cmem_write.into()),
        Column::new("Operational intensity (FLOPS/Byte)", Number(FlopsPerByte), "Floating-point operations per byte of all memories.").field(|row: &HloStatsRow<'_>| row.rates.intensity.into()),
        Column::new("Bound by", Text, "Resource with the largest share of its peak: Compute, HBM, CMEM Read, CMEM Write, VMEM Read or VMEM Write; Unknown if the operation uses none; the reason if the profile lacks a core's peaks.").with_role(Role::Detail).field(|row: &HloStatsRow<'_>| match row.roof {
                Ok(roof) => roof.bound_by.as_str().into(),
                Err(missing) => missing.to_string().into(),
            }),
        Column::new("Rematerialization", Text, "Yes if the result is recomputed rather than kept.").with_role(Role::Detail).field(|row: &HloStatsRow<'_>| {
            yes(row.is_rematerialized).into()
        }),
        Column::new("Outside Compilation", Text, "Yes if the operation exchanges data with host code.").with_role(Role::Detail).field(|row: &HloStatsRow<'_>| {
            yes(row.is_outside_compilation).into()
        }),
        Column::new("Autotuned", Text, "Yes if the operation's implementation was autotuned (GPUs only).").with_role(Role::Detail).field(|_| yes(false).into()),
        Column::new("Source Info", Text, "Source file and line.").with_role(Role::Detail).field(|row: &HloStatsRow<'_>| row.op.source.as_str().into()),
        Column::new("Source Stack", Text, "Call stack, one frame per line.").with_role(Role::Provenance).field(|row: &HloStatsRow<'_>| {
            row.op.source_stack.as_str().into()
        }),
    ];
    tpu_sheet(
        names::HLO_STATS,
        "HLO operations of all programs, all tensor cores together, most self time \
        first, as in the XLA profiler's HLO Stats. Idle time has no row.",
        fields,
        hlo_stats,
    )
    .with_chart(Chart::new(
        "HLO operations by self time",
        hlo::OP_NAME.name,
        hlo::SELF_TIME.name,
        "self time (µs)",
        ChartShape::Bars(10),
    ))
    .with_excerpt(Excerpt::new(
        10,
        [
            ("instruction", hlo::OP_NAME),
            ("calls", hlo::OCCURRENCES),
            ("self µs", hlo::SELF_TIME),
            ("% of window", SELF_SHARE),
        ],
    ))
}

const fn yes(value: bool) -> &'static str {
    if value { "Yes" } else { "No" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_recomputed_operations_are_in_the_name_or_the_scope() {
        for (expression, framework, is_marked) in [
            ("%fusion.3.remat2 = f32[8]{0} fusion(%p)", "", true),
            ("%fusion.3 = f32[8]{0} fusion(%add.remat)", "", false),
            ("%fusion.3 = f32[8]{0} fusion(%p)", "jit(f)/checkpoint/rematted_computation/mul:", true),
            ("", "", false),
        ] {
            assert_eq!(is_rematerialized(expression, framework), is_marked, "{expression}");
        }
    }
}
