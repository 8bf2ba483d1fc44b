//! Why a rank was late: what it did in the time that the middle rank did not need.
//!
//! Members of a group leave a collective together, so what separates two ranks at the next one lies between the two. The
//! table of a rank says how it spent that time; the largest difference to the middle rank is the cause.

use std::collections::{BTreeMap, BTreeSet};

use gpu_timeline::{Activity, SortFew};
use hashbrown::HashMap;

use crate::error::Error;
use crate::job::Job;
use crate::matching::Lane;
use crate::reduction::LateArrival;
use crate::rows::{Text, Wanted};
use crate::tables::{CollectiveRow, KernelRow};

/// What made a rank late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CauseKind {
    /// It computed for longer.
    Computation,
    /// It copied for longer.
    Copies,
    /// The device waited for the host.
    Host,
    /// The device did nothing, though its next work was launched.
    Idle,
    /// It waited for another rank in a collective of another group.
    PassedOn,
    /// A collective of another group took longer, with nobody late.
    SlowTransfer,
    /// What it did is not in the recording, which begins later than that of the middle rank, or earlier.
    NotRecorded,
}

impl CauseKind {
    /// Name in sheets.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            CauseKind::Computation => "computation",
            CauseKind::Copies => "copies",
            CauseKind::Host => "host",
            CauseKind::Idle => "idle",
            CauseKind::PassedOn => "passed on",
            CauseKind::SlowTransfer => "slow transfer",
            CauseKind::NotRecorded => "not recorded",
        }
    }
}

/// Why a rank was late in a step. Times in nanoseconds, summed over its late arrivals in the step; those against the middle
/// rank may be negative.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cause {
    pub(crate) recording: usize,
    /// −1 outside of steps.
    pub(crate) step: i32,
    pub(crate) kind: CauseKind,
    /// The kernel, the host's activity, or the rank that it waited for.
    pub(crate) what: Option<String>,
    pub(crate) arrivals: u64,
    pub(crate) lateness: i64,
    pub(crate) computation: i64,
    pub(crate) communication: i64,
    pub(crate) copies: i64,
    pub(crate) host: i64,
    pub(crate) idle: i64,
    /// Group of the latest arrival.
    pub(crate) group: usize,
}

impl Cause {
    /// What it is: `computation: gemm`.
    pub(crate) fn in_words(&self) -> String {
        match &self.what {
            Some(what) => format!("{}: {what}", self.kind.as_str()),
            None => self.kind.as_str().to_owned(),
        }
    }
}

/// So many steps of ranks are looked at, those with the most lateness.
const LOOKED_AT: usize = 512;

/// Finds the causes, the most lateness first.
pub(crate) fn causes(job: &Job, lanes: &[Lane], arrivals: &[LateArrival]) -> Result<Vec<Cause>, Error> {
    let mut by_step: BTreeMap<(usize, i32), Vec<&LateArrival>> = BTreeMap::new();
    for arrival in arrivals {
        by_step.entry((arrival.recording, arrival.step)).or_default().push(arrival);
    }
    let mut worst: Vec<((usize, i32), Vec<&LateArrival>)> = by_step.into_iter().collect();
    worst.sort_few_by_key(|(key, arrivals)| (std::cmp::Reverse(lateness(arrivals)), *key));
    worst.truncate(LOOKED_AT);
    let mut tables = Tables { job, lanes, arrivals, collectives: HashMap::new(), kernels: HashMap::new() };
    tables.read(worst.iter().flat_map(|(_, arrivals)| arrivals.iter().copied()))?;
    worst.into_iter().map(|((recording, step), arrivals)| tables.cause(recording, step, &arrivals)).collect()
}

/// By how much a rank was late in a step: the sum of what is its own, else the most that others made it late.
fn lateness(arrivals: &[&LateArrival]) -> i64 {
    let own: i64 = arrivals.iter().map(|arrival| arrival.own).sum();
    if own > 0 { own } else { arrivals.iter().map(|arrival| arrival.lateness).max().unwrap_or(0) }
}

/// Rows of ranks that were read.
struct Tables<'a> {
    job: &'a Job,
    lanes: &'a [Lane],
    arrivals: &'a [LateArrival],
    /// By recording and place in its table.
    collectives: HashMap<(usize, u32), Before>,
    kernels: HashMap<usize, Vec<KernelRow>>,
}

