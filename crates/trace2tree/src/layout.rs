//! Orders derived from the parents: children lists, pre-order, device ranges, nearest ancestors of a kind.

use std::ops::Range;

use trace_ingest::{Category, EventId, Trace};

use crate::names::NameClasses;
use crate::row::NONE;

/// Everything that follows from the parent column. "Row" is the index of an event, "position" the index of
/// a host event in pre-order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Start of each row's children in `children`; one entry more than rows.
    child_offsets: Vec<u32>,
    /// Host children in time order, then device children in file order.
    children: Vec<EventId>,
    /// Host events in pre-order.
    pub(crate) host_order: Vec<EventId>,
    /// Position of each row; [`NONE`] when it is not a host event of the tree.
    position: Vec<u32>,
    /// Position after the last one of the subtree, per position.
    subtree_end: Vec<u32>,
    /// Start in `device_order` of the device events launched at each position; one entry more than positions.
    device_offsets: Vec<u32>,
    /// Linked device events by position of their launch, then in file order.
    pub(crate) device_order: Vec<EventId>,
    /// Nearest `nn.Module` above each row.
    pub(crate) module: Vec<u32>,
    /// Nearest `cpu_op` above each row.
    pub(crate) operator: Vec<u32>,
    /// Host events without a parent, in time order.
    pub(crate) roots: Vec<EventId>,
    /// `cpu_op` events without a `cpu_op` above, in time order.
    pub(crate) operator_roots: Vec<EventId>,
}

impl Layout {
    /// Derives the orders. `hosts` are the host events in time order, `parent` is indexed by row and must be
    /// free of cycles.
    pub(crate) fn new(trace: &Trace, names: &NameClasses, hosts: &[EventId], parent: &[u32]) -> Layout {
        let events = trace.events();
        let rows = events.len();
        let linked: Vec<EventId> = events
            .ids()
            .filter(|&event| parent[event.index()] != NONE && events.category(event).is_device())
            .collect();

        let has_parent = |event: &&EventId| parent[event.index()] != NONE;
        let (child_offsets, children) =
            grouped(rows, hosts.iter().filter(has_parent).chain(&linked).copied(), |event| {
                parent[event.index()] as usize
            });
        let roots = hosts.iter().copied().filter(|event| parent[event.index()] == NONE).collect();

        let mut layout = Layout {
            child_offsets,
            children,
            host_order: Vec::with_capacity(hosts.len()),
            position: vec![NONE; rows],
            module: vec![NONE; rows],
            operator: vec![NONE; rows],
            roots,
            ..Layout::default()
        };
        layout.number(trace, names, parent);
        layout.place_device_events(&linked, parent);
        let is_root = |event: &EventId| {
            events.category(*event) == Category::CPU_OP && layout.operator[event.index()] == NONE
        };
        layout.operator_roots = hosts.iter().copied().filter(is_root).collect();
        layout
    }

    /// Numbers the host events in pre-order and finds the nearest module and operator above every event.
    fn number(&mut self, trace: &Trace, names: &NameClasses, parent: &[u32]) {
        let events = trace.events();
        let mut stack: Vec<EventId> = self.roots.iter().rev().copied().collect();
        while let Some(event) = stack.pop() {
            let row = event.index();
            if parent[row] != NONE {
                let above = parent[row] as usize;
                let category = events.category(EventId(parent[row]));
                let is_module = category == Category::PYTHON_FUNCTION
                    && names.is_module(events.name(EventId(parent[row])));
                self.module[row] = if is_module { parent[row] } else { self.module[above] };
                let is_operator = category == Category::CPU_OP;
                self.operator[row] = if is_operator { parent[row] } else { self.operator[above] };
            }
            if events.category(event).is_device() {
                continue;
            }
            self.position[row] = self.host_order.len() as u32;
            self.host_order.push(event);
            stack.extend(
                self.children[self.child_offsets[row] as usize..self.child_offsets[row + 1] as usize]
                    .iter()
                    .rev(),
            );
        }
        self.subtree_end = (1..=self.host_order.len() as u32).collect();
        // Descendants come after their ancestors, so backwards every subtree is complete when it is reached.
        for position in (0..self.host_order.len()).rev() {
            let above = parent[self.host_order[position].index()];
            if above != NONE {
                let above = self.position[above as usize] as usize;
                self.subtree_end[above] = self.subtree_end[above].max(self.subtree_end[position]);
            }
        }
    }

