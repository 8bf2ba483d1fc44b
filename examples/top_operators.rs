//! Prints the operators of a trace that took most of the device's time:
//! `cargo run --release -p examples top_operators trace.json.gz`
use std::error::Error;
use std::io::Write;

use trace_ingest::{ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisOptions, pytorch_sheets};

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let path = crate::trace(arguments);
    let trace = read_path(&path, &ReadOptions::default())?;
    let analysis = Analysis::new(trace, AnalysisOptions::default());

    let sheet =
        pytorch_sheets().into_iter().find(|sheet| sheet.name == "ops_summary").ok_or("no such sheet")?;
    let Some(operators) = sheet.table(&analysis)? else {
        writeln!(out, "no operator of this trace launched device work")?;
        return Ok(());
    };
    let column = |name: &str| operators.column(name).ok_or_else(|| format!("no column {name}"));
    let columns = [column("name")?, column("total_direct_kernel_time_ms")?, column("Percentage (%)")?];
    for row in 0..operators.height().min(10) {
        let [name, time, share] = columns.map(|column| column.cell(row));
        writeln!(out, "{:>12} ms {:>12}%  {}", time.text(), share.text(), name.text())?;
    }
    Ok(())
}
