//! Where the difference of a step is: parts that add up to it, to the nanosecond.

use std::collections::{BTreeMap, BTreeSet};

use gpu_timeline::SortFew;
use serde::Serialize;

use crate::block::Block;
use crate::location::Location;
use crate::recording::{Recording, Unit};
use crate::rule::{Estimate, Noise, benjamini_hochberg};

/// What a line of the ledger is about. Ordered as lines are rounded, so that the sides may be exchanged.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Work of an operator, or a kernel that none launched.
    Unit {
        /// Name of the operator or kernel.
        name: String,
        /// Shapes of its arguments.
        dims: String,
        /// Types of its arguments.
        types: String,
        /// The `nn.Module` that it runs in.
        module: String,
    },
    /// Units that are not known one by one on both sides.
    Rest,
    /// Exposed communication.
    ExposedCommunication,
    /// Time in which nothing runs.
    Idle,
}

impl Part {
    /// Its name in tables.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Part::Unit { name, .. } => name,
            Part::Rest => "all other units",
            Part::ExposedCommunication => "exposed communication",
            Part::Idle => "idle",
        }
    }
}

/// How a part changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The same kernels take longer.
    SlowerKernel,
    /// The same kernels take less time.
    FasterKernel,
    /// Other kernels do the work.
    OtherKernel,
    /// The operator is called more often.
    MoreCalls,
    /// The operator is called less often.
    FewerCalls,
    /// Only the candidate has it.
    New,
    /// Only the baseline has it.
    Gone,
    /// The device waits for another amount of time.
    Waiting,
    /// It takes as long as before.
    Same,
}

impl Change {
    /// Its name in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Change::SlowerKernel => "slower kernel",
            Change::FasterKernel => "faster kernel",
            Change::OtherKernel => "other kernel",
            Change::MoreCalls => "more calls",
            Change::FewerCalls => "fewer calls",
            Change::New => "new",
            Change::Gone => "gone",
            Change::Waiting => "waiting",
            Change::Same => "unchanged",
        }
    }

    /// Whether it is counted, so that chance cannot explain it.
    fn is_counted(self) -> bool {
        matches!(self, Change::MoreCalls | Change::FewerCalls | Change::New | Change::Gone)
    }
}

/// A part of the step, of the baseline and of the candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LedgerLine {
    /// What it is.
    pub part: Part,
    /// Its time in a typical step of the baseline and of the candidate, in nanoseconds, rounded so that all lines add up
    /// to the step.
    pub ns: [i64; 2],
    /// Calls per step.
    pub calls: [f64; 2],
    /// Its kernels, the one with the most time first.
    pub kernels: [Vec<String>; 2],
    /// How it changed.
    pub change: Change,
    /// The probability that chance explains the change, corrected for the number of lines; `None` where it was not asked
    /// for because the change is too small.
    pub q: Option<f64>,
    /// Whether the change is large enough to matter, and no chance.
    pub is_culprit: bool,
}

impl LedgerLine {
    /// The kernel with the most time on each side, where the side has one; the same once.
    #[must_use]
    pub fn main_kernels(&self) -> Vec<&str> {
        let mut kernels: Vec<&str> =
            self.kernels.iter().filter_map(|side_kernels| side_kernels.first()).map(String::as_str).collect();
        kernels.dedup();
        kernels
    }

    /// How much longer it takes in the candidate.
    #[must_use]
    pub fn delta(&self) -> i64 {
        self.ns[1] - self.ns[0]
    }
}

/// The difference of a typical step, by parts. A typical step is the mean of the middle half of the steps of a
/// recording, by duration; of recordings and blocks the mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ledger {
    /// The typical step of the baseline and of the candidate, in nanoseconds.
    pub step_ns: [i64; 2],
    /// The parts, the largest change first.
    pub lines: Vec<LedgerLine>,
}

/// Least share of the unit and of the step that a change of a culprit has.
const LEAST_OF_UNIT: f64 = 0.05;
const LEAST_OF_STEP: f64 = 0.005;
/// Share of the culprits that may be there by chance.
const FALSE_DISCOVERIES: f64 = 0.05;

