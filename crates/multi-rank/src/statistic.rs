//! Statistics that a reader chooses.

use std::fmt;
use std::str::FromStr;

use gpu_timeline::Spread;

/// A figure that sums values up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Arithmetic mean.
    Mean,
    /// Middle value, or the mean of the two middle ones.
    Median,
    /// Standard deviation of a sample.
    Std,
    /// Smallest value.
    Min,
    /// Largest value.
    Max,
    /// Sum.
    Sum,
    /// How many values.
    Count,
}

impl Statistic {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Mean, Self::Median, Self::Std, Self::Min, Self::Max, Self::Sum, Self::Count];

    /// Those that reports show unless others are asked for.
    pub const USUAL: [Self; 4] = [Self::Mean, Self::Median, Self::Min, Self::Max];

    /// Name in options and columns.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Statistic::Mean => "mean",
            Statistic::Median => "median",
            Statistic::Std => "std",
            Statistic::Min => "min",
            Statistic::Max => "max",
            Statistic::Sum => "sum",
            Statistic::Count => "count",
        }
    }

    /// The figure of some values; `None` where they have none: of no values, or the deviation of one.
    pub(crate) fn of(self, values: &[f64]) -> Option<f64> {
        let count = values.len() as f64;
        if self == Statistic::Count {
            return Some(count);
        }
        if values.is_empty() {
            return None;
        }
        let sum: f64 = values.iter().sum();
        match self {
            Statistic::Mean => Some(sum / count),
            Statistic::Median => Spread::from_values(values.iter().copied().map(Some)).median,
            Statistic::Std => {
                let mean = sum / count;
                let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
                (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt())
            }
            Statistic::Min => values.iter().copied().reduce(f64::min),
            Statistic::Max => values.iter().copied().reduce(f64::max),
            Statistic::Sum => Some(sum),
            Statistic::Count => Some(count),
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Statistic {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|statistic| statistic.as_str() == text);
        known.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|statistic| statistic.as_str()).collect();
            format!("{text:?} is not a statistic, expected one of {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Statistic;

    #[test]
    fn figures_of_values() {
        let figures = |values: &[f64]| Statistic::ALL.map(|statistic| statistic.of(values));
        let of_four = [2.5, 2.5, 1.2909944487358056, 1.0, 4.0, 10.0, 4.0].map(Some);
        assert_eq!(figures(&[4.0, 1.0, 3.0, 2.0]), of_four);
        assert_eq!(figures(&[3.0])[..3], [Some(3.0), Some(3.0), None]);
        assert_eq!(figures(&[])[..3], [None; 3]);
        assert_eq!("median".parse(), Ok(Statistic::Median));
        assert!("modus".parse::<Statistic>().is_err());
    }
}
