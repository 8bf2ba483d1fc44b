//! Time that at least one of some events covers.

use gpu_timeline::Interval;
use trace_ingest::{EventId, EventTable};

/// Length of the union of the events' spans, in the trace's time unit: time in which at least one of them
/// ran. Spans that overlap or touch count once.
pub fn busy_time(events: &EventTable, of: impl IntoIterator<Item = EventId>) -> i64 {
    let span = |event| Interval::between(events.start(event), events.end(event));
    gpu_timeline::busy_time(of.into_iter().map(span), &mut Vec::new())
}
