//! The report of XPlane profiles: XLA programs on GPUs and TPUs. Of the profiles of several hosts of a run, it is about
//! their collectives.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use advise::{ADVICE, Limits};
use iterations::{LevelKind, Window};
use operator_sheets::{Iterated, RooflineShares};
use sheets::names;
use sheets::{Layout, Scope};
use trace_ingest::Picoseconds;
use trace_ingest::xplane::{Plane, PlaneKind, Profile, read_profile};
use xla_perf::collectives::{CollectiveAnalysis, collective_sheets};
use xla_perf::tpu::{TpuCore, TpuNotice, tpu_finding};
use xla_perf::{Execution, JaxAnalysis, JaxOptions, jax_finding, jax_sheets};

use crate::advice;
use crate::advice::{first_of, tables_of};
use crate::envelope::{Losses, Trust, linked_percent};
use crate::error::Error;
use crate::notice::Notice;
use crate::numbers::{counted, duration};
use crate::parts::SheetNames;
use crate::picture::{self, NothingToDraw, Picture};
use crate::report::{Analysed, Report, Reporter, Run, Stage, lost_events, pictures, tables, title, titled};
use crate::steps::{step_count, steps_in_words, window_in_words};
use crate::summary::{Summary, Timeline, devices};

/// Makes the report of an XPlane profile, or of the collectives of a run whose hosts have a profile each, named in the
/// order of the hosts' ranks.
#[derive(Default)]
pub struct XlaReporter {
    /// What is analysed.
    pub analysis: JaxOptions,
    /// Names of the sheets, with which the columns go.
    pub sheet_names: SheetNames,
    /// The part of a profile that its report is of, where it is not all.
    pub window: Option<Window>,
}

/// A profile with what is looked at of it.
struct Read {
    analysis: JaxAnalysis,
    /// Events of the whole profile.
    events: usize,
    /// What part of it the figures are of.
    window: Option<String>,
}

impl Reporter for XlaReporter {
    fn report(self, paths: &[PathBuf], run: &mut Run<'_>) -> Result<Report, Error> {
        match paths {
            [] => Err(Error::NoRecording),
            [path] => self.report_of_profile(path, run),
            [first, ..] => self.report_of_hosts(first, paths, run),
        }
    }
}

impl XlaReporter {
    fn read(&self, path: &Path, run: &mut Run<'_>) -> Result<Read, Error> {
        run.begin(Stage::Read);
        let profile = read_profile(path, &run.reading)?;
        let is_device = |kind: &PlaneKind| matches!(kind, PlaneKind::Gpu { .. } | PlaneKind::Tpu { .. });
        if !profile.planes.iter().any(|plane| is_device(&plane.kind)) {
            return Err(no_device(path, &profile));
        }
        let events = profile.trace.events().len();
        run.count_events(events);
        run.begin(Stage::Analysis);
        let options = self.analysis.clone();
        let Some(window) = &self.window else {
            return Ok(Read { analysis: JaxAnalysis::new(profile, options), events, window: None });
        };
        let (analysis, selected) = JaxAnalysis::from_window(profile, options, window)
            .map_err(|error| Error::Window { path: path.to_path_buf(), error })?;
        Ok(Read { analysis, events, window: Some(window_in_words(&selected)) })
    }

    fn layout(&self) -> Layout {
        self.sheet_names.layout(self.analysis.conventions.layout)
    }

    fn report_of_profile(self, path: &Path, run: &mut Run<'_>) -> Result<Report, Error> {
        let Read { analysis, events, window } = self.read(path, run)?;
        run.begin(Stage::Sheets);
        let title = title(path);
        let advice = match (self.sheet_names, self.analysis.conventions.scope) {
            (SheetNames::Documented, Scope::Full) => advice::profile_advice(&analysis, &Limits::default()),
            _ => None,
        };
        let (mut made, mut known) = tables(&analysis, jax_sheets(), self.layout())?;
        if let Some(advice) = &advice {
            made.splice(0..0, tables_of(advice, self.layout())?);
        }
        known.push(ADVICE.to_owned());
        let tables = titled(&title, (made, known), run)?;
        let mut notices = notices(&analysis);
        let is_tpus = analysis.has_tpus() && analysis.gpus().is_empty();
        let mut summary = summary(&analysis, events, title.clone());
        summary.begin_with(window);
        if summary.best_rates.is_some() {
            notices.push(Notice::NoRooflines { device: device_name(analysis.profile()) });
        }
        let pictures = pictures(run, &mut notices, |picture| match picture {
            Picture::Rooflines if is_tpus => Ok(Err(NothingToDraw::TpusOnly)),
            Picture::Rooflines => picture::rooflines(&analysis, analysis.architecture(), &title),
            Picture::Steps => picture::iterations(&analysis, &title),
            Picture::StackedTime(_) => Ok(Err(NothingToDraw::OtherReports)),
        })?;
        let analysis = Analysed::Xla(vec![analysis]);
        summary.findings = first_of(advice.as_ref());
        let report = Report { tables, summary, notices, pictures, advice, analysis };
        report.with_overview(self.sheet_names, run)
    }

