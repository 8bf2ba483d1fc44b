//! The verdict of a gate.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use gpu_timeline::median;
use serde::Serialize;
use sheets::numbers::counted;

use crate::block::{Block, BlockReason, blocks};
use crate::comparability::{CheckName, Comparability};
use crate::ledger::{Ledger, Sample, mean_of};
use crate::metric::Metric;
use crate::recording::Recording;
use crate::rule::{Decision, Estimate, Limits, Noise, holm};
use crate::thresholds::{GatedMetric, Inconclusive, Thresholds};

/// Steps after warm-up below which a recording does not show how much its steps scatter.
pub const FEWEST_STEPS: usize = 3;

/// What a gate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing is slower by more than a pass rules out.
    Pass,
    /// Something is faster, and nothing slower.
    Improved,
    /// Something is slower.
    Fail,
    /// The recordings do not tell.
    Inconclusive,
    /// The recordings are not of the same work on the same machine.
    NotComparable,
}

impl Verdict {
    /// Its name in outputs for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Pass => "PASS",
            Verdict::Improved => "IMPROVED",
            Verdict::Fail => "FAIL",
            Verdict::Inconclusive => "INCONCLUSIVE",
            Verdict::NotComparable => "NOT COMPARABLE",
        }
    }
}

/// A metric with what the rule says of it.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricResult {
    /// The metric.
    pub metric: Metric,
    /// Typical value of the baseline and of the candidate: of times the geometric mean of the blocks' medians in
    /// nanoseconds, of counts the median.
    pub values: [f64; 2],
    /// What it may change by.
    pub limits: Limits,
    /// How many more are allowed, of a metric that counts.
    pub more_by: u64,
    /// The statistics; `None` of counts, and where the metric is 0 on a side.
    pub estimate: Option<Estimate>,
    /// The probability that chance alone makes the candidate so much slower, corrected for the number of metrics.
    pub p: Option<f64>,
    /// The noise that was expected.
    pub noise: Option<Noise>,
    /// The last day and the reason of the exception that its limit is of.
    pub exception: Option<(String, String)>,
    /// What the rule says.
    pub decision: Decision,
    /// Why, where the statistics do not say it.
    pub because: Option<String>,
}

/// Why a gate cannot be held against two sides.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum GateError {
    /// A metric names what no recording has.
    #[error("no recording has {metric}")]
    #[diagnostic(
        code("gate/no-such-work"),
        help("{}; only the {kept} largest units of work are kept", said_names(near))
    )]
    NoSuchWork {
        /// The metric.
        metric: Metric,
        /// Names that contain the metric's or are contained in it; without any, the largest of the same kind.
        near: Vec<String>,
        /// Units that are kept of a recording.
        kept: usize,
    },
    /// Modules are gated and not recorded.
    #[error("{file} has no modules, which {metric} needs")]
    #[diagnostic(code("gate/no-modules"), help("pass --modules for all recordings, including baselines"))]
    NoModules {
        /// The metric.
        metric: Metric,
        /// The recording.
        file: String,
    },
    /// A side has no recordings.
    #[error("no {side} recording")]
    #[diagnostic(code("gate/no-recording"))]
    NoRecording {
        /// `baseline` or `candidate`.
        side: &'static str,
    },
    /// A recording has no step that device work belongs to.
    #[error("{file} has no step with device work")]
    #[diagnostic(code("gate/no-steps"))]
    NoSteps {
        /// The recording.
        file: String,
    },
}

/// The verdict on a candidate, with all that it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// What it says.
    pub verdict: Verdict,
    /// The gated metrics.
    pub metrics: Vec<MetricResult>,
    /// Whether the recordings may be compared.
    pub comparability: Comparability,
    /// Where the difference is.
    pub ledger: Ledger,
    /// Recordings of the baseline and of the candidate.
    pub sides: [Vec<Recording>; 2],
    /// The same, divided into blocks.
    pub blocks: [Vec<Block>; 2],
    /// What a reader has to know beside the figures, a sentence each.
    pub remarks: Vec<String>,
    /// What is made of recordings that do not tell.
    pub inconclusive: Inconclusive,
    /// The first steps of each recording that do not count.
    pub warmup: usize,
}

