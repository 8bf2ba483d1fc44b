//! The steps of the engine, one row each.

use polars::prelude::{DataFrame, PolarsResult};
use tree_perf::{ChartShape, Column, ColumnKind, FrameBuilder, SheetChart, Unit};

use super::phase_analysis::PhaseAnalysis;
use super::{Build, PhaseSheet};

/// Steps of the chart: more are narrower than a pixel or two.
const DRAWN_STEPS: usize = 500;

/// One row per step.
pub(super) const SHEET: PhaseSheet = PhaseSheet {
    name: "step_summary",
    description: "Steps of the inference engine by their start on the host; with --inference_phase_analysis and the method hybrid only, which alone looks at steps. Device work outside of any step is in no row.",
    columns: &[
        Column::new("step", ColumnKind::Identifier, "Number of the step, from 0."),
        Column::new(
            "annotation",
            ColumnKind::Text,
            "The engine's annotation of the step; empty where it has none.",
        ),
        Column::new("phase", ColumnKind::Text, "Prefill, Decode, Mixed (both) or Unknown."),
        Column::new(
            "source",
            ColumnKind::Text,
            "What decided the phase: annotation, engine_frames (Python frames of the engine), tokens (against rows of logits), attention, graphs, names or none.",
        ),
        Column::new("confidence", ColumnKind::Number(Unit::One), "How sure that is, 0 to 1."),
        Column::new(
            "context_requests",
            ColumnKind::Count,
            "Requests whose prompt is processed; empty where the trace does not say.",
        ),
        Column::new(
            "context_tokens",
            ColumnKind::Count,
            "Tokens of prompts; empty where the trace does not say.",
        ),
        Column::new(
            "generation_requests",
            ColumnKind::Count,
            "Requests that are extended; empty where the trace does not say.",
        ),
        Column::new(
            "generation_tokens",
            ColumnKind::Count,
            "Tokens that requests are extended by; empty where the trace does not say.",
        ),
        Column::new(
            "launch_start_us",
            ColumnKind::Number(Unit::Microseconds),
            "When the host began the step, in µs from the trace's first event.",
        ),
        Column::new(
            "launch_dur_us",
            ColumnKind::Number(Unit::Microseconds),
            "How long the host was at it, in µs.",
        ),
        Column::new(
            "gpu_start_us",
            ColumnKind::Number(Unit::Microseconds),
            "Start of the step's first device event, in µs from the trace's first event; empty without device work.",
        ),
        Column::new(
            "gpu_end_us",
            ColumnKind::Number(Unit::Microseconds),
            "End of its last device event, in µs from the trace's first event; empty without device work.",
        ),
        Column::new(
            "gpu_busy_us",
            ColumnKind::Number(Unit::Microseconds),
            "Time in µs in which at least one of its device events ran.",
        ),
        Column::new("gpu_events", ColumnKind::Count, "Its kernels, copies and fills."),
        Column::new("graph_launches", ColumnKind::Count, "Launches of captured graphs that did device work."),
    ],
    chart: Some(SheetChart {
        title: "Device time of steps",
        categories: "step",
        values: "gpu_busy_us",
        axis: "busy time (µs)",
        shape: ChartShape::Grouped {
            title: "step",
            groups: "phase",
            order: &["Prefill", "Decode", "Mixed", "Unknown"],
            labels: &["context_tokens", "generation_tokens"],
            rows: DRAWN_STEPS,
        },
    }),
    build: Build::All(build),
};

fn build(phases: &PhaseAnalysis<'_>) -> PolarsResult<Option<DataFrame>> {
    let Some(steps) = phases.steps().map(|steps| steps.steps()).filter(|steps| !steps.is_empty()) else {
        return Ok(None);
    };
    let trace = phases.analysis.trace();
    let figures = phases.step_statistics();
    let us = |time: i64| Some(trace.to_microseconds(time));
    let count = |count: usize| i64::try_from(count).ok();

    let mut frame = FrameBuilder::default();
    frame.integer("step", (0..steps.len()).map(count));
    frame.text("annotation", steps.iter().map(|step| step.annotation.map(|event| trace.name(event))));
    frame.text("phase", steps.iter().map(|step| Some(step.phase.as_str())));
    frame.text("source", steps.iter().map(|step| Some(step.source.as_str())));
    frame.float("confidence", steps.iter().map(|step| Some(step.confidence)));
    let loads = || steps.iter().map(|step| step.load);
    frame.integer("context_requests", loads().map(|load| load.context_requests));
    frame.integer("context_tokens", loads().map(|load| load.context_tokens));
    frame.integer("generation_requests", loads().map(|load| load.generation_requests));
    frame.integer("generation_tokens", loads().map(|load| load.generation_tokens));
    frame.float("launch_start_us", steps.iter().map(|step| us(step.start)));
    frame.float("launch_dur_us", steps.iter().map(|step| us(step.end.saturating_sub(step.start))));
    frame.float("gpu_start_us", figures.iter().map(|step| us(step.device_span?.0)));
    frame.float("gpu_end_us", figures.iter().map(|step| us(step.device_span?.1)));
    frame.float("gpu_busy_us", figures.iter().map(|step| us(step.busy_time)));
    frame.integer("gpu_events", figures.iter().map(|step| count(step.device_events)));
    frame.integer("graph_launches", figures.iter().map(|step| count(step.graph_launches)));
    frame.finish().map(Some)
}
