//! The clocks of several hosts, from the ends of collectives that all members leave together.

use std::collections::BTreeSet;

use gpu_timeline::{SortFew, upper_median};

use crate::diagnostic::Diagnostic;
use crate::job::Job;

/// How the clock of a recording stands to that of another, by the collectives that both have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ClockPair {
    pub(crate) recording: usize,
    pub(crate) reference: usize,
    /// Clock of the recording less that of the reference, in nanoseconds, in the middle of the window.
    pub(crate) offset: i64,
    /// Median distance of the differences from it, in nanoseconds.
    pub(crate) deviation: i64,
    pub(crate) pairs: usize,
    /// By how much the difference grows, in nanoseconds per second.
    pub(crate) drift: f64,
    /// The slope of the differences, be it drift or jitter, and the inverse of its variance.
    pub(crate) slope: (f64, f64),
    /// Middle of the window, on the clock of the reference.
    pub(crate) middle: i64,
    /// Where one of the two clocks was set.
    pub(crate) jump: Option<Jump>,
}

/// A clock that was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Jump {
    /// First time after it on the clock itself.
    pub(crate) at: i64,
    /// By how much it went ahead, in nanoseconds.
    pub(crate) by: i64,
}

/// A clock that goes ahead by less than this, in nanoseconds, drifts.
const LEAST_JUMP: i64 = 100_000;

/// The differences on either side of a jump that have to agree on it.
const BESIDE_JUMP: usize = 5;

/// Takes a jump out of the differences of a clock from another, given with the times of that, by time.
fn without_jump(differences: &mut [(i64, i64)]) -> Option<Jump> {
    let beside = BESIDE_JUMP.min(differences.len() / 2);
    if beside < 2 {
        return None;
    }
    let of = |part: &[(i64, i64)]| upper_median(part.iter().map(|(_, difference)| *difference)).unwrap_or(0);
    let by = |at: usize| of(&differences[at..at + beside]) - of(&differences[at - beside..at]);
    // At the jump itself the difference between neighbours is largest, among those of the middle values.
    let at = (beside..=differences.len() - beside)
        .max_by_key(|&at| (by(at).abs(), (differences[at].1 - differences[at - 1].1).abs()))?;
    let jump = of(&differences[at..]) - of(&differences[..at]);
    let usual = upper_median(differences.windows(2).map(|two| (two[1].1 - two[0].1).abs())).unwrap_or(0);
    let stays = (jump - by(at)).abs() <= jump.abs() / 5;
    if !stays || jump.abs() < LEAST_JUMP.max(20 * usual) {
        return None;
    }
    let (time, difference) = differences[at];
    for (_, difference) in &mut differences[at..] {
        *difference -= jump;
    }
    Some(Jump { at: time + difference, by: jump })
}

/// A drift below this, in nanoseconds per second, is noise.
const LEAST_DRIFT: f64 = 1_000.0;

impl ClockPair {
    /// From the differences over the time of the reference; `None` without any.
    pub(crate) fn new(recording: usize, reference: usize, differences: &mut [(i64, i64)]) -> Option<Self> {
        differences.sort_unstable();
        let jump = without_jump(differences);
        let offset = upper_median(differences.iter().map(|(_, difference)| *difference))?;
        let deviation = upper_median(differences.iter().map(|(_, difference)| (difference - offset).abs()))?;
        let near = 5 * deviation.max(1_000);
        let usual: Vec<(f64, f64)> = {
            let first = differences.first().map_or(0, |(time, _)| *time);
            let usual = differences.iter().filter(|(_, difference)| (difference - offset).abs() <= near);
            usual
                .map(|(time, difference)| ((time - first) as f64 / 1e9, (difference - offset) as f64))
                .collect()
        };
        let (slope, mean, spread) = slope(&usual);
        let span = usual.iter().map(|(time, _)| *time).fold(0.0, f64::max);
        // What a line leaves: the differences of a clock that drifts lie far from their median.
        let level = usual.iter().map(|(_, difference)| difference / usual.len() as f64).sum::<f64>();
        let left = usual
            .iter()
            .map(|(time, difference)| (difference - level - slope * (time - mean)).abs().round() as i64);
        let left = upper_median(left).unwrap_or(deviation);
        // Over a short window jitter looks like drift.
        let drifts = span * slope.abs() > 4.0 * left as f64 && slope.abs() >= LEAST_DRIFT;
        let (drift, offset, deviation) = match drifts {
            true => (slope, offset + level.round() as i64, left),
            false => (0.0, offset, deviation),
        };
        let first = differences.first().map_or(0, |(time, _)| *time);
        Some(ClockPair {
            recording,
            reference,
            offset,
            deviation,
            pairs: differences.len(),
            drift,
            slope: (slope, spread / (left.max(1) as f64).powi(2)),
            middle: first + (mean * 1e9) as i64,
            jump,
        })
    }

