//! The trees of two runs, node by node.

use std::borrow::Borrow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use gpu_timeline::SortFew;
use inference_phase::capture::CaptureLibrary;
use iterations::{DetectOptions, Iterations, MeasuredIterations, Window};
use perf_models::bare_kernel_name;
use report_writers::shortened_apart;
use sheets::Sheet;
use sheets::names::{DIFF_LEDGER, DIFF_MAP, DIFF_UNITS};
use trace_diff::{
    Confidence, DiffOptions, LedgerItem, TreeDiff, UnitGroup, UnitStatus, device_rows_sheet, tree_diff_sheets,
};
use trace_ingest::{Progress, ReadOptions, RecordingKind, read_path};
use trace2tree::{TraceTree, TreeOptions};

use crate::captures::graft;
use crate::error::Error;
use crate::host_alone::device_recording_advice;
use crate::notice::Notice;
use crate::numbers::{counted, decimal, duration};
use crate::parallel::map_in_order;
use crate::parts::SheetNames;
use crate::picture::NothingToDraw;
use crate::repeated::repeated;
use crate::report::{Analysed, Report, Reporter, Run, Stage, pictures, tables, titled};
use crate::runs::{gpus, head, names_of_runs, percent_change};
use crate::steps::window_in_words;
use crate::summary::Summary;

/// Aligns the trees of two runs, A and B, node by node. A is what B is held against.
#[derive(Default)]
pub struct DiffReporter {
    /// What the runs are called; by their files where it is empty.
    pub names: Vec<String>,
    /// How they are compared.
    pub options: DiffOptions,
    /// How trees are built: what finds the launch of a device event, and whether recorded ends are kept.
    pub tree: TreeOptions,
    /// The part of each run that is compared, where it is not all.
    pub window: Option<Window>,
    /// Whether to list which event of A is which of B, a row per module, operator, call and device event.
    pub map: bool,
    /// Traces of graph captures, which give the replayed graphs of A and of B their operators.
    pub captures: [Option<CaptureLibrary>; 2],
}

/// A run that was read.
struct Side {
    tree: TraceTree,
    /// Events that were read, those that nothing looks at included.
    events: usize,
    notices: Vec<Notice>,
    /// What part of the run it is.
    window: Option<String>,
}

impl Reporter for DiffReporter {
    fn report(self, paths: &[PathBuf], run: &mut Run<'_>) -> Result<Report, Error> {
        let [path_a, path_b] = paths else { return Err(Error::TwoRuns { given: paths.len() }) };
        let names = names_of_runs(&self.names, paths)?;
        run.begin(Stage::Read);
        let has_map = self.map;
        let (options, sides) = self.read([path_a, path_b], &run.reading)?;
        run.count_events(sides.iter().map(|side| side.events).sum());
        run.begin(Stage::Analysis);
        let kinds = sides.each_ref().map(|side| side.tree.trace().facts().recorder.kind);
        let mut notices = Vec::new();
        let mut statements = Vec::new();
        let [a, b] = sides.map(|side| (side.tree, side.notices, side.window));
        for ((_, run_notices, window), name) in [&a, &b].into_iter().zip(&names) {
            let run_notices = run_notices.iter().cloned();
            notices.extend(
                run_notices.map(|notice| Notice::Run { run: name.clone(), notice: Box::new(notice) }),
            );
            statements.extend(window.iter().map(|window| format!("{name}: {window}")));
        }
        let head = head(&names, &[&a.0, &b.0].map(|tree| gpus(tree.trace())));
        let mut diff = Box::new(TreeDiff::new(a.0, b.0, options));
        if diff.is_cut_differently() {
            let [a, b] = diff.trees().map(|tree| {
                let found = Iterations::detect(tree, &DetectOptions::default());
                repeated(tree, &MeasuredIterations::from_all_events(tree, found))
            });
            diff.know_repeated([&a, &b]);
        }
        notices.extend(doubts(&diff, kinds));
        run.begin(Stage::Sheets);
        let title = names.join(" → ");
        let (mut sheets, map): (Vec<_>, Vec<_>) =
            tree_diff_sheets().into_iter().partition(|sheet| sheet.name != DIFF_MAP);
        sheets.extend(map.into_iter().filter(|_| has_map));
        let (made, mut known) = tables(&*diff, sheets, Default::default())?;
        known.push(DIFF_MAP.to_owned());
        let tables = titled(&title, (made, known), run)?;
        let pictures = pictures(run, &mut notices, |_| Ok(Err(NothingToDraw::OtherReports)))?;
        statements.extend(diff_in_words(&diff, [&names[0], &names[1]]));
        let summary = Summary { head: vec![head], statements, ..Summary::default() };
        let analysis = Analysed::Trees(diff);
        Report { tables, summary, notices, pictures, advice: None, analysis }
            .with_overview(SheetNames::Documented, run)
    }
}

