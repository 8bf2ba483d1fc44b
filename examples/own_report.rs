//! A report of one's own: two sheets of the PyTorch report, and a table that it does not have, in one
//! workbook: `cargo run -p examples --bin own_report [TRACE [WORKBOOK]]`

use std::error::Error;
use std::path::PathBuf;

use report_writers::{Report, Workbook, Writer};
use sheets::{Column, ColumnKind, Table, TableColumn};
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
        if ["gpu_timeline", "ops_summary"].contains(&sheet.name.as_ref()) {
            tables.extend(sheet.table(&analysis)?);
        }
    }

    let tree = analysis.tree();
    let operators = ["aten::addmm", "aten::mm", "aten::bmm"];
    let calls = Column::new("calls", ColumnKind::Count, "Calls in the trace, with or without device work.");
    let columns = vec![
        TableColumn::new(
            Column::new("operator", ColumnKind::Text, "Matrix product."),
            operators.map(|name| name.into()),
        ),
        TableColumn::new(calls, operators.map(|name| tree.find_by_name(name).len().into())),
    ];
    tables.push(Table::new("matrix products", columns)?);

    let written = Workbook.write(&Report::new("own report", tables)?, &workbook)?;
    println!("wrote {}", written.paths[0].display());
    Ok(())
}

fn default_trace() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/generated/cuda_training_step.json.gz"))
}
