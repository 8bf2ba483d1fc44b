//! Reads CSV files of operations on Tenstorrent devices and says what is in them and how fast they were read:
//! `cargo run --release -p examples metal_summary ops_perf_results_*.csv`

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use trace_ingest::ReadOptions;
use trace_ingest::metal::read_ops;

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let paths: Vec<PathBuf> = arguments.iter().map(PathBuf::from).collect();
    let begin = Instant::now();
    let table = read_ops(&paths, &ReadOptions::default())?;
    let elapsed = begin.elapsed();
    for file in &table.files {
        writeln!(out, "{}: {} rows, devices: {:?}", file.path.display(), file.rows.len(), file.devices)?;
    }
    writeln!(
        out,
        "{:?}: {} rows, {} tensors, {} distinct texts in {elapsed:.1?}",
        table.format,
        table.rows.len(),
        table.tensors.len(),
        table.strings.len(),
    )?;
    for warning in &table.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    Ok(())
}