impl Gate {
    /// Holds a candidate against a baseline. Differences that are in `allowed` warn and do not refuse the comparison.
    ///
    /// # Errors
    /// When a side is empty, a recording has no steps, or a metric names what is not there.
    pub fn new(
        baseline: Vec<Recording>,
        candidate: Vec<Recording>,
        thresholds: &Thresholds,
        allowed: &BTreeSet<CheckName>,
    ) -> Result<Gate, GateError> {
        let mut remarks = Vec::new();
        let sides = [("baseline", baseline), ("candidate", candidate)].map(|(side, recordings)| {
            let recordings = without_copies(recordings, side, &mut remarks);
            if recordings.is_empty() {
                return Err(GateError::NoRecording { side });
            }
            match recordings.iter().find(|recording| recording.steps.duration.is_empty()) {
                Some(recording) => Err(GateError::NoSteps { file: recording.file.clone() }),
                None => Ok(recordings),
            }
        });
        let [baseline, candidate] = sides;
        let sides = [baseline?, candidate?];
        for gated in &thresholds.metrics {
            check_metric(&gated.metric, &sides)?;
        }
        let warmup = thresholds.warmup;
        let comparability =
            Comparability::new(&sides[0], &sides[1], allowed, (thresholds.defaults.slower_by, warmup));
        let blocks = [blocks(&sides[0]), blocks(&sides[1])];
        remarks.extend(remarks_on_blocks(&sides, &blocks));
        let of = |side: usize| Sample { recordings: &sides[side], blocks: &blocks[side], warmup };
        let both = [of(0), of(1)];
        let noise = |baseline: &[f64], within: f64| {
            Noise::measured(baseline, within).unwrap_or_else(|| Noise::assumed(thresholds.assumed_noise))
        };
        let too_few = too_few_steps(&sides, warmup);
        let mut metrics: Vec<MetricResult> = thresholds
            .metrics
            .iter()
            .map(|gated| metric_result(gated, thresholds, [&both[0], &both[1]], noise))
            .collect();
        decide(&mut metrics, too_few.as_deref());
        let unused = thresholds
            .exceptions
            .iter()
            .filter(|exception| thresholds.metrics.iter().all(|gated| gated.metric != exception.metric));
        remarks.extend(unused.map(|exception| {
            format!("the exception for {} has no effect: that metric is not gated", exception.metric)
        }));
        let ledger = Ledger::new([&both[0], &both[1]], noise);
        let has = |decision: Decision| metrics.iter().any(|metric| metric.decision == decision);
        let verdict = match () {
            () if comparability.is_refused() => Verdict::NotComparable,
            () if has(Decision::Fail) => Verdict::Fail,
            () if has(Decision::Inconclusive) => Verdict::Inconclusive,
            () if has(Decision::Improved) => Verdict::Improved,
            () => Verdict::Pass,
        };
        let inconclusive = thresholds.inconclusive;
        Ok(Gate { verdict, metrics, comparability, ledger, sides, blocks, remarks, inconclusive, warmup })
    }

    /// Whether the gate lets the candidate through: `None` where it cannot tell, and that is not to be taken for either.
    #[must_use]
    pub fn lets_through(&self) -> Option<bool> {
        match (self.verdict, self.inconclusive) {
            (Verdict::Pass | Verdict::Improved, _) | (Verdict::Inconclusive, Inconclusive::Pass) => {
                Some(true)
            }
            (Verdict::Fail, _) | (Verdict::Inconclusive, Inconclusive::Fail) => Some(false),
            (Verdict::Inconclusive | Verdict::NotComparable, _) => None,
        }
    }

    /// The metric that the verdict is first said of: the worst, then the first.
    #[must_use]
    pub fn first_metric(&self) -> Option<&MetricResult> {
        let worth = |metric: &&MetricResult| match metric.decision {
            Decision::Fail => 0,
            Decision::Inconclusive => 1,
            Decision::Improved => 2,
            Decision::Pass => 3,
        };
        self.metrics.iter().min_by_key(worth)
    }
}