impl DiffReporter {
    /// The trees of both runs, read at the same time.
    fn read(self, paths: [&Path; 2], reading: &ReadOptions<'_>) -> Result<(DiffOptions, [Side; 2]), Error> {
        let DiffReporter { options, tree, window, captures, .. } = self;
        let threads = reading.thread_count();
        let progress = [Mutex::new((0, 0)), Mutex::new((0, 0))];
        let read = |at: usize, captures: &mut Option<CaptureLibrary>| {
            // What is shown is how far both have come.
            let update = |state: Progress| {
                let lock = |at: usize| progress[at].lock().unwrap_or_else(PoisonError::into_inner);
                *lock(at) = (state.bytes, state.total);
                let (other, all) = *lock(1 - at);
                if let Some(progress) = reading.progress {
                    progress(Progress { bytes: state.bytes + other, total: state.total + all });
                }
            };
            let reading =
                ReadOptions { threads: Some(threads.div_ceil(2)), progress: Some(&update), ..*reading };
            side(paths[at], &reading, &tree, window.as_ref(), captures.as_mut())
        };
        let captures: Vec<_> = captures.into_iter().map(Mutex::new).enumerate().collect();
        let read = map_in_order(&captures, threads, |(at, captures)| {
            read(*at, &mut captures.lock().unwrap_or_else(PoisonError::into_inner))
        });
        let sides: Vec<Side> = read.into_iter().collect::<Result<_, _>>()?;
        let sides = sides.try_into().map_err(|sides: Vec<Side>| Error::TwoRuns { given: sides.len() })?;
        Ok((options, sides))
    }
}

/// Reads a run. Modules are Python frames, so these are read, too.
fn side(
    path: &Path,
    reading: &ReadOptions<'_>,
    tree: &TreeOptions,
    window: Option<&Window>,
    captures: Option<&mut CaptureLibrary>,
) -> Result<Side, Error> {
    let trace = read_path(path, reading)?;
    let events = trace.events().len() + trace.skipped_frames() as usize;
    let threads = reading.thread_count();
    let options = TreeOptions { python_frames: true, threads, ..tree.clone() };
    let mut tree = TraceTree::build(trace, &options);
    let mut in_words = None;
    if let Some(window) = window {
        let cut = window.cut(tree).map_err(|error| Error::Window { path: path.to_path_buf(), error })?;
        let (trace, selected) = cut;
        tree = TraceTree::build(trace, &options);
        in_words = Some(window_in_words(&selected));
    }
    let mut notices: Vec<Notice> = tree.trace().warnings().iter().cloned().map(Notice::Reading).collect();
    notices.extend(tree.warnings().iter().cloned().map(Notice::Tree));
    if let Some(captures) = captures {
        notices.extend(graft(&mut tree, captures, reading));
    }
    let events_of_tree = tree.trace().events();
    if !events_of_tree.ids().any(|event| events_of_tree.category(event).is_device()) {
        notices.push(Notice::NoWorkToAlign { advice: device_recording_advice(tree.trace()) });
    }
    Ok(Side { tree, events, notices, window: in_words })
}

/// Below this share of equal operators, or of matched device time, two runs are hardly of one program.
const LITTLE_PERCENT: f64 = 50.0;

/// What there is to say against comparing two runs.
pub(crate) fn doubts<T: Borrow<TraceTree>>(
    diff: &TreeDiff<T>,
    kinds: [Option<RecordingKind>; 2],
) -> Vec<Notice> {
    let mut notices = Vec::new();
    if let [Some(a), Some(b)] = kinds
        && a != b
    {
        notices.push(Notice::OtherKindOfRun { kinds: [a, b] });
    }
    // Where one recording goes on beyond the other, much of it has no equal there.
    let operators_percent = diff.likeness().operators_percent().filter(|_| !diff.is_cut_differently());
    let little = operators_percent.filter(|&percent| percent < LITTLE_PERCENT);
    notices.extend(little.map(|operators_percent| Notice::LittleAlike { operators_percent }));
    notices
}

