//! HLO operations by own time.

use polars::prelude::{DataFrame, PolarsResult};

use super::field::{Field, columns, field, frame};
use super::summed;
use tree_perf::{Column, ColumnKind, Unit};
use crate::analysis::JaxAnalysis;
use crate::tpu::{HloStatsRow, hlo_stats};
use tree_perf::{ChartShape, Sheet, SheetChart};

const COLUMNS: &[Column] = &columns(&fields());

pub(super) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "hlo_stats",
    current_name: "hlo_stats",
    description: "HLO operations of all programs, those of all tensor cores together, most own time first; as the HLO Stats tool of the XLA profiler has them. Time in which nothing ran is no row.",
    columns: COLUMNS,
    chart: Some(SheetChart {
        title: "HLO operations by own time",
        categories: "HLO op name",
        values: "Total self time (us)",
        axis: "own time (µs)",
        shape: ChartShape::Bars(10),
    }),
    build,
};

fn build(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    summed(analysis, |tpu| frame(&fields(), &hlo_stats(tpu)))
}

const fn fields<'a>() -> [Field<HloStatsRow<'a>>; 27] {
    use ColumnKind::{Count, Number, Text};
    use Unit::{Microseconds, One, Percent};
    [
        field("Rank", Count, "1 for the most own time.", |row| u64::from(row.rank).into()),
        field("Program id", Text, "Number of the program.", |row| row.program.to_string().into()),
        field("HLO op category", Text, "Kind of operation, as the compiler says.", |row| {
            row.op.category.as_str().into()
        }),
        field("HLO op name", Text, "Name of the operation.", |row| row.op.name.as_str().into()),
        field("HLO op text", Text, "The instruction in full.", |row| row.op.expression.as_str().into()),
        field(
            "Framework op name",
            Text,
            "Operation of the framework that it came from, <name>:<type>.",
            |row| row.op.framework.as_str().into(),
        ),
        field("#Occurrences", Count, "Executions on all cores.", |row| row.times.occurrences.into()),
        field(
            "Total time (us)",
            Number(Microseconds),
            "Time of all executions by the clock of the device, in µs.",
            |row| row.times.total_us.into(),
        ),
        field("Avg. time (us)", Number(Microseconds), "Time of one execution, in µs.", |row| {
            row.times.average_us.into()
        }),
        field(
            "Total self time (us)",
            Number(Microseconds),
            "Time of all executions without that of operations inside them, in µs.",
            |row| row.times.self_us.into(),
        ),
        field("Avg. self time (us)", Number(Microseconds), "Own time of one execution, in µs.", |row| {
            row.times.average_self_us.into()
        }),
        field(
            "Total self time (%)",
            Number(Percent),
            "Own time as a share of the time from the first operation to the last on each core, in percent.",
            |row| (row.self_fraction * 100.0).into(),
        ),
        field(
            "Cumulative total self time (%)",
            Number(Percent),
            "Sum of the shares of this row and all above, in percent.",
            |row| (row.cumulative_fraction * 100.0).into(),
        ),
        field(
            "%time stalled by DMA",
            Number(Percent),
            "Share of its time that the core waited for memory transfers, in percent; 0 where not recorded.",
            |row| (row.times.dma_stall_fraction * 100.0).into(),
        ),
        field(
            "Model GFLOP/s",
            Number(One),
            "Floating-point operations of the model over the time, in GFLOP/s.",
            |row| row.rates.model_flop_rate.into(),
        ),
        field(
            "Normalized GFLOP/s",
            Number(One),
            "Floating-point operations over the time, weighed by the precision that the peak is stated for, in GFLOP/s.",
            |row| row.rates.flop_rate.into(),
        ),
        field(
            "Measured memory BW (GiB/s)",
            Number(One),
            "Bytes of all memories over the time, in GiB/s.",
            |row| row.rates.memory_bandwidth.into(),
        ),
        field(
            "HBM BW (GiB/s)",
            Number(One),
            "Bytes of the high-bandwidth memory over the time, in GiB/s; all bytes where the compiler did not say which memory.",
            |row| row.rates.bandwidth.hbm.into(),
        ),
        field(
            "CMEM Read BW (GiB/s)",
            Number(One),
            "Bytes read from common memory over the time, in GiB/s.",
            |row| row.rates.bandwidth.cmem_read.into(),
        ),
        field(
            "CMEM Write BW (GiB/s)",
            Number(One),
            "Bytes written to common memory over the time, in GiB/s.",
            |row| row.rates.bandwidth.cmem_write.into(),
        ),
        field(
            "Operational intensity (FLOPS/Byte)",
            Number(One),
            "Floating-point operations per byte of all memories.",
            |row| row.rates.intensity.into(),
        ),
        field(
            "Bound by",
            Text,
            "Resource of the largest share of its peak: Compute, HBM, CMEM Read, CMEM Write, VMEM Read or VMEM Write; Unknown when it uses none; why not when the profile does not say what a core can do.",
            |row| match row.roof {
                Ok(roof) => roof.bound_by.as_str().into(),
                Err(missing) => missing.to_string().into(),
            },
        ),
        field("Rematerialization", Text, "Yes when the result is computed again rather than kept.", |row| {
            yes(row.is_rematerialized).into()
        }),
        field("Outside Compilation", Text, "Yes when it exchanges data with code of the host.", |row| {
            yes(row.is_outside_compilation).into()
        }),
        field(
            "Autotuned",
            Text,
            "Yes when its implementation was chosen by trial, which is done for GPUs only.",
            |_| yes(false).into(),
        ),
        field("Source Info", Text, "File and line of the program.", |row| row.op.source.as_str().into()),
        field("Source Stack", Text, "Call stack of the program, a line a frame.", |row| {
            row.op.source_stack.as_str().into()
        }),
    ]
}

const fn yes(value: bool) -> &'static str {
    if value { "Yes" } else { "No" }
}
