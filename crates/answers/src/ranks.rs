//! The report of a job: the recordings of its ranks, brought into tables one by one and read as one.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use advise::{ADVICE, Limits};
use atomic_file::UnfinishedFolder;
use iterations::with_article;
use multi_rank::{
    CauseKind, FuseOptions, FuseOutput, Fused, Job, JobAnalysis, JobFinding, JobFolder, JobOptions,
    RankFolder, RankPattern, RankTables, Source, Straggler, job_sheets,
};
use sheets::Scope;
use trace_ingest::{IngestError, ReadOptions, RecordingKind, check_entries, read_path};
use tree_perf::{Analysis, AnalysisOptions};

use crate::advice::{self, first_of, tables_of};
use crate::diagnostic::help;
use crate::error::Error;
use crate::host_recordings::{HostMapper, HostRecording, host_recordings};
use crate::notice::Notice;
use crate::numbers::{counted, decimal, duration, grouped};
use crate::parallel::{MemoryBudget, map_then_in_order};
use crate::parts::SheetNames;
use crate::picture::{self, NothingToDraw, Picture};
use crate::rank_tables::{MapOptions, Mapped, members, memory_to_read, tables_of_rank};
use crate::report::{Analysed, Report, Reporter, Run, Stage, pictures, tables, title, titled};
use crate::summary::{Summary, devices};

/// Brings recordings into the tables of a folder, unless they are there already, and tells of each as it is done. The
/// answer has what became of each, in their order. Recordings are traces of ranks, or the profiles or exports of Nsight Systems
/// of all hosts of the job: of these each GPU is a rank, numbered on over the hosts in their order.
///
/// # Errors
/// When the folder cannot be made or listed, some recordings are of ranks and others of hosts, one is named twice, two
/// exports of Nsight Systems are of one session, or profiles are to have tables that there are of traces alone: single events, what was waited for.
/// What is wrong with one recording is in its place in the answer.
pub fn map_ranks(
    recordings: &[PathBuf],
    folder: &Path,
    options: &MapOptions,
    reading: &ReadOptions<'_>,
    done: impl Fn(&Path, &Result<Mapped, Error>) + Sync,
) -> Result<Vec<Result<Mapped, Error>>, Error> {
    let host_kind = host_recordings(recordings)?;
    let mut named = HashSet::new();
    let is_known = |path: &&PathBuf| fs::canonicalize(path).is_ok_and(|path| !named.insert(path));
    if let Some(twice) = recordings.iter().find(is_known) {
        return Err(Error::SameRecording { path: twice.clone() });
    }
    let folder = JobFolder::open(folder)?;
    let threads = reading.thread_count();
    let jobs = options.jobs.unwrap_or(threads).clamp(1, recordings.len().max(1));
    // Each recording is told of when it is done; bars of several at once would fight for the line.
    let reading = ReadOptions { threads: Some((threads / jobs).max(1)), progress: None, ..*reading };
    let memory = MemoryBudget::new(available_memory());
    if let Some(kind) = host_kind {
        let asked = [(options.keep_events, "--keep-events"), (options.waits, "--waits")];
        if let (HostRecording::Profile, Some((_, option)), Some(first)) =
            (kind, asked.into_iter().find(|(asked, _)| *asked), recordings.first())
        {
            return Err(Error::TablesOfProfile { path: first.clone(), option });
        }
        return HostMapper { kind, options, reading, jobs, memory }.map(recordings, folder, done);
    }
    let mapper = RankMapper { folder: Mutex::new(folder), options, reading, memory };
    Ok(map_then_in_order(
        recordings,
        jobs,
        |path| mapper.read(path),
        |path, read| {
            let mapped = read.and_then(|read| mapper.write(read));
            done(path, &mapped);
            mapped
        },
    ))
}

/// Brings traces of ranks into the tables of a folder.
struct RankMapper<'a> {
    folder: Mutex<JobFolder>,
    options: &'a MapOptions,
    reading: ReadOptions<'a>,
    memory: MemoryBudget,
}

