//! Figures derived from hardware counters.
//!
//! The formulas are those of AMD's public documentation: the metrics of ROCm Compute Profiler (system speed-of-light,
//! local data share, L2 cache) and the performance counters of MI200, MI300 and MI350 in the ROCm documentation.
//! Ratios are of means per dispatch, so they hold when the counters were collected in different runs of a kernel;
//! rates are of the dispatches that a counter was collected in.

use sheets::ColumnKind::Number;
use sheets::Unit::{
    Bytes, Flops, FlopsPerByte, GigabytesPerSecond, One, Percent, TeraflopsPerSecond, TeraopsPerSecond,
};
use sheets::{Column, ColumnKind, Sheet};

use super::counters::{Counted, CountedKernel, CountedKernels, keys};
use crate::analysis::RocprofAnalysis;

/// The figures of a kernel on a kind of GPU, in the order of [`METRICS`].
struct Row<'a> {
    kernel: CountedKernel<'a>,
    figures: [Option<f64>; METRICS.len()],
}

/// Of each figure, whether any row has it.
type Known = [bool; METRICS.len()];

pub(super) fn sheet<'a>() -> Sheet<'a, RocprofAnalysis> {
    let figures = METRICS.iter().enumerate().map(|(position, metric)| {
        let field = metric.column.field(move |row: &Row<'_>| row.figures[position].into());
        field.when(move |known: &Known| known[position])
    });
    Sheet::with_context(
        "kernel_counter_metrics",
        "Metrics from hardware counters by kernel and GPU model, most time first; empty if their counters were not collected.",
        keys(|row: &Row<'_>| &row.kernel).into_iter().chain(figures),
        rows,
    )
}

fn rows(analysis: &RocprofAnalysis) -> Option<(Known, Vec<Row<'_>>)> {
    let CountedKernels { counters, kernels } = CountedKernels::new(analysis);
    let figures = |kernel: &CountedKernel<'_>| {
        let figures = Figures { counters: &counters, kernel };
        METRICS.each_ref().map(|metric| (metric.value)(&figures))
    };
    let rows: Vec<Row<'_>> =
        kernels.into_iter().map(|kernel| Row { figures: figures(&kernel), kernel }).collect();
    let known = std::array::from_fn(|position| rows.iter().any(|row| row.figures[position].is_some()));
    known.contains(&true).then_some((known, rows))
}

/// A figure and what it is computed by; `None` where a counter was not collected.
struct Metric {
    column: Column,
    value: fn(&Figures<'_>) -> Option<f64>,
}

const fn metric(kind: ColumnKind, name: &'static str, value: fn(&Figures<'_>) -> Option<f64>) -> Metric {
    Metric { column: Column::new(name, kind, ""), value }
}

impl Metric {
    const fn described(self, description: &'static str) -> Self {
        Metric { column: self.column.described(description), ..self }
    }

    const fn per(self, one: &'static str) -> Self {
        Metric { column: self.column.per(one), ..self }
    }
}

static METRICS: [Metric; 31] = [
    metric(Number(Flops), "MFMA FLOPs", |figures| figures.matrix_flops(Figures::mean))
        .described("Floating-point operations of matrix instructions per dispatch: 512 × the sum of the collected counters among SQ_INSTS_VALU_MFMA_MOPS_F16, BF16, F32, F64, F8 and F6F4.")
        .per("dispatch"),
    metric(Number(TeraflopsPerSecond), "MFMA TFLOP/s", |figures| {
        figures.matrix_flops(Figures::rate).map(tera)
    })
    .described("MFMA FLOPs / time, in 10¹² per second: each counter divided by the durations of its dispatches."),
    metric(Number(TeraflopsPerSecond), "MFMA F64 TFLOP/s", |figures| figures.matrix_rate("F64"))
        .described("512 × SQ_INSTS_VALU_MFMA_MOPS_F64 / time, in 10¹² per second."),
    metric(Number(TeraflopsPerSecond), "MFMA F32 TFLOP/s", |figures| figures.matrix_rate("F32"))
        .described("512 × SQ_INSTS_VALU_MFMA_MOPS_F32 / time, in 10¹² per second."),
    metric(Number(TeraflopsPerSecond), "MFMA F16 TFLOP/s", |figures| figures.matrix_rate("F16"))
        .described("512 × SQ_INSTS_VALU_MFMA_MOPS_F16 / time, in 10¹² per second."),
    metric(Number(TeraflopsPerSecond), "MFMA BF16 TFLOP/s", |figures| figures.matrix_rate("BF16"))
        .described("512 × SQ_INSTS_VALU_MFMA_MOPS_BF16 / time, in 10¹² per second."),
    metric(Number(TeraflopsPerSecond), "MFMA F8 TFLOP/s", |figures| figures.matrix_rate("F8"))
        .described("512 × SQ_INSTS_VALU_MFMA_MOPS_F8 / time, in 10¹² per second."),
    metric(Number(TeraflopsPerSecond), "MFMA F6F4 TFLOP/s", |figures| figures.matrix_rate("F6F4"))
        .described("512 × SQ_INSTS_VALU_MFMA_MOPS_F6F4 (6- and 4-bit numbers) / time, in 10¹² per second."),
    metric(Number(TeraopsPerSecond), "MFMA I8 TOP/s", |figures| figures.matrix_rate("I8"))
        .described("512 × SQ_INSTS_VALU_MFMA_MOPS_I8 (integer operations) / time, in 10¹² per second."),
    metric(Number(Flops), "VALU FLOPs", |figures| figures.vector_flops(Figures::mean))
        .described("Floating-point operations of vector instructions per dispatch, including idle lanes: 64 × (ADD + MUL + TRANS + 2 × FMA) of SQ_INSTS_VALU_*_F16, F32 and F64, for the widths whose four counters were all collected.")
        .per("dispatch"),
    metric(Number(TeraflopsPerSecond), "VALU TFLOP/s", |figures| {
        figures.vector_flops(Figures::rate).map(tera)
    })
    .described("VALU FLOPs / time, in 10¹² per second."),
    metric(Number(Bytes), "Memory Read Bytes", |figures| figures.read_bytes(Figures::mean))
        .described("Bytes per dispatch that the L2 cache read from memory: 32 × TCC_EA0_RDREQ_DRAM_32B (gfx950); else 128 × TCC_BUBBLE + 64 × (TCC_EA0_RDREQ − TCC_BUBBLE − TCC_EA0_RDREQ_32B) + 32 × TCC_EA0_RDREQ_32B (gfx94x, gfx950); else 64 × (TCC_EA_RDREQ − TCC_EA_RDREQ_32B) + 32 × TCC_EA_RDREQ_32B (gfx90a and older); else 1024 × FETCH_SIZE. All but the first include reads from other agents' memory.")
        .per("dispatch"),
    metric(Number(Bytes), "Memory Write Bytes", |figures| figures.write_bytes(Figures::mean))
        .described("Bytes per dispatch that the L2 cache wrote to memory: 32 × (TCC_EA0_WRREQ_WRITE_DRAM_32B + TCC_EA0_WRREQ_ATOMIC_DRAM_32B) (gfx950); else 64 × TCC_EA0_WRREQ_64B + 32 × (TCC_EA0_WRREQ − TCC_EA0_WRREQ_64B), on gfx90a and older with TCC_EA_WRREQ; else 1024 × WRITE_SIZE.")
        .per("dispatch"),
    metric(Number(GigabytesPerSecond), "Memory Read (GB/s)", |figures| figures.read_bytes(Figures::rate))
        .described("Bytes read / time, in 10⁹ per second."),
    metric(Number(GigabytesPerSecond), "Memory Write (GB/s)", |figures| figures.write_bytes(Figures::rate))
        .described("Bytes written / time, in 10⁹ per second."),
    metric(Number(GigabytesPerSecond), "Memory Bandwidth (GB/s)", |figures| figures.memory_rate())
        .described("Bytes read and written / time, in 10⁹ per second."),
    metric(Number(Percent), "Memory Bandwidth (% of peak)", |figures| {
        Some(figures.memory_rate()? * 1e9 / figures.kernel.hardware.memory_bandwidth? * 100.0)
    })
    .described("Memory bandwidth as a share of the GPU's peak."),
    metric(Number(FlopsPerByte), "Arithmetic Intensity (FLOP/byte)", |figures| figures.arithmetic_intensity())
        .described("Collected MFMA and VALU FLOPs / bytes read and written."),
    metric(Number(Percent), "L2 Hit Rate (%)", |figures| {
        let hits = figures.mean("TCC_HIT")?;
        ratio(100.0 * hits, hits + figures.mean("TCC_MISS")?)
    })
    .described("100 × TCC_HIT / (TCC_HIT + TCC_MISS)."),
    metric(Number(GigabytesPerSecond), "L2 Requests (GB/s)", |figures| {
        figures.rate("TCC_REQ").map(|requests| 128.0 * requests)
    })
    .described("128 × TCC_REQ / time, in 10⁹ bytes per second: every request for a line, hit or not."),
    metric(Number(Percent), "vL1D Hit Rate (%)", |figures| {
        let passed_on = figures.mean("TCP_TCC_READ_REQ")?
            + figures.mean("TCP_TCC_WRITE_REQ")?
            + figures.mean("TCP_TCC_ATOMIC_WITH_RET_REQ")?
            + figures.mean("TCP_TCC_ATOMIC_WITHOUT_RET_REQ")?;
        Some(100.0 - ratio(100.0 * passed_on, figures.mean("TCP_TOTAL_CACHE_ACCESSES")?)?)
    })
    .described("100 − 100 × (TCP_TCC_READ_REQ + TCP_TCC_WRITE_REQ + TCP_TCC_ATOMIC_WITH_RET_REQ + TCP_TCC_ATOMIC_WITHOUT_RET_REQ) / TCP_TOTAL_CACHE_ACCESSES."),
    metric(Number(Percent), "MFMA Utilization (%)", |figures| {
        let simds = f64::from(figures.kernel.hardware.simds?);
        ratio(100.0 * figures.mean("SQ_VALU_MFMA_BUSY_CYCLES")?, figures.unit_cycles()? * simds)
    })
    .described("100 × SQ_VALU_MFMA_BUSY_CYCLES / (active cycles × compute units × SIMD units per compute unit). Active cycles are GRBM_GUI_ACTIVE / number of dies; gfx9 only, as for all figures based on active cycles."),
    metric(Number(Percent), "VALU Utilization (%)", |figures| {
        figures.percent_of_cycles("SQ_ACTIVE_INST_VALU")
    })
    .described("100 × SQ_ACTIVE_INST_VALU / (active cycles × compute units); can exceed 100 if instructions are dual-issued."),
    metric(Number(Percent), "SALU Utilization (%)", |figures| figures.percent_of_cycles("SQ_ACTIVE_INST_SCA"))
        .described("100 × SQ_ACTIVE_INST_SCA / (active cycles × compute units)."),
    metric(Number(One), "VALU Active Lanes", |figures| {
        ratio(figures.mean("SQ_THREAD_CYCLES_VALU")?, figures.mean("SQ_ACTIVE_INST_VALU")?)
    })
    .described("SQ_THREAD_CYCLES_VALU / SQ_ACTIVE_INST_VALU: active lanes of a wave per vector instruction; fewer if threads diverge."),
    metric(Number(One), "Instructions per Cycle", |figures| {
        ratio(figures.mean("SQ_INSTS")?, figures.mean("SQ_BUSY_CU_CYCLES")?)
    })
    .described("SQ_INSTS / SQ_BUSY_CU_CYCLES, as in ROCm Compute Profiler; AMD documents the divisor as quad-cycles (4 cycles)."),
    metric(Number(One), "Waves per CU", |figures| figures.waves_per_unit())
        .described("Mean number of resident waves per compute unit: 4 × SQ_WAVE_CYCLES (counted in steps of four cycles) / (active cycles × compute units).")
        .per("compute unit"),
    metric(Number(Percent), "Occupancy (%)", |figures| {
        let slots = figures.kernel.hardware.wave_slots()?;
        ratio(100.0 * figures.waves_per_unit()?, f64::from(slots))
    })
    .described("Waves per CU as a share of the CU's wave slots."),
    metric(Number(One), "LDS Bank Conflicts per Access", |figures| {
        let conflicts = figures.mean("SQ_LDS_BANK_CONFLICT")?;
        ratio(conflicts, figures.mean("SQ_LDS_IDX_ACTIVE")? - conflicts)
    })
    .described("SQ_LDS_BANK_CONFLICT / (SQ_LDS_IDX_ACTIVE − SQ_LDS_BANK_CONFLICT): cycles lost to bank conflicts per conflict-free access cycle."),
    metric(Number(Percent), "LDS Bank Conflicts (% of time)", |figures| {
        figures.percent_of_cycles("SQ_LDS_BANK_CONFLICT")
    })
    .described("100 × SQ_LDS_BANK_CONFLICT / (active cycles × compute units)."),
    metric(Number(Percent), "GPU Busy (%)", |figures| {
        ratio(100.0 * figures.mean("GRBM_GUI_ACTIVE")?, figures.mean("GRBM_COUNT")?)
    })
    .described("100 × GRBM_GUI_ACTIVE / GRBM_COUNT."),
];

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// From per nanosecond to 10¹² per second.
fn tera(per_nanosecond: f64) -> f64 {
    per_nanosecond / 1e3
}

/// The counters of a kernel by name.
struct Figures<'a> {
    counters: &'a [&'a str],
    kernel: &'a CountedKernel<'a>,
}

