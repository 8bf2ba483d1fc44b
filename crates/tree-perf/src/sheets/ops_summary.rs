//! Device time by operator.

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::write_text;

use crate::analysis::Analysis;
use crate::column::{Column, ColumnKind, Unit, shared};
use crate::frame::FrameBuilder;
use crate::launchers::Launcher;
use crate::options::ReportLayout;
use crate::parent_module::{module_call_stack, parent_module};
use crate::sheet::{ChartShape, Sheet, SheetChart};

/// One row per operator name.
pub(crate) const SHEET: Sheet = Sheet {
    name: "ops_summary",
    current_name: "ops_summary",
    description: "Device time by operator: one row per operator name, most direct time first.",
    columns: &[
        shared::OP_NAME,
        shared::PARENT_MODULE,
        shared::IS_RECOMPUTE,
        Column::new(
            "total_direct_kernel_time_sum",
            ColumnKind::Number(Unit::Microseconds),
            "Device time in µs of the kernels that the operator launched itself: per call the union of their spans, summed over calls; communication kernels are left out.",
        ),
        Column::new(
            "total_subtree_kernel_time_sum",
            ColumnKind::Number(Unit::Microseconds),
            "Device time in µs of all kernels below the operator, communication included; calls inside calls count again, so the sheet's sum exceeds the device's busy time.",
        ),
        Column::new(
            "total_subtree_kernel_time_count",
            ColumnKind::Count,
            "Calls that total_subtree_kernel_time_sum sums; in the inference report only.",
        ),
        shared::DIRECT_MS,
        Column::new(
            "total_subtree_kernel_time_ms",
            ColumnKind::Number(Unit::Milliseconds),
            "total_subtree_kernel_time_sum in ms; not in the inference report.",
        ),
        Column::new("Count", ColumnKind::Count, "Calls of the operator that launched device work."),
        Column::new("Categories", ColumnKind::Nested, "Kinds of work of the operator's calls."),
        shared::CALL_STACK.named("call_stack_first"),
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
    /// In order of their start.
    calls: Vec<&'a Launcher>,
    direct: i64,
    subtree: i64,
    categories: BTreeSet<&'a str>,
}

/// What calls of one row have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    name: &'a str,
    /// Where rows are told apart by it.
    module: Option<&'a str>,
    is_recompute: bool,
}

fn build(analysis: &Analysis) -> PolarsResult<Option<DataFrame>> {
    if analysis.is_gpu_only() || analysis.launchers.is_empty() {
        return Ok(None);
    }
    let (trace, options) = (analysis.trace(), analysis.options());
    let mut groups: BTreeMap<Key<'_>, Group<'_>> = BTreeMap::new();
    for launcher in analysis.launchers.iter() {
        let module = || parent_module(analysis.tree(), launcher.event);
        let key = Key {
            name: trace.name(launcher.event),
            module: options.group_by_parent_module.then(module),
            is_recompute: analysis.is_recompute(launcher.event),
        };
        let group = groups.entry(key).or_default();
        group.calls.push(launcher);
        group.direct += launcher.direct_time;
        group.subtree += launcher.subtree_time;
        group.categories.insert(launcher.category.as_str());
    }
    let mut rows: Vec<(Key<'_>, Group<'_>)> = groups.into_iter().collect();
    // Stable: rows of equal time stay in the order of their keys.
    rows.sort_by_key(|(_, group)| std::cmp::Reverse(group.direct));

    let mut frame = FrameBuilder::default();
    let calls = || rows.iter().map(|(_, group)| Some(group.calls.len() as i64));
    frame.text("name", rows.iter().map(|(key, _)| Some(key.name)));
    if options.group_by_parent_module {
        frame.text("parent_module", rows.iter().map(|(key, _)| key.module));
    }
    if options.detect_recompute {
        frame.flag("is_recompute", rows.iter().map(|(key, _)| key.is_recompute));
    }
    let direct = |group: &Group<'_>| analysis.us(group.direct);
    let subtree = |group: &Group<'_>| analysis.us(group.subtree);
    frame.float("total_direct_kernel_time_sum", rows.iter().map(|(_, group)| Some(direct(group))));
    frame.float("total_subtree_kernel_time_sum", rows.iter().map(|(_, group)| Some(subtree(group))));
    if options.layout == ReportLayout::Inference {
        frame.integer("total_subtree_kernel_time_count", calls());
    }
    let direct_ms = |group: &Group<'_>| analysis.ms(group.direct);
    frame.float("total_direct_kernel_time_ms", rows.iter().map(|(_, group)| Some(direct_ms(group))));
    if options.layout == ReportLayout::Standard {
        let subtree_ms = |group: &Group<'_>| analysis.ms(group.subtree);
        frame.float("total_subtree_kernel_time_ms", rows.iter().map(|(_, group)| Some(subtree_ms(group))));
    }
    frame.integer("Count", calls());
    frame.text("Categories", rows.iter().map(|(_, group)| Some(list(&group.categories))));
    if options.group_by_parent_module {
        let stack = |group: &Group<'_>| module_call_stack(analysis.tree(), group.calls[0].event);
        frame.text("call_stack_first", rows.iter().map(|(_, group)| Some(stack(group))));
    }
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