/// A recording before its tables are in the folder.
enum ReadRank {
    There(Mapped),
    New { tables: Box<RankTables>, source: Source, events: usize, notices: Vec<Notice> },
}

impl RankMapper<'_> {
    fn folder(&self) -> MutexGuard<'_, JobFolder> {
        self.folder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the tables of a recording, unless they are there.
    fn read(&self, path: &Path) -> Result<ReadRank, Error> {
        let source = Source::of(path)?;
        let MapOptions { mut keep_events, waits: mut waits_too, .. } = *self.options;
        if let Some(there) = self.folder().find(&source) {
            if there.has_events() >= keep_events && there.has_waits() >= waits_too {
                return Ok(ReadRank::There(Mapped::there(path, &[there], members(there.rank()))?));
            }
            // Tables that were asked for before stay.
            keep_events |= there.has_events();
            waits_too |= there.has_waits();
        }
        self.memory.with(memory_to_read(path, source.size), || {
            let trace = read_path(path, &ReadOptions { skip_python_frames: true, ..self.reading })?;
            let events = trace.events().len() + trace.skipped_frames() as usize;
            let notices = Notice::all_of_reading(path, &trace);
            let communication = self.options.communication.clone();
            let options = AnalysisOptions { communication, ..AnalysisOptions::default() };
            let analysis = Analysis::new(trace, options);
            let tables = Box::new(tables_of_rank(&analysis, path, keep_events, waits_too));
            Ok(ReadRank::New { tables, source, events, notices })
        })
    }

    /// Puts the tables into the folder. The name that a rank gets there depends on those that came before it.
    fn write(&self, read: ReadRank) -> Result<Mapped, Error> {
        match read {
            ReadRank::There(mapped) => Ok(mapped),
            ReadRank::New { tables, source, events, notices } => {
                self.folder().add(&tables, source)?;
                Ok(Mapped { ranks: members(tables.rank.rank), events: Some(events), notices })
            }
        }
    }
}

/// Memory in bytes that reading recordings may take: three quarters of what is free, on the machine and in the process's
/// control group.
fn available_memory() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let group_free = system.cgroup_limits().map_or(u64::MAX, |limits| limits.free_memory);
    system.available_memory().min(group_free) / 4 * 3
}

/// The recordings of a job: how they are brought into tables, and what says their ranks.
#[derive(Clone, Debug, Default)]
pub struct JobRecordings {
    /// How recordings are brought into tables.
    pub map: MapOptions,
    /// Where their tables are kept; they are thrown away otherwise.
    pub tables: Option<PathBuf>,
    /// Where the path of a recording tells the rank; else the recording does.
    pub rank_pattern: Option<RankPattern>,
    /// Whether the rank is the place among the recordings, whatever they say.
    pub rank_by_place: bool,
}

/// The folders of a job's ranks.
struct Folders {
    /// Each with the rank that is not its own.
    ranks: Vec<(RankFolder, Option<u32>)>,
    /// Events that were read.
    events: usize,
    /// Recordings that cannot be used, and why.
    failed: Vec<(PathBuf, Error)>,
    /// Removed when they have been read.
    _temporary: Option<UnfinishedFolder>,
}

