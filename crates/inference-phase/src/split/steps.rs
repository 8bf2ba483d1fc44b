//! The steps of a trace that it can be split into.

use std::ops::Range;

use gpu_timeline::SortFew;
use iterations::{Evidence, Iteration, Iterations, LevelKind, Measured};
use perf_models::{AnnotationKind, IterationAnnotation, StepStatistics};
use trace_ingest::{Category, EventId, PerString, Trace, TrackId};
use trace2tree::TraceTree;

use crate::detect::DetectOptions;
use crate::step::{Phase, Step, Steps};

/// A stretch of a host thread that the trace can be split at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitStep {
    /// The engine's annotation that marks the step, if one does.
    pub annotation: Option<EventId>,
    /// The thread.
    pub track: TrackId,
    /// Start, in the trace's unit.
    pub start: i64,
    /// End, in the trace's unit.
    pub end: i64,
    /// What the step runs.
    pub work: StepWork,
    /// Whether other threads of its process work for it, as that of the backward pass does. Steps of engines are those
    /// of their thread alone, as TraceLens splits them.
    pub with_process: bool,
}

/// The steps of a trace, and what shows them.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundSteps {
    /// The steps, in time order.
    pub steps: Vec<SplitStep>,
    /// What shows them.
    pub shown_by: ShownBy,
}

/// What shows the steps of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownBy {
    /// Annotations of an inference engine.
    EngineAnnotations,
    /// What an inference engine ran.
    EngineWork,
    /// The iterations of any other program.
    Iterations(LevelKind, Evidence),
}

/// What a step runs, as far as the trace says; 0 where it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepWork {
    /// What kinds of requests.
    pub phase: Phase,
    /// Whether prompts are known to be among them though the phase is not.
    pub has_prompts: bool,
    /// Tokens of all requests.
    pub batch_size: i64,
    /// Requests whose prompt is processed.
    pub context_requests: i64,
    /// Tokens of prompts.
    pub context_tokens: i64,
    /// Requests that are extended.
    pub generation_requests: i64,
    /// Tokens that requests are extended by.
    pub generation_tokens: i64,
    /// Token counts that the cost of attention depends on, where the annotation has them.
    pub statistics: Option<StepStatistics>,
}

impl StepWork {
    /// Nothing is known.
    pub const UNKNOWN: StepWork = StepWork {
        phase: Phase::Unknown,
        has_prompts: false,
        batch_size: 0,
        context_requests: 0,
        context_tokens: 0,
        generation_requests: 0,
        generation_tokens: 0,
        statistics: None,
    };

    /// Requests of both kinds.
    #[must_use]
    pub fn requests(&self) -> i64 {
        self.context_requests.saturating_add(self.generation_requests)
    }

    /// Whether prompts are known to be processed.
    #[must_use]
    pub fn bears_context(&self) -> bool {
        self.has_prompts || self.phase.bears_context()
    }
}

impl From<&IterationAnnotation> for StepWork {
    fn from(annotation: &IterationAnnotation) -> Self {
        StepWork {
            phase: annotation.phase().into(),
            has_prompts: false,
            batch_size: annotation.batch_size,
            context_requests: annotation.context_requests,
            context_tokens: annotation.context_sum,
            generation_requests: annotation.generation_requests,
            generation_tokens: annotation.generation_sum,
            statistics: annotation.chunk_statistics(),
        }
    }
}

/// The annotated steps of a trace, in time order; empty where no inference engine annotated any.
///
/// Annotations that say the products of lengths are preferred: where there are any, of the others only those are taken
/// that mark steps of other kinds between them. Of annotations that lie in each other the outermost is taken, so that
/// no step counts twice.
#[must_use]
pub fn annotated_steps(trace: &Trace) -> Vec<SplitStep> {
    let events = trace.events();
    let mut read = PerString::new(trace.strings(), |text| {
        let annotation = IterationAnnotation::parse(text)?;
        Some((detail(annotation.kind), StepWork::from(&annotation)))
    });
    let (mut detailed, mut native, mut other) = (Vec::new(), Vec::new(), Vec::new());
    for event in events.ids().filter(|&event| events.category(event) == Category::USER_ANNOTATION) {
        if let Some((detail, work)) = *read.get(events.name(event)) {
            let (track, start, end) = (events.track(event), events.start(event), events.end(event));
            let steps = match detail {
                Detail::Full => &mut detailed,
                Detail::Native => &mut native,
                Detail::ByMode => &mut other,
            };
            steps.push(SplitStep { annotation: Some(event), track, start, end, work, with_process: false });
        }
    }
    let mut steps = if detailed.is_empty() { native } else { detailed };
    steps.append(&mut other);
    outermost(steps)
}

