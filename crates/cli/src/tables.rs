//! From the analysis' sheets to the writers' tables.

use inference_phase::sheets::{PhaseAnalysis, phase_sheets};
use metal_perf::{Comparison, MetalReport, comparison_sheet, metal_sheets};
use polars::prelude::DataFrame;
use report_writers::{
    CellKind, Chart, ChartKind, ColumnFormat, GroupColumns, Report, ScatterAxis, ScatterChart, ScatterPoints,
    ScatterWeights, SeriesFrom, Table, TableError,
};
use sheets::TableColumn;
use trace_ingest::ReadOptions;
use tree_perf::jax::collectives::{CollectiveAnalysis, collective_sheets};
use tree_perf::jax::{JaxAnalysis, jax_sheets};
use tree_perf::rocprof::{RocprofAnalysis, rocprof_sheets};
use tree_perf::{
    Analysis, ChartShape, Column, ColumnKind, ReportLayout, Sheet, SheetChart, Unit, inference_sheets,
    pytorch_sheets,
};

use crate::arguments::report::SheetNames;
use crate::error::Failure;
use crate::parallel::map_in_order;

/// Name of a sheet in the report.
fn sheet_name<A>(sheet: &sheets::Sheet<'_, A>, names: SheetNames) -> String {
    match (names, sheet.reference_name) {
        (SheetNames::Current, Some(name)) => name.to_owned(),
        _ => sheet.name.to_string(),
    }
}

/// All sheets that the trace and the options give, made by so many threads.
pub(crate) fn report(
    analysis: &Analysis,
    phases: Option<&PhaseAnalysis<'_>>,
    title: &str,
    names: SheetNames,
    threads: usize,
) -> Result<Report, Failure> {
    let sheets = match analysis.options().layout {
        ReportLayout::Standard => pytorch_sheets(),
        ReportLayout::Inference => inference_sheets(),
    };
    let mut tables = Vec::new();
    // One thread begins with what several sheets share.
    let work: Vec<Option<&sheets::Sheet<'_, Analysis>>> =
        (threads > 1).then_some(None).into_iter().chain(sheets.iter().map(Some)).collect();
    let made = map_in_order(&work, threads, |sheet| -> Result<Option<Table>, Failure> {
        let Some(sheet) = sheet else {
            analysis.prepare_sheets();
            return Ok(None);
        };
        sheet.table(analysis)?.map(|table| adapted(sheet_name(sheet, names), &table)).transpose()
    });
    let last_unified = sheets.iter().rposition(|sheet| sheet.name.starts_with("unified_perf_summary"));
    for (position, made) in made.into_iter().skip(work.len() - sheets.len()).enumerate() {
        tables.extend(made?);
        if let (Some(phases), true) = (phases, Some(position) == last_unified) {
            for sheet in phase_sheets() {
                let Some(table) = sheet.table(phases)? else { continue };
                tables.push(adapted(table.name(), &table)?);
            }
        }
    }
    let extension_sheets = analysis.extension_sheets();
    for sheet in &extension_sheets {
        let Some(table) = sheet.table(analysis)? else { continue };
        tables.push(adapted(table.name(), &table)?);
    }
    let both_names = |sheet: &sheets::Sheet<'_, Analysis>| {
        [SheetNames::Documented, SheetNames::Current].map(|names| sheet_name(sheet, names))
    };
    let known = sheets.iter().chain(&extension_sheets).flat_map(both_names);
    let known = known.chain(phase_sheets().into_iter().map(|sheet| sheet.name.to_string()));
    Ok(Report::new(title, tables)?.with_known_names(known))
}

/// A table as the writers take it.
fn adapted(name: impl Into<String>, table: &sheets::Table) -> Result<Table, Failure> {
    let format = |column: &TableColumn| ColumnFormat::new(cell_kind(column.kind()), column.description());
    let formats = table.columns().iter().map(format).collect();
    let made = Table::new(name, table.to_dataframe()?, formats)?;
    Ok(match table.chart() {
        Some(chart) => with_chart(made, chart)?,
        None => made,
    })
}

/// All sheets that an XLA profile and the options give.
pub(crate) fn jax_report(analysis: &JaxAnalysis, title: &str) -> Result<Report, Failure> {
    report_of(analysis, jax_sheets().iter().copied(), title)
}

/// The sheets of the collectives of a run, whose nodes have a profile each.
pub(crate) fn collectives_report(collectives: &CollectiveAnalysis, title: &str) -> Result<Report, Failure> {
    report_of(collectives, collective_sheets().iter(), title)
}

/// All sheets that a profile of rocprofv3 and the options give.
pub(crate) fn rocprof_report(analysis: &RocprofAnalysis, title: &str) -> Result<Report, Failure> {
    report_of(analysis, rocprof_sheets().iter().copied(), title)
}

