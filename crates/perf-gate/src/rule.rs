//! The rule that says whether one version is slower than another, and how sure that is.

use gpu_timeline::SortFew;

use crate::student::{t_quantile, t_upper_tail};

/// How far recordings of the same version differ from job to job, beside what their own steps show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Standard deviation of the logarithm of a time: 0.01 is 1%.
    pub sd: f64,
    /// How much is known about it: as much as this many differences between recordings would show.
    pub degrees_of_freedom: f64,
    /// Whether it was measured on the baseline, and not assumed.
    pub is_measured: bool,
}

/// Blocks of the baseline from which on its noise is measured.
pub const FEWEST_BLOCKS_OF_NOISE: usize = 6;

impl Noise {
    /// An assumption, which counts as much as five recordings of one version.
    #[must_use]
    pub fn assumed(sd: f64) -> Noise {
        Noise { sd, degrees_of_freedom: 4.0, is_measured: false }
    }

    /// The noise between the blocks of a baseline; `None` of fewer than [`FEWEST_BLOCKS_OF_NOISE`]. The variance within
    /// recordings is not part of it.
    #[must_use]
    pub fn measured(baseline: &[f64], variance_within: f64) -> Option<Noise> {
        /// From there on, more blocks say more about the past than about the machine of today.
        const MOST_DEGREES_OF_FREEDOM: f64 = 20.0;
        if baseline.len() < FEWEST_BLOCKS_OF_NOISE {
            return None;
        }
        let freedom = baseline.len() as f64 - 1.0;
        let between = (squares(baseline) / freedom - variance_within).max(0.0);
        let degrees_of_freedom = freedom.min(MOST_DEGREES_OF_FREEDOM);
        Some(Noise { sd: between.sqrt(), degrees_of_freedom, is_measured: true })
    }
}

/// How much slower B is than A. Differences are those of natural logarithms; [`percent`] makes percentages of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Difference of the means of B and A.
    pub difference: f64,
    /// Standard deviation of one block.
    pub sd: f64,
    /// Standard error of the difference.
    pub standard_error: f64,
    /// Degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
    /// Quantile of Student's t distribution for the bounds.
    pub t: f64,
    /// Bound that the true difference is above, with the confidence that was asked for.
    pub lower: f64,
    /// Bound that the true difference is below, with the same confidence.
    pub upper: f64,
    /// The probability of a difference as large or larger where B is as fast as A.
    pub p_slower: f64,
    /// The probability of a difference as small or smaller where B is as fast as A.
    pub p_faster: f64,
}

impl Estimate {
    /// The difference between the blocks of A and B, which are given by the logarithms of their times. `variance_within`
    /// is the mean variance that these have within recordings. `alpha` is the probability with which each of the two
    /// bounds is wrong.
    ///
    /// What is expected of the noise counts as its degrees of freedom say, what the blocks show as theirs do, so that the
    /// rule is defined for one recording of each version and becomes Welch's for many. Where the noise was measured on
    /// the blocks of A themselves, these count once.
    ///
    /// `None` without blocks on both sides.
    #[must_use]
    pub fn new(a: &[f64], b: &[f64], variance_within: f64, noise: Noise, alpha: f64) -> Option<Estimate> {
        if a.is_empty() || b.is_empty() {
            return None;
        }
        let (count_a, count_b) = (a.len() as f64, b.len() as f64);
        let (squares_of_a, freedom_of_a) =
            if noise.is_measured { (0.0, 0.0) } else { (squares(a), count_a - 1.0) };
        let expected = noise.degrees_of_freedom * (noise.sd * noise.sd + variance_within);
        let degrees_of_freedom = noise.degrees_of_freedom + freedom_of_a + count_b - 1.0;
        let variance = (expected + squares_of_a + squares(b)) / degrees_of_freedom;
        let difference = mean(b) - mean(a);
        let standard_error = (variance * (1.0 / count_a + 1.0 / count_b)).sqrt();
        let t = t_quantile(1.0 - alpha, degrees_of_freedom);
        let tail = |difference: f64| match difference / standard_error {
            ratio if ratio.is_nan() => 0.5,
            ratio if ratio.is_infinite() => f64::from(u8::from(ratio < 0.0)),
            ratio => t_upper_tail(ratio, degrees_of_freedom),
        };
        Some(Estimate {
            difference,
            sd: variance.sqrt(),
            standard_error,
            degrees_of_freedom,
            t,
            lower: difference - t * standard_error,
            upper: difference + t * standard_error,
            p_slower: tail(difference),
            p_faster: tail(-difference),
        })
    }

