//! The report of a trace: host operators, their launches and the device events, as PyTorch records them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::mem;
use std::path::{Path, PathBuf};

use extension::Extension;
use gpu_timeline::SortFew;
use inference_phase::capture::CaptureLibrary;
use inference_phase::sheets::{PhaseAnalysis, PhaseOptions, PhaseStatistics, work_of_iterations};
use inference_phase::{Phase, Step};
use iterations::{MeasuredIterations, Program, Selected, Window, WindowError};
use nsys_perf::NsysOptions;
use operator_sheets::{Iterated, IterationWork, RooflineShares};
use reference_tools::Hta;
use sheets::names;
use sheets::{Layout, Scope, Table};
use trace_diff::{DiffOptions, TreeDiff};
use trace_doctor::Diagnosis;
use trace_ingest::{Category, IngestError, ReadOptions, RecordingKind, Trace, TraceFacts, read_path};
use trace2tree::{TraceTree, TreeOptions, TreeWarning};
use tree_perf::{
    Analysis, AnalysisOptions, DeviceTimeline, RecomputeRule, ReportLayout, SharedWork, TraceFinding,
};

use crate::captures::{graft, unopened_graphs};
use crate::diff::{diff_in_words, doubts, sheets_in_report};
use crate::error::Error;
use crate::host_alone::{device_recording_advice, host_alone, no_gpu_events};
use crate::notice::{NoPythonFrames, Notice};
use crate::numbers::{duration, grouped};
use crate::parts::SheetNames;
use crate::picture::{self, NothingToDraw, Picture};
use crate::report::{Analysed, Report, Reporter, Run, Stage, only, pictures, tables, title};
use crate::runs::names_of_runs;
use crate::steps::{steps_in_words, warm_up_in_words, window_in_words};
use crate::summary::{Summary, Timeline, TimelineWindow, devices};
use crate::trace_tables::Examined;

/// Makes the report of a trace. Recordings of other profilers are read as traces too, with what they have in common.
#[derive(Default)]
pub struct TraceReporter {
    /// What is analysed.
    pub analysis: AnalysisOptions,
    /// How the phases of inference are found, if sheets are to separate them.
    pub phases: Option<PhaseOptions>,
    /// Whether to tell the phases on the first page, though no sheet separates them.
    pub tells_phases: bool,
    /// Models, categories and tree rules of a script.
    pub extension: Option<Extension>,
    /// Traces of graph captures, which give replayed graphs their operators.
    pub captures: Option<CaptureLibrary>,
    /// Names of the sheets.
    pub sheet_names: SheetNames,
    /// The part of the trace that the report is of, where it is not all.
    pub window: Option<Window>,
    /// Another trace that this one is held against.
    pub other: Option<OtherTrace>,
    /// Whether the tables of Holistic Trace Analysis are written, too, and which.
    pub hta: Option<HtaTables>,
    /// Whether to tell the modules that work belongs to, though no sheet has them: a page shows them. Reads Python frames.
    pub modules: bool,
}

/// The tables of Holistic Trace Analysis.
#[derive(Clone, Debug, Default)]
pub struct HtaTables {
    /// Among them the sequences of kernels below operators whose names contain this; reads Python frames.
    pub sequences_of: Option<String>,
}

/// A trace that another one is compared with, tree by tree.
pub struct OtherTrace {
    /// Its file.
    pub path: PathBuf,
    /// Traces of its graph captures.
    pub captures: Option<CaptureLibrary>,
}

/// The window that a report is of.
struct Chosen {
    selected: Selected,
    /// The iterations of the whole recording, where the window is made of steps.
    whole: Option<MeasuredIterations>,
}

impl TraceReporter {
    /// Whether anything looks at Python frames: options that show or follow them, phases, which frames of engines tell,
    /// and scripts, which may look at everything.
    fn needs_python_frames(&self) -> bool {
        self.captures.is_some()
            || self.other.is_some()
            || self.modules
            || self.phases.is_some()
            || self.tells_phases
            || self.extension.is_some()
            || self.analysis.layout == ReportLayout::Inference
            || self.follows_sequences()
            || self.analysis.tree_options().python_frames
    }

