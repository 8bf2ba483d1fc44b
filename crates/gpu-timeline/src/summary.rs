use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::SortFew;

/// Count, sum, mean, median, spread and range of integers such as durations.
///
/// Computed from exact integer sums, so the result depends neither on the order of the values nor
/// on their magnitude; each `f64` is the exact figure rounded at the end. In the unit of the values.
///
/// ```
/// use gpu_timeline::Summary;
///
/// let durations = Summary::from_values(&[10, 14, 17]).ok_or("no values")?;
/// assert_eq!(durations.sum, 41);
/// assert_eq!(durations.median, 14.0);
/// assert_eq!(durations.sample_std, Some(3.5118845842842465));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Number of values, at least 1.
    pub count: usize,
    /// Sum; saturates at the bounds of `i64`.
    pub sum: i64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Middle value, or the mean of the two middle ones.
    pub median: f64,
    /// Standard deviation of a sample: divided by `count - 1`. `None` for a single value.
    pub sample_std: Option<f64>,
    /// Standard deviation of a whole population: divided by `count`.
    pub population_std: f64,
    /// Smallest value.
    pub min: i64,
    /// Largest value.
    pub max: i64,
}

impl Summary {
    /// The summary of `values`; `None` if there are none.
    #[must_use]
    pub fn from_values(values: &[i64]) -> Option<Self> {
        let (&first, rest) = values.split_first()?;
        let (mut min, mut max, mut sum) = (first, first, i128::from(first));
        for &value in rest {
            min = min.min(value);
            max = max.max(value);
            sum += i128::from(value);
        }
        let squares = sum_of_squared_deviations(values, sum);
        let count = values.len();
        Some(Self {
            count,
            sum: i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX }),
            mean: sum as f64 / count as f64,
            median: median(&mut values.to_vec())?,
            sample_std: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
            population_std: (squares / count as f64).sqrt(),
            min,
            max,
        })
    }

    /// The figures that statistics columns show, in a unit that is `unit` times that of the values.
    #[must_use]
    pub fn spread(&self, unit: f64) -> Spread {
        Spread {
            mean: Some(self.mean / unit),
            median: Some(self.median / unit),
            std: self.sample_std.map(|std| std / unit),
            min: Some(self.min as f64 / unit),
            max: Some(self.max as f64 / unit),
        }
    }
}

/// The values of each group summed up, in their unit: the largest sum first, equal ones in the order of the groups.
///
/// ```
/// let kernels = [("add", 3), ("gemm", 7), ("add", 2)];
/// let sums = gpu_timeline::summaries(kernels).into_iter().map(|(name, durations)| (name, durations.sum));
/// assert!(sums.eq([("gemm", 7), ("add", 5)]));
/// ```
#[must_use]
pub fn summaries<K: Ord>(values: impl IntoIterator<Item = (K, i64)>) -> Vec<(K, Summary)> {
    let mut groups: BTreeMap<K, Vec<i64>> = BTreeMap::new();
    for (group, value) in values {
        groups.entry(group).or_default().push(value);
    }
    let summary = |(group, values): (K, Vec<i64>)| Some((group, Summary::from_values(&values)?));
    let mut summaries: Vec<(K, Summary)> = groups.into_iter().filter_map(summary).collect();
    summaries.sort_few_by_key(|(_, summary)| Reverse(summary.sum));
    summaries
}

/// Σ (x − mean)², with the mean taken apart into its integer part q and the rest r/n: with d = x − q,
/// Σ (x − mean)² = Σ d² − r²/n, where Σ d² and r = Σ d are exact integers and 0 ≤ r < n.
fn sum_of_squared_deviations(values: &[i64], sum: i128) -> f64 {
    let count = values.len() as i128;
    let (whole_mean, rest) = (sum.div_euclid(count), sum.rem_euclid(count).unsigned_abs());
    let squares = values.iter().fold(0_u128, |squares, &value| {
        let deviation = (i128::from(value) - whole_mean).unsigned_abs();
        squares.saturating_add(deviation * deviation)
    });
    match squares.checked_mul(count.unsigned_abs()) {
        Some(product) => (product - rest * rest) as f64 / count as f64,
        // So large a sum of squares that the correction, below the count, is beyond its precision.
        None => squares as f64,
    }
}

