//! Host time of operators: a sheet of its own, and what the sheets of operators show of a recording without device work.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::{SortFew, Spread, Summary};
use hashbrown::HashSet;
use operator_sheets::{Figures, KernelList, MissingPeak, nested_parameters};
use sheets::columns::{self, EX_UID, HOST_US, OP_NAME, OPERATION_COUNT};
use sheets::{
    Chart, ChartShape, Column, ColumnKind, Excerpt, Field, Figure, Role, Sheet, Statistics, Unit, shares,
    statistics,
};
use trace_ingest::TrackId;

use crate::analysis::Analysis;
use crate::call_groups::{CallGroup, CallTable, GroupRow, call_stack_fields, key_fields};
use crate::derived::HostOperator;
use crate::models::Evaluation;

/// Time of operators on the host, where it stands in place of kernel time.
pub(crate) const HOST_TOTAL_US: Column = Column::microseconds(
    "host_total_us",
    "Sum of the calls' durations on the host; nested calls count again.",
)
.showing(&[Figure::HostTimes]);
pub(crate) const HOST_SHARE: Column =
    Column::percent("host_percent", "Share of the sum of host_us over all rows.")
        .showing(&[Figure::HostTimes])
        .with_role(Role::Headline);
pub(crate) const HOST_CUMULATIVE: Column =
    Column::percent("host_cumulative_percent", "Running sum of host_percent.").with_role(Role::Headline);

pub(crate) const PERF_PARAMS: Column = Column::nested("perf_params", "Parameters of the model.");
pub(crate) const REASON: Column =
    Column::text("reason", "Reason for missing FLOPs or bytes; empty if both are known.")
        .with_role(Role::Detail);

const SELF_US: Column = HOST_US.named("self_us").described(
    "Host self time, summed over calls: their durations minus those of their direct children on the same thread. \
     Adds up to the durations of the outermost operators.",
);
const SELF_SHARE: Column = HOST_SHARE
    .named("self_percent")
    .showing(&[])
    .described("self_us as a share of its sum over all operators.");
const CALLS: Column = Column::count("calls", "Number of calls of the operator.");
const CALL_TIME: Statistics = statistics!(
    "call_us",
    ColumnKind::Number(Unit::Microseconds),
    "the duration of a call",
    "from its start to its end on the host, including nested operators"
)
.showing(&[Figure::HostTimes]);

/// The calls of one operator.
struct Row<'a> {
    name: &'a str,
    self_time: i64,
    total: i64,
    threads: HashSet<TrackId>,
    durations: Vec<i64>,
    call_us: Spread,
}

