//! How right iterations are that were found in a generated trace.

use std::fmt::Write as _;

use inference_phase::{Phase, Steps};
use iterations::{Evidence, Iterations, LevelKind, Program};
use trace_ingest::EventId;
use trace2tree::TraceTree;

use crate::gen_trace::{Inserted, Stretch, TrueIteration, Truth};
use crate::phase_bench::composite::device_events;

/// Scores of one run.
#[derive(Debug, Clone, Default)]
pub(super) struct Score {
    pub(super) steps: usize,
    /// Steps found.
    pub(super) found: usize,
    pub(super) level_is_right: bool,
    pub(super) program_is_right: bool,
    /// Whether all parts of steps were found, where the steps have any: micro-batches, denoising steps.
    pub(super) parts_are_right: Option<bool>,
    /// Of each boundary, how far it is from where it may be, as part of its step; nothing where the count is wrong.
    pub(super) boundary_errors: Vec<f64>,
    /// Of each step, how far its device time is off, as part of it; nothing where the count is wrong.
    pub(super) time_errors: Vec<f64>,
    pub(super) phases: Phases,
}

/// What was said of phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phases {
    /// The program has none; whether some were found all the same.
    None { found: bool },
    /// Steps of an inference engine.
    Engine {
        right: usize,
        all: usize,
        /// The same of mixed steps, if the kernels of attention show which they are.
        mixed: Option<(usize, usize)>,
    },
}

impl Default for Phases {
    fn default() -> Self {
        Phases::None { found: false }
    }
}

impl Score {
    pub(super) fn has_right_count(&self) -> bool {
        self.found == self.steps
    }

    /// Whether steps, boundaries and parts are what they should be.
    pub(super) fn is_right(&self) -> bool {
        self.has_right_count()
            && self.level_is_right
            && self.parts_are_right != Some(false)
            && self.boundary_errors.iter().all(|error| *error <= SMALL_BOUNDARY_ERROR)
    }
}

/// Error of a boundary, as part of its step, that does not matter.
pub(super) const SMALL_BOUNDARY_ERROR: f64 = 0.01;
/// Error of a step's device time, as part of it, that does not matter.
pub(super) const SMALL_TIME_ERROR: f64 = 0.005;

/// Where a boundary may be: after all that was before it, before all that comes after it.
#[derive(Debug, Clone, Copy)]
struct Gap {
    low: i64,
    high: i64,
}

impl Gap {
    fn distance(self, time: i64) -> i64 {
        (self.low - time).max(time - self.high).max(0)
    }
}

/// A device event and when it was launched.
struct Launched {
    launch: i64,
    event: EventId,
    duration: i64,
}

