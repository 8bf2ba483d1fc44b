//! What a step of a program waited for, and what would change if an operator were faster.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use critical_path::{CriticalPath, PathClass, PathOptions, Scope, critical_path_sheets};
use iterations::Window;
use reference_tools::read_as_hta;
use report_writers::shortened_apart;
use sheets::{Layout, percent};
use trace_doctor::{Diagnosis, SHEET_NAME, recording_sheet};
use trace_ingest::{Category, EventId, ReadOptions, RecordingKind, Trace, read_path};
use trace2tree::{TraceTree, TreeOptions};

use crate::error::Error;
use crate::notice::Notice;
use crate::numbers::{counted, decimal, duration};
use crate::parts::SheetNames;
use crate::report::{Analysed, Report, Reporter, Run, Stage, only, tables, title, titled};
use crate::rows::did_you_mean;
use crate::steps::window_in_words;
use crate::summary::Summary;
use crate::trust;

/// Makes the report of the critical path of a trace.
#[derive(Default)]
pub struct CriticalPathReporter {
    /// How the path is found and what is tried; the scope is that of the window or of the annotation, where one is given.
    pub path: PathOptions,
    /// Whether the trace is read as Holistic Trace Analysis reads it, with its rounding.
    pub as_hta: bool,
    /// How trees are built: what finds the launch of a device event, and whether recorded ends are kept.
    pub tree: TreeOptions,
    /// The part of the trace, by iterations or by time.
    pub window: Option<Window>,
    /// The part of the trace by ranges of the program: what their names begin with, and which of them.
    pub annotation: Option<(String, RangeInclusive<usize>)>,
}

impl Reporter for CriticalPathReporter {
    fn report(mut self, paths: &[PathBuf], run: &mut Run<'_>) -> Result<Report, Error> {
        let path = only(paths, RecordingKind::Trace)?;
        run.begin(Stage::Read);
        // Iterations are found by Python frames, too.
        let python_frames = self.window.is_some();
        let mut trace = read_path(path, &ReadOptions { skip_python_frames: !python_frames, ..run.reading })?;
        run.count_events(trace.events().len() + trace.skipped_frames() as usize);
        run.begin(Stage::Analysis);
        let device_first = self.as_hta && read_as_hta(&mut trace);
        let threads = run.reading.thread_count();
        let options = TreeOptions {
            python_frames,
            threads,
            keep_overruns: self.tree.keep_overruns || self.as_hta,
            ..self.tree.clone()
        };
        let mut tree = TraceTree::build(trace, &options);
        // Of the whole recording, and not after its times were rounded.
        let diagnosis = (!self.as_hta).then(|| Diagnosis::new(&tree));
        let mut statements = Vec::new();
        if let Some(window) = &self.window {
            let cut = window.cut(tree).map_err(|error| Error::Window { path: path.to_path_buf(), error })?;
            let (trace, selected) = cut;
            tree = TraceTree::build(trace, &options);
            statements.push(window_in_words(&selected));
            self.path.scope = Scope::Cut(selected.time);
        }
        if let Some((name, numbers)) = &self.annotation {
            let trace = tree.trace();
            let scope = match self.as_hta {
                true => Scope::containing(trace, name, numbers.clone(), device_first),
                false => Scope::annotated(trace, name, numbers.clone()),
            };
            self.path.scope = scope.map_err(|error| Error::NoSuchAnnotation {
                path: path.to_path_buf(),
                name: name.clone(),
                last: *numbers.end(),
                found: error.found,
                near: nearest_events(trace, name, |event| {
                    matches!(trace.events().category(event), Category::USER_ANNOTATION | Category::CPU_OP)
                }),
            })?;
        }
        let mut notices: Vec<Notice> = tree.trace().warnings().iter().cloned().map(Notice::Reading).collect();
        notices.extend(tree.warnings().iter().cloned().map(Notice::Tree));
        let found = Box::new(CriticalPath::new(tree, &self.path));
        if found.parts.is_empty() {
            return Err(Error::NoPath { path: path.to_path_buf() });
        }
        if let Some(unmatched) = found.what_if.iter().find(|what_if| what_if.replayed.matched == 0) {
            let names: Vec<&str> = unmatched.changes.iter().map(|change| &*change.name).collect();
            let name = names.join(", ");
            let trace = found.trace();
            let near = nearest_events(trace, &name, |event| {
                let category = trace.events().category(event);
                category.is_device() || category.is_launch_api() || category == Category::CPU_OP
            });
            return Err(Error::NothingToChange { path: path.to_path_buf(), name, near });
        }
        let faults = found.faults.iter();
        notices.extend(faults.map(|&(fault, count, first_uid)| Notice::CriticalPath {
            fault,
            count,
            first_uid,
        }));
        run.begin(Stage::Sheets);
        let title = title(path);
        statements.extend(waited_for(&found));
        statements.extend(diagnosis.as_ref().and_then(Diagnosis::doubts_about_critical_path));
        let summary = Summary { head: vec![title.clone()], statements, ..Summary::default() };
        let (mut all, mut known) = tables(&*found, critical_path_sheets(), Layout::default())?;
        if let Some(diagnosis) = &diagnosis {
            trust::mark(&mut all, diagnosis);
            all.extend(tables(diagnosis, vec![recording_sheet()], Layout::default())?.0);
        }
        known.push(SHEET_NAME.to_owned());
        let tables = titled(&title, (all, known), run)?;
        let tables = if self.as_hta { tables.keeping_names() } else { tables };
        let report = Report {
            tables,
            summary,
            notices,
            pictures: Vec::new(),
            advice: None,
            analysis: Analysed::CriticalPath(found),
        };
        report.with_overview(SheetNames::Documented, run)
    }
}

