//! Operations under the roofline of a core: the whole profile, the average step, every step; with and without the
//! operations that feed the device.

use sheets::{Column, ColumnKind, Role, Sheet, Unit};
use trace_ingest::Picoseconds;

use super::analysis::{OpMetrics, OpTable, TpuAnalysis, Work};
use super::category;
use super::hlo_stats::OpTimes;
use super::profile::{Peaks, TpuOp};
use super::rates::{Rates, Utilization, ratio};
use crate::JaxAnalysis;
use crate::sheet::tpu_sheet;

/// Which time a row is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RooflineStep {
    /// The whole profile.
    Total,
    /// All complete steps; times are per step.
    Average,
    /// One step, by what the profiler calls it.
    Step(String),
}

impl RooflineStep {
    /// The spelling in reports.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            RooflineStep::Total => "Total",
            RooflineStep::Average => "Average",
            RooflineStep::Step(name) => name,
        }
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct RooflineRow<'a> {
    /// Which time it is of.
    pub step: RooflineStep,
    /// Whether operations that feed the device are counted.
    pub includes_feeds: bool,
    /// 0 for the program as a whole, 1 for the operation with the most own time.
    pub rank: u32,
    /// The operation; `None` for the program as a whole, which sums the operations that run no others inside.
    pub op: Option<&'a TpuOp>,
    /// Number of its program; 0 for the program as a whole.
    pub program: u64,
    /// Its times.
    pub times: OpTimes,
    /// Own time as a share of all time, 0 to 1.
    pub self_fraction: f64,
    /// Sum of the shares of this row and all above.
    pub cumulative_fraction: f64,
    /// Time as a share of all time, 0 to 1.
    pub total_fraction: f64,
    /// Time per core of the device, in µs.
    pub time_per_core_us: f64,
    /// Its rates.
    pub rates: Rates,
    /// How far below the roofline it is.
    pub roof: Utilization,
}

/// The rows, first with the operations that feed the device and then without. The program as a whole leads its
/// operations; of the average step and of each step it is the only row, and all its figures are 0 without complete
/// steps. Empty when the profile does not say what a core can do.
#[must_use]
pub fn roofline<'a>(analysis: &'a TpuAnalysis) -> Vec<RooflineRow<'a>> {
    let Ok(peaks) = &analysis.profile.peaks else { return Vec::new() };
    let cores = analysis.profile.cores.len() as f64;
    let steps = analysis.steps();
    let mut rows = Vec::new();
    for includes_feeds in [true, false] {
        let pass = |step: RooflineStep| Pass { analysis, step, includes_feeds, cores, peaks };
        pass(RooflineStep::Total).push_rows(&analysis.table, &mut rows);
        let tables = || steps.iter().map(|step| &step.table);
        rows.push(pass(RooflineStep::Average).program_row(tables(), steps.len() as f64));
        for step in &steps {
            let pass = pass(RooflineStep::Step(step.name.clone()));
            rows.push(pass.program_row([&step.table].into_iter(), 1.0));
        }
    }
    rows
}

/// One of the times, in one of the two ways.
struct Pass<'a> {
    analysis: &'a TpuAnalysis,
    step: RooflineStep,
    includes_feeds: bool,
    cores: f64,
    peaks: &'a Peaks,
}

impl<'a> Pass<'a> {
    fn counts(&self, op: &OpMetrics) -> bool {
        self.includes_feeds || !category::is_infeed_or_outfeed(&self.analysis.op(op).category)
    }

    fn push_rows(&self, table: &OpTable, rows: &mut Vec<RooflineRow<'a>>) {
        rows.push(self.program_row(std::iter::once(table), 1.0));
        let total = self.total(table).0 as f64;
        let mut cumulative = 0.0;
        let mut rank = 0;
        for op in table.ops.iter().filter(|op| self.counts(op)) {
            rank += 1;
            let self_fraction = ratio(op.self_time.0 as f64, total);
            cumulative += self_fraction;
            let shares = (self_fraction, cumulative, ratio(op.work.time.0 as f64, total));
            let row = self.row(rank, &op.work, OpTimes::new(op), shares);
            rows.push(RooflineRow { op: Some(self.analysis.op(op)), program: op.program, ..row });
        }
    }

    /// All time of a table, without that of operations that are not counted.
    fn total(&self, table: &OpTable) -> Picoseconds {
        let left_out = table.ops.iter().filter(|op| !self.counts(op));
        table.total.without(left_out.map(|op| op.work.time).sum())
    }