/// Compares what was found with the truth, whose clock is that of the file.
pub(super) fn score(tree: &TraceTree, found: &Iterations, phases: &Steps, truth: &Truth) -> Score {
    let origin = tree.trace().origin();
    let on_trace_clock = |time: u64| i64::try_from(time).unwrap_or(i64::MAX) - origin;
    let steps: Vec<&TrueIteration> = truth.iterations_at(truth.steps).collect();
    let launched = launched(tree);
    let stretch_launches = |stretch: Stretch| {
        let at = |time| launched.partition_point(|one: &Launched| one.launch < on_trace_clock(time));
        &launched[at(stretch.start)..at(stretch.end)]
    };
    let parts = [LevelKind::MicroBatch, LevelKind::DenoisingStep].into_iter().find_map(|level| {
        let count = truth.iterations_at(level).count();
        (count > 0).then(|| {
            let levels = found.levels().iter().filter(|one| one.kind == level);
            levels.map(|one| one.iterations.len()).sum::<usize>() == count
        })
    });
    let found_steps = found.steps();
    let iterations = found_steps.map_or(&[][..], |level| &level.iterations);
    let mut score = Score {
        steps: steps.len(),
        found: iterations.len(),
        // A mark says step whatever the program does in it.
        level_is_right: found_steps.is_some_and(|level| {
            level.kind == truth.steps
                || (level.kind == LevelKind::Step && level.evidence == Evidence::RecordedSteps)
        }),
        program_is_right: found.program() == truth.program,
        parts_are_right: parts,
        phases: score_phases(&steps, stretch_launches, phases, truth),
        ..Score::default()
    };
    if !score.has_right_count() {
        return score;
    }
    let setup = truth.insertions.iter().find(|insertion| insertion.what == Inserted::Setup);
    for (at, (step, iteration)) in steps.iter().zip(iterations).enumerate() {
        let [start, end] = [step.stretch.start, step.stretch.end].map(on_trace_clock);
        let before = match at.checked_sub(1).and_then(|at| steps.get(at)) {
            Some(step) => on_trace_clock(step.stretch.end),
            None => setup.map_or(i64::MIN / 2, |setup| on_trace_clock(setup.stretch.end)),
        };
        let after = steps.get(at + 1).map_or(i64::MAX / 2, |step| on_trace_clock(step.stretch.start));
        let length = (end - start) as f64;
        for (gap, time) in [
            (Gap { low: before, high: start }, iteration.start),
            (Gap { low: end, high: after }, iteration.end),
        ] {
            score.boundary_errors.push(gap.distance(time) as f64 / length);
        }
        // Insertions may belong to the step before them or to the one after, so their time is no error of either.
        let mut time = 0;
        for step in &steps {
            let inside = stretch_launches(step.stretch).iter();
            let is_found = |one: &&Launched| (iteration.start..iteration.end).contains(&one.launch);
            time += inside.filter(is_found).map(|one| one.duration).sum::<i64>();
        }
        let device = step.stretch.device as f64;
        score.time_errors.push((time as f64 - device).abs() / device);
    }
    score
}

/// What was found, then what the run did: times in milliseconds of the trace.
pub(super) fn explain(title: &str, tree: &TraceTree, found: &Iterations, truth: &Truth) -> String {
    let origin = tree.trace().origin();
    let milliseconds = |time: i64| tree.trace().to_microseconds(time) / 1_000.0;
    let spans = |spans: &mut dyn Iterator<Item = (i64, i64)>| -> String {
        spans.map(|(start, end)| format!(" {:.3}..{:.3}", milliseconds(start), milliseconds(end))).collect()
    };
    let trace_interval = |stretch: Stretch| {
        let [start, end] =
            [stretch.start, stretch.end].map(|time| i64::try_from(time).unwrap_or(i64::MAX) - origin);
        (start, end)
    };
    let mut text = format!("{title}\n  {} program, {}\n", found.program(), found.reason());
    for level in found.levels() {
        let is_steps = if found.steps() == Some(level) { " = steps" } else { "" };
        let mut found = level.iterations.iter().map(|one| (one.start, one.end));
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "  found {} × {} \"{}\"{is_steps}, {}, confidence {:.2}:{}",
            level.iterations.len(),
            level.kind,
            level.name,
            level.evidence,
            level.confidence,
            spans(&mut found)
        );
    }
    let mut levels: Vec<LevelKind> = truth.iterations.iter().map(|one| one.level).collect();
    levels.sort_unstable();
    levels.dedup();
    for level in levels {
        let mut real = truth.iterations_at(level).map(|one| trace_interval(one.stretch));
        let _ =
            writeln!(text, "  truth {} × {level}:{}", truth.iterations_at(level).count(), spans(&mut real));
    }
    for insertion in &truth.insertions {
        let mut inserted = std::iter::once(trace_interval(insertion.stretch));
        let _ = writeln!(text, "  truth {}:{}", insertion.what.as_str(), spans(&mut inserted));
    }
    text
}

