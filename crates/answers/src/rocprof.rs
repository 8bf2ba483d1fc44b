//! The report of a rocprofv3 profile.

use std::collections::BTreeMap;
use std::path::PathBuf;

use advise::{ADVICE, Limits};
use gpu_timeline::Interval;
use hashbrown::HashSet;
use iterations::Window;
use rocprof_perf::{
    AgentTimeline, KernelCategories, RocprofAnalysis, RocprofOptions, TimeUnits, agent_timelines,
    rocprof_notices, rocprof_sheets,
};
use sheets::names;
use sheets::{Layout, Scope};
use trace_doctor::{Diagnosis, SHEET_NAME, recording_sheet};
use trace_ingest::rocprof::{Agent, AgentKind, Domain, Process, Profile, read_profile};
use trace_ingest::{Nanoseconds, RecordingKind};
use trace2tree::{TraceTree, TreeOptions, TreeWarning};
use tree_perf::{Analysis, AnalysisOptions, TraceFinding, budget_sheets};

use crate::advice::{self, first_of, tables_of};
use crate::envelope::{Input, Losses, Trust, linked_percent};
use crate::error::Error;
use crate::notice::Notice;
use crate::numbers::counted;
use crate::parts::SheetNames;
use crate::picture::NothingToDraw;
use crate::report::{Analysed, Report, Reporter, Run, Stage, only, pictures, tables, title, titled};
use crate::steps::{step_count, steps_in_words, window_in_words};
use crate::summary::{Summary, Timeline, TimelineWindow, devices};
use crate::trust;

/// Makes the report of a rocprofv3 profile, of whatever format.
#[derive(Default)]
pub struct RocprofReporter {
    /// What is analysed.
    pub analysis: RocprofOptions,
    /// Names of the sheets, with which the columns go.
    pub sheet_names: SheetNames,
    /// The part of the profile that the report is of, where it is not all.
    pub window: Option<Window>,
    /// Whether work keeps recorded ends that lie far behind the start of the next work of its queue.
    pub keep_overruns: bool,
}

impl Reporter for RocprofReporter {
    fn report(mut self, paths: &[PathBuf], run: &mut Run<'_>) -> Result<Report, Error> {
        let path = only(paths, RecordingKind::Rocprof)?;
        run.begin(Stage::Read);
        let mut profile = read_profile(path, &run.reading)?;
        run.count_events(records(&profile));
        run.begin(Stage::Analysis);
        let layout = self.sheet_names.layout(self.analysis.conventions.layout);
        if layout == Layout::Listed {
            self.analysis.conventions.categories = KernelCategories::Short;
        }
        let tells_all = self.analysis.conventions.scope == Scope::Full;
        let advised = self.sheet_names == SheetNames::Documented && tells_all;
        // Of the whole profile, before a window cuts it.
        let tree_options = TreeOptions { keep_overruns: self.keep_overruns, ..TreeOptions::default() };
        let tree = advised.then(|| TraceTree::build(profile.to_trace(), &tree_options));
        let diagnosis = tree.as_ref().map(Diagnosis::new);
        if let Some(tree) = tree.as_ref().filter(|_| !self.keep_overruns) {
            profile.shorten(&tree.overruns().events);
        }
        let (analysis, selected) = match &self.window {
            None => (RocprofAnalysis::new(profile, self.analysis), None),
            Some(window) => {
                let (analysis, selected) = RocprofAnalysis::from_window(profile, self.analysis, window)
                    .map_err(|error| Error::Window { path: path.to_path_buf(), error })?;
                (analysis, Some(selected))
            }
        };
        let mut analysis = Box::new(analysis);
        if let Some(tree) = &tree {
            let origin = tree.trace().origin();
            let profile_interval =
                |time: &Interval| Interval::between(origin + time.start, origin + time.end);
            analysis
                .know_unrecorded(tree.unrecorded().time.as_slice().iter().map(profile_interval).collect());
        }
        let is_overrun = |warning: &&TreeWarning| matches!(warning, TreeWarning::Overruns { .. });
        let tree_warnings = tree.iter().flat_map(TraceTree::warnings).filter(is_overrun).cloned();
        let overruns: Vec<Notice> = tree_warnings.map(Notice::Tree).collect();
        let tree = match selected {
            None => tree,
            Some(_) => tree.map(|_| TraceTree::build(analysis.profile().to_trace(), &tree_options)),
        };
        let traced = tree.and_then(traced);
        // The sheets and the first page speak of the same windows.
        let devices = traced.iter().flat_map(Analysis::timelines_of_devices);
        let sharing = devices.filter(|of| of.shares_window).map(|of| (of.device, of.breakdown.total));
        analysis.know_shared_windows(sharing);
        run.begin(Stage::Sheets);
        let title = title(path);
        let (mut made, mut known) = tables(&*analysis, rocprof_sheets(), layout)?;
        if analysis.options().conventions.units == TimeUnits::AThousandthBelow {
            made.iter_mut().for_each(|table| table.rename_in_excerpt("kernel ms", "kernel µs"));
        }
        let advice = traced
            .as_ref()
            .map(|trace| advice::trace_advice(trace, diagnosis.as_ref(), None, &Limits::default()));
        if let Some(trace) = &traced {
            made.extend(tables(trace, budget_sheets(), layout)?.0);
        }
        known.extend(budget_sheets().into_iter().map(|sheet| sheet.name.into_owned()));
        if let Some(advice) = &advice {
            made.splice(0..0, tables_of(advice, layout)?);
        }
        known.extend([ADVICE, SHEET_NAME].map(ToOwned::to_owned));
        let mut left_out = Vec::new();
        if let Some(diagnosis) = &diagnosis {
            trust::mark(&mut made, diagnosis);
            left_out = trust::left_out(&made, diagnosis);
            made.extend(tables(diagnosis, vec![recording_sheet()], layout)?.0);
        }
        let tables = titled(&title, (made, known), run)?;
        let reading_notices = analysis.profile().warnings.iter().cloned().map(Notice::Reading);
        let mut notices = reading_notices
            .chain(overruns)
            .chain(rocprof_notices(&analysis).into_iter().map(Notice::Rocprof))
            .collect();
        let pictures = pictures(run, &mut notices, |_| Ok(Err(NothingToDraw::OtherReports)))?;
        let mut summary = summary(&analysis, traced.as_ref().and_then(Analysis::finding), title);
        summary.left_out = left_out;
        summary.begin_with(selected.as_ref().map(window_in_words));
        summary.doubt(diagnosis.as_ref().and_then(Diagnosis::doubts));
        let analysis = Analysed::Rocprof(analysis, diagnosis);
        summary.findings = first_of(advice.as_ref());
        let report = Report { tables, summary, notices, pictures, advice, analysis };
        report.with_overview(self.sheet_names, run)
    }
}

