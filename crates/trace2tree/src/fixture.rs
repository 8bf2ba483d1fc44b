//! Trees of small traces for tests, with times in microseconds.

use trace_ingest::EventId;

pub(crate) use testdata::trace::Fixture;

use crate::{TraceTree, TreeOptions};

pub(crate) trait Planted {
    /// The tree with Python frames.
    fn tree(self) -> TraceTree;
}

impl Planted for Fixture {
    fn tree(self) -> TraceTree {
        TraceTree::build(self.finish(), &TreeOptions { python_frames: true, ..TreeOptions::default() })
    }
}

pub(crate) fn names<'t>(tree: &'t TraceTree, events: &[EventId]) -> Vec<&'t str> {
    events.iter().map(|&event| tree.trace().name(event)).collect()
}