    /// Whether the report says what is wrong with the recording.
    fn examines_recording(&self) -> bool {
        self.sheet_names == SheetNames::Documented && self.analysis.conventions.scope == Scope::Full
    }

    /// Whether HTA's sequences are asked for, which are of operators below frames, too.
    fn follows_sequences(&self) -> bool {
        self.hta.as_ref().is_some_and(|hta| hta.sequences_of.is_some())
    }

    /// How trees are built. Captured operators and those of another trace are told by the modules around them, too.
    fn tree_options(&self, reading: &ReadOptions<'_>) -> TreeOptions {
        let mut options = self.analysis.tree_options();
        options.python_frames |=
            self.captures.is_some() || self.other.is_some() || self.modules || self.follows_sequences();
        options.threads = reading.thread_count();
        options
    }

    /// The analysis of the trace that this one is held against, under the same options.
    fn other_analysis(
        &self,
        other: &mut OtherTrace,
        reading: &ReadOptions<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<Analysis, Error> {
        let options = self.tree_options(reading);
        let path = &other.path;
        let mut tree = TraceTree::build(read_path(path, reading)?, &options);
        if let Some(window) = &self.window {
            let cut = window.cut(tree).map_err(|error| Error::Window { path: path.clone(), error })?;
            tree = TraceTree::build(cut.0, &options);
        }
        let mut file_notices: Vec<Notice> =
            tree.trace().warnings().iter().cloned().map(Notice::Reading).collect();
        file_notices.extend(tree.warnings().iter().cloned().map(Notice::Tree));
        if let Some(captures) = &mut other.captures {
            file_notices.extend(graft(&mut tree, captures, reading));
        }
        let file_notices = file_notices.into_iter();
        notices
            .extend(file_notices.map(|notice| Notice::File { path: path.clone(), notice: Box::new(notice) }));
        Ok(Analysis::from_tree(tree, self.analysis.clone()))
    }

    /// The tree of the trace, or of its window, and what is wrong with the recording as a whole.
    fn tree(
        &mut self,
        trace: Trace,
        reading: &ReadOptions<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<(TraceTree, Option<Chosen>, Option<Diagnosis>), WindowError> {
        let options = self.tree_options(reading);
        let mut tree = TraceTree::build(trace, &options);
        let diagnosis = self.examines_recording().then(|| Diagnosis::new(&tree));
        let mut selected = None;
        if let Some(window) = &self.window {
            let whole = Analysis::iterations_of(&tree, &self.analysis);
            let (trace, selected_window) = window.cut_of(tree, whole.detected().clone())?;
            tree = TraceTree::build(trace, &options);
            selected = Some(Chosen {
                whole: selected_window.steps.is_some().then_some(whole),
                selected: selected_window,
            });
        }
        match &mut self.captures {
            Some(captures) => notices.extend(graft(&mut tree, captures, reading)),
            None if self.analysis.layout == ReportLayout::Inference => notices.extend(unopened_graphs(&tree)),
            None => {}
        }
        Ok((tree, selected, diagnosis))
    }
}

impl Reporter for TraceReporter {
    fn report(self, paths: &[PathBuf], run: &mut Run<'_>) -> Result<Report, Error> {
        self.report_with(&NsysOptions::default(), paths, run)
    }
}

/// Makes the report of a recording of Nsight Systems: that of a trace, with sheets of its own. [`TraceReporter`] gives such
/// a recording these sheets by their defaults.
#[derive(Default)]
pub struct NsysReporter {
    /// What it has of every trace.
    pub trace: TraceReporter,
    /// Its own sheets.
    pub sheets: NsysOptions,
}

impl Reporter for NsysReporter {
    fn report(self, paths: &[PathBuf], run: &mut Run<'_>) -> Result<Report, Error> {
        self.trace.report_with(&self.sheets, paths, run)
    }
}

impl TraceReporter {
    fn report_with(
        mut self,
        nsys: &NsysOptions,
        paths: &[PathBuf],
        run: &mut Run<'_>,
    ) -> Result<Report, Error> {
        let path = only(paths, RecordingKind::Trace)?;
        self.analysis.memory_unasked = self.sheet_names == SheetNames::Documented;
        run.begin(Stage::Read);
        let skip_python_frames = !self.needs_python_frames();
        let trace = read_path(path, &ReadOptions { skip_python_frames, ..run.reading })?;
        run.count_events(trace.events().len() + trace.skipped_frames() as usize);
        run.begin(Stage::Analysis);
        let threads = run.reading.thread_count();
        let mut notices = Vec::new();
        let (tree, selected, diagnosis) = self
            .tree(trace, &run.reading, &mut notices)
            .map_err(|error| Error::Window { path: path.to_path_buf(), error })?;
        let diagnosis = diagnosis.filter(|_| !nsys.nsys_names);
        let other = self.other.take().map(|mut other| {
            let analysis = self.other_analysis(&mut other, &run.reading, &mut notices)?;
            Ok::<_, Error>((other.path, analysis))
        });
        let other = other.transpose()?;
        let mut window = selected.as_ref().map(|chosen| window_in_words(&chosen.selected));
        // What a script prints, and how often, must not depend on which thread asks it first.
        let threads_of_sheets = if self.extension.is_some() { 1 } else { threads };
        let mut analysis = Box::new(match self.extension.take() {
            Some(extension) => Analysis::from_tree_with_extension(tree, self.analysis, Box::new(extension)),
            None => Analysis::from_tree(tree, self.analysis),
        });
        analysis.know_work_of_steps(annotated_work);
        if let Some(Chosen { selected, whole }) = selected {
            analysis.look_at(selected.iterations, whole.as_ref());
            if whole.is_some()
                && let Some(overlap) = overlap_in_words(&analysis)
            {
                window.iter_mut().for_each(|words| words.push_str(&overlap));
            }
        }
        if analysis.device_event_count() == 0 && !is_report_of_host(&analysis) {
            return Err(no_gpu_events(path, analysis.trace()));
        }
        let mut compared = None;
        if let Some((other_path, other)) = &other {
            let layout = self.sheet_names.layout(analysis.options().conventions.layout);
            let names = names_of_runs(&[], &[path.to_path_buf(), other_path.clone()])?;
            let mut found = Compared::new(&analysis, other, [&names[0], &names[1]], layout, &mut notices)?;
            analysis.compare_with(mem::take(&mut found.work));
            compared = Some(found);
        }
        let phases = self.phases.map(|options| PhaseAnalysis::new(&analysis, options));
        if let Some(steps) = phases.as_ref().and_then(PhaseAnalysis::steps) {
            analysis.tell_work(work_of(&analysis, |_| steps.steps().into()));
        }
        if run.reading.is_stopped() {
            return Err(IngestError::Stopped { path: path.to_path_buf() }.into());
        }
        run.begin(Stage::Sheets);
        let title = title(path);
        let hta = self.hta.map(|asked| Hta::new(analysis.tree(), asked.sequences_of));
        if let Some(part) = hta.as_ref().and_then(Hta::without_sequences) {
            notices.push(Notice::Analysis(tree_perf::Notice::NoSequences { part: part.to_owned() }));
        }
        let (comparison_tables, compared) =
            compared.map_or_else(Default::default, |found| (found.tables, found.statements));
        let examined = Examined {
            path,
            analysis: &analysis,
            phases: phases.as_ref(),
            diagnosis: diagnosis.as_ref(),
            comparison_tables,
            nsys,
            hta: hta.as_ref(),
            names: self.sheet_names,
        };
        let told = phases.is_none() && self.tells_phases;
        let told = told.then(|| PhaseAnalysis::new(&analysis, PhaseOptions::default()));
        let is_known =
            |row: &PhaseStatistics| row.steps.is_some_and(|steps| steps > 0) && row.phase != Phase::Unknown;
        let told = told.as_ref().filter(|told| told.phases().iter().any(is_known));
        let first_page = || summary(&analysis, phases.as_ref().or(told), title.clone());
        let (tables, mut summary, advice) = examined.tables(&title, first_page, threads_of_sheets, run)?;
        let tables = if hta.is_some() { tables.keeping_names() } else { tables };
        notices.extend(notices_of(&analysis, phases.as_ref()));
        if analysis.trace().facts().is_view_of_xplane {
            notices.push(Notice::ViewOfXPlane { profile: profile_beside(path) });
        }
        summary.statements.extend(compared);
        summary.begin_with(window);
        summary.doubt(diagnosis.as_ref().and_then(Diagnosis::doubts));
        notices.extend(no_rooflines(&analysis, &summary));
        let pictures = pictures(run, &mut notices, |asked| match (asked, &phases) {
            (Picture::Rooflines, _) => picture::rooflines(&*analysis, analysis.architecture(), &title),
            (Picture::Steps, Some(phases)) => picture::phases(phases, &title),
            (Picture::Steps, None) => picture::iterations(&*analysis, &title),
            (Picture::StackedTime(_), _) => Ok(Err(NothingToDraw::OtherReports)),
        })?;
        drop(phases);
        let analysis = Analysed::Trace(analysis, diagnosis);
        let report = Report { tables, summary, notices, pictures, advice, analysis };
        if nsys.nsys_names { Ok(report) } else { report.with_overview(self.sheet_names, run) }
    }
}

/// That a window of steps is longer than these, where it is: their device work runs beside that of their neighbours.
fn overlap_in_words(analysis: &Analysis) -> Option<String> {
    /// Longer by less is noise.
    const FROM: f64 = 1.01;
    let (level, measured) = analysis.iterations().steps()?;
    let steps = level.iterations.iter().zip(&measured.iterations);
    let steps: i64 = steps.map(|(step, figures)| figures.duration(step)).sum();
    let window = analysis.timeline()?.total;
    let time = |time: i64| duration(analysis.trace().to_microseconds(time));
    (window as f64 > FROM * steps as f64)
        .then(|| format!("; other steps overlap: {} of steps in a window of {}", time(steps), time(window)))
}

/// Two traces that were compared: their sheets, what they say, and what the second takes for the work of the first.
struct Compared {
    tables: Vec<Table>,
    statements: Vec<String>,
    work: Vec<SharedWork>,
}

impl Compared {
    fn new(
        analysis: &Analysis,
        other: &Analysis,
        names: [&str; 2],
        layout: Layout,
        notices: &mut Vec<Notice>,
    ) -> Result<Self, Error> {
        let options =
            DiffOptions { communication: analysis.options().communication.clone(), ..DiffOptions::default() };
        let diff = TreeDiff::new(analysis.tree(), other.tree(), options);
        notices.extend(doubts(&diff, [None, None]));
        let us = |time: i64| diff.time_unit().to_microseconds(time);
        let work = diff.unit_work().map(|unit| {
            let (number, name, busy_us) = (unit.number, unit.name(), unit.busy.map(us));
            let [events, others] = unit.events;
            SharedWork { number, name, events, busy_us, is_in_other: !others.is_empty() }
        });
        Ok(Compared {
            work: work.collect(),
            statements: diff_in_words(&diff, names),
            tables: tables(&diff, sheets_in_report(), layout)?.0,
        })
    }
}

/// What each iteration of a language model, or of an engine that makes images, did for its users, by annotations. What
/// these do not say, only the analysis of phases knows: finding it takes as long as many sheets.
fn annotated_work(analysis: &Analysis) -> Vec<IterationWork> {
    work_of(analysis, |trace| Step::annotated(trace).into())
}

/// The same by these steps of an engine; nothing where the program is no such engine.
fn work_of<'s>(analysis: &Analysis, steps: impl FnOnce(&Trace) -> Cow<'s, [Step]>) -> Vec<IterationWork> {
    let Some(found) = Iterated::iterations(analysis) else { return Vec::new() };
    let serves = matches!(found.detected().program(), Program::LanguageModel | Program::Diffusion);
    let Some((level, _)) = found.steps().filter(|_| serves) else { return Vec::new() };
    work_of_iterations(analysis.trace(), &steps(analysis.trace()), &level.iterations)
}

/// Whether a recording without device events has operators whose host time a report shows. Recorders of other kinds have
/// reports of their own.
fn is_report_of_host(analysis: &Analysis) -> bool {
    let kind = analysis.trace().facts().recorder.kind;
    analysis.is_host_only() && !matches!(kind, Some(RecordingKind::XPlane | RecordingKind::Rocprof))
}

/// The profile that XProf made a trace of for viewing: it writes both into one folder, under the name of the host.
fn profile_beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let host = name.split_once(".trace.json").map_or(name, |(host, _)| host);
    let profile = path.with_file_name(format!("{host}.xplane.pb"));
    profile.is_file().then_some(profile)
}

