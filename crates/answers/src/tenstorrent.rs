//! The report of Tenstorrent operations.

use std::collections::BTreeMap;
use std::path::PathBuf;

use advise::Limits;
use metal_perf::{MetalOptions, MetalReport, Op, metal_sheets};
use sheets::{Layout, Scope, Sheet, TableError};
use trace_diff::{
    CompareOptions, Comparison, Side, TIME_CHANGE, all_comparison_sheets, compare, comparison_sheets,
    is_compared,
};
use trace_ingest::metal::{OpType, OpsFile, OpsTable, OpsWarning, read_ops};

use crate::advice::{self, first_of};
use crate::envelope::{Input, Losses, Trust};
use crate::error::Error;
use crate::notice::Notice;
use crate::parts::SheetNames;
use crate::picture::{self, NothingToDraw, Picture};
use crate::report::{Analysed, Report, Reporter, Run, Stage, pictures, tables, title, titled};
use crate::runs::{names_of, statements};
use crate::summary::Summary;

/// Makes the report of Tenstorrent operations, of the files of several hosts of one run as of one.
#[derive(Default)]
pub struct TenstorrentReporter {
    /// What is reported.
    pub analysis: MetalOptions,
    /// A run to compare with.
    pub baseline: Option<PathBuf>,
}

impl Reporter for TenstorrentReporter {
    fn report(self, paths: &[PathBuf], run: &mut Run<'_>) -> Result<Report, Error> {
        let Some(first) = paths.first() else { return Err(Error::NoRecording) };
        let conventions = self.analysis.conventions;
        let tells_all = conventions.scope == Scope::Full;
        let analysis = analysis(paths, self.analysis.clone(), run)?;
        let comparison = match &self.baseline {
            Some(path) => {
                // IDs of one file say nothing of another.
                let options = MetalOptions { id_range: None, ..self.analysis };
                let baseline = self::analysis(std::slice::from_ref(path), options, run)?;
                let names = names_of(&[path.clone(), first.clone()]);
                Some(compared([&baseline, &analysis], names)?)
            }
            None => None,
        };
        run.begin(Stage::Sheets);
        let title = title(first);
        let (mut made, mut known) = tables(&analysis, metal_sheets(), conventions.layout)?;
        known.extend(baseline_sheets().into_iter().map(|sheet| sheet.name.into_owned()));
        if let Some(comparison) = &comparison {
            made.extend(tables(comparison, comparison_sheets(comparison, BASELINE), conventions.layout)?.0);
        }
        // The findings have a sheet of that name among those of operations.
        let advice = tells_all.then(|| advice::of_operations(&analysis, &Limits::default()));
        let tables = titled(&title, (made, known), run)?;
        let mut notices: Vec<Notice> = analysis.notices.iter().cloned().map(Notice::Tenstorrent).collect();
        let of_both = comparison.iter().flat_map(|comparison| comparison.notices.iter().cloned());
        notices.extend(of_both.map(Notice::Comparison));
        let pictures = pictures(run, &mut notices, |picture| match picture {
            Picture::StackedTime(arrangement) => {
                picture::stacked_time(&analysis, &title, arrangement).map(Ok)
            }
            Picture::Rooflines | Picture::Steps => Ok(Err(NothingToDraw::OtherReports)),
        })?;
        let summary = Summary {
            head: vec![title, analysis.chip.name.to_string()],
            statements: comparison.as_ref().map(statements).unwrap_or_default(),
            findings: first_of(advice.as_ref()),
            ..Summary::default()
        };
        let analysis = Analysed::Tenstorrent(Box::new(analysis), comparison);
        let report = Report { tables, summary, notices, pictures, advice, analysis };
        if tells_all { report.with_overview(SheetNames::Documented, run) } else { Ok(report) }
    }
}

/// How far the figures of operations can be trusted. They were recorded without the host's calls and the program's frames.
pub(crate) fn trust(analysis: &MetalReport) -> Trust {
    let OpsTable { rows, warnings, .. } = &analysis.table;
    let truncated =
        warnings.iter().any(|warning| matches!(warning, OpsWarning::Source { loses_rows: true, .. }));
    let malformed = warnings.iter().map(|warning| match warning {
        OpsWarning::MalformedRows { count, .. } => *count,
        _ => 0,
    });
    let losses = Losses { truncated, bytes: (!truncated).then_some(0), events: malformed.sum() };
    let on_devices = || rows.iter().filter(|row| row.op_type == OpType::Device);
    let time = |op: &Op| op.device_time_us.unwrap_or(0.0);
    let all: f64 = analysis.ops.iter().map(time).sum();
    let is_modelled = |op: &&Op| op.analysed == metal_perf::Analysed::Full;
    let modelled: f64 = analysis.ops.iter().filter(is_modelled).map(time).sum();
    Trust {
        modelled_pct_of_time: (all > 0.0).then(|| 100.0 * modelled / all),
        shapes: Some(on_devices().any(|row| !row.inputs.is_empty() || !row.outputs.is_empty())),
        ..Trust::new(on_devices().count(), losses)
    }
}

/// What a file says of itself.
pub(crate) fn tell(input: &mut Input, table: &OpsTable, file: &OpsFile) {
    let rows = &table.rows[file.rows.start as usize..file.rows.end as usize];
    let devices: BTreeMap<u32, &str> = rows
        .iter()
        .filter_map(|row| Some((row.device?, table.text(row.arch).trim())))
        .filter(|(_, name)| !name.is_empty())
        .collect();
    input.devices = devices.into_values().map(ToOwned::to_owned).collect();
    input.events = Some(rows.len() as u64);
}

/// What follows the names of the sheets in which the run stands beside the baseline.
const BASELINE: &str = "_vs_baseline";

/// The sheets in which the run stands beside a baseline.
pub(crate) fn baseline_sheets() -> Vec<Sheet<'static, Comparison>> {
    let compared = metal_sheets().into_iter().map(|sheet| format!("{}{BASELINE}", sheet.name));
    let names: Vec<String> = compared.chain([format!("{TIME_CHANGE}{BASELINE}")]).collect();
    let mut sheets = all_comparison_sheets(BASELINE);
    sheets.retain(|sheet| names.iter().any(|name| *name == sheet.name));
    sheets
}

/// Two runs side by side, the baseline first.
fn compared(reports: [&MetalReport; 2], names: Vec<String>) -> Result<Comparison, TableError> {
    let mut sides = Vec::new();
    for (report, name) in reports.into_iter().zip(names) {
        let mut sheets = metal_sheets();
        sheets.retain(|sheet| is_compared(&sheet.name, &[]));
        sides.push(Side { name, tables: tables(report, sheets, Layout::Roles)?.0, steps: None });
    }
    Ok(compare(&sides[0], &sides[1], &CompareOptions::default()))
}

fn analysis(paths: &[PathBuf], options: MetalOptions, run: &mut Run<'_>) -> Result<MetalReport, Error> {
    run.begin(Stage::Read);
    let table = read_ops(paths, &run.reading)?;
    run.count_events(table.rows.len());
    run.begin(Stage::Analysis);
    MetalReport::new(table, options).map_err(|error| Error::Metal { paths: paths.to_vec(), error })
}