    fn place_device_events(&mut self, linked: &[EventId], parent: &[u32]) {
        let position_of_launch = |event: EventId| self.position[parent[event.index()] as usize] as usize;
        (self.device_offsets, self.device_order) =
            grouped(self.host_order.len(), linked.iter().copied(), position_of_launch);
    }

    /// Host children in time order, then device children in file order.
    #[inline]
    pub(crate) fn children(&self, event: EventId) -> &[EventId] {
        let row = event.index();
        &self.children[self.child_offsets[row] as usize..self.child_offsets[row + 1] as usize]
    }

    /// Position in pre-order of a host event of the tree.
    #[inline]
    pub(crate) fn position(&self, event: EventId) -> Option<usize> {
        self.position
            .get(event.index())
            .filter(|&&position| position != NONE)
            .map(|&position| position as usize)
    }

    /// The host event and its host descendants in pre-order.
    pub(crate) fn subtree(&self, event: EventId) -> &[EventId] {
        match self.position(event) {
            Some(position) => &self.host_order[position..self.subtree_end[position] as usize],
            None => &[],
        }
    }

    /// The device events below a host event.
    #[inline]
    pub(crate) fn device_events(&self, event: EventId) -> &[EventId] {
        &self.device_order[self.device_positions(event)]
    }

    /// Where the device events below a host event stand among all of the tree.
    #[inline]
    pub(crate) fn device_positions(&self, event: EventId) -> Range<usize> {
        match self.position(event) {
            Some(position) => {
                let end = self.subtree_end[position] as usize;
                self.device_offsets[position] as usize..self.device_offsets[end] as usize
            }
            None => 0..0,
        }
    }
}

/// Events by the group that each belongs to, in their order within it, and where each group starts among them; one
/// start more than groups.
pub(crate) fn grouped(
    groups: usize,
    events: impl DoubleEndedIterator<Item = EventId> + Clone,
    group: impl Fn(EventId) -> usize,
) -> (Vec<u32>, Vec<EventId>) {
    let mut offsets = vec![0u32; groups + 1];
    for event in events.clone() {
        offsets[group(event)] += 1;
    }
    let mut sum = 0;
    for offset in &mut offsets {
        sum += *offset;
        *offset = sum;
    }
    // Each offset is the end of its group. From the last event on, it comes down to the start.
    let mut ordered = vec![EventId(NONE); sum as usize];
    for event in events.rev() {
        let offset = &mut offsets[group(event)];
        *offset -= 1;
        ordered[*offset as usize] = event;
    }
    (offsets, ordered)
}

#[cfg(test)]
mod tests {
    use crate::TraceTree;
    use crate::fixture::{Fixture, Planted, names};
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use trace_ingest::EventId;

    #[test]
    fn children_are_host_calls_in_time_order_then_device_events_in_file_order() {
        let mut fixture = Fixture::new();
        fixture.op("late", (20.0, 5.0));
        fixture.op("early", (10.0, 5.0));
        let op = fixture.op("op", (0.0, 100.0));
        let graph = fixture.launch("cudaGraphLaunch", (50.0, 30.0), 9);
        fixture.kernel("second", (200.0, 1.0), 9);
        fixture.kernel("first", (150.0, 1.0), 9);
        fixture.launch("cudaLaunchKernel", (60.0, 1.0), 10);
        let tree = fixture.tree();
        assert_eq!(names(&tree, tree.children(op)), ["early", "late", "cudaGraphLaunch"]);
        assert_eq!(names(&tree, tree.children(graph)), ["cudaLaunchKernel", "second", "first"]);
        assert_eq!(
            names(&tree, &tree.descendants(op).collect::<Vec<_>>()),
            ["early", "late", "cudaGraphLaunch", "cudaLaunchKernel", "second", "first"]
        );
    }

