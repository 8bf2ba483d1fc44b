//! Student's t distribution.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The value that a variable with Student's t distribution stays below with a probability.
#[must_use]
pub fn t_quantile(probability: f64, degrees_of_freedom: f64) -> f64 {
    let standard = StudentsT::new(0.0, 1.0, degrees_of_freedom);
    standard.map_or(f64::NAN, |distribution| distribution.inverse_cdf(probability))
}

/// The probability that a variable with Student's t distribution is above a value.
#[must_use]
pub fn t_upper_tail(value: f64, degrees_of_freedom: f64) -> f64 {
    let standard = StudentsT::new(0.0, 1.0, degrees_of_freedom);
    standard.map_or(f64::NAN, |distribution| distribution.sf(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one and two degrees of freedom the quantiles are known in closed form; those of more are tabulated
    /// (Abramowitz and Stegun, table 26.10), here with more digits, by numerical inversion in 40-digit arithmetic.
    #[test]
    fn quantiles_are_exact_to_a_millionth() {
        for probability in [0.55, 0.75, 0.9, 0.95, 0.975, 0.99, 0.999] {
            let of_one = (std::f64::consts::PI * (probability - 0.5)).tan();
            let of_two = (2.0 * probability - 1.0) / (2.0 * probability * (1.0 - probability)).sqrt();
            assert!((t_quantile(probability, 1.0) - of_one).abs() < 1e-6 * of_one.max(1.0));
            assert!((t_quantile(probability, 2.0) - of_two).abs() < 1e-6 * of_two.max(1.0));
        }
        for (probability, degrees_of_freedom, quantile) in QUANTILES {
            let found = t_quantile(probability, degrees_of_freedom);
            assert!((found - quantile).abs() < 1e-6, "{probability} {degrees_of_freedom}: {found}");
            assert!((t_quantile(1.0 - probability, degrees_of_freedom) + quantile).abs() < 1e-6);
            assert!((t_upper_tail(quantile, degrees_of_freedom) - (1.0 - probability)).abs() < 1e-7);
        }
    }

    const QUANTILES: [(f64, f64, f64); 12] = [
        (0.95, 4.0, 2.131_846_786),
        (0.95, 8.0, 1.859_548_038),
        (0.95, 12.0, 1.782_287_556),
        (0.95, 9.0, 1.833_112_933),
        (0.95, 24.0, 1.710_882_080),
        (0.99, 4.0, 3.746_947_388),
        (0.99, 8.0, 2.896_459_448),
        (0.995, 5.0, 4.032_142_984),
        (0.9, 3.0, 1.637_744_354),
        (0.999, 8.0, 4.500_790_934),
        (0.95, 29.0, 1.699_127_027),
        (0.95, 100.0, 1.660_234_326),
    ];
}
