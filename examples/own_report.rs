//! A report of one's own: two sheets of the PyTorch report, and a table that it does not have, in one
//! workbook: `cargo run -p examples own_report [TRACE [WORKBOOK]]`

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use report_writers::{Report, Workbook, Writer};
use sheets::{Column, ColumnKind, Table, TableColumn};
use trace_ingest::{ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisOptions, pytorch_sheets};

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let trace = crate::trace(arguments);
    let workbook =
        arguments.get(1).map_or_else(|| std::env::temp_dir().join("own_report.xlsx"), PathBuf::from);
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
    writeln!(out, "wrote {}", written.paths[0].display())?;
    Ok(())
}
