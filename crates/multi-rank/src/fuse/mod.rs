//! One trace for a viewer out of the recordings of many ranks.

mod choice;
mod copy;
mod file;
mod ids;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use perf_models::CommunicationPatterns;
use serde::Serialize;
use trace_ingest::{ReadOptions, check_entries, visit_entries};

pub use choice::FusedEvents;
pub use file::FusedFile;

use crate::clocks::{ClockMode, Clocks};
use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::folder::Source;
use crate::job::{Job, Recording};
use crate::members::Members;
use crate::rows::Wanted;
use crate::tables::StepRow;
use choice::{Choice, Moments};
use copy::{Copier, HighestIds, Process, Shift, microseconds};
use file::Compression;
use ids::{Highest, IdKind, Ids};

/// What a fused trace has.
#[derive(Clone, Debug, Default)]
pub struct FuseOptions {
    /// Whether the clocks of hosts are brought together.
    pub clock: ClockMode,
    /// These ranks only.
    pub ranks: Option<Members>,
    /// These steps only, by the numbers that the program gave them, else counted from 0 in each recording: calls that begin
    /// in them, and what these launched.
    pub steps: Option<Range<i64>>,
    /// Which events.
    pub events: FusedEvents,
    /// Whether it has the frames of Python stacks.
    pub python_frames: bool,
    /// Names of kernels that communicate.
    pub communication: CommunicationPatterns,
    /// Absolute paths of the folders in which recordings may be; anywhere if there is none.
    pub below: Vec<PathBuf>,
}

/// Where a fused trace goes, with a name that says how it is compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuseOutput {
    path: PathBuf,
    compression: Compression,
}

impl FuseOutput {
    /// The file of this name.
    ///
    /// # Errors
    /// [`Error::OtherEnding`] where it ends neither in `.json` nor in `.json.gz` nor in `.json.zst`.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let compression =
            Compression::of(path).ok_or_else(|| Error::OtherEnding { path: path.to_owned() })?;
        Ok(FuseOutput { path: path.to_owned(), compression })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins the file, which takes its place when it is committed.
    pub fn create(&self) -> std::io::Result<FusedFile> {
        FusedFile::create(&self.path, self.compression)
    }
}

/// A fused trace that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fused {
    /// The recordings in it, by rank and then by time.
    pub recordings: Vec<FusedRecording>,
    /// What is odd about them.
    pub diagnostics: Vec<Diagnostic>,
}

/// A recording in a fused trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FusedRecording {
    /// Its path.
    pub path: PathBuf,
    /// Its rank.
    pub rank: u32,
    /// Events that were copied.
    pub events: u64,
    /// Entries that are left out because they cannot be made valid JSON.
    pub unusable: u64,
    /// What is added to its times, in nanoseconds, in the middle of the time in which clocks were compared.
    pub shift_ns: i64,
}

/// What the fused trace says of a recording.
#[derive(Serialize)]
struct Stated {
    rank: u32,
    file: String,
    /// What was added to the ids of processes; `null` where these were counted anew.
    pid_offset: Option<u64>,
    /// The same of `id`, `correlation` and other ids of events.
    id_offset: Option<u64>,
    /// What was added to its times.
    ts_offset_us: String,
    /// By how much its clock ran faster than that of the first host, in ns per s.
    clock_drift_ns_per_s: f64,
}

