//! Uses of the crates as libraries, one file each: `cargo run -p examples NAME [ARGUMENT…]`
//!
//! One program, so that tests link one. Each prints to the output that it is given; the tests read it.

mod device_timeline;
mod find_node;
mod linear_gpu_time;
mod load_and_walk;
mod metal_summary;
mod model_operations;
mod own_intervals;
mod own_model;
mod own_pass;
mod own_report;
mod own_sheet;
mod petgraph_dot;
mod rocprof_summary;
mod rooflines_without_trace;
mod sample_report;
mod short_pass;
mod summarise;
#[cfg(test)]
mod tests;
mod top_operators;
mod xplane_rate;
mod xplane_summary;

use std::error::Error;
use std::io::{Write, stdout};
use std::path::PathBuf;

/// Runs with its arguments and prints to the output.
type Example = fn(&[String], &mut dyn Write) -> Result<(), Box<dyn Error>>;

const EXAMPLES: &[(&str, Example)] = &[
    ("device_timeline", device_timeline::run),
    ("find_node", find_node::run),
    ("linear_gpu_time", linear_gpu_time::run),
    ("load_and_walk", load_and_walk::run),
    ("metal_summary", metal_summary::run),
    ("model_operations", model_operations::run),
    ("own_intervals", own_intervals::run),
    ("own_model", own_model::run),
    ("own_pass", own_pass::run),
    ("own_report", own_report::run),
    ("own_sheet", own_sheet::run),
    ("petgraph_dot", petgraph_dot::run),
    ("rocprof_summary", rocprof_summary::run),
    ("rooflines_without_trace", rooflines_without_trace::run),
    ("sample_report", sample_report::run),
    ("short_pass", short_pass::run),
    ("summarise", summarise::run),
    ("top_operators", top_operators::run),
    ("xplane_rate", xplane_rate::run),
    ("xplane_summary", xplane_summary::run),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, arguments)) = arguments.split_first() else {
        let names: Vec<&str> = EXAMPLES.iter().map(|(name, _)| *name).collect();
        return Err(format!("name an example: {}", names.join(", ")).into());
    };
    run(name, arguments, &mut stdout().lock())
}

fn run(name: &str, arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let found = EXAMPLES.iter().find(|(known, _)| *known == name);
    let (_, example) = found.ok_or_else(|| format!("no example is called {name}"))?;
    example(arguments, out)
}

/// The trace that the first argument names, else one of the repository.
fn trace(arguments: &[String]) -> PathBuf {
    let generated = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/generated/cuda_training_step.json.gz");
    PathBuf::from(arguments.first().map_or(generated, String::as_str))
}
