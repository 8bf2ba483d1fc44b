//! The columns of durations that several sheets have. Times are integer nanoseconds until a cell is made.

use gpu_timeline::Summary;
use sheets::ColumnKind::Number;
use sheets::Unit::{Microseconds, Milliseconds};
use sheets::{Column, Field, Role};

/// Microseconds of nanoseconds.
#[must_use]
pub fn us(nanoseconds: f64) -> f64 {
    nanoseconds / 1e3
}

/// Milliseconds of nanoseconds.
#[must_use]
pub fn ms(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// Sum of the durations.
pub const TOTAL: Column = Column::new("Total Time (ms)", Number(Milliseconds), "Sum of the durations in ms.")
    .with_role(Role::Headline);

/// Sum, mean, median, deviation, shortest and longest of the durations of a row, in nanoseconds.
pub fn durations<C, R>(of: impl Fn(&R) -> &Summary + Copy + Send + Sync + 'static) -> [Field<C, R>; 6] {
    [
        Field::from_column(TOTAL, move |_, row| ms(of(row).sum).into()),
        Field::new(Number(Microseconds), "Mean Time (µs)", move |_, row| us(of(row).mean).into())
            .described("Mean duration in µs."),
        Field::new(Number(Microseconds), "Median Time (µs)", move |_, row| us(of(row).median).into())
            .described("Median duration in µs.")
            .spread_of("Mean Time (µs)"),
        Field::new(Number(Microseconds), "Std Time (µs)", move |_, row| of(row).sample_std.map(us).into())
            .described("Standard deviation (of a sample, n − 1) of the durations in µs; empty for one.")
            .spread_of("Mean Time (µs)"),
        Field::new(Number(Microseconds), "Min Time (µs)", move |_, row| us(of(row).min as f64).into())
            .described("Shortest duration in µs.")
            .spread_of("Mean Time (µs)"),
        Field::new(Number(Microseconds), "Max Time (µs)", move |_, row| us(of(row).max as f64).into())
            .described("Longest duration in µs.")
            .spread_of("Mean Time (µs)"),
    ]
}
