//! Adding operators that the trace does not have.

use std::collections::{BTreeMap, BTreeSet};

use trace_ingest::{ArgumentValue, Category, EventArguments, EventId, NewEvent, Phase};

use crate::tree::TraceTree;

/// An operator to insert into a tree. It takes its shapes, types, strides, concrete inputs and sequence number
/// from a donor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PseudoOperator<'n> {
    /// Its name.
    pub name: &'n str,
    /// The event that lends its arguments; `None` for the event that the operator is inserted below, which
    /// for [`TreeEdit::wrap_children`] is the wrapped one.
    pub donor: Option<EventId>,
    /// Its sequence number; `None` for the donor's.
    pub sequence_number: Option<i64>,
    /// Further arguments, by label ([`TraceTree::pseudo_attributes`]).
    pub attributes: Vec<(String, ArgumentValue)>,
}

/// Why an operator cannot be inserted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The event is not a host node.
    #[error("event {uid} ({name}) is not a host event of the tree; only host events can be moved")]
    NotAHostEvent {
        /// Index in the file's event list.
        uid: u32,
        /// Name.
        name: String,
    },
    /// The event is not a device event whose launch is known.
    #[error("event {uid} ({name}) is not a device event with a launch in the tree")]
    NotLaunched {
        /// Index in the file's event list.
        uid: u32,
        /// Name.
        name: String,
    },
    /// The event calls nothing on the host.
    #[error("event {uid} ({name}) has no host children to wrap")]
    NoChildren {
        /// Index in the file's event list.
        uid: u32,
        /// Name.
        name: String,
    },
}

/// What edits inserted.
#[derive(Clone, Debug, Default)]
pub(crate) struct PseudoOperators {
    /// Further arguments by inserted operator.
    attributes: BTreeMap<EventId, Vec<(String, ArgumentValue)>>,
    /// Inserted operators that are charged with everything launched below them.
    charged_with_subtree: BTreeSet<EventId>,
    /// Launches of the device events that hang below an operator of their own, because the launch has others.
    launches: BTreeMap<EventId, EventId>,
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

/// Insertions into a tree. Parents change at once; children, orders and indices are derived again when the
/// value is dropped, once for all insertions.
///
/// Inserted operators are `cpu_op` events at the end of the trace's event table. Their parent chain is
/// complete: from a kernel below one, [`TraceTree::ancestors`] passes through it.
#[derive(Debug)]
pub struct TreeEdit<'t> {
    tree: &'t mut TraceTree,
    /// Inserted operators by their parent.
    inserted: BTreeMap<EventId, Vec<EventId>>,
    renamed: bool,
}

impl TraceTree {
    /// Begins to insert operators.
    pub fn edit(&mut self) -> TreeEdit<'_> {
        TreeEdit { tree: self, inserted: BTreeMap::new(), renamed: false }
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
            return Err(self.not_a_host_event(target));
        }
        let above = self.tree.parent(target);
        Ok(self.insert(target, above, operator, None))
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
            let (uid, name) = self.describe(device_event);
            return Err(EditError::NotLaunched { uid, name });
        };
        let external_id = self.tree.trace.events().correlation(device_event);
        let parent = self.tree.parent(device_event);
        if parent == Some(launch) && self.tree.device_events(launch).len() <= 1 {
            let above = self.tree.parent(launch);
            return Ok(self.insert(launch, above, operator, external_id));
        }
        let above = parent.filter(|&parent| parent != launch).or_else(|| self.tree.parent(launch));
        let pseudo = self.append(launch, above, operator, external_id);
        if let Some(above) = above {
            self.set_parent(pseudo, above);
        }
        self.set_parent(device_event, pseudo);
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
            return Err(self.not_a_host_event(event));
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
            let (uid, name) = self.describe(event);
            return Err(EditError::NoChildren { uid, name });
        }
        let pseudo = self.append(event, Some(event), operator, None);
        for child in children {
            self.set_parent(child, pseudo);
        }
        self.set_parent(pseudo, event);
        Ok(pseudo)
    }

    /// Makes an inserted operator the launcher ([`TraceTree::kernel_launcher`]) of all device events below it,
    /// also of those that operators inside it launched: they are then parts of what it stands for. An operator
    /// inserted inside it keeps its own.
    pub fn charge_with_subtree(&mut self, pseudo_operator: EventId) {
        if self.tree.is_pseudo_operator(pseudo_operator) {
            self.tree.pseudo_operators.charged_with_subtree.insert(pseudo_operator);
        }
    }

    /// Gives an event another name.
    pub fn rename(&mut self, event: EventId, name: &str) {
        let name = self.tree.trace.intern(name);
        self.tree.trace.rename(event, name);
        self.renamed = true;
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

    fn insert(
        &mut self,
        target: EventId,
        above: Option<EventId>,
        operator: PseudoOperator<'_>,
        external_id: Option<i64>,
    ) -> EventId {
        let pseudo = self.append(target, above, operator, external_id);
        if let Some(above) = above {
            self.set_parent(pseudo, above);
        }
        self.set_parent(target, pseudo);
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
        let trace = &mut self.tree.trace;
        let name = trace.intern(operator.name);
        let (events, donor) = (trace.events(), operator.donor.or(above));
        let arguments = EventArguments {
            external_id,
            signature: donor.and_then(|donor| events.signature(donor)),
            sequence_number: operator
                .sequence_number
                .or_else(|| donor.and_then(|donor| events.sequence_number(donor))),
            ..EventArguments::default()
        };
        let (track, start, duration) = (events.track(like), events.start(like), events.duration(like));
        let phase = Phase::Complete;
        let category = Category::CPU_OP;
        let event = trace.append(NewEvent { phase, category, name, track, start, duration, arguments });
        self.tree.parent.push(crate::tree::NONE);
        self.tree.pseudo_operators.attributes.insert(event, operator.attributes);
        event
    }

    fn set_parent(&mut self, child: EventId, parent: EventId) {
        self.tree.parent[child.index()] = parent.0;
        self.inserted.entry(parent).or_default().push(child);
    }

    fn is_host(&self, event: EventId) -> bool {
        self.tree.is_host(event) || self.tree.is_pseudo_operator(event)
    }

    fn describe(&self, event: EventId) -> (u32, String) {
        let trace = self.tree.trace();
        (trace.events().uid(event), trace.name(event).to_owned())
    }

    fn not_a_host_event(&self, event: EventId) -> EditError {
        let (uid, name) = self.describe(event);
        EditError::NotAHostEvent { uid, name }
    }
}

