//! Steps that an engine's Python frames show.
//!
//! Frames are matched by file and function together: `decode` and `extend` alone are methods of Python's own `bytes`
//! and `list`.

use trace_ingest::{Category, StringId, Trace, TrackId};

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

/// A frame of interest.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundFrame {
    pub(super) track: TrackId,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) frame: Frame,
}

/// All frames of interest, in file order.
pub(super) fn find(trace: &Trace) -> Vec<FoundFrame> {
    let events = trace.events();
    let mut known: Vec<Option<Option<Frame>>> = vec![None; trace.strings().len()];
    let mut classify =
        |name: StringId| *known[name.index()].get_or_insert_with(|| classify(trace.text(name)));
    events
        .ids()
        .filter(|&event| events.category(event) == Category::PYTHON_FUNCTION)
        .filter_map(|event| {
            let frame = classify(events.name(event))?;
            let (track, start, end) = (events.track(event), events.start(event), events.end(event));
            Some(FoundFrame { track, start, end, frame })
        })
        .collect()
}

/// Model classes of `transformers` that generate text. Frames of modules are numbered: `nn.Module: X_0`.
const MODELS: [&str; 3] = ["ForCausalLM", "LMHeadModel", "ForConditionalGeneration"];

fn classify(name: &str) -> Option<Frame> {
    if let Some(module) = name.strip_prefix("nn.Module: ") {
        let class = module.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
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
}
