//! Every device event once, under the operator that accounts for it, with the figures of its model.

use gpu_timeline::Spread;
use operator_sheets::{CallFigures, Evaluated, KernelList, absence, nested_parameters};
use perf_models::Undefined;
use sheets::columns::{
    self, EX_UID, KERNEL_TIME, OPERATION_COUNT, PCT_ROOFLINE, TB_PER_S, TFLOPS_PER_S, overlap,
};
use sheets::names::UNIFIED_PERF_SUMMARY;
use sheets::{Absence, Column, ColumnKind, Field, Figure, Role, Sheet, Statistics, Unit, shares, statistics};
use trace_ingest::EventId;

use crate::analysis::Analysis;
use crate::call_groups::{
    CallGroup, CallTable, GroupRow, call_stack_fields, kernel_fields, key_fields, overlap_fields,
    overlapping_names,
};
use crate::call_overlap::OverlapFigures;
use crate::derived::UnifiedRow;
use crate::other_run::{OtherTimes, other_run_fields};
use crate::sheets::host_ops::{PERF_PARAMS, REASON, sheet_by_arguments};
use crate::unified::unified_groups;

const HOST_TIME: Statistics = statistics!(
    "duration_us",
    ColumnKind::Number(Unit::Microseconds),
    "the host time",
    "duration of the operator on the host"
)
.showing(&[Figure::HostTimes]);

struct Row<'a> {
    group: CallGroup<'a, UnifiedRow>,
    /// Answers of the model, where there are figures.
    evaluated: Option<&'a Evaluated>,
    time: i64,
    host_us: Spread,
    figures: CallFigures,
    kernel_us: Spread,
    kernels: KernelList,
    overlaps: OverlapFigures,
    other: OtherTimes<'a>,
}

impl GroupRow for Row<'_> {
    type Call = UnifiedRow;

    fn group(&self) -> &CallGroup<'_, UnifiedRow> {
        &self.group
    }

    fn kernels(&self) -> &KernelList {
        &self.kernels
    }
}

/// One row per operator and arguments.
pub(crate) fn sheet<'a>() -> Sheet<'a, Analysis> {
    Sheet::with_context(
        UNIFIED_PERF_SUMMARY,
        "Every device event once, under the operator that accounts for it: the outermost with a performance model, else the one that launched it. Includes FLOPs, bytes, achieved rates and distance from the roofline if modeled. Without device work, every operator with its host time.",
        fields(),
        |analysis| rows(analysis, false),
    ).with_sums_showing(&[Figure::Unified])
    .or(sheet_by_arguments())
}

/// The same, with calls distinguished by what ran beside them.
pub(crate) fn sheet_with_overlap<'a>() -> Sheet<'a, Analysis> {
    Sheet::with_context(
        "unified_perf_summary_kl_overlap",
        "unified_perf_summary split by concurrent kernels on other streams; only if overlap is requested.",
        fields(),
        |analysis: &Analysis| analysis.options().include_overlap_info.then(|| rows(analysis, true))?,
    )
    .with_sums_showing(&[Figure::Unified])
}

fn rows<'a>(analysis: &'a Analysis, with_overlap: bool) -> Option<(CallTable<'a>, Vec<Row<'a>>)> {
    if analysis.is_gpu_only() || analysis.unified_rows().is_empty() {
        return None;
    }
    let (table, groups) = unified_groups(analysis, with_overlap);
    let row = |group: CallGroup<'a, UnifiedRow>| Row {
        evaluated: group.calls.iter().find_map(|row| row.figures.and(row.evaluated(analysis))),
        time: group.time(),
        host_us: group.spread(|row| host_time(analysis, row).map(|time| analysis.us(time))),
        figures: CallFigures::new(group.calls.iter().filter_map(|row| row.figures.as_ref())),
        kernel_us: group.spread(|row| Some(analysis.us(row.time))),
        kernels: group.kernels(analysis),
        overlaps: OverlapFigures::new(analysis, group.overlaps()),
        other: OtherTimes::new(
            analysis.other_run(),
            analysis.trace(),
            group.calls.iter().flat_map(|row| row.charged.device_events.iter().copied()),
            analysis.us(group.time()),
        ),
        group,
    };
    Some((table, groups.into_iter().map(row).collect()))
}

