//! Steps that the engine itself shows: its annotations and its Python frames.
//!
//! Frames are matched by file and function together: `decode` and `extend` alone are methods of Python's own `bytes`
//! and `list`.

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use perf_models::{AnnotationKind, IterationAnnotation};
use trace_ingest::{Category, EventId, PerString, Trace, TrackId};
use trace2tree::is_module_frame;

use crate::step::{Load, Phase};

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

/// Ranges out of spans that may nest: the outermost ones, those that overlap cut at the end of the one before. Gives
/// for every outermost range the indices of all spans that begin in it, itself first.
pub(super) fn outermost(spans: &[(i64, i64)]) -> Vec<(i64, i64, Vec<usize>)> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|&at| (spans[at].0, std::cmp::Reverse(spans[at].1)));
    let mut ranges: Vec<(i64, i64, Vec<usize>)> = Vec::new();
    for at in order {
        let (start, end) = spans[at];
        match ranges.last_mut() {
            Some((_, last_end, inside)) if end <= *last_end => inside.push(at),
            Some((_, last_end, _)) => {
                let start = start.max(*last_end);
                ranges.push((start, end, vec![at]));
            }
            None => ranges.push((start, end, vec![at])),
        }
    }
    ranges
}

/// The steps of every thread. Of annotations that nest the outermost is the range, because engines wrap the
/// preparation of a batch too; the one that says most gives the numbers. What is no step's annotation, such as
/// `ProfilerStep#3`, is not looked at.
pub(super) fn annotated_steps(trace: &Trace, category: Category) -> Vec<(TrackId, AnnotatedStep)> {
    let events = trace.events();
    let mut read = PerString::new(trace.strings(), |text| IterationAnnotation::parse(text).map(Box::new));
    let mut by_track: HashMap<TrackId, Vec<EventId>> = HashMap::new();
    for event in events.ids().filter(|&event| events.category(event) == category) {
        if read.get(events.name(event)).is_some() {
            by_track.entry(events.track(event)).or_default().push(event);
        }
    }
    let mut tracks: Vec<(TrackId, Vec<EventId>)> = by_track.into_iter().collect();
    tracks.sort_few_by_key(|&(track, _)| track);
    let mut steps = Vec::new();
    for (track, annotations) in tracks {
        let spans: Vec<(i64, i64)> =
            annotations.iter().map(|&event| (events.start(event), events.end(event))).collect();
        for (start, end, inside) in outermost(&spans) {
            let most = inside
                .iter()
                .filter_map(|&at| Some((at, detail(read.get(events.name(annotations[at])).as_ref()?))))
                // Of equals the outermost, which comes first.
                .reduce(|best, other| if other.1 > best.1 { other } else { best });
            let Some((at, _)) = most else { continue };
            let Some(step) = read.get(events.name(annotations[at])) else { continue };
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
    (step.phase().into(), if step.kind == AnnotationKind::VllmNewCached { NEW_OR_NOT } else { CERTAIN })
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
        undivided_tokens: None,
    }
}

/// What a frame shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// An engine runs one step; what it shows of its kind beside.
    Step(Option<Cue>),
    /// Something inside a step, or around one, that runs for one kind of request only.
    Cue(Cue),
    /// The part of the step before it that an engine runs on its own: choosing tokens, drafting.
    Tail,
    /// A whole model runs, where no engine does.
    Model,
}

/// For which requests a frame runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cue {
    Context,
    Generation,
    /// Drafted tokens are verified: several per request, processed like a prompt's, for requests in generation.
    Verification,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct EngineFrame {
    pub(super) track: TrackId,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) frame: Frame,
}

/// All frames of interest, in file order.
pub(super) fn engine_frames(trace: &Trace) -> Vec<EngineFrame> {
    let events = trace.events();
    let mut frames = PerString::new(trace.strings(), classify);
    events
        .ids()
        .filter(|&event| events.category(event) == Category::PYTHON_FUNCTION)
        .filter_map(|event| {
            let frame = (*frames.get(events.name(event)))?;
            let (track, start, end) = (events.track(event), events.start(event), events.end(event));
            Some(EngineFrame { track, start, end, frame })
        })
        .collect()
}

/// Model classes of `transformers` that generate text. Frames of modules are numbered: `nn.Module: X_0`.
const MODELS: [&str; 3] = ["ForCausalLM", "LMHeadModel", "ForConditionalGeneration"];

