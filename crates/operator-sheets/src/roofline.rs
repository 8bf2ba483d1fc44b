//! Operators under the ceilings of the device: what every picture of a roofline is drawn from.

use perf_models::{Architecture, ComputeSpec};
use trace_ingest::{EventId, SignatureId};

use crate::category::OpCategory;

/// A peak of arithmetic with the work that is held against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Roof {
    /// Unit and precision of the work.
    pub spec: ComputeSpec,
    /// The peak that it is held against; another one than `spec` where the architecture states none for that.
    pub peak: ComputeSpec,
    /// That peak in 10¹² operations a second.
    pub peak_tflops: f64,
    /// Operations per byte at which the bandwidth of the memory feeds just that peak.
    pub ridge: f64,
    /// Bandwidth of the memory in 10⁹ bytes a second.
    pub bandwidth_gb_per_s: f64,
    /// The work, most kernel time first; never empty.
    pub points: Vec<RooflinePoint>,
}

impl Roof {
    /// The rate at which the architecture can do work of so many operations per byte, in 10¹² operations a
    /// second: the peak, or what the bandwidth feeds, whichever is smaller (Williams, Waterman, Patterson,
    /// *Roofline*, Communications of the ACM 52(4), 2009).
    pub fn attainable_tflops(&self, intensity: f64) -> f64 {
        (self.bandwidth_gb_per_s * intensity / 1e3).min(self.peak_tflops)
    }
}

/// A row of `unified_perf_summary` that has FLOPs, bytes, time and a peak: calls of one operator with the same
/// arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct RooflinePoint {
    /// Operator.
    pub name: String,
    /// Kind of its work.
    pub category: OpCategory,
    /// Calls.
    pub calls: usize,
    /// Arithmetic intensity in operations per byte, above zero.
    pub intensity: f64,
    /// Mean over calls of the achieved rate in 10¹² operations a second, above zero.
    pub tflops: f64,
    /// Sum over calls of the kernel time, in µs.
    pub kernel_time_us: f64,
    /// The same in the trace's unit of time.
    pub time: i64,
    /// First of the calls.
    pub operator: EventId,
    /// Its arguments.
    pub signature: Option<SignatureId>,
}

/// The roof of this peak with its first point; `None` where the architecture states no such peak.
pub fn roof_of(
    architecture: &Architecture,
    spec: ComputeSpec,
    peak: ComputeSpec,
    first: RooflinePoint,
) -> Option<Roof> {
    let (peak_tflops, ridge) = (architecture.peak_tflops(peak)?, architecture.ridge_point(peak)?);
    let bandwidth_gb_per_s = architecture.memory_bandwidth_gb_per_s;
    Some(Roof { spec, peak, peak_tflops, ridge, bandwidth_gb_per_s, points: vec![first] })
}
