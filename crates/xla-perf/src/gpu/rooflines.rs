//! The roofs of the device and the instructions under them.

use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::EventId;

use ::sheets::percent;
use tree_perf::FrameBuilder;
use crate::analysis::JaxAnalysis;
use crate::record::number_tuples;
use tree_perf::Sheet;
use tree_perf::{roofline, roofline_points};
use operator_sheets::{Roof, RooflinePoint};

/// Two rows per line of the chart.
pub(crate) const ROOFS: Sheet<JaxAnalysis> = Sheet {
    name: "roofline",
    current_name: "roofline",
    description: roofline::SHEET.description,
    columns: roofline::SHEET.columns,
    chart: roofline::SHEET.chart,
    build: |analysis| roofline::table(analysis.roofs()),
};

/// One row per point of the chart.
pub(crate) const POINTS: Sheet<JaxAnalysis> = Sheet {
    name: "roofline_points",
    current_name: "roofline_points",
    description: "Instructions that can stand under a roofline, grouped as in the sheets op_gemm to op_xla: those with FLOPs, bytes, time and a peak of the architecture to be held against. By peak, the one with the most kernel time first; below a peak most kernel time first. Left out without an architecture.",
    columns: roofline_points::SHEET.columns,
    chart: None,
    build,
};

fn build(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    let roofs = analysis.roofs();
    if roofs.is_empty() {
        return Ok(None);
    }
    let rows = || roofs.iter().flat_map(|roof| roof.points.iter().map(move |point| (roof, point)));
    let points = || rows().map(|(_, point): (&Roof, &RooflinePoint)| point);
    let uid = |event: EventId| analysis.trace().events().uid(event);
    let dims = |point: &RooflinePoint| {
        let events = analysis.device_events();
        let at = events.binary_search_by_key(&uid(point.operator), |event| uid(event.event)).ok()?;
        let record = analysis.operators()[events[at].operator].record.as_ref()?;
        Some(number_tuples(&record.dims))
    };
    let attainable = |(roof, point): (&Roof, &RooflinePoint)| roof.attainable_tflops(point.intensity);
    let all: i64 = analysis.calls().iter().map(|call| call.time).sum();
    let mut frame = FrameBuilder::default();
    frame.text("name", points().map(|point| Some(&point.name)));
    frame.text("op category", points().map(|point| Some(point.category.as_str())));
    frame.text("Compute Spec", rows().map(|(roof, _)| Some(roof.spec.to_string())));
    frame.text("Input Dims", points().map(dims));
    frame.integer("operation_count", points().map(|point| Some(point.calls as i64)));
    frame.float("FLOPS/Byte", points().map(|point| Some(point.intensity)));
    frame.float("TFLOPS/s_mean", points().map(|point| Some(point.tflops)));
    frame.float("Attainable TFLOPS/s", rows().map(|row| Some(attainable(row))));
    frame.float("Pct Roofline_mean", rows().map(|row| Some(row.1.tflops / attainable(row) * 100.0)));
    frame.float("Kernel Time (ms)_sum", points().map(|point| Some(analysis.ms(point.time))));
    frame.float("Percentage (%)", points().map(|point| percent(point.time, all)));
    frame.integer("ex_UID", points().map(|point| Some(i64::from(uid(point.operator)))));
    frame.finish().map(Some)
}
