//! The phases, one row each.

use polars::prelude::{DataFrame, PolarsResult};
use tree_perf::{ChartShape, Column, ColumnKind, FrameBuilder, SheetChart, Unit};

use super::phase_analysis::PhaseAnalysis;
use super::{Build, PhaseSheet};
use crate::phase::Phase;

/// One row per phase.
pub(super) const SHEET: PhaseSheet = PhaseSheet {
    name: "phase_summary",
    description: "Phases of inference: one row per phase that occurs; with --inference_phase_analysis only. Prefill processes prompts, Decode extends requests by a token or a few, Mixed does both in one step.",
    columns: &[
        Column::new(
            "phase",
            ColumnKind::Text,
            "Prefill, Decode, Mixed (both in one step) or Unknown (nothing in the trace says); with --phase_legacy Mixed stands for undecided too.",
        ),
        Column::new(
            "steps",
            ColumnKind::Count,
            "Steps of the engine; empty for methods that look at operators one by one.",
        ),
        Column::new(
            "requests",
            ColumnKind::Count,
            "Requests of the steps, each counted in every step that it is part of; empty where no step says.",
        ),
        Column::new(
            "tokens",
            ColumnKind::Count,
            "Tokens that the steps process, of prompts and of generation; empty where no step says.",
        ),
        Column::new(
            "gpu_events",
            ColumnKind::Count,
            "Kernels, copies and fills, those of communication and those without a launch in the trace included.",
        ),
        Column::new(
            "kernel_time_us",
            ColumnKind::Number(Unit::Microseconds),
            "Direct device time of operators in µs: the column adds up to that of ops_summary; communication kernels are left out.",
        ),
        Column::new(
            "busy_time_us",
            ColumnKind::Number(Unit::Microseconds),
            "Time in µs in which at least one of gpu_events ran.",
        ),
        Column::new(
            "percent_of_kernel_time",
            ColumnKind::Number(Unit::Percent),
            "kernel_time_us as a share of that of all phases, in percent.",
        ),
        Column::new(
            "mean_step_gpu_us",
            ColumnKind::Number(Unit::Microseconds),
            "Mean over steps with device work of the time in µs in which at least one of a step's device events ran.",
        ),
        Column::new(
            "tokens_per_s",
            ColumnKind::Number(Unit::One),
            "Tokens per second of the steps' device time (not of elapsed time), over the steps that say their tokens.",
        ),
        Column::new(
            "source",
            ColumnKind::Text,
            "What decided the phase, that with the most device time first: annotation, engine_frames (Python frames of the engine), tokens (against rows of logits), attention, graphs, names, none; or the method that looked at operators one by one.",
        ),
        Column::new(
            "confidence",
            ColumnKind::Number(Unit::One),
            "How sure that is, 0 to 1, mean weighed by device time; empty for methods that look at operators one by one.",
        ),
    ],
    chart: Some(SheetChart {
        title: "Kernel time by phase",
        categories: "phase",
        values: "kernel_time_us",
        axis: "kernel time (µs)",
        shape: ChartShape::Bars(4),
    }),
    build: Build::All(build),
};

fn build(phases: &PhaseAnalysis<'_>) -> PolarsResult<Option<DataFrame>> {
    let rows = phases.phases();
    if rows.is_empty() {
        return Ok(None);
    }
    let trace = phases.analysis.trace();
    let us = |time: i64| Some(trace.to_microseconds(time));
    let total: i64 = rows.iter().map(|row| row.kernel_time).sum();
    let count = |count: usize| i64::try_from(count).ok();
    let method = phases.options.method.to_string();

    let mut frame = FrameBuilder::default();
    frame.text("phase", rows.iter().map(|row| Some(row.phase.as_str())));
    frame.integer("steps", rows.iter().map(|row| row.steps.and_then(count)));
    frame.integer("requests", rows.iter().map(|row| row.requests));
    frame.integer("tokens", rows.iter().map(|row| row.tokens));
    frame.integer("gpu_events", rows.iter().map(|row| count(row.device_events)));
    frame.float("kernel_time_us", rows.iter().map(|row| us(row.kernel_time)));
    frame.float("busy_time_us", rows.iter().map(|row| us(row.busy_time)));
    let share = |time: i64| if total > 0 { time as f64 / total as f64 * 100.0 } else { 0.0 };
    frame.float("percent_of_kernel_time", rows.iter().map(|row| Some(share(row.kernel_time))));
    let per_microsecond = trace.time_unit().per_microsecond() as f64;
    frame.float("mean_step_gpu_us", rows.iter().map(|row| Some(row.mean_step_time? / per_microsecond)));
    frame.float("tokens_per_s", rows.iter().map(|row| row.tokens_per_second));
    frame.text(
        "source",
        rows.iter().map(|row| {
            let sources: Vec<&str> = row.sources.iter().map(|source| source.as_str()).collect();
            Some(match (phases.steps(), row.phase) {
                (Some(_), _) => sources.join(", "),
                (None, Phase::Unknown) => "none".to_owned(),
                (None, _) => method.clone(),
            })
        }),
    );
    frame.float("confidence", rows.iter().map(|row| row.confidence));
    frame.finish().map(Some)
}
