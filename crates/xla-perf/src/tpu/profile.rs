//! What the tables of a TPU are made from: plain values that any reader can fill in. All times are integers in
//! picoseconds.

use std::collections::BTreeMap;
use std::fmt;

use gpu_timeline::Interval;
use trace_ingest::Picoseconds;

/// A span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PicoSpan {
    /// Start since any origin that all spans of a clock share.
    pub start: Picoseconds,
    /// Length.
    pub duration: Picoseconds,
}

impl PicoSpan {
    /// A span of a start and a length.
    #[must_use]
    pub const fn new(start: Picoseconds, duration: Picoseconds) -> Self {
        PicoSpan { start, duration }
    }

    /// Where it ends.
    #[must_use]
    pub fn end(self) -> Picoseconds {
        self.start + self.duration
    }

    /// The span as the timeline takes it.
    pub(super) fn interval(self) -> Interval {
        Interval::between(self.start.0, self.end().0)
    }

    /// Whether the other one lies inside, ends included.
    #[must_use]
    pub fn includes(self, other: Self) -> bool {
        self.start <= other.start && other.end() <= self.end()
    }
}

/// A memory of a TPU, as the compiler numbers them in its cost breakdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemorySpace {
    /// High-bandwidth memory; number 1.
    Hbm,
    /// Common memory on the chip; number 2.
    Cmem,
    /// Vector memory of the core; number 3.
    Vmem,
    /// Any other, by its number.
    Other(u64),
}

impl MemorySpace {
    /// The memory of a number.
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        match number {
            1 => MemorySpace::Hbm,
            2 => MemorySpace::Cmem,
            3 => MemorySpace::Vmem,
            other => MemorySpace::Other(other),
        }
    }
}

/// Direction of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// Not said.
    Unknown,
    /// Read.
    Read,
    /// Write.
    Write,
}

/// Bytes that one execution of an operation moves to or from one memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// The memory.
    pub space: MemorySpace,
    /// The direction.
    pub kind: AccessKind,
    /// Bytes.
    pub bytes: u64,
}

/// An HLO operation, as the profile describes it once for all its executions. The figures are those of one
/// execution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TpuOp {
    /// Program that it belongs to.
    pub program: Option<u64>,
    /// Number of the operation within its program; 0 is the program itself.
    pub symbol: Option<u64>,
    /// Short name, `fusion.3`.
    pub name: String,
    /// The instruction in full.
    pub expression: String,
    /// Kind of operation, as the compiler says: `loop fusion`, `copy-done`, `all-reduce` …
    pub category: String,
    /// Operation of the framework that it came from, `<name>:<type>`; empty when none is known.
    pub framework: String,
    /// Operation that this one is a copy of; empty when it is none.
    pub deduplicated: String,
    /// `<file>:<line>` of the program; empty when not recorded.
    pub source: String,
    /// Call stack of the program that led to it, a line a frame.
    pub source_stack: String,
    /// Shape of the result with its layout.
    pub shape: String,
    /// Floating-point operations, weighed by the precision that the unit's peak is stated for.
    pub flops: u64,
    /// Floating-point operations of the model; 0 when they are the same as `flops`.
    pub model_flops: u64,
    /// Bytes moved to and from all memories.
    pub bytes: u64,
    /// Bytes before the compiler weighed them; `None` when not recorded.
    pub raw_bytes: Option<u64>,
    /// The bytes by memory and direction; empty when not recorded.
    pub memory: Vec<MemoryAccess>,
}

impl TpuOp {
    /// Program and name, which are what rows of one operation are found by; `None` for an event that belongs to no
    /// operation of a program.
    #[must_use]
    pub fn key(&self) -> Option<(u64, &str)> {
        match (self.program, self.symbol) {
            (Some(program), Some(symbol)) if symbol != 0 => Some((program, &self.name)),
            _ => None,
        }
    }
}

/// One execution of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpExecution {
    /// Position of the operation in [`TpuProfile::ops`].
    pub op: usize,
    /// When it ran by the clock of the device; by that of the profile where the device's was not recorded.
    pub span: PicoSpan,
    /// When it ran by the clock of the profile, which runs of programs have too.
    pub recorded: PicoSpan,
    /// Time that the core waited for a memory transfer.
    pub dma_stall: Picoseconds,
    /// Step that it belongs to, as the profiler grouped it.
    pub group: Option<i64>,
}

