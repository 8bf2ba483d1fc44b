//! How many short kernels there are by duration: what the sheets of all kinds of traces share.

use std::num::NonZeroUsize;

use gpu_timeline::Histogram;
use polars::prelude::{DataFrame, PolarsResult};

use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::sheet::{ChartShape, SheetChart};

/// What one row is.
pub(crate) const DESCRIPTION: &str = "How many kernels shorter than the threshold there are by duration: equal bins from the shortest to the longest; with --short_kernel_study only.";

/// The columns.
pub(crate) const COLUMNS: &[Column] = &[
    Column::new("bin_start", ColumnKind::Number(Unit::Microseconds), "Shortest duration in the bin, in µs."),
    Column::new(
        "bin_end",
        ColumnKind::Number(Unit::Microseconds),
        "Duration in µs at which the next bin begins; the last bin includes it.",
    ),
    Column::new("count", ColumnKind::Count, "Short kernels in the bin."),
];

/// The picture.
pub(crate) const CHART: SheetChart = SheetChart {
    title: "Short kernels by duration",
    categories: "bin_start",
    values: "count",
    axis: "kernels",
    shape: ChartShape::Columns("start of the bin (µs)"),
};

/// The table of kernels with these durations in µs; without rows when there are none.
pub(crate) fn table(durations: &[f64], bins: NonZeroUsize) -> PolarsResult<DataFrame> {
    let histogram = Histogram::equal_width(durations, bins);
    let bins: Vec<(f64, f64, u64)> = histogram.iter().flat_map(Histogram::bins).collect();
    let mut frame = FrameBuilder::default();
    frame.float("bin_start", bins.iter().map(|&(start, _, _)| Some(start)));
    frame.float("bin_end", bins.iter().map(|&(_, end, _)| Some(end)));
    frame.integer("count", bins.iter().map(|&(_, _, count)| Some(count as i64)));
    frame.finish()
}
