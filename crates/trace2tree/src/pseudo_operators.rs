//! What edits inserted into a tree.

use std::collections::{BTreeMap, BTreeSet};

use trace_ingest::{ArgumentValue, EventId};

/// What edits inserted.
#[derive(Clone, Debug, Default)]
pub(crate) struct PseudoOperators {
    /// Further arguments by inserted operator.
    pub(crate) attributes: BTreeMap<EventId, Vec<(String, ArgumentValue)>>,
    /// Inserted operators that are charged with everything launched below them.
    pub(crate) charged_with_subtree: BTreeSet<EventId>,
    /// Launches of the device events that hang below an operator of their own, because the launch has others.
    pub(crate) launches: BTreeMap<EventId, EventId>,
}

impl PseudoOperators {
    /// The call that launched a device event whose parent is an inserted operator.
    pub(crate) fn launch(&self, device_event: EventId) -> Option<EventId> {
        self.launches.get(&device_event).copied()
    }

    /// Whether the operator was inserted.
    pub(crate) fn contains(&self, event: EventId) -> bool {
        self.attributes.contains_key(&event)
    }

    /// Whether any operator is charged with everything below it.
    pub(crate) fn any_charged_with_subtree(&self) -> bool {
        !self.charged_with_subtree.is_empty()
    }

    /// Whether this operator is charged with everything below it.
    pub(crate) fn is_charged_with_subtree(&self, event: EventId) -> bool {
        self.charged_with_subtree.contains(&event)
    }
}
