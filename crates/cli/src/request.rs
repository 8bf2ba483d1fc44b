//! The way of every report: asks for the report of a recording, writes its files and prints the rest.

use std::cell::{LazyCell, RefCell};
use std::io::Write;
use std::mem;
use std::path::{Path, PathBuf};
use std::slice;

use answers::envelope::Answer;
use answers::numbers::counted;
use answers::{Analysed, Picture, Report, Reporter, RowQuery, Run, Stage, Watch};
use report_writers::terminal::{Color, Style};
use report_writers::{Workbook, write_json};
use trace_ingest::{ReadOptions, RecordingKind, is_standard_input};

use crate::arguments::answer_output::JsonPage;
use crate::arguments::report_output::{Output, ReportOutput};
use crate::console::{self, Said};
use crate::context::Context;
use crate::destinations::{OURS, check_destinations, refuse_foreign, refuse_foreign_csv, save};
use crate::error::Failure;
use crate::notices::{self, Say};
use crate::progress::ReadingProgress;
use crate::standard_input;
use crate::summary::{self, Detail, WIDEST};
use crate::timings::Timings;
use crate::wrapping::wrap;

/// What is asked for around a report.
pub(crate) struct Request<'a> {
    pub(crate) files: &'a [PathBuf],
    pub(crate) output: &'a ReportOutput,
    /// Pictures, with where each goes.
    pub(crate) pictures: Vec<(Picture, &'a Path)>,
    /// After which kind of recording, and with which ending, the workbook beside it is named where nothing else is
    /// asked for.
    pub(crate) workbook: Option<(RecordingKind, &'static str)>,
    /// The workbook where nothing else is asked for, instead of that beside the recording.
    pub(crate) default_workbook: Option<PathBuf>,
    /// How recordings are read.
    pub(crate) reading: ReadOptions<'static>,
    /// What the names of the written files get before their endings, to tell apart reports of one recording.
    pub(crate) part: Option<String>,
    /// The rows of each table in the JSON that is printed, where these are not all.
    pub(crate) page: Option<JsonPage>,
    /// Which options were given.
    pub(crate) context: &'a Context<'a>,
    /// What was written before.
    pub(crate) written: Vec<PathBuf>,
    /// What there is to say of the options.
    pub(crate) warnings: Vec<String>,
}

/// Lines of a first page.
const FIRST_PAGE: usize = 40;

/// Lines of it that warnings behind the first have before rows of tables.
const WARNING_LINES: usize = 4;

/// What only one kind of report writes and prints.
pub(crate) trait Extras {
    /// Whether remarks on the figures stand above them, and not below with the other warnings.
    const CAVEATS_ABOVE: bool = false;

    /// Whether notices go to standard error, before what is printed, and not below it.
    fn has_notices_first(&self) -> bool {
        false
    }

    /// Files beside the tables: their paths where they were written, failures where not.
    fn write(&self, _: &Report) -> Vec<Result<PathBuf, Failure>> {
        Vec::new()
    }

    /// What is printed, as Markdown.
    fn markdown(&self, report: &Report) -> String {
        let style = Style { width: WIDEST, colored: false, unicode: true };
        let page = self.text(report, "", Detail::FirstPage { lines: FIRST_PAGE }, style);
        format!("```text\n{page}```\n")
    }

    /// What is printed.
    fn text(&self, report: &Report, _: &str, detail: Detail, style: Style) -> String {
        summary::text(report, detail, style)
    }
}

/// A report like most.
impl Extras for () {}

impl<'a> Request<'a> {
    /// The report of these files, with nothing around it yet.
    pub(crate) fn new(
        subcommand: &str,
        files: &'a [PathBuf],
        output: &'a ReportOutput,
        context: &'a Context<'a>,
    ) -> Self {
        let warnings = context.given.without_effect(subcommand);
        let (pictures, written) = (Vec::new(), Vec::new());
        let (workbook, default_workbook) = (None, None);
        Request {
            files,
            output,
            pictures,
            workbook,
            default_workbook,
            reading: standard_input::reading(),
            part: None,
            page: None,
            context,
            written,
            warnings,
        }
    }

    /// Makes, writes and prints the report.
    pub(crate) fn answer<E: Extras>(self, reporter: impl Reporter, extras: &E) -> Result<(), Failure> {
        let is_json =
            self.output.answer.is_json() || self.output.documents().any(|(format, _)| format == "json");
        if let Some(option) = self.context.given.names(&["stamp", "no_hash", "full_paths"]).first()
            && !is_json
        {
            return Err(Failure::Arguments(format!("{option} needs --json or a .json output")));
        }
        let mut destinations = self.destinations();
        let mut unwritten = None;
        let is_forced = self.output.force || self.context.given.as_reference_tool;
        if let Err(failure) = check_destinations(self.files, destinations.all())
            .and_then(|()| if is_forced { Ok(()) } else { refuse_foreign(destinations.all()) })
        {
            // What was not asked for costs nobody the answer.
            if !destinations.is_default {
                return Err(failure);
            }
            destinations.tables.clear();
            unwritten = Some(failure);
        }
        let report = self.make(reporter, &destinations)?;
        self.context.timings.borrow_mut().begin(Stage::Write);
        // Its hash costs reading the files once more.
        let answer = LazyCell::new(|| self.answer_of(&report));
        let save_answer = |path: &Path| save(path, |file| write_json(&*answer, file));
        let (written, said, mut pending) = self.write(&report, &destinations, extras, save_answer, is_forced);
        pending.extend(unwritten);
        if self.output.quiet
            && let Some(failure) = said.iter().find_map(Say::nothing_drawn)
        {
            pending.push(failure);
        }
        self.context.timings.borrow_mut().begin(Stage::Terminal);
        if self.output.answer.is_json() {
            match self.page {
                Some(JsonPage { page_rows: top, page_start: skip }) => {
                    let mut paged = self.answer_of(&report);
                    for table in &mut paged.tables {
                        let columns = table.table().columns().iter().map(|column| column.name().to_owned());
                        let query = RowQuery {
                            columns: columns.collect(),
                            skip,
                            top: top.get(),
                            ..RowQuery::default()
                        };
                        *table = query.json(table.table())?;
                    }
                    self.context.print(&paged)?;
                }
                None => self.context.print(&answer)?,
            }
            said.iter().for_each(Say::print);
        } else if !self.output.quiet {
            let style = self.context.style();
            let prose = Style { width: style.width.min(WIDEST), ..style };
            let (first, (after, inside)): (Vec<Say>, (Vec<Say>, Vec<Say>)) = match extras.has_notices_first()
            {
                true => (said, Default::default()),
                false => (Vec::new(), said.into_iter().partition(Say::is_for_stderr)),
            };
            first.iter().for_each(Say::print);
            let is_caveat = |say: &Say| E::CAVEATS_ABOVE && matches!(say, Say::Caveat(_));
            let (above, below): (Vec<Say>, Vec<Say>) = inside.into_iter().partition(is_caveat);
            let caveats: String = warnings(&above, prose).concat();
            let below = warnings(&below, prose);
            let detail = match self.output.verbose || E::CAVEATS_ABOVE {
                true => Detail::All,
                // With room for a blank line, the first warnings, how many more there are, and what was written.
                false => {
                    let first = below.first().map_or(0, |warning| warning.lines().count());
                    let all: usize = below.iter().map(|warning| warning.lines().count()).sum();
                    let said = first.max(all.min(WARNING_LINES)) + usize::from(!below.is_empty());
                    Detail::FirstPage { lines: FIRST_PAGE.saturating_sub(1 + said + written.len()) }
                }
            };
            let text = extras.text(&report, &caveats, detail, style);
            let left = match detail {
                Detail::FirstPage { .. } => {
                    FIRST_PAGE.saturating_sub(text.lines().count() + written.len() + 2)
                }
                Detail::All => usize::MAX,
            };
            console::print(text + &texts(&below, &written, left))?;
            after.iter().for_each(Say::print);
        }
        self.context.timings.borrow_mut().end();
        if self.output.answer.strict {
            self.context.note(answer.status);
        }
        drop(answer);
        // The process is about to end, and the system takes its memory back at once.
        mem::forget(report);
        end_with(pending)
    }

    /// The report as a value; of runs that are compared, the first file is the baseline.
    fn answer_of<'r>(&self, report: &'r Report) -> Answer<'r> {
        let is_comparison = matches!(report.analysis, Analysed::Comparisons(_) | Analysed::Trees(_));
        let answer = match self.files.split_first() {
            Some((first, others)) if is_comparison => self.context.about_runs(slice::from_ref(first), others),
            _ => self.context.about(self.files),
        };
        answer.with_report(report)
    }

    /// Everything that is written but by [`Extras`].
    fn destinations(&self) -> Destinations {
        let mut tables = self.output.destinations();
        let is_document = self.output.documents().next().is_some();
        let is_default =
            tables.is_empty() && self.pictures.is_empty() && !is_document && !self.output.answer.is_json();
        if is_default {
            // Nothing is beside standard input.
            let file = self.files.first().filter(|file| !is_standard_input(file));
            let beside = self.workbook.zip(file);
            let beside = || beside.map(|((kind, ending), file)| workbook_beside(file, kind, ending));
            let path = self.default_workbook.clone().or_else(beside);
            tables.extend(path.map(|path| -> Output { (&Workbook, path) }));
        }
        let place = |path: &Path| {
            self.part.as_ref().map_or_else(|| path.to_path_buf(), |part| named_with(path, part))
        };
        Destinations {
            is_default,
            tables: tables.into_iter().map(|(writer, path)| (writer, place(&path))).collect(),
            documents: self.output.documents().map(|(format, path)| (format, place(path))).collect(),
            pictures: self.pictures.iter().map(|(picture, path)| (*picture, place(path))).collect(),
        }
    }

    fn make(&self, reporter: impl Reporter, destinations: &Destinations) -> Result<Report, Failure> {
        let progress = ReadingProgress::new(self.output.quiet);
        let update = |state| progress.update(state);
        let pictures: Vec<Picture> = self.pictures.iter().map(|(picture, _)| *picture).collect();
        let mut followed = Followed { timings: &self.context.timings, progress: &progress };
        let mut run = Run {
            reading: ReadOptions { progress: Some(&update), ..self.reading },
            first_page_only: !self.output.answer.is_json() && destinations.are_without_tables(),
            pictures: &pictures,
            options: self.context.given.described(),
            watch: Some(&mut followed),
        };
        reporter.report(self.files, &mut run).map_err(|error| {
            if let (answers::Error::NoGpuEvents { warnings, .. }, false) = (&error, self.output.quiet) {
                warnings.iter().for_each(console::diagnostic);
            }
            error.into()
        })
    }

    /// Writes what can be written: the files, what there is to say, and the failures.
    fn write(
        &self,
        report: &Report,
        destinations: &Destinations,
        extras: &impl Extras,
        save_answer: impl Fn(&Path) -> Result<PathBuf, Failure>,
        is_forced: bool,
    ) -> (Vec<String>, Vec<Say>, Vec<Failure>) {
        let mut said: Vec<Say> =
            self.warnings.iter().cloned().map(|warning| Say::Warning(warning.into())).collect();
        said.extend(report.notices.iter().map(|notice| notices::say(notice, self.context.given)));
        let mut written: Vec<String> = self.written.iter().map(|path| wrote(path, 1)).collect();
        let mut pending = Vec::new();
        for file in extras.write(report) {
            match file {
                Ok(path) => written.push(wrote(&path, 1)),
                Err(failure) => pending.push(failure),
            }
        }
        for (writer, destination) in &destinations.tables {
            if writer.name() == "csv"
                && !is_forced
                && let Err(failure) = refuse_foreign_csv(destination, report.tables.tables())
            {
                pending.push(failure);
                continue;
            }
            match writer.write(&report.tables, destination) {
                Ok(files) => {
                    written.push(wrote(destination, files.paths.len()));
                    said.extend(files.warnings.iter().map(|warning| Say::Warning(Said::new(warning))));
                }
                Err(error) => pending.push(error.into()),
            }
        }
        for (format, destination) in &destinations.documents {
            let saved = match *format {
                "json" => save_answer(destination).map(drop),
                "html" => {
                    let page = answers::page(report, &self.context.given.described());
                    page.write(&report.tables, destination).map_err(Failure::from)
                }
                _ => {
                    let text = extras.markdown(report) + OURS;
                    save(destination, |file| file.write_all(text.as_bytes())).map(drop)
                }
            };
            match saved {
                Ok(()) => written.push(wrote(destination, 1)),
                Err(failure) => pending.push(failure),
            }
        }
        for (picture, destination) in &destinations.pictures {
            let Some((_, svg)) = report.pictures.iter().find(|(drawn, _)| drawn == picture) else { continue };
            match save(destination, |file| file.write_all(format!("{svg}{OURS}").as_bytes())) {
                Ok(path) => written.push(wrote(&path, 1)),
                Err(failure) => pending.push(failure),
            }
        }
        (written, said, pending)
    }
}