/// What two aligned runs say, a sentence each: how long they take, how sure the alignment is, how alike they are, and what
/// one alone has.
pub(crate) fn diff_in_words<T: Borrow<TraceTree>>(diff: &TreeDiff<T>, [a, b]: [&str; 2]) -> Vec<String> {
    let us = |time: i64| diff.time_unit().to_microseconds(time);
    let mut lines = Vec::new();
    if let Some(total) = diff.ledger().iter().find(|line| line.item == LedgerItem::Total) {
        let [time_a, time_b] = total.times.map(us);
        let cut = diff.is_cut_differently();
        let change = if cut { String::new() } else { percent_change(time_a, time_b) };
        lines.push(format!(
            "from the first to the last device event: {} in {a}, {} in {b}{change}",
            duration(time_a),
            duration(time_b)
        ));
        lines.extend(cut.then(|| {
            "the recordings cover different amounts of work: call counts differ and step counts are not \
             known to match; changes are per call and per layer"
                .to_owned()
        }));
    }
    lines.extend(matched_in_words(diff, [a, b]));
    if diff.is_cut_differently() {
        return lines;
    }
    let likeness = diff.likeness();
    let percent = |share: Option<f64>| share.map(|share| format!("{}%", decimal(share, 1)));
    let operators = percent(likeness.operators_percent())
        .map(|share| format!("{share} of the operators match in shapes and types"));
    let kernels = percent(likeness.device_events_percent())
        .map(|share| format!("{share} of the kernels, copies and fills match by name"));
    let parts: Vec<String> = operators.into_iter().chain(kernels).collect();
    lines.extend((!parts.is_empty()).then(|| format!("similarity: {}", parts.join("; "))));
    let groups = diff.unit_groups();
    for (side, name, status) in [(0, a, UnitStatus::OnlyA), (1, b, UnitStatus::OnlyB)] {
        lines.extend(only_in_words(diff, &groups, side, name, status));
    }
    lines
}

/// How much of the device time is matched, and how surely; `None` without any.
fn matched_in_words<T: Borrow<TraceTree>>(diff: &TreeDiff<T>, names: [&str; 2]) -> Option<String> {
    let all = diff.kernel_time();
    let at_least =
        [Confidence::Certain, Confidence::Likely, Confidence::Possible].map(|least| diff.matched_time(least));
    let side_phrase = |side: usize| {
        let share = |time: i64| decimal(sheets::percent(time, all[side]).unwrap_or_default(), 1);
        let [certain, likely, possible] = at_least.map(|times| times[side]);
        format!(
            "{}: certain {}%, likely {}%, possible {}%, unmatched {}%",
            names[side],
            share(certain),
            share(likely - certain),
            share(possible - likely),
            share(all[side] - possible)
        )
    };
    let sides: Vec<String> = [0, 1].into_iter().filter(|&side| all[side] > 0).map(side_phrase).collect();
    (!sides.is_empty()).then(|| format!("matched kernel time, {}", sides.join("; ")))
}

/// Columns that a name has in a sentence: it leaves room for others.
const NAME_WIDTH: usize = 60;

/// What one run alone has; `None` if that is nothing.
fn only_in_words<T: Borrow<TraceTree>>(
    diff: &TreeDiff<T>,
    groups: &[UnitGroup],
    side: usize,
    name: &str,
    status: UnitStatus,
) -> Option<String> {
    /// Names that a sentence has room for.
    const NAMED: usize = 3;
    let mut only: Vec<&UnitGroup> = groups.iter().filter(|group| group.status == status).collect();
    only.sort_few_by_key(|group| std::cmp::Reverse(group.busy[side]));
    let time: i64 = only.iter().map(|group| group.busy[side]).sum();
    let units: usize = only.iter().map(|group| group.count).sum();
    let names: Vec<String> =
        only.iter().take(NAMED).map(|group| bare_kernel_name(&group.names[side])).collect();
    let short = shortened_apart(names.iter().map(String::as_str), NAME_WIDTH, true);
    let mut named: Vec<&str> = names.iter().map(|name| short[name.as_str()].as_str()).collect();
    named.dedup();
    let most = if only.len() > named.len() { ", largest: " } else { ": " };
    (units > 0).then(|| {
        format!(
            "only in {name}: {} with {}{most}{}",
            counted(units, "unmatched unit", "unmatched units"),
            duration(diff.time_unit().to_microseconds(time)),
            named.join(", ")
        )
    })
}

/// The sheets of two trees in the report of one of them.
pub(crate) fn sheets_in_report<'a, T>() -> Vec<Sheet<'a, TreeDiff<T>>>
where
    T: Borrow<TraceTree> + Send + Sync + 'a,
{
    let diff_sheets = tree_diff_sheets();
    let mut sheets: Vec<_> =
        diff_sheets.into_iter().filter(|sheet| [DIFF_LEDGER, DIFF_UNITS].contains(&&*sheet.name)).collect();
    sheets.push(device_rows_sheet());
    sheets
}
