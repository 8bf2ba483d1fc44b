//! Time that at least one of some events covers.

use trace_ingest::{EventId, EventTable};

/// Length of the union of the events' spans, in the trace's time unit: time in which at least one of them
/// ran. Spans that overlap or touch count once.
pub fn busy_time(events: &EventTable, of: impl IntoIterator<Item = EventId>) -> i64 {
    let mut spans: Vec<(i64, i64)> =
        of.into_iter().map(|event| (events.start(event), events.end(event))).collect();
    spans.sort_unstable();
    let (mut busy, mut covered) = (0, i64::MIN);
    for (start, end) in spans {
        if end > covered {
            busy += end - start.max(covered);
            covered = end;
        }
    }
    busy
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trace_ingest::{Category, EventArguments, TraceBuilder};

    proptest! {
        #[test]
        fn it_counts_every_covered_unit_once(spans in prop::collection::vec((0i64..100, 0i64..30), 0..30)) {
            let mut builder = TraceBuilder::new();
            let track = builder.track(0, 7);
            for &(start, duration) in &spans {
                builder.event(Category::KERNEL, "k", track, start, duration, EventArguments::default());
            }
            let trace = builder.finish();
            let covered = (0..200)
                .filter(|&unit| spans.iter().any(|&(start, duration)| start <= unit && unit < start + duration))
                .count();
            prop_assert_eq!(busy_time(trace.events(), trace.events().ids()), covered as i64);
        }
    }
}
