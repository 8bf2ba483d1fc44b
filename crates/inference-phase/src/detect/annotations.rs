//! Steps that the engine marked itself.

use hashbrown::HashMap;
use perf_models::{AnnotationKind, IterationAnnotation, StepPhase};
use trace_ingest::{Category, EventId, StringId, Trace, TrackId};

use super::spans::outermost;
use crate::phase::Phase;
use crate::step::Load;

/// A step as its annotation marks it.
#[derive(Clone, Debug)]
pub(super) struct AnnotatedStep {
    /// All annotations of it, the outermost first.
    pub(super) annotations: Vec<EventId>,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) phase: Phase,
    pub(super) confidence: f64,
    pub(super) load: Load,
    /// Whether the annotation says that no request is run.
    pub(super) idle: bool,
}

/// An annotation says what it says.
const CERTAIN: f64 = 1.0;

/// Of a request that is not new the older format does not say whether its prompt is through.
const NEW_OR_NOT: f64 = 0.6;

/// Annotations of a trace, each distinct text read once.
pub(super) struct Annotations {
    read: HashMap<StringId, Option<IterationAnnotation>>,
}

impl Annotations {
    pub(super) fn new() -> Self {
        Annotations { read: HashMap::new() }
    }

    fn get(&mut self, trace: &Trace, event: EventId) -> Option<&IterationAnnotation> {
        let name = trace.events().name(event);
        self.read.entry(name).or_insert_with(|| IterationAnnotation::parse(trace.text(name))).as_ref()
    }

    /// The steps of every thread. Of annotations that nest the outermost is the range, because engines wrap the
    /// preparation of a batch too; the one that says most gives the numbers. What is no step's annotation, such as
    /// `ProfilerStep#3`, is not looked at.
    pub(super) fn steps(&mut self, trace: &Trace, category: Category) -> Vec<(TrackId, AnnotatedStep)> {
        let events = trace.events();
        let mut by_track: HashMap<TrackId, Vec<EventId>> = HashMap::new();
        for event in events.ids().filter(|&event| events.category(event) == category) {
            if self.get(trace, event).is_some() {
                by_track.entry(events.track(event)).or_default().push(event);
            }
        }
        let mut tracks: Vec<(TrackId, Vec<EventId>)> = by_track.into_iter().collect();
        tracks.sort_unstable_by_key(|&(track, _)| track);
        let mut steps = Vec::new();
        for (track, annotations) in tracks {
            let spans: Vec<(i64, i64)> =
                annotations.iter().map(|&event| (events.start(event), events.end(event))).collect();
            for (start, end, inside) in outermost(&spans) {
                let most = inside
                    .iter()
                    .filter_map(|&at| Some((at, detail(self.get(trace, annotations[at])?))))
                    // Of equals the outermost, which comes first.
                    .reduce(|best, other| if other.1 > best.1 { other } else { best });
                let Some(step) = most.and_then(|(at, _)| self.get(trace, annotations[at])) else { continue };
                // A moment recorded with a span of no length still is a step; its range holds its own start.
                let end = end.max(start.saturating_add(1));
                let (phase, confidence) = phase(step);
                let (load, idle) = (load(step), step.phase().is_none());
                let annotations = inside.iter().map(|&at| annotations[at]).collect();
                steps.push((track, AnnotatedStep { annotations, start, end, phase, confidence, load, idle }));
            }
        }
        steps
    }
}

/// How much an annotation says.
fn detail(step: &IterationAnnotation) -> u8 {
    match step.kind {
        _ if step.has_pair_statistics => 4,
        AnnotationKind::VllmNewCached => 0,
        AnnotationKind::DiffusionNative => 1,
        AnnotationKind::SglangNative | AnnotationKind::SglangOther => 2,
        _ => 3,
    }
}

fn phase(step: &IterationAnnotation) -> (Phase, f64) {
    let phase = match step.phase() {
        Some(StepPhase::PrefillOnly) => Phase::Prefill,
        Some(StepPhase::DecodeOnly) => Phase::Decode,
        Some(StepPhase::PrefillDecode) => Phase::Mixed,
        None => Phase::Unknown,
    };
    (phase, if step.kind == AnnotationKind::VllmNewCached { NEW_OR_NOT } else { CERTAIN })
}

/// Requests and tokens as far as the text says them.
fn load(step: &IterationAnnotation) -> Load {
    let detail =
        |key: &str| step.details.iter().find(|(name, _)| *name == key).and_then(|(_, value)| value.as_int());
    if step.kind == AnnotationKind::VllmNewCached || step.phase().is_none() {
        return Load::default();
    }
    if !step.splits_requests() {
        return Load { context_requests: detail("p"), generation_requests: detail("d"), ..Load::default() };
    }
    // No token is what texts without numbers of tokens are read as.
    let tokens = |requests: i64, tokens: i64| (requests == 0 || tokens > 0).then_some(tokens);
    Load {
        context_requests: Some(step.context_requests),
        context_tokens: tokens(step.context_requests, step.context_sum),
        generation_requests: Some(step.generation_requests),
        generation_tokens: tokens(step.generation_requests, step.generation_sum),
    }
}