    fn report_of_hosts(self, first: &Path, paths: &[PathBuf], run: &mut Run<'_>) -> Result<Report, Error> {
        let same = |path: &PathBuf| std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let files: Vec<PathBuf> = paths.iter().map(same).collect();
        if let Some(at) = (1..files.len()).find(|&at| files[..at].contains(&files[at])) {
            return Err(Error::SameRecording { path: paths[at].clone() });
        }
        let gpus_per_node = self.analysis.gpus_per_node();
        let (sheet_names, layout) = (self.sheet_names, self.layout());
        let mut hosts = Vec::with_capacity(paths.len());
        for path in paths {
            let Read { analysis, .. } = self.read(path, run)?;
            // Ranks of two hosts coincide where one has more GPUs than it is said to have.
            let last = analysis.gpus().iter().map(|gpu| gpu.pid - 1).max();
            if let Some(gpu) = last.filter(|&gpu| gpu >= i64::from(gpus_per_node)) {
                return Err(Error::MoreGpus { path: path.clone(), gpu, gpus_per_node });
            }
            hosts.push(analysis);
        }
        let collectives = CollectiveAnalysis::from_profiles(&hosts.iter().collect::<Vec<_>>(), gpus_per_node);
        if collectives.slices.is_empty() {
            return Err(Error::NoCollectives { profiles: paths.len() });
        }
        run.begin(Stage::Sheets);
        let title = format!("collectives of {} and {} more", title(first), paths.len() - 1);
        let tables = titled(&title, tables(&collectives, collective_sheets(), layout)?, run)?;
        let host_notices = |(path, analysis): (&PathBuf, &JaxAnalysis)| {
            let file_notice = |notice| Notice::File { path: path.clone(), notice: Box::new(notice) };
            notices(analysis).into_iter().map(file_notice).collect::<Vec<_>>()
        };
        let mut notices = paths.iter().zip(&hosts).flat_map(host_notices).collect();
        let pictures = pictures(run, &mut notices, |_| Ok(Err(NothingToDraw::OtherReports)))?;
        let summary = Summary {
            head: vec![
                title,
                counted(paths.len(), "profile", "profiles"),
                counted(collectives.devices.shown.len(), "GPU", "GPUs"),
                counted(collectives.operations.len(), "collective", "collectives"),
                counted(collectives.slices.len(), "execution", "executions"),
            ],
            ..Summary::default()
        };
        let report =
            Report { tables, summary, notices, pictures, advice: None, analysis: Analysed::Xla(hosts) };
        report.with_overview(sheet_names, run)
    }
}

fn no_device(path: &Path, profile: &Profile) -> Error {
    let lost = match lost_events(&profile.trace) {
        true => " (devices may be in the lost part of the file)",
        false => "",
    };
    let names: Vec<&str> = profile.planes.iter().map(|plane| plane.name.as_str()).collect();
    let planes = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    Error::NoDevicePlane { path: path.to_path_buf(), planes, lost }
}

/// How far the figures of the hosts of a run can be trusted.
pub(crate) fn trust<'h>(hosts: &'h [JaxAnalysis]) -> Trust {
    let read = Trust::new(
        hosts.iter().map(device_events).fold(0, usize::saturating_add),
        Losses::of(hosts.iter().flat_map(|host| host.trace().warnings())),
    );
    let work_times = |host: &'h JaxAnalysis| {
        let events = host.trace().events();
        host.device_events().iter().map(|work| (events.duration(work.event), work.launch.is_some()))
    };
    let work = || hosts.iter().flat_map(work_times);
    // Calls of the host may not have been traced at all.
    let linked = work().any(|(_, is_linked)| is_linked).then(|| linked_percent(work())).flatten();
    let steps = match hosts {
        [host] => step_count(host),
        _ => None,
    };
    Trust { steps, ..read.with_all_launches(linked) }
}

/// Kernels, copies and fills of GPUs, and operations of TPUs.
fn device_events(host: &JaxAnalysis) -> usize {
    let cores = host.tpu().into_iter().flat_map(|tpu| &tpu.profile.cores);
    let core_events = |core: &TpuCore| {
        let summed_up = core.aggregated.iter().map(|sum| sum.occurrences as usize);
        summed_up.fold(core.executions.len(), usize::saturating_add)
    };
    cores.map(core_events).fold(host.device_events().len(), usize::saturating_add)
}

