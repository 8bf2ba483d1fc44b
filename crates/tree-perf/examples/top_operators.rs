//! Prints the operators of a trace that took most of the device's time:
//! `cargo run --release -p tracelens-tree-perf --example top_operators -- trace.json.gz`
#![allow(clippy::print_stdout)] // an example prints

use std::error::Error;
use std::path::PathBuf;

use trace_ingest::{ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisOptions, pytorch_sheets};

fn main() -> Result<(), Box<dyn Error>> {
    let generated =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated/cuda_training_step.json.gz");
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from(generated), PathBuf::from);
    let trace = read_path(&path, &ReadOptions::default())?;
    let analysis = Analysis::new(trace, AnalysisOptions::default());

    let sheet =
        pytorch_sheets().into_iter().find(|sheet| sheet.name == "ops_summary").ok_or("no such sheet")?;
    let Some(operators) = sheet.table(&analysis)? else {
        println!("no operator of this trace launched device work");
        return Ok(());
    };
    let column = |name: &str| operators.column(name).ok_or_else(|| format!("no column {name}"));
    let columns = [column("name")?, column("total_direct_kernel_time_ms")?, column("Percentage (%)")?];
    for row in 0..operators.height().min(10) {
        let [name, time, share] = columns.map(|column| column.cell(row));
        println!("{:>12} ms {:>12} %  {}", time.text(), share.text(), name.text());
    }
    Ok(())
}