/// All sheets of Tenstorrent operations, and the comparison with a baseline if there is one.
pub(crate) fn metal_report(
    report: &MetalReport,
    comparison: Option<&Comparison>,
    title: &str,
) -> Result<Report, Failure> {
    let sheets = metal_sheets();
    let mut tables = tables_of(report, sheets.iter().copied())?;
    if let Some(comparison) = comparison {
        tables.extend(tables_of(comparison, [comparison_sheet()].into_iter())?);
    }
    let known = sheets.iter().map(|sheet| sheet.name).chain([comparison_sheet().name]);
    Ok(Report::new(title, tables)?.with_known_names(known))
}

fn report_of<A: 'static>(
    analysis: &A,
    sheets: impl Iterator<Item = &'static Sheet<A>> + Clone,
    title: &str,
) -> Result<Report, Failure> {
    let tables = tables_of(analysis, sheets.clone())?;
    let threads = ReadOptions::default().thread_count();
    Ok(Report::new(title, tables)?.with_known_names(sheets.map(|sheet| sheet.name)).with_threads(threads))
}

fn tables_of<A: 'static>(
    analysis: &A,
    sheets: impl Iterator<Item = &'static Sheet<A>>,
) -> Result<Vec<Table>, Failure> {
    let mut tables = Vec::new();
    for sheet in sheets {
        let Some(frame) = sheet.build(analysis)? else { continue };
        let column = |name: &str| sheet.column(name);
        tables.push(table(sheet.name, frame, column, sheet.chart)?);
    }
    Ok(tables)
}

fn table(
    name: &str,
    frame: DataFrame,
    column: impl Fn(&str) -> Option<&'static Column>,
    chart: Option<SheetChart>,
) -> Result<Table, TableError> {
    let formats = formats(&frame, column);
    let has_rows = frame.height() > 0;
    let table = Table::new(name, frame, formats)?;
    match chart.filter(|_| has_rows) {
        Some(described) => with_chart(table, &described),
        None => Ok(table),
    }
}

/// How the columns of a sheet are written.
fn formats(frame: &DataFrame, column: impl Fn(&str) -> Option<&'static Column>) -> Vec<ColumnFormat> {
    let format = |name: &str| match column(name) {
        Some(column) => ColumnFormat::new(cell_kind(column.kind), column.description),
        None => ColumnFormat::new(CellKind::Text, ""),
    };
    frame.columns().iter().map(|column| format(column.name())).collect()
}

fn with_chart(table: Table, described: &SheetChart) -> Result<Table, TableError> {
    let make = |kind| Chart::new(kind, described.title, described.categories, [described.values]);
    let chart = match described.shape {
        ChartShape::Scatter { x, x_axis, groups, points } => {
            let axis = |column: &str, title: &str| ScatterAxis { column: column.into(), title: title.into() };
            return table.with_scatter(ScatterChart {
                title: described.title.into(),
                x: axis(x, x_axis),
                y: axis(described.values, described.axis),
                groups: groups.into(),
                names: described.categories.into(),
                points: ScatterPoints {
                    table: points.table.into(),
                    x: points.x.into(),
                    y: points.y.into(),
                    groups: points.groups.into(),
                    labels: points.labels.into(),
                    weights: ScatterWeights {
                        column: points.weights.into(),
                        thresholds: points.thresholds.to_vec(),
                    },
                },
            });
        }
        ChartShape::Grouped { title, groups, order, labels, rows } => {
            let owned = |names: &[&str]| names.iter().copied().map(String::from).collect();
            return table.with_group_columns(GroupColumns {
                title: described.title.into(),
                categories: described.categories.into(),
                category_axis: title.into(),
                values: described.values.into(),
                value_axis: described.axis.into(),
                groups: groups.into(),
                group_order: owned(order),
                labels: owned(labels),
                max_rows: rows,
            });
        }
        ChartShape::Stacked(rows) => Chart {
            series: SeriesFrom::Rows,
            ..make(ChartKind::StackedBar).with_only_rows(rows.iter().copied())
        },
        ChartShape::Bars(rows) => make(ChartKind::Bar).with_max_rows(rows),
        ChartShape::Columns(title) => make(ChartKind::Column).with_category_axis(title),
    };
    table.with_chart(chart.with_value_axis(described.axis))
}

fn cell_kind(kind: ColumnKind) -> CellKind {
    match kind {
        ColumnKind::Text | ColumnKind::Flag => CellKind::Text,
        ColumnKind::Nested => CellKind::Literal,
        ColumnKind::Count | ColumnKind::Identifier | ColumnKind::Whole(_) => CellKind::Integer,
        ColumnKind::Number(Unit::Microseconds) => CellKind::Microseconds,
        ColumnKind::Number(Unit::Milliseconds) => CellKind::Milliseconds,
        ColumnKind::Number(Unit::Percent) => CellKind::Percent,
        // A byte shows up in the last place.
        ColumnKind::Number(Unit::Mebibytes) => CellKind::Decimal { places: 6 },
        ColumnKind::Number(_) => CellKind::Number,
    }
}