/// The steps of a trace: the annotated ones; where there are none, those that the rest of the trace shows
/// ([`Steps::detect`]) if it shows of any whether it processes prompts; otherwise the program's [`Iterations`]. For the
/// last the tree should have Python frames.
#[must_use]
pub fn steps(tree: &TraceTree, options: &DetectOptions) -> FoundSteps {
    let annotated = annotated_steps(tree.trace());
    if !annotated.is_empty() {
        return FoundSteps { steps: annotated, shown_by: ShownBy::EngineAnnotations };
    }
    let detected = Steps::detect(tree, options);
    if detected.steps().iter().any(|step| step.bears_context().is_some()) {
        let steps = outermost(detected.steps().iter().filter_map(from_detected).collect());
        return FoundSteps { steps, shown_by: ShownBy::EngineWork };
    }
    let iterations = Iterations::detect(tree, &iterations::DetectOptions::default());
    let Some(level) = iterations.steps() else {
        return FoundSteps { steps: Vec::new(), shown_by: ShownBy::EngineWork };
    };
    let step = |iteration: &Iteration| {
        let Iteration { track, start, end, .. } = *iteration;
        let work = StepWork::UNKNOWN;
        Some(SplitStep { annotation: None, track: track?, start, end, work, with_process: true })
    };
    FoundSteps {
        steps: level.iterations.iter().filter_map(step).collect(),
        shown_by: ShownBy::Iterations(level.kind, level.evidence),
    }
}

/// A step of each kind of work, with how many are alike, and the longest run of steps that are whole, warmed up and
/// like the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alike {
    /// The step of median duration of each kind, the kind with the most time first, and the number of its steps.
    pub representatives: Vec<(usize, usize)>,
    /// The longest run of steady steps; `None` where none is steady.
    pub steady: Option<Range<usize>>,
}

impl Alike {
    /// Compares the steps of a trace by what they had devices do.
    #[must_use]
    pub fn new(tree: &TraceTree, steps: &[SplitStep]) -> Alike {
        let iteration = |step: &SplitStep| Iteration {
            number: None,
            track: Some(step.track),
            start: step.start,
            end: step.end,
            whole: true,
        };
        let iterations: Vec<Iteration> = steps.iter().map(iteration).collect();
        let measured = Measured::from_all_events(tree, &iterations);
        let groups = measured.groups.iter();
        Alike {
            representatives: groups.map(|group| (group.representative, group.iterations.len())).collect(),
            steady: measured.longest_steady_run(),
        }
    }
}

/// A step on a host thread.
fn from_detected(step: &Step) -> Option<SplitStep> {
    let known = |count: Option<i64>| count.unwrap_or(0);
    let load = &step.load;
    let (context_tokens, generation_tokens) = (known(load.context_tokens), known(load.generation_tokens));
    let work = StepWork {
        phase: step.phase,
        has_prompts: step.has_prompts,
        batch_size: context_tokens.saturating_add(generation_tokens),
        context_requests: known(load.context_requests),
        context_tokens,
        generation_requests: known(load.generation_requests),
        generation_tokens,
        statistics: None,
    };
    let Step { annotation, start, end, .. } = *step;
    Some(SplitStep { annotation, track: step.track?, start, end, work, with_process: false })
}

/// How much an annotation says.
#[derive(Clone, Copy)]
enum Detail {
    /// Products of lengths.
    Full,
    /// Requests and tokens.
    Native,
    /// As much as its mode has: an engine that says more of other steps says no more of an idle one.
    ByMode,
}

fn detail(kind: AnnotationKind) -> Detail {
    match kind {
        AnnotationKind::VllmDetailed | AnnotationKind::SglangDetailed | AnnotationKind::AtomDetailed => {
            Detail::Full
        }
        AnnotationKind::SglangOther => Detail::ByMode,
        AnnotationKind::VllmNative
        | AnnotationKind::VllmSquared
        | AnnotationKind::VllmNewCached
        | AnnotationKind::SglangNative
        | AnnotationKind::AtomNative
        | AnnotationKind::DiffusionNative
        | AnnotationKind::TensorRtLlm => Detail::Native,
    }
}

