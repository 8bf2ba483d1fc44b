//! The tree as a petgraph graph, for petgraph's walks, algorithms and Graphviz output.

use std::fmt;

use petgraph::graph::{DiGraph, NodeIndex};
use trace_ingest::EventId;

use crate::tree::TraceTree;

/// What a child is to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
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

/// A node of the graph. Displays as the event's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphNode<'t> {
    /// The event.
    pub event: EventId,
    /// Its name.
    pub name: &'t str,
}

impl fmt::Display for GraphNode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl TraceTree {
    /// The tree as a graph with an edge from each parent to each child, the children of a node in their order. Host
    /// nodes come first, in pre-order, then device nodes in the order of their launches.
    pub fn to_graph(&self) -> DiGraph<GraphNode<'_>, EdgeKind> {
        let mut graph = DiGraph::with_capacity(self.node_count(), self.node_count());
        let mut nodes = vec![NodeIndex::end(); self.trace().events().len()];
        for &event in self.host_events().iter().chain(self.linked_device_events()) {
            nodes[event.index()] = graph.add_node(GraphNode { event, name: self.trace().name(event) });
        }
        for parent in graph.node_indices() {
            // petgraph goes through the edges of a node from the last one that was added.
            for &child in self.children(graph[parent].event).iter().rev() {
                let is_device = self.trace().events().category(child).is_device();
                let kind = if is_device { EdgeKind::Launch } else { EdgeKind::Call };
                graph.add_edge(parent, nodes[child.index()], kind);
            }
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, Planted};
    use petgraph::Direction;
    use petgraph::algo::{is_cyclic_directed, toposort};
    use petgraph::dot::{Config, Dot};
    use petgraph::visit::{Bfs, Dfs, DfsPostOrder, EdgeFiltered, EdgeRef, Reversed, Walker};

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

    fn node(graph: &DiGraph<GraphNode<'_>, EdgeKind>, row: u32) -> NodeIndex {
        graph.node_indices().find(|&node| graph[node].event == EventId(row)).unwrap()
    }

    fn rows(
        graph: &DiGraph<GraphNode<'_>, EdgeKind>,
        nodes: impl IntoIterator<Item = NodeIndex>,
    ) -> Vec<usize> {
        nodes.into_iter().map(|node| graph[node].event.index()).collect()
    }

    #[test]
    fn depth_first_and_breadth_first_walks_reach_the_subtree() {
        let tree = sample();
        let graph = tree.to_graph();
        let walk = |row| node(&graph, row);
        assert_eq!(rows(&graph, Dfs::new(&graph, walk(0)).iter(&graph)).len(), 5);
        assert_eq!(rows(&graph, Bfs::new(&graph, walk(0)).iter(&graph)), [0, 1, 3, 2, 5]);
        assert_eq!(rows(&graph, DfsPostOrder::new(&graph, walk(1)).iter(&graph)), [5, 2, 1]);
        let up = Reversed(&graph);
        assert_eq!(rows(&graph, Dfs::new(up, walk(5)).iter(up)), [5, 2, 1, 0]);
    }

    #[test]
    fn algorithms_see_a_directed_forest() {
        let tree = sample();
        let graph = tree.to_graph();
        assert!(!is_cyclic_directed(&graph));
        assert_eq!(toposort(&graph, None).unwrap()[0], node(&graph, 0));
        assert_eq!((graph.node_count(), graph.edge_count()), (5, 4));
        let calls = EdgeFiltered::from_fn(&graph, |edge| *edge.weight() == EdgeKind::Call);
        assert_eq!(Dfs::new(&calls, node(&graph, 0)).iter(&calls).count(), 4);
    }

    #[test]
    fn edges_run_from_parent_to_child() {
        let tree = sample();
        let graph = tree.to_graph();
        let into: Vec<_> = graph.edges_directed(node(&graph, 5), Direction::Incoming).collect();
        assert_eq!(into.len(), 1);
        assert_eq!((into[0].source(), *into[0].weight()), (node(&graph, 2), EdgeKind::Launch));
        assert_eq!(rows(&graph, graph.neighbors(node(&graph, 0))), [1, 3]);
        assert_eq!(graph.edges_directed(node(&graph, 0), Direction::Incoming).count(), 0);
    }

    #[test]
    fn graphviz_output_names_events_and_kinds_of_edges() {
        let tree = sample();
        let graph = tree.to_graph();
        let dot = Dot::with_config(&graph, &[]).to_string();
        assert!(dot.starts_with("digraph {\n    0 [ label = \"aten::linear\" ]\n"), "{dot}");
        assert!(dot.contains(" [ label = \"gemm \\\"x\\\"\" ]\n"), "{dot}");
        assert!(dot.contains(" [ label = \"launch\" ]\n"), "{dot}");
        assert!(!dot.contains("unlinked"));
        let plain = Dot::with_config(&graph, &[Config::EdgeNoLabel]).to_string();
        assert!(plain.contains("    0 -> 1 [ ]\n"), "{plain}");
    }
}