/// The names of events of this kind that are most similar to a text.
fn nearest_events(trace: &Trace, text: &str, is_meant: impl Fn(EventId) -> bool) -> Vec<String> {
    did_you_mean(text, trace.events().ids().filter(|&event| is_meant(event)).map(|event| trace.name(event)))
}

/// Columns that a name has in a sentence: it leaves room for others.
const NAME_WIDTH: usize = 60;

/// Share of a path without a record of the host from which the page says where more is known.
const MUCH_UNTRACED: f64 = 0.2;

/// What the step waited for, in three lines; and what changes would bring, a line each.
fn waited_for(path: &CriticalPath) -> Vec<String> {
    let us = |time: i64| path.trace().to_microseconds(time);
    let length = path.length();
    let share = |time: i64| format!("{}%", decimal(percent(time, length).unwrap_or_default(), 1));
    let classes = path.by_class();
    let of = |meant: &[PathClass]| -> i64 {
        classes.iter().filter(|(class, _)| meant.contains(class)).map(|&(_, time)| time).sum()
    };
    let whole = path.time.end - path.time.start;
    let kind = if length == whole { "" } else { " (the longest chain of dependencies)" };
    let device =
        [PathClass::GpuCompute, PathClass::GpuCommunication, PathClass::GpuMemory, PathClass::GpuOther];
    let host = [PathClass::HostOperator, PathClass::HostRuntime, PathClass::HostUntraced];
    let between = [
        PathClass::KernelGap,
        PathClass::GraphDependency,
        PathClass::LaunchDelay,
        PathClass::SyncReturn,
        PathClass::Unknown,
    ];
    let mut lines = vec![format!(
        "critical path of {}{kind}: {} on the device, {} on the host, {} in gaps and launch delays",
        duration(us(length)),
        share(of(&device)),
        share(of(&host)),
        share(of(&between)),
    )];
    let by_class =
        classes.iter().take(4).map(|&(class, time)| format!("{} {}", class.in_words(), share(time)));
    lines.push(format!("by kind: {}", by_class.collect::<Vec<_>>().join("; ")));
    let mut most = path.by_name();
    most.retain(|group| !group.name.is_empty());
    most.truncate(3);
    let changed = path.what_if.iter().flat_map(|what_if| &what_if.changes).map(|change| &*change.name);
    let short = shortened_apart(most.iter().map(|group| &*group.name).chain(changed), NAME_WIDTH, true);
    let named = most.iter().map(|group| {
        let times = counted(group.parts, "time", "times");
        let before = if group.class.is_gap() { " before" } else { ":" };
        format!("{}{before} {} ({}, {times})", group.class.in_words(), short[&*group.name], share(group.time))
    });
    lines.push(format!("largest: {}", named.collect::<Vec<_>>().join("; ")));
    // Findings tell loaders and stalls by what surrounds them.
    if of(&[PathClass::HostUntraced]) as f64 >= MUCH_UNTRACED * length as f64 {
        lines.push("for what the host did where nothing is recorded, see tracelens advise".to_owned());
    }
    lines.extend(path.what_if.iter().map(|what_if| {
        let changes =
            what_if.changes.iter().map(|change| format!("{} × {}", short[&*change.name], change.factor));
        let saved = whole - what_if.replayed.duration;
        format!(
            "with {}: {} instead of {}, {} saved ({}%; {} changed)",
            changes.collect::<Vec<_>>().join(", "),
            duration(us(what_if.replayed.duration)),
            duration(us(whole)),
            duration(us(saved)),
            decimal(percent(saved, whole).unwrap_or_default(), 1),
            counted(what_if.replayed.matched, "event", "events"),
        )
    }));
    lines
}
