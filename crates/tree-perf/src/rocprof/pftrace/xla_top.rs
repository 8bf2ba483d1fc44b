//! `xla_top`: the kernels of no library that take most time.

use polars::prelude::{DataFrame, PolarsResult};

use super::display_names::Labels;
use super::kernel_class::KernelClass;
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::rocprof::analysis::RocprofAnalysis;
use crate::sheet::Sheet;

pub(super) static SHEET: Sheet<RocprofAnalysis> = Sheet {
    name: "xla_top",
    current_name: "xla_top",
    description: "The kernels of category xla on all GPUs, most time first, the first --top_xla names; kernels of any length count.",
    columns: &[
        Column::new("Kernel", ColumnKind::Text, "Kernel; without digits with --merge_kernels."),
        Column::new("Total time (ms)", ColumnKind::Number(Unit::Milliseconds), "Sum of the durations in ms."),
        Column::new("Count", ColumnKind::Count, "Kernels."),
        Column::new(
            "Fraction of XLA",
            ColumnKind::Number(Unit::One),
            "Total time over that of all kernels of category xla, those of rows that were cut off included.",
        ),
    ],
    chart: None,
    build,
};

fn build(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    let Some(options) = &analysis.options().pftrace else { return Ok(None) };
    let kernels = analysis.pftrace_records().kernels(analysis.profile(), options);
    let labels = Labels::of(&kernels.names, options.merge_kernels);

    // Time, count and first appearance by label.
    let mut sums = vec![(0_i64, 0_i64, usize::MAX); labels.texts.len()];
    for (place, run) in kernels.all().filter(|run| kernels.class(run) == KernelClass::Xla).enumerate() {
        let (time, count, first) = &mut sums[labels.of_name[run.name as usize] as usize];
        *time += run.duration();
        *count += 1;
        *first = (*first).min(place);
    }
    let all: i64 = sums.iter().map(|&(time, ..)| time).sum();
    let mut rows: Vec<(usize, (i64, i64, usize))> =
        sums.into_iter().enumerate().filter(|(_, (_, count, _))| *count > 0).collect();
    rows.sort_by_key(|&(_, (time, _, first))| (std::cmp::Reverse(time), first));
    rows.truncate(options.top_xla);

    let mut frame = FrameBuilder::default();
    frame.text("Kernel", rows.iter().map(|&(label, _)| Some(&labels.texts[label])));
    frame.float("Total time (ms)", rows.iter().map(|&(_, (time, ..))| Some(time as f64 / 1e6)));
    frame.integer("Count", rows.iter().map(|&(_, (_, count, _))| Some(count)));
    let fraction = |time: i64| time as f64 / all.max(1) as f64;
    frame.float("Fraction of XLA", rows.iter().map(|&(_, (time, ..))| Some(fraction(time))));
    frame.finish().map(Some)
}
