//! Loads a trace and walks its tree: `cargo run -p examples load_and_walk [TRACE]`

use std::error::Error;
use std::io::Write;

use trace_ingest::{ReadOptions, read_path};
use trace2tree::{PrintOptions, TraceTree, TreeOptions};

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let path = crate::trace(arguments);
    let tree = TraceTree::build(read_path(&path, &ReadOptions::default())?, &TreeOptions::default());
    for warning in tree.warnings() {
        writeln!(out, "note: {warning}")?;
    }
    writeln!(out, "{} nodes, {} roots", tree.node_count(), tree.roots().len())?;

    // The root with the most device events, and the longest way down from it.
    if let Some(&busiest) = tree.roots().iter().max_by_key(|&&root| tree.device_events(root).len()) {
        let options = PrintOptions { max_depth: Some(3), ..PrintOptions::default() };
        write!(out, "{}", tree.print_subtree(busiest, &options))?;
        let deepest = tree.descendants(busiest).max_by_key(|&event| tree.ancestors(event).count());
        if let Some(deepest) = deepest {
            write!(out, "{}", tree.print_parents(deepest, &options))?;
        }
    }
    Ok(())
}
