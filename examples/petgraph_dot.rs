//! Prints the subtree of the first operator with device work in Graphviz format, by way of petgraph:
//! `cargo run -p examples petgraph_dot [TRACE] | dot -Tsvg > tree.svg`

use std::error::Error;
use std::io::Write;

use petgraph::dot::{Config, Dot};
use trace_ingest::{ReadOptions, read_path};
use trace2tree::{EventSet, TraceTree, TreeOptions};

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let path = crate::trace(arguments);
    let tree = TraceTree::build(read_path(&path, &ReadOptions::default())?, &TreeOptions::default());
    let Some(&root) = tree.operator_roots().iter().find(|&&root| !tree.non_gpu_path(root)) else {
        return Err("no operator of the trace launched device work".into());
    };

    let mut subtree = EventSet::with_capacity(tree.trace().events().len());
    subtree.insert(root);
    for event in tree.descendants(root) {
        subtree.insert(event);
    }
    let graph = tree
        .to_graph()
        .filter_map(|_, node| subtree.contains(node.event).then_some(*node), |_, kind| Some(*kind));
    write!(out, "{}", Dot::with_config(&graph, &[Config::EdgeNoLabel]))?;
    Ok(())
}
