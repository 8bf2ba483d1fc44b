//! Rates of operations, held against what a core can do.

use std::fmt;

use super::analysis::Work;
use super::profile::{AccessKind, MemorySpace, Peaks};

const GIB: f64 = (1_u64 << 30) as f64;

/// Giga per second as gibi per second.
pub(super) fn giga_to_gibi(giga: f64) -> f64 {
    giga * 1e9 / GIB
}

/// `part / whole`; 0 when there is no whole, as the tools that users compare with have it.
pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

/// One figure per memory and direction that the roofline tells apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByMemory {
    /// High-bandwidth memory, reads and writes together.
    pub hbm: f64,
    /// Common memory, reads.
    pub cmem_read: f64,
    /// Common memory, writes.
    pub cmem_write: f64,
    /// Vector memory, reads.
    pub vmem_read: f64,
    /// Vector memory, writes.
    pub vmem_write: f64,
}

impl ByMemory {
    fn map(self, figure: impl Fn(f64) -> f64) -> Self {
        ByMemory {
            hbm: figure(self.hbm),
            cmem_read: figure(self.cmem_read),
            cmem_write: figure(self.cmem_write),
            vmem_read: figure(self.vmem_read),
            vmem_write: figure(self.vmem_write),
        }
    }

    fn largest(self) -> f64 {
        [self.cmem_read, self.cmem_write, self.vmem_read, self.vmem_write]
            .into_iter()
            .fold(self.hbm, f64::max)
    }
}

/// What an operation is bound by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// It uses nothing that has a peak.
    #[default]
    Unknown,
    /// Arithmetic.
    Compute,
    /// High-bandwidth memory.
    Hbm,
    /// Reads of common memory.
    CmemRead,
    /// Writes of common memory.
    CmemWrite,
    /// Reads of vector memory.
    VmemRead,
    /// Writes of vector memory.
    VmemWrite,
}

impl Resource {
    /// The spelling in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Resource::Unknown => "Unknown",
            Resource::Compute => "Compute",
            Resource::Hbm => "HBM",
            Resource::CmemRead => "CMEM Read",
            Resource::CmemWrite => "CMEM Write",
            Resource::VmemRead => "VMEM Read",
            Resource::VmemWrite => "VMEM Write",
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Rates of some work in its time. Those of work without time are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Arithmetic weighed by precision, in GFLOP/s.
    pub flop_rate: f64,
    /// Arithmetic of the model, in GFLOP/s.
    pub model_flop_rate: f64,
    /// All memories together, in GiB/s.
    pub memory_bandwidth: f64,
    /// Each memory, in GiB/s. Work that does not say which memory it uses is taken to use the high-bandwidth one.
    pub bandwidth: ByMemory,
    /// Operations per byte of all memories, in FLOP/byte.
    pub intensity: f64,
    /// Operations per byte of each memory, in FLOP/byte; 0 where it is not used.
    pub intensity_by_memory: ByMemory,
}

impl Rates {
    /// The rates of some work.
    #[must_use]
    pub fn new(work: &Work) -> Self {
        let nanoseconds = work.time.0 as f64 / 1e3;
        let giga_per_second = |amount: f64| ratio(amount, nanoseconds);
        let bytes = bytes_by_memory(work);
        let flops = work.flops as f64;
        Rates {
            flop_rate: giga_per_second(flops),
            model_flop_rate: giga_per_second(work.model_flops as f64),
            memory_bandwidth: giga_to_gibi(giga_per_second(work.bytes as f64)),
            bandwidth: bytes.map(|bytes| giga_to_gibi(giga_per_second(bytes))),
            intensity: ratio(flops, work.bytes as f64),
            intensity_by_memory: bytes.map(|bytes| ratio(flops, bytes)),
        }
    }
}

fn bytes_by_memory(work: &Work) -> ByMemory {
    use AccessKind::{Read, Write};
    let sum = |space, kind| work.memory.sum(|of, way| of == space && way == kind) as f64;
    let hbm = match work.memory.is_empty() {
        // What was recorded before there was a breakdown used no other memory.
        true => work.bytes,
        false => work.memory.sum(|space, _| space == MemorySpace::Hbm),
    };
    ByMemory {
        hbm: hbm as f64,
        cmem_read: sum(MemorySpace::Cmem, Read),
        cmem_write: sum(MemorySpace::Cmem, Write),
        vmem_read: sum(MemorySpace::Vmem, Read),
        vmem_write: sum(MemorySpace::Vmem, Write),
    }
}

/// Rates held against the peaks of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Utilization {
    /// The resource of the largest share of its peak.
    pub bound_by: Resource,
    /// Operations per byte of that resource, in FLOP/byte; of all memories when it is arithmetic.
    pub bottleneck_intensity: f64,
    /// Arithmetic as a share of its peak, 0 to 1.
    pub compute_utilization: f64,
    /// Largest share of its peak among memories; asynchronous copies, whose bytes move outside of their time, pass 1.
    pub memory_utilization: f64,
    /// Largest share of all.
    pub efficiency: f64,
    /// Rate of arithmetic at an efficiency of 1 and the same intensity, in GFLOP/s.
    pub optimal_flop_rate: f64,
}