impl Drop for TreeEdit<'_> {
    fn drop(&mut self) {
        if self.renamed || !self.inserted.is_empty() {
            self.tree.derive_layout();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, names};

    struct Sample {
        tree: TraceTree,
        op: EventId,
        first: EventId,
        kernels: [EventId; 2],
    }

    /// An operator with arguments that launches two kernels, the second through an operator inside it.
    fn sample() -> Sample {
        let mut fixture = Fixture::new();
        let dims = ArgumentValue::List(vec![ArgumentValue::List(vec![ArgumentValue::Int(4)])]);
        let signature = fixture.builder.signature([Some(dims), None, None, None]);
        let arguments = EventArguments {
            signature: Some(signature),
            sequence_number: Some(6),
            ..EventArguments::default()
        };
        let op = fixture.event(Category::CPU_OP, "moe", (1, 1), (0.0, 100.0), arguments);
        let first = fixture.launch("hipLaunchKernel", (10.0, 5.0), 1);
        fixture.op("inner", (20.0, 20.0));
        fixture.launch("hipLaunchKernel", (21.0, 5.0), 2);
        let kernels = [fixture.kernel("up", (200.0, 5.0), 1), fixture.kernel("down", (210.0, 5.0), 2)];
        Sample { tree: fixture.tree(), op, first, kernels }
    }

    fn named(name: &str) -> PseudoOperator<'_> {
        PseudoOperator { name, ..PseudoOperator::default() }
    }

    fn stack(tree: &TraceTree, event: EventId) -> Vec<&str> {
        names(tree, &tree.ancestors(event).collect::<Vec<_>>())
    }

    #[test]
    fn an_isolated_kernel_belongs_to_its_pseudo_operator_upwards_and_downwards() {
        let Sample { mut tree, op, kernels, .. } = sample();
        let attributes = vec![("MoE GEMM type".to_owned(), ArgumentValue::Text("up".into()))];
        let pseudo = tree
            .edit()
            .isolate(kernels[0], PseudoOperator { attributes: attributes.clone(), ..named("pseudo_up") })
            .unwrap();
        assert_eq!(stack(&tree, kernels[0]), ["hipLaunchKernel", "pseudo_up", "moe"]);
        assert_eq!(tree.device_events(pseudo), [kernels[0]]);
        assert_eq!(tree.device_events(op), kernels);
        assert_eq!(tree.kernel_launcher(kernels[0]), Some(pseudo));
        assert_eq!(names(&tree, tree.children(op)), ["pseudo_up", "inner"]);
        assert_eq!(tree.find_by_name("pseudo_up"), [pseudo]);
        assert_eq!((tree.is_pseudo_operator(pseudo), tree.is_pseudo_operator(op)), (true, false));
        assert_eq!(tree.pseudo_attributes(pseudo), attributes);
        let events = tree.trace().events();
        assert_eq!((events.external_id(pseudo), events.sequence_number(pseudo)), (Some(1), Some(6)));
        assert_eq!(events.signature(pseudo), events.signature(op));
    }

    #[test]
    fn wrapped_children_move_below_the_pseudo_operator() {
        let Sample { mut tree, op, kernels, .. } = sample();
        let pseudo = tree.edit().wrap_children(op, named("pseudo")).unwrap();
        assert_eq!(tree.children(op), [pseudo]);
        assert_eq!(names(&tree, tree.children(pseudo)), ["hipLaunchKernel", "inner"]);
        assert_eq!(tree.device_events(pseudo), kernels);
        assert_eq!(tree.operator_roots(), [op]);
        assert_eq!(tree.trace().events().duration(pseudo), 100_000);
    }

    #[test]
    fn an_operator_can_be_inserted_above_a_root() {
        let Sample { mut tree, op, kernels, .. } = sample();
        let pseudo =
            tree.edit().insert_above(op, PseudoOperator { donor: Some(op), ..named("top") }).unwrap();
        assert_eq!((tree.roots(), tree.operator_roots()), (&[pseudo][..], &[pseudo][..]));
        assert_eq!((tree.parent(op), tree.device_events(pseudo)), (Some(pseudo), &kernels[..]));
    }

    #[test]
    fn insertions_of_one_edit_build_on_each_other() {
        let Sample { mut tree, op, first, kernels } = sample();
        let mut edit = tree.edit();
        let up = edit.isolate(kernels[0], named("up op")).unwrap();
        let inner = edit.insert_above(first, named("inside up")).unwrap();
        let wrap = edit.wrap_children(op, named("wrap")).unwrap();
        let again = edit.wrap_children(wrap, named("wrap again")).unwrap();
        edit.finish();
        assert_eq!(
            stack(&tree, kernels[0]),
            ["hipLaunchKernel", "inside up", "up op", "wrap again", "wrap", "moe"]
        );
        assert_eq!((tree.children(wrap), tree.children(up)), (&[again][..], &[inner][..]));
        assert_eq!(names(&tree, tree.children(again)), ["up op", "inner"]);
        assert_eq!(tree.device_events(again), kernels);
        assert_eq!(tree.host_subtree(op).len(), 8);
    }

    #[test]
    fn kernels_of_one_launch_can_be_isolated_one_by_one() {
        let mut fixture = Fixture::new();
        let op = fixture.op("moe", (0.0, 100.0));
        let launch = fixture.launch("hipGraphLaunch", (10.0, 5.0), 1);
        let kernels = ["up", "down", "sum"].map(|name| fixture.kernel(name, (200.0, 5.0), 1));
        let mut tree = fixture.tree();
        let mut edit = tree.edit();
        let up = edit.isolate(kernels[0], named("pseudo_up")).unwrap();
        let down = edit.isolate(kernels[1], named("pseudo_down")).unwrap();
        edit.finish();
        assert_eq!(tree.device_events(up), [kernels[0]]);
        assert_eq!(tree.device_events(down), [kernels[1]]);
        assert_eq!(tree.device_events(launch), [kernels[2]]);
        assert_eq!(tree.device_events(op).len(), 3);
        assert_eq!(kernels.map(|kernel| tree.kernel_launcher(kernel).unwrap()), [up, down, op]);
        assert_eq!(kernels.map(|kernel| tree.launch(kernel).unwrap()), [launch; 3]);
        assert_eq!(stack(&tree, kernels[0]), ["pseudo_up", "moe"]);

        let inner = tree.edit().isolate(kernels[0], named("again")).unwrap();
        assert_eq!(stack(&tree, kernels[0]), ["again", "pseudo_up", "moe"]);
        assert_eq!(tree.kernel_launcher(kernels[0]), Some(inner));
    }

    #[test]
    fn an_operator_charged_with_its_subtree_launches_what_operators_inside_it_launched() {
        let Sample { mut tree, op, kernels, .. } = sample();
        let mut edit = tree.edit();
        let wrap = edit.wrap_children(op, named("wrap")).unwrap();
        edit.finish();
        let launchers = |tree: &TraceTree| {
            kernels.map(|kernel| tree.trace().name(tree.kernel_launcher(kernel).unwrap()).to_owned())
        };
        assert_eq!(launchers(&tree), ["wrap", "inner"]);
        tree.edit().charge_with_subtree(wrap);
        assert_eq!(launchers(&tree), ["wrap", "wrap"]);
        tree.edit().isolate(kernels[1], named("part")).unwrap();
        assert_eq!(launchers(&tree), ["wrap", "part"]);
        tree.edit().charge_with_subtree(op);
        assert_eq!(launchers(&tree), ["wrap", "part"], "an operator of the trace cannot be charged so");
    }

    #[test]
    fn a_renamed_event_is_found_by_its_new_name() {
        let Sample { mut tree, op, .. } = sample();
        assert_eq!(tree.find_by_name("moe"), [op]);
        tree.edit().rename(op, "experts");
        assert_eq!((tree.find_by_name("moe"), tree.find_by_name("experts")), (&[][..], &[op][..]));
    }

    #[test]
    fn what_cannot_be_moved_is_refused_and_changes_nothing() {
        let Sample { mut tree, first, kernels, .. } = sample();
        let before = tree.node_count();
        let mut edit = tree.edit();
        assert!(matches!(edit.insert_above(kernels[0], named("p")), Err(EditError::NotAHostEvent { .. })));
        assert!(matches!(edit.wrap_children(kernels[0], named("p")), Err(EditError::NotAHostEvent { .. })));
        assert!(matches!(edit.isolate(first, named("p")), Err(EditError::NotLaunched { .. })));
        let refused = edit.wrap_children(first, named("p")).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("event {} (hipLaunchKernel) has no host children to wrap", first.0)
        );
        edit.finish();
        assert_eq!(tree.node_count(), before);
    }
}