/// What a rank did before a collective, since the one before it of the group.
#[derive(Clone, Debug, Default)]
struct Before {
    computation: i64,
    communication: i64,
    copies: i64,
    host: i64,
    idle: i64,
    activity: Option<Text>,
    /// Whether there is no collective before it of the group, and this is since the start of the recording.
    is_first: bool,
}

impl Before {
    fn sum(&self) -> i64 {
        self.computation + self.communication + self.copies + self.host + self.idle
    }
}

impl Tables<'_> {
    /// Reads the rows of arrivals and of the ranks that they are held against, one recording at a time.
    fn read<'b>(&mut self, arrivals: impl Iterator<Item = &'b LateArrival>) -> Result<(), Error> {
        const WANTED: Wanted<'static> = Wanted::Only(&[
            "group",
            "since_computation_ns",
            "since_communication_ns",
            "since_copies_ns",
            "since_host_ns",
            "since_idle_ns",
            "host_activity",
        ]);
        let mut needed: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
        for arrival in arrivals {
            needed.entry(arrival.recording).or_default().insert(arrival.row);
            needed.entry(arrival.usual.0).or_default().insert(arrival.usual.1);
        }
        for (recording, places) in needed {
            let rows: Vec<CollectiveRow> = self.job.recordings[recording].folder.rows(WANTED)?;
            for place in places {
                let at = place as usize;
                let Some(row) = rows.get(at) else { continue };
                let previous = at.checked_sub(1).and_then(|previous| rows.get(previous));
                let before = Before {
                    computation: row.since_computation_ns,
                    communication: row.since_communication_ns,
                    copies: row.since_copies_ns,
                    host: row.since_host_ns,
                    idle: row.since_idle_ns,
                    activity: row.host_activity.clone(),
                    is_first: previous.is_none_or(|previous| previous.group != row.group),
                };
                self.collectives.insert((recording, place), before);
            }
        }
        Ok(())
    }

    fn before(&self, recording: usize, row: u32) -> Before {
        self.collectives.get(&(recording, row)).cloned().unwrap_or_default()
    }

    fn kernels(&mut self, recording: usize) -> Result<&[KernelRow], Error> {
        if !self.kernels.contains_key(&recording) {
            let rows = self.job.recordings[recording].folder.rows(Wanted::All)?;
            self.kernels.insert(recording, rows);
        }
        Ok(self.kernels.get(&recording).map(Vec::as_slice).unwrap_or_default())
    }

    fn cause(&mut self, recording: usize, step: i32, arrivals: &[&LateArrival]) -> Result<Cause, Error> {
        let mut cause = Cause {
            recording,
            step,
            kind: CauseKind::Idle,
            what: None,
            arrivals: arrivals.len() as u64,
            lateness: lateness(arrivals),
            computation: 0,
            communication: 0,
            copies: 0,
            host: 0,
            idle: 0,
            group: 0,
        };
        let mut activities: BTreeMap<Option<Text>, i64> = BTreeMap::new();
        let mut not_recorded = 0;
        // The arrival with the most of each, more than on the middle rank.
        let mut worst: [Option<(i64, &LateArrival, i64)>; 2] = [None; 2];
        let has_own = arrivals.iter().any(|arrival| arrival.own > 0);
        for &arrival in arrivals.iter().filter(|arrival| !has_own || arrival.own > 0) {
            let own = self.before(recording, arrival.row);
            let usual = self.before(arrival.usual.0, arrival.usual.1);
            cause.group = self.lanes[arrival.lane].group;
            // Where two recordings begin apart, what came before the first collective does not compare.
            let unexplained = arrival.lateness - (own.sum() - usual.sum());
            if (own.is_first || usual.is_first) && 2 * unexplained.abs() > arrival.lateness {
                not_recorded += arrival.lateness;
                continue;
            }
            cause.computation += own.computation - usual.computation;
            cause.communication += own.communication - usual.communication;
            cause.copies += own.copies - usual.copies;
            cause.host += own.host - usual.host;
            cause.idle += own.idle - usual.idle;
            *activities.entry(own.activity.clone()).or_default() += own.host - usual.host;
            let communication = own.communication - usual.communication;
            for (worst, time) in worst.iter_mut().zip([arrival.lateness, communication]) {
                if worst.is_none_or(|worst| time > worst.0) {
                    *worst = Some((time, arrival, own.sum()));
                }
            }
        }
        let kinds = [
            (cause.computation, CauseKind::Computation),
            (cause.communication, CauseKind::PassedOn),
            (cause.copies, CauseKind::Copies),
            (cause.host, CauseKind::Host),
            (cause.idle, CauseKind::Idle),
            (not_recorded, CauseKind::NotRecorded),
        ];
        cause.kind = kinds
            .into_iter()
            .max_by_key(|&(time, kind)| (time, std::cmp::Reverse(kind)))
            .map_or(CauseKind::Idle, |most| most.1);
        match cause.kind {
            CauseKind::Computation | CauseKind::Copies => {
                let usual = worst[0].map_or(recording, |(_, arrival, _)| arrival.usual.0);
                cause.what = self.slower_kernel(recording, usual, step, cause.kind)?;
            }
            CauseKind::Host => {
                let most =
                    activities.into_iter().max_by_key(|(_, time)| *time).and_then(|(activity, _)| activity);
                cause.what = Some(most.map_or_else(
                    || "unrecorded code (Python, garbage collection or another process)".to_owned(),
                    |activity| activity.to_string(),
                ));
            }
            CauseKind::PassedOn => {
                if let Some((communication, arrival, span)) = worst[1] {
                    match self.waited_for(arrival, span, communication) {
                        Some(other) => {
                            cause.what = Some(format!("rank {}", self.job.recordings[other].rank));
                        }
                        None => {
                            cause.kind = CauseKind::SlowTransfer;
                            cause.what = self.slowest_transfer(arrival, span)?;
                        }
                    }
                }
            }
            CauseKind::Idle | CauseKind::SlowTransfer | CauseKind::NotRecorded => {}
        }
        Ok(cause)
    }

    /// The kernel that took the most more time in a step than on another rank.
    fn slower_kernel(
        &mut self,
        own: usize,
        usual: usize,
        step: i32,
        kind: CauseKind,
    ) -> Result<Option<String>, Error> {
        let activity = if kind == CauseKind::Computation { Activity::Computation } else { Activity::Memcpy };
        let step = (step >= 0).then_some(i64::from(step));
        let mut differences: BTreeMap<Text, i64> = BTreeMap::new();
        for (recording, sign) in [(own, 1), (usual, -1)] {
            for row in self.kernels(recording)? {
                let (Some(name), Some(of)) = (&row.name, &row.activity) else { continue };
                if row.step == step && **of == *activity.as_str() {
                    *differences.entry(name.clone()).or_default() += sign * row.sum_ns;
                }
            }
        }
        let most = differences.into_iter().max_by_key(|(_, difference)| *difference);
        Ok(most.filter(|(_, difference)| *difference > 0).map(|(name, _)| name.to_string()))
    }

    /// The rank that was late the most in other groups of a rank in the time before it was late itself, if that is most of
    /// what it waited there.
    fn waited_for(&self, arrival: &LateArrival, span: i64, waited: i64) -> Option<usize> {
        let job = self.job;
        let is_member = |lane: usize| {
            let group = &job.groups[self.lanes[lane].group];
            group.recordings.iter().any(|&(recording, _)| recording == arrival.recording)
        };
        let before = self.arrivals.iter().filter(|other| {
            other.lane != arrival.lane
                && other.recording != arrival.recording
                && (arrival.time - span..arrival.time).contains(&other.time)
                && is_member(other.lane)
        });
        let mut by_rank: BTreeMap<usize, i64> = BTreeMap::new();
        for other in before {
            *by_rank.entry(other.recording).or_default() += other.lateness;
        }
        let (rank, lateness) =
            by_rank.into_iter().max_by_key(|&(rank, lateness)| (lateness, std::cmp::Reverse(rank)))?;
        (2 * lateness > waited).then_some(rank)
    }

    /// The longest collective of another group in that time.
    fn slowest_transfer(&self, arrival: &LateArrival, span: i64) -> Result<Option<String>, Error> {
        let wanted = Wanted::Only(&["group", "start_ns", "duration_ns", "name"]);
        let rows: Vec<CollectiveRow> = self.job.recordings[arrival.recording].folder.rows(wanted)?;
        let Some(own) = rows.get(arrival.row as usize) else { return Ok(None) };
        let within = rows.iter().filter(|row| {
            row.group != own.group && (own.start_ns - span..own.start_ns).contains(&row.start_ns)
        });
        let Some(longest) = within.max_by_key(|row| row.duration_ns) else { return Ok(None) };
        let recording = &self.job.recordings[arrival.recording];
        let group = &self.job.groups[recording.group_of[longest.group as usize]];
        let name = longest.name.as_deref().unwrap_or("collective");
        Ok(Some(format!("{name} of group {}", group.title())))
    }
}