impl Utilization {
    /// What bounds these rates.
    #[must_use]
    pub fn new(rates: &Rates, peaks: &Peaks) -> Self {
        let share = |rate: f64, peak: f64| ratio(rate, giga_to_gibi(peak));
        let bandwidth = &rates.bandwidth;
        let compute = ratio(rates.flop_rate, peaks.teraflops * 1e3);
        let shares = ByMemory {
            hbm: share(bandwidth.hbm, peaks.hbm),
            cmem_read: share(bandwidth.cmem_read, peaks.cmem_read),
            cmem_write: share(bandwidth.cmem_write, peaks.cmem_write),
            vmem_read: share(bandwidth.vmem_read, peaks.vmem_read),
            vmem_write: share(bandwidth.vmem_write, peaks.vmem_write),
        };
        let intensity = &rates.intensity_by_memory;
        let resources = [
            (Resource::Compute, compute, rates.intensity),
            (Resource::Hbm, shares.hbm, intensity.hbm),
            (Resource::CmemRead, shares.cmem_read, intensity.cmem_read),
            (Resource::CmemWrite, shares.cmem_write, intensity.cmem_write),
            (Resource::VmemRead, shares.vmem_read, intensity.vmem_read),
            (Resource::VmemWrite, shares.vmem_write, intensity.vmem_write),
        ];
        let mut bottleneck = (Resource::Unknown, 0.0, 0.0);
        for resource in resources {
            if resource.1 > bottleneck.1 {
                bottleneck = resource;
            }
        }
        // Memory on the chip counts for the efficiency only where the device has it for its own.
        let mut counted = ByMemory { hbm: shares.hbm, ..ByMemory::default() };
        if peaks.has_cmem() {
            (counted.cmem_read, counted.cmem_write) = (shares.cmem_read, shares.cmem_write);
        }
        if peaks.has_merged_vmem && !peaks.has_cmem() {
            (counted.vmem_read, counted.vmem_write) = (shares.vmem_read, shares.vmem_write);
        }
        let memory = counted.largest();
        let efficiency = memory.max(compute);
        Utilization {
            bound_by: bottleneck.0,
            bottleneck_intensity: bottleneck.2,
            compute_utilization: compute,
            memory_utilization: memory,
            efficiency,
            optimal_flop_rate: ratio(rates.flop_rate, efficiency),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_ingest::Picoseconds;

    const PEAKS: Peaks = Peaks {
        teraflops: 1.0,
        hbm: 100.0,
        sram_read: 1000.0,
        sram_write: 1000.0,
        cmem_read: 0.0,
        cmem_write: 0.0,
        vmem_read: 1000.0,
        vmem_write: 500.0,
        has_merged_vmem: true,
        has_megacore: false,
    };

    /// One microsecond of work.
    fn work(flops: u128, memory: &[(MemorySpace, AccessKind, u128)]) -> Work {
        let mut work = Work { time: Picoseconds(1_000_000), flops, model_flops: flops, ..Work::default() };
        for &(space, kind, bytes) in memory {
            work.memory.add(space, kind, bytes);
            work.bytes += bytes;
        }
        work
    }

    #[test]
    fn the_largest_share_of_a_peak_binds() {
        use AccessKind::{Read, Write};
        // flops and bytes of a microsecond: 1e6 are the peak of 1 TFLOP/s, 1e5 that of 100 GB/s
        let cases = [
            (work(0, &[]), Resource::Unknown, 0.0),
            (work(500_000, &[(MemorySpace::Hbm, Read, 40_000)]), Resource::Compute, 0.5),
            (work(100_000, &[(MemorySpace::Hbm, Read, 40_000)]), Resource::Hbm, 0.4),
            (work(0, &[(MemorySpace::Vmem, Read, 400_000)]), Resource::VmemRead, 0.4),
            (work(0, &[(MemorySpace::Vmem, Write, 450_000)]), Resource::VmemWrite, 0.9),
            // no peak, so nothing to be bound by
            (work(0, &[(MemorySpace::Cmem, Read, 1_000)]), Resource::Unknown, 0.0),
            (
                work(0, &[(MemorySpace::Hbm, Read, 30_000), (MemorySpace::Hbm, Write, 40_000)]),
                Resource::Hbm,
                0.7,
            ),
        ];
        for (work, resource, efficiency) in cases {
            let roof = Utilization::new(&Rates::new(&work), &PEAKS);
            assert_eq!(roof.bound_by, resource, "{work:?}");
            assert!((roof.efficiency - efficiency).abs() < 1e-12, "{work:?}: {roof:?}");
        }
    }

    #[test]
    fn bytes_without_a_breakdown_are_of_the_high_bandwidth_memory() {
        let work = Work { time: Picoseconds(1_000_000), bytes: 50_000, ..Work::default() };
        let rates = Rates::new(&work);
        assert_eq!(rates.bandwidth.hbm, rates.memory_bandwidth);
        assert_eq!(Utilization::new(&rates, &PEAKS).bound_by, Resource::Hbm);
    }

    #[test]
    fn work_without_time_has_no_rate() {
        let work = Work { flops: 7, bytes: 7, ..Work::default() };
        let rates = Rates::new(&work);
        assert_eq!((rates.flop_rate, rates.memory_bandwidth, rates.intensity), (0.0, 0.0, 1.0));
        assert_eq!(Utilization::new(&rates, &PEAKS).optimal_flop_rate, 0.0);
    }
}
