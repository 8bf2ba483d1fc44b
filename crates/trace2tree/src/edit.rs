//! Adding operators that the trace does not have.

use std::collections::BTreeMap;

use trace_ingest::{ArgumentValue, Category, EventArguments, EventId, NewEvent, Phase, SignatureId};

use crate::tree::TraceTree;

mod error;
#[cfg(test)]
mod tests;

pub use error::{EditError, EventLabel};

/// An operator to insert into a tree. What it is not given of shapes, types, strides, concrete inputs and
/// sequence number, it takes from a donor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PseudoOperator<'n> {
    /// Its name.
    pub name: &'n str,
    /// The event that it takes arguments from; `None` for the event that the operator is inserted below, which
    /// for [`TreeEdit::wrap_children`] is the wrapped one.
    pub donor: Option<EventId>,
    /// Its argument lists in the order shapes, types, strides, concrete inputs; `None` for the donor's.
    pub lists: [Option<ArgumentValue>; 4],
    /// Its sequence number; `None` for the donor's.
    pub sequence_number: Option<i64>,
    /// Further arguments, by label ([`TraceTree::pseudo_attributes`]).
    pub attributes: Vec<(String, ArgumentValue)>,
}

impl<'n> PseudoOperator<'n> {
    /// An operator with the arguments of `donor`.
    #[must_use]
    pub fn new(name: &'n str, donor: EventId) -> Self {
        PseudoOperator { name, donor: Some(donor), ..PseudoOperator::default() }
    }

    /// The same with these further arguments, by label.
    #[must_use]
    pub fn with_attributes<'l>(self, attributes: impl IntoIterator<Item = (&'l str, ArgumentValue)>) -> Self {
        let attributes = attributes.into_iter().map(|(label, value)| (label.to_owned(), value)).collect();
        PseudoOperator { attributes, ..self }
    }
}

/// Insertions into a tree. Parents change at once; children, orders and indices are derived again when the
/// value is dropped, once for all insertions.
///
/// Inserted operators are `cpu_op` events at the end of the trace's event table. Their parent chain is
/// complete: from a kernel below one, [`TraceTree::ancestors`] passes through it.
#[derive(Debug)]
pub struct TreeEdit<'t> {
    pub(crate) tree: &'t mut TraceTree,
    /// Inserted operators by their parent.
    inserted: BTreeMap<EventId, Vec<EventId>>,
    /// Whether anything else asks for the orders to be derived again.
    pub(crate) changed: bool,
}

impl TraceTree {
    /// Begins to insert operators.
    pub fn edit(&mut self) -> TreeEdit<'_> {
        TreeEdit { tree: self, inserted: BTreeMap::new(), changed: false }
    }

    /// Whether the operator was inserted after the tree was built.
    pub fn is_pseudo_operator(&self, event: EventId) -> bool {
        self.pseudo_operators.contains(event)
    }

    /// Further arguments of an inserted operator; none for any other event.
    pub fn pseudo_attributes(&self, event: EventId) -> &[(String, ArgumentValue)] {
        self.pseudo_operators.attributes.get(&event).map_or(&[], Vec::as_slice)
    }
}