/// The profile as a trace, for what all recorders of traces have: `None` without device work.
fn traced(tree: TraceTree) -> Option<Analysis> {
    let trace = Analysis::from_tree(tree, AnalysisOptions::default());
    trace.timeline()?;
    Some(trace)
}

/// How far the figures of a profile can be trusted.
pub(crate) fn trust(analysis: &RocprofAnalysis, diagnosis: Option<&Diagnosis>) -> Trust {
    let profile = analysis.profile();
    let device_events = profile.dispatches.len() + profile.copies.len();
    let read = Trust::new(device_events, Losses::of(&profile.warnings));
    let read = Trust { steps: step_count(analysis), ..read.with_all_launches(linked(profile)) };
    read.with_doubts(diagnosis.is_some_and(|diagnosis| diagnosis.doubts().is_some()))
}

/// Share of the time of dispatches and copies whose call is recorded, in percent; `None` where no calls are, which are
/// traced only when that is asked for.
fn linked(profile: &Profile) -> Option<f64> {
    let launching = profile.calls.iter().filter(|call| matches!(call.domain, Domain::Hip | Domain::Hsa));
    let calls: HashSet<(u32, u64)> =
        launching.filter_map(|call| Some((call.process, call.correlation?))).collect();
    let is_linked = |process: u32, correlation: Option<u64>| {
        correlation.is_some_and(|correlation| calls.contains(&(process, correlation)))
    };
    let dispatches =
        profile.dispatches.iter().map(|work| (work.duration().0, is_linked(work.process, work.correlation)));
    let copies =
        profile.copies.iter().map(|copy| (copy.duration().0, is_linked(copy.process, copy.correlation)));
    linked_percent(dispatches.chain(copies)).filter(|_| !calls.is_empty())
}

/// What a profile says of itself.
pub(crate) fn tell(input: &mut Input, profile: &Profile) {
    let gpus = profile.agents.iter().filter(|agent| agent.kind == AgentKind::Gpu);
    input.devices = gpus.filter_map(|gpu| gpu.product_name.clone().or(gpu.name.clone())).collect();
    input.events = Some(records(profile) as u64);
    let Profile { dispatches, copies, calls, .. } = profile;
    let times = || {
        let work = dispatches.iter().map(|work| (work.start, work.end));
        let copies = copies.iter().map(|copy| (copy.start, copy.end));
        let all = work.chain(copies).chain(calls.iter().map(|call| (call.start, call.end)));
        // Records without times are read as those of the moment 0.
        all.filter(|&(_, end)| end != Nanoseconds(0))
    };
    let first = times().map(|(start, _)| start).min();
    let last = times().map(|(_, end)| end).max();
    input.span_ns = first.zip(last).map(|(first, last)| (last - first).0);
}

