//! The tables of a report, made from the sheets of its analysis.

use inference_phase::sheets::{PhaseAnalysis, phase_sheets};
use metal_perf::{Comparison, MetalReport, comparison_sheet, metal_sheets};
use report_writers::Report;
use rocprof_perf::{RocprofAnalysis, rocprof_sheets};
use sheets::{Sheet, Table};
use trace_ingest::ReadOptions;
use tree_perf::{Analysis, ReportLayout, inference_sheets, pytorch_sheets};
use xla_perf::collectives::{CollectiveAnalysis, collective_sheets};
use xla_perf::{JaxAnalysis, jax_sheets};

use crate::arguments::report::SheetNames;
use crate::error::Failure;
use crate::parallel::map_in_order;

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
    // One thread begins with what several sheets share.
    let work: Vec<Option<&Sheet<'_, Analysis>>> =
        (threads > 1).then_some(None).into_iter().chain(sheets.iter().map(Some)).collect();
    let made = map_in_order(&work, threads, |sheet| -> Result<Option<Table>, Failure> {
        let Some(sheet) = sheet else {
            analysis.prepare_sheets();
            return Ok(None);
        };
        let Some(table) = sheet.table(analysis)? else { return Ok(None) };
        Ok(Some(table.renamed(name_of(sheet, names))?))
    });
    let mut tables = Vec::new();
    let last_unified = sheets.iter().rposition(|sheet| sheet.name.starts_with("unified_perf_summary"));
    for (position, made) in made.into_iter().skip(work.len() - sheets.len()).enumerate() {
        tables.extend(made?);
        if let (Some(phases), true) = (phases, Some(position) == last_unified) {
            tables.extend(tables_of(phases, &phase_sheets())?);
        }
    }
    let extension_sheets = analysis.extension_sheets();
    tables.extend(tables_of(analysis, &extension_sheets)?);
    let both_names = |sheet: &Sheet<'_, Analysis>| {
        [SheetNames::Documented, SheetNames::Current].map(|names| name_of(sheet, names).to_owned())
    };
    let known = sheets.iter().chain(&extension_sheets).flat_map(both_names);
    let known = known.chain(phase_sheets().into_iter().map(|sheet| sheet.name.into_owned()));
    Ok(Report::new(title, tables)?.with_known_names(known))
}

/// Name of a sheet in the report.
fn name_of<'s, A>(sheet: &'s Sheet<'_, A>, names: SheetNames) -> &'s str {
    match (names, sheet.reference_name) {
        (SheetNames::Current, Some(name)) => name,
        _ => &sheet.name,
    }
}

/// All sheets that an XLA profile and the options give.
pub(crate) fn jax_report(analysis: &JaxAnalysis, title: &str) -> Result<Report, Failure> {
    report_of(analysis, &jax_sheets(), title)
}

/// The sheets of the collectives of a run, whose nodes have a profile each.
pub(crate) fn collectives_report(collectives: &CollectiveAnalysis, title: &str) -> Result<Report, Failure> {
    report_of(collectives, &collective_sheets(), title)
}

/// All sheets that a profile of rocprofv3 and the options give.
pub(crate) fn rocprof_report(analysis: &RocprofAnalysis, title: &str) -> Result<Report, Failure> {
    report_of(analysis, &rocprof_sheets(), title)
}

/// All sheets of Tenstorrent operations, and the comparison with a baseline if there is one.
pub(crate) fn metal_report(
    report: &MetalReport,
    comparison: Option<&Comparison>,
    title: &str,
) -> Result<Report, Failure> {
    let sheets = metal_sheets();
    let with_baseline = [comparison_sheet()];
    let mut tables = tables_of(report, &sheets)?;
    if let Some(comparison) = comparison {
        tables.extend(tables_of(comparison, &with_baseline)?);
    }
    let known = sheets.iter().map(|sheet| &sheet.name).chain(with_baseline.iter().map(|sheet| &sheet.name));
    let known: Vec<String> = known.map(|name| name.clone().into_owned()).collect();
    Ok(Report::new(title, tables)?.with_known_names(known))
}

fn report_of<'a, A>(analysis: &'a A, sheets: &[Sheet<'a, A>], title: &str) -> Result<Report, Failure> {
    let tables = tables_of(analysis, sheets)?;
    let threads = ReadOptions::default().thread_count();
    let known = sheets.iter().map(|sheet| sheet.name.clone());
    Ok(Report::new(title, tables)?.with_known_names(known).with_threads(threads))
}

/// The tables of the sheets that there is something to show in.
fn tables_of<'a, A>(analysis: &'a A, sheets: &[Sheet<'a, A>]) -> Result<Vec<Table>, Failure> {
    let tables = sheets.iter().filter_map(|sheet| sheet.table(analysis).transpose());
    Ok(tables.collect::<Result<_, _>>()?)
}