/// Those that lie in no other of the same thread, in time order.
fn outermost(mut steps: Vec<SplitStep>) -> Vec<SplitStep> {
    steps.sort_few_by_key(|step| (step.track, step.start, std::cmp::Reverse(step.end)));
    let mut last: Option<(TrackId, i64)> = None;
    steps.retain(|step| {
        let is_inside = last.is_some_and(|(track, end)| track == step.track && step.end <= end);
        if !is_inside {
            last = Some((step.track, step.end));
        }
        !is_inside
    });
    steps.sort_few_by_key(|step| (step.start, step.annotation));
    steps
}

#[cfg(test)]
mod tests {
    use trace_ingest::{EventArguments, TraceBuilder};

    use super::*;

    /// Category, thread, name, start, duration.
    type Given = (Category, i64, &'static str, i64, i64);

    fn found(given: &[Given]) -> Vec<(&'static str, i64)> {
        let mut builder = TraceBuilder::new();
        for &(category, thread, name, start, duration) in given {
            let track = builder.track(1, thread);
            builder.event(category, name, track, start, duration, EventArguments::default());
        }
        let steps = annotated_steps(&builder.finish());
        steps.iter().map(|step| (given[step.annotation.unwrap().index()].2, step.start)).collect()
    }

    const NOTE: Category = Category::USER_ANNOTATION;
    const NATIVE: &str = "execute_context_0(0)_generation_32(128)";
    const DETAILED: &str = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk9sqsq32sqsk9)";
    const INNER: &str = "step[DECODE bs=32 g_sq=32 g_sqsq=32 g_sqsk=9 g_sk=9]";

    #[test]
    fn detailed_annotations_are_taken_before_others_and_copies_of_other_categories_never() {
        let device = Category::GPU_USER_ANNOTATION;
        let both = [
            (NOTE, 1, NATIVE, 0, 10),
            (NOTE, 1, DETAILED, 20, 10),
            (Category::CPU_OP, 1, DETAILED, 40, 10),
            (device, 1, DETAILED, 60, 10),
            (NOTE, 1, "ProfilerStep#42", 0, 100),
        ];
        assert_eq!(found(&both), [(DETAILED, 20)]);
        assert_eq!(found(&both[..1]), [(NATIVE, 0)]);
        assert_eq!(found(&both[2..]), []);
    }

    #[test]
    fn of_nested_annotations_the_outermost_is_the_step() {
        let given = [
            (NOTE, 1, INNER, 1, 8),
            (NOTE, 1, DETAILED, 0, 10),
            (NOTE, 2, INNER, 2, 5),
            (NOTE, 1, DETAILED, 10, 10),
            (NOTE, 1, INNER, 10, 10),
        ];
        assert_eq!(found(&given), [(DETAILED, 0), (INNER, 2), (DETAILED, 10)]);
    }

    #[test]
    fn steps_of_modes_without_details_stand_beside_those_with() {
        const VERIFY: &str = "step[TARGET_VERIFY bs=8]";
        let given = [
            (NOTE, 1, INNER, 0, 10),
            (NOTE, 1, VERIFY, 10, 10),
            (NOTE, 1, "step[IDLE bs=0]", 20, 10),
            (NOTE, 1, "step[DECODE bs=8]", 30, 10),
            (NOTE, 1, DETAILED, 40, 10),
            (NOTE, 1, VERIFY, 41, 5),
        ];
        let steps = [(INNER, 0), (VERIFY, 10), ("step[IDLE bs=0]", 20), (DETAILED, 40)];
        assert_eq!(found(&given), steps);
        assert_eq!(found(&given[1..4]), [(VERIFY, 0), ("step[IDLE bs=0]", 10), ("step[DECODE bs=8]", 20)]);
        let verify = StepWork::from(&IterationAnnotation::parse(VERIFY).unwrap());
        assert_eq!((verify.phase, verify.requests()), (Phase::Decode, 8));
    }

    #[test]
    fn work_is_what_the_annotation_says() {
        let read = |text: &str| StepWork::from(&IterationAnnotation::parse(text).unwrap());
        let work = read("execute_7_context_3(sq128sk256sqsq1sqsk1)_generation_2(sq1sk300sqsq1sqsk1)");
        assert_eq!((work.phase, work.batch_size, work.requests()), (Phase::Mixed, 129, 5));
        assert_eq!((work.context_tokens, work.generation_tokens), (128, 1));
        assert_eq!(read(NATIVE).phase, Phase::Decode);
        assert_eq!(read("prefill[bs=6 tok=17408]").phase, Phase::Prefill);
        let diffusion = read("execute_diffusion_1_256x256");
        assert_eq!((diffusion.phase, diffusion.batch_size, diffusion.requests()), (Phase::Unknown, 1, 0));
    }
}
