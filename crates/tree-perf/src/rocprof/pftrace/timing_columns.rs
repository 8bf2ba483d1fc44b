//! Columns of the tables of kernels and of HIP calls that say how long things took: for reading at the front, exact
//! at the back.

use gpu_timeline::Summary;

use crate::column::{Column, ColumnKind, Unit};
use crate::frame::{FrameBuilder, percent};

pub(super) const TIME: Column =
    Column::new("Time", ColumnKind::Text, "Time %, with one decimal place and the sign.");
pub(super) const TOTAL_TIME: Column =
    Column::new("Total Time", ColumnKind::Text, "Total Time (ns) in ms, μs or ns.");
pub(super) const AVG: Column = Column::new("Avg", ColumnKind::Text, "Avg (ns) in ms, μs or ns.");
pub(super) const MED: Column = Column::new("Med", ColumnKind::Text, "Med (ns) in ms, μs or ns.");
pub(super) const MIN: Column = Column::new("Min", ColumnKind::Text, "Min (ns) in ms, μs or ns.");
pub(super) const MAX: Column = Column::new("Max", ColumnKind::Text, "Max (ns) in ms, μs or ns.");
pub(super) const STD_DEV: Column = Column::new("StdDev", ColumnKind::Text, "StdDev (ns) in ms, μs or ns.");
pub(super) const TOTAL_TIME_NS: Column =
    Column::new("Total Time (ns)", ColumnKind::Count, "Sum of the durations in ns.");
pub(super) const AVG_NS: Column =
    Column::new("Avg (ns)", ColumnKind::Number(Unit::One), "Mean duration in ns.");
pub(super) const MED_NS: Column = Column::new(
    "Med (ns)",
    ColumnKind::Number(Unit::One),
    "Median duration in ns: of an even number the mean of the middle two.",
);
pub(super) const MIN_NS: Column = Column::new("Min (ns)", ColumnKind::Count, "Shortest duration in ns.");
pub(super) const MAX_NS: Column = Column::new("Max (ns)", ColumnKind::Count, "Longest duration in ns.");
pub(super) const STD_DEV_NS: Column = Column::new(
    "StdDev (ns)",
    ColumnKind::Number(Unit::One),
    "Standard deviation of the durations in ns, of a population: divided by their number.",
);

/// The durations of a table's rows.
pub(super) struct Timing {
    rows: Vec<Summary>,
    /// What percentages are of, in nanoseconds.
    baseline: i64,
}

impl Timing {
    pub(super) fn new(rows: Vec<Summary>, baseline: i64) -> Self {
        Timing { rows, baseline }
    }

    /// The columns from [`TIME`] to [`STD_DEV`].
    pub(super) fn write_readable(&self, frame: &mut FrameBuilder, count: &str) {
        let time = |of: fn(&Summary) -> f64| self.rows.iter().map(move |row| Some(readable_time(of(row))));
        frame.text(TIME.name, self.rows.iter().map(|row| Some(format!("{:.1}%", self.percent(row)))));
        frame.text(TOTAL_TIME.name, time(|row| row.sum as f64));
        frame.integer(count, self.rows.iter().map(|row| Some(row.count as i64)));
        frame.text(AVG.name, time(|row| row.mean));
        frame.text(MED.name, time(|row| row.median));
        frame.text(MIN.name, time(|row| row.min as f64));
        frame.text(MAX.name, time(|row| row.max as f64));
        frame.text(STD_DEV.name, time(|row| row.population_std));
    }

    /// The columns from `Time %` to [`STD_DEV_NS`].
    pub(super) fn write_exact(&self, frame: &mut FrameBuilder) {
        let float = |of: fn(&Summary) -> f64| self.rows.iter().map(move |row| Some(of(row)));
        let integer = |of: fn(&Summary) -> i64| self.rows.iter().map(move |row| Some(of(row)));
        frame.float("Time %", self.rows.iter().map(|row| Some(self.percent(row))));
        frame.integer(TOTAL_TIME_NS.name, integer(|row| row.sum));
        frame.float(AVG_NS.name, float(|row| row.mean));
        frame.float(MED_NS.name, float(|row| row.median));
        frame.integer(MIN_NS.name, integer(|row| row.min));
        frame.integer(MAX_NS.name, integer(|row| row.max));
        frame.float(STD_DEV_NS.name, float(|row| row.population_std));
    }

    fn percent(&self, row: &Summary) -> f64 {
        percent(row.sum, self.baseline).unwrap_or(0.0)
    }
}

/// Nanoseconds in the largest unit of ms and μs (with three decimal places) of which there is one, else in whole ns.
/// The μ is the Greek letter.
fn readable_time(ns: f64) -> String {
    if ns >= 1e6 {
        format!("{:.3} ms", ns / 1e6)
    } else if ns >= 1e3 {
        format!("{:.3} \u{3bc}s", ns / 1e3)
    } else {
        format!("{} ns", ns as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::readable_time;

    #[test]
    fn times_are_in_the_largest_unit_that_fits() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (999.6, "999 ns"),
            (1000.0, "1.000 μs"),
            (100_000.0, "100.000 μs"),
            (999_999.9, "1000.000 μs"),
            (1e6, "1.000 ms"),
            (12_345_678.0, "12.346 ms"),
        ] {
            assert_eq!(readable_time(ns), text);
        }
        assert!(readable_time(1500.0).contains('\u{3bc}'));
    }
}
