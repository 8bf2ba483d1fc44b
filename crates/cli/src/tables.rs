//! From the analysis' sheets to the writers' tables.

use inference_phase::sheets::{PhaseAnalysis, phase_sheets};
use metal_perf::{Comparison, MetalReport, comparison_sheet, metal_sheets};
use polars::prelude::DataFrame;
use report_writers::Report;
use rocprof_perf::{RocprofAnalysis, rocprof_sheets};
use sheets::{Chart, Table, TableError};
use trace_ingest::ReadOptions;
use tree_perf::{Analysis, ChartShape, Column, ExtensionSheet, Sheet, SheetChart, pytorch_sheets};
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
        Ok(Some(table(name, &frame, |name| sheet.column(name), sheet.chart, names)?))
    });
    let last_unified = sheets.iter().rposition(|sheet| sheet.name.starts_with("unified_perf_summary"));
    for (position, made) in made.into_iter().skip(work.len() - sheets.len()).enumerate() {
        tables.extend(made?);
        if let (Some(phases), true) = (phases, Some(position) == last_unified) {
            for sheet in phase_sheets() {
                let Some(frame) = sheet.build(phases)? else { continue };
                tables.push(table(sheet.name, &frame, |name| sheet.column(name), sheet.chart, names)?);
            }
        }
    }
    let of_extension = analysis.extension_sheets();
    for sheet in &of_extension {
        let Some(frame) = sheet.build(analysis)? else { continue };
        tables.push(Table::from_dataframe(sheet.name(), &frame, |name| sheet.column(name))?);
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
    let sheets = rocprof_sheets();
    let tables = made(analysis, &sheets)?;
    let threads = ReadOptions::default().thread_count();
    let known = sheets.iter().map(|sheet| sheet.name.as_ref());
    Ok(Report::new(title, tables)?.with_known_names(known).with_threads(threads))
}

/// The tables that there are.
fn made<'a, A>(analysis: &'a A, sheets: &[sheets::Sheet<'a, A>]) -> Result<Vec<Table>, Failure> {
    let tables = sheets.iter().filter_map(|sheet| sheet.table(analysis).transpose());
    Ok(tables.collect::<Result<_, _>>()?)
}

/// All sheets of Tenstorrent operations, and the comparison with a baseline if there is one.
pub(crate) fn metal_report(
    report: &MetalReport,
    comparison: Option<&Comparison>,
    title: &str,
) -> Result<Report, Failure> {
    let sheets = metal_sheets();
    let mut tables = made(report, &sheets)?;
    let baseline = comparison_sheet();
    let known = sheets.iter().map(|sheet| sheet.name.as_ref()).chain([baseline.name.as_ref()]);
    let known: Vec<String> = known.map(str::to_owned).collect();
    if let Some(comparison) = comparison {
        tables.extend(made(comparison, &[baseline])?);
    }
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
        tables.push(table(sheet.name, &frame, column, sheet.chart, SheetNames::Documented)?);
    }
    Ok(tables)
}

fn table(
    name: &str,
    frame: &DataFrame,
    column: impl Fn(&str) -> Option<&'static Column>,
    chart: Option<SheetChart>,
    names: SheetNames,
) -> Result<Table, TableError> {
    let table = Table::from_dataframe(name, frame, column)?;
    match chart.filter(|_| frame.height() > 0) {
        Some(chart) => table.with_chart(adapted(&chart, names)),
        None => Ok(table),
    }
}

fn adapted(chart: &SheetChart, names: SheetNames) -> Chart {
    let shape = match chart.shape {
        ChartShape::Stacked(parts) => sheets::ChartShape::Stacked(parts),
        ChartShape::Bars(rows) => sheets::ChartShape::Bars(rows),
        ChartShape::Columns(title) => sheets::ChartShape::Columns(title),
        ChartShape::Scatter { x, x_axis, groups, points } => {
            // A sheet that does not exist is refused with the report.
            let sheet = pytorch_sheets().iter().find(|sheet| sheet.name == points.table);
            let points = sheets::ScatterPoints {
                table: sheet.map_or(points.table, |sheet| sheet_name(sheet, names)),
                x: points.x,
                y: points.y,
                groups: points.groups,
                labels: points.labels,
                weights: points.weights,
                thresholds: points.thresholds,
            };
            sheets::ChartShape::Scatter { x, x_axis, groups, points }
        }
        ChartShape::Grouped { title, groups, order, labels, rows } => {
            sheets::ChartShape::Grouped { title, groups, order, labels, rows }
        }
    };
    Chart::new(chart.title, chart.categories, chart.values, chart.axis, shape)
}
