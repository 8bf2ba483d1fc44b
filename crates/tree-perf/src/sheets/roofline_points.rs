//! The operators as points under the roofline; the chart that shows them is in the sheet `roofline`.

use polars::prelude::{DataFrame, PolarsResult};

use super::roofline::{INTENSITY, SPEC};
use crate::analysis::Analysis;
use crate::column::{Column, ColumnKind, Unit, shared};
use crate::frame::{FrameBuilder, percent};
use crate::sheet::{ScatterPoints, Sheet};
use operator_sheets::{Roof, RooflinePoint};

const NAME: &str = "roofline_points";
const ACHIEVED: &str = "TFLOPS/s_mean";
/// What [`shared::SHARE_OF_KERNEL_TIME`] is called.
const SHARE: &str = "Percentage (%)";

/// The points of the chart.
pub(super) const POINTS: ScatterPoints = ScatterPoints {
    sheet: NAME,
    x: INTENSITY,
    y: ACHIEVED,
    groups: SPEC,
    labels: "name",
    weights: SHARE,
    thresholds: &[10.0, 1.0],
};

/// One row per point.
#[doc(hidden)]
pub const SHEET: Sheet = Sheet {
    name: NAME,
    current_name: NAME,
    description: "The rows of unified_perf_summary that can stand under a roofline: those with FLOPs, bytes, time and a peak of the architecture to be held against. By peak, the one with the most kernel time first; below a peak most kernel time first. Left out without an architecture.",
    columns: &[
        Column::new(
            "name",
            ColumnKind::Text,
            "Operator; <operator>-><kernel> (Synthetic Op) for a device event that no row of its own operator accounts for.",
        ),
        shared::OP_CATEGORY,
        Column::new(
            SPEC,
            ColumnKind::Text,
            "Unit and precision of the work: the peak that it is held against, see roofline.",
        ),
        Column::new("Input Dims", ColumnKind::Nested, "Shapes of the inputs."),
        Column::new("operation_count", ColumnKind::Count, "Calls of the row."),
        Column::new(
            INTENSITY,
            ColumnKind::Number(Unit::One),
            "Arithmetic intensity: floating-point operations per byte; the place of the point from left to right.",
        ),
        Column::new(
            ACHIEVED,
            ColumnKind::Number(Unit::One),
            "Mean over calls of the achieved rate: floating-point operations over kernel time, in units of 1e12 per second; the height of the point.",
        ),
        Column::new(
            "Attainable TFLOPS/s",
            ColumnKind::Number(Unit::One),
            "Height of the roof above the point, in units of 1e12 per second: the peak rate, or what the peak bandwidth feeds at this intensity, whichever is smaller.",
        ),
        Column::new(
            "Pct Roofline_mean",
            ColumnKind::Number(Unit::Percent),
            "Achieved over attainable rate, in percent; above 100 the model or the recorded arguments are wrong, or the data came from a cache.",
        ),
        Column::new(
            "Kernel Time (ms)_sum",
            ColumnKind::Number(Unit::Milliseconds),
            "Sum over calls of the union of the spans of a call's device events, in ms.",
        ),
        Column::new(
            SHARE,
            ColumnKind::Number(Unit::Percent),
            "Share of the kernel time of all rows of unified_perf_summary, those without a place under a roofline included, in percent; the size of the point.",
        ),
        Column::new(
            "ex_UID",
            ColumnKind::Identifier,
            "Index in the trace's event list of the first of these calls, as in unified_perf_summary.",
        ),
    ],
    chart: None,
    build,
};

fn build(analysis: &Analysis) -> PolarsResult<Option<DataFrame>> {
    let roofs = analysis.roofs();
    if roofs.is_empty() {
        return Ok(None);
    }
    let rows = || roofs.iter().flat_map(|roof| roof.points.iter().map(move |point| (roof, point)));
    let points = || rows().map(|(_, point): (&Roof, &RooflinePoint)| point);
    let trace = analysis.trace();
    let dims = |point: &RooflinePoint| {
        let dims = trace.signatures().get(point.signature?).dims?;
        Some(trace.signatures().argument_text(dims))
    };
    let all: i64 = analysis.unified_rows().iter().map(|row| row.time).sum();
    let mut frame = FrameBuilder::default();
    frame.text("name", points().map(|point| Some(&point.name)));
    frame.text("op category", points().map(|point| Some(point.category.as_str())));
    frame.text(SPEC, rows().map(|(roof, _)| Some(roof.spec.to_string())));
    frame.text("Input Dims", points().map(dims));
    frame.integer("operation_count", points().map(|point| Some(point.calls as i64)));
    frame.float(INTENSITY, points().map(|point| Some(point.intensity)));
    frame.float(ACHIEVED, points().map(|point| Some(point.tflops)));
    let attainable = |(roof, point): (&Roof, &RooflinePoint)| roof.attainable_tflops(point.intensity);
    frame.float("Attainable TFLOPS/s", rows().map(|row| Some(attainable(row))));
    frame.float("Pct Roofline_mean", rows().map(|row| Some(row.1.tflops / attainable(row) * 100.0)));
    frame.float("Kernel Time (ms)_sum", points().map(|point| Some(analysis.ms(point.time))));
    frame.float(SHARE, points().map(|point| percent(point.time, all)));
    let uid = |point: &RooflinePoint| Some(i64::from(trace.events().uid(point.operator)));
    frame.integer("ex_UID", points().map(uid));
    frame.finish().map(Some)
}
