//! From the analysis' sheets to the writers' tables.

use inference_phase::sheets::{PhaseAnalysis, phase_sheets};
use metal_perf::{Comparison, MetalReport, comparison_sheet, metal_sheets};
use polars::prelude::DataFrame;
use report_writers::{
    CellKind, Chart, ChartKind, ColumnFormat, GroupColumns, Report, ScatterAxis, ScatterChart, ScatterPoints,
    ScatterWeights, SeriesFrom, Table, TableError,
};
use trace_ingest::ReadOptions;
use tree_perf::rocprof::{RocprofAnalysis, rocprof_sheets};
use tree_perf::{
    Analysis, ChartShape, Column, ColumnKind, ExtensionSheet, Sheet, SheetChart, Unit, pytorch_sheets,
};
use xla_perf::collectives::{CollectiveAnalysis, collective_sheets};
use xla_perf::{JaxAnalysis, jax_sheets};

use crate::arguments::report::SheetNames;
use crate::error::Failure;
use crate::parallel::map_in_order;

/// Name of a sheet in the report.
pub(crate) fn sheet_name(sheet: &Sheet, names: SheetNames) -> &'static str {
    match names {
        SheetNames::Documented => sheet.name,
        SheetNames::Current => sheet.current_name,
    }
}

/// All sheets that the trace and the options give, made by so many threads.
pub(crate) fn report(
    analysis: &Analysis,
    phases: Option<&PhaseAnalysis<'_>>,
    title: &str,
    sheets: &[&Sheet],
    names: SheetNames,
    threads: usize,
) -> Result<Report, Failure> {
    let mut tables = Vec::new();
    // One thread begins with what several sheets share.
    let work: Vec<Option<&Sheet>> =
        (threads > 1).then_some(None).into_iter().chain(sheets.iter().copied().map(Some)).collect();
    let made = map_in_order(&work, threads, |sheet| -> Result<Option<Table>, Failure> {
        let Some(sheet) = sheet else {
            analysis.prepare_sheets();
            return Ok(None);
        };
        let Some(frame) = sheet.build(analysis)? else { return Ok(None) };
        let name = sheet_name(sheet, names);
        Ok(Some(table(name, frame, |name| sheet.column(name), sheet.chart, names)?))
    });
    let last_unified = sheets.iter().rposition(|sheet| sheet.name.starts_with("unified_perf_summary"));
    for (position, made) in made.into_iter().skip(work.len() - sheets.len()).enumerate() {
        tables.extend(made?);
        if let (Some(phases), true) = (phases, Some(position) == last_unified) {
            for sheet in phase_sheets() {
                let Some(frame) = sheet.build(phases)? else { continue };
                tables.push(table(sheet.name, frame, |name| sheet.column(name), sheet.chart, names)?);
            }
        }
    }
    let of_extension = analysis.extension_sheets();
    for sheet in &of_extension {
        let Some(frame) = sheet.build(analysis)? else { continue };
        let formats = formats(&frame, |name| sheet.column(name));
        tables.push(Table::new(sheet.name(), frame, formats)?);
    }
    let known = sheets.iter().flat_map(|sheet| [sheet.name, sheet.current_name]);
    let known = known.chain(phase_sheets().iter().map(|sheet| sheet.name));
    let known = known.chain(of_extension.iter().map(ExtensionSheet::name));
    Ok(Report::new(title, tables)?.with_known_names(known))
}

/// All sheets that an XLA profile and the options give.
pub(crate) fn jax_report(analysis: &JaxAnalysis, title: &str) -> Result<Report, Failure> {
    adapted_report(analysis, &jax_sheets(), title)
}

/// The sheets of the collectives of a run, whose nodes have a profile each.
pub(crate) fn collectives_report(collectives: &CollectiveAnalysis, title: &str) -> Result<Report, Failure> {
    adapted_report(collectives, &collective_sheets(), title)
}

fn adapted_report<'a, A>(
    analysis: &'a A,
    sheets: &[sheets::Sheet<'a, A>],
    title: &str,
) -> Result<Report, Failure> {
    let mut tables = Vec::new();
    for sheet in sheets {
        tables.extend(sheet.table(analysis)?.map(|table| adapted(&table)).transpose()?);
    }
    let threads = ReadOptions::default().thread_count();
    let names = sheets.iter().map(|sheet| sheet.name.clone());
    Ok(Report::new(title, tables)?.with_known_names(names).with_threads(threads))
}

/// A table of the crate `sheets` as the writers take it.
fn adapted(table: &sheets::Table) -> Result<Table, Failure> {
    let format =
        |column: &sheets::TableColumn| ColumnFormat::new(cell_kind(column.kind()), column.description());
    let formats = table.columns().iter().map(format).collect();
    let adapted = Table::new(table.name(), table.to_dataframe()?, formats)?;
    Ok(match table.chart() {
        Some(chart) => with_chart(adapted, chart, SheetNames::Documented)?,
        None => adapted,
    })
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
        tables.push(table(sheet.name, frame, column, sheet.chart, SheetNames::Documented)?);
    }
    Ok(tables)
}

fn table(
    name: &str,
    frame: DataFrame,
    column: impl Fn(&str) -> Option<&'static Column>,
    chart: Option<SheetChart>,
    names: SheetNames,
) -> Result<Table, TableError> {
    let formats = formats(&frame, column);
    let has_rows = frame.height() > 0;
    let table = Table::new(name, frame, formats)?;
    match chart.filter(|_| has_rows) {
        Some(described) => with_chart(table, &described, names),
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

fn with_chart(table: Table, described: &SheetChart, names: SheetNames) -> Result<Table, TableError> {
    let make = |kind| Chart::new(kind, described.title, described.categories, [described.values]);
    let chart = match described.shape {
        ChartShape::Scatter { x, x_axis, groups, points } => {
            let axis = |column: &str, title: &str| ScatterAxis { column: column.into(), title: title.into() };
            // A sheet that does not exist is refused with the report.
            let sheet = pytorch_sheets().iter().find(|sheet| sheet.name == points.table);
            return table.with_scatter(ScatterChart {
                title: described.title.into(),
                x: axis(x, x_axis),
                y: axis(described.values, described.axis),
                groups: groups.into(),
                names: described.categories.into(),
                points: ScatterPoints {
                    table: sheet.map_or(points.table, |sheet| sheet_name(sheet, names)).into(),
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
