//! What there is to say of a job first: how long its steps take, how much of it is communication, and who is waited for.

use gpu_timeline::{SortFew, Summary};
use perf_models::CollectiveKind;

use crate::analysis::JobAnalysis;
use crate::causes::CauseKind;
use crate::reduction::{Late, RankFigures, StepTimes};

/// What there is to say of a job first. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFinding {
    /// Ranks that were recorded.
    pub ranks: usize,
    /// Ranks of the job.
    pub world_size: usize,
    /// Hosts, where the recordings tell them.
    pub hosts: Option<usize>,
    /// The steps of the program, where all ranks have some.
    pub steps: Option<Steps>,
    /// Sum over the ranks of the time of their devices, from the first to the last event.
    pub device: i64,
    /// The part of it in which they do nothing.
    pub idle: i64,
    /// The part of it in which they communicate, waiting included.
    pub communication: i64,
    /// The part of that in which they do not compute.
    pub exposed_communication: i64,
    /// Time that ranks waited in collectives for the last one to enter.
    pub waiting: i64,
    /// Ranks that hold the others back, the worst first.
    pub stragglers: Vec<Straggler>,
}

/// The steps of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// What the program repeats, such as `step`.
    pub kind: String,
    /// How many.
    pub count: usize,
    /// Middle one of their middle durations over the ranks.
    pub usual: i64,
}

/// A rank that holds the others back. Its figures are of the steps from [`since`](Self::since) on, else of all it did.
#[derive(Clone, Debug, PartialEq)]
pub struct Straggler {
    /// Rank.
    pub rank: u32,
    /// Steps that all ranks have in that time.
    pub steps: usize,
    /// Collectives that it took part in.
    pub collectives: u64,
    /// Those that it entered last, by more than the clocks are uncertain.
    pub late: u64,
    /// Sum of the times by which it entered after the middle rank, each delay once.
    pub lateness: i64,
    /// The same in percent of the time of its device.
    pub share: f64,
    /// The step from which on it is late, where that is not the first.
    pub since: Option<i64>,
    /// Why.
    pub cause: Option<(CauseKind, Option<String>)>,
}

/// Collectives of one group, kind and size that all ranks of the group recorded, all of them on one host. Their times begin
/// when the last rank has entered. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalExchange<'a> {
    /// The collective as the library calls it.
    pub collective: &'a str,
    /// Bytes as nccl-tests counts them.
    pub bytes: i64,
    /// Ranks of the group.
    pub ranks: usize,
    /// Share of the bytes that has to cross a link.
    pub bus_factor: f64,
    /// The device of all of these ranks.
    pub device_name: &'a str,
    /// How many.
    pub count: usize,
    /// Sum of their times.
    pub total: i64,
    /// The least of their times.
    pub least: i64,
}

impl JobAnalysis {
    /// Exchanges within hosts, of equal parts, whose size is recorded.
    pub fn local_exchanges(&self) -> impl Iterator<Item = LocalExchange<'_>> {
        self.classes.iter().filter_map(|class| {
            let job = &self.job;
            let group = &job.groups[class.group];
            let collective = self.signatures.all[class.signature as usize].name.as_deref()?;
            let kind = CollectiveKind::of_equal_parts(collective)?;
            let ranks = group.expected().filter(|&ranks| ranks > 1)?;
            let mut devices =
                group.recordings.iter().map(|&(recording, _)| &job.recordings[recording].row.device_name);
            let device_name = devices.next()?.as_deref()?;
            let is_one_kind = devices.all(|name| name.as_deref() == Some(device_name));
            (is_one_kind && job.is_on_one_host(class.group)?).then_some(LocalExchange {
                collective,
                bytes: class.message_bytes(&self.signatures)?,
                ranks,
                bus_factor: kind.bus_factor(ranks),
                device_name,
                count: class.complete.len(),
                total: class.complete.iter().sum(),
                least: class.complete.iter().copied().min()?,
            })
        })
    }
}

/// Lateness of a rank counts from this share of its device's time on, and with so many late arrivals more than chance
/// gives from the lower share on.
const SHARE: f64 = 1.0;
const SHARE_OF_THE_USUAL_LATE: f64 = 0.1;
const CHANCE_FACTOR: f64 = 2.0;

