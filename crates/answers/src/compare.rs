//! Reports of several runs side by side.

use std::path::{Path, PathBuf};

use reference_tools::{Conventions, ParityTables, SheetGroup, compare_as_tracelens, tracelens};
use rocprof_perf::RocprofOptions;
use sheets::{Table, names_a_file};
use trace_diff::{
    CompareOptions, Side, all_comparison_sheets, compare, comparison_sheets, is_compared, read_report,
    report_format,
};
use trace_ingest::{RecordingKind, is_standard_input, recognise};

use crate::any_recording::AnyReporter;
use crate::error::Error;
use crate::known_sheets::column_names;
use crate::notice::Notice;
use crate::parts::SheetNames;
use crate::picture::NothingToDraw;
use crate::repeated::repeated;
use crate::report::{Analysed, Report, Reporter, Run, Stage, pictures, tables, titled};
use crate::rocprof::RocprofReporter;
use crate::runs::{gpus, head, names_of_runs, statements};
use crate::summary::Summary;
use crate::trace::TraceReporter;

/// Compares runs with the first of them. Each is a report that was written before, or a recording, whose report is made
/// for the occasion.
#[derive(Default)]
pub struct CompareReporter {
    /// What the runs are called; by their files where it is empty.
    pub names: Vec<String>,
    /// How they are compared.
    pub options: CompareOptions,
    /// Steps of the program in each run; what the reports say where it is empty.
    pub steps: Vec<u64>,
    /// The sheets that are compared as TraceLens does it, with its figures, where that is asked for.
    pub as_tracelens: Option<Vec<SheetGroup>>,
}

impl Reporter for CompareReporter {
    fn report(self, paths: &[PathBuf], run: &mut Run<'_>) -> Result<Report, Error> {
        if paths.len() < 2 {
            return Err(Error::OneRun { given: paths.len() });
        }
        // The tables of the runs are what is compared.
        run.first_page_only = false;
        let names = names_of_runs(&self.names, paths)?;
        if !self.steps.is_empty() && self.steps.len() != paths.len() {
            return Err(Error::CountOfRuns {
                what: "step counts",
                given: self.steps.len(),
                runs: paths.len(),
            });
        }
        let mut notices = Vec::new();
        let mut sides = Vec::with_capacity(paths.len());
        let mut gpu_names = Vec::with_capacity(paths.len());
        for (position, (path, name)) in paths.iter().zip(names).enumerate() {
            let steps = self.steps.get(position).copied();
            let (side, gpus) = self.side(path, name, run, &mut notices)?;
            gpu_names.push(gpus);
            sides.push(Side { steps, ..side });
        }
        run.begin(Stage::Analysis);
        if let Some(groups) = &self.as_tracelens {
            return as_tracelens(&sides, groups, notices, run);
        }
        let Some((baseline, others)) = sides.split_first() else { return Err(Error::NoRecording) };
        let mut comparisons = Vec::with_capacity(others.len());
        for (other, path) in others.iter().zip(&paths[1..]) {
            let comparison = compare(baseline, other, &self.options);
            if comparison.tables.is_empty() {
                return Err(Error::NothingInCommon {
                    baseline: paths[0].clone(),
                    path: path.clone(),
                    sheets: self.options.sheets.join(", "),
                });
            }
            notices.extend(comparison.notices.iter().cloned().map(Notice::Comparison));
            comparisons.push(comparison);
        }
        run.begin(Stage::Sheets);
        let (mut made, mut known) = (Vec::new(), Vec::new());
        for comparison in &comparisons {
            // With one comparison its sheets have the names that they have in reports.
            let suffix = if others.len() > 1 { suffix(&comparison.names[1]) } else { String::new() };
            let (comparison_tables, names) =
                tables(comparison, comparison_sheets(comparison, &suffix), Default::default())?;
            made.extend(comparison_tables);
            known.extend(names);
        }
        known.extend(all_comparison_sheets("").into_iter().map(|sheet| sheet.name.into_owned()));
        let runs: Vec<String> = sides.iter().map(|side| side.name.clone()).collect();
        let title = runs.join(" → ");
        let tables = titled(&title, (made, known), run)?;
        let pictures = pictures(run, &mut notices, |_| Ok(Err(NothingToDraw::OtherReports)))?;
        let summary = Summary {
            head: vec![head(&runs, &gpu_names)],
            statements: comparisons.iter().flat_map(statements).collect(),
            ..Summary::default()
        };
        let analysis = Analysed::Comparisons(comparisons);
        Report { tables, summary, notices, pictures, advice: None, analysis }
            .with_overview(SheetNames::Documented, run)
    }
}

