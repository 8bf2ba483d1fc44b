//! How often rules raise a false alarm, find a slow-down, and pass one, on runs that are drawn with known noise.

use std::num::NonZeroU32;

use perf_gate::{Decision, Estimate, Limits, Location, Noise};
use testdata::random::Random;
use testdata::step_noise::StepNoise;

use crate::Outcome;

/// Size of the experiment.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Pairs of versions that are drawn for each row
    #[arg(long, default_value = "4000")]
    draws: NonZeroU32,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Noise and runs of a row of the table.
struct Cell {
    noise: StepNoise,
    runs: (usize, usize),
    /// What the rules are known to give, in percent: false alarms, found, wrongly passed.
    expected: [[f64; 3]; 3],
}

/// The rules of the table.
const RULES: [&str; 3] = ["mean of all steps ≥ 5%", "median of all steps ≥ 3%", "the gate's, 3% and 5%"];

/// The slow-down that has to be found.
const SLOWDOWN: f64 = 0.05;

/// How far rates are expected to be from what is known, in points, and how far none may be. What is known was drawn 4,000
/// times, too, so that a rate of 50% has a standard error of 0.8 points.
const EXPECTED_WITHIN: f64 = 1.5;
const ALL_WITHIN: f64 = 2.5;

/// Limits that the table of known rates is of.
const LIMITS: Limits = Limits { slower_by: 0.03, rule_out: SLOWDOWN, alpha: 0.05 };

fn cells() -> Vec<Cell> {
    let cell = |percent: f64, runs, expected| Cell {
        noise: StepNoise::between_runs(percent / 100.0),
        runs,
        expected,
    };
    let disturbed = StepNoise { slow_steps: 0.1, drift: 0.03, ..StepNoise::between_runs(0.01) };
    vec![
        cell(0.5, (1, 1), [[5.2, 51.0, 49.0], [0.4, 95.0, 4.7], [0.1, 90.0, 0.2]]),
        cell(1.0, (1, 1), [[5.6, 50.0, 50.0], [3.0, 88.0, 12.0], [1.7, 83.0, 2.1]]),
        cell(1.0, (3, 3), [[0.7, 50.0, 50.0], [0.1, 98.0, 2.4], [0.1, 98.0, 2.2]]),
        cell(1.0, (5, 1), [[3.8, 46.0, 54.0], [1.1, 93.0, 7.1], [1.0, 93.0, 3.8]]),
        cell(1.0, (5, 5), [[0.1, 50.0, 50.0], [0.0, 99.0, 0.8], [0.0, 99.0, 0.6]]),
        cell(2.0, (1, 1), [[11.0, 51.0, 50.0], [16.0, 76.0, 24.0], [13.0, 71.0, 12.0]]),
        cell(2.0, (3, 3), [[1.6, 51.0, 49.0], [4.5, 87.0, 13.0], [3.5, 87.0, 7.4]]),
        Cell {
            noise: disturbed,
            runs: (3, 3),
            expected: [[3.2, 50.0, 50.0], [0.8, 94.0, 6.2], [0.7, 94.0, 4.2]],
        },
    ]
}

/// A pair of versions as the rules see it.
struct Pair {
    /// Ratio of the means of all steps, B to A.
    means: f64,
    /// Ratio of the medians of all steps.
    medians: f64,
    a: Vec<f64>,
    b: Vec<f64>,
    variance_within: f64,
}