/// Everything that happened, of whatever kind.
fn records(profile: &Profile) -> usize {
    let Profile { dispatches, copies, calls, allocations, scratch, counter_values, samples, .. } = profile;
    let memory_records = copies.len() + allocations.len() + scratch.len();
    dispatches.len() + calls.len() + memory_records + counter_values.len() + samples.len()
}

fn summary(analysis: &RocprofAnalysis, finding: Option<TraceFinding>, title: String) -> Summary {
    let timelines = agent_timelines(analysis);
    let shown = timelines.iter().take(Summary::MOST_TIMELINES);
    let statements =
        finding.iter().flat_map(|finding| [Some(finding.to_string()), finding.unclassified_beside()]);
    Summary {
        head: head(analysis.profile(), &timelines, title),
        headlines: statements.clone().flatten().count(),
        statements: statements.flatten().collect(),
        timelines: shown
            .map(|&AgentTimeline { agent, breakdown, shares_window }| {
                let name = agent.map_or("GPU".to_owned(), agent_name);
                let timeline = Timeline::new(name, breakdown, |nanoseconds| nanoseconds as f64 / 1e3);
                Timeline { window: TimelineWindow::for_device(shares_window), ..timeline }
            })
            .collect(),
        more_timelines: Summary::more_timelines(timelines.len(), names::GPU_TIMELINE_BY_AGENT),
        program: steps_in_words(analysis).into_iter().collect(),
        ..Summary::default()
    }
}

fn head(profile: &Profile, timelines: &[AgentTimeline<'_>], title: String) -> Vec<String> {
    let mut products: BTreeMap<&str, usize> = BTreeMap::new();
    for agent in timelines.iter().filter_map(|timeline| timeline.agent) {
        let product = agent.product_name.as_deref().or(agent.name.as_deref()).filter(|name| !name.is_empty());
        *products.entry(product.unwrap_or("GPU")).or_default() += 1;
    }
    let mut head = vec![title];
    head.extend(products.into_iter().map(|(product, count)| match product {
        "GPU" => counted(count, "GPU", "GPUs"),
        product => devices(count, product),
    }));
    head.extend(processes(&profile.processes));
    head.push(counted(profile.dispatches.len(), "kernel dispatch", "kernel dispatches"));
    for (count, one, several) in
        [(profile.copies.len(), "memory copy", "memory copies"), (profile.calls.len(), "call", "calls")]
    {
        head.extend((count > 0).then(|| counted(count, one, several)));
    }
    head
}

/// Which processes on which hosts; nothing where the profile does not say.
fn processes(processes: &[Process]) -> Option<String> {
    let known = |process: &Process| process.pid.is_some() || process.hostname.is_some();
    match processes {
        [process] if known(process) => {
            let pid = process.pid.map_or("a process".to_owned(), |pid| format!("process {pid}"));
            let host = process.hostname.as_ref().map(|host| format!(" on {host}"));
            Some(pid + host.as_deref().unwrap_or_default())
        }
        [] | [_] => None,
        several => {
            let mut hosts: Vec<&str> =
                several.iter().filter_map(|process| process.hostname.as_deref()).collect();
            hosts.sort_unstable();
            hosts.dedup();
            let on = match hosts[..] {
                [] => String::new(),
                [host] => format!(" on {host}"),
                [..] => format!(" on {} hosts", hosts.len()),
            };
            Some(format!("{} processes{on}", several.len()))
        }
    }
}

fn agent_name(agent: &Agent) -> String {
    agent.ordinal.map_or_else(|| agent.label.clone(), |ordinal| format!("GPU {ordinal}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_told_as_far_as_they_are_known() {
        let process = |pid: Option<i64>, host: Option<&str>| Process {
            pid,
            hostname: host.map(ToOwned::to_owned),
            ..Process::default()
        };
        for (known, text) in [
            (vec![], None),
            (vec![process(None, None)], None),
            (vec![process(Some(908), None)], Some("process 908")),
            (vec![process(None, Some("a"))], Some("a process on a")),
            (vec![process(Some(908), Some("a"))], Some("process 908 on a")),
            (vec![process(Some(1), Some("a")), process(Some(2), Some("a"))], Some("2 processes on a")),
            (vec![process(Some(1), Some("a")), process(Some(1), Some("b"))], Some("2 processes on 2 hosts")),
            (vec![process(Some(1), None), process(Some(2), None)], Some("2 processes")),
        ] {
            assert_eq!(processes(&known).as_deref(), text);
        }
    }
}
