//! Prints the subtree of the first operator with device work in Graphviz format, by way of petgraph:
//! `cargo run --example petgraph_dot [TRACE] | dot -Tsvg > tree.svg`

use std::error::Error;
use std::path::PathBuf;

use petgraph::dot::{Config, Dot};
use trace_ingest::{ReadOptions, read_path};
use trace2tree::{EventSet, TraceTree, TreeOptions};

#[allow(clippy::print_stdout)] // an example's output
fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map_or_else(default_trace, PathBuf::from);
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
    print!("{}", Dot::with_config(&graph, &[Config::EdgeNoLabel]));
    Ok(())
}

fn default_trace() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated/cuda_training_step.json.gz"))
}