/// Writes the recordings of a job as one trace of the same format, for viewers: the events of each with its rank in
/// `args.rank`, processes called `RANK r - GPU` and `RANK r - CPU`, times on one clock.
///
/// Ids of different recordings differ, what an id was stands beside it in `args.<name>_raw`. The ids of rank r are
/// raised by r times a power of ten that has a digit more than the highest id of all recordings; where that gives numbers that
/// viewers do not take, by r times the least distance, and where even these are too large, ids are counted anew. Texts
/// that serve as ids get the rank before them. A second recording of a rank has the next free place behind all ranks.
///
/// Facts of the recording at the top of the file are those of the first one; `fusedRanks` tells what was done to each.
/// Recordings are read one after the other, twice or, with [`FusedEvents::Communication`] or of some steps, four times; nothing but
/// names of processes and threads is kept. The file takes its place when all is written.
///
/// # Errors
/// When a recording is not what its tables were made from or cannot be read, when a rank that was asked for has none,
/// when no recording has the steps that were asked for, and when the file cannot be written.
pub fn fuse(
    job: &Job,
    options: &FuseOptions,
    output: &FuseOutput,
    reading: &ReadOptions<'_>,
) -> Result<Fused, Error> {
    let FuseOutput { path: output, compression } = output;
    let chosen = chosen(job, options.ranks.as_ref())?;
    let destination = fs::canonicalize(output).ok();
    for (_, recording) in &chosen {
        let path = path(recording);
        if destination.as_deref() == Some(path) {
            return Err(Error::OverwritesRecording { path: path.to_owned() });
        }
        let resolved = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if !options.below.is_empty() && !options.below.iter().any(|folder| resolved.starts_with(folder)) {
            return Err(Error::Elsewhere { path: path.to_owned() });
        }
        if Source::of(path)? != *recording.folder.source() {
            return Err(Error::Changed { path: path.to_owned() });
        }
        check_entries(path, reading)?;
    }
    let Clocks { corrections, diagnostics } = job.clocks(options.clock)?;
    let stretches = stretches(&chosen, options.steps.as_ref())?;
    let choice = |index: usize, path: &Path| {
        let moments = stretches.as_ref().map(|stretches| Moments::new(stretches[index].clone()));
        let mut choice = Choice::new(options.events, options.python_frames, &options.communication, moments);
        if choice.looks_ahead() {
            visit_entries(path, reading, &mut choice)?;
        }
        Ok::<_, Error>(choice)
    };
    let mut highest = Highest::default();
    for (index, (_, recording)) in chosen.iter().enumerate() {
        let choice = &choice(index, path(recording))?;
        visit_entries(path(recording), reading, &mut HighestIds { choice, highest: &mut highest })?;
    }
    let last_place = chosen.iter().map(|(place, _)| *place).max().unwrap_or(0);
    let mut ids = Ids::new(&highest, last_place);
    let written = |source| Error::write(output)(source);
    let mut file = FusedFile::create(output, *compression).map_err(written)?;
    let fused_base = chosen.first().map_or(0, |(_, recording)| recording.row.base_time_ns);
    let (mut recordings, mut processes, mut stated) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (place, recording)) in chosen.iter().enumerate() {
        ids.turn_to(*place);
        let correction = corrections[recording.clock].clone();
        let (path, rank, base) = (path(recording), recording.rank, recording.row.base_time_ns);
        let shift_ns = base.saturating_sub(correction.offset).saturating_sub(fused_base);
        stated.push(Stated {
            rank,
            file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            pid_offset: ids.offset(IdKind::Process),
            id_offset: ids.offset(IdKind::Link),
            ts_offset_us: microseconds(shift_ns),
            clock_drift_ns_per_s: correction.drift,
        });
        let mut copier = Copier {
            file: &mut file,
            ids: &mut ids,
            choice: &choice(index, path)?,
            rank,
            shift: Shift { correction, base, fused_base },
            gives_facts: index == 0,
            processes: BTreeMap::new(),
            events: 0,
            seen: 0,
            unusable: 0,
            failure: None,
        };
        let entries = visit_entries(path, reading, &mut copier)?;
        if let Some(failure) = copier.failure.take() {
            return Err(written(failure));
        }
        let unusable = copier.unusable + u64::from(entries).saturating_sub(copier.seen);
        recordings.push(FusedRecording {
            path: path.to_owned(),
            rank,
            events: copier.events,
            unusable,
            shift_ns,
        });
        processes.extend(copier.finish().map_err(written)?.into_iter().map(|process| (rank, process)));
    }
    for (rank, process) in &processes {
        names_of(*rank, process)
            .iter()
            .try_for_each(|entry| file.add_entry(entry.as_bytes()))
            .map_err(written)?;
    }
    let stated = serde_json::to_vec(&stated).map_err(|error| written(error.into()))?;
    file.add_fact("fusedRanks", &stated);
    file.commit().map_err(written)?;
    let diagnostics = job.diagnostics.iter().cloned().chain(diagnostics).filter(concerns_events).collect();
    Ok(Fused { recordings, diagnostics })
}

