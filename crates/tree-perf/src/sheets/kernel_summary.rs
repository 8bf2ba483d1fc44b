//! Kernels by name, with the operator that launched them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::{SortFew, Summary};
use hashbrown::HashMap;
use operator_sheets::OpCategory;
use sheets::columns::kernels::{
    DURATION_COUNT, DURATION_MAX, DURATION_MEAN, DURATION_MIN, DURATION_SUM, KERNEL_NAME, PARENT_CATEGORY,
};
use sheets::names::KERNEL_SUMMARY;
use sheets::{Chart, ChartShape, Column, Excerpt, Field, Figure, Role, Sheet, percent};
use trace_ingest::{EventId, StringId};
use trace2tree::is_graph_launch;

use crate::analysis::Analysis;
use crate::kernel_records::{KernelRecord, kernel_records};

const PARENT: Column = Column::text(
    "Parent cpu_op",
    "Operator that accounts for the kernel, as in operator sheets, or the launching call outside any operator; omitted if no kernel of the trace has an operator.",
)
.with_role(Role::Detail)
.distinguishing();
const STREAM: Column =
    Column::identifier("Kernel stream", "Stream of the kernels.").with_role(Role::Detail).distinguishing();
const KERNEL_TIME_SHARE: Column = Column::percent("Percent of kernels time (%)", "")
    .showing(&[Figure::SharesOfDeviceTime, Figure::SumsOfDeviceTime])
    .with_role(Role::Headline);

/// What the rows of a table of kernels share.
pub struct KernelTable<'a> {
    analysis: &'a Analysis,
    /// Whether a kernel of the trace has an operator.
    has_operators: bool,
    /// Sum of the durations of all rows.
    kernel_time: i64,
    /// Length of the timeline.
    total_time: i64,
}

/// Kernels of one operator, name and stream.
pub struct KernelRow {
    category: Option<OpCategory>,
    parent: Option<StringId>,
    kernel: StringId,
    stream: Option<i64>,
    is_linked: bool,
    durations: Summary,
}

/// One row per operator, kernel and stream.
pub(crate) fn sheet<'a>() -> Sheet<'a, Analysis> {
    let fields = KernelTable::fields(
        "Sum as a share of the summed durations of all kernels.",
    )
    .into_iter().chain([
        Column::percent(
            "Percent of total time (%)",
            "Share of total_time in gpu_timeline (for the entire trace, including recomputed work); empty if the timeline is empty. The sum exceeds 100 if kernels overlap or the timeline excludes kernels without a launch.",
        ).showing(&[Figure::SharesOfDeviceTime, Figure::SumsOfDeviceTime])
        .field_in(|table: &KernelTable<'_>, row: &KernelRow| {
            percent(row.durations.sum, table.total_time).into()
        }),
        Column::flag(
            "Linked",
            "Whether the launch of these kernels is in the trace; if not, timeline and operator sheets exclude them unless unlinked kernels are included.",
        )
        .field(|row: &KernelRow| row.is_linked.into()),
    ]);
    Sheet::with_context(
        KERNEL_SUMMARY,
        "Kernels by operator, name and stream, most time first; on request, or if the trace has no operators. Includes communication kernels and kernels without a launch in the trace, excludes copies and fills.",
        fields,
        |analysis: &Analysis| {
            analysis.options().kernel_summary.then(|| KernelTable::rows(analysis, |_| true))?
        },
    )
    .with_chart(KernelTable::chart("Kernels by time"))
    .with_excerpt(Excerpt::new(
        10,
        [("kernel", KERNEL_NAME), ("calls", DURATION_COUNT), ("kernel µs", DURATION_SUM), ("% of kernel time", KERNEL_TIME_SHARE)],
    ).told_by([("operator", PARENT), ("stream", STREAM)]))
}

