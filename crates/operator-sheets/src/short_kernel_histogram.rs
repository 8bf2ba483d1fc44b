//! How many short kernels there are by duration: the same sheet for every recorder.

use std::borrow::Cow;
use std::num::NonZeroUsize;

use gpu_timeline::Histogram;
use sheets::{Chart, ChartShape, Column, Role, Sheet};

const START: Column =
    Column::microseconds("bin_start", "Shortest duration in the bin, in µs.").with_role(Role::Name);
const COUNT: Column = Column::count("count", "Number of short kernels in the bin.");

/// The sheet of this name. `durations` gives those of the short kernels in µs with the number of bins, or nothing where
/// the sheet was not asked for; without short kernels the table has no rows.
pub fn short_kernel_histogram<'a, A>(
    name: impl Into<Cow<'static, str>>,
    durations: impl Fn(&'a A) -> Option<(Vec<f64>, NonZeroUsize)> + Send + Sync + 'a,
) -> Sheet<'a, A> {
    type Bin = (f64, f64, u64);
    let fields = [
        START.field(|&(start, ..): &Bin| start.into()),
        Column::microseconds("bin_end", "End of the bin in µs, exclusive except for the last bin.")
            .with_role(Role::Name)
            .field(|&(_, end, _): &Bin| end.into()),
        COUNT.field(|&(.., count): &Bin| count.into()),
    ];
    Sheet::with_context(
        name,
        "Distribution of durations below the threshold, in bins of equal width from shortest to longest; needs --short_kernel_study.",
        fields,
        move |analysis| {
            let (durations, bins) = durations(analysis)?;
            let histogram = Histogram::equal_width(&durations, bins);
            Some(((), histogram.iter().flat_map(Histogram::bins).collect()))
        },
    )
    .with_chart(Chart::new(
        "Short kernels by duration",
        START.name,
        COUNT.name,
        "kernels",
        ChartShape::Columns("start of the bin (µs)"),
    ))
}