    /// What a gate says of it: slower where chance alone would hardly explain it and where it is large enough to matter,
    /// not slower where more than `rule_out` can be ruled out. `p_slower` and `p_faster` are the probabilities of the
    /// estimate, corrected where several metrics are gated.
    #[must_use]
    pub fn decide(&self, limits: Limits, [p_slower, p_faster]: [f64; 2]) -> Decision {
        let matters = limits.slower_by.ln_1p();
        if p_slower < limits.alpha && self.difference >= matters {
            Decision::Fail
        } else if p_faster < limits.alpha && -self.difference >= matters {
            Decision::Improved
        } else if self.upper < limits.rule_out.ln_1p() {
            Decision::Pass
        } else {
            Decision::Inconclusive
        }
    }
}

/// What a metric may change by. Shares: 0.02 is 2%.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The least slow-down that fails.
    pub slower_by: f64,
    /// The slow-down that a pass rules out.
    pub rule_out: f64,
    /// The probability of being wrong, of each bound.
    pub alpha: f64,
}

/// What the rule says of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Not slower by more than a pass rules out.
    Pass,
    /// Faster, by the rule that would make it slower.
    Improved,
    /// Slower.
    Fail,
    /// The recordings do not tell.
    Inconclusive,
}

impl Decision {
    /// Its name in outputs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Decision::Pass => "pass",
            Decision::Improved => "improved",
            Decision::Fail => "fail",
            Decision::Inconclusive => "inconclusive",
        }
    }
}

/// A difference of natural logarithms as a change in percent.
#[must_use]
pub fn percent(difference: f64) -> f64 {
    100.0 * difference.exp_m1()
}

/// Probabilities of several metrics, corrected so that no true null hypothesis is rejected with more than the
/// probability that was asked for (Holm, Scandinavian Journal of Statistics 6, 1979).
#[must_use]
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let count = probabilities.len();
    let mut corrected = vec![1.0; count];
    let mut largest: f64 = 0.0;
    for (rank, at) in by_size(probabilities).into_iter().enumerate() {
        largest = largest.max(probabilities[at] * (count - rank) as f64);
        corrected[at] = largest.min(1.0);
    }
    corrected
}

/// Probabilities corrected so that of what is rejected no larger share is true than was asked for (Benjamini and
/// Hochberg, Journal of the Royal Statistical Society B 57, 1995).
#[must_use]
pub fn benjamini_hochberg(probabilities: &[f64]) -> Vec<f64> {
    let count = probabilities.len();
    let mut corrected = vec![1.0; count];
    let mut least: f64 = 1.0;
    for (rank, at) in by_size(probabilities).into_iter().enumerate().rev() {
        least = least.min(probabilities[at] * count as f64 / (rank + 1) as f64);
        corrected[at] = least;
    }
    corrected
}

