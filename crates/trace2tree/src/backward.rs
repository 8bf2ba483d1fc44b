//! Which forward operator a backward operator belongs to.

use trace_ingest::{EventId, Trace};

use crate::forward_thread;
use crate::names::NameClasses;

/// How the forward operator of a backward operator is found.
///
/// Autograd numbers the operators of each thread that it records and gives an operator and its backward one
/// sequence number. A backward is an event named `autograd::engine::evaluate_function: …`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkBackwardBy {
    /// By the sequence number alone, as TraceLens does: the first backward of a number belongs to the event
    /// with that number on another thread that starts last, the innermost. Numbers that several forward
    /// threads gave are mixed up, and what runs backward on the thread of its forward stays unlinked.
    #[default]
    SequenceNumber,
    /// By the sequence number and the forward thread that the profiler recorded with the backward
    /// (`Fwd thread id`): every backward belongs to the event with its number on that thread that starts last
    /// before it. Backwards on the forward's own thread, as on a CPU or of recomputed operators, are linked
    /// too.
    ///
    /// The profiler numbers threads in its own way. Which number is which thread follows from the sequence
    /// numbers that they have in common. A backward without a known forward thread belongs to the event with its
    /// number on another thread that starts last before it.
    ForwardThread,
}

/// Links between operators and their backwards, in both directions.
#[derive(Clone, Debug, Default)]
pub(crate) struct BackwardLinks {
    /// `(backward, forward)`, sorted; each backward once.
    by_backward: Vec<(EventId, EventId)>,
    /// Forward events, sorted, and beside each its backward event, sorted too.
    forward: Vec<EventId>,
    backward: Vec<EventId>,
}

impl BackwardLinks {
    pub(crate) fn new(trace: &Trace, names: &NameClasses, link_by: LinkBackwardBy) -> BackwardLinks {
        let mut numbered: Vec<(i64, EventId)> = trace
            .events()
            .arguments()
            .sequence_number
            .iter()
            .map(|(row, number)| (number, EventId(row as u32)))
            .collect();
        numbered.sort_unstable();
        let mut by_backward = match link_by {
            LinkBackwardBy::SequenceNumber => by_sequence_number(trace, names, &numbered),
            LinkBackwardBy::ForwardThread => forward_thread::links(trace, names, &numbered),
        };
        let mut by_forward: Vec<(EventId, EventId)> = by_backward.iter().map(|&(b, f)| (f, b)).collect();
        by_backward.sort_unstable();
        by_forward.sort_unstable();
        let (forward, backward) = by_forward.into_iter().unzip();
        BackwardLinks { by_backward, forward, backward }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_backward.len()
    }

    pub(crate) fn forward_of(&self, backward: EventId) -> Option<EventId> {
        let found = self.by_backward.binary_search_by_key(&backward, |&(event, _)| event).ok()?;
        Some(self.by_backward[found].1)
    }

    pub(crate) fn backward_of(&self, forward: EventId) -> &[EventId] {
        let start = self.forward.partition_point(|&event| event < forward);
        let end = self.forward.partition_point(|&event| event <= forward);
        &self.backward[start..end]
    }

    /// Adds a link of a backward that has none.
    pub(crate) fn insert(&mut self, forward: EventId, backward: EventId) {
        let at = self.by_backward.partition_point(|&(event, _)| event < backward);
        self.by_backward.insert(at, (backward, forward));
        let start = self.forward.partition_point(|&event| event < forward);
        let at = start + self.backward_of(forward).partition_point(|&event| event < backward);
        self.forward.insert(at, forward);
        self.backward.insert(at, backward);
    }
}

/// `(backward, forward)`: of each number the first backward and its innermost forward on another thread.
fn by_sequence_number(
    trace: &Trace,
    names: &NameClasses,
    numbered: &[(i64, EventId)],
) -> Vec<(EventId, EventId)> {
    let events = trace.events();
    let mut links = Vec::new();
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
        links.extend(forward.map(|forward| (backward, forward)));
    }
    links
}

#[cfg(test)]
mod tests {
    use crate::PseudoOperator;
    use crate::fixture::{Fixture, Planted};

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

    #[test]
    fn links_by_hand_stand_beside_those_by_number() {
        let mut fixture = Fixture::new();
        let forward = fixture.op_with_sequence(1, "aten::mm", (0.0, 50.0), 1);
        let checkpointed = fixture.op("_Linear", (60.0, 10.0));
        let by_number = fixture.op_with_sequence(2, EVALUATE, (100.0, 50.0), 1);
        let [early, late] = [200.0, 300.0].map(|start| fixture.op("_LinearBackward", (start, 10.0)));
        let mut tree = fixture.tree();
        let mut edit = tree.edit();
        edit.link_backward(checkpointed, late).unwrap();
        edit.link_backward(checkpointed, early).unwrap();
        edit.link_backward(forward, by_number).unwrap();
        let wrapper =
            edit.insert_above(late, PseudoOperator { name: "wrapper", ..Default::default() }).unwrap();
        edit.link_backward(forward, wrapper).unwrap();
        edit.finish();
        assert_eq!(tree.backward_events(checkpointed), [early, late]);
        assert_eq!(tree.backward_events(forward), [by_number, wrapper]);
        for (backward, forward) in
            [(early, checkpointed), (late, checkpointed), (by_number, forward), (wrapper, forward)]
        {
            assert_eq!(tree.forward_event(backward), Some(forward));
        }
        assert_eq!(tree.backward_events_of_subtree(checkpointed), [early, late]);
    }

    #[test]
    fn links_that_make_no_sense_are_refused_and_change_nothing() {
        let mut fixture = Fixture::new();
        let forward = fixture.op_with_sequence(1, "aten::mm", (0.0, 50.0), 1);
        let other = fixture.op("other", (60.0, 10.0));
        let backward = fixture.op_with_sequence(2, EVALUATE, (100.0, 50.0), 1);
        let kernel = fixture.kernel("k", (200.0, 5.0), 1);
        let mut tree = fixture.tree();
        let mut edit = tree.edit();
        for (forward, backward, refusal) in [
            (kernel, other, "event 3 (k) is not a host event of the tree"),
            (other, kernel, "event 3 (k) is not a host event of the tree"),
            (other, other, "event 1 (other) cannot be its own backward"),
            (
                other,
                backward,
                "event 2 (autograd::engine::evaluate_function: NativeLayerNormBackward0) is already the backward \
                 of event 0 (aten::mm)",
            ),
        ] {
            assert_eq!(edit.link_backward(forward, backward).unwrap_err().to_string(), refusal);
        }
        edit.finish();
        assert_eq!((tree.backward_events(forward), tree.backward_events(other)), (&[backward][..], &[][..]));
    }
}
