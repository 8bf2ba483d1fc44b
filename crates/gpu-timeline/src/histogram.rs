use std::num::NonZeroUsize;

/// Counts of values in bins of equal width.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Histogram {
    /// The `bins + 1` edges of the bins, ascending: the least value first, the greatest last.
    pub edges: Vec<f64>,
    /// How many values lie in each bin. A bin contains its left edge and not its right one; the last
    /// contains both.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// Distributes `values` over `bins` bins of equal width between the least and the greatest
    /// value; values that are all the same get the range from 0.5 below to 0.5 above. Values that are
    /// not finite are left out; `None` if nothing is left.
    ///
    /// Edges and counts are those of NumPy's `histogram`. They depend on the unit when values lie on
    /// an edge, because edges are rounded: give the values in the unit in which the edges are shown.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    /// use gpu_timeline::Histogram;
    ///
    /// let bins = NonZeroUsize::new(4).ok_or("at least one bin")?;
    /// let histogram = Histogram::equal_width(&[50.0, 50.0, 50.0, 10.0], bins).ok_or("no values")?;
    /// assert_eq!(histogram.edges, [10.0, 20.0, 30.0, 40.0, 50.0]);
    /// assert_eq!(histogram.counts, [1, 0, 0, 3]);
    /// # Ok::<(), &str>(())
    /// ```
    #[must_use]
    pub fn equal_width(values: &[f64], bins: NonZeroUsize) -> Option<Self> {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let (mut low, mut high) = (finite().reduce(f64::min)?, finite().reduce(f64::max)?);
        if low == high {
            (low, high) = (low - 0.5, high + 0.5);
        }
        let bins = bins.get();
        let width = (high - low) / bins as f64;
        let mut edges: Vec<f64> = (0..bins).map(|bin| low + bin as f64 * width).collect();
        edges.push(high);

        let mut counts = vec![0; bins];
        for value in finite() {
            let mut bin = (((value - low) / (high - low) * bins as f64) as usize).min(bins - 1);
            // The quotient is rounded; the edges, which are what a reader sees, decide.
            if value < edges[bin] {
                bin = bin.saturating_sub(1);
            } else if bin + 1 < bins && value >= edges[bin + 1] {
                bin += 1;
            }
            counts[bin] += 1;
        }
        Some(Self { edges, counts })
    }

    /// Every bin as (left edge, right edge, count).
    pub fn bins(&self) -> impl Iterator<Item = (f64, f64, u64)> + '_ {
        self.edges.windows(2).zip(&self.counts).map(|(edges, &count)| (edges[0], edges[1], count))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn histogram(values: &[f64], bins: usize) -> Option<Histogram> {
        Histogram::equal_width(values, NonZeroUsize::new(bins).unwrap())
    }

    #[test]
    fn values_fall_into_half_open_bins_and_the_last_bin_is_closed() {
        // name, values, number of bins, edges, counts
        type Case = (&'static str, &'static [f64], usize, &'static [f64], &'static [u64]);
        let cases: [Case; 6] = [
            ("each edge opens its bin", &[0., 1., 2., 3.], 3, &[0., 1., 2., 3.], &[1, 1, 2]),
            ("one bin", &[5., 8.], 1, &[5., 8.], &[2]),
            ("all the same", &[4., 4., 4.], 2, &[3.5, 4., 4.5], &[0, 3]),
            ("all the same, odd bins", &[4., 4.], 5, &[3.5, 3.7, 3.9, 4.1, 4.3, 4.5], &[0, 0, 2, 0, 0]),
            ("short kernels", &[5., 8.], 3, &[5., 6., 7., 8.], &[1, 0, 1]),
            ("not finite", &[f64::NAN, 1., f64::INFINITY, 2.], 1, &[1., 2.], &[2]),
        ];
        for (case, values, bins, edges, counts) in cases {
            let histogram = histogram(values, bins).unwrap();
            assert_eq!(histogram.counts, counts, "{case}");
            assert_eq!(histogram.edges, edges, "{case}");
        }
    }

    #[test]
    fn edges_are_the_ones_a_recorded_report_shows() {
        let histogram = histogram(&[1.471, 4.128], 100).unwrap();
        assert_eq!(histogram.edges[1], 1.49757);
        assert_eq!(histogram.edges[99..], [4.101_430_000_000_001, 4.128]);
        assert_eq!(histogram.bins().next(), Some((1.471, 1.49757, 1)));
        assert_eq!(histogram.bins().last(), Some((4.101_430_000_000_001, 4.128, 1)));
    }

    #[test]
    fn no_values_have_no_histogram() {
        assert_eq!(histogram(&[], 4), None);
        assert_eq!(histogram(&[f64::NAN], 4), None);
    }

    proptest! {
        #[test]
        fn every_value_is_counted_between_the_edges_of_its_bin(
            nanoseconds in prop::collection::vec(0..20_000_u32, 1..60),
            bins in 1..120_usize,
        ) {
            let values: Vec<f64> = nanoseconds.iter().map(|&ns| f64::from(ns) / 1e3).collect();
            let histogram = histogram(&values, bins).unwrap();
            prop_assert_eq!(histogram.counts.len(), bins);
            prop_assert_eq!(histogram.edges.len(), bins + 1);
            for (bin, (left, right, count)) in histogram.bins().enumerate() {
                let last = bin + 1 == bins;
                let inside = |value: f64| left <= value && (value < right || last && value <= right);
                let expected = values.iter().filter(|&&value| inside(value)).count() as u64;
                prop_assert_eq!(count, expected, "bin {} [{}, {}]", bin, left, right);
            }
        }
    }
}
