//! The steps of the engine, one row each.

use sheets::{Chart, ChartShape, Column, ColumnKind, Role, Sheet, Unit};
use trace_ingest::Trace;

use super::phase_analysis::PhaseAnalysis;
use super::phase_analysis::StepStatistics;
use crate::step::Step;

/// Steps of the chart: more are narrower than a pixel or two.
const DRAWN_STEPS: usize = 500;

const STEP: Column = Column::identifier("step", "Number from 0.").with_role(Role::Name);
const PHASE: Column = Column::text("phase", "Prefill, Decode, Mixed (both) or Unknown.");
const CONTEXT_TOKENS: Column = Column::count("context_tokens", "Prompt tokens; empty if not recorded.");
const GENERATION_TOKENS: Column =
    Column::count("generation_tokens", "Tokens that extend requests; empty if not recorded.");
const BUSY: Column =
    Column::microseconds("gpu_busy_us", "Time in which at least one of its device events ran.")
        .with_role(Role::Headline);

struct Row<'a> {
    number: usize,
    step: &'a Step,
    figures: &'a StepStatistics,
}

pub(super) fn sheet<'a>() -> Sheet<'a, PhaseAnalysis<'a>> {
    let fields = [
        STEP.field(|row: &Row<'_>| row.number.into()),
        Column::text(
            "annotation",
            "The engine's label of the step; empty if none.",
        ).with_role(Role::Detail).field_in(|trace: &&Trace, row: &Row<'_>| row.step.annotation.map(|event| trace.name(event)).into()),
        PHASE.field(|row: &Row<'_>| row.step.phase.as_str().into()),
        Column::text(
            "prompts",
            "Whether prompts are processed: yes or no; empty if unknown. For an Unknown step with prompts, nothing shows whether it also extends requests.",
        ).with_role(Role::Detail).field(|row: &Row<'_>| row.step.bears_context().map(|is| if is { "yes" } else { "no" }).into()),
        Column::text(
            "source",
            "What determined the phase: annotation, engine_frames (Python frames of the engine), tokens (against rows of logits), attention, graphs, names or none.",
        ).with_role(Role::Detail).field(|row: &Row<'_>| row.step.source.as_str().into()),
        Column::new("confidence", ColumnKind::Number(Unit::One), "Certainty of the phase, 0 to 1.").with_role(Role::Detail).field(|row: &Row<'_>| row.step.confidence.into()),
        Column::count(
            "context_requests",
            "Requests whose prompt is processed; empty if not recorded.",
        ).field(|row: &Row<'_>| row.step.load.context_requests.into()),
        CONTEXT_TOKENS.field(|row: &Row<'_>| row.step.load.context_tokens.into()),
        Column::count(
            "generation_requests",
            "Requests being extended; empty if not recorded.",
        ).field(|row: &Row<'_>| row.step.load.generation_requests.into()),
        GENERATION_TOKENS.field(|row: &Row<'_>| row.step.load.generation_tokens.into()),
        Column::microseconds(
            "launch_start_us",
            "When the host began the step, from the trace's first event.",
        ).field_in(|trace: &&Trace, row: &Row<'_>| trace.to_microseconds(row.step.start).into()),
        Column::microseconds(
            "launch_dur_us",
            "Time the host spent on the step.",
        ).field_in(|trace: &&Trace, row: &Row<'_>| trace.to_microseconds(row.step.end.saturating_sub(row.step.start)).into()),
        Column::microseconds(
            "gpu_start_us",
            "Start of the step's first device event, from the trace's first event; empty without device work.",
        ).field_in(|trace: &&Trace, row: &Row<'_>| row.figures.device_span.map(|(start, _)| trace.to_microseconds(start)).into()),
        Column::microseconds(
            "gpu_end_us",
            "End of the step's last device event, from the trace's first event; empty without device work.",
        ).field_in(|trace: &&Trace, row: &Row<'_>| row.figures.device_span.map(|(_, end)| trace.to_microseconds(end)).into()),
        BUSY.field_in(|trace: &&Trace, row: &Row<'_>| trace.to_microseconds(row.figures.busy_time).into()),
        Column::count("gpu_events", "Its kernels, copies and fills.").field(|row: &Row<'_>| row.figures.device_events.into()),
        Column::count("graph_launches", "Captured-graph launches that did device work.").field(|row: &Row<'_>| row.figures.graph_launches.into()),
    ];
    Sheet::with_context(
        "step_summary",
        "Inference engine steps by host start, with phase analysis and the method hybrid, the only one that detects steps. Device work outside steps is left out.",
        fields,
        |phases: &'a PhaseAnalysis<'a>| {
            let steps = phases.steps()?.steps().iter().zip(phases.step_statistics()).enumerate();
            let rows: Vec<Row<'_>> =
                steps.map(|(number, (step, figures))| Row { number, step, figures }).collect();
            (!rows.is_empty()).then(|| (phases.analysis.trace(), rows))
        },
    )
    .with_chart(Chart::new(
        "Device time of steps",
        STEP.name,
        BUSY.name,
        "busy time (µs)",
        ChartShape::Grouped {
            title: "step",
            groups: PHASE.name,
            order: &["Prefill", "Decode", "Mixed", "Unknown"],
            labels: &[CONTEXT_TOKENS.name, GENERATION_TOKENS.name],
            rows: DRAWN_STEPS,
        },
    ))
}
