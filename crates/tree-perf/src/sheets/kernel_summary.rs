//! Kernels by name, with the operator that launched them.

use std::collections::BTreeMap;

use gpu_timeline::Summary;
use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::{EventId, StringId};

use crate::analysis::Analysis;
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::{FrameBuilder, percent};
use crate::kernel_records::{KernelRecord, kernel_records};
use crate::sheet::{ChartShape, Sheet, SheetChart};
use operator_sheets::OpCategory;

/// The columns of [`kernel_table`], the first of `kernel_summary`.
pub const KERNEL_TABLE_COLUMNS: [Column; 10] = [
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
        ColumnKind::Number(Unit::Microseconds),
        "Sum of the kernels' durations in µs, overlaps counted twice.",
    ),
    Column::new("Kernel duration (µs)_count", ColumnKind::Count, "Number of kernels."),
    Column::new("Kernel duration (µs)_mean", ColumnKind::Number(Unit::Microseconds), "Mean duration in µs."),
    Column::new(
        "Kernel duration (µs)_min",
        ColumnKind::Number(Unit::Microseconds),
        "Shortest duration in µs.",
    ),
    Column::new(
        "Kernel duration (µs)_max",
        ColumnKind::Number(Unit::Microseconds),
        "Longest duration in µs.",
    ),
    Column::new(
        "Percent of kernels time (%)",
        ColumnKind::Number(Unit::Percent),
        "Sum as a share of the summed durations of all kernels, in percent.",
    ),
];