impl<'a> KernelTable<'a> {
    /// The columns of kernels by operator, name and stream. `share` describes the share of each row in all of them.
    pub fn fields(share: &'static str) -> [Field<KernelTable<'a>, KernelRow>; 10] {
        let time = |column: Column, of: fn(&Summary) -> f64| {
            column.field_in(move |table: &KernelTable<'_>, row: &KernelRow| {
                let per_microsecond = table.analysis.trace().time_unit().per_microsecond();
                (of(&row.durations) / per_microsecond as f64).into()
            })
        };
        [
            PARENT_CATEGORY.field(|row: &KernelRow| row.category.as_ref().map(OpCategory::as_str).into()),
            PARENT
                .field_in(|table: &KernelTable<'_>, row: &KernelRow| {
                    row.parent.map(|name| table.analysis.trace().text(name)).into()
                })
                .when(|table: &KernelTable<'_>| table.has_operators),
            KERNEL_NAME.field_in(|table: &KernelTable<'_>, row: &KernelRow| {
                table.analysis.trace().text(row.kernel).into()
            }),
            STREAM.field(|row: &KernelRow| row.stream.into()),
            time(DURATION_SUM, |durations| durations.sum as f64),
            DURATION_COUNT.field(|row: &KernelRow| row.durations.count.into()),
            time(DURATION_MEAN, |durations| durations.mean),
            time(DURATION_MIN, |durations| durations.min as f64),
            time(DURATION_MAX, |durations| durations.max as f64),
            KERNEL_TIME_SHARE.described(share).field_in(|table: &KernelTable<'_>, row: &KernelRow| {
                percent(row.durations.sum, table.kernel_time).into()
            }),
        ]
    }

    /// The chart of their sums.
    pub fn chart(title: &'static str) -> Chart {
        Chart::new(title, KERNEL_NAME.name, DURATION_SUM.name, "kernel time (µs)", ChartShape::Bars(10))
            .told_by(&[PARENT.name, STREAM.name])
    }

    /// The kernels that `include` accepts, by operator, name and stream, most time first; `None` when it accepts none.
    /// Kernels of communication and kernels without a launch in the trace are asked for too, copies and fills are not.
    pub fn rows(
        analysis: &'a Analysis,
        include: impl Fn(EventId) -> bool,
    ) -> Option<(KernelTable<'a>, Vec<KernelRow>)> {
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
            let category = categories.category(analysis, record);
            let parent = record.parent_name(analysis);
            let key = (category, parent, events.name(record.kernel), events.stream(record.kernel));
            let (_, durations) = groups.entry(key).or_insert_with(|| (record.launch.is_some(), Vec::new()));
            durations.push(events.duration(record.kernel));
        }
        let mut rows: Vec<KernelRow> = groups
            .into_iter()
            .filter_map(|((category, parent, kernel, stream), (is_linked, durations))| {
                let durations = Summary::from_values(&durations)?;
                Some(KernelRow { category, parent, kernel, stream, is_linked, durations })
            })
            .collect();
        rows.sort_few_by_cached_key(|row| {
            let category = row.category.as_ref().map(OpCategory::to_string);
            let parent = row.parent.map(|name| trace.text(name));
            (Reverse(row.durations.sum), category, parent, trace.text(row.kernel), row.stream)
        });
        let table = KernelTable {
            analysis,
            has_operators,
            kernel_time: rows.iter().map(|row| row.durations.sum).sum(),
            total_time: analysis.timeline().map_or(0, |timeline| timeline.total),
        };
        (!rows.is_empty()).then_some((table, rows))
    }
}

/// Kinds of work that kernels belong to.
struct Categories {
    by_operator: HashMap<EventId, OpCategory>,
    graph: OpCategory,
    runtime: OpCategory,
}

impl Categories {
    fn new() -> Self {
        Categories {
            by_operator: HashMap::new(),
            graph: OpCategory::named("graph"),
            runtime: OpCategory::named("runtime"),
        }
    }

    fn category(&mut self, analysis: &Analysis, record: &KernelRecord) -> Option<OpCategory> {
        if analysis.options().conventions.divides_by_kernel() {
            let charged = record.operator.or(record.launch)?;
            return Some(analysis.models().work(analysis.tree(), charged, record.kernel));
        }
        match (record.operator, record.launch) {
            (Some(operator), _) => {
                let category = || match analysis.launchers.event_launcher(operator) {
                    Some(launcher) => analysis.launchers.parts(launcher)[0].category.clone(),
                    None => analysis.models().category(analysis.tree(), operator, None),
                };
                Some(self.by_operator.entry(operator).or_insert_with(category).clone())
            }
            (None, Some(launch)) => {
                let name = analysis.trace().name(launch);
                let is_graph = is_graph_launch(name) || name.to_ascii_lowercase().contains("cudagraph");
                Some(if is_graph { self.graph.clone() } else { self.runtime.clone() })
            }
            (None, None) => None,
        }
    }
}