/// What reading and the analysis got over.
fn notices(analysis: &JaxAnalysis) -> Vec<Notice> {
    let reading_notices = analysis.trace().warnings().iter().cloned().map(Notice::Reading);
    let analysis_notices = analysis.notices().into_iter().map(Notice::Xla);
    let tpu_notices = analysis.tpu().map(TpuNotice::all).into_iter().flatten().map(Notice::Tpu);
    reading_notices.chain(analysis_notices).chain(tpu_notices).collect()
}

/// The first GPU's name, if the profile says it.
fn device_name(profile: &Profile) -> Option<Box<str>> {
    let named = |plane: &Plane| plane.stat("gpu_device_name").and_then(|name| name.as_str().map(Into::into));
    let mut gpus = profile.planes.iter().filter(|plane| matches!(plane.kind, PlaneKind::Gpu { .. }));
    gpus.find_map(named)
}

/// The first page; `events` are those of the whole profile.
fn summary(analysis: &JaxAnalysis, events: usize, title: String) -> Summary {
    let gpus = analysis.gpus();
    let mut head = vec![title];
    match analysis.architecture() {
        Some(architecture) => head.push(devices(gpus.len(), &architecture.name)),
        None if !gpus.is_empty() => head.push(counted(gpus.len(), "GPU", "GPUs")),
        None => {}
    }
    head.push(counted(analysis.profile().programs.len(), "program", "programs"));
    head.push(counted(events, "event", "events"));
    let gpu_findings = jax_finding(analysis);
    let gpu_findings =
        gpu_findings.iter().flat_map(|finding| [Some(finding.to_string()), finding.unclassified_beside()]);
    let tpu_finding_text = analysis.tpu().and_then(tpu_finding).map(|finding| finding.to_string());
    let shown = gpus.iter().take(Summary::MOST_TIMELINES);
    Summary {
        head,
        headlines: gpu_findings.clone().chain([tpu_finding_text.clone()]).flatten().count(),
        statements: gpu_findings.flatten().chain(tpu_finding_text).collect(),
        timelines: shown
            .map(|gpu| {
                let plane = analysis.profile().planes.get(gpu.plane).map_or("", |plane| plane.name.as_str());
                Timeline::new(plane, gpu.breakdown, |time| analysis.trace().to_microseconds(time))
            })
            .collect(),
        more_timelines: Summary::more_timelines(gpus.len(), names::GPU_TIMELINE),
        program: executions(analysis).into_iter().chain(steps_in_words(analysis)).collect(),
        coverage: RooflineShares::new(analysis),
        architecture: analysis.architecture().map(Summary::architecture),
        best_rates: Summary::best_rates(analysis, analysis.architecture()),
        ..Summary::default()
    }
}

/// How often the host ran a program, where the steps are its runs.
fn calls_of_host(analysis: &JaxAnalysis, program: &str) -> Option<usize> {
    let (level, _) = Iterated::iterations(analysis)?.steps()?;
    let is_program_run = level.kind == LevelKind::ProgramRun && level.name == program;
    is_program_run.then_some(level.iterations.len())
}

/// How often the program with the most time ran, and how long it takes.
fn executions(analysis: &JaxAnalysis) -> Option<String> {
    let busy = |program| {
        let of = analysis.executions().iter().filter(move |execution| execution.program == program);
        of.map(|execution| execution.busy).sum::<Picoseconds>()
    };
    let most = analysis.executions().iter().max_by_key(|execution| busy(execution.program))?;
    let of = analysis.executions().iter().filter(|execution| execution.program == most.program);
    let (warm_up, steady): (Vec<_>, Vec<_>) = of.partition(|execution| execution.is_warm_up);
    let mean = |executions: &[&Execution]| {
        let busy: Picoseconds = executions.iter().map(|execution| execution.busy).sum();
        busy.to_microseconds() / executions.len() as f64
    };
    let count = warm_up.len() + steady.len();
    let name = analysis.program_name(&most.program).unwrap_or("a program");
    let gpus: BTreeSet<usize> = warm_up.iter().chain(&steady).map(|execution| execution.gpu).collect();
    let called = calls_of_host(analysis, name).map_or(0, |calls| calls * gpus.len());
    let count = match called > count {
        true => format!("kernels recorded for {count} of {called} executions"),
        false => format!("{} on GPUs", counted(count, "execution", "executions")),
    };
    let mut line = format!("{name}: {count}, busy {} on average", duration(mean(&steady)));
    if !warm_up.is_empty() {
        // Writing to a String cannot fail.
        let runs = counted(warm_up.len(), "warm-up execution", "warm-up executions");
        let _ = write!(line, " after {runs} ({})", duration(mean(&warm_up)));
    }
    Some(line)
}