/// One row per operator, kernel and stream.
pub(crate) const SHEET: Sheet = Sheet {
    name: "kernel_summary",
    current_name: "kernel_summary",
    description: "Kernels by operator, name and stream, most time first; with --enable_kernel_summary only. Kernels of communication and kernels without a launch in the trace are included, copies and fills are not.",
    columns: &[
        KERNEL_TABLE_COLUMNS[0],
        KERNEL_TABLE_COLUMNS[1],
        KERNEL_TABLE_COLUMNS[2],
        KERNEL_TABLE_COLUMNS[3],
        KERNEL_TABLE_COLUMNS[4],
        KERNEL_TABLE_COLUMNS[5],
        KERNEL_TABLE_COLUMNS[6],
        KERNEL_TABLE_COLUMNS[7],
        KERNEL_TABLE_COLUMNS[8],
        KERNEL_TABLE_COLUMNS[9],
        Column::new(
            "Percent of total time (%)",
            ColumnKind::Number(Unit::Percent),
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
    if !analysis.options().kernel_summary {
        return Ok(None);
    }
    let Some(table) = KernelTable::of(analysis, |_| true) else { return Ok(None) };
    let total = analysis.timeline().map_or(0, |timeline| timeline.total);
    let mut frame = table.frame(analysis);
    frame.float("Percent of total time (%)", table.shares(total));
    frame.flag("Linked", table.rows.iter().map(|row| row.linked));
    frame.finish().map(Some)
}

/// The kernels that `include` accepts, by operator, name and stream, most time first; `None` when it accepts none.
/// Kernels of communication and kernels without a launch in the trace are asked for too, copies and fills are not.
///
/// # Errors
/// When polars refuses the columns, which is a fault of this crate.
pub fn kernel_table(
    analysis: &Analysis,
    include: impl Fn(EventId) -> bool,
) -> PolarsResult<Option<DataFrame>> {
    let table = KernelTable::of(analysis, include);
    table.map(|table| table.frame(analysis).finish()).transpose()
}

struct KernelTable {
    rows: Vec<Row>,
    /// Whether a kernel of the trace has an operator.
    has_operators: bool,
}

struct Row {
    category: Option<OpCategory>,
    parent: Option<StringId>,
    kernel: StringId,
    stream: Option<i64>,
    linked: bool,
    durations: Summary,
}

impl KernelTable {
    fn of(analysis: &Analysis, include: impl Fn(EventId) -> bool) -> Option<Self> {
        let trace = analysis.trace();
        let events = trace.events();
        let mut categories = Categories::new();
        let mut has_operators = false;
        let mut groups: BTreeMap<_, (bool, Vec<i64>)> = BTreeMap::new();
        for record in &kernel_records(analysis) {
            has_operators |= record.operator.is_some();
            if !include(record.kernel) {
                continue;
            }
            let category = categories.of(analysis, record);
            let parent = record.parent_name(analysis);
            let key = (category, parent, events.name(record.kernel), events.stream(record.kernel));
            let (_, durations) = groups.entry(key).or_insert_with(|| (record.launch.is_some(), Vec::new()));
            durations.push(events.duration(record.kernel));
        }
        let mut rows: Vec<Row> = groups
            .into_iter()
            .filter_map(|((category, parent, kernel, stream), (linked, durations))| {
                Some(Row { category, parent, kernel, stream, linked, durations: Summary::of(&durations)? })
            })
            .collect();
        rows.sort_by_cached_key(|row| {
            let category = row.category.as_ref().map(OpCategory::to_string);
            let parent = row.parent.map(|name| trace.text(name));
            (std::cmp::Reverse(row.durations.sum), category, parent, trace.text(row.kernel), row.stream)
        });
        (!rows.is_empty()).then_some(KernelTable { rows, has_operators })
    }

    /// Sums as percentages of a whole.
    fn shares(&self, whole: i64) -> impl Iterator<Item = Option<f64>> {
        self.rows.iter().map(move |row| percent(row.durations.sum, whole))
    }

    fn frame(&self, analysis: &Analysis) -> FrameBuilder {
        let trace = analysis.trace();
        let rows = || self.rows.iter();
        let us = |time: f64| Some(time / trace.time_unit().per_microsecond() as f64);
        let mut frame = FrameBuilder::default();
        frame.text("Parent op category", rows().map(|row| row.category.as_ref().map(OpCategory::as_str)));
        if self.has_operators {
            frame.text("Parent cpu_op", rows().map(|row| row.parent.map(|name| trace.text(name))));
        }
        frame.text("Kernel name", rows().map(|row| Some(trace.text(row.kernel))));
        frame.integer("Kernel stream", rows().map(|row| row.stream));
        frame.float("Kernel duration (µs)_sum", rows().map(|row| us(row.durations.sum as f64)));
        frame.integer("Kernel duration (µs)_count", rows().map(|row| Some(row.durations.count as i64)));
        frame.float("Kernel duration (µs)_mean", rows().map(|row| us(row.durations.mean)));
        frame.float("Kernel duration (µs)_min", rows().map(|row| us(row.durations.min as f64)));
        frame.float("Kernel duration (µs)_max", rows().map(|row| us(row.durations.max as f64)));
        let all = rows().map(|row| row.durations.sum).sum();
        frame.float("Percent of kernels time (%)", self.shares(all));
        frame
    }
}

/// Kinds of work that kernels belong to.
struct Categories {
    of_operators: HashMap<EventId, OpCategory>,
    graph: OpCategory,
    runtime: OpCategory,
}

impl Categories {
    fn new() -> Self {
        Categories {
            of_operators: HashMap::new(),
            graph: OpCategory::named("graph"),
            runtime: OpCategory::named("runtime"),
        }
    }

    fn of(&mut self, analysis: &Analysis, record: &KernelRecord) -> Option<OpCategory> {
        match (record.operator, record.launch) {
            (Some(operator), _) => {
                let category = || match analysis.launchers.of_event(operator) {
                    Some(launcher) => launcher.category.clone(),
                    None => analysis.models().category(analysis.tree(), operator, None),
                };
                Some(self.of_operators.entry(operator).or_insert_with(category).clone())
            }
            (None, Some(launch)) => {
                let name = analysis.trace().name(launch).to_ascii_lowercase();
                let is_graph = name.contains("cudagraph") || name.contains("graphlaunch");
                Some(if is_graph { self.graph.clone() } else { self.runtime.clone() })
            }
            (None, None) => None,
        }
    }
}
