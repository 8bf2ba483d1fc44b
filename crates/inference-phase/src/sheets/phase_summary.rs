//! The phases, one row each.

use sheets::{Chart, ChartShape, Column, ColumnKind, Figure, Role, Sheet, Unit, percent};

use super::phase_analysis::PhaseAnalysis;
use super::phase_analysis::PhaseStatistics;
use crate::step::Phase;

const PHASE: Column = Column::text(
    "phase",
    "Prefill, Decode, Mixed (both in one step) or Unknown (not recorded); with a TraceLens method, Mixed also means undecided.",
);
const KERNEL_TIME: Column = Column::microseconds(
    "kernel_time_us",
    "Direct device time of operators; the rows add up to the total of ops_summary. Includes communication kernels, except with --parity.",
)
.showing(&[Figure::SumsOfDeviceTime])
.with_role(Role::Headline);

/// What all rows share.
struct Summary<'a> {
    phases: &'a PhaseAnalysis<'a>,
    /// Of all phases.
    kernel_time: i64,
}

impl Summary<'_> {
    fn us(&self, time: i64) -> f64 {
        self.phases.analysis.trace().to_microseconds(time)
    }

    fn source(&self, row: &PhaseStatistics) -> String {
        let sources: Vec<&str> = row.sources.iter().map(|source| source.as_str()).collect();
        match (self.phases.steps(), row.phase) {
            (Some(_), _) => sources.join(", "),
            (None, Phase::Unknown) => "none".to_owned(),
            (None, _) => self.phases.options.method.to_string(),
        }
    }
}

pub(super) fn sheet<'a>() -> Sheet<'a, PhaseAnalysis<'a>> {
    let fields = [
        PHASE.field(|row: &&PhaseStatistics| row.phase.as_str().into()),
        Column::count(
            "steps",
            "Number of engine steps; empty for methods that label individual operators.",
        ).field(|row: &&PhaseStatistics| row.steps.into()),
        Column::count(
            "requests",
            "Number of requests, counted once per step; empty if not recorded for any step.",
        ).field(|row: &&PhaseStatistics| row.requests.into()),
        Column::count(
            "tokens",
            "Number of prompt and generated tokens processed; empty if not recorded for any step.",
        ).field(|row: &&PhaseStatistics| row.tokens.into()),
        Column::count(
            "gpu_events",
            "Number of kernels, copies and fills, including communication and events without a launch in the trace.",
        ).field(|row: &&PhaseStatistics| row.device_events.into()),
        KERNEL_TIME.field_in(|summary: &Summary<'_>, row: &&PhaseStatistics| summary.us(row.kernel_time).into()),
        Column::microseconds(
            "busy_time_us",
            "Time during which at least one of the gpu_events runs.",
        ).field_in(|summary: &Summary<'_>, row: &&PhaseStatistics| summary.us(row.busy_time).into()),
        Column::percent(
            "percent_of_kernel_time",
            "kernel_time_us as a share of the sum over all phases.",
        ).showing(&[Figure::SumsOfDeviceTime]).with_role(Role::Headline).field_in(|summary: &Summary<'_>, row: &&PhaseStatistics| percent(row.kernel_time, summary.kernel_time).unwrap_or(0.0).into()),
        Column::microseconds(
            "mean_step_gpu_us",
            "Mean gpu_busy_us per step, over steps with device work.",
        ).per("step").field_in(|summary: &Summary<'_>, row: &&PhaseStatistics| { let unit = summary.phases.analysis.trace().time_unit(); row.mean_step_time.map(|time| time / unit.per_microsecond() as f64).into() }),
        Column::new(
            "tokens_per_s",
            ColumnKind::Number(Unit::One),
            "Tokens per second of device time (not elapsed time), over steps with recorded tokens.",
        ).field(|row: &&PhaseStatistics| row.tokens_per_second.into()),
        Column::text(
            "source",
            "Evidence for the phase, most device time first: annotation, engine_frames (Python frames of the engine), tokens (compared with rows of logits), attention, graphs, names, none; or the method that labeled individual operators.",
        ).with_role(Role::Detail).field_in(|summary: &Summary<'_>, row: &&PhaseStatistics| summary.source(row).into()),
        Column::new(
            "confidence",
            ColumnKind::Number(Unit::One),
            "Confidence in the phase, 0 to 1, weighted by device time; empty for methods that label individual operators.",
        ).with_role(Role::Detail).per("step").field(|row: &&PhaseStatistics| row.confidence.into()),
    ];
    Sheet::with_context(
        "phase_summary",
        "Inference phases, one row each; needs --inference_phase_analysis. Prefill processes prompts, Decode extends requests by one or a few tokens, Mixed does both in one step.",
        fields,
        |phases: &'a PhaseAnalysis<'a>| {
            let rows: Vec<&PhaseStatistics> = phases.phases().iter().collect();
            let kernel_time = rows.iter().map(|row| row.kernel_time).sum();
            (!rows.is_empty()).then_some((Summary { phases, kernel_time }, rows))
        },
    )
    .with_chart(Chart::new(
        "Kernel time by phase",
        PHASE.name,
        KERNEL_TIME.name,
        "kernel time (µs)",
        ChartShape::Bars(4),
    ))
}
