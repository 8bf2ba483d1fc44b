//! The report of a recording: what every kind has in common.

use std::path::{Path, PathBuf};

use advise::Advice;
use critical_path::CriticalPath;
use metal_perf::MetalReport;
use multi_rank::JobAnalysis;
use report_writers::DrawError;
use rocprof_perf::RocprofAnalysis;
use serde::Serialize;
use sheets::{Layout, Sheet, Table, TableError};
use trace_diff::{Comparison, TreeDiff};
use trace_doctor::Diagnosis;
use trace_ingest::{Category, ReadOptions, RecordingKind, Trace, Warning, is_standard_input};
use tree_perf::Analysis;
use xla_perf::JaxAnalysis;

use crate::error::Error;
use crate::notice::Notice;
use crate::overview::{self, Overview};
use crate::parts::SheetNames;
use crate::picture::{NothingToDraw, Picture};
use crate::summary::Summary;

/// Makes the report of one kind of recording; its fields are the options of the report.
pub trait Reporter {
    /// Reads the recordings and answers with their report.
    ///
    /// # Errors
    /// When a recording cannot be read, has nothing that a report could be about, or the options contradict each other
    /// or it.
    fn report(self, paths: &[PathBuf], run: &mut Run<'_>) -> Result<Report, Error>;
}

/// How a report is made, whatever it is of.
#[derive(Default)]
pub struct Run<'a> {
    /// Threads, and who is told how far reading has come.
    pub reading: ReadOptions<'a>,
    /// Whether only the first page is wanted: of a trace no table is made but those that the page shows rows of.
    pub first_page_only: bool,
    /// Pictures to draw.
    pub pictures: &'a [Picture],
    /// The options of the report, as who asks for it writes them; its overview repeats them.
    pub options: Vec<String>,
    /// Who follows the stages.
    pub watch: Option<&'a mut dyn Watch>,
}

impl Run<'_> {
    pub(crate) fn begin(&mut self, stage: Stage) {
        if let Some(watch) = &mut self.watch {
            watch.begin(stage);
        }
    }

    pub(crate) fn count_events(&mut self, events: usize) {
        if let Some(watch) = &mut self.watch {
            watch.count_events(events);
        }
    }
}

/// Follows a run, for instance to take its times.
pub trait Watch {
    /// A stage begins, and the one before it ends. A stage may come again.
    fn begin(&mut self, stage: Stage);
    /// So many more events were read.
    fn count_events(&mut self, events: usize);
}

/// A part of a run. [`Reporter::report`] goes through the first three; the others are for who shows the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Files to events.
    Read,
    /// Events to the tree and what is known of it.
    Analysis,
    /// Tables and pictures.
    Sheets,
    /// Tables and pictures to files.
    Write,
    /// What is printed.
    Terminal,
}

/// What there is to say of a recording.
pub struct Report {
    /// The tables, titled by the name of the file.
    pub tables: report_writers::Report,
    /// The first page.
    pub summary: Summary,
    /// What a reader has to know before trusting the figures.
    pub notices: Vec<Notice>,
    /// The pictures that were asked for; a notice says why one is missing.
    pub pictures: Vec<(Picture, String)>,
    /// What to change, where rules looked for that.
    pub advice: Option<Advice>,
    /// What all this was made from.
    pub analysis: Analysed,
}

impl Report {
    /// The same with the overview as the first table, which TraceLens has not.
    pub(crate) fn with_overview(mut self, names: SheetNames, run: &Run<'_>) -> Result<Self, Error> {
        if names == SheetNames::Current || run.first_page_only {
            return Ok(self);
        }
        let overview = Overview {
            summary: &self.summary,
            advice: self.advice.as_ref(),
            notices: &self.notices,
            options: &run.options,
        };
        let is_there = self.tables.tables().iter().any(|table| table.name() == overview::NAME);
        let name = if is_there { overview::NAME_BESIDE_ANOTHER } else { overview::NAME };
        if let Some(table) = overview::sheet(name).table(&overview)? {
            self.tables = self.tables.with_first(table)?;
        }
        Ok(self)
    }
}

