//! Work that activation checkpointing did twice.

use hashbrown::HashMap;
use trace_ingest::{Category, EventId};

use crate::event_set::EventSet;
use crate::tree::TraceTree;

impl TraceTree {
    /// The Python frames in which activation checkpointing runs a forward function again: those whose name
    /// contains `torch/utils/checkpoint.py` and `recompute_fn`, in pre-order.
    pub fn recompute_roots(&self) -> Vec<EventId> {
        let events = self.trace.events();
        let is_recompute = self
            .trace
            .strings()
            .classify(|name| name.contains("torch/utils/checkpoint.py") && name.contains("recompute_fn"));
        let is_root = |event: &EventId| {
            events.category(*event) == Category::PYTHON_FUNCTION && is_recompute[events.name(*event).index()]
        };
        self.host_events().iter().copied().filter(is_root).collect()
    }

    /// Operators that run forward inside a backward operator, and what runs between them there, in pre-order: what
    /// activation checkpointing does again, whether or not the trace has Python frames.
    ///
    /// Autograd numbers what it records. What a backward operator runs has no number; what it runs forward has one, and
    /// an operator with the same name and arguments ran outside of it before. Where a gradient is differentiated again,
    /// the operators of the first backward have numbers, too. These do not count: their backward runs later, not inside
    /// the same backward operator.
    pub fn forward_events_in_backward(&self) -> Vec<EventId> {
        let events = self.trace.events();
        let mut first_forward = HashMap::new();
        let mut inside: Vec<(EventId, EventId)> = Vec::new();
        for &event in self.host_events() {
            if events.sequence_number(event).is_none() || self.runs_backward(event) {
                continue;
            }
            match self.operators_around(event).find(|&above| self.runs_backward(above)) {
                None => {
                    let call = (events.name(event), events.signature(event));
                    first_forward.entry(call).or_insert(events.start(event));
                }
                Some(backward) => inside.push((backward, event)),
            }
        }
        inside.sort_by_key(|&(backward, _)| backward);
        let mut roots = Vec::new();
        for group in inside.chunk_by(|a, b| a.0 == b.0) {
            let backward = group[0].0;
            let is_again = |event: EventId| {
                let first = first_forward.get(&(events.name(event), events.signature(event)));
                let links = self.backward_events(event);
                first.is_some_and(|&first| first < events.start(event))
                    && links.iter().all(|&link| events.start(link) < events.end(backward))
            };
            let starts =
                group.iter().filter(|(_, event)| is_again(*event)).map(|(_, event)| events.start(*event));
            let Some((first, last)) = starts.clone().min().zip(starts.max()) else { continue };
            roots.extend(self.host_subtree(backward).iter().copied().filter(|&event| {
                (first..=last).contains(&events.start(event))
                    && events.category(event) == Category::CPU_OP
                    && self.operators_around(event).next() == Some(backward)
            }));
        }
        roots
    }

    fn runs_backward(&self, event: EventId) -> bool {
        self.trace.events().arguments().forward_thread.get(event.index()).is_some_and(|thread| thread > 0)
    }

    /// The operators around an event, the innermost first.
    fn operators_around(&self, event: EventId) -> impl Iterator<Item = EventId> + '_ {
        self.ancestors(event).filter(|&above| self.trace.events().category(above) == Category::CPU_OP)
    }

    /// All events, device events included, at and below these.
    pub fn events_below(&self, roots: &[EventId]) -> EventSet {
        let mut set = EventSet::with_capacity(self.trace.events().len());
        for &root in roots {
            for &event in self.host_subtree(root).iter().chain(self.device_events(root)) {
                set.insert(event);
            }
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use trace_ingest::{Category, EventArguments};

    use crate::fixture::{Fixture, Planted};

    #[test]
    fn everything_below_a_recomputing_frame_is_marked() {
        let mut fixture = Fixture::new();
        fixture.op("aten::mm", (0.0, 5.0));
        let frame = fixture.python("torch/utils/checkpoint.py(1110): recompute_fn", (10.0, 50.0));
        let op = fixture.op("aten::mm", (11.0, 20.0));
        let launch = fixture.launch("cudaLaunchKernel", (12.0, 5.0), 1);
        fixture.python("torch/utils/checkpoint.py(1110): unpack_hook", (70.0, 5.0));
        fixture.python("my.py(1): recompute_fn", (80.0, 5.0));
        let kernel = fixture.kernel("k", (200.0, 5.0), 1);
        let tree = fixture.tree();
        assert_eq!(tree.recompute_roots(), [frame]);
        let below = tree.events_below(&tree.recompute_roots());
        assert_eq!(below.iter().collect::<Vec<_>>(), [frame, op, launch, kernel]);
    }

    #[test]
    fn what_runs_forward_inside_a_backward_ran_before_and_has_no_backward_of_its_own_later() {
        let mut fixture = Fixture::new();
        let numbered = |number, forward_thread| EventArguments {
            sequence_number: Some(number),
            forward_thread: Some(forward_thread),
            ..EventArguments::default()
        };
        let mut op = |tid, name: &str, span, arguments| {
            fixture.event(Category::CPU_OP, name, (1, tid), span, arguments)
        };
        op(1, "aten::mm", (0.0, 5.0), numbered(1, 0));
        // Checkpointing: the product again, then its dropout, whose mask autograd does not record.
        op(2, "autograd::engine::evaluate_function: MmBackward0", (20.0, 40.0), numbered(1, 1));
        op(2, "MmBackward0", (21.0, 38.0), numbered(1, 1));
        let again = op(2, "aten::mm", (22.0, 5.0), numbered(7, 0));
        let mask = op(2, "aten::bernoulli_", (28.0, 2.0), EventArguments::default());
        let last = op(2, "aten::mm", (31.0, 5.0), numbered(8, 0));
        op(2, "aten::mm", (40.0, 5.0), EventArguments::default());
        // A gradient that is differentiated: the products of its backward have backwards of their own, later.
        op(1, "aten::mm", (60.0, 5.0), numbered(20, 0));
        op(2, "autograd::engine::evaluate_function: MmBackward0", (70.0, 20.0), numbered(20, 1));
        op(2, "aten::mm", (72.0, 5.0), numbered(21, 0));
        op(3, "autograd::engine::evaluate_function: MmBackward0", (100.0, 20.0), numbered(21, 2));
        // Nothing like it ran before.
        op(2, "autograd::engine::evaluate_function: FnBackward", (200.0, 20.0), numbered(30, 1));
        op(2, "aten::neg", (202.0, 5.0), numbered(31, 0));
        assert_eq!(fixture.tree().forward_events_in_backward(), [again, mask, last]);
    }
}
