//! Finds the calls of an operator and shows where they come from:
//! `cargo run -p examples --bin find_node [TRACE [NAME]]`

use std::error::Error;
use std::path::PathBuf;

use trace_ingest::{ReadOptions, read_path};
use trace2tree::{CallStackOptions, TraceTree, TreeOptions};

#[allow(clippy::print_stdout)] // an example's output
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let path = arguments.next().map_or_else(default_trace, PathBuf::from);
    let name =
        arguments.next().map_or_else(|| "aten::mm".to_owned(), |name| name.to_string_lossy().into_owned());

    let options = TreeOptions { python_frames: true, ..TreeOptions::default() };
    let tree = TraceTree::build(read_path(&path, &ReadOptions::default())?, &options);
    let found = tree.find_by_name(&name);
    println!("{} calls of {name}", found.len());
    for &event in found.iter().take(3) {
        let uid = tree.trace().events().uid(event);
        println!("\nevent {uid} in {}", tree.module_stack(event).join(" / "));
        for frame in tree.call_stack(event, &CallStackOptions { follow_forward: true, ..Default::default() })
        {
            println!("  {frame}");
        }
    }
    Ok(())
}

fn default_trace() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/generated/cuda_training_step.json.gz"))
}