/// That the device's peaks are not known, where they would have been of use.
fn no_rooflines(analysis: &Analysis, summary: &Summary) -> Option<Notice> {
    let mut devices = analysis.trace().facts().devices.iter().filter_map(|device| device.name.as_deref());
    let device = devices.find(|name| !name.is_empty()).map(Into::into);
    summary.best_rates.is_some().then_some(Notice::NoRooflines { device })
}

/// What reading, the tree and the analysis got over.
fn notices_of(analysis: &Analysis, phases: Option<&PhaseAnalysis<'_>>) -> Vec<Notice> {
    let mut notices = Vec::new();
    let (coverage, options) = (analysis.coverage(), analysis.options());
    let unlinked = (coverage.unlinked_events > 0).then_some(Notice::UnlinkedDeviceEvents {
        events: coverage.unlinked_events,
        time_us: coverage.unlinked_time_us,
        in_timeline: options.include_unlinked_kernels,
    });
    let left_out = unlinked.clone().filter(|_| !options.include_unlinked_kernels);
    notices.extend(left_out);
    let trace = analysis.trace();
    let events = trace.events();
    let has_noted_stacks = !events.arguments().call_stack.is_empty();
    let needs_frames = (options.include_call_stack && !has_noted_stacks)
        || (options.detect_recompute
            && (options.conventions.recompute == RecomputeRule::Frames
                || events.arguments().forward_thread.is_empty()))
        || options.group_by_parent_module;
    if needs_frames && !events.ids().any(|event| events.category(event) == Category::PYTHON_FUNCTION) {
        notices.push(Notice::NoPythonFrames(match trace.facts().recorder.python_frames {
            _ if has_noted_stacks => NoPythonFrames::NotedStacks,
            true => NoPythonFrames::NotRecorded,
            false => NoPythonFrames::NotRecordable,
        }));
    }
    if let Some(kind @ (RecordingKind::XPlane | RecordingKind::Rocprof)) = trace.facts().recorder.kind {
        notices.push(Notice::LesserReport { kind });
    }
    if analysis.is_host_only() {
        notices.push(Notice::NoDeviceEvents { advice: device_recording_advice(trace) });
    }
    if analysis.is_gpu_only() && !options.kernel_summary {
        notices.push(Notice::NoOperators);
    }
    notices.extend(trace.warnings().iter().cloned().map(Notice::Reading));
    // Said above with its time.
    let is_said = |warning: &&TreeWarning| matches!(warning, TreeWarning::UnlinkedDeviceEvents { .. });
    let tree_warnings = analysis.tree().warnings().iter().filter(|warning| !is_said(warning));
    notices.extend(tree_warnings.cloned().map(Notice::Tree));
    notices.extend(analysis.notices().into_iter().map(Notice::Analysis));
    notices.extend(phases.into_iter().flat_map(PhaseAnalysis::notices).map(Notice::Phases));
    // Tables have a row of what counts without a launch.
    notices.extend(unlinked.filter(|_| options.include_unlinked_kernels));
    notices
}

