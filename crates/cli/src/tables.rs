//! From the analysis' sheets to the writers' tables.

use report_writers::{CellKind, Chart, ChartKind, ColumnFormat, Report, SeriesFrom, Table};
use tree_perf::{Analysis, ChartShape, ColumnKind, Sheet, SheetChart, pytorch_sheets};

use crate::arguments::SheetNames;
use crate::error::Failure;

/// Name of a sheet in the report.
pub(crate) fn sheet_name(sheet: &Sheet, names: SheetNames) -> &'static str {
    match names {
        SheetNames::Documented => sheet.name,
        SheetNames::Current => sheet.current_name,
    }
}

/// All sheets that the trace and the options give.
pub(crate) fn report(analysis: &Analysis, title: &str, names: SheetNames) -> Result<Report, Failure> {
    let mut tables = Vec::new();
    for sheet in pytorch_sheets() {
        let Some(frame) = sheet.build(analysis)? else { continue };
        let format = |name: &str| match sheet.column(name) {
            Some(column) => ColumnFormat::new(cell_kind(column.kind), column.description),
            None => ColumnFormat::new(CellKind::Text, ""),
        };
        let formats = frame.columns().iter().map(|column| format(column.name())).collect();
        let has_rows = frame.height() > 0;
        let table = Table::new(sheet_name(sheet, names), frame, formats)?;
        tables.push(match sheet.chart.filter(|_| has_rows) {
            Some(described) => table.with_chart(chart(described))?,
            None => table,
        });
    }
    let known = pytorch_sheets().iter().flat_map(|sheet| [sheet.name, sheet.current_name]);
    Ok(Report::new(title, tables)?.with_known_names(known))
}

fn chart(described: SheetChart) -> Chart {
    let make = |kind| Chart::new(kind, described.title, described.categories, [described.values]);
    let chart = match described.shape {
        ChartShape::Stacked(rows) => Chart {
            series: SeriesFrom::Rows,
            ..make(ChartKind::StackedBar).with_only_rows(rows.iter().copied())
        },
        ChartShape::Bars(rows) => make(ChartKind::Bar).with_max_rows(rows),
    };
    chart.with_value_axis(described.axis)
}

fn cell_kind(kind: ColumnKind) -> CellKind {
    match kind {
        ColumnKind::Text | ColumnKind::Flag => CellKind::Text,
        ColumnKind::Literal => CellKind::Literal,
        ColumnKind::Count | ColumnKind::Identifier => CellKind::Integer,
        ColumnKind::Microseconds => CellKind::Microseconds,
        ColumnKind::Milliseconds => CellKind::Milliseconds,
        ColumnKind::Percent => CellKind::Percent,
        // A byte shows up in the last place.
        ColumnKind::Mebibytes => CellKind::Decimal { places: 6 },
        ColumnKind::Ratio => CellKind::Number,
    }
}