/// The analysis behind a report.
pub enum Analysed {
    /// Of PyTorch's trace, or of what another recording has in common with one, and what is wrong with the recording, where
    /// that was examined.
    Trace(Box<Analysis>, Option<Diagnosis>),
    /// Of XPlane profiles, one for each host of a run.
    Xla(Vec<JaxAnalysis>),
    /// Of a rocprofv3 profile, and what is wrong with it, where that was examined.
    Rocprof(Box<RocprofAnalysis>, Option<Diagnosis>),
    /// Of Tenstorrent operations, and their comparison with an earlier run.
    Tenstorrent(Box<MetalReport>, Option<Comparison>),
    /// Of the ranks of a job.
    Job(Box<JobAnalysis>),
    /// The critical path of a trace.
    CriticalPath(Box<CriticalPath>),
    /// Runs compared with the first of them, in order.
    Comparisons(Vec<Comparison>),
    /// Two runs whose trees are aligned.
    Trees(Box<TreeDiff>),
}

/// The only recording; an error where there are several and their report would not be one of all.
pub(crate) fn only(paths: &[PathBuf], kind: RecordingKind) -> Result<&Path, Error> {
    match paths {
        [path] => Ok(path),
        [] => Err(Error::NoRecording),
        [_, second, ..] => Err(Error::OneAtATime { kind, second: second.clone() }),
    }
}

/// Draws the pictures that were asked for; what shows nothing becomes a notice.
pub(crate) fn pictures(
    run: &Run<'_>,
    notices: &mut Vec<Notice>,
    draw: impl Fn(Picture) -> Result<Result<String, NothingToDraw>, DrawError>,
) -> Result<Vec<(Picture, String)>, Error> {
    let mut drawn = Vec::new();
    for &picture in run.pictures {
        match draw(picture)? {
            Ok(svg) => drawn.push((picture, svg)),
            Err(why) => notices.push(Notice::NothingToDraw { picture, why }),
        }
    }
    Ok(drawn)
}

/// Whether a part of the file is lost, and perhaps events with it.
pub(crate) fn lost_events(trace: &Trace) -> bool {
    let is_loss =
        |warning: &Warning| matches!(warning, Warning::Truncated { .. } | Warning::DamagedCompression { .. });
    trace.warnings().iter().any(is_loss)
}

/// Whether nothing in an event trace is of PyTorch's profiler: many tools write the format.
pub(crate) fn is_other_tool(trace: &Trace) -> bool {
    const PYTORCH_CATEGORIES: [Category; 3] =
        [Category::CPU_OP, Category::PYTHON_FUNCTION, Category::USER_ANNOTATION];
    let (facts, events) = (trace.facts(), trace.events());
    let has_header =
        facts.schema_version.is_some() || facts.trace_name.is_some() || !facts.devices.is_empty();
    !has_header
        && trace.skipped_frames() == 0
        && events
            .ids()
            .map(|event| events.category(event))
            .all(|category| !PYTORCH_CATEGORIES.contains(&category) && !category.is_launch_api())
}

/// What the report of a file is called: the name of the file or directory.
pub(crate) fn title(path: &Path) -> String {
    if is_standard_input(path) {
        return "standard input".to_owned();
    }
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    // `.` and the like have no name of their own.
    let resolved = || std::fs::canonicalize(path).ok().and_then(|path| name(&path));
    name(path).or_else(resolved).unwrap_or_else(|| path.display().to_string())
}

/// The tables of the sheets that have something to show, and the names of all.
pub(crate) fn tables<'a, A>(
    analysis: &'a A,
    sheets: Vec<Sheet<'a, A>>,
    layout: Layout,
) -> Result<(Vec<Table>, Vec<String>), TableError> {
    let table = |sheet: &Sheet<'a, A>| sheet.table_in(analysis, layout).transpose();
    let tables = sheets.iter().filter_map(table).collect::<Result<_, _>>()?;
    Ok((tables, sheets.into_iter().map(|sheet| sheet.name.into_owned()).collect()))
}

/// A report of these tables. `known` names all tables that a report of this kind may have, so that a writer of several
/// files removes those of an earlier run.
pub(crate) fn titled(
    title: &str,
    (tables, mut known): (Vec<Table>, Vec<String>),
    run: &Run<'_>,
) -> Result<report_writers::Report, Error> {
    known.extend([overview::NAME, overview::NAME_BESIDE_ANOTHER].map(ToOwned::to_owned));
    let report = report_writers::Report::new(title, tables)?;
    Ok(report.with_known_names(known).with_threads(run.reading.thread_count()))
}
