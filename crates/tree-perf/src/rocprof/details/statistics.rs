//! Units and statistics that these sheets share. Times are integer nanoseconds until they are shown.

use gpu_timeline::Summary;

use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;

pub(super) fn us(nanoseconds: f64) -> f64 {
    nanoseconds / 1e3
}

pub(super) fn ms(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// A count or a size as a cell; empty where it is beyond what a cell holds.
pub(super) fn whole(number: u64) -> Option<i64> {
    i64::try_from(number).ok()
}

/// The value below which `percent` percent of `values` lie, between the two nearest ones in proportion. `None` when
/// there are no values.
pub(super) fn percentile(values: &[i64], percent: usize) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_unstable();
    let place = values.len().checked_sub(1)? * percent.min(100);
    let (below, part) = (place / 100, place % 100);
    let low = values[below];
    let high = values.get(below + 1).copied().unwrap_or(low);
    Some(low as f64 + high.saturating_sub(low) as f64 * part as f64 / 100.0)
}

pub(super) const TOTAL: Column =
    Column::new("Total Time (ms)", ColumnKind::Number(Unit::Milliseconds), "Sum of the durations in ms.");
pub(super) const MEAN: Column =
    Column::new("Mean Time (µs)", ColumnKind::Number(Unit::Microseconds), "Mean duration in µs.");
pub(super) const MEDIAN: Column =
    Column::new("Median Time (µs)", ColumnKind::Number(Unit::Microseconds), "Median duration in µs.");
pub(super) const STD: Column = Column::new(
    "Std Time (µs)",
    ColumnKind::Number(Unit::Microseconds),
    "Standard deviation (of a sample, n − 1) of the durations in µs; empty for one.",
);
pub(super) const MIN: Column =
    Column::new("Min Time (µs)", ColumnKind::Number(Unit::Microseconds), "Shortest duration in µs.");
pub(super) const MAX: Column =
    Column::new("Max Time (µs)", ColumnKind::Number(Unit::Microseconds), "Longest duration in µs.");

/// Appends [`TOTAL`], [`MEAN`], [`MEDIAN`], [`STD`], [`MIN`] and [`MAX`].
pub(super) fn append_durations(frame: &mut FrameBuilder, durations: &[Summary]) {
    frame.float(TOTAL.name, durations.iter().map(|durations| Some(ms(durations.sum))));
    frame.float(MEAN.name, durations.iter().map(|durations| Some(us(durations.mean))));
    frame.float(MEDIAN.name, durations.iter().map(|durations| Some(us(durations.median))));
    frame.float(STD.name, durations.iter().map(|durations| durations.sample_std.map(us)));
    frame.float(MIN.name, durations.iter().map(|durations| Some(us(durations.min as f64))));
    frame.float(MAX.name, durations.iter().map(|durations| Some(us(durations.max as f64))));
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn percentiles_lie_between_the_nearest_values() {
        let cases: [(&[i64], usize, Option<f64>); 7] = [
            (&[], 95, None),
            (&[7], 95, Some(7.0)),
            (&[20, 10], 95, Some(19.5)),
            (&[3, 1, 2], 50, Some(2.0)),
            (&[4, 3, 2, 1], 50, Some(2.5)),
            (&[1, 2, 3], 100, Some(3.0)),
            (&[-30, -10], 0, Some(-30.0)),
        ];
        for (values, percent, expected) in cases {
            assert_eq!(percentile(values, percent), expected, "{values:?} {percent}");
        }
    }
}
