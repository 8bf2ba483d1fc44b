//! What rules share.

use std::collections::{BTreeMap, BTreeSet};

use trace_ingest::{Category, EventId};

use crate::pass::{PassError, TreePass};
use crate::tree::TraceTree;

/// A pass of this crate: what it leaves as it is or assumes, it adds to its problems.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) run: fn(&mut TraceTree, Problems) -> Result<(), PassError>,
}

impl TreePass for Rule {
    fn name(&self) -> &str {
        self.name
    }

    fn run(&self, tree: &mut TraceTree) -> Result<(), PassError> {
        (self.run)(tree, Problems { pass: self.name, events: BTreeMap::new() })
    }
}

/// Events that a pass left as they are or assumed something for, by problem.
pub(super) struct Problems {
    pass: &'static str,
    events: BTreeMap<&'static str, Vec<EventId>>,
}

impl Problems {
    pub(super) fn add(&mut self, problem: &'static str, event: EventId) {
        self.events.entry(problem).or_default().push(event);
    }

    /// Adds them to the tree's warnings.
    pub(super) fn report(self, tree: &mut TraceTree) {
        for (problem, events) in self.events {
            tree.warn_of(self.pass, problem, &events);
        }
    }
}

/// The operators (`cpu_op`) of this name, in file order.
pub(super) fn operators<'t>(tree: &'t TraceTree, name: &str) -> impl Iterator<Item = EventId> + 't {
    let events = tree.trace().events();
    tree.find_by_name(name).iter().copied().filter(|&event| events.category(event) == Category::CPU_OP)
}

/// The events that lie below no other of them, so that nothing counts twice.
pub(super) fn outermost(tree: &TraceTree, events: impl IntoIterator<Item = EventId>) -> Vec<EventId> {
    let all: BTreeSet<EventId> = events.into_iter().collect();
    all.iter().copied().filter(|&event| !tree.ancestors(event).any(|above| all.contains(&above))).collect()
}

/// Whether an earlier run inserted an operator whose name starts so below the event.
pub(super) fn has_inserted(tree: &TraceTree, event: EventId, name: &str) -> bool {
    tree.host_subtree(event)
        .iter()
        .any(|&below| tree.is_pseudo_operator(below) && tree.trace().name(below).starts_with(name))
}

/// The kernels below an event whose name `wanted` accepts, by start.
pub(super) fn kernels_by_start(
    tree: &TraceTree,
    event: EventId,
    wanted: impl Fn(&str) -> bool,
) -> Vec<EventId> {
    let (trace, events) = (tree.trace(), tree.trace().events());
    let mut kernels = tree.device_events(event).to_vec();
    kernels.retain(|&device| events.category(device) == Category::KERNEL && wanted(trace.name(device)));
    kernels.sort_by_key(|&kernel| (events.start(kernel), kernel));
    kernels
}