    /// How far from the truth the offset is likely to be, in nanoseconds: the deviation of a mean of so many.
    fn uncertainty(&self) -> f64 {
        self.deviation as f64 / (self.pairs as f64).sqrt()
    }
}

/// The slope of the line of least squares, the mean of the abscissae, and the sum of the squares of their distances from it.
fn slope(points: &[(f64, f64)]) -> (f64, f64, f64) {
    let count = points.len() as f64;
    if points.len() < 3 {
        return (0.0, 0.0, 0.0);
    }
    let (mean_x, mean_y) =
        points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let (mut covariance, mut variance) = (0.0, 0.0);
    for (x, y) in points {
        covariance += (x - mean_x) * (y - mean_y);
        variance += (x - mean_x).powi(2);
    }
    (if variance > 0.0 { covariance / variance } else { 0.0 }, mean_x, variance)
}

/// Whether clocks are brought together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockMode {
    /// Where there are several.
    #[default]
    Align,
    /// Never: times are taken as recorded.
    Raw,
}

impl ClockMode {
    /// The modes with their names on a command line.
    pub const NAMES: &[(&str, Self)] = &[("align", ClockMode::Align), ("raw", ClockMode::Raw)];
}

/// How a clock stands to that of the first host.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Correction {
    /// To take from its times, in nanoseconds, at `middle`.
    pub(crate) offset: i64,
    /// In nanoseconds per second.
    pub(crate) drift: f64,
    pub(crate) middle: i64,
    /// Uncertainty of the offset: the sum of the deviations on the way to the first host.
    pub(crate) deviation: i64,
    /// Collectives that it rests on.
    pub(crate) pairs: usize,
    /// Where the clock was set, or one on the way to the first host.
    pub(crate) jumps: Vec<Jump>,
}

impl Correction {
    /// A time of this clock on that of the first host.
    pub(crate) fn apply(&self, time: i64) -> i64 {
        let drift =
            if self.drift == 0.0 { 0 } else { ((time - self.middle) as f64 / 1e9 * self.drift) as i64 };
        let jumps = self.jumps.iter().filter(|jump| time >= jump.at).map(|jump| jump.by).sum::<i64>();
        time - jumps - self.offset - drift
    }
}

