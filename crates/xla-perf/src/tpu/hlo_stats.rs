//! A row per HLO operation: time, rates, what bounds it.

use super::analysis::TpuAnalysis;
use super::op_metrics::OpMetrics;
use super::peaks::MissingPeaks;
use super::profile::TpuOp;
use super::rates::{Rates, Roof, ratio};

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
    pub(super) fn of(op: &OpMetrics) -> Self {
        let total_us = op.work.time_ps as f64 / 1e6;
        let self_us = op.self_time_ps as f64 / 1e6;
        let occurrences = op.occurrences as f64;
        OpTimes {
            occurrences: op.occurrences,
            total_us,
            average_us: ratio(total_us, occurrences),
            self_us,
            average_self_us: ratio(self_us, occurrences),
            dma_stall_fraction: ratio(op.dma_stall_ps as f64, op.work.time_ps as f64),
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
    pub roof: Result<Roof, &'a MissingPeaks>,
    /// Whether its result is computed again rather than kept.
    pub is_rematerialized: bool,
    /// Whether it was compiled outside of the program around it.
    pub is_outside_compilation: bool,
}

/// Rows of all operations, most own time first.
#[must_use]
pub fn hlo_stats<'a>(analysis: &'a TpuAnalysis) -> Vec<HloStatsRow<'a>> {
    let total = analysis.table.total_ps as f64;
    let mut cumulative = 0.0;
    let mut rank = 0;
    let ops = analysis.table.ops.iter();
    let rows = ops.map(|op| {
        let described = analysis.op(op);
        let self_fraction = ratio(op.self_time_ps as f64, total);
        cumulative += self_fraction;
        rank += 1;
        let rates = Rates::of(&op.work);
        HloStatsRow {
            rank,
            op: described,
            program: op.program,
            times: OpTimes::of(op),
            self_fraction,
            cumulative_fraction: cumulative,
            roof: analysis.profile.peaks.as_ref().map(|peaks| Roof::of(&rates, peaks)),
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
