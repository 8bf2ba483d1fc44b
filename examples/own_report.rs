//! A report of one's own: two sheets of the PyTorch report, and a table that it does not have, in one
//! workbook: `cargo run -p examples --bin own_report [TRACE [WORKBOOK]]`

use std::error::Error;
use std::path::PathBuf;

use polars::prelude::df;
use report_writers::{CellKind, ColumnFormat, Report, Table, Workbook, Writer};
use trace_ingest::{ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisOptions, pytorch_sheets};

#[allow(clippy::print_stdout)] // an example's output
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let trace = arguments.next().unwrap_or_else(default_trace);
    let workbook = arguments.next().unwrap_or_else(|| std::env::temp_dir().join("own_report.xlsx"));
    let analysis = Analysis::new(read_path(&trace, &ReadOptions::default())?, AnalysisOptions::default());

    let mut tables = Vec::new();
    for sheet in pytorch_sheets() {
        if !["gpu_timeline", "ops_summary"].contains(&sheet.name.as_ref()) {
            continue;
        }
        let Some(table) = sheet.table(&analysis)? else { continue };
        let formats = table.columns().iter().map(|column| {
            let kind = if column.kind().is_numeric() { CellKind::Number } else { CellKind::Text };
            ColumnFormat::new(kind, column.description())
        });
        tables.push(Table::new(table.name(), table.to_dataframe()?, formats.collect())?);
    }

    let tree = analysis.tree();
    let calls = ["aten::addmm", "aten::mm", "aten::bmm"].map(|name| tree.find_by_name(name).len() as i64);
    let frame = df!("operator" => ["aten::addmm", "aten::mm", "aten::bmm"], "calls" => calls)?;
    let formats = vec![
        ColumnFormat::new(CellKind::Text, "Matrix product."),
        ColumnFormat::new(CellKind::Integer, "Calls in the trace, with or without device work."),
    ];
    tables.push(Table::new("matrix products", frame, formats)?);

    let written = Workbook.write(&Report::new("own report", tables)?, &workbook)?;
    println!("wrote {}", written.paths[0].display());
    Ok(())
}

fn default_trace() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/generated/cuda_training_step.json.gz"))
}