/// Where everything goes.
struct Destinations {
    /// Whether the workbook is the one beside the recording, for which nobody asked.
    is_default: bool,
    tables: Vec<Output>,
    /// With the name of their format: `json`, `html`, `md`.
    documents: Vec<(&'static str, PathBuf)>,
    pictures: Vec<(Picture, PathBuf)>,
}

impl Destinations {
    /// Whether nothing that is written shows a table but the first page's.
    fn are_without_tables(&self) -> bool {
        self.tables.is_empty() && self.documents.iter().all(|(format, _)| *format == "md")
    }

    /// All, with the names of their formats.
    fn all(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let tables = self.tables.iter().map(|(writer, path)| (writer.name(), path.as_path()));
        let documents = self.documents.iter().map(|(format, path)| (*format, path.as_path()));
        tables.chain(documents).chain(self.pictures.iter().map(|(_, path)| ("svg", path.as_path())))
    }
}

/// A path whose name has a part more before its ending; of a directory, at its end.
fn named_with(path: &Path, part: &str) -> PathBuf {
    let ending =
        path.extension().filter(|ending| ["xlsx", "json", "html", "svg"].iter().any(|known| ending == known));
    let stem = ending.and(path.file_stem()).or(path.file_name()).unwrap_or_default();
    let mut name = stem.to_os_string();
    name.push(part);
    if let Some(ending) = ending {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

/// Takes the times of a run, and the bar of reading away when reading ends.
struct Followed<'a> {
    timings: &'a RefCell<Timings>,
    progress: &'a ReadingProgress,
}

impl Watch for Followed<'_> {
    fn begin(&mut self, stage: Stage) {
        self.progress.clear();
        self.timings.borrow_mut().begin(stage);
    }

    fn count_events(&mut self, events: usize) {
        self.timings.borrow_mut().count_events(events);
    }
}

fn wrote(destination: &Path, files: usize) -> String {
    let count = if destination.is_dir() { format!(" ({files} files)") } else { String::new() };
    format!("wrote {}{count}", destination.display())
}

/// Each warning as lines.
fn warnings(said: &[Say], style: Style) -> Vec<String> {
    let lines = |said: &Said| {
        let mut lines = String::new();
        wrap(&format!("warning: {}", said.message), "", "  ", style.width, &mut lines);
        if let Some(help) = &said.help {
            wrap(&format!("help: {help}"), "  ", "  ", style.width, &mut lines);
        }
        // Painted afterwards: colours have no width.
        lines.replacen("warning:", &style.paint("warning:", Color::Yellow), 1)
    };
    said.iter().filter_map(|say| Some(lines(say.said()?.as_ref()))).collect()
}

/// What stands below the report: the first warning, the others as far as there are lines for them, and what was written.
fn texts(warnings: &[String], written: &[String], lines: usize) -> String {
    let mut below = String::new();
    let (mut left, mut shown) = (lines, 0);
    for warning in warnings {
        let taken = warning.lines().count();
        if taken > left && shown > 0 {
            break;
        }
        left = left.saturating_sub(taken);
        shown += 1;
        below.push_str(warning);
    }
    if shown < warnings.len() {
        let more = counted(warnings.len() - shown, "more warning", "more warnings");
        below.push_str(&format!("{more}; -v shows all\n"));
    }
    written.iter().for_each(|line| below.extend([line, "\n"]));
    if !below.is_empty() {
        below.insert(0, '\n');
    }
    below
}

/// Prints all failures but the last, which is for the caller, who prints it too.
fn end_with(mut failures: Vec<Failure>) -> Result<(), Failure> {
    let last = failures.pop();
    failures.iter().for_each(console::error);
    last.map_or(Ok(()), Err)
}

/// Where the workbook goes when nothing else is asked for: beside the recording, named after it up to its last `.json`
/// or `.xplane.pb`, or without the endings of its compression and format; beside the directory where the
/// recording is one. `ending` tells the reports of one recording apart.
fn workbook_beside(recording: &Path, kind: RecordingKind, ending: &str) -> PathBuf {
    if recording.is_dir() {
        // `.` and the like have a name elsewhere only.
        let named = match recording.file_name() {
            Some(_) => recording.to_path_buf(),
            None => recording.canonicalize().unwrap_or_else(|_| recording.to_path_buf()),
        };
        let name = named.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return named.with_file_name(format!("{name}{ending}.xlsx"));
    }
    let name = recording.file_name().unwrap_or_default().to_string_lossy();
    let without = |name: &str, endings: &[&str]| {
        endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name).to_owned()
    };
    let is_rocprof = kind == RecordingKind::Rocprof;
    let stem = match name.rfind(".json").or_else(|| name.rfind(".xplane.pb")) {
        // The name that rocprofv3 gives its JSON; other tools write names of this form too.
        Some(at) if is_rocprof && &name[at..] == ".json" => without(&name[..at], &["_results"]),
        Some(at) => name[..at].to_owned(),
        None => {
            let plain = without(&name, &[".gz", ".zst", ".zip"]);
            match is_rocprof {
                true => {
                    let stem = without(&plain, &[".db", ".pftrace", ".csv"]);
                    without(&stem, &["_results", "_kernel_trace"])
                }
                false => without(&plain, &[".pftrace", ".sqlite"]),
            }
        }
    };
    recording.with_file_name(format!("{stem}{ending}.xlsx"))
}