impl TreeEdit<'_> {
    /// Inserts an operator between a host event and its parent. It has the span of the event. An event
    /// without a parent gets one.
    ///
    /// # Errors
    /// [`EditError::NotAHostEvent`].
    pub fn insert_above(
        &mut self,
        target: EventId,
        operator: PseudoOperator<'_>,
    ) -> Result<EventId, EditError> {
        if !self.is_host(target) {
            return Err(EditError::NotAHostEvent(self.label(target)));
        }
        let above = self.tree.parent(target);
        Ok(self.insert(target, above, &[target], operator, None))
    }

    /// Inserts an operator that a device event belongs to alone. It has the span of the launch, and the device
    /// event's correlation id as External id.
    ///
    /// It stands between the launch and the launch's parent. When the launch has other device events, as a
    /// graph launch has, those stay where they are: the operator stands beside the launch with the device
    /// event right below it, and [`TraceTree::launch`] still names the launch.
    ///
    /// # Errors
    /// [`EditError::NotLaunched`].
    pub fn isolate(
        &mut self,
        device_event: EventId,
        operator: PseudoOperator<'_>,
    ) -> Result<EventId, EditError> {
        let Some(launch) = self.tree.launch(device_event) else {
            return Err(EditError::NotLaunched(self.label(device_event)));
        };
        let external_id = self.tree.trace.events().correlation(device_event);
        let parent = self.tree.parent(device_event);
        if parent == Some(launch) && self.tree.device_events(launch).len() <= 1 {
            let above = self.tree.parent(launch);
            return Ok(self.insert(launch, above, &[launch], operator, external_id));
        }
        let above = parent.filter(|&parent| parent != launch).or_else(|| self.tree.parent(launch));
        let pseudo = self.insert(launch, above, &[device_event], operator, external_id);
        self.tree.pseudo_operators.launches.insert(device_event, launch);
        Ok(pseudo)
    }

    /// Inserts an operator between a host event and its host children. It has the span of the event; device
    /// events that the event launched itself stay with it.
    ///
    /// # Errors
    /// [`EditError::NotAHostEvent`], and [`EditError::NoChildren`] for an event without host children.
    pub fn wrap_children(
        &mut self,
        event: EventId,
        operator: PseudoOperator<'_>,
    ) -> Result<EventId, EditError> {
        if !self.is_host(event) {
            return Err(EditError::NotAHostEvent(self.label(event)));
        }
        let tree = &*self.tree;
        let built = self.built_children(event);
        let inserted = self.inserted.get(&event).map_or(&[][..], Vec::as_slice);
        let children: Vec<EventId> = built
            .iter()
            .chain(inserted)
            .copied()
            .filter(|&child| tree.parent(child) == Some(event))
            .filter(|&child| !tree.trace.events().category(child).is_device())
            .collect();
        if children.is_empty() {
            return Err(EditError::NoChildren(self.label(event)));
        }
        Ok(self.insert(event, Some(event), &children, operator, None))
    }

    /// Makes an inserted operator the launcher ([`TraceTree::kernel_launcher`]) of all device events below it,
    /// also of those that operators inside it launched: they are then parts of what it stands for. An operator
    /// inserted inside it keeps its own.
    ///
    /// # Errors
    /// [`EditError::NotInserted`] for an operator of the trace.
    pub fn charge_with_subtree(&mut self, pseudo_operator: EventId) -> Result<(), EditError> {
        if !self.tree.is_pseudo_operator(pseudo_operator) {
            return Err(EditError::NotInserted(self.label(pseudo_operator)));
        }
        self.tree.pseudo_operators.charged_with_subtree.insert(pseudo_operator);
        Ok(())
    }

    /// Inserts an operator between host events and the parent that they all have. It has the span of the first one.
    ///
    /// # Errors
    /// [`EditError::NotAHostEvent`], and [`EditError::OtherParent`] when they are not of one parent.
    pub fn insert_around(
        &mut self,
        events: &[EventId],
        operator: PseudoOperator<'_>,
    ) -> Result<EventId, EditError> {
        let Some(&first) = events.first() else { return Err(EditError::NothingToInsertAround) };
        if let Some(&other) = events.iter().find(|&&event| !self.is_host(event)) {
            return Err(EditError::NotAHostEvent(self.label(other)));
        }
        let above = self.tree.parent(first);
        if let Some(&other) = events.iter().find(|&&event| self.tree.parent(event) != above) {
            return Err(EditError::OtherParent(self.label(other), self.label(first)));
        }
        Ok(self.insert(first, above, events, operator, None))
    }

    /// Gives an event another name.
    pub fn rename(&mut self, event: EventId, name: &str) {
        let name = self.tree.trace.intern(name);
        self.tree.trace.rename(event, name);
        self.changed = true;
    }

    /// Ends the edit. The same as dropping it, but visible.
    pub fn finish(self) {}

    /// Children as they were when the edit began; an operator inserted since then had none.
    fn built_children(&self, event: EventId) -> &[EventId] {
        match self.tree.is_host(event) {
            true => self.tree.children(event),
            false => &[],
        }
    }

    /// Inserts an operator with the span and thread of `like` between `above` and `children`.
    fn insert(
        &mut self,
        like: EventId,
        above: Option<EventId>,
        children: &[EventId],
        operator: PseudoOperator<'_>,
        external_id: Option<i64>,
    ) -> EventId {
        let pseudo = self.append(like, above, operator, external_id);
        for &child in children {
            self.set_parent(child, pseudo);
        }
        if let Some(above) = above {
            self.set_parent(pseudo, above);
        }
        pseudo
    }

    /// Appends the operator's event with the span and thread of another.
    fn append(
        &mut self,
        like: EventId,
        above: Option<EventId>,
        operator: PseudoOperator<'_>,
        external_id: Option<i64>,
    ) -> EventId {
        let donor = operator.donor.or(above);
        let signature = self.signature(donor, operator.lists);
        let trace = &mut self.tree.trace;
        let name = trace.intern(operator.name);
        let events = trace.events();
        let arguments = EventArguments {
            external_id,
            signature,
            sequence_number: operator
                .sequence_number
                .or_else(|| donor.and_then(|donor| events.sequence_number(donor))),
            ..EventArguments::default()
        };
        let (track, start, duration) = (events.track(like), events.start(like), events.duration(like));
        let phase = Phase::Complete;
        let category = Category::CPU_OP;
        let event = trace.append(NewEvent { phase, category, name, track, start, duration, arguments });
        self.tree.parent.push(crate::row::NONE);
        self.tree.pseudo_operators.attributes.insert(event, operator.attributes);
        if self.tree.captured.contains(like) {
            self.tree.captured.insert(event);
        }
        event
    }

    /// The signature of the donor with these lists in place of its own.
    fn signature(
        &mut self,
        donor: Option<EventId>,
        mut lists: [Option<ArgumentValue>; 4],
    ) -> Option<SignatureId> {
        let trace = &mut self.tree.trace;
        let donated = donor.and_then(|donor| trace.events().signature(donor));
        if lists.iter().all(Option::is_none) {
            return donated;
        }
        let donor_lists = donated.map(|id| trace.signatures().get(id)).unwrap_or_default();
        let donor_lists = [donor_lists.dims, donor_lists.types, donor_lists.strides, donor_lists.concrete];
        for (list, id) in lists.iter_mut().zip(donor_lists) {
            if list.is_none() {
                *list = id.map(|id| trace.signatures().argument(id).clone());
            }
        }
        Some(trace.intern_signature(lists))
    }

    fn set_parent(&mut self, child: EventId, parent: EventId) {
        self.tree.parent[child.index()] = parent.0;
        self.inserted.entry(parent).or_default().push(child);
    }

    pub(crate) fn is_host(&self, event: EventId) -> bool {
        self.tree.is_host(event) || self.tree.is_pseudo_operator(event)
    }

    pub(crate) fn label(&self, event: EventId) -> EventLabel {
        EventLabel::new(self.tree.trace(), event)
    }

    /// Makes one host event a backward of another, for operators whose backward no sequence number tells. A
    /// forward may have several backwards, a backward has one forward; what is so already stays so.
    ///
    /// # Errors
    /// [`EditError::NotAHostEvent`] for either, [`EditError::OwnBackward`] when both are one event, and
    /// [`EditError::BackwardOfAnother`] when the backward has another forward.
    pub fn link_backward(&mut self, forward: EventId, backward: EventId) -> Result<(), EditError> {
        if let Some(&other) = [forward, backward].iter().find(|&&event| !self.is_host(event)) {
            return Err(EditError::NotAHostEvent(self.label(other)));
        }
        if forward == backward {
            return Err(EditError::OwnBackward(self.label(backward)));
        }
        match self.tree.backward.forward_of(backward) {
            Some(linked) if linked == forward => {}
            Some(linked) => {
                let (backward, forward) = (self.label(backward), self.label(linked));
                return Err(EditError::BackwardOfAnother { backward, forward });
            }
            None => self.tree.backward.insert(forward, backward),
        }
        Ok(())
    }
}

impl Drop for TreeEdit<'_> {
    fn drop(&mut self) {
        if self.changed || !self.inserted.is_empty() {
            self.tree.derive_layout();
        }
    }
}