/// One row per operator name.
pub(crate) fn sheet<'a>() -> Sheet<'a, Analysis> {
    let fields = [
        OP_NAME.described("Operator as the profiler names it.").field(|row: &Row<'_>| row.name.into()),
        SELF_US.field_in(|analysis: &&Analysis, row: &Row<'_>| analysis.us(row.self_time).into()),
        HOST_TOTAL_US
            .named("total_us")
            .field_in(|analysis: &&Analysis, row: &Row<'_>| analysis.us(row.total).into()),
        CALLS.field(|row: &Row<'_>| row.durations.len().into()),
        Column::count("threads", "Number of host threads that ran the operator.")
            .with_role(Role::Detail)
            .field(|row: &Row<'_>| row.threads.len().into()),
    ];
    let cumulative = HOST_CUMULATIVE
        .named("self_cumulative_percent")
        .described("Sum of self_percent over this row and all above it.");
    let fields = fields
        .into_iter()
        .chain(shares(SELF_SHARE, cumulative, |row: &Row<'_>| row.self_time))
        .chain(CALL_TIME.fields(|row: &Row<'_>| &row.call_us));
    Sheet::with_context(
        "host_ops",
        "Host time by operator, most time first: self and total. On request, or if no operator launched device work or the profiler does not link all work to its launch. Includes waits for a device.",
        fields,
        rows,
    )
    .with_chart(Chart::new("Operators by host time", OP_NAME.name, SELF_US.name, "host time (µs)", ChartShape::Bars(15)))
    .with_excerpt(Excerpt::new(
        10,
        [
            ("operator", OP_NAME),
            ("calls", CALLS),
            ("host self µs", SELF_US),
            ("% of host self time", SELF_SHARE),
            ("host total µs", HOST_TOTAL_US.named("total_us")),
        ],
    ))
}

fn rows(analysis: &Analysis) -> Option<(&Analysis, Vec<Row<'_>>)> {
    if !analysis.shows_host_operators() {
        return None;
    }
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    let mut by_name: BTreeMap<&str, Row<'_>> = BTreeMap::new();
    for &HostOperator { operator, self_time, .. } in analysis.host_operators() {
        let name = trace.text(events.name(operator));
        let row = by_name.entry(name).or_insert_with(|| Row {
            name,
            self_time: 0,
            total: 0,
            threads: HashSet::new(),
            durations: Vec::new(),
            call_us: Spread::default(),
        });
        row.self_time += self_time;
        row.total += events.duration(operator);
        row.threads.insert(events.track(operator));
        row.durations.push(events.duration(operator));
    }
    let unit = trace.time_unit().per_microsecond() as f64;
    let mut rows: Vec<Row<'_>> = by_name
        .into_values()
        .map(|row| {
            let call_us =
                Summary::from_values(&row.durations).map(|summary| summary.spread(unit)).unwrap_or_default();
            Row { call_us, ..row }
        })
        .collect();
    // Stable: rows of equal time stay in the order of their names.
    rows.sort_few_by_key(|row| Reverse(row.self_time));
    (!rows.is_empty()).then_some((analysis, rows))
}

/// The calls of one operator with the same arguments.
struct GroupedRow<'a> {
    group: CallGroup<'a, HostOperator>,
    /// What the model says of the first call.
    evaluation: &'a Evaluation,
    figures: Option<Figures>,
    host_time: i64,
    total: i64,
    call_us: Spread,
    /// Without any position: nothing ran on a device.
    kernels: KernelList,
}

impl GroupRow for GroupedRow<'_> {
    type Call = HostOperator;

    fn group(&self) -> &CallGroup<'_, HostOperator> {
        &self.group
    }

    fn kernels(&self) -> &KernelList {
        &self.kernels
    }
}

/// What `unified_perf_summary` shows of a recording without device work: one row per operator and arguments.
pub(crate) fn sheet_by_arguments<'a>() -> Sheet<'a, Analysis> {
    let mut fields: Vec<Field<CallTable<'a>, GroupedRow<'a>>> = key_fields(OP_NAME, columns::NUM_KERNELS);
    fields.extend([
        EX_UID.field_in(|table: &CallTable<'_>, row: &GroupedRow<'_>| {
            table.analysis.trace().events().uid(row.group.first()).into()
        }),
        HOST_US
            .field_in(|table: &CallTable<'_>, row: &GroupedRow<'_>| table.analysis.us(row.host_time).into()),
        HOST_TOTAL_US
            .field_in(|table: &CallTable<'_>, row: &GroupedRow<'_>| table.analysis.us(row.total).into()),
        OPERATION_COUNT.field(|row: &GroupedRow<'_>| row.group.calls.len().into()),
        columns::GFLOPS.field(|row: &GroupedRow<'_>| row.figures.as_ref().map(Figures::gflops).into()),
        columns::DATA_MOVED
            .field(|row: &GroupedRow<'_>| row.figures.as_ref().and_then(Figures::mebibytes).into()),
        columns::FLOPS_PER_BYTE
            .field(|row: &GroupedRow<'_>| row.figures.as_ref().and_then(Figures::intensity).into()),
        PERF_PARAMS.field(|row: &GroupedRow<'_>| {
            row.evaluation.as_ref().ok().map(|evaluated| nested_parameters(&evaluated.parameters)).into()
        }),
        REASON.field(|row: &GroupedRow<'_>| reason(row.evaluation).into()),
    ]);
    fields.extend(shares(HOST_SHARE, HOST_CUMULATIVE, |row: &GroupedRow<'_>| row.host_time));
    fields.extend(CALL_TIME.fields(|row: &GroupedRow<'_>| &row.call_us));
    fields.extend(call_stack_fields());
    Sheet::with_context("host operators by arguments", "", fields, grouped_rows)
}

/// Why FLOPs or bytes are missing.
fn reason(evaluation: &Evaluation) -> Option<String> {
    let undefined = match evaluation {
        Err(undefined) => Some(undefined),
        Ok(evaluated) => evaluated.forward.undefined(),
    };
    undefined.map(ToString::to_string)
}

fn grouped_rows<'a>(analysis: &'a Analysis) -> Option<(CallTable<'a>, Vec<GroupedRow<'a>>)> {
    if !analysis.is_host_only() {
        return None;
    }
    let mut table = CallTable::new(analysis, false);
    let events = analysis.trace().events();
    let row = |group: CallGroup<'a, HostOperator>| {
        let evaluation = analysis.models().evaluate(analysis.tree(), group.first());
        let host_time = group.calls.iter().map(|call| call.self_time).sum();
        let work = evaluation.as_ref().ok().map(|evaluated| &evaluated.forward);
        let figures = work
            .and_then(|work| Figures::new(work, None, analysis.us(host_time), None, MissingPeak::NoRoofline));
        let durations = group.calls.iter().map(|call| events.duration(call.operator));
        GroupedRow {
            evaluation,
            figures,
            host_time,
            total: durations.clone().sum(),
            call_us: Spread::from_values(durations.map(|duration| Some(analysis.us(duration)))),
            kernels: group.kernels(analysis),
            group,
        }
    };
    let mut rows: Vec<_> = table.group(analysis.host_operators().iter()).into_iter().map(row).collect();
    rows.sort_few_by_key(|row| Reverse(row.host_time));
    Some((table, rows))
}
