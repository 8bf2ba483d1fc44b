//! Instructions under the ceilings of the device.

use perf_models::ComputeSpec;

use super::analysis::JaxAnalysis;
use super::gpu::op_sheets::{CallGroup, operator_groups};
use gpu_timeline::Spread;
use operator_sheets::Figures;
use operator_sheets::{Roof, RooflinePoint, roof_of};

/// The roofs with work under them, that with the most kernel time first.
pub(super) fn roofs(analysis: &JaxAnalysis) -> Vec<Roof> {
    let Some(architecture) = analysis.architecture() else { return Vec::new() };
    let mut roofs: Vec<Roof> = Vec::new();
    for group in operator_groups(analysis) {
        let Some((spec, peak, point)) = point(analysis, &group) else { continue };
        match roofs.iter_mut().find(|roof| roof.spec == spec) {
            Some(roof) => roof.points.push(point),
            None => roofs.extend(roof_of(architecture, spec, peak, point)),
        }
    }
    let time = |roof: &Roof| roof.points.iter().map(|point| point.time).sum::<i64>();
    roofs.sort_by_key(|roof| (std::cmp::Reverse(time(roof)), roof.spec));
    roofs
}

/// The calls of a row as a point: the peak of their work, and that which they are held against.
fn point(analysis: &JaxAnalysis, group: &CallGroup<'_>) -> Option<(ComputeSpec, ComputeSpec, RooflinePoint)> {
    let first: Figures = group.figures(analysis).flatten().next()?;
    let operator = group.operator(analysis);
    let intensity = first.intensity().filter(|&intensity| intensity > 0.0)?;
    let rates = group.figures(analysis).map(|figures| figures?.tflops_per_s());
    let point = RooflinePoint {
        name: group.name(analysis).to_owned(),
        category: operator.category.clone(),
        calls: group.calls.len(),
        intensity,
        tflops: Spread::of(rates).mean.filter(|&rate| rate > 0.0)?,
        kernel_time_us: analysis.us(group.time()),
        time: group.time(),
        operator: group.first(analysis),
        signature: None,
    };
    Some((first.spec?, first.roofline?.peak?, point))
}
