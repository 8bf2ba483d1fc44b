//! Kernels by name, by category, and by name and arguments.

use std::borrow::Cow;
use std::collections::BTreeSet;

use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};

use super::call_groups::{DURATIONS, append_duration};
use super::columns::{
    CONCRETE_INPUTS, COUNT, CUMULATIVE, DIRECT_MS, EX_UID, INPUT_DIMS, INPUT_STRIDES, INPUT_TYPE, KERNEL,
    KERNEL_CATEGORY, MS_PER_GPU, PERCENTAGE,
};
use super::kernel_launchers::append_arguments;
use super::kernel_rows::{KernelGroup, KernelRow, OperatorTexts, gpu_count, groups, kernel_rows};
use super::of_gpus;
use tree_perf::{Column, ColumnKind, Unit};
use tree_perf::FrameBuilder;
use crate::analysis::JaxAnalysis;
use crate::kernel_category::KernelCategory;
use crate::record::text_list;
use tree_perf::{ChartShape, Sheet, SheetChart};

const SUMMARY_COLUMNS: &[Column] = &[
    Column::new(
        "name",
        ColumnKind::Text,
        "Kernel; in xla_summary without the digits of its name, so that instances of one fusion are one row.",
    ),
    Column::new(
        "total_direct_kernel_time_sum",
        ColumnKind::Number(Unit::Microseconds),
        "Sum of the durations in µs.",
    ),
    Column::new("total_subtree_kernel_time_sum", ColumnKind::Number(Unit::Microseconds), "The same."),
    DIRECT_MS,
    Column::new("total_subtree_kernel_time_ms", ColumnKind::Number(Unit::Milliseconds), "The same."),
    COUNT,
    Column::new("Categories", ColumnKind::Nested, "Kinds of these kernels, by name."),
    PERCENTAGE,
    CUMULATIVE,
    MS_PER_GPU,
];

/// One row per name.
pub(crate) const BY_NAME: Sheet<JaxAnalysis> = Sheet {
    name: "kernel_launchers_summary",
    current_name: "kernel_launchers_summary",
    description: "Kernels by name, most time first.",
    columns: SUMMARY_COLUMNS,
    chart: Some(SheetChart {
        title: "Kernel time by kernel",
        categories: "name",
        values: "total_direct_kernel_time_ms",
        axis: "kernel time (ms)",
        shape: ChartShape::Bars(15),
    }),
    build: |analysis| of_gpus(analysis, |analysis| by_name(analysis, kernel_rows(analysis), Cow::Borrowed)),
};

/// One row per name without digits, of the kernels that XLA generated.
pub(crate) const XLA: Sheet<JaxAnalysis> = Sheet {
    name: "xla_summary",
    current_name: "xla_summary",
    description: "The kernels of df_xla_perf by name without digits, most time first.",
    columns: SUMMARY_COLUMNS,
    chart: None,
    build: |analysis| of_gpus(analysis, of_xla),
};

fn of_xla(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    let mut rows = kernel_rows(analysis);
    rows.retain(|row| row.category == KernelCategory::Uncategorized);
    by_name(analysis, rows, |name| name.chars().filter(|c| !c.is_ascii_digit()).collect())
}

