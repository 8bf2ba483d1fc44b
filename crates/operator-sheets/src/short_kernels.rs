//! How many short kernels there are by duration, whatever recorded them.

use std::num::NonZeroUsize;

use gpu_timeline::Histogram;
use sheets::{Chart, ChartShape, Column, ColumnKind, Sheet, Unit};

const BIN_START: Column =
    Column::new("bin_start", ColumnKind::Number(Unit::Microseconds), "Shortest duration in the bin, in µs.");
const COUNT: Column = Column::new("count", ColumnKind::Count, "Short kernels in the bin.");

type Bin = (f64, f64, u64);

/// The sheet of this name, from the durations of the short kernels in µs and the number of bins; left out where there is
/// nothing to study, without rows where no kernel is short.
pub fn short_kernel_histogram_sheet<'a, A>(
    name: &'static str,
    durations: impl Fn(&A) -> Option<(Vec<f64>, NonZeroUsize)> + Send + Sync + 'a,
) -> Sheet<'a, A> {
    let fields = [
        BIN_START.field(|&(start, _, _): &Bin| start.into()),
        Column::new(
            "bin_end",
            ColumnKind::Number(Unit::Microseconds),
            "Duration in µs at which the next bin begins; the last bin includes it.",
        )
        .field(|&(_, end, _): &Bin| end.into()),
        COUNT.field(|&(_, _, count): &Bin| count.into()),
    ];
    Sheet::with_context(
        name,
        "How many kernels shorter than the threshold there are by duration: equal bins from the shortest to the longest; with --short_kernel_study only.",
        fields,
        move |analysis| {
            let (durations, bins) = durations(analysis)?;
            let histogram = Histogram::equal_width(&durations, bins);
            Some(((), histogram.iter().flat_map(Histogram::bins).collect()))
        },
    )
    .with_chart(Chart::new(
        "Short kernels by duration",
        BIN_START.name,
        COUNT.name,
        "kernels",
        ChartShape::Columns("start of the bin (µs)"),
    ))
}