/// Executions of an operation that were recorded as sums, without a place in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregatedExecutions {
    /// Position of the operation in [`TpuProfile::ops`].
    pub op: usize,
    /// How many.
    pub occurrences: u64,
    /// Their time together.
    pub duration: Picoseconds,
    /// Their time without that of operations inside them.
    pub self_time: Picoseconds,
    /// Time that the core waited for a memory transfer.
    pub dma_stall: Picoseconds,
}

/// One run of a program on a core, by the clock of the profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleRun {
    /// Name of the program with its number, `jit_f(123)`.
    pub module: String,
    /// Number of the run on its core.
    pub run_id: Option<u64>,
    /// When it ran.
    pub span: PicoSpan,
}

/// One step on a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TpuStep {
    /// What the profiler calls it.
    pub name: String,
    /// Number that executions of this step have.
    pub group: Option<i64>,
    /// When it ran.
    pub span: PicoSpan,
}

/// One tensor core.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TpuCore {
    /// Number of the device.
    pub ordinal: u32,
    /// Executions of operations; in any order.
    pub executions: Vec<OpExecution>,
    /// Executions that were recorded as sums.
    pub aggregated: Vec<AggregatedExecutions>,
    /// Runs of programs, in order.
    pub runs: Vec<ModuleRun>,
    /// Steps, in order.
    pub steps: Vec<TpuStep>,
}

/// Call of a framework operation on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostOp {
    /// Name and type as recorded, `<name>:<type>`.
    pub framework: String,
    /// When it ran.
    pub span: PicoSpan,
}

/// Highest rates of one core. Rates of memories are 0 where the device has no such memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peaks {
    /// Floating-point operations, in TFLOP/s.
    pub teraflops: f64,
    /// High-bandwidth memory, reads and writes together, in GB/s.
    pub hbm: f64,
    /// Memory on the chip, reads, in GB/s.
    pub sram_read: f64,
    /// Memory on the chip, writes, in GB/s.
    pub sram_write: f64,
    /// Common memory, reads, in GB/s.
    pub cmem_read: f64,
    /// Common memory, writes, in GB/s.
    pub cmem_write: f64,
    /// Vector memory, reads, in GB/s.
    pub vmem_read: f64,
    /// Vector memory, writes, in GB/s.
    pub vmem_write: f64,
    /// Whether vector memory is one with the rest of the memory on the chip.
    pub has_merged_vmem: bool,
    /// Whether two cores work as one.
    pub has_megacore: bool,
}

/// Figures that no roofline can do without and that a plane does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingPeaks(pub Vec<&'static str>);

impl fmt::Display for MissingPeaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("the profile has no tensor core plane"),
            names => write!(f, "the device plane does not state {}", names.join(" and ")),
        }
    }
}

impl Peaks {
    /// Peaks from the figures of a plane, by their names there.
    ///
    /// # Errors
    /// When the peak of arithmetic or of the memory is absent or 0: nothing can be held against it.
    pub fn from_figures(figure: impl Fn(&str) -> Option<f64>) -> Result<Self, MissingPeaks> {
        const FLOPS: &str = "peak_teraflops_per_second";
        const HBM: &str = "peak_hbm_bw_gigabytes_per_second";
        let known = |name: &str| figure(name).filter(|value| value.is_finite() && *value > 0.0);
        let missing: Vec<&'static str> =
            [FLOPS, HBM].into_iter().filter(|name| known(name).is_none()).collect();
        let (Some(teraflops), Some(hbm)) = (known(FLOPS), known(HBM)) else {
            return Err(MissingPeaks(missing));
        };
        let rate = |memory: &str| known(&format!("peak_{memory}_bw_gigabytes_per_second")).unwrap_or(0.0);
        Ok(Peaks {
            teraflops,
            hbm,
            sram_read: rate("sram_rd"),
            sram_write: rate("sram_wr"),
            cmem_read: rate("cmem_rd"),
            cmem_write: rate("cmem_wr"),
            vmem_read: rate("vmem_rd"),
            vmem_write: rate("vmem_wr"),
            has_merged_vmem: known("has_merged_vmem").is_some(),
            has_megacore: known("has_megacore").is_some(),
        })
    }