fn summary(analysis: &Analysis, phases: Option<&PhaseAnalysis<'_>>, title: String) -> Summary {
    let host_statement = analysis.is_host_only().then(|| host_alone(analysis));
    let timeline =
        |name, timeline| Timeline::new(name, timeline, |time| analysis.trace().to_microseconds(time));
    // One timeline of several devices would hide that some of them are idle.
    let device_timelines = analysis.timelines_of_devices();
    let timelines: Vec<Timeline> = match device_timelines.len() {
        0 | 1 => analysis.timeline().map(|all| timeline(device(analysis), all)).into_iter().collect(),
        _ => {
            let shown = device_timelines.iter().take(Summary::MOST_TIMELINES);
            let facts = analysis.trace().facts();
            let shown_timeline = |of: &DeviceTimeline| Timeline {
                window: TimelineWindow::for_device(of.shares_window),
                ..timeline(facts.name_of_device(of.device), of.breakdown)
            };
            shown.map(shown_timeline).collect()
        }
    };
    let finding = analysis.finding();
    let warm_up = analysis
        .timeline()
        .filter(|_| device_timelines.len() <= 1)
        .and_then(|window| warm_up_in_words(analysis, window.total));
    Summary {
        head: head(analysis.trace(), title),
        recorder: recorder(analysis.trace()),
        headlines: finding
            .as_ref()
            .map_or(0, |finding| 1 + usize::from(finding.unclassified_beside().is_some()))
            + usize::from(warm_up.is_some()),
        statements: finding
            .as_ref()
            .map(|finding| finding.to_string())
            .into_iter()
            .chain(finding.as_ref().and_then(TraceFinding::unclassified_beside))
            .chain(warm_up)
            .chain(host_statement)
            .chain(analysis.idle_finding().map(|finding| finding.to_string()))
            .chain(memory_in_words(analysis))
            .collect(),
        timelines,
        more_timelines: Summary::more_timelines(device_timelines.len(), names::GPU_TIMELINE_PER_DEVICE),
        program: steps_in_words(analysis).into_iter().chain(phases.and_then(phase_shares)).collect(),
        check: (analysis.options().layout == ReportLayout::Inference)
            .then(|| analysis.sanity_check())
            .flatten(),
        kernels: if analysis.options().kernel_summary { Vec::new() } else { analysis.kernel_totals() },
        // Without operators there is nothing that a model could be of.
        coverage: if analysis.is_gpu_only() || analysis.is_host_only() {
            None
        } else {
            RooflineShares::new(analysis)
        },
        architecture: analysis.architecture().map(Summary::architecture),
        best_rates: Summary::best_rates(analysis, analysis.architecture()),
        ..Summary::default()
    }
}

