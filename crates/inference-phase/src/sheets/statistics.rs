//! Figures of phases and steps.

use std::collections::BTreeMap;

use gpu_timeline::{Interval, busy_time};
use hashbrown::HashMap;
use trace_ingest::StringId;
use trace2tree::is_graph_launch;
use tree_perf::Analysis;

use super::phase_analysis::PhaseAnalysis;
use crate::phase::Phase;
use crate::step::{Load, Source, Step};
use crate::steps::Steps;

/// Figures of a phase. Times are in the trace's unit.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseStatistics {
    /// The phase.
    pub phase: Phase,
    /// Steps; `None` where calls were labelled one by one.
    pub steps: Option<usize>,
    /// Requests of the steps, summed over steps; `None` where no step says.
    pub requests: Option<i64>,
    /// Tokens of the steps, likewise.
    pub tokens: Option<i64>,
    /// Device events, those of communication and those without a launch included.
    pub device_events: usize,
    /// Σ of the direct device times of operators: over all phases that of the operator sheets.
    pub kernel_time: i64,
    /// Time in which at least one device event of the phase ran.
    pub busy_time: i64,
    /// Mean busy time of the steps that have device events.
    pub mean_step_time: Option<f64>,
    /// Tokens of the steps that say them, per second of these steps' busy time.
    pub tokens_per_second: Option<f64>,
    /// What decided the phase, that with the most device time first; empty where calls were labelled one by one.
    pub sources: Vec<Source>,
    /// Mean confidence, weighed by device time, 0 to 1; `None` where calls were labelled one by one.
    pub confidence: Option<f64>,
}

/// Figures of a step. Times are in the trace's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepStatistics {
    /// Start of its first device event and end of its last; `None` without any.
    pub device_span: Option<(i64, i64)>,
    /// Time in which at least one of its device events ran.
    pub busy_time: i64,
    /// Σ of the durations of its device events.
    pub device_time: i64,
    /// Device events.
    pub device_events: usize,
    /// Launches of captured graphs that did device work.
    pub graph_launches: usize,
}

/// Requests of both kinds; `None` where neither is known.
fn requests(load: &Load) -> Option<i64> {
    sum_of_known(load.context_requests, load.generation_requests)
}

/// Tokens of both kinds; `None` where neither is known.
fn tokens(load: &Load) -> Option<i64> {
    sum_of_known(load.context_tokens, load.generation_tokens)
}

fn sum_of_known(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.map_or(b, |a| Some(a.saturating_add(b.unwrap_or(0))))
}

/// Figures of all steps.
pub(super) fn of_steps(analysis: &Analysis, steps: &Steps) -> Vec<StepStatistics> {
    let (tree, trace) = (analysis.tree(), analysis.trace());
    let events = trace.events();
    let mut intervals: Vec<Vec<Interval>> = vec![Vec::new(); steps.steps().len()];
    for event in analysis.device_events() {
        if let Some(step) = steps.step_of(event) {
            intervals[step].push(Interval::new(events.start(event), events.end(event)));
        }
    }
    let mut scratch = Vec::new();
    let mut statistics: Vec<StepStatistics> = intervals
        .iter()
        .map(|of_step| StepStatistics {
            device_span: of_step
                .iter()
                .map(|one| (one.start, one.end))
                .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
            busy_time: busy_time(of_step.iter().copied(), &mut scratch),
            device_time: of_step.iter().map(|one| one.length()).sum(),
            device_events: of_step.len(),
            graph_launches: 0,
        })
        .collect();
    // Sorted by launch: each one's device events stand together.
    let mut is_graph: HashMap<StringId, bool> = HashMap::new();
    for group in
        tree.linked_device_events().chunk_by(|&a, &b| tree.recorded_launch(a) == tree.recorded_launch(b))
    {
        let Some((step, launch)) =
            group.first().and_then(|&event| Some((steps.step_of(event)?, tree.recorded_launch(event)?)))
        else {
            continue;
        };
        let name = events.name(launch);
        let is_graph = *is_graph.entry(name).or_insert_with(|| is_graph_launch(trace.text(name)));
        statistics[step].graph_launches += usize::from(is_graph);
    }
    statistics
}

