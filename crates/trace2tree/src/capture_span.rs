//! When calls were captured into graphs instead of running.

use trace_ingest::{EventId, Trace, TrackId};

/// When a capture of a graph was under way: from behind the call that begins it to the call that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaptureSpan {
    /// The thread that captures.
    pub track: TrackId,
    /// First moment, in the trace's time unit.
    pub start: i64,
    /// First moment after it, in the trace's time unit.
    pub end: i64,
}

impl CaptureSpan {
    /// Whether a moment lies in one of these captures, which come by start.
    #[must_use]
    pub fn any_at(captures: &[CaptureSpan], time: i64) -> bool {
        captures.iter().take_while(|span| span.start <= time).any(|span| time <= span.end)
    }
}

/// The finished captures of a recording, by start. A capture is between the call that begins it and the one of the same
/// thread that ends it; when there is none, the next one of any thread.
#[must_use]
pub fn capture_spans(trace: &Trace) -> Vec<CaptureSpan> {
    let events = trace.events();
    let is_bound = trace.strings().classify(|name| match name {
        _ if name.contains("StreamBeginCapture") => Some(true),
        _ if name.contains("StreamEndCapture") => Some(false),
        _ => None,
    });
    if is_bound.iter().all(Option::is_none) {
        return Vec::new();
    }
    let mut bounds: Vec<(i64, EventId, bool)> = events
        .ids()
        .filter(|&event| events.category(event).is_launch_api())
        .filter_map(|event| Some((events.start(event), event, is_bound[events.name(event).index()]?)))
        .collect();
    bounds.sort_unstable();
    let mut open: Vec<EventId> = Vec::new();
    let mut spans = Vec::new();
    for (_, event, begins) in bounds {
        if begins {
            open.push(event);
            continue;
        }
        let same_thread = open.iter().rposition(|&begin| events.track(begin) == events.track(event));
        let Some(at) = same_thread.or(open.len().checked_sub(1)) else { continue };
        let begin = open.remove(at);
        spans.push(CaptureSpan {
            track: events.track(begin),
            start: events.end(begin),
            end: events.start(event),
        });
    }
    spans.sort_by_key(|span| span.start);
    spans
}
