//! Reads CSV files of operations on Tenstorrent devices and says what is in them and how fast they were read:
//! `cargo run --release -p trace-ingest --example metal_summary -- ops_perf_results_*.csv`

#![allow(clippy::print_stdout)] // an example's output

use std::path::PathBuf;
use std::time::Instant;

use trace_ingest::ReadOptions;
use trace_ingest::metal::read_ops;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let begin = Instant::now();
    let table = read_ops(&paths, &ReadOptions::default())?;
    let elapsed = begin.elapsed();
    for file in &table.files {
        println!("{}: {} rows, devices: {:?}", file.path.display(), file.rows.len(), file.devices);
    }
    println!(
        "{:?}: {} rows, {} tensors, {} distinct texts in {elapsed:.1?}",
        table.format,
        table.rows.len(),
        table.tensors.len(),
        table.strings.len(),
    );
    for warning in &table.warnings {
        println!("warning: {warning}");
    }
    Ok(())
}