impl Pair {
    fn draw(noise: &StepNoise, (runs_a, runs_b): (usize, usize), random: &mut Random) -> Pair {
        let mut side = |runs: usize| -> Vec<Vec<i64>> {
            let run = |_| noise.run(random).into_iter().map(|time| (1e9 * time) as i64).collect();
            (0..runs).map(run).collect()
        };
        let sides = [side(runs_a), side(runs_b)];
        let pooled = sides.each_ref().map(|runs| {
            let mut all = runs.concat();
            all.sort_unstable();
            (all.iter().sum::<i64>() as f64 / all.len() as f64, all[all.len() / 2] as f64)
        });
        let mut variances = Vec::new();
        let [a, b] = sides.map(|runs| {
            let locations = runs.iter().filter_map(|run| Location::new(&run[1..], random.next()));
            let located: Vec<Location> = locations.collect();
            variances.extend(located.iter().map(|location| location.variance));
            located.iter().map(|location| location.log_median).collect::<Vec<_>>()
        });
        let variance_within = variances.iter().sum::<f64>() / variances.len() as f64;
        let [(mean_a, median_a), (mean_b, median_b)] = pooled;
        Pair { means: mean_b / mean_a, medians: median_b / median_a, a, b, variance_within }
    }

    /// The pair the other way round: neither side of an unchanged pair is the first by nature, so each draw is two.
    fn exchanged(&self) -> Pair {
        let (a, b) = (self.b.clone(), self.a.clone());
        Pair {
            means: 1.0 / self.means,
            medians: 1.0 / self.medians,
            a,
            b,
            variance_within: self.variance_within,
        }
    }

    /// What the gate says if B is slower by a share than it was drawn.
    fn decide(&self, slowdown: f64, limits: Limits) -> Decision {
        let b: Vec<f64> = self.b.iter().map(|location| location + slowdown.ln_1p()).collect();
        let noise = Noise::assumed(0.01);
        match Estimate::new(&self.a, &b, self.variance_within, noise, limits.alpha) {
            Some(estimate) => estimate.decide(limits, [estimate.p_slower, estimate.p_faster]),
            None => Decision::Inconclusive,
        }
    }

    /// Whether each rule fails the candidate, and whether it passes it.
    fn outcomes(&self, slowdown: f64) -> [(bool, bool); 3] {
        let ratio_outcome = |ratio: f64, least: f64| {
            let fails = ratio * (1.0 + slowdown) >= 1.0 + least;
            (fails, !fails)
        };
        let decision = self.decide(slowdown, LIMITS);
        let passes = matches!(decision, Decision::Pass | Decision::Improved);
        [
            ratio_outcome(self.means, 0.05),
            ratio_outcome(self.medians, 0.03),
            (decision == Decision::Fail, passes),
        ]
    }
}

/// Percentages of the draws: false alarms, found and wrongly passed, by rule.
fn rates(cell: &Cell, draws: u32, seed: u64) -> [[f64; 3]; 3] {
    let mut random = Random::new(seed);
    let (mut counts, mut pairs) = ([[0_u32; 3]; 3], 0_u32);
    for _ in 0..draws {
        let pair = Pair::draw(&cell.noise, cell.runs, &mut random);
        let other = (cell.runs.0 == cell.runs.1).then(|| pair.exchanged());
        for pair in other.iter().chain([&pair]) {
            pairs += 1;
            let (unchanged, slower) = (pair.outcomes(0.0), pair.outcomes(SLOWDOWN));
            for (rule, count) in counts.iter_mut().enumerate() {
                count[0] += u32::from(unchanged[rule].0);
                count[1] += u32::from(slower[rule].0);
                count[2] += u32::from(slower[rule].1);
            }
        }
    }
    counts.map(|rule_counts| rule_counts.map(|count| 100.0 * f64::from(count) / f64::from(pairs)))
}

