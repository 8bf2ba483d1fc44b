//! The columns of durations that several sheets have. Times are integer nanoseconds until a cell is made.

use gpu_timeline::Summary;
use sheets::ColumnKind::Number;
use sheets::Unit::Milliseconds;
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
pub const TOTAL: Column =
    Column::new("Total Time (ms)", Number(Milliseconds), "Sum of durations.").with_role(Role::Headline);

/// Sum, mean, median, deviation, shortest and longest of the durations of a row, in nanoseconds. `one` is what each
/// duration is of, such as a call ([`Column::per`]).
pub fn durations<C, R>(
    one: &'static str,
    of: impl Fn(&R) -> &Summary + Copy + Send + Sync + 'static,
) -> [Field<C, R>; 6] {
    const MEAN: &str = "Mean Time (µs)";
    let us_of = |name, description| Column::microseconds(name, description).per(one);
    let spread = |name, description| us_of(name, description).spread_of(MEAN);
    [
        TOTAL.field(move |row| ms(of(row).sum).into()),
        us_of(MEAN, "Mean duration.").field(move |row| us(of(row).mean).into()),
        spread("Median Time (µs)", "Median duration.").field(move |row| us(of(row).median).into()),
        spread("Std Time (µs)", "Sample standard deviation (n − 1) of durations; empty for one duration.")
            .field(move |row| of(row).sample_std.map(us).into()),
        spread("Min Time (µs)", "Shortest duration.").field(move |row| us(of(row).min as f64).into()),
        spread("Max Time (µs)", "Longest duration.").field(move |row| us(of(row).max as f64).into()),
    ]
}