/// The corrections of a job's clocks.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    /// By clock.
    pub(crate) corrections: Vec<Correction>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Clocks {
    /// Ties the clocks together, each over the pair of ranks that agrees best.
    pub(crate) fn solve(job: &Job, pairs: &[ClockPair], mode: ClockMode) -> Self {
        let clocks = job.clocks.len();
        let mut solved = Clocks { corrections: vec![Correction::default(); clocks], diagnostics: Vec::new() };
        if mode == ClockMode::Raw || clocks < 2 {
            return solved;
        }
        let clock = |recording: usize| job.recordings[recording].clock;
        let clocks_of = |pair: &ClockPair| {
            let (a, b) = (clock(pair.recording), clock(pair.reference));
            (a.min(b), a.max(b))
        };
        let mut between: Vec<&ClockPair> =
            pairs.iter().filter(|pair| clock(pair.recording) != clock(pair.reference)).collect();
        // A pair with few collectives does not show the jump that another pair of the same clocks does.
        let jumped: BTreeSet<(usize, usize)> =
            between.iter().filter(|pair| pair.jump.is_some()).map(|pair| clocks_of(pair)).collect();
        between.retain(|pair| pair.jump.is_some() || !jumped.contains(&clocks_of(pair)));
        between.sort_few_by(|a, b| {
            let uncertain = a.uncertainty().total_cmp(&b.uncertainty());
            uncertain.then_with(|| (a.recording, a.reference).cmp(&(b.recording, b.reference)))
        });
        let mut reached = vec![false; clocks];
        while let Some(root) = reached.iter().position(|reached| !reached) {
            reached[root] = true;
            if root > 0 {
                solved.diagnostics.push(Diagnostic::ClockAlone { host: job.clocks[root].name.clone() });
            }
            // The least edge out of what is reached, again and again: a spanning tree of least uncertainty.
            while let Some(edge) =
                between.iter().find(|pair| reached[clock(pair.recording)] != reached[clock(pair.reference)])
            {
                let (known, new, sign) = match reached[clock(edge.reference)] {
                    true => (clock(edge.reference), clock(edge.recording), 1),
                    false => (clock(edge.recording), clock(edge.reference), -1),
                };
                // All ranks of the two hosts tell how fast the clocks go apart.
                let drift = if edge.drift == 0.0 { 0.0 } else { drift_between(&between, clock, new, known) };
                let base = solved.corrections[known].clone();
                let offset = sign * edge.offset;
                // The jump of the pair is told on the recording's clock, those of the known clock on its own.
                let own = edge.jump.map(|jump| {
                    let at = if sign > 0 { jump.at } else { jump.at - edge.offset - jump.by };
                    Jump { at, by: sign * jump.by }
                });
                if let Some(jump) = own {
                    let name = |clock: usize| job.clocks[clock].name.clone();
                    let (host, against, by) = (name(new), name(known), jump.by);
                    solved.diagnostics.push(Diagnostic::ClockJump { host, against, by });
                }
                let known_jumps = base.jumps.iter().map(|jump| Jump { at: jump.at + offset, ..*jump });
                let jumps = own.into_iter().chain(known_jumps).collect();
                solved.corrections[new] = Correction {
                    jumps,
                    offset: base.offset + offset,
                    drift: base.drift + drift,
                    middle: edge.middle,
                    deviation: base.deviation + edge.deviation,
                    pairs: edge.pairs,
                };
                reached[new] = true;
            }
        }
        solved
    }
}

/// How fast the clock `new` runs ahead of `known`, in nanoseconds per second: the mean over the pairs of recordings, each
/// with the weight of what it can tell.
fn drift_between(pairs: &[&ClockPair], clock: impl Fn(usize) -> usize, new: usize, known: usize) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for pair in pairs {
        let sign = match (clock(pair.recording), clock(pair.reference)) {
            clocks if clocks == (new, known) => 1.0,
            clocks if clocks == (known, new) => -1.0,
            _ => continue,
        };
        let (slope, weight) = pair.slope;
        sum += sign * slope * weight;
        weights += weight;
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Differences of a clock that starts 1 ms ahead and drifts, in ns per s, over `seconds`: evenly spread, with a jitter
    /// of up to 2 µs.
    fn differences(drift: f64, seconds: f64) -> Vec<(i64, i64)> {
        let jitter = |at: i64| (at * 7919 % 4001) - 2000;
        let difference = |at: i64| {
            let time = at as f64 / 400.0 * seconds * 1e9;
            (time as i64, 1_000_000 + (drift * time / 1e9) as i64 + jitter(at))
        };
        (0..400).map(difference).collect()
    }

    #[test]
    fn a_steady_drift_is_told_from_jitter() {
        for (drift, seconds) in [(50_000.0, 1.0), (500_000.0, 1.0), (-5_000.0, 10.0), (80_000.0, 0.5)] {
            let pair = ClockPair::new(1, 0, &mut differences(drift, seconds)).unwrap();
            assert!((pair.drift - drift).abs() < 0.05 * drift.abs() + 500.0, "{drift}: {pair:?}");
            // What is left is the jitter, in the middle of the window.
            assert!(pair.deviation < 1_500, "{drift}: {pair:?}");
            let middle = 1_000_000 + (drift * pair.middle as f64 / 1e9) as i64;
            assert!((pair.offset - middle).abs() < 500, "{drift}: {pair:?}");
        }
    }

    #[test]
    fn jitter_is_no_drift() {
        for seconds in [0.01, 0.1, 1.0] {
            let pair = ClockPair::new(1, 0, &mut differences(0.0, seconds)).unwrap();
            assert_eq!(pair.drift, 0.0, "{seconds}");
        }
    }
}
