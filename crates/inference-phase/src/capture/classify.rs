//! What a trace of graph captures was captured for.

use hashbrown::HashMap;
use perf_models::graph_capture;
use trace_ingest::{ArgumentValue, Category, EventId, SignatureId, StringId, Trace};

use super::details::CaptureMode;

/// Batch size and mode of a trace of captures.
///
/// vLLM and others put an annotation (`capture_256_FULL`) around each dummy run that they capture. When all
/// annotations name one size, or there are as many of them as dummy runs of vLLM, the first one says it. A trace
/// without has the size that is the first dimension of most operands, and the mode that the number of captures says;
/// so has the mode that an annotation does not give as `FULL` or `PIECEWISE`.
pub(super) fn classify(trace: &Trace) -> (Option<i64>, CaptureMode) {
    let mode = CaptureMode::of_captures(capture_count(trace));
    let annotations = annotations(trace);
    let one_size = annotations.windows(2).all(|pair| pair[0].0 == pair[1].0);
    match annotations.first() {
        Some((size, name)) if one_size || annotations.len() == dummy_runs(trace) => {
            let named = CaptureMode::named(name);
            (Some(*size), if matches!(named, CaptureMode::Other(_)) { mode } else { named })
        }
        _ => (most_frequent_first_dimension(trace), mode),
    }
}

/// Sizes and modes of the annotations around captures, by start.
fn annotations(trace: &Trace) -> Vec<(i64, &str)> {
    let events = trace.events();
    let mut found: Vec<(i64, EventId, (i64, &str))> = events
        .ids()
        .filter(|&event| events.category(event) == Category::USER_ANNOTATION)
        .filter_map(|event| Some((events.start(event), event, graph_capture(trace.name(event))?)))
        .collect();
    found.sort_unstable_by_key(|&(start, event, _)| (start, event));
    found.into_iter().map(|(_, _, capture)| capture).collect()
}

/// Number of calls that begin a capture.
fn capture_count(trace: &Trace) -> usize {
    let events = trace.events();
    let begins = per_name(trace, |name| name.contains("StreamBeginCapture"));
    let is_begin = |event: &EventId| {
        events.category(*event) == Category::CUDA_RUNTIME && begins[events.name(*event).index()]
    };
    events.ids().filter(is_begin).count()
}

/// Number of Python frames in which vLLM runs the model on nothing, as it does to capture it.
fn dummy_runs(trace: &Trace) -> usize {
    const FILE: &str = "vllm/v1/worker/gpu_model_runner.py(";
    let dummy = per_name(trace, |name| {
        let after = name.find(FILE).map(|at| &name[at + FILE.len()..]);
        after.is_some_and(|line| {
            let end = line.trim_start_matches(|c: char| c.is_ascii_digit());
            end.len() < line.len() && end.starts_with("): _dummy_run")
        })
    });
    trace.events().ids().filter(|&event| dummy[trace.events().name(event).index()]).count()
}

fn per_name(trace: &Trace, is: impl Fn(&str) -> bool) -> Vec<bool> {
    trace.strings().iter().map(|(_, name): (StringId, &str)| is(name)).collect()
}

/// The integer that is the first dimension of most operands; of equally frequent ones the one met first.
fn most_frequent_first_dimension(trace: &Trace) -> Option<i64> {
    let events = trace.events();
    let mut of_signature: HashMap<SignatureId, Vec<i64>> = HashMap::new();
    // How often, and in which order they were met.
    let mut counts: HashMap<i64, (usize, usize)> = HashMap::new();
    for event in events.ids().filter(|&event| events.category(event) == Category::CPU_OP) {
        let Some(signature) = events.signature(event) else { continue };
        let firsts = of_signature.entry(signature).or_insert_with(|| {
            let dims = trace.argument(event, |signature| signature.dims);
            dims.map(first_dimensions).unwrap_or_default()
        });
        for &mut first in firsts {
            let met = counts.len();
            counts.entry(first).or_insert((0, met)).0 += 1;
        }
    }
    let (size, _) = counts.into_iter().max_by_key(|&(_, (count, met))| (count, std::cmp::Reverse(met)))?;
    Some(size)
}