impl CompareReporter {
    /// A report, or that of a recording, whose GPUs are known.
    fn side(
        &self,
        path: &Path,
        name: String,
        run: &mut Run<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<(Side, Option<String>), Error> {
        run.begin(Stage::Read);
        let is_known = |sheet: &str| is_compared(sheet, &[]);
        if !is_standard_input(path)
            && let Some(format) = report_format(path, &is_known)?
        {
            let tables = read_report(path, format, &column_names, &is_compared)?;
            return Ok((Side { name, tables, steps: None, repeated: Vec::new() }, None));
        }
        let paths = [path.to_path_buf()];
        let (sheet_names, conventions) = match &self.as_tracelens {
            Some(_) => (SheetNames::Current, tracelens()),
            None => (SheetNames::Documented, Conventions::default()),
        };
        let made = match recognise(path, &run.reading)? {
            // Kernels are compared, too.
            RecordingKind::Trace | RecordingKind::Nsys => {
                let mut reporter = TraceReporter { sheet_names, ..TraceReporter::default() };
                reporter.analysis.kernel_summary = true;
                reporter.analysis.conventions = conventions.traces;
                reporter.report(&paths, run)?
            }
            RecordingKind::Rocprof => {
                let analysis =
                    RocprofOptions { conventions: conventions.rocprof, ..RocprofOptions::default() };
                RocprofReporter { analysis, sheet_names, ..RocprofReporter::default() }.report(&paths, run)?
            }
            RecordingKind::XPlane | RecordingKind::TenstorrentOps => {
                AnyReporter::default().report(&paths, run)?
            }
        };
        let run_notice = |notice| Notice::Run { run: name.clone(), notice: Box::new(notice) };
        notices.extend(made.notices.into_iter().map(run_notice));
        let headers = |table: &Table| -> Vec<String> {
            table.columns().iter().map(|column| column.name().to_owned()).collect()
        };
        let (gpus, repeated) = match &made.analysis {
            Analysed::Trace(analysis, _) => {
                (gpus(analysis.trace()), repeated(analysis.tree(), analysis.iterations()))
            }
            _ => (None, Vec::new()),
        };
        let tables = made.tables.tables().iter();
        let tables = tables.filter(|table| is_compared(table.name(), &headers(table))).cloned().collect();
        Ok((Side { name, tables, steps: None, repeated }, gpus))
    }
}

/// The tables of TraceLens's comparison.
fn as_tracelens(
    sides: &[Side],
    groups: &[SheetGroup],
    mut notices: Vec<Notice>,
    run: &mut Run<'_>,
) -> Result<Report, Error> {
    run.begin(Stage::Sheets);
    let ParityTables { tables, notices: more } = compare_as_tracelens(sides, groups)?;
    notices.extend(more.into_iter().map(Notice::ComparisonAsTraceLens));
    let runs: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    let title = runs.join(" → ");
    let shape = |table: &Table| {
        let (rows, columns) = (table.height(), table.columns().len());
        format!("{}: {rows} × {columns}", table.name())
    };
    let shapes: Vec<String> = tables.iter().map(shape).collect();
    let statements = vec![format!("sheets of TraceLens's comparison, rows × columns: {}", shapes.join(", "))];
    // The names of the split sheets are those of the runs: none of an earlier run is known.
    let tables = report_writers::Report::new(&title, tables)?.with_threads(run.reading.thread_count());
    let pictures = pictures(run, &mut notices, |_| Ok(Err(NothingToDraw::OtherReports)))?;
    let summary = Summary { head: vec![title], statements, ..Summary::default() };
    Ok(Report {
        tables,
        summary,
        notices,
        pictures,
        advice: None,
        analysis: Analysed::Comparisons(Vec::new()),
    })
}

/// What follows the names of a run's sheets, where there are those of several.
fn suffix(run: &str) -> String {
    let allowed: String =
        run.chars().map(|c| if names_a_file(&format!("a{c}a")) { c } else { '_' }).collect();
    format!("_{}", allowed.trim_end_matches([' ', '.']))
}
