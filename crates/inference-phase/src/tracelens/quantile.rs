//! Quantiles by linear interpolation between the neighbours, rounded as NumPy does.

/// The quantile `q`, 0 to 1, of ascending values; NaN of none.
pub(super) fn quantile(ascending: &[f64], q: f64) -> f64 {
    let Some(last) = ascending.len().checked_sub(1) else { return f64::NAN };
    let at = last as f64 * q;
    let below = at.floor();
    let share = at - below;
    let (low, high) = (ascending[below as usize], ascending[(below as usize + 1).min(last)]);
    // From the nearer neighbour: the last digit depends on it.
    if share >= 0.5 { high - (high - low) * (1.0 - share) } else { low + (high - low) * share }
}

#[cfg(test)]
mod tests {
    use super::quantile;

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
