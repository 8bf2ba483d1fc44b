//! Which forward operator a backward operator belongs to.

use trace_ingest::{EventId, Trace};

use crate::names::NameClasses;
use crate::tree::TraceTree;

/// Links by sequence number, in both directions.
#[derive(Clone, Debug, Default)]
pub(crate) struct BackwardLinks {
    /// `(backward, forward)`, sorted.
    by_backward: Vec<(EventId, EventId)>,
    /// Forward events, sorted, and beside each its backward event.
    forward: Vec<EventId>,
    backward: Vec<EventId>,
}

impl BackwardLinks {
    pub(crate) fn new(trace: &Trace, names: &NameClasses) -> BackwardLinks {
        let events = trace.events();
        let mut numbered: Vec<(i64, EventId)> = events
            .arguments()
            .sequence_number
            .iter()
            .map(|(row, number)| (number, EventId(row as u32)))
            .collect();
        numbered.sort_unstable();
        let mut by_backward = Vec::new();
        for group in numbered.chunk_by(|a, b| a.0 == b.0) {
            let evaluates = |&&(_, event): &&(i64, EventId)| names.is_evaluate_function(events.name(event));
            let Some(&(_, backward)) = group.iter().find(evaluates) else { continue };
            let mut forward: Option<EventId> = None;
            for &(_, event) in group {
                let later = forward.is_none_or(|best| events.start(event) > events.start(best));
                if events.track(event) != events.track(backward) && later {
                    forward = Some(event);
                }
            }
            by_backward.extend(forward.map(|forward| (backward, forward)));
        }
        let mut by_forward: Vec<(EventId, EventId)> = by_backward.iter().map(|&(b, f)| (f, b)).collect();
        by_backward.sort_unstable();
        by_forward.sort_unstable();
        let (forward, backward) = by_forward.into_iter().unzip();
        BackwardLinks { by_backward, forward, backward }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_backward.len()
    }
}

impl TraceTree {
    /// The forward operator of a backward operator.
    ///
    /// Autograd gives an operator and its backward one sequence number. The first event with the number
    /// that is named `autograd::engine::evaluate_function: …` is the backward; of the events with the number
    /// on other threads the one that starts last, the innermost, is the forward.
    pub fn forward_event(&self, backward: EventId) -> Option<EventId> {
        let links = &self.backward.by_backward;
        let found = links.binary_search_by_key(&backward, |&(event, _)| event).ok()?;
        Some(links[found].1)
    }

    /// The backward operators of a forward operator ([`TraceTree::forward_event`]), in file order.
    pub fn backward_events(&self, forward: EventId) -> &[EventId] {
        let links = &self.backward;
        let start = links.forward.partition_point(|&event| event < forward);
        let end = links.forward.partition_point(|&event| event <= forward);
        &links.backward[start..end]
    }

    /// The distinct backward operators of an event and everything below it, in file order.
    pub fn backward_events_of_subtree(&self, event: EventId) -> Vec<EventId> {
        let mut found: Vec<EventId> = std::iter::once(event)
            .chain(self.descendants(event))
            .flat_map(|event| self.backward_events(event).iter().copied())
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    const EVALUATE: &str = "autograd::engine::evaluate_function: NativeLayerNormBackward0";

    #[test]
    fn the_innermost_forward_operator_and_the_evaluated_function_link_both_ways() {
        let mut fixture = Fixture::new();
        let backward = fixture.op_with_sequence(2, EVALUATE, (500.0, 50.0), 1);
        fixture.op_with_sequence(2, "NativeLayerNormBackward0", (501.0, 40.0), 1);
        let outer = fixture.op_with_sequence(1, "aten::layer_norm", (0.0, 50.0), 1);
        let inner = fixture.op_with_sequence(1, "aten::native_layer_norm", (1.0, 40.0), 1);
        let tree = fixture.tree();
        assert_eq!(tree.forward_event(backward), Some(inner));
        assert_eq!(tree.backward_events(inner), [backward]);
        assert_eq!((tree.forward_event(inner), tree.backward_events(outer)), (None, &[][..]));
        assert_eq!(tree.backward_events_of_subtree(outer), [backward]);
        assert_eq!(tree.statistics().backward_links, 1);
    }

    #[test]
    fn a_backward_on_the_forwards_thread_stays_unlinked() {
        let mut fixture = Fixture::new();
        let forward = fixture.op_with_sequence(1, "aten::mm", (0.0, 50.0), 1);
        fixture.op_with_sequence(1, EVALUATE, (100.0, 50.0), 1);
        assert_eq!(fixture.tree().backward_events(forward), []);
    }

    #[test]
    fn of_equal_starts_the_first_in_the_file_is_the_forward() {
        let mut fixture = Fixture::new();
        let first = fixture.op_with_sequence(1, "a", (0.0, 50.0), 1);
        fixture.op_with_sequence(3, "b", (0.0, 50.0), 1);
        let backward = fixture.op_with_sequence(2, EVALUATE, (100.0, 50.0), 1);
        assert_eq!(fixture.tree().forward_event(backward), Some(first));
    }

    #[test]
    fn a_number_without_an_evaluated_function_links_nothing() {
        let mut fixture = Fixture::new();
        fixture.op_with_sequence(1, "aten::mm", (0.0, 50.0), 1);
        fixture.op_with_sequence(2, "MmBackward0", (100.0, 50.0), 1);
        assert_eq!(fixture.tree().statistics().backward_links, 0);
    }
}