/// Places of the probabilities, the least first.
fn by_size(probabilities: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_few_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]));
    order
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sum of the squared deviations from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits { slower_by: 0.03, rule_out: 0.05, alpha: 0.05 };

    fn estimate(a: &[f64], b: &[f64]) -> Estimate {
        let logs = |times: &[f64]| times.iter().map(|time| time.ln()).collect::<Vec<_>>();
        Estimate::new(&logs(a), &logs(b), 0.0045 * 0.0045, Noise::assumed(0.01), LIMITS.alpha).unwrap()
    }

    fn decide(estimate: &Estimate) -> Decision {
        estimate.decide(LIMITS, [estimate.p_slower, estimate.p_faster])
    }

    #[test]
    fn worked_examples_are_exact_to_a_hundredth_of_a_point() {
        // A, B; difference, sd and standard error in %, quantile and degrees of freedom, slow-down, bounds; decision.
        let cases = "
            100.0 101.2 99.6 | 105.1 106.4 104.6 | 4.961 0.983 0.803 1.860 8 5.09 3.53 6.67 | fail
            100.0 101.2 99.6 | 101.0 102.0 100.4 | 0.861 0.966 0.788 1.860 8 0.86 -0.60 2.35 | pass
            100.0 | 105.1 | 4.974 1.097 1.551 2.132 4 5.10 1.68 8.63 | fail
            100.0 | 102.4 | 2.372 1.097 1.551 2.132 4 2.40 -0.93 5.84 | inconclusive
            100.0 | 101.0 | 0.995 1.097 1.551 2.132 4 1.00 -2.28 4.39 | pass
            100.0 101.2 99.6 100.4 98.9 | 104.0 | 3.905 0.986 1.080 1.860 8 3.98 1.91 6.09 | fail";
        let numbers = |cell: &str| -> Vec<f64> {
            cell.split_whitespace().map(|number| number.parse().unwrap()).collect()
        };
        for case in cases.trim().lines() {
            let cells: Vec<&str> = case.split(" | ").collect();
            let [a, b, figures, decision] = cells[..] else { panic!("{case}") };
            let found = estimate(&numbers(a), &numbers(b));
            let figures = numbers(figures);
            let [difference, sd, standard_error, t, freedom, slowdown, lower, upper] = figures[..] else {
                panic!("{case}")
            };
            let near = |value: f64, expected: f64, by: f64| {
                assert!((value - expected).abs() <= by, "{value} {expected} of {case}");
            };
            near(100.0 * found.difference, difference, 0.0005);
            near(100.0 * found.sd, sd, 0.0005);
            near(100.0 * found.standard_error, standard_error, 0.0005);
            near(found.t, t, 0.0005);
            assert_eq!(found.degrees_of_freedom, freedom, "{case}");
            near(percent(found.difference), slowdown, 0.01);
            near(percent(found.lower), lower, 0.01);
            near(percent(found.upper), upper, 0.01);
            assert_eq!(format!("{:?}", decide(&found)).to_lowercase(), decision, "{case}");
        }
    }

    #[test]
    fn half_widths_shrink_with_recordings() {
        for (a, b, expected) in
            [(1, 1, 3.31), (2, 2, 2.13), (3, 3, 1.66), (5, 1, 2.23), (5, 3, 1.45), (5, 5, 1.24)]
        {
            // Blocks that deviate as much as is expected.
            let sd = (0.01_f64.powi(2) + 0.0045_f64.powi(2)).sqrt();
            let side = |count: usize| -> Vec<f64> {
                let squares = sd * sd * (count as f64 - 1.0);
                let mut values = vec![0.0; count];
                if count > 1 {
                    values[0] = (squares / 2.0).sqrt();
                    values[1] = -values[0];
                }
                values
            };
            let found =
                Estimate::new(&side(a), &side(b), 0.0045 * 0.0045, Noise::assumed(0.01), 0.05).unwrap();
            let half = 100.0 * found.t * found.standard_error;
            assert!((half - expected).abs() < 0.006, "{a} v {b}: {half} {expected}");
        }
    }

    #[test]
    fn a_faster_version_is_improved_and_no_side_without_blocks_is_estimated() {
        assert_eq!(decide(&estimate(&[105.1], &[100.0])), Decision::Improved);
        assert_eq!(Estimate::new(&[], &[1.0], 0.0, Noise::assumed(0.01), 0.05), None);
    }

    #[test]
    fn noise_of_a_history_is_measured_and_counts_once() {
        let history = [0.0, 0.02, -0.02, 0.02, -0.02, 0.0];
        assert_eq!(Noise::measured(&history[..5], 0.0), None);
        let noise = Noise::measured(&history, 0.0).unwrap();
        assert!((noise.sd - (0.0016_f64 / 5.0).sqrt()).abs() < 1e-12);
        let found = Estimate::new(&history, &[0.05], 0.0, noise, 0.05).unwrap();
        assert_eq!(found.degrees_of_freedom, 5.0);
        assert!((found.sd - noise.sd).abs() < 1e-12);
        // What steps scatter by is no noise between jobs.
        assert_eq!(Noise::measured(&history, 0.01).unwrap().sd, 0.0);
        assert_eq!(Noise::measured(&[0.0; 40], 0.0).unwrap().degrees_of_freedom, 20.0);
    }

    #[test]
    fn corrections_are_those_of_the_literature() {
        let near = |found: Vec<f64>, expected: &[f64]| {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        };
        near(holm(&[0.01, 0.04, 0.03, 0.005]), &[0.03, 0.06, 0.06, 0.02]);
        near(benjamini_hochberg(&[0.01, 0.04, 0.03, 0.005]), &[0.02, 0.04, 0.04, 0.02]);
        assert_eq!((holm(&[]), holm(&[0.3])), (vec![], vec![0.3]));
    }

    proptest! {
        #[test]
        fn exchanging_the_sides_mirrors_the_estimate(
            a in proptest::collection::vec(-1.0..1.0_f64, 1..6),
            b in proptest::collection::vec(-1.0..1.0_f64, 1..6),
        ) {
            let noise = Noise::assumed(0.01);
            let there = Estimate::new(&a, &b, 1e-5, noise, 0.05).unwrap();
            let back = Estimate::new(&b, &a, 1e-5, noise, 0.05).unwrap();
            prop_assert!((there.difference + back.difference).abs() < 1e-12);
            prop_assert!((there.lower + back.upper).abs() < 1e-12);
            prop_assert!((there.p_slower - back.p_faster).abs() < 1e-9);
        }
    }
}
