//! Device time as a tree: what called what, and how long the device worked for it.

use std::collections::HashMap;

use serde::Serialize;

/// A tree of times; a node's children lie within it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Icicle {
    /// How it divides the time: `module → operator → kernel`.
    pub title: String,
    /// What the times are, and what is put together.
    pub note: String,
    /// The nodes, each behind its parent; the first is the root. Siblings stand by time, the longest first.
    pub nodes: Vec<IcicleNode>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IcicleNode {
    /// Place of the node that it is in; the root has none.
    pub parent: Option<usize>,
    /// Name.
    pub name: String,
    /// What it is: `module`, `operator`, `kernel`, a kind of work.
    pub kind: &'static str,
    /// Kind of work that colours it; empty where it is of several.
    pub category: String,
    /// Its time in nanoseconds: never less than that of its children together.
    pub time_ns: i64,
    /// Device events in it.
    pub count: usize,
}

/// Nodes of a picture. More have no room, and are put together.
const MOST_NODES: usize = 3_000;

/// Puts times at places of a tree, by path. `N` names a node among its siblings, `C` is its kind of work.
#[derive(Debug)]
pub struct IcicleBuilder<N, C> {
    nodes: Vec<Building<N, C>>,
    by_name: HashMap<(usize, &'static str, N), usize>,
}

#[derive(Debug)]
struct Building<N, C> {
    parent: usize,
    name: Option<N>,
    kind: &'static str,
    category: Option<C>,
    is_mixed: bool,
    time: i64,
    count: usize,
    children: Vec<usize>,
}

impl<N: Copy + Eq + std::hash::Hash, C: Copy + PartialEq> Default for IcicleBuilder<N, C> {
    fn default() -> Self {
        IcicleBuilder { nodes: vec![Building::new(0, None, "all")], by_name: HashMap::new() }
    }
}

impl<N, C> Building<N, C> {
    fn new(parent: usize, name: Option<N>, kind: &'static str) -> Self {
        Building {
            parent,
            name,
            kind,
            category: None,
            is_mixed: false,
            time: 0,
            count: 0,
            children: Vec::new(),
        }
    }
}

impl<N: Copy + Eq + std::hash::Hash, C: Copy + PartialEq> IcicleBuilder<N, C> {
    /// The root.
    pub const ROOT: usize = 0;

    /// The node of this name and kind in another one.
    pub fn node(&mut self, parent: usize, kind: &'static str, name: N) -> usize {
        let next = self.nodes.len();
        let node = *self.by_name.entry((parent, kind, name)).or_insert(next);
        if node == next {
            self.nodes.push(Building::new(parent, Some(name), kind));
            self.nodes[parent].children.push(node);
        }
        node
    }

    /// Adds a device event to a node and all above it. Its time is in any unit.
    pub fn add(&mut self, node: usize, category: C, time: i64) {
        let mut at = node;
        loop {
            let node = &mut self.nodes[at];
            node.time += time;
            node.count += 1;
            node.is_mixed |= node.category.is_some_and(|known| known != category);
            node.category = Some(category);
            if at == Self::ROOT {
                return;
            }
            at = node.parent;
        }
    }

    /// The picture, with times divided by `per_nanosecond`; `None` where there is no time.
    #[must_use]
    pub fn finish(
        self,
        title: impl Into<String>,
        note: impl Into<String>,
        per_nanosecond: i64,
        name_of: impl Fn(N) -> String,
        category_of: impl Fn(C) -> String,
    ) -> Option<Icicle> {
        let nodes = self.nodes;
        if nodes[Self::ROOT].time <= 0 {
            return None;
        }
        let least = least_time(&nodes);
        let mut shown: Vec<IcicleNode> = Vec::new();
        let mut waiting = vec![(Self::ROOT, None)];
        while let Some((at, parent)) = waiting.pop() {
            let node = &nodes[at];
            let place = shown.len();
            shown.push(IcicleNode {
                parent,
                name: node.name.map_or_else(|| "all device work".to_owned(), &name_of),
                kind: node.kind,
                category: match node.category {
                    Some(category) if !node.is_mixed => category_of(category),
                    _ => String::new(),
                },
                time_ns: node.time / per_nanosecond.max(1),
                count: node.count,
            });
            let mut children = node.children.clone();
            children.sort_by_key(|&child| (std::cmp::Reverse(nodes[child].time), child));
            let kept = children.partition_point(|&child| nodes[child].time >= least);
            let small = &children[kept..];
            if !small.is_empty() {
                let sum = |value: fn(&Building<N, C>) -> i64| {
                    small.iter().map(|&at| value(&nodes[at])).sum::<i64>()
                };
                shown.push(IcicleNode {
                    parent: Some(place),
                    name: format!("{} more", small.len()),
                    kind: "small",
                    category: String::new(),
                    time_ns: sum(|node| node.time) / per_nanosecond.max(1),
                    count: small.iter().map(|&at| nodes[at].count).sum(),
                });
            }
            waiting.extend(children[..kept].iter().rev().map(|&child| (child, Some(place))));
        }
        Some(Icicle { title: title.into(), note: note.into(), nodes: shown })
    }
}

/// The least time of a node that is shown, so that there are not too many.
fn least_time<N, C>(nodes: &[Building<N, C>]) -> i64 {
    let mut times: Vec<i64> = nodes.iter().map(|node| node.time).collect();
    times.sort_unstable_by_key(|&time| std::cmp::Reverse(time));
    times.get(MOST_NODES).map_or(0, |&time| time + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn icicle(builder: IcicleBuilder<u32, u8>) -> Option<Icicle> {
        builder.finish("t", "n", 1, |name| format!("n{name}"), |category| format!("c{category}"))
    }

    #[test]
    fn nodes_have_the_time_of_their_children_the_longest_first() {
        let mut builder = IcicleBuilder::default();
        let (a, b) = (builder.node(0, "module", 1), builder.node(0, "module", 2));
        let kernel = builder.node(b, "kernel", 1);
        builder.add(a, 0, 10);
        builder.add(kernel, 1, 30);
        builder.add(kernel, 1, 5);
        assert_eq!(builder.node(b, "kernel", 1), kernel);
        let shown = icicle(builder).unwrap();
        let rows: Vec<_> = shown
            .nodes
            .iter()
            .map(|node| (node.parent, node.name.as_str(), node.category.as_str(), node.time_ns, node.count))
            .collect();
        assert_eq!(
            rows,
            [
                (None, "all device work", "", 45, 3),
                (Some(0), "n2", "c1", 35, 2),
                (Some(1), "n1", "c1", 35, 2),
                (Some(0), "n1", "c0", 10, 1),
            ]
        );
    }

    #[test]
    fn small_nodes_are_put_together_and_no_time_is_lost() {
        let mut builder = IcicleBuilder::default();
        for name in 0..5_000 {
            let node = builder.node(0, "kernel", name);
            builder.add(node, 0, i64::from(name));
        }
        let shown = icicle(builder).unwrap();
        assert!(shown.nodes.len() <= MOST_NODES + 1, "{}", shown.nodes.len());
        let sum: i64 = shown.nodes[1..].iter().map(|node| node.time_ns).sum();
        assert_eq!(sum, shown.nodes[0].time_ns);
        assert!(shown.nodes.iter().any(|node| node.kind == "small" && node.name.ends_with(" more")));
    }

    #[test]
    fn without_time_there_is_no_picture() {
        assert_eq!(icicle(IcicleBuilder::default()), None);
    }
}
