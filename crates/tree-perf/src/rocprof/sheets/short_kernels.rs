//! Kernels too short to be worth a launch.

use std::cmp::Reverse;

use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::rocprof::Dispatch;

use super::{share, whole_times};
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::rocprof::analysis::RocprofAnalysis;
use crate::sheet::Sheet;
use crate::short_kernel_histogram;

/// Which they are.
pub(in crate::rocprof) const SUMMARY: Sheet<RocprofAnalysis> = Sheet {
    name: "short_kernels_summary",
    current_name: "short_kernels_summary",
    description: "Kernels shorter than the threshold by name, most time first; with --short_kernel_study only.",
    columns: &[
        Column::new("name", ColumnKind::Text, "Kernel, by the kind of name that was asked for."),
        Column::new("Short Kernel count", ColumnKind::Count, "How often it ran for less than the threshold."),
        Column::new(
            "Short Kernel duration (µs) sum",
            ColumnKind::Number(Unit::Microseconds),
            "Sum of these durations in µs.",
        ),
        Column::new(
            "Short Kernel duration (µs) mean",
            ColumnKind::Number(Unit::Microseconds),
            "Mean of them in µs.",
        ),
        Column::new(
            "Short Kernel duration (µs) percent of total time",
            ColumnKind::Number(Unit::Percent),
            "Sum as a share of the durations of all kernels, short or not, in percent.",
        ),
    ],
    chart: None,
    build: build_summary,
};

/// How many there are by duration.
pub(in crate::rocprof) const HISTOGRAM: Sheet<RocprofAnalysis> = Sheet {
    name: "short_kernel_histogram",
    current_name: "short_kernel_histogram",
    description: short_kernel_histogram::DESCRIPTION,
    columns: short_kernel_histogram::COLUMNS,
    chart: Some(short_kernel_histogram::CHART),
    build: build_histogram,
};

/// The kernels below the threshold, which the reference takes for one in nanoseconds.
pub(in crate::rocprof) fn short_kernels(analysis: &RocprofAnalysis) -> impl Iterator<Item = &Dispatch> {
    let threshold = analysis.options().short_kernel_threshold_us;
    analysis.dispatches().filter(move |dispatch| analysis.us(dispatch.duration() as f64) < threshold)
}

fn build_summary(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    if !analysis.options().short_kernel_study {
        return Ok(None);
    }
    let mut groups: HashMap<u32, (i64, i64)> = HashMap::new();
    for dispatch in short_kernels(analysis) {
        let (count, sum) = groups.entry(analysis.name_of_kernel(dispatch.kernel)).or_default();
        *count += 1;
        *sum = sum.saturating_add(dispatch.duration());
    }
    let mut rows: Vec<(u32, i64, i64)> =
        groups.into_iter().map(|(name, (count, sum))| (name, count, sum)).collect();
    rows.sort_unstable_by_key(|&(name, _, sum)| (Reverse(sum), name));

    let total = analysis.groups().total;
    let mut frame = FrameBuilder::default();
    frame.text("name", rows.iter().map(|&(name, ..)| Some(&analysis.names()[name as usize])));
    frame.integer("Short Kernel count", rows.iter().map(|&(_, count, _)| Some(count)));
    whole_times(&mut frame, analysis, "Short Kernel duration (µs) sum", rows.iter().map(|&(.., sum)| sum));
    let mean = |count: i64, sum: i64| analysis.us(sum as f64) / count as f64;
    frame
        .float("Short Kernel duration (µs) mean", rows.iter().map(|&(_, count, sum)| Some(mean(count, sum))));
    frame.float(
        "Short Kernel duration (µs) percent of total time",
        rows.iter().map(|&(.., sum)| Some(share(sum, total))),
    );
    frame.finish().map(Some)
}

fn build_histogram(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    if !analysis.options().short_kernel_study {
        return Ok(None);
    }
    let durations: Vec<f64> =
        short_kernels(analysis).map(|dispatch| analysis.us(dispatch.duration() as f64)).collect();
    short_kernel_histogram::table(&durations, analysis.options().short_kernel_histogram_bins).map(Some)
}
