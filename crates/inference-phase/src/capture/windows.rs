//! The captures in a recording, each with the calls that it put into its graph.

use trace_ingest::{EventId, PerString};
use trace2tree::{CaptureSpan, RecordedCalls, TraceTree, capture_spans};

use super::align::Work;

/// One capture: what ran between its begin and its end.
#[derive(Debug)]
pub(super) struct CaptureWindow {
    /// The calls that became nodes of the graph, in order, and the calls around them.
    pub(super) calls: RecordedCalls,
    /// What each of them puts into the graph.
    pub(super) works: Vec<Work>,
    /// Whether the capturing thread itself made the call.
    pub(super) on_thread: Vec<bool>,
}

/// Whether a call lies in a capture.
fn encloses(span: &CaptureSpan, tree: &TraceTree, event: EventId) -> bool {
    let events = tree.trace().events();
    span.start <= events.start(event) && events.end(event) <= span.end
}

/// The finished captures of a recording, by start.
///
/// Its calls are those that launch, copy or fill, except callbacks of the host and calls that ran at once: their device
/// events are in the recording. A call inside another one is part of that. Calls of other threads belong to the one
/// capture under way.
pub(super) fn windows(tree: &TraceTree) -> Vec<CaptureWindow> {
    let spans = capture_spans(tree.trace());
    let events = tree.trace().events();
    let mut works = PerString::new(tree.trace().strings(), work);
    let mut calls: Vec<(i64, EventId, Work)> = events
        .ids()
        .filter(|&event| events.category(event).is_launch_api())
        .filter_map(|event| Some((events.start(event), event, (*works.get(events.name(event)))?)))
        .collect();
    calls.sort_unstable_by_key(|&(start, event, _)| (start, event));

    let mut found: Vec<Vec<(EventId, Work, bool)>> = vec![Vec::new(); spans.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut next = 0;
    for (start, call, work) in calls {
        while spans.get(next).is_some_and(|span| span.start <= start) {
            open.push(next);
            next += 1;
        }
        open.retain(|&span| spans[span].end > start);
        let around: Vec<usize> =
            open.iter().copied().filter(|&span| encloses(&spans[span], tree, call)).collect();
        let own = around.iter().copied().rfind(|&span| spans[span].track == events.track(call));
        let span = own.or(if let [only] = around[..] { Some(only) } else { None });
        if let Some(span) = span.filter(|_| tree.device_events(call).is_empty()) {
            let mut callers =
                tree.ancestors(call).take_while(|&caller| events.category(caller).is_launch_api());
            if !callers.any(|caller| works.get(events.name(caller)).is_some()) {
                found[span].push((call, work, own.is_some()));
            }
        }
    }
    spans.iter().zip(found).map(|(span, calls)| window(tree, span, &calls)).collect()
}

fn window(tree: &TraceTree, span: &CaptureSpan, calls: &[(EventId, Work, bool)]) -> CaptureWindow {
    let launches: Vec<EventId> = calls.iter().map(|&(call, ..)| call).collect();
    CaptureWindow {
        // Calls of runtime and driver are host events of every tree, so all of them can be copied.
        calls: RecordedCalls::copy(tree, &launches, |caller| encloses(span, tree, caller))
            .unwrap_or_default(),
        works: calls.iter().map(|&(_, work, _)| work).collect(),
        on_thread: calls.iter().map(|&(.., on_thread)| on_thread).collect(),
    }
}

/// What a call of this name puts into a graph.
fn work(call: &str) -> Option<Work> {
    let name = call.to_ascii_lowercase();
    match () {
        () if name.contains("memcpy") => Some(Work::Copy),
        () if name.contains("memset") => Some(Work::Fill),
        // A callback of the host runs nothing on the device.
        () if name.contains("launch") && !name.contains("hostfunc") => Some(Work::Kernel),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_ingest::{Category, EventArguments, TraceBuilder};
    use trace2tree::TreeOptions;

    /// Calls as `(thread, start, duration, name)`.
    fn of(calls: &[(i64, i64, i64, &str)], ran_at_once: &[i64]) -> Vec<Vec<(String, bool)>> {
        let mut builder = TraceBuilder::new();
        for &(thread, start, duration, name) in calls {
            let track = builder.track(1, thread);
            let is_call = name.contains("cuda");
            let category = if is_call { Category::CUDA_RUNTIME } else { Category::CPU_OP };
            let correlation = is_call.then_some(start);
            let arguments = EventArguments { correlation, ..EventArguments::default() };
            builder.event(category, name, track, start, duration, arguments);
        }
        let stream = builder.track(0, 7);
        for &correlation in ran_at_once {
            let arguments = EventArguments { correlation: Some(correlation), ..EventArguments::default() };
            builder.event(Category::KERNEL, "k", stream, 1000 + correlation, 5, arguments);
        }
        let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
        let name = |window: &CaptureWindow, at: usize| {
            (window.calls.launch_name(at).unwrap_or_default().to_owned(), window.on_thread[at])
        };
        let names = |window: &CaptureWindow| (0..window.works.len()).map(|at| name(window, at)).collect();
        windows(&tree).iter().map(names).collect()
    }

    fn on_thread(names: &[&str]) -> Vec<(String, bool)> {
        names.iter().map(|&name| (name.to_owned(), true)).collect()
    }

    #[test]
    fn a_capture_has_the_calls_between_its_begin_and_its_end() {
        let calls = [
            (1, 0, 5, "cudaLaunchKernel"),
            (1, 10, 5, "cudaStreamBeginCapture"),
            (1, 20, 30, "aten::mm"),
            (1, 21, 5, "cudaLaunchKernelExC"),
            (1, 22, 2, "cudaLaunchKernel"),
            (1, 60, 5, "cudaMemcpyAsync"),
            (1, 70, 5, "cudaLaunchHostFunc"),
            (1, 80, 5, "cudaStreamIsCapturing"),
            (1, 90, 5, "cudaMemsetAsync"),
            (1, 95, 2, "cudaLaunchKernel"),
            (1, 100, 5, "cudaStreamEndCapture_ptsz"),
            (1, 110, 5, "cudaGraphLaunch"),
        ];
        let expected = ["cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync"];
        assert_eq!(of(&calls, &[95]), [on_thread(&expected)], "the call at 95 ran at once");
    }

    #[test]
    fn threads_capture_side_by_side_and_others_help_the_only_one() {
        let calls = [
            (1, 10, 1, "cudaStreamBeginCapture"),
            (3, 12, 1, "cudaLaunchKernel_helping"),
            (2, 20, 1, "cudaStreamBeginCapture"),
            (1, 30, 1, "cudaLaunchKernel_first"),
            (2, 31, 1, "cudaLaunchKernel_second"),
            (3, 32, 1, "cudaLaunchKernel_of_either"),
            (1, 40, 1, "cudaStreamEndCapture"),
            (2, 50, 1, "cudaStreamEndCapture"),
        ];
        let helped =
            vec![("cudaLaunchKernel_helping".to_owned(), false), ("cudaLaunchKernel_first".to_owned(), true)];
        assert_eq!(of(&calls, &[]), [helped, on_thread(&["cudaLaunchKernel_second"])]);
    }

    #[test]
    fn a_capture_within_another_has_its_own_calls() {
        let calls = [
            (1, 10, 1, "cudaStreamBeginCapture"),
            (1, 20, 1, "cudaStreamBeginCapture"),
            (1, 30, 1, "cudaLaunchKernel_inner"),
            (1, 40, 1, "cudaStreamEndCapture"),
            (1, 50, 1, "cudaLaunchKernel_outer"),
            (1, 60, 1, "cudaStreamEndCapture"),
        ];
        let expected = [on_thread(&["cudaLaunchKernel_outer"]), on_thread(&["cudaLaunchKernel_inner"])];
        assert_eq!(of(&calls, &[]), expected);
    }

    #[test]
    fn a_capture_without_end_is_none_and_one_without_calls_is_one() {
        let calls = [
            (1, 5, 1, "cudaStreamEndCapture"),
            (1, 10, 1, "cudaStreamBeginCapture"),
            (2, 40, 1, "cudaStreamEndCapture"),
            (1, 50, 1, "cudaStreamBeginCapture"),
            (1, 60, 1, "cudaLaunchKernel"),
        ];
        assert_eq!(of(&calls, &[]), [on_thread(&[])]);
    }
}