/// The recordings of a side, divided into blocks.
pub(crate) struct Sample<'a> {
    pub(crate) recordings: &'a [Recording],
    pub(crate) blocks: &'a [Block],
    pub(crate) warmup: usize,
}

impl Sample<'_> {
    /// The mean of the logarithms of the medians of each block, and the variance within its recordings. `None` where a
    /// recording has none.
    pub(crate) fn locations(
        &self,
        values: impl Fn(&Recording) -> Vec<i64>,
        name: &str,
    ) -> Option<(Vec<f64>, Vec<f64>)> {
        let (mut means, mut variances) = (Vec::new(), Vec::new());
        for block in self.blocks {
            let mut sum = 0.0;
            for &at in &block.recordings {
                let recording = &self.recordings[at];
                let seed = twox_hash::XxHash64::oneshot(0, format!("{}\n{name}", recording.hash).as_bytes());
                let location = Location::new(&values(recording), seed)?;
                sum += location.log_median;
                variances.push(location.variance);
            }
            means.push(sum / block.recordings.len() as f64);
        }
        Some((means, variances))
    }
}

/// Places of the steps in the middle half by duration, of those that count.
fn typical_steps(recording: &Recording, warmup: usize) -> Vec<usize> {
    let mut steps: Vec<usize> = recording.counted_steps(warmup).collect();
    steps.sort_few_by_key(|&step| (recording.steps.duration[step], step));
    let left_out = steps.len() / 4;
    steps[left_out..steps.len() - left_out].to_vec()
}

/// What is summed up of the units of a part.
#[derive(Default)]
struct Sums<'a> {
    time: [f64; 2],
    calls: [f64; 2],
    kernels: [BTreeMap<&'a str, f64>; 2],
}

impl Ledger {
    pub(crate) fn new(sides: [&Sample<'_>; 2], noise: impl Fn(&[f64], f64) -> Noise) -> Ledger {
        let by_module =
            sides.iter().all(|side| side.recordings.iter().all(|recording| recording.setup.modules));
        let mut parts: BTreeMap<Part, Sums<'_>> = BTreeMap::new();
        // The least time of a unit that is known by itself, where a side has others, too.
        let mut least_known = [0.0_f64; 2];
        for (side, sample) in sides.into_iter().enumerate() {
            let weights = weights(sample);
            for (recording, weight, typical) in &weights {
                let mean = |values: &[i64]| -> f64 {
                    typical.iter().map(|&step| values[step] as f64).sum::<f64>() * weight
                        / typical.len() as f64
                };
                let mut add = |part: Part, time: f64| parts.entry(part).or_default().time[side] += time;
                add(Part::Rest, mean(&recording.rest.own_time));
                add(Part::ExposedCommunication, mean(&recording.exposed_communication));
                add(Part::Idle, mean(&recording.idle));
                let mut calls: BTreeMap<Part, f64> = BTreeMap::new();
                let mut least = f64::INFINITY;
                for unit in &recording.units {
                    let time = mean(unit.own_time());
                    if unit.own_time.as_ref().is_none_or(|own| own.iter().any(|&time| time > 0)) {
                        least = least.min(time / weight);
                    }
                    let part = part_of(unit, by_module);
                    let sums = parts.entry(part.clone()).or_default();
                    sums.time[side] += time;
                    *sums.kernels[side].entry(&unit.kernel).or_default() += time;
                    // Kernels of one operator have its calls each.
                    let known = calls.entry(part).or_default();
                    *known = known.max(unit.calls);
                }
                for (part, calls) in calls {
                    parts.entry(part).or_default().calls[side] += calls * weight;
                }
                if recording.rest.units > 0 && least.is_finite() {
                    least_known[side] = least_known[side].max(least);
                }
            }
        }
        let mut lines = rounded(fold_rest(parts, least_known));
        let step_ns = [0, 1].map(|side| lines.iter().map(|line| line.ns[side]).sum());
        judge(&mut lines, step_ns, sides, by_module, noise);
        lines.sort_few_by(|a, b| b.delta().abs().cmp(&a.delta().abs()).then_with(|| a.part.cmp(&b.part)));
        Ledger { step_ns, lines }
    }

    /// How much longer a typical step of the candidate takes, in nanoseconds.
    #[must_use]
    pub fn delta(&self) -> i64 {
        self.step_ns[1] - self.step_ns[0]
    }

    /// The parts that explain the change, those that agree with its direction first, then by size.
    #[must_use]
    pub fn culprits(&self) -> Vec<&LedgerLine> {
        let mut culprits: Vec<&LedgerLine> = self.lines.iter().filter(|line| line.is_culprit).collect();
        let direction = if self.delta() < 0 { -1 } else { 1 };
        culprits.sort_few_by_key(|line| line.delta().signum() != direction);
        culprits
    }

    /// Percentage that a line has of the change of the step; `None` where the step did not change.
    #[must_use]
    pub fn share(&self, line: &LedgerLine) -> Option<f64> {
        let whole = self.delta();
        (whole != 0).then(|| 100.0 * line.delta() as f64 / whole as f64)
    }

    /// Percentage that a line has of all that became slower; `None` where nothing did.
    #[must_use]
    pub fn share_of_slower(&self, line: &LedgerLine) -> Option<f64> {
        let slower: i64 = self.lines.iter().map(|line| line.delta().max(0)).sum();
        (slower > 0).then(|| 100.0 * line.delta() as f64 / slower as f64)
    }
}

/// The recordings of a side with the weight that each has in the mean, and its typical steps.
fn weights<'a>(side: &Sample<'a>) -> Vec<(&'a Recording, f64, Vec<usize>)> {
    let weighted_recordings = |block: &Block| {
        let weight = 1.0 / (side.blocks.len() * block.recordings.len()) as f64;
        let recordings = side.recordings;
        let of = move |&at: &usize| (&recordings[at], weight, typical_steps(&recordings[at], side.warmup));
        block.recordings.iter().map(of).collect::<Vec<_>>()
    };
    side.blocks.iter().flat_map(weighted_recordings).filter(|(.., typical)| !typical.is_empty()).collect()
}

