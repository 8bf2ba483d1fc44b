//! Device time by kind of work.

use std::collections::BTreeMap;

use polars::prelude::{DataFrame, PolarsResult};

use crate::analysis::Analysis;
use crate::column::{Column, ColumnKind, shared};
use crate::frame::FrameBuilder;
use crate::launchers::Launcher;
use crate::parent_module::{module_call_stack, parent_module};
use crate::sheet::{ChartShape, Sheet, SheetChart};

/// One row per category.
pub(crate) const SHEET: Sheet = Sheet {
    name: "ops_summary_by_category",
    current_name: "ops_summary_by_category",
    description: "Device time by kind of work: one row per operator category, most time first.",
    columns: &[
        shared::OP_CATEGORY,
        shared::PARENT_MODULE,
        shared::IS_RECOMPUTE,
        Column::new("Count", ColumnKind::Count, "Operator calls of the category that launched device work."),
        shared::CALL_STACK.named("call_stack_first"),
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

/// What calls of one row have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    category: &'a str,
    /// Where rows are told apart by it.
    module: Option<&'a str>,
    is_recompute: bool,
}

struct Group<'a> {
    /// The call that starts first.
    first: &'a Launcher,
    calls: i64,
    time: i64,
}

fn build(analysis: &Analysis) -> PolarsResult<Option<DataFrame>> {
    if analysis.is_gpu_only() || analysis.launchers.is_empty() {
        return Ok(None);
    }
    let options = analysis.options();
    let mut groups: BTreeMap<Key<'_>, Group<'_>> = BTreeMap::new();
    for launcher in analysis.launchers.iter() {
        let module = || parent_module(analysis.tree(), launcher.event);
        let key = Key {
            category: launcher.category.as_str(),
            module: options.group_by_parent_module.then(module),
            is_recompute: analysis.is_recompute(launcher.event),
        };
        let group = groups.entry(key).or_insert(Group { first: launcher, calls: 0, time: 0 });
        group.calls += 1;
        group.time += launcher.direct_time;
    }
    let mut rows: Vec<(Key<'_>, Group<'_>)> = groups.into_iter().collect();
    rows.sort_by_key(|(_, group)| std::cmp::Reverse(group.time));

    let mut frame = FrameBuilder::default();
    frame.text("op category", rows.iter().map(|(key, _)| Some(key.category)));
    if options.group_by_parent_module {
        frame.text("parent_module", rows.iter().map(|(key, _)| key.module));
    }
    if options.detect_recompute {
        frame.flag("is_recompute", rows.iter().map(|(key, _)| key.is_recompute));
    }
    frame.integer("Count", rows.iter().map(|(_, group)| Some(group.calls)));
    if options.group_by_parent_module {
        let stack = |group: &Group<'_>| module_call_stack(analysis.tree(), group.first.event);
        frame.text("call_stack_first", rows.iter().map(|(_, group)| Some(stack(group))));
    }
    let time = |group: &Group<'_>| analysis.ms(group.time);
    frame.float("total_direct_kernel_time_ms", rows.iter().map(|(_, group)| Some(time(group))));
    frame.shares(rows.iter().map(|(_, group)| group.time));
    frame.finish().map(Some)
}