/// The middle value in ascending order, of an even number of values the lower one of the two. `None` when there are no
/// values. O(n).
///
/// ```
/// use gpu_timeline::{lower_median, median, upper_median};
///
/// let mut times = [30, 10, 20, 40];
/// assert_eq!((lower_median(times), upper_median(times)), (Some(20), Some(30)));
/// assert_eq!(median(&mut times), Some(25.0));
/// ```
#[must_use]
pub fn lower_median<T: Ord + Copy>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut values: Vec<T> = values.into_iter().collect();
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(middle).1)
}

/// As [`lower_median`], of an even number of values the upper one of the two in the middle.
#[must_use]
pub fn upper_median<T: Ord + Copy>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut values: Vec<T> = values.into_iter().collect();
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}

/// As [`lower_median`], of an even number of values half the sum of the two in the middle. Changes the order of the values,
/// so that nothing is allocated.
#[must_use]
pub fn median(values: &mut [i64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable(values.len() / 2);
    let lower = below.iter().copied().max().filter(|_| even).unwrap_or(upper);
    Some((i128::from(lower) + i128::from(upper)) as f64 / 2.0)
}

/// The value below which `percent` percent of `values` lie, interpolated linearly between the two nearest ones.
/// `None` when there are no values.
///
/// ```
/// assert_eq!(gpu_timeline::percentile(&[20, 10], 95), Some(19.5));
/// ```
#[must_use]
pub fn percentile(values: &[i64], percent: usize) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_unstable();
    let place = values.len().checked_sub(1)? * percent.min(100);
    let (below, part) = (place / 100, place % 100);
    let low = values[below];
    let high = values.get(below + 1).copied().unwrap_or(low);
    Some(low as f64 + high.saturating_sub(low) as f64 * part as f64 / 100.0)
}

/// The quantile `q`, 0 to 1, of ascending values: interpolated linearly between the two nearest ones and rounded as
/// NumPy does it. NaN when there are no values.
#[must_use]
pub fn quantile(ascending: &[f64], q: f64) -> f64 {
    let Some(last) = ascending.len().checked_sub(1) else { return f64::NAN };
    let at = last as f64 * q;
    let below = at.floor();
    let share = at - below;
    let (low, high) = (ascending[below as usize], ascending[(below as usize + 1).min(last)]);
    // From the nearer neighbour: the last digit depends on it.
    if share >= 0.5 { high - (high - low) * (1.0 - share) } else { low + (high - low) * share }
}

/// Mean, median, spread and range of measured rates or times; undefined ones do not count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Middle value, or the mean of the two middle ones.
    pub median: Option<f64>,
    /// Of a sample: divided by n − 1; `None` for one value.
    pub std: Option<f64>,
    /// Smallest value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
}

impl Spread {
    /// The spread of the values that are defined.
    pub fn from_values(values: impl Iterator<Item = Option<f64>>) -> Self {
        let mut values: Vec<f64> = values.flatten().filter(|value| !value.is_nan()).collect();
        values.sort_unstable_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (values.first(), values.last()) else { return Spread::default() };
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let middle = (values[(count - 1) / 2] + values[count / 2]) / 2.0;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        Spread {
            mean: Some(mean),
            median: Some(middle),
            std: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
            min: Some(min),
            max: Some(max),
        }
    }
}

