//! Quantities over time, in parts of equal length.

use gpu_timeline::HeldSamples;
use sheets::{Chart, ChartShape, Column, Field, Role};

use crate::analysis::Analysis;

/// Parts of the time of one quantity.
const MOST_PARTS: usize = 2000;

/// What a quantity was in a part of the time.
pub(super) struct Part {
    /// Which quantity of which device.
    series: String,
    start: i64,
    pub(super) min: f64,
    pub(super) max: f64,
    /// The largest value of the quantity at any time.
    pub(super) highest: f64,
}

/// A quantity in parts, in order of time. Parts without a known value are left out.
pub(super) fn parts(series: &str, values: &HeldSamples) -> Vec<Part> {
    let highest = values.max().unwrap_or(0.0);
    let part = |(start, min, max)| Part { series: series.to_owned(), start, min, max, highest };
    values.parts(MOST_PARTS).into_iter().map(part).collect()
}

const TIME: Column =
    Column::milliseconds("t_ms", "Start of the interval, relative to the trace's first event.");

/// The columns that say which part it is; `description` says what a series is.
pub(super) fn names<'a>(description: &'static str) -> [Field<&'a Analysis, Part>; 2] {
    [
        Column::text(SERIES, description).field_in(|_, part: &Part| (&part.series).into()),
        TIME.with_role(Role::Name)
            .field_in(|analysis: &&Analysis, part: &Part| analysis.ms(part.start).into()),
    ]
}

const SERIES: &str = "series";

/// A line for each series over time.
pub(super) fn chart(title: &'static str, height: &Column, axis: &'static str) -> Chart {
    let shape = ChartShape::Lines { x: TIME.name, x_axis: "time (ms)", also: &[], borders: None };
    Chart::new(title, SERIES, height.name, axis, shape)
}
