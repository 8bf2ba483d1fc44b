//! Reads a trace and prints what is in it: events by category, tracks, warnings.
//!
//! `cargo run --release -p examples summarise trace.json.gz`

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;

use trace_ingest::{ReadOptions, read_path};

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let path = crate::trace(arguments);
    let trace = read_path(&path, &ReadOptions::default())?;

    let mut by_category = BTreeMap::new();
    for event in trace.events().ids() {
        *by_category.entry(trace.category_name(trace.events().category(event))).or_insert(0u64) += 1;
    }
    writeln!(
        out,
        "{} entries, {} events on {} tracks",
        trace.entries(),
        trace.events().len(),
        trace.tracks().len()
    )?;
    for (category, count) in by_category {
        writeln!(out, "{count:>10}  {category}")?;
    }
    writeln!(
        out,
        "{} distinct strings, {} distinct signatures",
        trace.strings().len(),
        trace.signatures().len()
    )?;
    for warning in trace.warnings() {
        writeln!(out, "warning: {warning}")?;
    }
    Ok(())
}