    /// The sum of some tables; its time is per step. Operations that may run others inside are left out: what they did
    /// is what those did.
    fn program_row<'t>(&self, tables: impl Iterator<Item = &'t OpTable>, steps: f64) -> RooflineRow<'a> {
        let mut work = Work::default();
        for table in tables {
            work.time += self.total(table);
            let is_counted = |op: &&OpMetrics| self.counts(op) && !self.analysis.may_have_inner_ops(op);
            for op in table.ops.iter().filter(is_counted) {
                work.add_work(&op.work);
            }
        }
        let total_us = work.time.to_microseconds();
        let times = OpTimes {
            occurrences: 1,
            total_us: ratio(total_us, steps),
            average_us: total_us,
            ..OpTimes::default()
        };
        let total_fraction = if work.time.0 > 0 { 1.0 } else { 0.0 };
        self.row(0, &work, times, (0.0, 0.0, total_fraction))
    }

    fn row(&self, rank: u32, work: &Work, times: OpTimes, shares: (f64, f64, f64)) -> RooflineRow<'a> {
        let rates = Rates::new(work);
        RooflineRow {
            step: self.step.clone(),
            includes_feeds: self.includes_feeds,
            rank,
            op: None,
            program: 0,
            times,
            self_fraction: shares.0,
            cumulative_fraction: shares.1,
            total_fraction: shares.2,
            time_per_core_us: ratio(times.total_us, self.cores),
            roof: Utilization::new(&rates, self.peaks),
            rates,
        }
    }
}

