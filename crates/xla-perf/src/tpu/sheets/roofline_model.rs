//! Operations under the roofline of a core.

use polars::prelude::{DataFrame, PolarsResult};

use super::field::{Field, columns, field, frame};
use super::summed;
use tree_perf::{Column, ColumnKind, Unit};
use crate::analysis::JaxAnalysis;
use crate::tpu::{RooflineRow, roofline};
use tree_perf::Sheet;

const COLUMNS: &[Column] = &columns(&fields());

pub(super) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "roofline_model",
    current_name: "roofline_model",
    description: "Operations held against what a tensor core can do by the profile's own word, as the Roofline Model tool of the XLA profiler has them: of the whole profile, then the program as a whole in the average complete step and in each step; first with the operations that feed the device and then without. Absent when the profile does not say what a core can do.",
    columns: COLUMNS,
    chart: None,
    build,
};

fn build(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    summed(analysis, |tpu| frame(&fields(), &roofline(tpu)))
}

const fn fields<'a>() -> [Field<RooflineRow<'a>>; 38] {
    use ColumnKind::{Count, Flag, Number, Text};
    use Unit::{Microseconds, One, Percent};
    [
        field(
            "Step",
            Text,
            "Total for the whole profile, Average for all steps that every core has, with the total time per step, or a step. Without such steps the average is 0.",
            |row| row.step.as_str().into(),
        ),
        field(
            "Rank",
            Count,
            "0 for the program as a whole, 1 for the operation with the most own time.",
            |row| u64::from(row.rank).into(),
        ),
        field(
            "Category",
            Text,
            "Kind of operation, as the compiler says; Program for the program as a whole.",
            |row| row.op.map_or("Program", |op| op.category.as_str()).into(),
        ),
        field(
            "Operation",
            Text,
            "Name of the operation. The program as a whole sums the operations that run no others inside, over all time.",
            |row| row.op.map_or("Program", |op| op.name.as_str()).into(),
        ),
        field("# Occurrences", Count, "Executions on all cores.", |row| row.times.occurrences.into()),
        field(
            "Total Time (us)",
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
            "The time without that of operations inside, in µs.",
            |row| row.times.self_us.into(),
        ),
        field("Avg. self time (us)", Number(Microseconds), "Own time of one execution, in µs.", |row| {
            row.times.average_self_us.into()
        }),
        field(
            "Total self time (%)",
            Number(Percent),
            "Own time as a share of all time, in percent.",
            |row| (row.self_fraction * 100.0).into(),
        ),
        field(
            "Cumulative total self time (%)",
            Number(Percent),
            "Sum of the shares of this row and those above, in percent.",
            |row| (row.cumulative_fraction * 100.0).into(),
        ),
        field(
            "%time stalled by DMA",
            Number(Percent),
            "Share of its time that the core waited for memory transfers, in percent.",
            |row| (row.times.dma_stall_fraction * 100.0).into(),
        ),
        field(
            "Normalized FLOP Rate (GFLOP/s)",
            Number(One),
            "Floating-point operations over the time, weighed by the precision that the peak is stated for, in GFLOP/s.",
            |row| row.rates.flop_rate.into(),
        ),
        field(
            "Model FLOP Rate (GFLOP/s)",
            Number(One),
            "Floating-point operations of the model over the time, in GFLOP/s.",
            |row| row.rates.model_flop_rate.into(),
        ),
        field("Memory BW (GiB/s)", Number(One), "Bytes of all memories over the time, in GiB/s.", |row| {
            row.rates.memory_bandwidth.into()
        }),
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
            "VMEM Read BW (GiB/s)",
            Number(One),
            "Bytes read from vector memory over the time, in GiB/s.",
            |row| row.rates.bandwidth.vmem_read.into(),
        ),
        field(
            "VMEM Write BW (GiB/s)",
            Number(One),
            "Bytes written to vector memory over the time, in GiB/s.",
            |row| row.rates.bandwidth.vmem_write.into(),
        ),
        field(
            "Operational Intensity (FLOP/Byte)",
            Number(One),
            "Floating-point operations per byte of all memories.",
            |row| row.rates.intensity.into(),
        ),
        field(
            "HBM Operational Intensity (FLOP/Byte)",
            Number(One),
            "The same per byte of the high-bandwidth memory.",
            |row| row.rates.intensity_by_memory.hbm.into(),
        ),
        field(
            "CMEM Read Operational Intensity (FLOP/Byte)",
            Number(One),
            "The same per byte read from common memory.",
            |row| row.rates.intensity_by_memory.cmem_read.into(),
        ),
        field(
            "CMEM Write Operational Intensity (FLOP/Byte)",
            Number(One),
            "The same per byte written to common memory.",
            |row| row.rates.intensity_by_memory.cmem_write.into(),
        ),
        field(
            "VMEM Read Operational Intensity (FLOP/Byte)",
            Number(One),
            "The same per byte read from vector memory.",
            |row| row.rates.intensity_by_memory.vmem_read.into(),
        ),
        field(
            "VMEM Write Operational Intensity (FLOP/Byte)",
            Number(One),
            "The same per byte written to vector memory.",
            |row| row.rates.intensity_by_memory.vmem_write.into(),
        ),
        field(
            "Bottleneck Operational Intensity (FLOP/Byte)",
            Number(One),
            "The intensity of what it is bound by; that of all memories when that is arithmetic.",
            |row| row.roof.bottleneck_intensity.into(),
        ),
        field(
            "Bound by",
            Text,
            "Resource of the largest share of its peak: Compute, HBM, CMEM Read, CMEM Write, VMEM Read or VMEM Write; Unknown when it uses none.",
            |row| row.roof.bound_by.as_str().into(),
        ),
        field(
            "Total Time per core (us)",
            Number(Microseconds),
            "The time over the number of tensor cores, in µs.",
            |row| row.time_per_core_us.into(),
        ),
        field("Total Time (%)", Number(Percent), "Time as a share of all time, in percent.", |row| {
            (row.total_fraction * 100.0).into()
        }),
        field(
            "Optimal FLOP Rate (GFLOP/s)",
            Number(One),
            "Rate at an efficiency of 100 % and the same intensity, in GFLOP/s.",
            |row| row.roof.optimal_flop_rate.into(),
        ),
        field(
            "Roofline efficiency (%)",
            Number(Percent),
            "Largest share of a peak, in percent. Asynchronous copies pass 100 %, because their bytes move outside of the time of the operation that starts or awaits them.",
            |row| (row.roof.efficiency * 100.0).into(),
        ),
        field(
            "FLOP Rate / Peak (%)",
            Number(Percent),
            "Arithmetic as a share of its peak, in percent.",
            |row| (row.roof.compute_utilization * 100.0).into(),
        ),
        field(
            "Max memory bandwidth utilization (%)",
            Number(Percent),
            "Largest share of its peak among the memories, in percent.",
            |row| (row.roof.memory_utilization * 100.0).into(),
        ),
        field(
            "Include Infeed/Outfeed",
            Flag,
            "Whether operations that feed the device are counted.",
            |row| row.includes_feeds.into(),
        ),
        field("Program ID", Text, "Number of the program; 0 for the program as a whole.", |row| {
            row.program.to_string().into()
        }),
        field("Source Info", Text, "File and line of the program.", |row| {
            row.op.map(|op| op.source.as_str()).into()
        }),
        field("Source Stack", Text, "Call stack of the program, a line a frame.", |row| {
            row.op.map(|op| op.source_stack.as_str()).into()
        }),
    ]
}