    #[test]
    fn device_events_come_in_call_order_and_on_request_in_file_order() {
        let mut fixture = Fixture::new();
        let op = fixture.op("op", (0.0, 100.0));
        fixture.launch("cudaLaunchKernel", (50.0, 5.0), 2);
        fixture.launch("cudaLaunchKernel", (10.0, 5.0), 1);
        fixture.kernel("a", (110.0, 1.0), 1);
        fixture.kernel("b", (120.0, 1.0), 2);
        let tree = fixture.tree();
        assert_eq!(names(&tree, tree.device_events(op)), ["a", "b"]);
        assert_eq!(names(&tree, &tree.device_events_in_file_order(op)), ["b", "a"]);
    }

    #[test]
    fn topmost_operators_are_roots_even_below_python_frames() {
        let mut fixture = Fixture::new();
        let frame = fixture.python("f", (0.0, 100.0));
        let outer = fixture.op("outer", (10.0, 50.0));
        fixture.python("g", (11.0, 20.0));
        let inner = fixture.op("inner", (12.0, 5.0));
        let other = fixture.op("other", (70.0, 5.0));
        let tree = fixture.tree();
        assert_eq!(tree.roots(), [frame]);
        assert_eq!(tree.operator_roots(), [outer, other]);
        assert_eq!(tree.operator(inner), Some(outer));
    }

    fn below(tree: &TraceTree, event: EventId) -> BTreeSet<EventId> {
        let mut found = BTreeSet::new();
        for &child in tree.children(event) {
            found.insert(child);
            found.extend(below(tree, child));
        }
        found
    }

    proptest! {
        #[test]
        fn slices_iterators_and_children_tell_the_same_tree(
            spans in prop::collection::vec((0u32..200, 1u32..60, 0u8..3), 1..40),
            device in prop::collection::vec((0i64..40, 0u32..100), 0..40),
        ) {
            let mut fixture = Fixture::new();
            for (index, &(start, duration, kind)) in spans.iter().enumerate() {
                let span = (f64::from(start), f64::from(duration));
                match kind {
                    0 => fixture.op("op", span),
                    1 => fixture.python("nn.Module: A_1", span),
                    _ => fixture.launch("cudaLaunchKernel", span, index as i64),
                };
            }
            for &(correlation, start) in &device {
                fixture.kernel("kernel", (f64::from(start), 1.0), correlation);
            }
            let tree = fixture.tree();
            let mut seen = 0;
            for event in tree.trace().events().ids() {
                let below = below(&tree, event);
                let iterated: Vec<EventId> = tree.descendants(event).collect();
                prop_assert_eq!(iterated.len(), below.len());
                prop_assert_eq!(iterated.iter().copied().collect::<BTreeSet<_>>(), below.clone());
                let (device, host): (Vec<EventId>, Vec<EventId>) =
                    iterated.iter().partition(|&&e| tree.trace().events().category(e).is_device());
                let mut slice = tree.device_events(event).to_vec();
                slice.sort();
                let mut sorted = device;
                sorted.sort();
                prop_assert_eq!(&slice, &sorted);
                let mut by_file = tree.device_events_in_file_order(event);
                by_file.sort();
                prop_assert_eq!(&by_file, &sorted);
                if tree.is_host(event) {
                    prop_assert_eq!(&tree.host_subtree(event)[1..], &host[..]);
                }
                for &child in tree.children(event) {
                    prop_assert_eq!(tree.parent(child), Some(event));
                }
                seen += usize::from(tree.contains(event));
            }
            let reached: usize = tree.roots().iter().map(|&root| 1 + tree.descendants(root).count()).sum();
            prop_assert_eq!(reached, seen);
            prop_assert_eq!(tree.node_count(), seen);
            prop_assert_eq!(seen + tree.unlinked_device_events().len(), tree.trace().events().len());
        }
    }
}