/// The entries that name a process and say where viewers show it.
fn names_of(rank: u32, process: &Process) -> [String; 2] {
    let id = String::from_utf8_lossy(&process.id);
    let (device, order) = if process.is_device { ("GPU", 1) } else { ("CPU", 0) };
    let order = 2 * u64::from(rank) + order;
    [
        format!(
            r#"{{"name": "process_name", "ph": "M", "pid": {id}, "tid": 0, "args": {{"name": "RANK {rank} - {device}"}}}}"#
        ),
        format!(
            r#"{{"name": "process_sort_index", "ph": "M", "pid": {id}, "tid": 0, "args": {{"sort_index": {order}}}}}"#
        ),
    ]
}

/// Where the recording was when it was mapped.
fn path(recording: &Recording) -> &Path {
    Path::new(&recording.folder.source().path)
}

/// The recordings of these ranks, each with its place among the ids: its rank, but for further recordings of a rank.
fn chosen<'j>(job: &'j Job, ranks: Option<&Members>) -> Result<Vec<(u64, &'j Recording)>, Error> {
    let there = job.present();
    if let Some(ranks) = ranks {
        let missing = Members::new(ranks.iter().filter(|&rank| !there.contains(rank)));
        if !missing.is_empty() {
            return Err(Error::NoSuchRank { missing, there });
        }
    }
    let mut further = u64::from(there.iter().last().unwrap_or(0));
    let mut chosen: Vec<(u64, &Recording)> = Vec::new();
    for recording in &job.recordings {
        if ranks.is_some_and(|ranks| !ranks.contains(recording.rank)) {
            continue;
        }
        let is_further = chosen.last().is_some_and(|(_, last)| last.rank == recording.rank);
        further += u64::from(is_further);
        chosen.push((if is_further { further } else { recording.rank.into() }, recording));
    }
    Ok(chosen)
}

/// By recording the time of its steps in this range, in nanoseconds on its clock. `None` without a range.
fn stretches(
    chosen: &[(u64, &Recording)],
    steps: Option<&Range<i64>>,
) -> Result<Option<Vec<Vec<Range<i64>>>>, Error> {
    let Some(wanted) = steps else { return Ok(None) };
    let mut there: Option<(i64, i64)> = None;
    let mut stretch_lists = Vec::with_capacity(chosen.len());
    for (_, recording) in chosen {
        let mut stretches = Vec::new();
        for row in recording.folder.rows::<StepRow>(Wanted::All)? {
            let number = row.number.unwrap_or(row.step);
            there =
                Some(there.map_or((number, number), |(first, last)| (first.min(number), last.max(number))));
            if wanted.contains(&number) {
                stretches.push(row.start_ns..row.end_ns);
            }
        }
        stretch_lists.push(stretches);
    }
    match stretch_lists.iter().all(Vec::is_empty) {
        true => Err(Error::NoSuchStep { wanted: wanted.clone(), there }),
        false => Ok(Some(stretch_lists)),
    }
}

/// Whether it is of interest where nothing is counted.
fn concerns_events(diagnostic: &Diagnostic) -> bool {
    use Diagnostic::{ClockAlone, ClockJump, CutOff, NoRank, OtherJob, RankByOrder};
    matches!(
        diagnostic,
        OtherJob { .. }
            | NoRank { .. }
            | RankByOrder { .. }
            | CutOff { .. }
            | ClockJump { .. }
            | ClockAlone { .. }
    )
}