/// A counter by name, per dispatch or per nanosecond.
type Reading<'a> = fn(&Figures<'a>, &str) -> Option<f64>;

impl<'a> Figures<'a> {
    /// Values are sums over the instances of a counter, which is what the profiler's own sums, `<counter>_sum`, are.
    fn counted(&self, counter: &str) -> Option<&Counted> {
        let is_it = |name: &str| name == counter || name.strip_suffix("_sum") == Some(counter);
        let mut found = self.counters.iter().zip(&self.kernel.counted).filter(|(name, _)| is_it(name));
        found.find(|(_, counted)| counted.dispatches > 0).map(|(_, counted)| counted)
    }

    fn mean(&self, counter: &str) -> Option<f64> {
        self.counted(counter)?.mean()
    }

    /// Per nanosecond.
    fn rate(&self, counter: &str) -> Option<f64> {
        self.counted(counter)?.rate()
    }

    /// 10¹² matrix operations on numbers of a type per second.
    fn matrix_rate(&self, element: &str) -> Option<f64> {
        self.rate(&format!("SQ_INSTS_VALU_MFMA_MOPS_{element}")).map(|blocks| tera(512.0 * blocks))
    }

    /// A counter of cycles over the active cycles of all compute units, in percent.
    fn percent_of_cycles(&self, counter: &str) -> Option<f64> {
        ratio(100.0 * self.mean(counter)?, self.unit_cycles()?)
    }

