//! How long the device worked for `aten::linear`, forward and backward:
//! `cargo run -p examples --bin linear_gpu_time [TRACE]`

use std::error::Error;
use std::path::PathBuf;

use trace_ingest::{ReadOptions, read_path};
use trace2tree::{TraceTree, TreeOptions};

#[allow(clippy::print_stdout)] // an example's output
fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map_or_else(default_trace, PathBuf::from);
    let tree = TraceTree::build(read_path(&path, &ReadOptions::default())?, &TreeOptions::default());
    let calls = tree.find_by_name("aten::linear");

    // Subtrees of different calls are disjoint, but their kernels may run at the same time: busy time counts
    // such time once.
    let forward = tree.gpu_time_of(calls);
    let backward: Vec<_> = calls.iter().flat_map(|&call| tree.backward_events_of_subtree(call)).collect();
    let backward = tree.gpu_time_of(&backward);

    println!("{} calls of aten::linear", calls.len());
    println!("forward:  {:.3} µs", forward.microseconds());
    println!("backward: {:.3} µs", backward.microseconds());
    Ok(())
}

fn default_trace() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/generated/cuda_training_step.json.gz"))
}
