//! Edits of a tree that a script asks for, carried out in groups.

use std::collections::BTreeMap;

use perf_models::Value;
use trace_ingest::EventId;
use trace2tree::{EditError, TraceTree, TreeEdit};

use super::insertion::{Insertion, Position};
use crate::models::{set_attribute, value};

/// Further arguments of events, by event.
pub(in crate::extension) type Attributes = BTreeMap<EventId, Vec<(String, Value)>>;

/// A tree under a script. Edits wait until the script asks for something again: each time they are carried out,
/// the whole tree's order is derived anew.
pub(in crate::extension) struct TreeHost<'t> {
    tree: &'t mut TraceTree,
    waiting: Vec<Edit>,
    /// How many operators wait for their insertion; they get the ids after those of the tree.
    operators_waiting: usize,
    attributes: Attributes,
}

/// An edit that is known to be possible.
enum Edit {
    Insert(Insertion),
    Rename(EventId, String),
    ChargeWithSubtree(EventId),
}

impl Edit {
    fn carry_out(self, edit: &mut TreeEdit<'_>) -> Result<(), EditError> {
        match self {
            Edit::Insert(insertion) => insertion.carry_out(edit),
            Edit::Rename(event, name) => {
                edit.rename(event, &name);
                Ok(())
            }
            Edit::ChargeWithSubtree(operator) => edit.charge_with_subtree(operator),
        }
    }
}

impl<'t> TreeHost<'t> {
    pub(in crate::extension) fn new(tree: &'t mut TraceTree) -> Self {
        TreeHost { tree, waiting: Vec::new(), operators_waiting: 0, attributes: Attributes::new() }
    }

    /// Carries out what waits and gives the further arguments of events.
    pub(in crate::extension) fn finish(mut self) -> Result<Attributes, String> {
        self.current()?;
        Ok(self.attributes)
    }

    /// The tree with all edits so far.
    pub(super) fn current(&mut self) -> Result<&TraceTree, String> {
        if !self.waiting.is_empty() {
            self.operators_waiting = 0;
            let mut edit = self.tree.edit();
            let mut waiting = self.waiting.drain(..);
            waiting
                .try_for_each(|waiting| waiting.carry_out(&mut edit))
                .map_err(|error| error.to_string())?;
        }
        Ok(self.tree)
    }

    /// The current tree, which must have the event.
    pub(super) fn known(&mut self, event: EventId) -> Result<&TraceTree, String> {
        self.reserved(event)?;
        self.current()
    }

    /// The tree as it is without the edits that wait.
    pub(super) fn carried_out(&self) -> &TraceTree {
        self.tree
    }

    /// Makes sure that the event is in the trace or waits for its insertion.
    pub(super) fn reserved(&self, event: EventId) -> Result<(), String> {
        match event.index() < self.next_event().index() {
            true => Ok(()),
            false => Err(format!("the tree has no event {}", event.0)),
        }
    }

    fn next_event(&self) -> EventId {
        EventId((self.tree.trace().events().len() + self.operators_waiting) as u32)
    }

    fn waits(&self, event: EventId) -> bool {
        event.index() >= self.tree.trace().events().len()
    }

    /// Takes an insertion up after making sure that it can be carried out; gives the event that it will be.
    pub(super) fn insert(&mut self, insertion: Insertion) -> Result<EventId, String> {
        if self.waits(insertion.event) {
            // What hangs below an operator that waits itself is known only then.
            self.current()?;
        }
        let event = insertion.event;
        if let Some(refusal) = self.refusal(insertion.position, event) {
            return Err(refusal.to_string());
        }
        let inserted = self.next_event();
        self.waiting.push(Edit::Insert(insertion));
        self.operators_waiting += 1;
        Ok(inserted)
    }

    /// Why nothing can be inserted there.
    fn refusal(&self, position: Position, event: EventId) -> Option<EditError> {
        let (trace, is_host) = (self.tree.trace(), self.tree.is_host(event));
        let (uid, name) = (trace.events().uid(event), trace.name(event).to_owned());
        match position {
            Position::Above | Position::AroundChildren if !is_host => {
                Some(EditError::NotAHostEvent { uid, name })
            }
            Position::Isolating if self.tree.launch(event).is_none() => {
                Some(EditError::NotLaunched { uid, name })
            }
            Position::AroundChildren if !self.has_host_children(event) => {
                Some(EditError::NoChildren { uid, name })
            }
            _ => None,
        }
    }

    fn has_host_children(&self, event: EventId) -> bool {
        let events = self.tree.trace().events();
        self.tree.children(event).iter().any(|&child| !events.category(child).is_device())
    }

    pub(super) fn rename(&mut self, event: EventId, name: &str) -> Result<(), String> {
        self.reserved(event)?;
        self.waiting.push(Edit::Rename(event, name.to_owned()));
        Ok(())
    }

    pub(super) fn charge_with_subtree(&mut self, operator: EventId) -> Result<(), String> {
        self.reserved(operator)?;
        if self.waits(operator) {
            self.waiting.push(Edit::ChargeWithSubtree(operator));
            return Ok(());
        }
        self.tree.edit().charge_with_subtree(operator).map_err(|error| error.to_string())
    }

    /// Links of events that are in the tree need none of the edits that wait.
    pub(super) fn link_backward(&mut self, forward: EventId, backward: EventId) -> Result<(), String> {
        for event in [forward, backward] {
            self.reserved(event)?;
            if self.waits(event) {
                self.current()?;
            }
        }
        self.tree.edit().link_backward(forward, backward).map_err(|error| error.to_string())
    }

    /// Gives an event a further argument.
    pub(super) fn set_attribute(&mut self, event: EventId, name: &str, value: Value) -> Result<(), String> {
        self.reserved(event)?;
        set_attribute(self.attributes.entry(event).or_default(), name.to_owned(), value);
        Ok(())
    }

    /// Further arguments: what the script set, and what inserted operators were given.
    pub(super) fn attributes_of(&self, event: EventId) -> Vec<(String, Value)> {
        let given = self.tree.pseudo_attributes(event);
        let mut all: Vec<(String, Value)> =
            given.iter().map(|(name, argument)| (name.clone(), value(argument))).collect();
        for (name, value) in self.attributes.get(&event).into_iter().flatten() {
            set_attribute(&mut all, name.clone(), value.clone());
        }
        all
    }
}
