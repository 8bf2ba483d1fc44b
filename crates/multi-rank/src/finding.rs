//! What there is to say of a job first: how long its steps take, how much of it is communication, and who is waited for.

use gpu_timeline::{SortFew, Summary};

use crate::analysis::JobAnalysis;
use crate::causes::CauseKind;

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

/// A rank that holds the others back.
#[derive(Clone, Debug, PartialEq)]
pub struct Straggler {
    /// Rank.
    pub rank: u32,
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

/// Lateness of a rank counts from this share of its device's time on, and with so many late arrivals more than chance
/// gives from the lower share on.
const SHARE: f64 = 1.0;
const SHARE_OF_THE_USUAL_LATE: f64 = 0.1;
const MORE_THAN_CHANCE: u64 = 2;

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

fn steps(analysis: &JobAnalysis) -> Option<Steps> {
    let recordings = &analysis.job.recordings;
    let everywhere = |step: &&crate::reduction::StepTimes| step.durations.len() == recordings.len();
    let middle = |step: &crate::reduction::StepTimes| {
        let durations: Vec<i64> = step.durations.iter().map(|(_, duration)| *duration).collect();
        Summary::from_values(&durations).map(|durations| durations.median as i64)
    };
    let usual: Vec<i64> = analysis.steps.iter().filter(everywhere).filter_map(middle).collect();
    Some(Steps {
        kind: recordings.first()?.row.step_kind.as_deref()?.to_owned(),
        count: usual.len(),
        usual: Summary::from_values(&usual)?.median as i64,
    })
}

fn stragglers(analysis: &JobAnalysis) -> Vec<Straggler> {
    let mut stragglers: Vec<Straggler> = Vec::new();
    for (recording, (of, figures)) in analysis.job.recordings.iter().zip(&analysis.ranks).enumerate() {
        let device = of.row.busy_ns + of.row.idle_ns;
        if device <= 0 || figures.lateness <= 0 {
            continue;
        }
        let share = figures.lateness as f64 / device as f64 * 100.0;
        let is_usual = figures.late * 1_000_000 > MORE_THAN_CHANCE * figures.fair_share;
        if share < SHARE && !(is_usual && share >= SHARE_OF_THE_USUAL_LATE) {
            continue;
        }
        let cause = analysis.main_cause(recording).map(|cause| (cause.kind, cause.what.clone()));
        stragglers.push(Straggler {
            rank: of.rank,
            collectives: figures.collectives,
            late: figures.late,
            lateness: figures.lateness,
            share,
            since: since(analysis, recording),
            cause,
        });
    }
    stragglers.sort_few_by_key(|straggler| (std::cmp::Reverse(straggler.lateness), straggler.rank));
    stragglers
}

/// The step from which on a rank is late in most steps, where it was not before.
fn since(analysis: &JobAnalysis, recording: usize) -> Option<i64> {
    const MOST: f64 = 0.7;
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
    let first = late.iter().enumerate().find(|&(at, step)| is_most((at, step))).map(|(_, step)| *step)?;
    numbers.get(first).copied().filter(|_| first > 0)
}