/// Ending of the name of a workbook.
pub(crate) const PERF_REPORT: &str = "_perf_report";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stands_before_the_ending() {
        for (path, named) in [
            ("out/a.xlsx", "out/a.pid7.xlsx"),
            ("a.b.json", "a.b.pid7.json"),
            ("tables", "tables.pid7"),
            ("run.1/", "run.1.pid7"),
        ] {
            assert_eq!(named_with(Path::new(path), ".pid7"), Path::new(named), "{path}");
        }
    }

    #[test]
    fn the_workbook_is_named_after_the_recording() {
        use RecordingKind::{Rocprof, Trace, XPlane};
        for (kind, recording, workbook) in [
            (Trace, "a.json", "a_perf_report.xlsx"),
            (Trace, "dir/a.pt.trace.json.gz", "dir/a.pt.trace_perf_report.xlsx"),
            (Trace, "a.json.json.gz", "a.json_perf_report.xlsx"),
            (Trace, "908_results.json", "908_results_perf_report.xlsx"),
            (XPlane, "host.name.xplane.pb", "host.name_perf_report.xlsx"),
            (XPlane, "host.xplane.pb.gz", "host_perf_report.xlsx"),
            (Trace, "trace.zip", "trace_perf_report.xlsx"),
            (Trace, "run.pftrace.gz", "run_perf_report.xlsx"),
            (Trace, "trace.zst", "trace_perf_report.xlsx"),
            (Trace, "trace", "trace_perf_report.xlsx"),
            (Rocprof, "908_results.json", "908_perf_report.xlsx"),
            (Rocprof, "908_results.json.gz", "908_results_perf_report.xlsx"),
            (Rocprof, "a_results.json.d/run.json", "a_results.json.d/run_perf_report.xlsx"),
            (Rocprof, "run.json.zst", "run_perf_report.xlsx"),
            (Rocprof, "908_results.db", "908_perf_report.xlsx"),
            (Rocprof, "908_results.pftrace", "908_perf_report.xlsx"),
            (Rocprof, "dir/908_results.pftrace.gz", "dir/908_perf_report.xlsx"),
            (Rocprof, "908_kernel_trace.csv", "908_perf_report.xlsx"),
            (Rocprof, "profile", "profile_perf_report.xlsx"),
        ] {
            let beside = workbook_beside(Path::new(recording), kind, PERF_REPORT);
            assert_eq!(beside, Path::new(workbook), "{recording}");
        }
        // Beside a directory of recordings, never in it.
        let temporary = tempfile::tempdir().unwrap();
        let place = temporary.path().canonicalize().unwrap();
        std::fs::create_dir_all(place.join("run/below")).unwrap();
        for directory in ["run", "run/", "run/below/.."] {
            let beside = workbook_beside(&place.join(directory), Rocprof, PERF_REPORT);
            assert_eq!(beside, place.join("run_perf_report.xlsx"), "{directory}");
        }
    }
}