fn part_of(unit: &Unit, by_module: bool) -> Part {
    Part::Unit {
        name: unit.name().to_owned(),
        dims: unit.dims.clone(),
        types: unit.types.clone(),
        module: if by_module { unit.module.clone() } else { String::new() },
    }
}

/// Adds units to the rest that one side lacks and may have in its own rest: those with less time than every unit that it
/// knows one by one.
fn fold_rest(mut parts: BTreeMap<Part, Sums<'_>>, least_known: [f64; 2]) -> BTreeMap<Part, Sums<'_>> {
    let is_folded = |part: &Part, sums: &Sums<'_>| {
        let lacks = |side: usize| sums.kernels[side].is_empty() && sums.time[1 - side] <= least_known[side];
        matches!(part, Part::Unit { .. }) && (lacks(0) || lacks(1))
    };
    let folded: Vec<Part> =
        parts.iter().filter(|(part, sums)| is_folded(part, sums)).map(|(part, _)| part.clone()).collect();
    for part in folded {
        let Some(sums) = parts.remove(&part) else { continue };
        let rest = parts.entry(Part::Rest).or_default();
        (0..2).for_each(|side| rest.time[side] += sums.time[side]);
    }
    parts
}

/// Lines in whole nanoseconds: each is the difference of rounded running sums, so that they add up to the rounded whole.
fn rounded(parts: BTreeMap<Part, Sums<'_>>) -> Vec<LedgerLine> {
    let mut running = [0.0_f64; 2];
    let lines = parts.into_iter().map(|(part, sums)| {
        let ns = [0, 1].map(|side| {
            let before = running[side].round();
            running[side] += sums.time[side];
            (running[side].round() - before) as i64
        });
        let kernels = sums.kernels.map(|kernels| {
            let mut by_time: Vec<(&str, f64)> = kernels.into_iter().collect();
            by_time.sort_few_by(|a, b| b.1.total_cmp(&a.1));
            by_time.into_iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
        });
        let change = change(&part, ns, sums.calls, &kernels);
        LedgerLine { part, ns, calls: sums.calls, kernels, change, q: None, is_culprit: false }
    });
    lines.filter(|line| line.ns != [0, 0] || !matches!(line.part, Part::Unit { .. })).collect()
}

