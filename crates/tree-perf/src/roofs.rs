//! Operators under the ceilings of the device: what every picture of a roofline is drawn from.

use std::borrow::Cow;

use operator_sheets::{Roof, RooflineCall, RooflinePoint, Rooflines, nested_argument};
use perf_models::{ComputeSpec, bare_kernel_name};
use trace_ingest::Sequence;

use crate::analysis::Analysis;
use crate::call_groups::CallGroup;
use crate::derived::UnifiedRow;
use crate::unified::unified_groups;

impl Rooflines for Analysis {
    fn roofs(&self) -> &[Roof] {
        self.roofs()
    }

    fn kernel_time(&self) -> i64 {
        self.unified_rows().iter().map(|row| row.time).sum()
    }

    fn milliseconds(&self, time: i64) -> f64 {
        self.ms(time)
    }

    fn visit_calls(&self, visit: &mut dyn FnMut(RooflineCall<'_>)) {
        for row in self.unified_rows() {
            let operator = self.trace().name(row.charged.operator);
            // What is left over is known by its kernel.
            let name = match row.charged.device_events.first().filter(|_| row.charged.is_leftover) {
                Some(&event) => Cow::Owned(bare_kernel_name(self.trace().name(event))),
                None => Cow::Borrowed(operator),
            };
            visit(RooflineCall {
                name: &name,
                kernel_time_us: self.us(row.time),
                figures: row.figures,
                gap: row.status(self).gap(),
            });
        }
        for (status, event) in self.uncharged_device_events() {
            visit(RooflineCall {
                name: self.trace().name(event),
                kernel_time_us: self.us(self.trace().events().duration(event)),
                figures: None,
                gap: status.gap(),
            });
        }
    }
}

/// The calls of a row as a point: the peak of their work, and that which they are held against.
fn point(
    analysis: &Analysis,
    group: &CallGroup<'_, UnifiedRow>,
) -> Option<(ComputeSpec, ComputeSpec, RooflinePoint)> {
    let (spec, peak, intensity, bytes) = group.figure(|figures| {
        let intensity = figures.intensity().filter(|intensity| *intensity > 0.0)?;
        Some((figures.spec?, figures.roofline?.peak?, intensity, figures.bytes?))
    })?;
    let trace = analysis.trace();
    let dims = trace.argument(group.first(), |signature| signature.dims);
    let point = RooflinePoint {
        name: group.key.name.text(analysis).into_owned(),
        category: group.key.category.clone(),
        calls: group.calls.len(),
        bytes,
        intensity,
        tflops: group.spread(|row| row.figures?.tflops_per_s()).mean.filter(|rate| *rate > 0.0)?,
        kernel_time_us: analysis.us(group.time()),
        time: group.time(),
        dims: dims.map(|dims| nested_argument(dims, Sequence::Tuple)),
        uid: trace.events().uid(group.first()).into(),
    };
    Some((spec, peak, point))
}

impl Analysis {
    /// The peaks of the architecture with the operators that are held against each, that with the most kernel
    /// time first. Empty without an architecture or where no operator has FLOPs, bytes and time. Computed once.
    pub fn roofs(&self) -> &[Roof] {
        self.derived.roofs.get_or_init(|| {
            let Some(architecture) = self.architecture().filter(|_| !self.is_gpu_only()) else {
                return Vec::new();
            };
            let (_, groups) = unified_groups(self, false);
            Roof::group(architecture, groups.iter().filter_map(|group| point(self, group)))
        })
    }
}