/// What the devices whose time the timeline has are called: GPUs, or the device by its number where others have only one.
fn device(analysis: &Analysis) -> String {
    let trace = analysis.trace();
    let kind = trace.facts().kind_of_devices();
    if trace.facts().accelerator.is_none() {
        return kind;
    }
    let mut devices = analysis.device_events().map(|event| trace.events().device(event));
    match devices.next().flatten().filter(|&first| devices.all(|other| other == Some(first))) {
        Some(only) => trace.facts().name_of_device(only),
        None => kind,
    }
}

/// What there is to say of memory, a line each.
fn memory_in_words(analysis: &Analysis) -> Vec<String> {
    let finding = analysis.memory_finding().map(|finding| finding.to_string());
    finding.iter().flat_map(|text| text.lines()).map(str::to_owned).collect()
}

fn head(trace: &Trace, title: String) -> Vec<String> {
    let facts = trace.facts();
    let mut head = vec![title];
    head.extend(active_devices(trace));
    if let Some(distributed) = &facts.distributed
        && let (Some(rank), Some(size)) = (distributed.rank, distributed.world_size)
        && size > 1
    {
        head.push(format!("rank {rank} of {size}"));
    }
    head.push(format!("{} events", grouped(trace.entries().into())));
    head
}

/// The named devices of the machine, and those of them that worked. Without work, or where numbers of devices are others than
/// those of the work, all of them.
pub(crate) fn named_devices(trace: &Trace) -> (usize, Vec<&str>) {
    let named = trace.facts().devices.iter().filter_map(|device| Some((device.id, device.name.as_deref()?)));
    let all = || named.clone().filter(|(_, name)| !name.is_empty());
    let events = trace.events();
    let work = events.ids().filter(|&event| events.category(event).is_device());
    let used: BTreeSet<i64> = work.filter_map(|event| events.device(event)).collect();
    let worked = all().filter(|(id, _)| id.is_some_and(|id| used.contains(&id)));
    let worked: Vec<&str> = worked.map(|(_, name)| name).collect();
    let is_part = !worked.is_empty() && worked.len() == used.len();
    (all().count(), if is_part { worked } else { all().map(|(_, name)| name).collect() })
}

