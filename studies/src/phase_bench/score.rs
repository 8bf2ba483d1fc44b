//! How right labels of device events are.

use inference_phase::{Phase, Steps};
use perf_models::{IterationAnnotation, StepPhase};
use trace_ingest::{Category, EventId, Trace};
use trace2tree::TraceTree;

use super::composite::device_events;

/// What annotations say of a device event: the step around its launch and the phase, if there is one.
pub(super) type Truth = Vec<Option<(usize, Phase)>>;

/// What the engine's annotations say of every device event, in file order. This looks at annotations on its own,
/// not through the detector: an event's truth is the annotation around its launch that was recorded first.
pub(super) fn truth(tree: &TraceTree) -> Truth {
    let trace = tree.trace();
    let events = trace.events();
    let annotations: Vec<(EventId, Phase)> = events
        .ids()
        .filter(|&event| events.category(event) == Category::USER_ANNOTATION)
        .filter_map(|event| {
            let phase = match IterationAnnotation::parse(trace.name(event))?.phase()? {
                StepPhase::PrefillOnly => Phase::Prefill,
                StepPhase::PrefillDecode => Phase::Mixed,
                StepPhase::DecodeOnly => Phase::Decode,
            };
            Some((event, phase))
        })
        .collect();
    let around = |launch: EventId| {
        annotations.iter().position(|&(annotation, _)| {
            events.track(annotation) == events.track(launch)
                && events.start(annotation) <= events.start(launch)
                && events.start(launch) <= events.end(annotation)
        })
    };
    let event_annotation = |event: EventId| around(tree.launch(event)?).map(|at| (at, annotations[at].1));
    device_events(trace).into_iter().map(event_annotation).collect()
}

/// Scores of one run, all 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Score {
    /// Part of the device time that has a truth.
    pub(super) coverage: f64,
    /// Part with the right one of: processes prompts, decodes alone. A step may be known to process prompts while nothing
    /// shows whether it is prefill or mixed: that is no three-way label, and counts as none there.
    pub(super) two_way: f64,
    /// Part with the right one of prefill, decode, mixed.
    pub(super) three_way: f64,
    /// Part with a wrong one of these.
    pub(super) wrong: f64,
    /// Part with none of these.
    pub(super) abstained: f64,
    /// Mean over both kinds of the part of each that is right two-way.
    pub(super) balanced: f64,
    /// Part of the steps most of whose time is right two-way.
    pub(super) steps: f64,
    /// Largest error of a phase's time, as part of all time.
    pub(super) time_error: f64,
}

/// Compares what was found, whose device events are those of the truth in the same order.
pub(super) fn score(trace: &Trace, found: &Steps, truth: &Truth) -> Score {
    let events = trace.events();
    let mut all = 0i64;
    let mut known = 0i64;
    let (mut right_two, mut right_three, mut wrong, mut abstained) = (0i64, 0i64, 0i64, 0i64);
    let mut sides = [(0i64, 0i64); 2];
    let mut times = [(0i64, 0i64); 3];
    let mut steps: Vec<(i64, i64)> = Vec::new();
    for (event, truth) in device_events(trace).into_iter().zip(truth) {
        let weight = events.duration(event);
        all += weight;
        let Some((step, phase)) = *truth else { continue };
        known += weight;
        let label = found.phase_of(event);
        let is_right = found.bears_context(event) == Some(phase.bears_context());
        let counted = |is: bool| if is { weight } else { 0 };
        right_two += counted(is_right);
        right_three += counted(label == phase);
        wrong += counted(label != phase && label != Phase::Unknown);
        abstained += counted(label == Phase::Unknown);
        let side = &mut sides[usize::from(phase.bears_context())];
        (side.0, side.1) = (side.0 + counted(is_right), side.1 + weight);
        for (time, kind) in times.iter_mut().zip(Phase::ALL) {
            (time.0, time.1) = (time.0 + counted(label == kind), time.1 + counted(phase == kind));
        }
        if steps.len() <= step {
            steps.resize(step + 1, (0, 0));
        }
        (steps[step].0, steps[step].1) = (steps[step].0 + counted(is_right), steps[step].1 + weight);
    }
    let part = |of: i64, whole: i64| if whole == 0 { 0.0 } else { of as f64 / whole as f64 };
    let present: Vec<f64> = sides.iter().filter(|side| side.1 > 0).map(|side| part(side.0, side.1)).collect();
    let timed: Vec<&(i64, i64)> = steps.iter().filter(|step| step.1 > 0).collect();
    let right_steps = timed.iter().filter(|step| step.0 * 2 > step.1).count();
    Score {
        coverage: part(known, all),
        two_way: part(right_two, known),
        three_way: part(right_three, known),
        wrong: part(wrong, known),
        abstained: part(abstained, known),
        balanced: present.iter().sum::<f64>() / present.len().max(1) as f64,
        steps: part(right_steps as i64, timed.len() as i64),
        time_error: times.iter().map(|time| part((time.0 - time.1).abs(), known)).fold(0.0, f64::max),
    }
}

/// The phases of the trace's annotated steps.
fn annotated_phases(trace: &Trace) -> impl Iterator<Item = StepPhase> + '_ {
    let events = trace.events();
    events
        .ids()
        .filter(|&event| events.category(event) == Category::USER_ANNOTATION)
        .filter_map(|event| IterationAnnotation::parse(trace.name(event))?.phase())
}

/// Whether there is anything to compare with.
pub(super) fn has_steps(trace: &Trace) -> bool {
    annotated_phases(trace).next().is_some()
}

/// Whether no annotated step processes prompts.
pub(super) fn decodes_alone(trace: &Trace) -> bool {
    annotated_phases(trace).all(|phase| phase == StepPhase::DecodeOnly)
}
