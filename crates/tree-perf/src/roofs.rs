//! Operators under the ceilings of the device: what every picture of a roofline is drawn from.

use perf_models::{Architecture, ComputeSpec};
use trace_ingest::{EventId, SignatureId};

use crate::analysis::Analysis;
use crate::call_overlap::NameLists;
use crate::op_category::OpCategory;
use crate::places::Places;
use crate::sheets::unified_perf_summary::{Group, grouped_rows, sort};

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
    pub(crate) time: i64,
    /// First of the calls.
    pub(crate) operator: EventId,
    pub(crate) signature: Option<SignatureId>,
}

impl RooflinePoint {
    fn of(analysis: &Analysis, group: &Group<'_>) -> Option<(ComputeSpec, ComputeSpec, Self)> {
        let (spec, peak, intensity) = group.figure(|figures| {
            let intensity = figures.intensity().filter(|intensity| *intensity > 0.0)?;
            Some((figures.spec?, figures.roofline?.peak?, intensity))
        })?;
        let point = RooflinePoint {
            name: group.name().text(analysis).into_owned(),
            category: group.category().clone(),
            calls: group.rows.len(),
            intensity,
            tflops: group.spread(|row| row.figures?.tflops_per_s()).mean.filter(|rate| *rate > 0.0)?,
            kernel_time_us: analysis.us(group.time()),
            time: group.time(),
            operator: group.first(),
            signature: analysis.trace().events().signature(group.first()),
        };
        Some((spec, peak, point))
    }
}

/// The roofs with work under them, that with the most kernel time first.
pub(crate) fn roofs(analysis: &Analysis) -> Vec<Roof> {
    let Some(architecture) = analysis.architecture().filter(|_| !analysis.is_gpu_only()) else {
        return Vec::new();
    };
    let (mut places, mut name_lists) = (Places::new(analysis), NameLists::default());
    let mut groups = grouped_rows(analysis, analysis.unified_rows(), false, &mut places, &mut name_lists);
    sort(analysis, &mut groups);
    let mut roofs: Vec<Roof> = Vec::new();
    for (spec, peak, point) in groups.iter().filter_map(|group| RooflinePoint::of(analysis, group)) {
        match roofs.iter_mut().find(|roof| roof.spec == spec) {
            Some(roof) => roof.points.push(point),
            None => roofs.extend(roof_of(architecture, spec, peak, point)),
        }
    }
    let time = |roof: &Roof| roof.points.iter().map(|point| point.time).sum::<i64>();
    roofs.sort_by_key(|roof| (std::cmp::Reverse(time(roof)), roof.spec));
    roofs
}

/// The roof of this peak with its first point; `None` where the architecture states no such peak.
pub(crate) fn roof_of(
    architecture: &Architecture,
    spec: ComputeSpec,
    peak: ComputeSpec,
    first: RooflinePoint,
) -> Option<Roof> {
    let (peak_tflops, ridge) = (architecture.peak_tflops(peak)?, architecture.ridge_point(peak)?);
    let bandwidth_gb_per_s = architecture.memory_bandwidth_gb_per_s;
    Some(Roof { spec, peak, peak_tflops, ridge, bandwidth_gb_per_s, points: vec![first] })
}