    fn matrix_flops(&self, reading: Reading<'a>) -> Option<f64> {
        let counters = ["F16", "BF16", "F32", "F64", "F8", "F6F4"];
        let blocks =
            counters.iter().filter_map(|kind| reading(self, &format!("SQ_INSTS_VALU_MFMA_MOPS_{kind}")));
        blocks.reduce(|sum, blocks| sum + blocks).map(|blocks| 512.0 * blocks)
    }

    fn vector_flops(&self, reading: Reading<'a>) -> Option<f64> {
        let width_instructions = |width: &str| {
            let read = |operation: &str| reading(self, &format!("SQ_INSTS_VALU_{operation}_{width}"));
            Some(read("ADD")? + read("MUL")? + read("TRANS")? + 2.0 * read("FMA")?)
        };
        let instructions = ["F16", "F32", "F64"].into_iter().filter_map(width_instructions);
        instructions.reduce(|sum, instructions| sum + instructions).map(|instructions| 64.0 * instructions)
    }

    fn read_bytes(&self, reading: Reading<'a>) -> Option<f64> {
        let read = |counter: &str| reading(self, counter);
        let dram_bytes = || Some(32.0 * read("TCC_EA0_RDREQ_DRAM_32B")?);
        let with_wide = || {
            let (wide, narrow) = (read("TCC_BUBBLE")?, read("TCC_EA0_RDREQ_32B")?);
            Some(128.0 * wide + 64.0 * (read("TCC_EA0_RDREQ")? - wide - narrow) + 32.0 * narrow)
        };
        let older = || {
            let narrow = read("TCC_EA_RDREQ_32B")?;
            Some(64.0 * (read("TCC_EA_RDREQ")? - narrow) + 32.0 * narrow)
        };
        let derived = || Some(1024.0 * read("FETCH_SIZE")?);
        dram_bytes().or_else(with_wide).or_else(older).or_else(derived)
    }