impl JobFinding {
    /// What there is to say of a job; `None` of a single rank or without collectives.
    #[must_use]
    pub fn new(analysis: &JobAnalysis) -> Option<Self> {
        let job = &analysis.job;
        let ranks = job.present().len();
        let sum =
            |of: fn(&crate::tables::RankRow) -> i64| job.recordings.iter().map(|rank| of(&rank.row)).sum();
        let hosts = job.clocks.iter().all(|clock| clock.is_host).then_some(job.clocks.len());
        Some(JobFinding {
            ranks,
            world_size: job.world_size,
            hosts,
            steps: steps(analysis),
            device: sum(|row| row.busy_ns + row.idle_ns),
            idle: sum(|row| row.idle_ns),
            communication: sum(|row| row.communication_ns),
            exposed_communication: sum(|row| row.exposed_communication_ns),
            waiting: analysis.ranks.iter().map(|rank| rank.waiting).sum(),
            stragglers: stragglers(analysis),
        })
        .filter(|finding| finding.ranks > 1 && analysis.ranks.iter().any(|rank| rank.collectives > 0))
    }
}

/// The steps that all ranks have.
fn common_steps(analysis: &JobAnalysis) -> impl Iterator<Item = &StepTimes> {
    let ranks = analysis.job.recordings.len();
    analysis.steps.iter().filter(move |step| step.durations.len() == ranks)
}

fn steps(analysis: &JobAnalysis) -> Option<Steps> {
    let middle = |step: &StepTimes| {
        let durations: Vec<i64> = step.durations.iter().map(|(_, duration)| *duration).collect();
        Summary::from_values(&durations).map(|durations| durations.median as i64)
    };
    let usual: Vec<i64> = common_steps(analysis).filter_map(middle).collect();
    Some(Steps {
        kind: analysis.job.recordings.first()?.row.step_kind.as_deref()?.to_owned(),
        count: usual.len(),
        usual: Summary::from_values(&usual)?.median as i64,
    })
}

fn stragglers(analysis: &JobAnalysis) -> Vec<Straggler> {
    let mut stragglers: Vec<Straggler> = Vec::new();
    for (recording, (of, figures)) in analysis.job.recordings.iter().zip(&analysis.ranks).enumerate() {
        let first = since(analysis, recording);
        let since = first.and_then(|first| analysis.step_numbers[recording].get(first).copied());
        let is_counted = |step: &&StepTimes| since.is_none_or(|since| step.step >= since);
        let (late, device) = match first {
            Some(first) => {
                let mut late = Late::default();
                for (_, step) in figures.by_step.range(first as i32..) {
                    late.collectives += step.collectives;
                    late.late += step.late;
                    late.lateness += step.lateness;
                }
                let own = |&&(rank, _): &&(usize, i64)| rank == recording;
                let durations = analysis.steps.iter().filter(is_counted).flat_map(|step| &step.durations);
                (late, durations.filter(own).map(|(_, duration)| duration).sum())
            }
            None => {
                let RankFigures { collectives, late, lateness, .. } = *figures;
                (Late { collectives, late, lateness }, of.row.busy_ns + of.row.idle_ns)
            }
        };
        if device <= 0 || late.lateness <= 0 {
            continue;
        }
        let share = late.lateness as f64 / device as f64 * 100.0;
        let by_chance =
            figures.fair_share as f64 * late.collectives as f64 / figures.collectives.max(1) as f64;
        let is_usual = late.late as f64 * 1e6 > CHANCE_FACTOR * by_chance;
        if share < SHARE && !(is_usual && share >= SHARE_OF_THE_USUAL_LATE) {
            continue;
        }
        let cause = analysis.main_cause(recording).map(|cause| (cause.kind, cause.what.clone()));
        stragglers.push(Straggler {
            rank: of.rank,
            steps: common_steps(analysis).filter(is_counted).count(),
            collectives: late.collectives,
            late: late.late,
            lateness: late.lateness,
            share,
            since,
            cause,
        });
    }
    stragglers.sort_few_by_key(|straggler| (std::cmp::Reverse(straggler.lateness), straggler.rank));
    stragglers
}

/// The index of the step from which on a rank is late in most steps, where it was not before.
fn since(analysis: &JobAnalysis, recording: usize) -> Option<usize> {
    const MOST: f64 = 0.7;
    /// A single late step at the end is no beginning.
    const FEWEST: usize = 2;
    let numbers = &analysis.step_numbers[recording];
    let mut late: Vec<usize> = analysis
        .causes
        .iter()
        .filter(|cause| cause.recording == recording)
        .filter_map(|cause| usize::try_from(cause.step).ok())
        .collect();
    late.sort_unstable();
    let is_most =
        |(at, &step): (usize, &usize)| (late.len() - at) as f64 >= MOST * (numbers.len() - step) as f64;
    let (at, &first) = late.iter().enumerate().find(|&found| is_most(found))?;
    (first > 0 && late.len() - at >= FEWEST).then_some(first)
}
