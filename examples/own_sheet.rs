//! A table of one's own with a chart, as a workbook, as CSV and as JSON: `cargo run -p examples own_sheet [FOLDER]`

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use report_writers::{JsonTable, Report, WRITERS, write_json};
use sheets::{Chart, ChartShape, Column, ColumnKind, Table, TableColumn, Unit};

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let folder = arguments.first().map_or_else(std::env::temp_dir, PathBuf::from);
    let layer = Column::new("layer", ColumnKind::Text, "Layer of the model.");
    let time = Column::new("time (ms)", ColumnKind::Number(Unit::Milliseconds), "Forward time in ms.");
    let chart = Chart::new("Forward time", "layer", "time (ms)", "time (ms)", ChartShape::Bars(10));
    let columns = vec![
        TableColumn::new(layer, ["embedding", "attention", "mlp"].map(Into::into)),
        TableColumn::new(time, [0.4, 9.25, 17.5].map(Into::into)),
    ];
    let table = Table::new("layers", columns)?.with_chart(chart)?;

    let json = folder.join("layers.json");
    write_json(&JsonTable::whole(&table), &mut File::create(&json)?)?;
    writeln!(out, "wrote {}", json.display())?;
    let report = Report::new("Layers", vec![table])?;
    for writer in WRITERS {
        let written = writer.write(&report, &folder.join(format!("layers.{}", writer.name())))?;
        written.paths.iter().try_for_each(|path| writeln!(out, "wrote {}", path.display()))?;
    }
    Ok(())
}
