//! Why a rank was late: what it did in the time that the middle rank did not need.
//!
//! Members of a group leave a collective together, so what separates two ranks at the next one lies between the two. The
//! table of a rank says how it spent that time; the largest difference to the middle rank is the cause.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::analysis::{JobAnalysis, LateArrival};
use crate::error::Error;
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

impl JobAnalysis {
    /// The cause of most of a rank's lateness.
    pub(crate) fn main_cause(&self, recording: usize) -> Option<&Cause> {
        let mut sums: BTreeMap<(CauseKind, Option<&str>), (i64, &Cause)> = BTreeMap::new();
        for cause in self.causes.iter().filter(|cause| cause.recording == recording) {
            sums.entry((cause.kind, cause.what.as_deref())).or_insert((0, cause)).0 += cause.lateness;
        }
        sums.into_values().max_by_key(|(sum, _)| *sum).map(|(_, cause)| cause)
    }
}

/// So many steps of ranks are looked at, those with the most lateness.
const LOOKED_AT: usize = 512;

/// Finds the causes, the most lateness first.
pub(crate) fn causes(analysis: &JobAnalysis) -> Result<Vec<Cause>, Error> {
    let mut by_step: BTreeMap<(usize, i32), Vec<&LateArrival>> = BTreeMap::new();
    for arrival in &analysis.arrivals {
        by_step.entry((arrival.recording, arrival.step)).or_default().push(arrival);
    }
    let lateness = |arrivals: &[&LateArrival]| arrivals.iter().map(|arrival| arrival.lateness).sum::<i64>();
    let mut worst: Vec<((usize, i32), Vec<&LateArrival>)> = by_step.into_iter().collect();
    worst.sort_by_key(|(key, arrivals)| (std::cmp::Reverse(lateness(arrivals)), *key));
    worst.truncate(LOOKED_AT);
    let mut tables = Tables { analysis, collectives: HashMap::new(), kernels: HashMap::new() };
    worst.into_iter().map(|((recording, step), arrivals)| tables.cause(recording, step, &arrivals)).collect()
}

/// Tables of ranks that were read.
struct Tables<'a> {
    analysis: &'a JobAnalysis,
    collectives: HashMap<usize, Vec<CollectiveRow>>,
    kernels: HashMap<usize, Vec<KernelRow>>,
}

