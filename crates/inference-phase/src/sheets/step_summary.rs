//! The steps of the engine, one row each.

use sheets::{Chart, ChartShape, Column, ColumnKind, Role, Sheet, Unit};
use trace_ingest::Trace;

use super::phase_analysis::PhaseAnalysis;
use super::phase_analysis::StepStatistics;
use crate::step::Step;

/// Steps of the chart: more are narrower than a pixel or two.
const DRAWN_STEPS: usize = 500;

const STEP: Column = Column::identifier("step", "Step number, from 0.").with_role(Role::Name);
const PHASE: Column = Column::text("phase", "Prefill, Decode, Mixed (both) or Unknown.");
const CONTEXT_TOKENS: Column =
    Column::count("context_tokens", "Number of prompt tokens; empty if not recorded.");
const GENERATION_TOKENS: Column =
    Column::count("generation_tokens", "Number of decode tokens; empty if not recorded.");
const BUSY: Column =
    Column::microseconds("gpu_busy_us", "Time during which at least one device event of the step runs.")
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
            "Engine label of the step; empty if none.",
        ).with_role(Role::Detail).field_in(|trace: &&Trace, row: &Row<'_>| row.step.annotation.map(|event| trace.name(event)).into()),
        PHASE.field(|row: &Row<'_>| row.step.phase.as_str().into()),
        Column::text(
            "prompts",
            "Whether prompts are processed: yes or no; empty if unknown. An Unknown step with prompts may also extend requests.",
        ).with_role(Role::Detail).field(|row: &Row<'_>| row.step.bears_context().map(|is| if is { "yes" } else { "no" }).into()),
        Column::text(
            "source",
            "Evidence for the phase: annotation, engine_frames (Python frames of the engine), tokens (compared with rows of logits), attention, graphs, names or none.",
        ).with_role(Role::Detail).field(|row: &Row<'_>| row.step.source.as_str().into()),
        Column::new("confidence", ColumnKind::Number(Unit::One), "Confidence in the phase, 0 to 1.").with_role(Role::Detail).field(|row: &Row<'_>| row.step.confidence.into()),
        Column::count(
            "context_requests",
            "Number of requests in prefill; empty if not recorded.",
        ).field(|row: &Row<'_>| row.step.load.context_requests.into()),
        CONTEXT_TOKENS.field(|row: &Row<'_>| row.step.load.context_tokens.into()),
        Column::count(
            "generation_requests",
            "Number of requests in decode; empty if not recorded.",
        ).field(|row: &Row<'_>| row.step.load.generation_requests.into()),
        GENERATION_TOKENS.field(|row: &Row<'_>| row.step.load.generation_tokens.into()),
        Column::microseconds(
            "launch_start_us",
            "Host start of the step, relative to the trace's first event.",
        ).field_in(|trace: &&Trace, row: &Row<'_>| trace.to_microseconds(row.step.start).into()),
        Column::microseconds(
            "launch_dur_us",
            "Host time of the step.",
        ).field_in(|trace: &&Trace, row: &Row<'_>| trace.to_microseconds(row.step.end.saturating_sub(row.step.start)).into()),
        Column::microseconds(
            "gpu_start_us",
            "Start of the step's first device event, relative to the trace's first event; empty without device work.",
        ).field_in(|trace: &&Trace, row: &Row<'_>| row.figures.device_span.map(|(start, _)| trace.to_microseconds(start)).into()),
        Column::microseconds(
            "gpu_end_us",
            "End of the step's last device event, relative to the trace's first event; empty without device work.",
        ).field_in(|trace: &&Trace, row: &Row<'_>| row.figures.device_span.map(|(_, end)| trace.to_microseconds(end)).into()),
        BUSY.field_in(|trace: &&Trace, row: &Row<'_>| trace.to_microseconds(row.figures.busy_time).into()),
        Column::count("gpu_events", "Number of kernels, copies and fills.").field(|row: &Row<'_>| row.figures.device_events.into()),
        Column::count("graph_launches", "Number of graph launches with device work.").field(|row: &Row<'_>| row.figures.graph_launches.into()),
    ];
    Sheet::with_context(
        "step_summary",
        "Steps of the inference engine in order of host start; needs --inference_phase_analysis with the method hybrid, the only one that detects steps. Excludes device work outside steps.",
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