/// Each recording once: a copy is no second experiment.
fn without_copies(recordings: Vec<Recording>, side: &str, remarks: &mut Vec<String>) -> Vec<Recording> {
    let mut seen = BTreeSet::new();
    let mut kept = Vec::with_capacity(recordings.len());
    for recording in recordings {
        if seen.insert(recording.hash.clone()) {
            kept.push(recording);
        } else {
            remarks.push(format!("{} is in the {side} more than once and counts once", recording.file));
        }
    }
    kept
}

fn check_metric(metric: &Metric, sides: &[Vec<Recording>; 2]) -> Result<(), GateError> {
    let all = || sides.iter().flatten();
    if let Metric::Module(_) = metric
        && let Some(recording) = all().find(|recording| !recording.setup.modules)
    {
        return Err(GateError::NoModules { metric: metric.clone(), file: recording.file.clone() });
    }
    if metric.name().is_some()
        && all().all(|recording| metric.values(recording, 0).iter().all(|&value| value == 0))
    {
        let near = near(metric, all());
        return Err(GateError::NoSuchWork { metric: metric.clone(), near, kept: crate::MOST_UNITS });
    }
    Ok(())
}

fn said_names(near: &[String]) -> String {
    match near {
        [] => "the recordings have no names of this kind".to_owned(),
        _ => format!("names of this kind in the recordings are {}", near.join(", ")),
    }
}

