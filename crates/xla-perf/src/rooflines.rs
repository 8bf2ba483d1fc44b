//! Instructions under the ceilings of the device.

use gpu_timeline::Spread;
use operator_sheets::{
    Figures, Roof, RooflineCall, RooflinePoint, RooflineShares, Rooflines, roofline_points_sheet,
    roofline_sheet,
};
use perf_models::{ComputeSpec, XlaKernel};
use sheets::Sheet;

use crate::analysis::JaxAnalysis;
use crate::gpu::call_groups::CallGroup;
use crate::gpu::op_sheets::operator_groups;
use crate::operators::number_tuples;

impl Rooflines for JaxAnalysis {
    fn roofs(&self) -> &[Roof] {
        self.roofs()
    }

    fn kernel_time(&self) -> i64 {
        self.calls().iter().map(|call| call.time.0).sum()
    }

    fn milliseconds(&self, time: i64) -> f64 {
        self.ms(time)
    }

    fn visit_calls(&self, visit: &mut dyn FnMut(RooflineCall<'_>)) {
        for call in self.calls().iter().filter(|call| self.keeps(call.operator)) {
            let operator = &self.operators()[call.operator];
            let figures = self.figures(call);
            let gap = match operator.kernel_category {
                Some(XlaKernel::Communication) => Some(RooflineShares::COMMUNICATION),
                _ => figures.and_then(|figures| figures.bytes).is_none().then_some("no model"),
            };
            visit(RooflineCall {
                name: &operator.name,
                kernel_time_us: call.time.to_microseconds(),
                figures,
                gap,
            });
        }
    }
}

/// The sheets of the roofs and of the instructions under them.
pub(crate) fn roofline_sheets<'a>() -> [Sheet<'a, JaxAnalysis>; 2] {
    let points = "Instructions that have a roofline, grouped as in the sheets op_gemm to op_xla: those with \
                  FLOPs, bytes, time and a reference peak of the architecture. Grouped by peak; the peaks, and the \
                  rows within each, are sorted by kernel time, longest first. Omitted without an architecture.";
    [roofline_sheet(), roofline_points_sheet(points)]
}

impl JaxAnalysis {
    /// The peaks of the architecture with the instructions that are held against each, that with the most kernel
    /// time first. Empty without an architecture or where no instruction has FLOPs, bytes and time. Computed once.
    pub fn roofs(&self) -> &[Roof] {
        self.roofs.get_or_init(|| {
            let Some(architecture) = self.architecture() else { return Vec::new() };
            let groups = operator_groups(self);
            Roof::group(architecture, groups.iter().filter_map(|group| point(self, group)))
        })
    }
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
        bytes: first.bytes?,
        intensity,
        tflops: Spread::from_values(rates).mean.filter(|&rate| rate > 0.0)?,
        kernel_time_us: group.time().to_microseconds(),
        time: group.time().0,
        dims: operator.record.as_ref().map(|record| number_tuples(&record.dims)),
        uid: analysis.trace().events().uid(group.first(analysis)).into(),
    };
    Some((first.spec?, first.roofline?.peak?, point))
}