/// The least value that is not exceeded for the share `q` (0 to 1) of the total weight, of values in ascending order;
/// `None` without any weight.
pub(crate) fn weighted_quantile<T>(values: impl Iterator<Item = (T, i64)> + Clone, q: f64) -> Option<T> {
    let total: i64 = values.clone().map(|(_, weight)| weight).sum();
    let mut reached = 0;
    let weighty = values.filter(|&(_, weight)| weight > 0);
    let mut last = None;
    for (value, weight) in weighty {
        reached += weight;
        last = Some(value);
        if reached as f64 >= q * total as f64 {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Spread, Summary, percentile, quantile};

    #[test]
    fn no_values_have_no_summary() {
        assert_eq!(Summary::from_values(&[]), None);
    }

    #[test]
    fn a_single_value_has_no_sample_deviation() {
        let one = Summary::from_values(&[7]).unwrap();
        assert_eq!((one.count, one.sum, one.min, one.max), (1, 7, 7, 7));
        assert_eq!((one.mean, one.median, one.sample_std, one.population_std), (7.0, 7.0, None, 0.0));
    }

    #[test]
    fn known_summaries() {
        // values, mean, median, sample deviation, population deviation
        let cases: [(&[i64], f64, f64, f64, f64); 6] = [
            (&[1, 2], 1.5, 1.5, 0.5_f64.sqrt(), 0.5),
            (&[3, 1, 2], 2.0, 2.0, 1.0, (2.0_f64 / 3.0).sqrt()),
            (&[2, 4, 4, 4, 5, 5, 7, 9], 5.0, 4.5, (32.0_f64 / 7.0).sqrt(), 2.0),
            (&[5, 5, 5, 5], 5.0, 5.0, 0.0, 0.0),
            (&[-3, 3], 0.0, 0.0, 18.0_f64.sqrt(), 3.0),
            (&[10, 14, 17], 41.0 / 3.0, 14.0, 3.511_884_584_284_246_5, (74.0_f64 / 9.0).sqrt()),
        ];
        for (values, mean, median, sample, population) in cases {
            let summary = Summary::from_values(values).unwrap();
            assert_eq!(summary.mean, mean, "{values:?}");
            assert_eq!(summary.median, median, "{values:?}");
            assert_eq!(summary.sample_std, Some(sample), "{values:?}");
            assert!((summary.population_std - population).abs() < 1e-15, "{values:?}");
        }
    }

    #[test]
    fn a_small_spread_around_a_large_value_survives() {
        // In doubles the squares of these values are multiples of 2^60 and the spread is lost.
        let base = 4_000_000_000_000_000_000;
        let summary = Summary::from_values(&[base + 1, base + 2, base + 3]).unwrap();
        assert_eq!(summary.sample_std, Some(1.0));
        assert_eq!(summary.sum, i64::MAX);
    }

    #[test]
    fn extremes_do_not_overflow() {
        let summary = Summary::from_values(&[i64::MIN, i64::MAX]).unwrap();
        assert_eq!((summary.sum, summary.mean, summary.median), (-1, -0.5, -0.5));
        assert!((summary.population_std / 2_f64.powi(63) - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn agrees_with_the_textbook_formulas(values in prop::collection::vec(-1_000..1_000_000_i64, 1..80)) {
            let summary = Summary::from_values(&values).unwrap();
            let n = values.len() as f64;
            let mean = values.iter().sum::<i64>() as f64 / n;
            let variance = values.iter().map(|&x| (x as f64 - mean).powi(2)).sum::<f64>() / n;
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let median = (sorted[(values.len() - 1) / 2] + sorted[values.len() / 2]) as f64 / 2.0;
            prop_assert_eq!(summary.count, values.len());
            prop_assert_eq!(summary.sum, values.iter().sum::<i64>());
            prop_assert_eq!(summary.mean, mean);
            prop_assert_eq!(summary.median, median);
            prop_assert_eq!((summary.min, summary.max), (sorted[0], sorted[values.len() - 1]));
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1e-9);
            prop_assert!(close(summary.population_std, variance.sqrt()));
            match summary.sample_std {
                Some(std) => prop_assert!(close(std, (variance * n / (n - 1.0)).sqrt())),
                None => prop_assert_eq!(values.len(), 1),
            }
        }
    }

    #[test]
    fn percentiles_lie_between_the_nearest_values() {
        let cases: [(&[i64], usize, Option<f64>); 6] = [
            (&[], 95, None),
            (&[7], 95, Some(7.0)),
            (&[3, 1, 2], 50, Some(2.0)),
            (&[4, 3, 2, 1], 50, Some(2.5)),
            (&[1, 2, 3], 100, Some(3.0)),
            (&[-30, -10], 0, Some(-30.0)),
        ];
        for (values, percent, expected) in cases {
            assert_eq!(percentile(values, percent), expected, "{values:?} {percent}");
        }
    }

    #[test]
    fn a_spread_skips_what_is_undefined() {
        let spread = Spread::from_values([Some(10.0), None, Some(14.0), Some(17.0)].into_iter());
        assert_eq!(spread.median, Some(14.0));
        assert!((spread.std.unwrap() - 3.5118845842842465).abs() < 1e-12);
        assert_eq!(Spread::from_values([Some(1.0)].into_iter()).std, None);
        assert_eq!(Spread::from_values(std::iter::empty()).mean, None);
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        for (values, q, expected) in [
            (&[1.0, 2.0, 3.0, 4.0][..], 0.5, 2.5),
            (&[1.0, 2.0, 36.0], 0.5, 2.0),
            (&[1.0, 1.0, 5.0, 73.0], 0.15, 1.0),
            (&[2.0, 4.0], 0.15, 2.3),
            (&[2.0, 4.0], 0.7, 3.4),
            (&[7.0], 0.3, 7.0),
        ] {
            assert_eq!(quantile(values, q), expected, "{values:?} {q}");
        }
        assert!(quantile(&[], 0.5).is_nan());
    }
}
