//! The tree as a petgraph graph, so that petgraph's walks, algorithms and Graphviz output work on it.

use std::fmt;
use std::iter::{Chain, Copied};
use std::option;
use std::slice;

use petgraph::visit::{
    Data, EdgeCount, EdgeRef, GraphBase, GraphProp, IntoEdgeReferences, IntoEdges, IntoEdgesDirected,
    IntoNeighbors, IntoNeighborsDirected, IntoNodeIdentifiers, IntoNodeReferences, NodeCount, NodeIndexable,
    NodeRef, Visitable,
};
use petgraph::{Directed, Direction};
use trace_ingest::EventId;

use crate::event_set::EventSet;
use crate::tree::TraceTree;

/// What a child is to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdgeKind {
    /// The child ran inside the parent on the host.
    Call,
    /// The parent launched the child on a device.
    Launch,
}

impl fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EdgeKind::Call => "call",
            EdgeKind::Launch => "launch",
        })
    }
}

/// A node with its name as weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeReference<'t> {
    event: EventId,
    name: &'t str,
}

impl<'t> NodeRef for NodeReference<'t> {
    type NodeId = EventId;
    type Weight = &'t str;

    fn id(&self) -> EventId {
        self.event
    }

    fn weight(&self) -> &&'t str {
        &self.name
    }
}

/// An edge from a parent to a child. An event has one parent at most, so the child is the edge's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeReference {
    parent: EventId,
    child: EventId,
    kind: EdgeKind,
}

impl EdgeRef for EdgeReference {
    type NodeId = EventId;
    type EdgeId = EventId;
    type Weight = EdgeKind;

    fn source(&self) -> EventId {
        self.parent
    }

    fn target(&self) -> EventId {
        self.child
    }

    fn weight(&self) -> &EdgeKind {
        &self.kind
    }

    fn id(&self) -> EventId {
        self.child
    }
}

impl TraceTree {
    fn edge_to(&self, child: EventId) -> Option<EdgeReference> {
        let kind = match self.trace().events().category(child).is_device() {
            true => EdgeKind::Launch,
            false => EdgeKind::Call,
        };
        self.parent(child).map(|parent| EdgeReference { parent, child, kind })
    }
}

type Neighbors<'t> = Chain<Copied<slice::Iter<'t, EventId>>, option::IntoIter<EventId>>;
type Nodes<'t> = Chain<Copied<slice::Iter<'t, EventId>>, Copied<slice::Iter<'t, EventId>>>;

/// Edges to the events of an iterator.
#[derive(Clone, Debug)]
pub struct EdgesTo<'t, I> {
    tree: &'t TraceTree,
    children: I,
}

impl<I: Iterator<Item = EventId>> Iterator for EdgesTo<'_, I> {
    type Item = EdgeReference;

    fn next(&mut self) -> Option<EdgeReference> {
        self.children.by_ref().find_map(|child| self.tree.edge_to(child))
    }
}

/// Nodes with their names.
#[derive(Clone, Debug)]
pub struct NodeReferences<'t> {
    tree: &'t TraceTree,
    nodes: Nodes<'t>,
}

impl<'t> Iterator for NodeReferences<'t> {
    type Item = NodeReference<'t>;

    fn next(&mut self) -> Option<NodeReference<'t>> {
        let event = self.nodes.next()?;
        Some(NodeReference { event, name: self.tree.trace().name(event) })
    }
}

impl GraphBase for TraceTree {
    type NodeId = EventId;
    type EdgeId = EventId;
}

impl GraphProp for TraceTree {
    type EdgeType = Directed;
}

// On the reference, because node weights borrow from the tree.
impl<'t> Data for &'t TraceTree {
    type NodeWeight = &'t str;
    type EdgeWeight = EdgeKind;
}

impl NodeCount for TraceTree {
    fn node_count(&self) -> usize {
        TraceTree::node_count(self)
    }
}

impl EdgeCount for TraceTree {
    fn edge_count(&self) -> usize {
        TraceTree::node_count(self) - self.roots().len()
    }
}

/// Node indices are rows of the event table; not every row is a node.
impl NodeIndexable for TraceTree {
    fn node_bound(&self) -> usize {
        self.trace().events().len()
    }

    fn to_index(&self, event: EventId) -> usize {
        event.index()
    }

    fn from_index(&self, index: usize) -> EventId {
        EventId(index as u32)
    }
}

impl Visitable for TraceTree {
    type Map = EventSet;

    fn visit_map(&self) -> EventSet {
        EventSet::with_capacity(self.trace().events().len())
    }

    fn reset_map(&self, map: &mut EventSet) {
        map.clear();
    }
}

impl<'t> IntoNodeIdentifiers for &'t TraceTree {
    type NodeIdentifiers = Nodes<'t>;

    fn node_identifiers(self) -> Nodes<'t> {
        self.host_events().iter().copied().chain(self.linked_device_events().iter().copied())
    }
}

impl<'t> IntoNodeReferences for &'t TraceTree {
    type NodeRef = NodeReference<'t>;
    type NodeReferences = NodeReferences<'t>;

    fn node_references(self) -> NodeReferences<'t> {
        NodeReferences { tree: self, nodes: self.node_identifiers() }
    }
}

impl<'t> IntoNeighbors for &'t TraceTree {
    type Neighbors = Neighbors<'t>;

