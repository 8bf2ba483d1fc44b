//! Device time by operator.

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::write_text;

use crate::analysis::Analysis;
use crate::column::{Column, ColumnKind, shared};
use crate::frame::FrameBuilder;
use crate::sheet::{ChartShape, Sheet, SheetChart};

/// One row per operator name.
pub(crate) const SHEET: Sheet = Sheet {
    name: "ops_summary",
    current_name: "ops_summary",
    description: "Device time by operator: one row per operator name, most direct time first.",
    columns: &[
        shared::OP_NAME,
        shared::IS_RECOMPUTE,
        Column::new(
            "total_direct_kernel_time_sum",
            ColumnKind::Microseconds,
            "Device time in µs of the kernels that the operator launched itself: per call the union of their spans, summed over calls; communication kernels are left out.",
        ),
        Column::new(
            "total_subtree_kernel_time_sum",
            ColumnKind::Microseconds,
            "Device time in µs of all kernels below the operator, communication included; calls inside calls count again, so the sheet's sum exceeds the device's busy time.",
        ),
        shared::DIRECT_MS,
        Column::new(
            "total_subtree_kernel_time_ms",
            ColumnKind::Milliseconds,
            "total_subtree_kernel_time_sum in ms.",
        ),
        Column::new("Count", ColumnKind::Count, "Calls of the operator that launched device work."),
        Column::new("Categories", ColumnKind::Literal, "Kinds of work of the operator's calls."),
        shared::PERCENTAGE,
        shared::CUMULATIVE,
    ],
    chart: Some(SheetChart {
        title: "Operators by kernel time",
        categories: "name",
        values: "total_direct_kernel_time_ms",
        axis: "kernel time (ms)",
        shape: ChartShape::Bars(15),
    }),
    build,
};

#[derive(Default)]
struct Group<'a> {
    calls: i64,
    direct: i64,
    subtree: i64,
    categories: BTreeSet<&'a str>,
}

fn build(analysis: &Analysis) -> PolarsResult<Option<DataFrame>> {
    if analysis.is_gpu_only() || analysis.launchers.is_empty() {
        return Ok(None);
    }
    let trace = analysis.trace();
    let mut groups: BTreeMap<_, Group<'_>> = BTreeMap::new();
    for launcher in analysis.launchers.iter() {
        let key = (trace.events().name(launcher.event), analysis.is_recompute(launcher.event));
        let group = groups.entry(key).or_default();
        group.calls += 1;
        group.direct += launcher.direct_time;
        group.subtree += launcher.subtree_time;
        group.categories.insert(launcher.category.as_str());
    }
    let mut rows: Vec<_> = groups.into_iter().collect();
    rows.sort_by_key(|((name, is_recompute), group)| {
        (std::cmp::Reverse(group.direct), trace.text(*name), *is_recompute)
    });

    let mut frame = FrameBuilder::default();
    frame.text("name", rows.iter().map(|((name, _), _)| Some(trace.text(*name))));
    if analysis.options().detect_recompute {
        frame.flag("is_recompute", rows.iter().map(|((_, is_recompute), _)| *is_recompute));
    }
    frame
        .float("total_direct_kernel_time_sum", rows.iter().map(|(_, group)| Some(analysis.us(group.direct))));
    frame.float(
        "total_subtree_kernel_time_sum",
        rows.iter().map(|(_, group)| Some(analysis.us(group.subtree))),
    );
    frame.float("total_direct_kernel_time_ms", rows.iter().map(|(_, group)| Some(analysis.ms(group.direct))));
    frame.float(
        "total_subtree_kernel_time_ms",
        rows.iter().map(|(_, group)| Some(analysis.ms(group.subtree))),
    );
    frame.integer("Count", rows.iter().map(|(_, group)| Some(group.calls)));
    frame.text("Categories", rows.iter().map(|(_, group)| Some(list(&group.categories))));
    frame.shares(rows.iter().map(|(_, group)| group.direct));
    frame.finish().map(Some)
}

fn list(categories: &BTreeSet<&str>) -> String {
    let mut out = String::from("[");
    for (position, category) in categories.iter().enumerate() {
        if position > 0 {
            out.push_str(", ");
        }
        // Writing to a String cannot fail.
        let _ = write_text(&mut out, category);
    }
    out.push(']');
    out
}