/// Figures of the phases that have device events or steps.
pub(super) fn of_phases(phases: &PhaseAnalysis<'_>) -> Vec<PhaseStatistics> {
    let events = phases.analysis.trace().events();
    let mut intervals: [Vec<Interval>; 4] = Default::default();
    for event in phases.analysis.device_events() {
        intervals[place(phases.phase_of(event))].push(Interval::new(events.start(event), events.end(event)));
    }
    let mut kernel_times = [0i64; 4];
    for part in &phases.parts {
        kernel_times[place(part.phase)] += part.time;
    }
    let mut scratch = Vec::new();
    Phase::ALL
        .into_iter()
        .filter_map(|phase| {
            let of_phase = &intervals[place(phase)];
            let steps = phases.steps().map(|steps| {
                let all = steps.steps().iter().zip(phases.step_statistics());
                all.filter(|(step, _)| step.phase == phase).collect::<Vec<_>>()
            });
            if of_phase.is_empty() && steps.as_ref().is_none_or(Vec::is_empty) {
                return None;
            }
            let device_time: i64 = of_phase.iter().map(|one| one.length()).sum();
            let of_steps = steps.as_deref().unwrap_or_default();
            let (sources, confidence) = match steps {
                Some(_) => decided_by(of_steps, device_time),
                None => (Vec::new(), None),
            };
            let sum = |of: fn(&Load) -> Option<i64>| {
                of_steps.iter().filter_map(|(step, _)| of(&step.load)).reduce(|a, b| a + b)
            };
            Some(PhaseStatistics {
                phase,
                steps: steps.as_ref().map(Vec::len),
                requests: sum(requests),
                tokens: sum(tokens),
                device_events: of_phase.len(),
                kernel_time: kernel_times[place(phase)],
                busy_time: busy_time(of_phase.iter().copied(), &mut scratch),
                mean_step_time: mean_step_time(of_steps),
                tokens_per_second: tokens_per_second(phases.analysis, of_steps),
                sources,
                confidence,
            })
        })
        .collect()
}

/// Place among [`Phase::ALL`].
fn place(phase: Phase) -> usize {
    phase as usize
}

/// The sources by device time, and the mean confidence; what belongs to no step is decided by nothing.
fn decided_by(steps: &[(&Step, &StepStatistics)], device_time: i64) -> (Vec<Source>, Option<f64>) {
    let mut times: BTreeMap<Source, i64> = BTreeMap::new();
    let mut weighed = 0.0;
    for (step, statistics) in steps {
        *times.entry(step.source).or_default() += statistics.device_time;
        weighed += step.confidence * statistics.device_time as f64;
    }
    let of_steps: i64 = times.values().sum();
    if of_steps < device_time {
        *times.entry(Source::Nothing).or_default() += device_time - of_steps;
    }
    let mut sources: Vec<(Source, i64)> = times.into_iter().collect();
    sources.sort_by_key(|&(source, time)| (std::cmp::Reverse(time), source));
    let confidence = match device_time {
        0 => {
            let sum: f64 = steps.iter().map(|(step, _)| step.confidence).sum();
            (!steps.is_empty()).then(|| sum / steps.len() as f64)
        }
        _ => Some(weighed / device_time as f64),
    };
    (sources.into_iter().map(|(source, _)| source).collect(), confidence)
}

fn mean_step_time(steps: &[(&Step, &StepStatistics)]) -> Option<f64> {
    let busy: Vec<i64> =
        steps.iter().filter(|(_, of)| of.device_events > 0).map(|(_, of)| of.busy_time).collect();
    (!busy.is_empty()).then(|| busy.iter().sum::<i64>() as f64 / busy.len() as f64)
}

fn tokens_per_second(analysis: &Analysis, steps: &[(&Step, &StepStatistics)]) -> Option<f64> {
    let known = steps.iter().filter_map(|(step, of)| Some((tokens(&step.load)?, of.busy_time)));
    let (tokens, time) = known.filter(|&(_, time)| time > 0).reduce(|a, b| (a.0 + b.0, a.1 + b.1))?;
    Some(tokens as f64 / (analysis.trace().to_microseconds(time) / 1e6))
}