/// The devices of the machine by name, and how many of them worked where that is not all: `1 of 8 × NVIDIA H100`.
fn active_devices(trace: &Trace) -> Option<String> {
    let (all, worked) = named_devices(trace);
    let mut names = worked.clone();
    names.dedup();
    let named = (all > 0).then(|| devices(all, &names.join(", ")))?;
    Some(if worked.len() < all { format!("{} of {named}", worked.len()) } else { named })
}

/// What the recorder says of itself, and what it was asked to record.
fn recorder(trace: &Trace) -> Vec<(&'static str, String)> {
    let facts = trace.facts();
    let kind = facts.recorder.kind.map(|kind| ("kind", kind.to_string()));
    let schema = facts.schema_version.map(|version| ("schema version", version.to_string()));
    let asked = [("shapes recorded", facts.record_shapes), ("stacks recorded", facts.with_stack)];
    let yes_no = |was: bool| if was { "yes" } else { "no" }.to_owned();
    let asked = asked.into_iter().filter_map(|(item, was)| Some((item, yes_no(was?))));
    kind.into_iter().chain(schema).chain(versions(facts)).chain(asked).collect()
}

/// Versions of what ran the program and of what recorded it.
pub(crate) fn versions(facts: &TraceFacts) -> impl Iterator<Item = (&'static str, String)> {
    let versions = [
        ("CUDA runtime", &facts.cuda_runtime_version),
        ("CUDA driver", &facts.cuda_driver_version),
        ("CUPTI", &facts.cupti_version),
        ("HIP runtime", &facts.hip_runtime_version),
        ("HIP driver", &facts.hip_driver_version),
        ("ROCtracer", &facts.roctracer_version),
    ];
    versions.into_iter().filter_map(|(name, version)| Some((name, version.clone()?)))
}

