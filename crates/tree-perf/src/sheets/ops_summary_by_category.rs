//! Device time by kind of work.

use std::collections::BTreeMap;

use polars::prelude::{DataFrame, PolarsResult};

use crate::analysis::Analysis;
use crate::column::{Column, ColumnKind, shared};
use crate::frame::FrameBuilder;
use crate::sheet::{ChartShape, Sheet, SheetChart};

/// One row per category.
pub(crate) const SHEET: Sheet = Sheet {
    name: "ops_summary_by_category",
    current_name: "ops_summary_by_category",
    description: "Device time by kind of work: one row per operator category, most time first.",
    columns: &[
        shared::OP_CATEGORY,
        shared::IS_RECOMPUTE,
        Column::new("Count", ColumnKind::Count, "Operator calls of the category that launched device work."),
        shared::DIRECT_MS,
        shared::PERCENTAGE,
        shared::CUMULATIVE,
    ],
    chart: Some(SheetChart {
        title: "Kernel time by category",
        categories: "op category",
        values: "total_direct_kernel_time_ms",
        axis: "kernel time (ms)",
        shape: ChartShape::Bars(20),
    }),
    build,
};

fn build(analysis: &Analysis) -> PolarsResult<Option<DataFrame>> {
    if analysis.is_gpu_only() || analysis.launchers.is_empty() {
        return Ok(None);
    }
    let mut groups: BTreeMap<(&str, bool), (i64, i64)> = BTreeMap::new();
    for launcher in analysis.launchers.iter() {
        let key = (launcher.category.as_str(), analysis.is_recompute(launcher.event));
        let (count, time) = groups.entry(key).or_default();
        *count += 1;
        *time += launcher.direct_time;
    }
    let mut rows: Vec<_> = groups.into_iter().collect();
    rows.sort_by_key(|&(_, (_, time))| std::cmp::Reverse(time));

    let mut frame = FrameBuilder::default();
    frame.text("op category", rows.iter().map(|((category, _), _)| Some(*category)));
    if analysis.options().detect_recompute {
        frame.flag("is_recompute", rows.iter().map(|((_, is_recompute), _)| *is_recompute));
    }
    frame.integer("Count", rows.iter().map(|&(_, (count, _))| Some(count)));
    frame.float("total_direct_kernel_time_ms", rows.iter().map(|&(_, (_, time))| Some(analysis.ms(time))));
    frame.shares(rows.iter().map(|&(_, (_, time))| time));
    frame.finish().map(Some)
}