impl Tables<'_> {
    fn collective(&mut self, recording: usize, row: u32) -> Result<CollectiveRow, Error> {
        if !self.collectives.contains_key(&recording) {
            self.collectives.insert(recording, self.analysis.rows(recording)?);
        }
        let rows = self.collectives.get(&recording);
        Ok(rows.and_then(|rows| rows.get(row as usize)).cloned().unwrap_or_default())
    }

    fn kernels(&mut self, recording: usize) -> Result<&[KernelRow], Error> {
        if !self.kernels.contains_key(&recording) {
            let rows = self.analysis.job.recordings[recording].folder.rows(Wanted::All)?;
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
            lateness: 0,
            computation: 0,
            communication: 0,
            copies: 0,
            host: 0,
            idle: 0,
            group: 0,
        };
        let mut activities: BTreeMap<Option<Text>, i64> = BTreeMap::new();
        let mut worst: Option<(&LateArrival, i64)> = None;
        for &arrival in arrivals {
            let own = self.collective(recording, arrival.row)?;
            let usual = self.collective(arrival.usual.0, arrival.usual.1)?;
            cause.lateness += arrival.lateness;
            cause.computation += own.since_computation_ns - usual.since_computation_ns;
            cause.communication += own.since_communication_ns - usual.since_communication_ns;
            cause.copies += own.since_copies_ns - usual.since_copies_ns;
            cause.host += own.since_host_ns - usual.since_host_ns;
            cause.idle += own.since_idle_ns - usual.since_idle_ns;
            cause.group = self.analysis.lanes[arrival.lane].group;
            *activities.entry(own.host_activity.clone()).or_default() += own.since_host_ns;
            if worst.is_none_or(|(worst, _)| arrival.lateness > worst.lateness) {
                let span = own.since_computation_ns
                    + own.since_communication_ns
                    + own.since_copies_ns
                    + own.since_host_ns
                    + own.since_idle_ns;
                worst = Some((arrival, span));
            }
        }
        let kinds = [
            (cause.computation, CauseKind::Computation),
            (cause.communication, CauseKind::PassedOn),
            (cause.copies, CauseKind::Copies),
            (cause.host, CauseKind::Host),
            (cause.idle, CauseKind::Idle),
        ];
        cause.kind = kinds
            .into_iter()
            .max_by_key(|&(time, kind)| (time, std::cmp::Reverse(kind)))
            .map_or(CauseKind::Idle, |most| most.1);
        match cause.kind {
            CauseKind::Computation | CauseKind::Copies => {
                let usual = worst.map_or(recording, |(arrival, _)| arrival.usual.0);
                cause.what = self.slower_kernel(recording, usual, step, cause.kind)?;
            }
            CauseKind::Host => {
                let most =
                    activities.into_iter().max_by_key(|(_, time)| *time).and_then(|(activity, _)| activity);
                cause.what = Some(most.map_or_else(
                    || {
                        "nothing that was recorded (Python, garbage collection, or another process)"
                            .to_owned()
                    },
                    |activity| activity.to_string(),
                ));
            }
            _ => {}
        }
        if let (CauseKind::PassedOn, Some((arrival, span))) = (cause.kind, worst) {
            match self.waited_for(arrival, span) {
                Some(other) => {
                    cause.what = Some(format!("rank {}", self.analysis.job.recordings[other].rank))
                }
                None => {
                    cause.kind = CauseKind::SlowTransfer;
                    cause.what = self.slowest_transfer(arrival, span)?;
                }
            }
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
        let activity = if kind == CauseKind::Computation { "computation" } else { "copy" };
        let step = (step >= 0).then_some(i64::from(step));
        let mut differences: BTreeMap<Text, i64> = BTreeMap::new();
        for (recording, sign) in [(own, 1), (usual, -1)] {
            for row in self.kernels(recording)? {
                let (Some(name), Some(of)) = (&row.name, &row.activity) else { continue };
                if row.step == step && **of == *activity {
                    *differences.entry(name.clone()).or_default() += sign * row.sum_ns;
                }
            }
        }
        let most = differences.into_iter().max_by_key(|(_, difference)| *difference);
        Ok(most.filter(|(_, difference)| *difference > 0).map(|(name, _)| name.to_string()))
    }

    /// The rank that was late in another group of a rank in the time before it was late itself.
    fn waited_for(&self, arrival: &LateArrival, span: i64) -> Option<usize> {
        let job = &self.analysis.job;
        let is_member = |lane: usize| {
            let group = &job.groups[self.analysis.lanes[lane].group];
            group.recordings.iter().any(|&(recording, _)| recording == arrival.recording)
        };
        let before = self.analysis.arrivals.iter().filter(|other| {
            other.lane != arrival.lane
                && other.recording != arrival.recording
                && (arrival.time - span..arrival.time).contains(&other.time)
                && is_member(other.lane)
        });
        before.max_by_key(|other| other.lateness).map(|other| other.recording)
    }

    /// The longest collective of another group in that time.
    fn slowest_transfer(&mut self, arrival: &LateArrival, span: i64) -> Result<Option<String>, Error> {
        let own = self.collective(arrival.recording, arrival.row)?;
        let Some(rows) = self.collectives.get(&arrival.recording) else { return Ok(None) };
        let within = rows.iter().filter(|row| {
            row.group != own.group && (own.start_ns - span..own.start_ns).contains(&row.start_ns)
        });
        let Some(longest) = within.max_by_key(|row| row.duration_ns) else { return Ok(None) };
        let recording = &self.analysis.job.recordings[arrival.recording];
        let group = &self.analysis.job.groups[recording.group_of[longest.group as usize]];
        let name = longest.name.as_deref().unwrap_or("collective");
        Ok(Some(format!("{name} of group {}", group.title())))
    }
}
