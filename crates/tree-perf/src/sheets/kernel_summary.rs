//! Kernels by name, with the operator that launched them.

use std::collections::BTreeMap;

use gpu_timeline::Summary;
use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};

use crate::analysis::Analysis;
use crate::column::{Column, ColumnKind};
use crate::frame::{FrameBuilder, percent};
use crate::kernel_records::{KernelRecord, kernel_records};
use crate::sheet::{ChartShape, Sheet, SheetChart};

/// One row per operator, kernel and stream.
pub(crate) const SHEET: Sheet = Sheet {
    name: "kernel_summary",
    current_name: "kernel_summary",
    description: "Kernels by operator, name and stream, most time first; with --enable_kernel_summary only. Kernels of communication and kernels without a launch in the trace are included, copies and fills are not.",
    columns: &[
        Column::new(
            "Parent op category",
            ColumnKind::Text,
            "Kind of work of the operator; graph for kernels of a graph launch and runtime for other calls outside any operator; empty for kernels without a launch in the trace.",
        ),
        Column::new(
            "Parent cpu_op",
            ColumnKind::Text,
            "Operator that the kernel is charged to, as in the operator sheets, or the launching call itself outside any operator; left out when no kernel of the trace has an operator.",
        ),
        Column::new("Kernel name", ColumnKind::Text, "Kernel, as the profiler names it."),
        Column::new("Kernel stream", ColumnKind::Identifier, "Stream it ran on."),
        Column::new(
            "Kernel duration (µs)_sum",
            ColumnKind::Microseconds,
            "Sum of the kernels' durations in µs, overlaps counted twice.",
        ),
        Column::new("Kernel duration (µs)_count", ColumnKind::Count, "Number of kernels."),
        Column::new("Kernel duration (µs)_mean", ColumnKind::Microseconds, "Mean duration in µs."),
        Column::new("Kernel duration (µs)_min", ColumnKind::Microseconds, "Shortest duration in µs."),
        Column::new("Kernel duration (µs)_max", ColumnKind::Microseconds, "Longest duration in µs."),
        Column::new(
            "Percent of kernels time (%)",
            ColumnKind::Percent,
            "Sum as a share of the summed durations of all kernels, in percent.",
        ),
        Column::new(
            "Percent of total time (%)",
            ColumnKind::Percent,
            "Sum as a share of total_time of gpu_timeline (of the whole trace, also with --detect_recompute), in percent; empty when the timeline is; the column adds up to more than 100 when kernels overlap or when kernels without a launch are left out of the timeline.",
        ),
        Column::new(
            "Linked",
            ColumnKind::Flag,
            "Whether the launch of these kernels is in the trace; what is not is no part of the timeline and operator sheets unless --include_unlinked_kernels is given.",
        ),
    ],
    chart: Some(SheetChart {
        title: "Kernels by time",
        categories: "Kernel name",
        values: "Kernel duration (µs)_sum",
        axis: "kernel time (µs)",
        shape: ChartShape::Bars(10),
    }),
    build,
};

fn build(analysis: &Analysis) -> PolarsResult<Option<DataFrame>> {
    let records = kernel_records(analysis);
    if !analysis.options().kernel_summary || records.is_empty() {
        return Ok(None);
    }
    let trace = analysis.trace();
    let events = trace.events();
    let mut categories = HashMap::new();
    let mut groups: BTreeMap<_, (bool, Vec<i64>)> = BTreeMap::new();
    for record in &records {
        let category = category(analysis, record, &mut categories);
        let parent = record.parent_name(analysis);
        let key = (category, parent, events.name(record.kernel), events.stream(record.kernel));
        let (_, durations) = groups.entry(key).or_insert_with(|| (record.launch.is_some(), Vec::new()));
        durations.push(events.duration(record.kernel));
    }
    let mut rows: Vec<_> = groups
        .into_iter()
        .filter_map(|(key, (linked, durations))| Some((key, linked, Summary::of(&durations)?)))
        .collect();
    rows.sort_by_key(|((category, parent, kernel, stream), _, summary)| {
        let parent = parent.map(|name| trace.text(name));
        (std::cmp::Reverse(summary.sum), *category, parent, trace.text(*kernel), *stream)
    });
    let all: i64 = rows.iter().map(|(_, _, summary)| summary.sum).sum();
    let total = analysis.timeline().map_or(0, |timeline| timeline.total);
    let us = |time: f64| time / trace.time_unit().per_microsecond() as f64;

    let mut frame = FrameBuilder::default();
    frame.text("Parent op category", rows.iter().map(|((category, ..), ..)| *category));
    if records.iter().any(|record| record.operator.is_some()) {
        frame.text(
            "Parent cpu_op",
            rows.iter().map(|((_, parent, ..), ..)| parent.map(|name| trace.text(name))),
        );
    }
    frame.text("Kernel name", rows.iter().map(|((_, _, kernel, _), ..)| Some(trace.text(*kernel))));
    frame.integer("Kernel stream", rows.iter().map(|((_, _, _, stream), ..)| *stream));
    frame.float("Kernel duration (µs)_sum", rows.iter().map(|(_, _, summary)| Some(us(summary.sum as f64))));
    frame
        .integer("Kernel duration (µs)_count", rows.iter().map(|(_, _, summary)| Some(summary.count as i64)));
    frame.float("Kernel duration (µs)_mean", rows.iter().map(|(_, _, summary)| Some(us(summary.mean))));
    frame.float("Kernel duration (µs)_min", rows.iter().map(|(_, _, summary)| Some(us(summary.min as f64))));
    frame.float("Kernel duration (µs)_max", rows.iter().map(|(_, _, summary)| Some(us(summary.max as f64))));
    let share = |whole: i64| rows.iter().map(move |(_, _, summary)| percent(summary.sum, whole));
    frame.float("Percent of kernels time (%)", share(all));
    frame.float("Percent of total time (%)", share(total));
    frame.flag("Linked", rows.iter().map(|(_, linked, _)| *linked));
    frame.finish().map(Some)
}

/// Kind of work that a kernel belongs to.
fn category(
    analysis: &Analysis,
    record: &KernelRecord,
    known: &mut HashMap<trace_ingest::EventId, &'static str>,
) -> Option<&'static str> {
    let trace = analysis.trace();
    match (record.operator, record.launch) {
        (Some(operator), _) => {
            Some(*known.entry(operator).or_insert_with(|| match analysis.launchers.of_event(operator) {
                Some(launcher) => launcher.category.as_str(),
                None => analysis.category(trace.events().name(operator), None).as_str(),
            }))
        }
        (None, Some(launch)) => {
            let name = trace.name(launch).to_ascii_lowercase();
            let is_graph = name.contains("cudagraph") || name.contains("graphlaunch");
            Some(if is_graph { "graph" } else { "runtime" })
        }
        (None, None) => None,
    }
}
