//! A graph of moments: an order in which every edge leads forward, and the longest path.

use std::collections::VecDeque;

/// An edge from one node to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Edge<K> {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Time that passes at least between the two.
    pub(crate) weight: i64,
    pub(crate) kind: K,
}

/// Nodes and edges, sorted so that every edge leads forward.
#[derive(Clone, Debug)]
pub(crate) struct Graph<K> {
    /// By the node that they lead to.
    pub(crate) edges: Vec<Edge<K>>,
    ends: Vec<u32>,
    /// The nodes in the order.
    pub(crate) order: Vec<u32>,
    /// Edges that were left out because they close a circle.
    pub(crate) circular: u64,
}

impl<K: Copy> Graph<K> {
    /// Sorts the nodes, whose numbers ascend in time. Edges of a circle that lead to an earlier number are left out.
    pub(crate) fn new(nodes: usize, mut edges: Vec<Edge<K>>) -> Self {
        let mut order = topological_order(nodes, &edges);
        let mut circular = 0;
        if order.len() < nodes {
            let mut is_sorted = vec![false; nodes];
            order.iter().for_each(|&node| is_sorted[node as usize] = true);
            edges.retain(|edge| {
                let leads_back = edge.to <= edge.from;
                let is_circular =
                    leads_back && !is_sorted[edge.from as usize] && !is_sorted[edge.to as usize];
                circular += u64::from(is_circular);
                !is_circular
            });
            order = topological_order(nodes, &edges);
        }
        // Stable: of edges to one node the first stays the first.
        edges.sort_by_key(|edge| edge.to);
        let mut ends = vec![0u32; nodes + 1];
        edges.iter().for_each(|edge| ends[edge.to as usize + 1] += 1);
        for node in 0..nodes {
            ends[node + 1] += ends[node];
        }
        Graph { edges, ends, order, circular }
    }

    pub(crate) fn nodes(&self) -> usize {
        self.ends.len() - 1
    }

    /// Positions of the edges that lead to a node.
    pub(crate) fn incoming(&self, node: u32) -> std::ops::Range<usize> {
        self.ends[node as usize] as usize..self.ends[node as usize + 1] as usize
    }

    /// The longest path from any node to any: positions of its edges in order, and its length. Of several the first.
    pub(crate) fn longest_path(&self) -> (Vec<usize>, i64) {
        let mut best: Vec<(i64, usize)> = vec![(0, usize::MAX); self.nodes()];
        for &node in &self.order {
            for position in self.incoming(node) {
                let edge = &self.edges[position];
                let length = best[edge.from as usize].0 + edge.weight;
                let known = best[node as usize];
                // Edges without weight before the first with one are part of the path, too.
                if length > known.0 || (length == known.0 && known.1 == usize::MAX) {
                    best[node as usize] = (length, position);
                }
            }
        }
        let mut last: Option<usize> = None;
        for (node, &(length, _)) in best.iter().enumerate() {
            if last.is_none_or(|last: usize| length > best[last].0) {
                last = Some(node);
            }
        }
        let Some(mut node) = last else { return (Vec::new(), 0) };
        let length = best[node].0;
        let mut path = Vec::new();
        while best[node].1 != usize::MAX {
            path.push(best[node].1);
            node = self.edges[best[node].1].from as usize;
        }
        path.reverse();
        (path, length)
    }
}

/// The nodes so that every edge leads forward; without those that a circle leads to.
fn topological_order<K>(nodes: usize, edges: &[Edge<K>]) -> Vec<u32> {
    let mut left = vec![0u32; nodes];
    let mut ends = vec![0u32; nodes + 1];
    for edge in edges {
        left[edge.to as usize] += 1;
        ends[edge.from as usize + 1] += 1;
    }
    for node in 0..nodes {
        ends[node + 1] += ends[node];
    }
    let mut next = ends.clone();
    let mut targets = vec![0u32; edges.len()];
    for edge in edges {
        targets[next[edge.from as usize] as usize] = edge.to;
        next[edge.from as usize] += 1;
    }
    let mut ready: VecDeque<u32> = (0..nodes as u32).filter(|&node| left[node as usize] == 0).collect();
    let mut order = Vec::with_capacity(nodes);
    while let Some(node) = ready.pop_front() {
        order.push(node);
        for &target in &targets[ends[node as usize] as usize..ends[node as usize + 1] as usize] {
            left[target as usize] -= 1;
            if left[target as usize] == 0 {
                ready.push_back(target);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edge((from, to, weight): (u32, u32, i64)) -> Edge<()> {
        Edge { from, to, weight, kind: () }
    }

    /// Length of the longest path by trying all of them.
    fn by_trying(edges: &[Edge<()>], node: u32) -> i64 {
        let onward = edges.iter().filter(|edge| edge.from == node);
        onward.map(|edge| edge.weight + by_trying(edges, edge.to)).max().unwrap_or(0).max(0)
    }

    #[test]
    fn a_circle_is_opened_and_counted() {
        let graph = Graph::new(4, [(0, 1, 1), (1, 2, 1), (2, 1, 5), (2, 3, 1)].map(edge).to_vec());
        assert_eq!(graph.circular, 1);
        assert_eq!(graph.order.len(), 4);
        assert_eq!(graph.longest_path().1, 3);
        let own = Graph::new(1, vec![edge((0, 0, 1))]);
        assert_eq!((own.circular, own.order.len()), (1, 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn the_longest_path_is_that_of_trying_all(
            edges in prop::collection::vec((0u32..9, 0u32..9, 0i64..20), 0..18),
        ) {
            let forward = edges.into_iter().filter(|(from, to, _)| from < to).map(edge).collect::<Vec<_>>();
            let graph = Graph::new(9, forward.clone());
            let (path, length) = graph.longest_path();
            prop_assert_eq!(length, (0..9).map(|node| by_trying(&forward, node)).max().unwrap_or(0));
            prop_assert_eq!(path.iter().map(|&edge| graph.edges[edge].weight).sum::<i64>(), length);
            prop_assert!(path.windows(2).all(|two| graph.edges[two[0]].to == graph.edges[two[1]].from));
        }
    }
}