fn by_name<'a>(
    analysis: &JaxAnalysis,
    rows: Vec<KernelRow<'a>>,
    shown: impl Fn(&'a str) -> Cow<'a, str>,
) -> PolarsResult<Option<DataFrame>> {
    let gpus = gpu_count(&rows);
    let mut sums: HashMap<Cow<'_, str>, (i64, i64, BTreeSet<&str>)> = HashMap::new();
    for row in rows {
        let (time, count, categories) = sums.entry(shown(row.name)).or_default();
        *time += row.time;
        *count += 1;
        categories.insert(row.category.as_str());
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by(|(a_name, a), (b_name, b)| b.0.cmp(&a.0).then_with(|| a_name.cmp(b_name)));
    let us = |time| Some(analysis.us(time));
    let ms = |time| Some(analysis.ms(time));
    let times = || rows.iter().map(|row| row.1.0);
    let mut frame = FrameBuilder::default();
    frame.text("name", rows.iter().map(|row| Some(&row.0)));
    frame.float("total_direct_kernel_time_sum", times().map(us));
    frame.float("total_subtree_kernel_time_sum", times().map(us));
    frame.float("total_direct_kernel_time_ms", times().map(ms));
    frame.float("total_subtree_kernel_time_ms", times().map(ms));
    frame.integer("Count", rows.iter().map(|row| Some(row.1.1)));
    let categories = |categories: &BTreeSet<&str>| text_list(&categories.iter().collect::<Vec<_>>());
    frame.text("Categories", rows.iter().map(|row| Some(categories(&row.1.2))));
    frame.shares(times());
    frame.float("time ms per gpu", times().map(|time| Some(analysis.ms(time) / gpus as f64)));
    frame.finish().map(Some)
}

/// One row per category.
pub(crate) const BY_CATEGORY: Sheet<JaxAnalysis> = Sheet {
    name: "kernel_launchers_summary_by_category",
    current_name: "kernel_launchers_summary_by_category",
    description: "Kernels by category, most time first.",
    columns: &[KERNEL_CATEGORY, COUNT, DIRECT_MS, PERCENTAGE, CUMULATIVE, MS_PER_GPU],
    chart: Some(SheetChart {
        title: "Kernel time by category",
        categories: "op category",
        values: "total_direct_kernel_time_ms",
        axis: "kernel time (ms)",
        shape: ChartShape::Bars(8),
    }),
    build: |analysis| of_gpus(analysis, by_category),
};

fn by_category(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    let rows = kernel_rows(analysis);
    let gpus = gpu_count(&rows);
    let mut sums: Vec<(KernelCategory, i64, i64)> = Vec::new();
    for row in &rows {
        match sums.iter_mut().find(|sum| sum.0 == row.category) {
            Some((_, count, time)) => (*count, *time) = (*count + 1, *time + row.time),
            None => sums.push((row.category, 1, row.time)),
        }
    }
    sums.sort_by_key(|&(category, _, time)| (std::cmp::Reverse(time), category.as_str()));
    let mut frame = FrameBuilder::default();
    frame.text("op category", sums.iter().map(|sum| Some(sum.0.as_str())));
    frame.integer("Count", sums.iter().map(|sum| Some(sum.1)));
    frame.float("total_direct_kernel_time_ms", sums.iter().map(|sum| Some(analysis.ms(sum.2))));
    frame.shares(sums.iter().map(|sum| sum.2));
    frame.float("time ms per gpu", sums.iter().map(|sum| Some(analysis.ms(sum.2) / gpus as f64)));
    frame.finish().map(Some)
}

macro_rules! pair {
    ($statistic:literal, $what:literal) => {
        [
            Column::new(
                concat!("total_direct_kernel_time_", $statistic),
                ColumnKind::Number(Unit::Microseconds),
                concat!($what, " of the durations in µs."),
            ),
            Column::new(
                concat!("total_subtree_kernel_time_", $statistic),
                ColumnKind::Number(Unit::Microseconds),
                "The same.",
            ),
        ]
    };
}
const MEAN: [Column; 2] = pair!("mean", "Mean");
const MEDIAN: [Column; 2] = pair!("median", "Median");
const STD: [Column; 2] = pair!("std", "Standard deviation (of a sample, n − 1; empty for one kernel)");
const MIN: [Column; 2] = pair!("min", "Smallest");
const MAX: [Column; 2] = pair!("max", "Largest");
const SUM: [Column; 2] = pair!("sum", "Sum");

/// One row per name and arguments.
pub(crate) const BY_ARGUMENTS: Sheet<JaxAnalysis> = Sheet {
    name: "kernel_launchers_unique_args",
    current_name: "kernel_launchers_unique_args",
    description: "Kernels by name, category and arguments of their instruction, most time first.",
    columns: &[
        KERNEL,
        KERNEL_CATEGORY,
        INPUT_DIMS,
        INPUT_TYPE,
        INPUT_STRIDES,
        CONCRETE_INPUTS,
        Column::new("operation_count", ColumnKind::Count, "Kernels."),
        MEAN[0],
        MEAN[1],
        MEDIAN[0],
        MEDIAN[1],
        STD[0],
        STD[1],
        MIN[0],
        MIN[1],
        MAX[0],
        MAX[1],
        SUM[0],
        SUM[1],
        EX_UID,
        Column::new(
            "kernel_details_summary",
            ColumnKind::Nested,
            "kernel_details of the first kernel with count, total, mean, median, standard deviation (of a population, n), minimum and maximum over the row's kernels in µs.",
        ),
        PERCENTAGE,
        CUMULATIVE,
    ],
    chart: None,
    build: |analysis| of_gpus(analysis, by_arguments),
};

fn by_arguments(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    let texts = OperatorTexts::of(analysis);
    let groups = groups(kernel_rows(analysis), &texts);
    let times: Vec<Vec<i64>> = groups.iter().map(KernelGroup::times).collect();
    let first = || groups.iter().map(|group| &group.rows[0]);
    let mut frame = FrameBuilder::default();
    frame.text("name", first().map(|row| Some(row.name)));
    frame.text("op category", first().map(|row| Some(row.category.as_str())));
    append_arguments(&mut frame, &groups.iter().map(|group| group.arguments).collect::<Vec<_>>());
    frame.integer("operation_count", groups.iter().map(|group| Some(group.rows.len() as i64)));
    append_pairs(&mut frame, analysis, &times);
    let uid = |row: &KernelRow<'_>| Some(i64::from(analysis.trace().events().uid(row.event.event)));
    frame.integer("ex_UID", first().map(uid));
    let details =
        groups.iter().zip(&times).map(|(group, times)| Some(texts.kernels(analysis, &group.rows[0], times)));
    frame.text("kernel_details_summary", details);
    frame.shares(times.iter().map(|times| times.iter().sum()));
    frame.finish().map(Some)
}

/// Appends the statistics of both times, which are the same, in pairs.
fn append_pairs(frame: &mut FrameBuilder, analysis: &JaxAnalysis, times: &[Vec<i64>]) {
    for statistic in DURATIONS {
        for time in ["direct", "subtree"] {
            append_duration(frame, analysis, &format!("total_{time}_kernel_time"), statistic, times);
        }
    }
}
