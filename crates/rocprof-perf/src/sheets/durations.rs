//! The columns of durations that several sheets have. Times are integer nanoseconds until a cell is made.

use gpu_timeline::Summary;
use sheets::{Column, ColumnKind, Field, Unit};

pub(super) fn us(nanoseconds: f64) -> f64 {
    nanoseconds / 1e3
}

pub(super) fn ms(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e6
}

pub(super) const TOTAL: Column =
    Column::new("Total Time (ms)", ColumnKind::Number(Unit::Milliseconds), "Sum of the durations in ms.");

/// Sum, mean, median, deviation, shortest and longest of the durations of a row, in nanoseconds.
pub(super) fn durations<C, R>(
    of: impl Fn(&R) -> &Summary + Copy + Send + Sync + 'static,
) -> [Field<C, R>; 6] {
    let column = |name, description| Column::new(name, ColumnKind::Number(Unit::Microseconds), description);
    [
        TOTAL.field(move |row| ms(of(row).sum).into()),
        column("Mean Time (µs)", "Mean duration in µs.").field(move |row| us(of(row).mean).into()),
        column("Median Time (µs)", "Median duration in µs.").field(move |row| us(of(row).median).into()),
        column(
            "Std Time (µs)",
            "Standard deviation (of a sample, n − 1) of the durations in µs; empty for one.",
        )
        .field(move |row| of(row).sample_std.map(us).into()),
        column("Min Time (µs)", "Shortest duration in µs.").field(move |row| us(of(row).min as f64).into()),
        column("Max Time (µs)", "Longest duration in µs.").field(move |row| us(of(row).max as f64).into()),
    ]
}