    /// Whether the device has common memory.
    #[must_use]
    pub fn has_cmem(&self) -> bool {
        self.cmem_read > 0.0 || self.cmem_write > 0.0
    }

    /// Intensity at which arithmetic and a memory of this rate, in GB/s, bind alike, in FLOP/byte; `None` without
    /// such a memory.
    #[must_use]
    pub fn ridge_point(&self, memory: f64) -> Option<f64> {
        (memory > 0.0).then(|| self.teraflops * 1e3 / memory)
    }
}

/// A profile of TPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct TpuProfile {
    /// Kind of device, `TPU v6 Lite`; empty when not recorded.
    pub device_type: String,
    /// What a core can do, or what of it the profile does not say.
    pub peaks: Result<Peaks, MissingPeaks>,
    /// Use of the matrix unit as the host sampled it, in percent.
    pub mxu_utilization: Option<f64>,
    /// Use of the memory as the host sampled it, in percent.
    pub hbm_utilization: Option<f64>,
    /// Names of programs by number, without the number.
    pub programs: BTreeMap<u64, String>,
    /// Operations.
    pub ops: Vec<TpuOp>,
    /// Cores, by number.
    pub cores: Vec<TpuCore>,
    /// Framework operations of the host, a list per thread.
    pub host_threads: Vec<Vec<HostOp>>,
    /// Planes of sparse cores, which have no table of their own.
    pub sparse_cores: Vec<String>,
    /// Whether it is a window of a recording, which no figure has that the host sampled over all of it.
    pub is_window: bool,
}

impl TpuProfile {
    /// The profile as a window of a recording, without what the host sampled over all of this. Where the window ends at
    /// a moment, the runs and steps that go on behind it end there, or with the last of the operations that started before.
    pub(crate) fn into_window(self, end: Option<Picoseconds>) -> TpuProfile {
        let mut window = TpuProfile { mxu_utilization: None, hbm_utilization: None, is_window: true, ..self };
        for (core, end) in window.cores.iter_mut().filter_map(|core| Some((core, end?))) {
            let last = core.executions.iter().map(|execution| execution.recorded.end()).max();
            let end = last.map_or(end, |last| last.max(end));
            let spans = core.runs.iter_mut().map(|run| &mut run.span);
            for span in spans.chain(core.steps.iter_mut().map(|step| &mut step.span)) {
                span.duration = span.end().min(end).without(span.start);
            }
        }
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ridge_is_where_both_bind() {
        let v6e = Peaks { teraflops: 918.0, hbm: 1637.993152512, ..Peaks::default() };
        assert!((v6e.ridge_point(v6e.hbm).unwrap() - 560.442).abs() < 1e-3);
        assert_eq!(v6e.ridge_point(v6e.cmem_read), None);
        assert!((crate::tpu::rates::giga_to_gibi(v6e.hbm) - 1525.50).abs() < 1e-2);
    }

    #[test]
    fn absent_peaks_are_named() {
        let none = Peaks::from_figures(|_| None).unwrap_err();
        assert_eq!(
            none.to_string(),
            "the device plane does not state peak_teraflops_per_second and peak_hbm_bw_gigabytes_per_second"
        );
        let zero = Peaks::from_figures(|name| name.contains("hbm").then_some(0.0).or(Some(1.0))).unwrap_err();
        assert_eq!(zero, MissingPeaks(vec!["peak_hbm_bw_gigabytes_per_second"]));
    }

    #[test]
    fn operations_without_program_or_with_the_programs_own_symbol_have_no_row() {
        for (program, symbol, has_row) in [
            (Some(7), Some(1), true),
            (Some(7), Some(0), false),
            (None, Some(1), false),
            (Some(7), None, false),
        ] {
            let op = TpuOp { program, symbol, name: "add".into(), ..TpuOp::default() };
            assert_eq!(op.key().is_some(), has_row, "{program:?} {symbol:?}");
        }
    }

    #[test]
    fn a_span_includes_itself_and_what_shares_its_ends() {
        let span = |start, duration| PicoSpan::new(Picoseconds(start), Picoseconds(duration));
        let outer = span(-5, 10);
        assert!(outer.includes(outer) && outer.includes(span(5, 0)));
        assert!(!outer.includes(span(4, 2)) && !outer.includes(span(-6, 2)));
        assert_eq!(span(i64::MAX, 9).end(), Picoseconds(i64::MAX));
    }
}