/// Device events by their launch.
fn launched(tree: &TraceTree) -> Vec<Launched> {
    let events = tree.trace().events();
    let mut launched: Vec<Launched> = device_events(tree.trace())
        .into_iter()
        .filter_map(|event| {
            let launch = events.start(tree.launch(event)?);
            Some(Launched { launch, event, duration: events.duration(event) })
        })
        .collect();
    launched.sort_by_key(|one| one.launch);
    launched
}

fn score_phases<'l>(
    steps: &[&TrueIteration],
    stretch_launches: impl Fn(Stretch) -> &'l [Launched],
    found: &Steps,
    truth: &Truth,
) -> Phases {
    if truth.program != Program::LanguageModel {
        let is_found = |phase: &Phase| *phase != Phase::Unknown && found.time_of(*phase) > 0;
        return Phases::None { found: Phase::ALL.iter().any(is_found) };
    }
    // Where attention does not show it, prompts alone and prompts beside generation look the same: it is right not to
    // say which.
    let is_phase = |label: Phase, phase: Phase| {
        label == phase || (label == Phase::Unknown && phase.bears_context() && !truth.attention_shows_phases)
    };
    // A step is right when most of its device time is.
    let is_right = |step: &TrueIteration| {
        let work = stretch_launches(step.stretch);
        let is_phase =
            |one: &&Launched| step.phase().is_some_and(|phase| is_phase(found.phase_of(one.event), phase));
        let right: i64 = work.iter().filter(is_phase).map(|one| one.duration).sum();
        2 * right > work.iter().map(|one| one.duration).sum()
    };
    let counted =
        |steps: &[&TrueIteration]| (steps.iter().filter(|step| is_right(step)).count(), steps.len());
    let mixed: Vec<&TrueIteration> =
        steps.iter().filter(|step| step.phase() == Some(Phase::Mixed)).copied().collect();
    let (right, all) = counted(steps);
    Phases::Engine { right, all, mixed: truth.attention_shows_phases.then(|| counted(&mixed)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gen_trace::{Run, Workload, write_run};

    #[test]
    fn a_boundary_may_be_anywhere_between_the_work_of_two_steps() {
        let gap = Gap { low: 10, high: 20 };
        for (time, distance) in [(4, 6), (10, 0), (15, 0), (20, 0), (23, 3)] {
            assert_eq!(gap.distance(time), distance, "{time}");
        }
    }

    #[test]
    fn errors_are_measured_against_the_truth() {
        let run = Run { workload: Workload::TrainingEvaluation, seed: 3 };
        let mut file = tempfile::Builder::new().suffix(".json").tempfile().expect("file");
        let mut truth = write_run(run, true, &mut file).expect("generated");
        let trace =
            trace_ingest::read_path(file.path(), &trace_ingest::ReadOptions::default()).expect("read");
        let tree = TraceTree::build(trace, &trace2tree::TreeOptions::default());
        let found = Iterations::detect(&tree, &iterations::DetectOptions::default());
        let phases = Steps::detect(&tree, &inference_phase::DetectOptions::default());
        let largest = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
        assert!(score(&tree, &found, &phases, &truth).is_right());

        truth.iterations[1].stretch.device *= 2;
        let score_of = |truth: &Truth| score(&tree, &found, &phases, truth);
        assert!((largest(&score_of(&truth).time_errors) - 0.5).abs() < 1e-9);
        truth.iterations[1].stretch.device /= 2;

        // The step ends after the mark that follows it has begun.
        let Stretch { start, end, .. } = truth.iterations[1].stretch;
        let next = truth.iterations[2].stretch.start;
        truth.iterations[1].stretch.end = next + (end - start);
        let wrong = score_of(&truth);
        assert!(wrong.has_right_count() && !wrong.is_right() && largest(&wrong.boundary_errors) > 0.1);
        truth.iterations[1].stretch.end = end;

        truth.iterations.pop();
        let wrong = score_of(&truth);
        assert_eq!((wrong.found, wrong.boundary_errors.len()), (wrong.steps + 1, 0));
    }
}