fn classify(name: &str) -> Option<Frame> {
    if is_module_frame(name) {
        let class = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
        return MODELS.iter().any(|model| class.ends_with(model)).then_some(Frame::Model);
    }
    // `path/file.py(12): function`
    let (place, function) = name.rsplit_once("): ")?;
    let (path, _line) = place.rsplit_once('(')?;
    let within = |folder: &str| path.contains(folder);
    let cue = |cue| Some(Frame::Cue(cue));
    match function {
        "execute_model" if within("vllm/") && within("worker/") && path.ends_with("model_runner.py") => {
            Some(Frame::Step(None))
        }
        "sample_tokens" if within("vllm/") && path.ends_with("model_runner.py") => Some(Frame::Tail),
        "run_batch" | "_run_batch_inner" if within("sglang/srt/managers/scheduler.py") => {
            Some(Frame::Step(None))
        }
        // Some versions run the model on a thread that the scheduler's frames are not on.
        "forward_batch_generation" if within("sglang/srt/managers/") => Some(Frame::Step(None)),
        "_forward_step" if within("tensorrt_llm/_torch/pyexecutor/") => Some(Frame::Step(None)),
        "Prefill" if within("text_generation_server/server.py") => Some(Frame::Step(Some(Cue::Context))),
        "Decode" if within("text_generation_server/server.py") => Some(Frame::Step(Some(Cue::Generation))),
        "forward_extend" if within("sglang/srt/") => cue(Cue::Context),
        "forward_decode" if within("sglang/srt/") => cue(Cue::Generation),
        // Its graphs are of decode and of verification; those of prefill have a runner of their own.
        "replay" if within("sglang/srt/model_executor/cuda_graph_runner.py") => cue(Cue::Generation),
        "verify" if within("sglang/srt/speculative/") => cue(Cue::Verification),
        "_forward_prefill" | "forward_prefix" if within("vllm/") => cue(Cue::Context),
        "_forward_decode" | "forward_decode" if within("vllm/") => cue(Cue::Generation),
        "trtllm_batch_context_with_kv_cache" if within("flashinfer/prefill.py") => cue(Cue::Context),
        _ if within("flashinfer/decode.py") && function.contains("decode") => cue(Cue::Generation),
        "_prefill" if within("transformers/generation/utils.py") => cue(Cue::Context),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_matched_by_file_and_function() {
        let cue = |cue| Some(Frame::Cue(cue));
        for (name, frame) in [
            ("vllm/v1/worker/gpu_model_runner.py(3380): execute_model", Some(Frame::Step(None))),
            ("/opt/vllm/worker/model_runner.py(1): execute_model", Some(Frame::Step(None))),
            ("vllm/v1/worker/gpu_model_runner.py(3380): _dummy_run", None),
            ("vllm/v1/worker/gpu_model_runner.py(9): sample_tokens", Some(Frame::Tail)),
            ("/sgl/python/sglang/srt/managers/scheduler.py(2919): run_batch", Some(Frame::Step(None))),
            (
                "/sgl/python/sglang/srt/model_executor/cuda_graph_runner.py(1333): replay",
                cue(Cue::Generation),
            ),
            ("/sgl/python/sglang/srt/model_executor/piecewise_cuda_graph_runner.py(3): replay", None),
            ("sglang/srt/model_executor/forward_batch_info.py(142): is_decode_or_idle", None),
            ("sglang/srt/model_executor/model_runner.py(3): forward_extend", cue(Cue::Context)),
            ("sglang/srt/speculative/eagle_worker.py(3): verify", cue(Cue::Verification)),
            ("flashinfer/prefill.py(77): trtllm_batch_context_with_kv_cache", cue(Cue::Context)),
            ("flashinfer/prefill.py(77): paged_run", None),
            ("flashinfer/decode.py(77): trtllm_batch_decode_with_kv_cache", cue(Cue::Generation)),
            ("<built-in method decode of bytes object at 0x7f>", None),
            ("<built-in method extend of list object at 0x7f>", None),
            ("json/decoder.py(332): decode", None),
            ("nn.Module: LlamaForCausalLM_0", Some(Frame::Model)),
            ("nn.Module: LlamaModel_0", None),
            ("text_generation_server/server.py(90): Decode", Some(Frame::Step(Some(Cue::Generation)))),
        ] {
            assert_eq!(classify(name), frame, "{name}");
        }
    }

    #[test]
    fn the_outermost_of_nested_spans_are_the_ranges() {
        let found = outermost(&[(10, 20), (0, 50), (12, 15), (60, 70), (65, 80)]);
        assert_eq!(found, [(0, 50, vec![1, 0, 2]), (60, 70, vec![3]), (70, 80, vec![4])]);
    }
}
