//! How long the device worked for `aten::linear`, forward and backward:
//! `cargo run -p examples --bin linear_gpu_time [TRACE]`

use std::error::Error;
use std::path::PathBuf;

use trace_ingest::{ReadOptions, read_path};
use trace2tree::{TraceTree, TreeOptions, busy_time};

#[allow(clippy::print_stdout)] // an example's output
fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map_or_else(default_trace, PathBuf::from);
    let tree = TraceTree::build(read_path(&path, &ReadOptions::default())?, &TreeOptions::default());
    let (trace, calls) = (tree.trace(), tree.find_by_name("aten::linear"));

    // Subtrees of different calls are disjoint, but their kernels may run at the same time: busy time counts
    // such time once.
    let forward = calls.iter().flat_map(|&call| tree.device_events(call)).copied();
    let forward = busy_time(trace.events(), forward);
    let backward = calls.iter().flat_map(|&call| tree.backward_events_of_subtree(call));
    let backward: Vec<_> = backward.flat_map(|event| tree.device_events(event).iter().copied()).collect();
    let backward = busy_time(trace.events(), backward);

    println!("{} calls of aten::linear", calls.len());
    println!("forward:  {:.3} µs", trace.to_microseconds(forward));
    println!("backward: {:.3} µs", trace.to_microseconds(backward));
    Ok(())
}

fn default_trace() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/generated/cuda_training_step.json.gz"))
}