fn first_dimensions(dims: &ArgumentValue) -> Vec<i64> {
    let ArgumentValue::List(operands) = dims else { return Vec::new() };
    let first = |operand: &ArgumentValue| match operand {
        ArgumentValue::List(shape) => match shape.first() {
            Some(&ArgumentValue::Int(size)) => Some(size),
            _ => None,
        },
        _ => None,
    };
    operands.iter().filter_map(first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_ingest::{EventArguments, TraceBuilder};

    enum Part<'p> {
        Annotation(&'p str),
        Frame(&'p str),
        Operator(&'p [&'p [i64]]),
        Begin,
    }
    use Part::{Annotation, Begin, Frame, Operator};

    const DUMMY: &str = "/opt/vllm/v1/worker/gpu_model_runner.py(42): _dummy_run";

    fn of(parts: &[Part<'_>]) -> (Option<i64>, CaptureMode) {
        let mut builder = TraceBuilder::new();
        let track = builder.track(1, 1);
        for (at, part) in parts.iter().enumerate() {
            let list = |items: Vec<ArgumentValue>| ArgumentValue::List(items);
            let (category, name, signature) = match part {
                Annotation(name) => (Category::USER_ANNOTATION, *name, None),
                Frame(name) => (Category::PYTHON_FUNCTION, *name, None),
                Begin => (Category::CUDA_RUNTIME, "hipStreamBeginCapture", None),
                Operator(shapes) => {
                    let shape = |shape: &&[i64]| list(shape.iter().map(|&d| ArgumentValue::Int(d)).collect());
                    let dims = list(shapes.iter().map(shape).collect());
                    (Category::CPU_OP, "aten::mm", Some(builder.signature([Some(dims), None, None, None])))
                }
            };
            let arguments = EventArguments { signature, ..EventArguments::default() };
            builder.event(category, name, track, at as i64 * 10, 5, arguments);
        }
        classify(&builder.finish())
    }

    #[test]
    fn without_annotation_shapes_say_the_size_and_captures_the_mode() {
        let mm = Operator(&[&[4, 8], &[8, 16]]);
        assert_eq!(of(&[Frame(DUMMY), Begin, mm]), (Some(4), CaptureMode::Full), "4 was met before 8");
        let operators = [Begin, Begin, Operator(&[&[4, 8], &[8, 16], &[]]), Operator(&[&[8]])];
        assert_eq!(of(&operators), (Some(8), CaptureMode::Piecewise));
        assert_eq!(of(&[]), (None, CaptureMode::Full));
    }

    #[test]
    fn the_first_annotation_says_both_when_each_dummy_run_has_one() {
        let parts =
            [Frame(DUMMY), Annotation("capture_256_PIECEWISE"), Frame(DUMMY), Annotation("capture_8_FULL")];
        assert_eq!(of(&parts), (Some(256), CaptureMode::Piecewise));
        let sizes_of_more_runs = [Frame(DUMMY), Annotation("capture_256_FULL"), Annotation("capture_8_FULL")];
        assert_eq!(of(&sizes_of_more_runs), (None, CaptureMode::Full));
    }

    #[test]
    fn a_mode_of_another_name_follows_from_the_captures() {
        let decode = Annotation("capture_32_DECODE");
        assert_eq!(of(&[decode, Begin]), (Some(32), CaptureMode::Full));
        assert_eq!(
            of(&[Annotation("capture_256_mixed_prefill"), Begin, Begin]),
            (Some(256), CaptureMode::Piecewise)
        );
    }

    #[test]
    fn other_frames_are_no_dummy_runs() {
        for name in ["vllm/v1/worker/gpu_model_runner.py(): _dummy_run", "gpu_model_runner.py(4): _dummy_run"]
        {
            let parts =
                [Frame(name), Annotation("capture_256_FULL"), Frame(DUMMY), Annotation("capture_8_FULL")];
            assert_eq!(of(&parts).0, None, "{name}");
        }
    }
}
