//! How long the device worked for `aten::linear`, forward and backward:
//! `cargo run -p examples linear_gpu_time [TRACE]`

use std::error::Error;
use std::io::Write;

use trace_ingest::{ReadOptions, read_path};
use trace2tree::{TraceTree, TreeOptions};

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let path = crate::trace(arguments);
    let tree = TraceTree::build(read_path(&path, &ReadOptions::default())?, &TreeOptions::default());
    let calls = tree.find_by_name("aten::linear");

    // Subtrees of different calls are disjoint, but their kernels may run at the same time: busy time counts
    // such time once.
    let forward = tree.gpu_time_of(calls);
    let backward: Vec<_> = calls.iter().flat_map(|&call| tree.backward_events_of_subtree(call)).collect();
    let backward = tree.gpu_time_of(&backward);

    writeln!(out, "{} calls of aten::linear", calls.len())?;
    writeln!(out, "forward:  {:.3} µs", forward.microseconds())?;
    writeln!(out, "backward: {:.3} µs", backward.microseconds())?;
    Ok(())
}