/// The table as a sheet.
pub(super) fn roofline_model_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    use ColumnKind::{Count, Flag, Number, Text};
    use Unit::{FlopsPerByte, GibibytesPerSecond, GigaflopsPerSecond, Microseconds, Percent};
    let fields = [
        Column::new("Step", Text, "Total: the entire profile. Average: all steps recorded on every core, with Total Time (us) per step; 0 without such steps. Otherwise a step.").field(|row: &RooflineRow<'_>| row.step.as_str().into()),
        Column::new("Rank", Count, "Rank: 0 for the entire program, 1 for the operation with the most self time.").with_role(Role::Name).field(|row: &RooflineRow<'_>| u64::from(row.rank).into()),
        Column::new("Category", Text, "Operation category, from the compiler; Program for the entire program.").field(|row: &RooflineRow<'_>| row.op.map_or("Program", |op| op.category.as_str()).into()),
        Column::new("Operation", Text, "Operation name. For the entire program, rates are the summed work of operations that contain no others / total time.").field(|row: &RooflineRow<'_>| row.op.map_or("Program", |op| op.name.as_str()).into()),
        Column::new("# Occurrences", Count, "Number of executions on all cores.").field(|row: &RooflineRow<'_>| row.times.occurrences.into()),
        Column::new("Total Time (us)", Number(Microseconds), "Time of all executions by the device clock.").field(|row: &RooflineRow<'_>| row.times.total_us.into()),
        Column::new("Avg. time (us)", Number(Microseconds), "Mean time per execution.").per("execution").field(|row: &RooflineRow<'_>| {
            row.times.average_us.into()
        }),
        Column::new("Total self time (us)", Number(Microseconds), "Time minus nested operations.").field(|row: &RooflineRow<'_>| row.times.self_us.into()),
        Column::new("Avg. self time (us)", Number(Microseconds), "Mean self time per execution.").per("execution").field(|row: &RooflineRow<'_>| {
            row.times.average_self_us.into()
        }),
        Column::new("Total self time (%)", Number(Percent), "Self time as a share of total time.").field(|row: &RooflineRow<'_>| (row.self_fraction * 100.0).into()),
        Column::new("Cumulative total self time (%)", Number(Percent), "Running sum of the shares.").field(|row: &RooflineRow<'_>| (row.cumulative_fraction * 100.0).into()),
        Column::new("%time stalled by DMA", Number(Percent), "Share of the operation's time stalled on memory transfers.").field(|row: &RooflineRow<'_>| (row.times.dma_stall_fraction * 100.0).into()),
        Column::new("Normalized FLOP Rate (GFLOP/s)", Number(GigaflopsPerSecond), "Floating-point operations / time, normalized to the precision of the stated peak.").field(|row: &RooflineRow<'_>| row.rates.flop_rate.into()),
        Column::new("Model FLOP Rate (GFLOP/s)", Number(GigaflopsPerSecond), "The model's floating-point operations / time.").field(|row: &RooflineRow<'_>| row.rates.model_flop_rate.into()),
        Column::new("Memory BW (GiB/s)", Number(GibibytesPerSecond), "Bytes of all memories / time.").field(|row: &RooflineRow<'_>| {
            row.rates.memory_bandwidth.into()
        }),
        Column::new("HBM BW (GiB/s)", Number(GibibytesPerSecond), "HBM bytes / time; all bytes if the memory is not recorded.").field(|row: &RooflineRow<'_>| row.rates.bandwidth.hbm.into()),
        Column::new("CMEM Read BW (GiB/s)", Number(GibibytesPerSecond), "Bytes read from common memory / time.").field(|row: &RooflineRow<'_>| row.rates.bandwidth.cmem_read.into()),
        Column::new("CMEM Write BW (GiB/s)", Number(GibibytesPerSecond), "Bytes written to common memory / time.").field(|row: &RooflineRow<'_>| row.rates.bandwidth.cmem_write.into()),
        Column::new("VMEM Read BW (GiB/s)", Number(GibibytesPerSecond), "Bytes read from vector memory / time.").field(|row: &RooflineRow<'_>| row.rates.bandwidth.vmem_read.into()),
        Column::new("VMEM Write BW (GiB/s)", Number(GibibytesPerSecond), "Bytes written to vector memory / time.").field(|row: &RooflineRow<'_>| row.rates.bandwidth.vmem_write.into()),
        Column::new("Operational Intensity (FLOP/Byte)", Number(FlopsPerByte), "Floating-point operations per byte of all memories.").field(|row: &RooflineRow<'_>| row.rates.intensity.into()),
        Column::new("HBM Operational Intensity (FLOP/Byte)", Number(FlopsPerByte), "Floating-point operations per HBM byte.").field(|row: &RooflineRow<'_>| row.rates.intensity_by_memory.hbm.into()),
        Column::new("CMEM Read Operational Intensity (FLOP/Byte)", Number(FlopsPerByte), "Floating-point operations per byte read from common memory.").field(|row: &RooflineRow<'_>| row.rates.intensity_by_memory.cmem_read.into()),
        Column::new("CMEM Write Operational Intensity (FLOP/Byte)", Number(FlopsPerByte), "Floating-point operations per byte written to common memory.").field(|row: &RooflineRow<'_>| row.rates.intensity_by_memory.cmem_write.into()),
        Column::new("VMEM Read Operational Intensity (FLOP/Byte)", Number(FlopsPerByte), "Floating-point operations per byte read from vector memory.").field(|row: &RooflineRow<'_>| row.rates.intensity_by_memory.vmem_read.into()),
        Column::new("VMEM Write Operational Intensity (FLOP/Byte)", Number(FlopsPerByte), "Floating-point operations per byte written to vector memory.").field(|row: &RooflineRow<'_>| row.rates.intensity_by_memory.vmem_write.into()),
        Column::new("Bottleneck Operational Intensity (FLOP/Byte)", Number(FlopsPerByte), "Intensity for the limiting resource; for all memories if compute is the limit.").field(|row: &RooflineRow<'_>| row.roof.bottleneck_intensity.into()),
        Column::new("Bound by", Text, "Resource with the largest share of its peak: Compute, HBM, CMEM Read, CMEM Write, VMEM Read or VMEM Write; Unknown if the operation uses none.").with_role(Role::Detail).field(|row: &RooflineRow<'_>| row.roof.bound_by.as_str().into()),
        Column::new("Total Time per core (us)", Number(Microseconds), "Time divided by the number of tensor cores.").per("core").field(|row: &RooflineRow<'_>| row.time_per_core_us.into()),
        Column::new("Total Time (%)", Number(Percent), "Share of total time.").field(|row: &RooflineRow<'_>| {
            (row.total_fraction * 100.0).into()
        }),
        Column::new("Optimal FLOP Rate (GFLOP/s)", Number(GigaflopsPerSecond), "FLOP rate at 100% roofline efficiency and the same intensity.").field(|row: &RooflineRow<'_>| row.roof.optimal_flop_rate.into()),
        Column::new("Roofline efficiency (%)", Number(Percent), "The larger of compute and memory bandwidth utilization. Asynchronous copies can exceed 100%: their bytes move outside the time of the operation that starts or awaits them.").field(|row: &RooflineRow<'_>| (row.roof.efficiency * 100.0).into()),
        Column::new("FLOP Rate / Peak (%)", Number(Percent), "Share of the compute peak.").field(|row: &RooflineRow<'_>| (row.roof.compute_utilization * 100.0).into()),
        Column::new("Max memory bandwidth utilization (%)", Number(Percent), "Highest bandwidth utilization of HBM and of on-chip memory; VMEM counts only if the device has one merged on-chip memory and no CMEM.").per("memory").field(|row: &RooflineRow<'_>| (row.roof.memory_utilization * 100.0).into()),
        Column::new("Include Infeed/Outfeed", Flag, "Whether infeed and outfeed operations are counted.").field(|row: &RooflineRow<'_>| row.includes_feeds.into()),
        Column::new("Program ID", Text, "Program number; 0 for the entire program.").with_role(Role::Provenance).field(|row: &RooflineRow<'_>| {
            row.program.to_string().into()
        }),
        Column::new("Source Info", Text, "Source file and line.").with_role(Role::Detail).field(|row: &RooflineRow<'_>| {
            row.op.map(|op| op.source.as_str()).into()
        }),
        Column::new("Source Stack", Text, "Call stack, one frame per line.").with_role(Role::Provenance).field(|row: &RooflineRow<'_>| {
            row.op.map(|op| op.source_stack.as_str()).into()
        }),
    ];
    tpu_sheet(
        "roofline_model",
        "Operations compared with a tensor core's peaks as stated by the profile, as in the XLA profiler's \
         Roofline Model: for the whole profile, then the whole program in the average complete step and in \
         each step; first with infeed and outfeed, then without. Omitted if the profile does not state the \
         peaks.",
        fields,
        roofline,
    )
}