fn change(part: &Part, ns: [i64; 2], calls: [f64; 2], kernels: &[Vec<String>; 2]) -> Change {
    /// Means over steps of whole numbers differ by more than this where the numbers do.
    const ROUNDING: f64 = 1e-6;
    let names = |side: usize| kernels[side].iter().collect::<BTreeSet<_>>();
    match part {
        _ if ns[0] == ns[1] => Change::Same,
        Part::Idle | Part::ExposedCommunication => Change::Waiting,
        Part::Unit { .. } if kernels[0].is_empty() => Change::New,
        Part::Unit { .. } if kernels[1].is_empty() => Change::Gone,
        Part::Unit { .. } if calls[1] > calls[0] * (1.0 + ROUNDING) => Change::MoreCalls,
        Part::Unit { .. } if calls[0] > calls[1] * (1.0 + ROUNDING) => Change::FewerCalls,
        Part::Unit { .. } if names(0) != names(1) => Change::OtherKernel,
        _ if ns[1] < ns[0] => Change::FasterKernel,
        _ => Change::SlowerKernel,
    }
}

/// Says of each line whether its change matters and is no chance. Of those that are too small, chance is not asked; they
/// count as chance in the correction.
fn judge(
    lines: &mut [LedgerLine],
    step_ns: [i64; 2],
    sides: [&Sample<'_>; 2],
    by_module: bool,
    noise: impl Fn(&[f64], f64) -> Noise,
) {
    let matters = |line: &LedgerLine| {
        let (delta, before) = (line.delta().abs() as f64, line.ns[0].max(0) as f64);
        delta > 0.0 && delta >= LEAST_OF_UNIT * before && delta >= LEAST_OF_STEP * step_ns[0] as f64
    };
    let probability = |line: &LedgerLine| -> Option<f64> {
        if !matters(line) {
            return None;
        }
        if line.change.is_counted() {
            return Some(0.0);
        }
        let values = |recording: &Recording, warmup: usize| -> Vec<i64> {
            let steps = recording.counted_steps(warmup);
            match &line.part {
                Part::Idle => recording.idle[steps].to_vec(),
                Part::ExposedCommunication => recording.exposed_communication[steps].to_vec(),
                Part::Rest => recording.rest.own_time[steps].to_vec(),
                Part::Unit { name, dims, types, module } => {
                    let is_meant = |unit: &&Unit| {
                        (unit.name(), &unit.dims, &unit.types) == (name, dims, types)
                            && (!by_module || unit.module == *module)
                    };
                    let units: Vec<&Unit> = recording.units.iter().filter(is_meant).collect();
                    steps.map(|step| units.iter().map(|unit| unit.own_time()[step]).sum()).collect()
                }
            }
        };
        let locations =
            |side: &Sample<'_>| side.locations(|recording| values(recording, side.warmup), line.part.name());
        // Without a ratio, as of what was not there before, size alone decides.
        let (Some((a, within_a)), Some((b, within_b))) = (locations(sides[0]), locations(sides[1])) else {
            return Some(0.0);
        };
        let within = mean_of([&within_a, &within_b]);
        let estimate = Estimate::new(&a, &b, within, noise(&a, within), 0.5)?;
        // Either direction is a change.
        Some((2.0 * estimate.p_slower.min(estimate.p_faster)).min(1.0))
    };
    let probabilities: Vec<Option<f64>> = lines.iter().map(probability).collect();
    let all: Vec<f64> = probabilities.iter().map(|probability| probability.unwrap_or(1.0)).collect();
    for ((line, q), probability) in lines.iter_mut().zip(benjamini_hochberg(&all)).zip(probabilities) {
        line.q = probability.map(|_| q);
        line.is_culprit = line.q.is_some_and(|q| q < FALSE_DISCOVERIES);
    }
}

/// The mean of the variances within the recordings of both sides.
pub(crate) fn mean_of(variances: [&[f64]; 2]) -> f64 {
    let count = variances[0].len() + variances[1].len();
    variances.iter().map(|side_variances| side_variances.iter().sum::<f64>()).sum::<f64>()
        / count.max(1) as f64
}