    fn write_bytes(&self, reading: Reading<'a>) -> Option<f64> {
        let read = |counter: &str| reading(self, counter);
        let dram_bytes = || {
            let writes = read("TCC_EA0_WRREQ_WRITE_DRAM_32B")?;
            Some(32.0 * (writes + read("TCC_EA0_WRREQ_ATOMIC_DRAM_32B")?))
        };
        let of = |all: &str, wide: &str| {
            let wide = read(wide)?;
            Some(64.0 * wide + 32.0 * (read(all)? - wide))
        };
        let derived = || Some(1024.0 * read("WRITE_SIZE")?);
        dram_bytes()
            .or_else(|| of("TCC_EA0_WRREQ", "TCC_EA0_WRREQ_64B"))
            .or_else(|| of("TCC_EA_WRREQ", "TCC_EA_WRREQ_64B"))
            .or_else(derived)
    }

    /// Bytes per nanosecond, which is GB/s.
    fn memory_rate(&self) -> Option<f64> {
        Some(self.read_bytes(Figures::rate)? + self.write_bytes(Figures::rate)?)
    }

    fn arithmetic_intensity(&self) -> Option<f64> {
        let (matrix, vector) = (self.matrix_flops(Figures::mean), self.vector_flops(Figures::mean));
        let flops = match (matrix, vector) {
            (None, None) => return None,
            (matrix, vector) => matrix.unwrap_or_default() + vector.unwrap_or_default(),
        };
        ratio(flops, self.read_bytes(Figures::mean)? + self.write_bytes(Figures::mean)?)
    }

    /// Cycles that the GPU was active, times its compute units. The counter has an instance per die; GPUs before
    /// gfx94x have one die. Other families count cycles in other units.
    fn unit_cycles(&self) -> Option<f64> {
        let hardware = &self.kernel.hardware;
        let target = hardware.target.filter(|target| target.starts_with("gfx9"))?;
        let has_one_die = matches!(target, "gfx900" | "gfx906" | "gfx908" | "gfx90a");
        let dies = hardware.dies.or(has_one_die.then_some(1))?;
        Some(self.mean("GRBM_GUI_ACTIVE")? / f64::from(dies) * f64::from(hardware.compute_units?))
    }

    fn waves_per_unit(&self) -> Option<f64> {
        ratio(4.0 * self.mean("SQ_WAVE_CYCLES")?, self.unit_cycles()?)
    }
}
