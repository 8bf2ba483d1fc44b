//! Sums whose rounding does not depend on how many numbers there are.

/// A sum that carries what rounding cuts off (A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation
/// endlicher Summen", ZAMM 54, 1974).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CompensatedSum {
    sum: f64,
    rest: f64,
}

impl CompensatedSum {
    pub(crate) fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.rest +=
            if self.sum.abs() >= value.abs() { (self.sum - sum) + value } else { (value - sum) + self.sum };
        self.sum = sum;
    }

    pub(crate) fn value(self) -> f64 {
        self.sum + self.rest
    }
}

impl FromIterator<f64> for CompensatedSum {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut sum = CompensatedSum::default();
        values.into_iter().for_each(|value| sum.add(value));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_parts_of_large_sums_are_kept() {
        let sum: CompensatedSum = [1e16, 1.0, 1.0, -1e16].into_iter().collect();
        assert!((sum.value() - 2.0).abs() < f64::EPSILON);
        let half: CompensatedSum = [161.244, 81.979, 20.382, 3.470].into_iter().collect();
        assert_eq!(format!("{:.2}", half.value()), "267.07");
    }
}
