//! Loads a trace and walks its tree: `cargo run -p examples --bin load_and_walk [TRACE]`

use std::error::Error;
use std::path::PathBuf;

use trace_ingest::{ReadOptions, read_path};
use trace2tree::{PrintOptions, TraceTree, TreeOptions};

#[allow(clippy::print_stdout)] // an example's output
fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map_or_else(default_trace, PathBuf::from);
    let tree = TraceTree::build(read_path(&path, &ReadOptions::default())?, &TreeOptions::default());
    for warning in tree.warnings() {
        println!("note: {warning}");
    }
    println!("{} nodes, {} roots", tree.node_count(), tree.roots().len());

    // The root with the most device events, and the longest way down from it.
    if let Some(&busiest) = tree.roots().iter().max_by_key(|&&root| tree.device_events(root).len()) {
        let options = PrintOptions { max_depth: Some(3), ..PrintOptions::default() };
        print!("{}", tree.print_subtree(busiest, &options));
        let deepest = tree.descendants(busiest).max_by_key(|&event| tree.ancestors(event).count());
        if let Some(deepest) = deepest {
            print!("{}", tree.print_parents(deepest, &options));
        }
    }
    Ok(())
}

fn default_trace() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/generated/cuda_training_step.json.gz"))
}
