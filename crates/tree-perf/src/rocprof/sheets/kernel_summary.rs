//! Kernels by name and by category.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use polars::prelude::{DataFrame, PolarsResult};

use super::{share, whole_times};
use crate::column::{Column, ColumnKind, Unit, shared};
use crate::frame::FrameBuilder;
use crate::rocprof::analysis::RocprofAnalysis;
use crate::rocprof::category::KernelCategory;
use crate::rocprof::kernel_groups::KernelGroup;
use crate::sheet::{ChartShape, Sheet, SheetChart};

const CATEGORY_DESCRIPTION: &str = "What the kernels do, as their names say: GEMM, Elementwise, Reduction, Convolution, Normalization, Attention, Memory (copies and fills), COMM (communication) or Other.";

/// One row per name.
pub(in crate::rocprof) const BY_NAME: Sheet<RocprofAnalysis> = Sheet {
    name: "kernel_summary",
    current_name: "kernel_summary",
    description: "Kernels by name, most time first; without --disable_kernel_summary only.",
    columns: &[
        Column::new("name", ColumnKind::Text, "Kernel, by the kind of name that was asked for."),
        Column::new("Count", ColumnKind::Count, "How often it ran."),
        Column::new("Mean Kernel Time (µs)", ColumnKind::Number(Unit::Microseconds), "Mean duration in µs."),
        Column::new(
            "Median Kernel Time (µs)",
            ColumnKind::Number(Unit::Microseconds),
            "Median duration in µs.",
        ),
        Column::new(
            "Std Kernel Time (µs)",
            ColumnKind::Number(Unit::Microseconds),
            "Standard deviation (of a sample, n − 1) of the durations in µs; empty for a single run.",
        ),
        Column::new(
            "Min Kernel Time (µs)",
            ColumnKind::Number(Unit::Microseconds),
            "Shortest duration in µs.",
        ),
        Column::new(
            "Max Kernel Time (µs)",
            ColumnKind::Number(Unit::Microseconds),
            "Longest duration in µs.",
        ),
        shared::SHARE_OF_KERNEL_TIME,
        shared::CUMULATIVE,
        Column::new(
            "Total Kernel Time (ms)",
            ColumnKind::Number(Unit::Milliseconds),
            "Sum of the durations in ms, overlaps counted twice.",
        ),
        Column::new("Category", ColumnKind::Text, CATEGORY_DESCRIPTION),
    ],
    chart: Some(SheetChart {
        title: "Kernels by time",
        categories: "name",
        values: "Total Kernel Time (ms)",
        axis: "kernel time (ms)",
        shape: ChartShape::Bars(10),
    }),
    build: build_by_name,
};

/// One row per category.
pub(in crate::rocprof) const BY_CATEGORY: Sheet<RocprofAnalysis> = Sheet {
    name: "kernel_summary_by_category",
    current_name: "kernel_summary_by_category",
    description: "Kernels by category, most time first; without --disable_kernel_summary only.",
    columns: &[
        Column::new("op category", ColumnKind::Text, CATEGORY_DESCRIPTION),
        Column::new("Count", ColumnKind::Count, "How many kernels ran."),
        Column::new(
            "total_direct_kernel_time_ms",
            ColumnKind::Number(Unit::Milliseconds),
            "Sum of the durations in ms, overlaps counted twice.",
        ),
        shared::SHARE_OF_KERNEL_TIME,
        shared::CUMULATIVE,
    ],
    chart: Some(SheetChart {
        title: "Kernel time by category",
        categories: "op category",
        values: "total_direct_kernel_time_ms",
        axis: "kernel time (ms)",
        shape: ChartShape::Bars(9),
    }),
    build: build_by_category,
};

/// Rows in their order, with the percentages summed up to them.
fn ranked<R>(analysis: &RocprofAnalysis, mut rows: Vec<R>, sum: impl Fn(&R) -> i64) -> Vec<(R, f64)> {
    let total = analysis.groups().total;
    if analysis.options().parity {
        // The reference sums up before it sorts, by name, and in doubles.
        let mut cumulated = 0.0;
        let add = |row: R| {
            cumulated += share(sum(&row), total);
            (row, cumulated)
        };
        let mut rows: Vec<(R, f64)> = rows.into_iter().map(add).collect();
        rows.sort_by_key(|(row, _)| Reverse(sum(row)));
        return rows;
    }
    rows.sort_by_key(|row| Reverse(sum(row)));
    let mut cumulated = 0_i64;
    let add = |row: R| {
        cumulated = cumulated.saturating_add(sum(&row));
        (row, share(cumulated, total))
    };
    rows.into_iter().map(add).collect()
}

fn build_by_name(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    if analysis.options().disable_kernel_summary {
        return Ok(None);
    }
    let groups = analysis.groups();
    let rows = ranked(analysis, groups.rows.clone(), |row| row.durations.sum);
    let figures = || rows.iter().map(|(KernelGroup { durations, .. }, _)| durations);
    let names = || rows.iter().map(|(row, _)| row.name);
    let us = |time: f64| Some(analysis.us(time));
    let mut frame = FrameBuilder::default();
    frame.text("name", names().map(|name| Some(&analysis.names()[name as usize])));
    frame.integer("Count", figures().map(|durations| Some(durations.count as i64)));
    frame.float("Mean Kernel Time (µs)", figures().map(|durations| us(durations.mean)));
    frame.float("Median Kernel Time (µs)", figures().map(|durations| us(durations.median)));
    frame.float("Std Kernel Time (µs)", figures().map(|durations| us(durations.sample_std?)));
    whole_times(&mut frame, analysis, "Min Kernel Time (µs)", figures().map(|durations| durations.min));
    whole_times(&mut frame, analysis, "Max Kernel Time (µs)", figures().map(|durations| durations.max));
    frame.float("Percentage (%)", figures().map(|durations| Some(share(durations.sum, groups.total))));
    frame.float("Cumulative Percentage (%)", rows.iter().map(|&(_, cumulated)| Some(cumulated)));
    frame.float("Total Kernel Time (ms)", figures().map(|durations| Some(analysis.ms(durations.sum as f64))));
    frame.text("Category", names().map(|name| Some(analysis.category(name).as_str())));
    frame.finish().map(Some)
}

/// The kernels of one category: how many, and the sum of their durations in nanoseconds.
#[derive(Default)]
struct OfCategory {
    count: i64,
    sum: i64,
}

fn build_by_category(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    if analysis.options().disable_kernel_summary {
        return Ok(None);
    }
    let groups = analysis.groups();
    let mut categories: BTreeMap<&'static str, OfCategory> = BTreeMap::new();
    for row in &groups.rows {
        let category: KernelCategory = analysis.category(row.name);
        let found = categories.entry(category.as_str()).or_default();
        found.count += row.durations.count as i64;
        found.sum = found.sum.saturating_add(row.durations.sum);
    }
    let rows = ranked(analysis, categories.into_iter().collect(), |(_, found)| found.sum);
    let found = || rows.iter().map(|((_, found), _)| found);
    let mut frame = FrameBuilder::default();
    frame.text("op category", rows.iter().map(|((category, _), _)| Some(category)));
    frame.integer("Count", found().map(|found| Some(found.count)));
    frame.float("total_direct_kernel_time_ms", found().map(|found| Some(analysis.ms(found.sum as f64))));
    frame.float("Percentage (%)", found().map(|found| Some(share(found.sum, groups.total))));
    frame.float("Cumulative Percentage (%)", rows.iter().map(|&(_, cumulated)| Some(cumulated)));
    frame.finish().map(Some)
}
