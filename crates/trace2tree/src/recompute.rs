//! Work that activation checkpointing did twice.

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

    /// All events, device events included, that belong to a recomputation. Empty in a tree without Python
    /// frames.
    pub fn recompute_events(&self) -> EventSet {
        let mut set = EventSet::with_capacity(self.trace.events().len());
        for root in self.recompute_roots() {
            for &event in self.host_subtree(root).iter().chain(self.device_events(root)) {
                set.insert(event);
            }
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

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
        assert_eq!(tree.recompute_events().iter().collect::<Vec<_>>(), [frame, op, launch, kernel]);
    }
}
