//! Where the times of the steps of a recording lie, and how surely.

use gpu_timeline::median;
use twox_hash::XxHash64;

/// Resamples of a recording.
const RESAMPLES: u64 = 200;
/// Neighbouring steps that are drawn together, because what disturbs one often disturbs the next.
const BLOCK: usize = 3;

/// The logarithm of the median, and the variance that it has because a recording has few steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Location {
    /// Natural logarithm of the median. Differences of logarithms are ratios.
    pub log_median: f64,
    /// Its variance within the recording.
    pub variance: f64,
}

impl Location {
    /// That of times, which stand in order. The median is robust: single slow steps, which most recordings have, do not
    /// move it. `None` where it is 0, and so no ratio to it exists.
    ///
    /// The same seed gives the same resamples.
    #[must_use]
    pub fn new(times: &[i64], seed: u64) -> Option<Location> {
        let mut scratch = times.to_vec();
        let log_median = log_median(&mut scratch)?;
        Some(Location { log_median, variance: variance(times, seed, &mut scratch) })
    }
}

fn log_median(values: &mut [i64]) -> Option<f64> {
    median(values).filter(|&median| median > 0.0).map(f64::ln)
}

/// The variance of the logarithm of the median, by the moving-block bootstrap (Künsch, Annals of Statistics 17, 1989).
fn variance(times: &[i64], seed: u64, resample: &mut [i64]) -> f64 {
    let block = BLOCK.min(times.len());
    let starts = times.len() - block + 1;
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut drawn = 0_u64;
    for _ in 0..RESAMPLES {
        for to in resample.chunks_mut(block) {
            // A hash of the number of the draw is as good as a generator, and has no state.
            let random = XxHash64::oneshot(seed, &drawn.to_le_bytes());
            drawn += 1;
            let start = ((u128::from(random) * starts as u128) >> 64) as usize;
            to.copy_from_slice(&times[start..start + to.len()]);
        }
        let Some(value) = log_median(resample) else { continue };
        // Welford's sums, which do not cancel.
        count += 1.0;
        let deviation = value - mean;
        mean += deviation / count;
        squares += deviation * (value - mean);
    }
    if count > 1.0 { squares / (count - 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use testdata::random::Random;

    use super::*;

    #[test]
    fn there_is_no_ratio_to_a_median_of_zero() {
        assert_eq!(Location::new(&[0, 0, 5], 1), None);
        assert_eq!(Location::new(&[], 1), None);
    }

    #[test]
    fn steps_that_are_equal_have_no_variance() {
        let location = Location::new(&[1000; 20], 1).unwrap();
        assert_eq!((location.log_median, location.variance), (1000_f64.ln(), 0.0));
    }

    /// The median of n independent values with the standard deviation s deviates by about 1.2533 s / √n, a little less
    /// of few.
    #[test]
    fn the_variance_is_that_of_medians_of_such_steps() {
        let mut random = Random::new(1);
        let mut estimated = 0.0;
        let (repetitions, steps) = (200, 60);
        for seed in 0..repetitions {
            let times: Vec<i64> = (0..steps).map(|_| (1e6 * (1.0 + 0.02 * random.normal())) as i64).collect();
            estimated += Location::new(&times, seed).unwrap().variance / repetitions as f64;
        }
        let (estimated, expected) = (estimated.sqrt(), 1.2533 * 0.02 / f64::from(steps).sqrt());
        assert!((estimated / expected - 1.0).abs() < 0.1, "{estimated} {expected}");
    }

    #[test]
    fn a_seed_gives_the_same_resamples() {
        let times: Vec<i64> = (0..30).map(|at| 1000 + at * at % 17).collect();
        assert_eq!(Location::new(&times, 3), Location::new(&times, 3));
        assert_ne!(Location::new(&times, 3), Location::new(&times, 4));
    }
}