/// Percentages of false failures without a change, and of slow-downs by 3% that are found, with five runs a side.
fn found_of_three_percent(run_sd: f64, slower_by: f64, draws: u32, seed: u64) -> (f64, f64) {
    let limits = Limits { slower_by, ..LIMITS };
    let mut random = Random::new(seed);
    let (mut alarms, mut found) = (0_u32, 0_u32);
    for _ in 0..draws {
        let pair = Pair::draw(&StepNoise::between_runs(run_sd), (5, 5), &mut random);
        alarms += u32::from(pair.decide(0.0, limits) == Decision::Fail);
        found += u32::from(pair.decide(0.03, limits) == Decision::Fail);
    }
    let percent = |count: u32| 100.0 * f64::from(count) / f64::from(draws);
    (percent(alarms), percent(found))
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let draws = arguments.draws.get();
    let mut distances = Vec::new();
    println!(
        "false alarms / found at +5% / wrongly passed at +5%, in % of {draws} draws (known rates in brackets)\n"
    );
    println!("| between runs, runs | {} |", RULES.join(" | "));
    println!("| --- | --- | --- | --- |");
    let rows: Vec<(Cell, [[f64; 3]; 3])> = std::thread::scope(|scope| {
        let run = |(at, cell): (usize, Cell)| {
            let seed = arguments.seed.wrapping_add(at as u64);
            scope.spawn(move || {
                let rates = rates(&cell, draws, seed);
                (cell, rates)
            })
        };
        let started: Vec<_> = cells().into_iter().enumerate().map(run).collect();
        started.into_iter().filter_map(|row| row.join().ok()).collect()
    });
    for (cell, rates) in rows {
        let text = |values: [f64; 3]| values.map(|value| format!("{value:.1}")).join(" / ");
        let columns: Vec<String> = rates
            .iter()
            .zip(cell.expected)
            .map(|(&rates, expected)| format!("{} ({})", text(rates), text(expected)))
            .collect();
        let (a, b) = cell.runs;
        let disturbed = if cell.noise.drift > 0.01 { ", 10% slow steps, drift 3%" } else { "" };
        println!("| {}%, {a} v {b}{disturbed} | {} |", 100.0 * cell.noise.run_sd, columns.join(" | "));
        let rate_pairs = rates.as_flattened().iter().zip(cell.expected.as_flattened());
        distances.extend(rate_pairs.map(|(rate, expected)| (rate - expected).abs()));
    }
    let far = distances.iter().filter(|&&distance| distance > EXPECTED_WITHIN).count();
    let largest = distances.iter().fold(0.0, |largest: f64, &distance| largest.max(distance));
    println!(
        "\n{far} of {} rates are more than {EXPECTED_WITHIN} points from what is known, the farthest {largest:.1}",
        distances.len()
    );
    let outcome = if largest > ALL_WITHIN { Outcome::Bad } else { Outcome::Good };
    println!("\n5 v 5 runs: false failures at no change / slow-downs by 3% found, in %\n");
    println!("| between runs | slower_by 1.5% | 1.75% | 2% | 3% |\n| --- | --- | --- | --- | --- |");
    for run_sd in [0.0025, 0.005, 0.0075, 0.01] {
        let cell = |slower_by: f64| {
            let (alarms, found) = found_of_three_percent(run_sd, slower_by, draws, arguments.seed);
            format!("{alarms:.2} / {found:.1}")
        };
        let cells = [0.015, 0.0175, 0.02, 0.03].map(cell);
        println!("| {}% | {} |", 100.0 * run_sd, cells.join(" | "));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the gate promises at its default limits: at most 1% false failures, and at least 95% of the slow-downs by
    /// 3% found with five runs a side, where runs differ by 0.5%.
    #[test]
    fn five_runs_a_side_find_three_percent() {
        let limits = perf_gate::Thresholds::default().defaults;
        let (alarms, found) = found_of_three_percent(0.005, limits.slower_by, 400, 1);
        assert!(alarms <= 1.0 && found >= 95.0, "{alarms} {found}");
        assert_eq!((limits.rule_out, limits.alpha), (LIMITS.rule_out, LIMITS.alpha));
    }

    #[test]
    fn few_draws_are_near_the_known_rates() {
        for (at, cell) in cells().into_iter().enumerate().filter(|(_, cell)| cell.runs == (1, 1)) {
            let rates = rates(&cell, 400, at as u64);
            // Four standard errors of a rate in 400 draws.
            for (&rate, &expected) in rates.as_flattened().iter().zip(cell.expected.as_flattened()) {
                assert!((rate - expected).abs() < 10.0, "{rate} {expected}");
            }
        }
    }
}
