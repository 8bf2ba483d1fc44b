//! Reads a trace and prints what is in it: events by category, tracks, warnings.
//!
//! `cargo run --release -p trace-ingest --example summarise -- trace.json.gz`

use std::collections::BTreeMap;
use std::path::PathBuf;

use trace_ingest::{IngestError, ReadOptions, read_path};

#[allow(clippy::print_stdout)] // an example's output
fn main() -> Result<(), IngestError> {
    let generated =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated/cuda_training_step.json.gz");
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from(generated), PathBuf::from);
    let trace = read_path(&path, &ReadOptions::default())?;

    let mut by_category = BTreeMap::new();
    for event in trace.events().ids() {
        *by_category.entry(trace.category_name(trace.events().category(event))).or_insert(0u64) += 1;
    }
    println!(
        "{} entries, {} events on {} tracks",
        trace.entries(),
        trace.events().len(),
        trace.tracks().len()
    );
    for (category, count) in by_category {
        println!("{count:>10}  {category}");
    }
    println!("{} distinct strings, {} distinct signatures", trace.strings().len(), trace.signatures().len());
    for warning in trace.warnings() {
        println!("warning: {warning}");
    }
    Ok(())
}
