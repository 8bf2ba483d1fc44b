//! Instructions under the ceilings of the device.

use gpu_timeline::Spread;
use operator_sheets::{Figures, Roof, RooflinePoint, Rooflines};
use perf_models::ComputeSpec;
use sheets::Nested;

use super::analysis::JaxAnalysis;
use super::sheets::op_sheets::{CallGroup, operator_groups};

impl Rooflines for JaxAnalysis {
    fn roofs(&self) -> &[Roof] {
        self.roofs()
    }

    fn kernel_time(&self) -> i64 {
        self.calls().iter().map(|call| call.time).sum()
    }

    fn milliseconds(&self, time: i64) -> f64 {
        self.ms(time)
    }
}

/// The roofs with work under them, that with the most kernel time first.
pub(super) fn roofs(analysis: &JaxAnalysis) -> Vec<Roof> {
    let Some(architecture) = analysis.architecture() else { return Vec::new() };
    let groups = operator_groups(analysis);
    Roof::group(architecture, groups.iter().filter_map(|group| point(analysis, group)))
}

/// The calls of a row as a point: the peak of their work, and that which they are held against.
fn point(analysis: &JaxAnalysis, group: &CallGroup<'_>) -> Option<(ComputeSpec, ComputeSpec, RooflinePoint)> {
    let first: Figures = group.figures(analysis).flatten().next()?;
    let operator = group.operator(analysis);
    let intensity = first.intensity().filter(|&intensity| intensity > 0.0)?;
    let rates = group.figures(analysis).map(|figures| figures?.tflops_per_s());
    let shape = |dims: &Vec<u64>| {
        Nested::Tuple(
            dims.iter().map(|&length| Nested::Whole(length.try_into().unwrap_or(i64::MAX))).collect(),
        )
    };
    let point = RooflinePoint {
        name: group.name(analysis).to_owned(),
        category: operator.category.clone(),
        calls: group.calls.len(),
        intensity,
        tflops: Spread::of(rates).mean.filter(|&rate| rate > 0.0)?,
        kernel_time_us: analysis.us(group.time()),
        time: group.time(),
        dims: operator.record.as_ref().map(|record| Nested::Tuple(record.dims.iter().map(shape).collect())),
        uid: analysis.trace().events().uid(group.first(analysis)).into(),
    };
    Some((first.spec?, first.roofline?.peak?, point))
}