    fn neighbors(self, event: EventId) -> Neighbors<'t> {
        self.neighbors_directed(event, Direction::Outgoing)
    }
}

impl<'t> IntoNeighborsDirected for &'t TraceTree {
    type NeighborsDirected = Neighbors<'t>;

    fn neighbors_directed(self, event: EventId, direction: Direction) -> Neighbors<'t> {
        match direction {
            Direction::Outgoing => self.children(event).iter().copied().chain(None),
            Direction::Incoming => [].iter().copied().chain(self.parent(event)),
        }
    }
}

impl<'t> IntoEdgeReferences for &'t TraceTree {
    type EdgeRef = EdgeReference;
    type EdgeReferences = EdgesTo<'t, Nodes<'t>>;

    fn edge_references(self) -> Self::EdgeReferences {
        EdgesTo { tree: self, children: self.node_identifiers() }
    }
}

impl<'t> IntoEdges for &'t TraceTree {
    type Edges = EdgesTo<'t, Neighbors<'t>>;

    fn edges(self, event: EventId) -> Self::Edges {
        self.edges_directed(event, Direction::Outgoing)
    }
}

impl<'t> IntoEdgesDirected for &'t TraceTree {
    type EdgesDirected = EdgesTo<'t, Neighbors<'t>>;

    fn edges_directed(self, event: EventId, direction: Direction) -> Self::EdgesDirected {
        let children = match direction {
            Direction::Outgoing => self.neighbors_directed(event, direction),
            Direction::Incoming => [].iter().copied().chain(Some(event)),
        };
        EdgesTo { tree: self, children }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use petgraph::algo::{is_cyclic_directed, toposort};
    use petgraph::dot::{Config, Dot};
    use petgraph::visit::{Bfs, Dfs, DfsPostOrder, EdgeFiltered, Reversed, Walker};

    fn sample() -> TraceTree {
        let mut fixture = Fixture::new();
        fixture.op("aten::linear", (0.0, 100.0));
        fixture.op("aten::addmm", (10.0, 50.0));
        fixture.launch("cudaLaunchKernel", (20.0, 5.0), 1);
        fixture.op("aten::t", (70.0, 5.0));
        fixture.kernel("unlinked", (90.0, 1.0), 8);
        fixture.kernel("gemm \"x\"", (200.0, 30.0), 1);
        fixture.tree()
    }

    fn rows(events: impl IntoIterator<Item = EventId>) -> Vec<usize> {
        events.into_iter().map(EventId::index).collect()
    }

    #[test]
    fn depth_first_and_breadth_first_walks_reach_the_subtree() {
        let tree = sample();
        let mut depth_first = rows(Dfs::new(&tree, EventId(0)).iter(&tree));
        depth_first.sort_unstable();
        assert_eq!(depth_first, [0, 1, 2, 3, 5]);
        assert_eq!(rows(Bfs::new(&tree, EventId(0)).iter(&tree)), [0, 1, 3, 2, 5]);
        assert_eq!(rows(DfsPostOrder::new(&tree, EventId(1)).iter(&tree)), [5, 2, 1]);
        assert_eq!(rows(Dfs::new(Reversed(&tree), EventId(5)).iter(Reversed(&tree))), [5, 2, 1, 0]);
    }

    #[test]
    fn algorithms_see_a_directed_forest() {
        let tree = sample();
        assert!(!is_cyclic_directed(&tree));
        assert_eq!(toposort(&tree, None).unwrap()[0], EventId(0));
        assert_eq!((NodeCount::node_count(&tree), tree.edge_count()), (5, 4));
        assert_eq!((&tree).edge_references().count(), 4);
        let calls = EdgeFiltered::from_fn(&tree, |edge: EdgeReference| *edge.weight() == EdgeKind::Call);
        assert_eq!(Dfs::new(&calls, EventId(0)).iter(&calls).count(), 4);
    }

    #[test]
    fn edges_run_from_parent_to_child_in_both_directions_of_search() {
        let tree = sample();
        let into: Vec<_> = (&tree).edges_directed(EventId(5), Direction::Incoming).collect();
        assert_eq!(into, [EdgeReference { parent: EventId(2), child: EventId(5), kind: EdgeKind::Launch }]);
        let out: Vec<_> =
            (&tree).edges(EventId(0)).map(|edge| (edge.source().index(), edge.target().index())).collect();
        assert_eq!(out, [(0, 1), (0, 3)]);
        assert_eq!((&tree).edges_directed(EventId(0), Direction::Incoming).count(), 0);
    }

    #[test]
    fn graphviz_output_names_events_and_kinds_of_edges() {
        let tree = sample();
        let dot = Dot::with_config(&tree, &[]).to_string();
        assert!(dot.starts_with("digraph {\n    0 [ label = \"aten::linear\" ]\n"), "{dot}");
        assert!(dot.contains("    5 [ label = \"gemm \\\"x\\\"\" ]\n"));
        assert!(dot.contains("    2 -> 5 [ label = \"launch\" ]\n"));
        assert!(!dot.contains("unlinked"));
        let plain = Dot::with_config(&tree, &[Config::EdgeNoLabel]).to_string();
        assert!(plain.contains("    0 -> 1 [ ]\n"), "{plain}");
    }
}