/// Names that may be meant instead of one that no recording has, those of most time first.
fn near<'r>(metric: &Metric, recordings: impl Iterator<Item = &'r Recording>) -> Vec<String> {
    const MOST: usize = 3;
    let mut times: BTreeMap<&str, i64> = BTreeMap::new();
    for unit in recordings.flat_map(|recording| &recording.units) {
        let name = metric.name_in(unit).filter(|name| !name.is_empty());
        name.into_iter()
            .for_each(|name| *times.entry(name).or_default() += unit.kernel_time.iter().sum::<i64>());
    }
    let wanted = metric.name().unwrap_or_default().to_lowercase();
    let is_part = |name: &str| {
        let name = name.to_lowercase();
        name.contains(&wanted) || wanted.contains(&name)
    };
    let mut names: Vec<(&str, i64)> = times.into_iter().collect();
    names.sort_by_key(|&(name, time)| (!is_part(name), Reverse(time)));
    let parts = names.iter().filter(|(name, _)| is_part(name)).count();
    names.truncate(if parts == 0 { MOST } else { parts.min(MOST) });
    names.into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// What the division into blocks rests on, where that is not sure.
fn remarks_on_blocks(sides: &[Vec<Recording>; 2], blocks: &[Vec<Block>; 2]) -> Vec<String> {
    let mut remarks = Vec::new();
    for (recordings, blocks) in sides.iter().zip(blocks) {
        for block in
            blocks.iter().filter(|block| block.recordings.len() > 1 && block.reason == BlockReason::Time)
        {
            let files: Vec<&str> = block.recordings.iter().map(|&at| recordings[at].file.as_str()).collect();
            remarks.push(format!(
                "{} were recorded within ten minutes and count as one job; --separate-jobs counts each recording as its own job",
                files.join(", ")
            ));
        }
    }
    let unknown = blocks.iter().flatten().filter(|block| block.reason == BlockReason::Unknown).count();
    if unknown > 0 && blocks.iter().flatten().count() > 2 {
        remarks.push(format!(
            "{} no wall-clock time, and counts as a job of its own; --job FILE=ID groups recordings",
            counted(unknown, "recording has", "recordings have")
        ));
    }
    remarks
}

/// Says of which recording too few steps count, if of any.
fn too_few_steps(sides: &[Vec<Recording>; 2], warmup: usize) -> Option<String> {
    let counted = |recording: &&Recording| recording.counted_steps(warmup).len();
    let shortest = sides.iter().flatten().min_by_key(counted)?;
    let steps = counted(&shortest);
    (steps < FEWEST_STEPS).then(|| {
        let are = if steps == 1 { "step is" } else { "steps are" };
        format!("{steps} {are} left after warm-up in {}, and {FEWEST_STEPS} are needed", shortest.file)
    })
}

fn metric_result(
    gated: &GatedMetric,
    thresholds: &Thresholds,
    sides: [&Sample<'_>; 2],
    noise: impl Fn(&[f64], f64) -> Noise,
) -> MetricResult {
    let metric = &gated.metric;
    let (limits, exception) = thresholds.limits(gated);
    let values = |recording: &Recording| metric.values(recording, thresholds.warmup);
    let median_of = |side: &Sample<'_>, metric: &Metric| -> f64 {
        let all = side.recordings.iter().flat_map(|recording| metric.values(recording, thresholds.warmup));
        median(&mut all.collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let mut result = MetricResult {
        metric: metric.clone(),
        values: sides.map(|side| median_of(side, metric)),
        limits,
        more_by: gated.more_by,
        estimate: None,
        p: None,
        noise: None,
        exception: exception.map(|exception| (exception.until_text.clone(), exception.reason.clone())),
        decision: Decision::Pass,
        because: None,
    };
    if metric.is_count() {
        let more = result.values[1] - result.values[0];
        result.decision = match more {
            more if more > gated.more_by as f64 => Decision::Fail,
            more if more < 0.0 => Decision::Improved,
            _ => Decision::Pass,
        };
        return result;
    }
    let name = metric.to_string();
    let located = sides.map(|side| side.locations(values, &name));
    let [Some((a, within_a)), Some((b, within_b))] = located else {
        // There is no ratio to nothing: what is new counts by its share of the step.
        let step = sides.map(|side| median_of(side, &Metric::StepWall));
        let change = result.values[1] - result.values[0];
        let matters = limits.slower_by * step[0].max(step[1]);
        (result.decision, result.because) = match change {
            0.0 => (Decision::Pass, Some("it takes no time in either version".to_owned())),
            more if more >= matters => (
                Decision::Fail,
                Some(
                    "it takes no time in the baseline, so the limit applies to its share of the step"
                        .to_owned(),
                ),
            ),
            less if -less >= matters => {
                (Decision::Improved, Some("it takes no time in the candidate".to_owned()))
            }
            _ => {
                (Decision::Pass, Some("it takes no time on one side and almost none on the other".to_owned()))
            }
        };
        return result;
    };
    let within = mean_of([&within_a, &within_b]);
    let expected = noise(&a, within);
    result.noise = Some(expected);
    result.estimate = Estimate::new(&a, &b, within, expected, limits.alpha);
    let geometric_mean = |logs: &[f64]| (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    result.values = [geometric_mean(&a), geometric_mean(&b)];
    result
}

/// Decides all metrics, with probabilities that are corrected for their number.
fn decide(metrics: &mut [MetricResult], too_few_steps: Option<&str>) {
    let estimates: Vec<(usize, Estimate)> =
        metrics.iter().enumerate().filter_map(|(at, metric)| Some((at, metric.estimate?))).collect();
    let corrected =
        |p: fn(&Estimate) -> f64| holm(&estimates.iter().map(|(_, of)| p(of)).collect::<Vec<_>>());
    let slower = corrected(|estimate| estimate.p_slower);
    let faster = corrected(|estimate| estimate.p_faster);
    for ((&(at, estimate), &slower), &faster) in estimates.iter().zip(&slower).zip(&faster) {
        let metric = &mut metrics[at];
        metric.p = Some(slower);
        metric.decision = estimate.decide(metric.limits, [slower, faster]);
    }
    if let Some(reason) = too_few_steps {
        for metric in metrics.iter_mut().filter(|metric| metric.estimate.is_some()) {
            metric.decision = Decision::Inconclusive;
            metric.because = Some(reason.to_owned());
        }
    }
}
