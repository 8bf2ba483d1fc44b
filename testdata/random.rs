//! A small generator of random numbers: the same seed gives the same trace on every machine.

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "numbers without an end")]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number of `low..high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let span = high - low;
        low + ((u128::from(self.next()) * u128::from(span)) >> 64) as u64
    }

    /// A number of 0 to 1, never 0 itself.
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
    }

    /// A number with the normal distribution of mean 0 and standard deviation 1 (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// A number with the exponential distribution of this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    /// `value`, up to a tenth more or less.
    pub fn about(&mut self, value: u64) -> u64 {
        value - value / 10 + self.between(0, value / 5 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_numbers_are_those_of_the_published_algorithm() {
        let mut random = Random::new(1_234_567);
        assert_eq!([random.next(), random.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn distributions_have_their_moments() {
        let mut random = Random::new(3);
        let count = 40_000;
        let mut moments = |draw: fn(&mut Random) -> f64| {
            let drawn: Vec<f64> = (0..count).map(|_| draw(&mut random)).collect();
            let mean = drawn.iter().sum::<f64>() / f64::from(count);
            (mean, drawn.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / f64::from(count))
        };
        for ((mean, variance), expected) in [
            (moments(Random::unit), (0.5, 1.0 / 12.0)),
            (moments(Random::normal), (0.0, 1.0)),
            (moments(|random| random.exponential(0.3)), (0.3, 0.09)),
        ] {
            assert!(
                (mean - expected.0).abs() < 0.02 && (variance - expected.1).abs() < 0.02,
                "{mean} {variance}"
            );
        }
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Random::new(7);
        for _ in 0..1000 {
            assert!((3..6).contains(&random.between(3, 6)));
            assert!((90..=110).contains(&random.about(100)));
        }
    }
}
