//! Which user annotation an event lies in.

use trace_ingest::{EventId, Trace};

/// An event and the annotation around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Annotated {
    /// The event.
    pub event: EventId,
    /// The annotation; `None` when the event lies in none.
    pub annotation: Option<EventId>,
}

/// Finds the annotation around every event whose name starts with one of `prefixes`, in file order.
///
/// An annotation is an event whose category contains `user_annotation`. Of those that start no later than
/// the event and end after it, the one that starts first is taken (of equal starts the first in the file),
/// on whatever thread.
pub fn annotate(trace: &Trace, prefixes: &[&str]) -> Vec<Annotated> {
    let events = trace.events();
    let wanted = trace.strings().classify(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)));
    if !wanted.contains(&true) {
        return Vec::new();
    }
    let mut annotations: Vec<EventId> = events
        .ids()
        .filter(|&event| trace.category_name(events.category(event)).contains("user_annotation"))
        .collect();
    annotations.sort_by_key(|&annotation| events.start(annotation));
    // Latest end among the annotations up to each: it ascends, so the first annotation that outlives an
    // event is found by halving.
    let mut latest_end = Vec::with_capacity(annotations.len());
    for &annotation in &annotations {
        let before = latest_end.last().copied().unwrap_or(i64::MIN);
        latest_end.push(events.end(annotation).max(before));
    }

    let annotate = |event: EventId| {
        let outlives = latest_end.partition_point(|&end| end <= events.end(event));
        let annotation = annotations.get(outlives).copied();
        Annotated { event, annotation: annotation.filter(|&a| events.start(a) <= events.start(event)) }
    };
    events.ids().filter(|&event| wanted[events.name(event).index()]).map(annotate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trace_ingest::{Category, EventArguments, TraceBuilder};

    /// Annotation names of the events `attention…` among spans `(start, duration)`.
    fn annotate_spans(annotations: &[(i64, i64)], ops: &[(i64, i64)]) -> (Trace, Vec<Annotated>) {
        let mut builder = TraceBuilder::new();
        let (host, other) = (builder.track(1, 1), builder.track(1, 2));
        for &(start, duration) in annotations {
            builder.event(
                Category::USER_ANNOTATION,
                "phase",
                host,
                start,
                duration,
                EventArguments::default(),
            );
        }
        for &(start, duration) in ops {
            builder.event(
                Category::CPU_OP,
                "attention::call",
                other,
                start,
                duration,
                EventArguments::default(),
            );
        }
        let trace = builder.finish();
        let found = annotate(&trace, &["attention"]);
        (trace, found)
    }

    fn found(annotations: &[(i64, i64)], op: (i64, i64)) -> Option<usize> {
        annotate_spans(annotations, &[op]).1[0].annotation.map(EventId::index)
    }

    #[test]
    fn an_event_gets_the_annotation_around_it_on_any_thread() {
        assert_eq!(found(&[(0, 10), (10, 10)], (12, 3)), Some(1));
        assert_eq!(found(&[(0, 10), (10, 10)], (30, 3)), None);
        assert_eq!(found(&[], (30, 3)), None);
    }

    #[test]
    fn the_outermost_annotation_wins() {
        assert_eq!(found(&[(5, 10), (0, 100)], (6, 2)), Some(1));
    }

    #[test]
    fn starting_together_is_inside_and_ending_together_is_not() {
        assert_eq!(found(&[(5, 10)], (5, 9)), Some(0));
        assert_eq!(found(&[(5, 10)], (6, 9)), None);
    }

    #[test]
    fn other_names_are_left_alone() {
        let (trace, _) = annotate_spans(&[(0, 10)], &[(1, 2)]);
        assert_eq!(annotate(&trace, &["aten::"]), []);
        assert_eq!(annotate(&trace, &["attention", "attention::call"]).len(), 1);
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_search_through_all_annotations(
            annotations in prop::collection::vec((0i64..60, 0i64..40), 0..15),
            ops in prop::collection::vec((0i64..60, 0i64..20), 0..15),
        ) {
            let (trace, found) = annotate_spans(&annotations, &ops);
            let mut order: Vec<usize> = (0..annotations.len()).collect();
            order.sort_by_key(|&index| annotations[index].0);
            for (&(start, duration), annotated) in ops.iter().zip(&found) {
                let around = order.iter().find(|&&index| {
                    let (from, length) = annotations[index];
                    from <= start && start + duration < from + length
                });
                prop_assert_eq!(annotated.annotation.map(EventId::index), around.copied());
            }
            prop_assert_eq!(found.len(), trace.events().len() - annotations.len());
        }
    }
}
