//! Finds the calls of an operator and shows where they come from:
//! `cargo run -p examples find_node [TRACE [NAME]]`

use std::error::Error;
use std::io::Write;

use trace_ingest::{ReadOptions, read_path};
use trace2tree::{CallStackOptions, TraceTree, TreeOptions};

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let path = crate::trace(arguments);
    let name = arguments.get(1).map_or("aten::mm", String::as_str);

    let options = TreeOptions { python_frames: true, ..TreeOptions::default() };
    let tree = TraceTree::build(read_path(&path, &ReadOptions::default())?, &options);
    let found = tree.find_by_name(name);
    writeln!(out, "{} calls of {name}", found.len())?;
    for &event in found.iter().take(3) {
        let uid = tree.trace().events().uid(event);
        writeln!(out, "\nevent {uid} in {}", tree.module_stack(event).join(" / "))?;
        for frame in tree.call_stack(event, &CallStackOptions { follow_forward: true, ..Default::default() })
        {
            writeln!(out, "  {frame}")?;
        }
    }
    Ok(())
}
