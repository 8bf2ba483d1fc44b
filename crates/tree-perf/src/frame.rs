//! Puts columns together to a DataFrame.

use polars::prelude::{Column as Values, DataFrame, NamedFrom, PolarsResult, Series};

use gpu_timeline::Spread;

/// Collects columns in order; a name that occurs twice or a length that differs shows when the frame is
/// made.
#[derive(Default)]
pub struct FrameBuilder {
    columns: Vec<Values>,
}

impl FrameBuilder {
    /// A column of texts.
    pub fn text<S: AsRef<str>>(&mut self, name: &str, values: impl IntoIterator<Item = Option<S>>) {
        let values: Vec<Option<S>> = values.into_iter().collect();
        let values: Vec<Option<&str>> =
            values.iter().map(|value| value.as_ref().map(AsRef::as_ref)).collect();
        self.columns.push(Series::new(name.into(), values).into());
    }

    /// A column of numbers; NaN becomes null.
    pub fn float(&mut self, name: &str, values: impl IntoIterator<Item = Option<f64>>) {
        // A figure that does not exist is null, not a special number that spoils sums.
        let values: Vec<Option<f64>> =
            values.into_iter().map(|value| value.filter(|value| !value.is_nan())).collect();
        self.columns.push(Series::new(name.into(), values).into());
    }

    /// A column per statistic of a figure: `<figure>_<aggregate>`.
    pub(crate) fn statistics(&mut self, figure: &str, spreads: &[Spread], aggregates: &[&str]) {
        for aggregate in aggregates {
            self.float(&format!("{figure}_{aggregate}"), spreads.iter().map(|spread| spread.get(aggregate)));
        }
    }

    /// A column of whole numbers.
    pub fn integer(&mut self, name: &str, values: impl IntoIterator<Item = Option<i64>>) {
        let values: Vec<Option<i64>> = values.into_iter().collect();
        self.columns.push(Series::new(name.into(), values).into());
    }

    /// A column of truth values.
    pub fn flag(&mut self, name: &str, values: impl IntoIterator<Item = bool>) {
        let values: Vec<bool> = values.into_iter().collect();
        self.columns.push(Series::new(name.into(), values).into());
    }

    /// Columns `Percentage (%)`, of the total of these values, and `Cumulative Percentage (%)`, its running sum, from
    /// exact integers.
    pub fn shares(&mut self, values: impl Iterator<Item = i64> + Clone) {
        let total: i64 = values.clone().sum();
        self.float("Percentage (%)", values.clone().map(|value| percent(value, total)));
        let running = values.scan(0, |sum, value| {
            *sum += value;
            Some(*sum)
        });
        self.float("Cumulative Percentage (%)", running.map(|sum| percent(sum, total)));
    }

    /// The frame.
    ///
    /// # Errors
    /// When two columns have one name or different lengths.
    pub fn finish(self) -> PolarsResult<DataFrame> {
        DataFrame::new_infer_height(self.columns)
    }
}

/// `part / whole * 100`; `None` when there is no whole.
pub(crate) fn percent(part: i64, whole: i64) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64 * 100.0)
}