/// The phases with their shares of the kernel time; `None` without any kernel time.
fn phase_shares(phases: &PhaseAnalysis<'_>) -> Option<String> {
    let total: i64 = phases.phases().iter().map(|phase| phase.kernel_time).sum();
    let mut rows: Vec<&PhaseStatistics> = phases.phases().iter().filter(|row| row.kernel_time > 0).collect();
    rows.sort_few_by_key(|row| std::cmp::Reverse(row.kernel_time));
    let described: Vec<String> = rows
        .iter()
        .enumerate()
        .map(|(position, row)| {
            let percent = row.kernel_time as f64 / total as f64 * 100.0;
            let of = if position == 0 { " of kernel time" } else { "" };
            let both = if row.phase == Phase::Mixed { " (prefill and decode in one step)" } else { "" };
            format!("{}{both} {percent:.1}%{of}{}", row.phase, evidence(row))
        })
        .collect();
    let by = match phases.steps() {
        Some(_) => String::new(),
        None => format!(" by {}", phases.options().method),
    };
    (!described.is_empty()).then(|| format!("inference phases{by}: {}", described.join(", ")))
}

/// In how many steps, what says so, and how sure that is.
fn evidence(row: &PhaseStatistics) -> String {
    let (Some(steps), Some(confidence)) = (row.steps, row.confidence) else { return String::new() };
    let sources: Vec<&str> = row.sources.iter().map(|source| source.as_str()).collect();
    let noun = if steps == 1 { "step" } else { "steps" };
    format!(" ({} {noun}, by {}, confidence {confidence:.2})", grouped(steps as u128), sources.join(" and "))
}