impl JobRecordings {
    /// The tables of recordings, or those in a folder.
    fn folders(
        &self,
        paths: &[PathBuf],
        reading: &ReadOptions<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<Folders, Error> {
        match paths {
            [] => Err(Error::NoRecording),
            [folder] if folder.is_dir() => {
                let folder = JobFolder::open(folder)?.with_ranks()?;
                for (path, why) in &folder.stale {
                    let (path, why) = (path.display().to_string(), why.clone());
                    notices.push(Notice::Job(multi_rank::Diagnostic::StaleTables { path, why }));
                }
                if let Some(rank) = folder.ranks().iter().find(|rank| rank.source().device.is_some()) {
                    self.refuse_other_ranks(Path::new(&rank.source().path))?;
                }
                let by_path =
                    |rank: &RankFolder| self.rank_pattern.as_ref()?.rank(Path::new(&rank.source().path));
                let ranks = folder.ranks().iter().map(|rank| (rank.clone(), by_path(rank))).collect();
                Ok(Folders { ranks, events: 0, failed: Vec::new(), _temporary: None })
            }
            recordings => self.mapped(recordings, reading),
        }
    }

    /// Profiles have the ranks that the order of the hosts gives them.
    fn refuse_other_ranks(&self, profile: &Path) -> Result<(), Error> {
        match self.rank_pattern.is_some() || self.rank_by_place {
            true => Err(Error::RanksOfProfile { path: profile.to_owned() }),
            false => Ok(()),
        }
    }

    /// The tables of the recordings that can be used.
    fn mapped(&self, recordings: &[PathBuf], reading: &ReadOptions<'_>) -> Result<Folders, Error> {
        if let (Some(_), Some(first)) = (host_recordings(recordings)?, recordings.first()) {
            self.refuse_other_ranks(first)?;
        }
        let mut temporary = None;
        let folder = match &self.tables {
            Some(folder) => folder.clone(),
            None => {
                let place = std::env::temp_dir();
                let made = UnfinishedFolder::create_in(&place, true)
                    .map_err(|source| multi_rank::Error::Write { path: place, source })?;
                temporary.insert(made).path().to_owned()
            }
        };
        let (mut events, mut failed) = (0, Vec::new());
        for (path, mapped) in
            recordings.iter().zip(map_ranks(recordings, &folder, &self.map, reading, |_, _| ())?)
        {
            match mapped {
                Ok(mapped) => events += mapped.events.unwrap_or(0),
                // Which of the two is meant, nobody but the user knows.
                Err(error @ Error::Job(multi_rank::Error::RankTwice { .. })) => return Err(error),
                Err(error) => failed.push((path.clone(), error)),
            }
        }
        let there = JobFolder::open(&folder)?;
        let mut ranks = Vec::new();
        for (place, path) in (0..).zip(recordings) {
            let Ok(source) = Source::of(path) else { continue };
            let by_path = self.rank_pattern.as_ref().and_then(|pattern| pattern.rank(path));
            let rank = if self.rank_by_place { Some(place) } else { by_path };
            ranks.extend(there.ranks_of(&source).into_iter().map(|rank_folder| (rank_folder.clone(), rank)));
        }
        Ok(Folders { ranks, events, failed, _temporary: temporary })
    }
}

/// Makes the report of a job from the recordings of its ranks, or from a folder of their tables.
#[derive(Default)]
pub struct RanksReporter {
    /// What is analysed.
    pub analysis: JobOptions,
    /// What the recordings are.
    pub recordings: JobRecordings,
    /// Whether the devices of a node are counted by what the first recording says, where nobody says how many.
    pub count_devices: bool,
    /// Names of the sheets, with which the columns go.
    pub sheet_names: SheetNames,
}

impl Reporter for RanksReporter {
    fn report(mut self, paths: &[PathBuf], run: &mut Run<'_>) -> Result<Report, Error> {
        run.begin(Stage::Read);
        let mut notices = Vec::new();
        let mut folders = self.recordings.folders(paths, &run.reading, &mut notices)?;
        run.count_events(folders.events);
        let left_out = folders.failed.iter();
        notices.extend(left_out.map(|(path, error)| Notice::LeftOut {
            path: path.clone(),
            reason: error.to_string(),
            advice: help(error),
        }));
        if folders.ranks.is_empty() && !folders.failed.is_empty() {
            let first = Box::new(folders.failed.swap_remove(0).1);
            return Err(Error::NoRanks { recordings: paths.len(), advice: help(&*first), first });
        }
        run.begin(Stage::Analysis);
        let job = Job::open(std::mem::take(&mut folders.ranks))?;
        if self.count_devices && self.analysis.gpus_per_node.is_none() {
            self.analysis.gpus_per_node = job.visible_devices();
        }
        let most = self.analysis.detail_rows;
        let conventions = self.analysis.conventions;
        let analysis = JobAnalysis::new(job, self.analysis)?;
        if !analysis.has_details() {
            notices.push(Notice::TooManyCollectives { kernels: analysis.kernels(), most });
        }
        run.begin(Stage::Sheets);
        let title = match paths {
            [path] => title(path),
            [first, ..] => format!("{} and {} more", title(first), paths.len() - 1),
            [] => String::new(),
        };
        let layout = self.sheet_names.layout(conventions.layout);
        let advised = self.sheet_names == SheetNames::Documented && conventions.scope == Scope::Full;
        let advice = advised.then(|| advice::job_advice(&analysis, &Limits::default())).flatten();
        let (mut made, mut known) = tables(&analysis, job_sheets(), layout)?;
        if let Some(advice) = &advice {
            made.splice(0..0, tables_of(advice, layout)?);
        }
        known.push(ADVICE.to_owned());
        let tables = titled(&title, (made, known), run)?;
        notices.extend(analysis.diagnostics().iter().cloned().map(Notice::Job));
        let pictures = pictures(run, &mut notices, |picture| match picture {
            Picture::Steps => picture::ranks(&analysis, &title),
            Picture::Rooflines | Picture::StackedTime(_) => Ok(Err(NothingToDraw::OtherReports)),
        })?;
        let findings = first_of(advice.as_ref());
        let summary = Summary { findings, ..summary(&analysis, title) };
        let report = Report {
            tables,
            summary,
            notices,
            pictures,
            advice,
            analysis: Analysed::Job(Box::new(analysis)),
        };
        report.with_overview(self.sheet_names, run)
    }
}

/// Writes the recordings of a job, or those that the tables of a folder were made from, as one trace to `output`.
///
/// # Errors
/// Those of [`multi_rank::fuse()`], when one of the recordings cannot be brought into tables, and when one is a profile.
pub fn fuse_ranks(
    recordings: &JobRecordings,
    paths: &[PathBuf],
    options: &FuseOptions,
    output: &FuseOutput,
    reading: &ReadOptions<'_>,
) -> Result<(Fused, Vec<Notice>), Error> {
    // Before tables are made of them. A folder of tables says which recordings they are of.
    for path in paths.iter().filter(|path| !path.is_dir()) {
        check_entries(path, reading).map_err(|error| match error {
            IngestError::OtherKind { path, found: RecordingKind::XPlane, .. } => {
                Error::FuseOfProfile { path }
            }
            error => Error::Ingest(error),
        })?;
    }
    let mut notices = Vec::new();
    let mut folders = recordings.folders(paths, reading, &mut notices)?;
    if let Some((_, error)) = folders.failed.into_iter().next() {
        return Err(error);
    }
    let profile = folders.ranks.iter().find(|(rank, _)| rank.source().device.is_some());
    if let Some((rank, _)) = profile {
        return Err(Error::FuseOfProfile { path: (&rank.source().path).into() });
    }
    let job = Job::open(std::mem::take(&mut folders.ranks))?;
    let mut options = options.clone();
    if let [tables] = paths
        && tables.is_dir()
    {
        // Tables may be from anybody: what they name is opened where the user could have meant it.
        let absolute = |path: &Path| {
            fs::canonicalize(path).map_err(|source| multi_rank::Error::Io { path: path.to_owned(), source })
        };
        let tables = absolute(tables)?;
        options.below = vec![tables.parent().unwrap_or(&tables).to_owned(), absolute(Path::new("."))?];
    }
    let fused = multi_rank::fuse(&job, &options, output, reading).map_err(|error| match error {
        multi_rank::Error::Ingest(error) => Error::Ingest(error),
        error => Error::Job(error),
    })?;
    notices.extend(fused.diagnostics.iter().cloned().map(Notice::Job));
    Ok((fused, notices))
}

fn summary(analysis: &JobAnalysis, title: String) -> Summary {
    let mut head = vec![title];
    head.extend(analysis.device_names().into_iter().map(|(name, count)| devices(count, &name)));
    head.push(counted(analysis.kernels(), "collective kernel", "collective kernels"));
    let Some(finding) = JobFinding::new(analysis) else {
        let nothing = "no two ranks share a collective: who waits for whom is unknown".to_owned();
        return Summary { head, statements: vec![nothing], ..Summary::default() };
    };
    let host_suffix =
        finding.hosts.map_or_else(String::new, |hosts| format!(" on {}", counted(hosts, "host", "hosts")));
    head.insert(1, format!("{} of {} ranks{host_suffix}", finding.ranks, finding.world_size));
    Summary {
        head,
        statements: statements(&finding),
        program: finding.steps.iter().map(steps).collect(),
        ..Summary::default()
    }
}

fn time(ns: i64) -> String {
    duration(ns as f64 / 1e3)
}

fn steps(steps: &multi_rank::Steps) -> String {
    let count = grouped(steps.count as u128);
    let (noun, each) = if steps.count == 1 { ("", "") } else { ("s", " each") };
    format!(
        "{count} {}{noun} on all ranks: {}{each} (median over ranks, then over steps)",
        steps.kind,
        time(steps.usual)
    )
}

/// What binds the job, a sentence each.
fn statements(finding: &JobFinding) -> Vec<String> {
    /// Ranks that are named.
    const NAMED: usize = 3;
    let share = |time: i64| decimal(time as f64 / finding.device.max(1) as f64 * 100.0, 1);
    let mut statements = vec![format!(
        "communication takes {}% of the devices' time, exposed communication {}%; ranks spend {}% of the devices' time waiting in \
         collectives for the last rank to enter",
        share(finding.communication),
        share(finding.exposed_communication),
        share(finding.waiting),
    )];
    if finding.stragglers.is_empty() {
        statements.push("no rank delays the others".to_owned());
    }
    statements.extend(finding.stragglers.iter().take(NAMED).map(|straggler| waited_for(straggler, finding)));
    if finding.stragglers.len() > NAMED {
        let more = counted(finding.stragglers.len() - NAMED, "more straggler", "more stragglers");
        statements.push(format!("{more}, see ranks_overview"));
    }
    statements
}

/// Who is waited for, since when, and doing what.
fn waited_for(straggler: &Straggler, finding: &JobFinding) -> String {
    let per_step = finding.steps.as_ref().filter(|_| straggler.steps > 0);
    let late = match per_step {
        Some(steps) => {
            format!("{} {}", time(straggler.lateness / straggler.steps as i64), with_article(&steps.kind))
        }
        None => time(straggler.lateness),
    };
    let since = straggler.since.map_or_else(String::new, |step| format!(", since step {step}"));
    let share = straggler.late as f64 / straggler.collectives.max(1) as f64 * 100.0;
    let why = straggler
        .cause
        .as_ref()
        .map_or_else(String::new, |(kind, what)| format!(": {}", why(*kind, what.as_deref())));
    format!(
        "rank {} is a straggler: late for {}% of its collectives, by {late} ({}% of its device's time){since}{why}",
        straggler.rank,
        decimal(share, 1),
        decimal(straggler.share, 1),
    )
}

fn why(kind: CauseKind, what: Option<&str>) -> String {
    match (kind, what) {
        (CauseKind::Computation, Some(kernel)) => format!("it computes longer, mainly in {kernel}"),
        (CauseKind::Computation, None) => "it computes longer".to_owned(),
        (CauseKind::Copies, Some(copy)) => format!("its copies take longer, mainly in {copy}"),
        (CauseKind::Copies, None) => "its copies take longer".to_owned(),
        (CauseKind::Host, Some(activity)) => format!("its device waits for the host, which runs {activity}"),
        (CauseKind::Host, None) => "its device waits for the host".to_owned(),
        (CauseKind::Idle, _) => "its device idles although work has been launched".to_owned(),
        (CauseKind::PassedOn, Some(rank)) => format!("it is itself waiting for {rank}"),
        (CauseKind::PassedOn, None) => "it is itself waiting for another rank".to_owned(),
        (CauseKind::SlowTransfer, Some(collective)) => format!("{collective} takes longer"),
        (CauseKind::SlowTransfer, None) => "a collective of another group takes longer".to_owned(),
        (CauseKind::NotRecorded, _) => "its recording does not show the cause".to_owned(),
    }
}