fn fields<'a>() -> Vec<Field<CallTable<'a>, Row<'a>>> {
    let mut fields = key_fields(
        columns::OP_NAME.described("Operator; <operator>-><kernel> (Synthetic Op) for a device event not covered by its operator's rows."),
        columns::NUM_KERNELS);
    fields.insert(1, overlapping_names());
    fields.extend([
        EX_UID.field_in(|table: &CallTable<'_>, row: &Row<'_>| {
            table.analysis.trace().events().uid(row.group.first()).into()
        }),
        OPERATION_COUNT.field(|row: &Row<'_>| row.group.calls.len().into()),
        Column::microseconds(
            "total_duration_us",
            "Host time of the operator, summed over calls (in rows of individual device events, over device events); 0 for pseudo operators inserted around a kernel. Empty for operators of captured graphs, which the host does not run in a replay.",
        ).showing(&[Figure::HostTimes]).with_role(Role::Detail)
        .field_in(|table: &CallTable<'_>, row: &Row<'_>| total_host_us(table.analysis, &row.group).into()),
        HOST_TIME.mean.named("mean_duration_us").with_role(Role::Detail).field(|row: &Row<'_>| row.host_us.mean.into()),
        HOST_TIME.std.named("std_duration_us").showing(&[]).field(|row: &Row<'_>| row.host_us.std.into())
            .because(|_, row| Absence::of_deviation(&row.host_us)),
        modelled(columns::GFLOPS.field(|row: &Row<'_>| row.figures.gflops.into())),
        modelled(columns::DATA_MOVED.field(|row: &Row<'_>| row.figures.mebibytes.into())),
        modelled(columns::FLOPS_PER_BYTE.field(|row: &Row<'_>| row.figures.intensity.into())),
        modelled(columns::COMPUTE_SPEC.field(|row: &Row<'_>| row.figures.spec_text().into())),
        modelled(columns::ROOFLINE_BOUND
            .field(|row: &Row<'_>| row.figures.roofline.map(|roofline| roofline.bound().to_string()).into()))
            .when(CallTable::with_architecture),
        // Mean and deviation of the rates stand before the rest, as the table has always had them.
        modelled(TB_PER_S.mean.field(|row: &Row<'_>| row.figures.tb_per_s.mean.into())),
        modelled(TB_PER_S.std.field(|row: &Row<'_>| row.figures.tb_per_s.std.into())
            .because(|_, row| Absence::of_deviation(&row.figures.tb_per_s))),
        modelled(TFLOPS_PER_S.mean.field(|row: &Row<'_>| row.figures.tflops_per_s.mean.into())),
        modelled(TFLOPS_PER_S.std.field(|row: &Row<'_>| row.figures.tflops_per_s.std.into())
            .because(|_, row| Absence::of_deviation(&row.figures.tflops_per_s))),
        KERNEL_TIME.mean.field(|row: &Row<'_>| row.kernel_us.mean.into()),
        KERNEL_TIME.std.field(|row: &Row<'_>| row.kernel_us.std.into())
            .because(|_, row| Absence::of_deviation(&row.kernel_us)),
        columns::KERNEL_TIME_SUM
            .described("Sum over calls of the kernel time. Every device event with a launch in the trace is in one row, so the column adds up.")
            .field_in(|table: &CallTable<'_>, row: &Row<'_>| table.analysis.us(row.time).into()),
    ]);
    let is_compared = |table: &CallTable<'_>| table.analysis.other_run().is_some();
    let compared_fields = other_run_fields(|row: &Row<'_>| &row.other).into_iter();
    fields.extend(compared_fields.map(|field| field.when(is_compared)));
    fields.extend([
        HOST_TIME.median.field(|row: &Row<'_>| row.host_us.median.into()),
        HOST_TIME.min.field(|row: &Row<'_>| row.host_us.min.into()),
        HOST_TIME.max.field(|row: &Row<'_>| row.host_us.max.into()),
        modelled(TB_PER_S.median.field(|row: &Row<'_>| row.figures.tb_per_s.median.into())),
        modelled(TB_PER_S.min.field(|row: &Row<'_>| row.figures.tb_per_s.min.into())),
        modelled(TB_PER_S.max.field(|row: &Row<'_>| row.figures.tb_per_s.max.into())),
        modelled(TFLOPS_PER_S.median.field(|row: &Row<'_>| row.figures.tflops_per_s.median.into())),
        modelled(TFLOPS_PER_S.min.field(|row: &Row<'_>| row.figures.tflops_per_s.min.into())),
        modelled(TFLOPS_PER_S.max.field(|row: &Row<'_>| row.figures.tflops_per_s.max.into())),
        modelled(
            columns::ROOFLINE_TIME
                .field(|row: &Row<'_>| row.figures.roofline.map(|roofline| roofline.time_us()).into()),
        )
        .when(CallTable::with_architecture),
    ]);
    let percent_of_roofline = PCT_ROOFLINE.fields(|row: &Row<'_>| &row.figures.percent_of_roofline);
    fields.extend(percent_of_roofline.map(|field| modelled(field).when(CallTable::with_architecture)));
    fields.extend([
        KERNEL_TIME.median.field(|row: &Row<'_>| row.kernel_us.median.into()),
        KERNEL_TIME.min.field(|row: &Row<'_>| row.kernel_us.min.into()),
        KERNEL_TIME.max.field(|row: &Row<'_>| row.kernel_us.max.into()),
    ]);
    fields.extend(kernel_fields(columns::KERNEL_DETAILS, columns::KERNEL_DETAILS_SHORT, |row: &Row<'_>| {
        &row.kernels
    }));
    fields.extend(overlap_fields(overlap::DETAILS, overlap::ROUNDED_SHARE, |row: &Row<'_>| &row.overlaps));
    fields.extend([
        PERF_PARAMS.field(|row: &Row<'_>| {
            row.evaluated.map(|evaluated| nested_parameters(&evaluated.parameters)).into()
        }),
        Column::flag(
            "has_perf_model",
            "Whether a performance model covers the operator: its own, or the forward operator's if this is its only backward operator.",
        )
        .field(|row: &Row<'_>| row.group.calls[0].has_model().into()),
        REASON.field_in(|table: &CallTable<'_>, row: &Row<'_>| {
                undefined(table, row).map(|undefined| undefined.to_string()).into()
            }),
        columns::NOTE.field_in(|table: &CallTable<'_>, row: &Row<'_>| {
            row.group.calls.iter().find_map(|call| call.note(table.analysis)).into()
        }),
    ]);
    fields.extend(call_stack_fields());
    fields.extend(shares(columns::SHARE_OF_KERNEL_TIME, columns::CUMULATIVE, |row: &Row<'_>| row.time));
    fields
}

/// A figure of a model, with the reason where there is none.
fn modelled<'a>(field: Field<CallTable<'a>, Row<'a>>) -> Field<CallTable<'a>, Row<'a>> {
    field.because(|table, row| undefined(table, row).map(absence))
}

/// Why a row has no figures, or not all of them.
fn undefined(table: &CallTable<'_>, row: &Row<'_>) -> Option<Undefined> {
    row.group.calls.iter().find_map(|call| call.undefined(table.analysis))
}

/// Time that the operator took on the host; `None` for one that was inserted around a device event (it has the
/// correlation id of that, and no span of its own), and for one of a captured graph, which the host did not run.
fn host_time(analysis: &Analysis, row: &UnifiedRow) -> Option<i64> {
    let operator = row.charged.operator;
    let ran = !is_around_device_event(analysis, operator) && !is_in_capture(analysis, operator);
    ran.then(|| analysis.trace().events().duration(operator))
}

/// Sum of [`host_time`]; `None` if all calls of the row ran when a graph was captured.
fn total_host_us(analysis: &Analysis, group: &CallGroup<'_, UnifiedRow>) -> Option<f64> {
    let ran = group.calls.iter().any(|row| !is_in_capture(analysis, row.charged.operator));
    ran.then(|| analysis.us(group.calls.iter().filter_map(|row| host_time(analysis, row)).sum()))
}

fn is_around_device_event(analysis: &Analysis, operator: EventId) -> bool {
    let is_inserted = analysis.tree().is_pseudo_operator(operator);
    is_inserted && analysis.trace().events().external_id(operator).is_some()
}

/// Whether the operator, or the one that it was inserted for, ran when a graph was captured.
fn is_in_capture(analysis: &Analysis, operator: EventId) -> bool {
    let tree = analysis.tree();
    let is_inserted = tree.is_pseudo_operator(operator) && !is_around_device_event(analysis, operator);
    let around = tree.parent(operator).filter(|_| is_inserted);
    tree.is_captured(around.unwrap_or(operator))
}
