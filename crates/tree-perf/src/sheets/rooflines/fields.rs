//! The columns of a sheet of a family.

use gpu_timeline::Spread;
use operator_sheets::{
    CallFigures, KernelList, absence, nested_argument, rate_fields, roofline_fields, work_fields,
};
use sheets::columns::{self, KERNEL_TIME, overlap};
use sheets::{Absence, Column, Field, Role};
use trace_ingest::{ArgumentId, Sequence, Signature};

use crate::call_groups::{CallTable, kernel_fields, overlap_fields, place_fields};
use crate::call_overlap::OverlapFigures;

use super::groups::{self, Group};

/// A row of the sheet.
pub(super) struct Row {
    group: Group,
    /// Id of the names of process and thread of the first call.
    place: u32,
    /// What there is to say of the figures.
    note: Option<String>,
    figures: CallFigures,
    kernel_us: Spread,
    kernels: KernelList,
    overlaps: OverlapFigures,
}

impl Row {
    pub(super) fn new(table: &mut CallTable<'_>, group: Group) -> Self {
        let (analysis, calls) = (table.analysis, group.rows.iter());
        let device_events = calls.clone().map(|call| call.device_events.as_slice());
        Row {
            place: table.places.id(analysis.trace().events().track(group.rows[0].operator)),
            note: calls.clone().find_map(|call| call.note(analysis)),
            figures: CallFigures::new(calls.clone().map(|call| &call.figures)),
            kernel_us: Spread::from_values(calls.clone().map(|call| Some(call.figures.time_us))),
            kernels: KernelList::from_events(analysis.trace(), device_events),
            overlaps: OverlapFigures::new(analysis, calls.clone().map(|call| &call.overlap.1)),
            group,
        }
    }

    fn first(&self) -> &groups::Row {
        &self.group.rows[0]
    }
}

/// Why a row has no bytes.
fn gap(table: &CallTable<'_>, row: &Row) -> Option<Absence> {
    row.group.rows.iter().find_map(|call| call.undefined(table.analysis)).cloned().map(absence)
}

pub(super) fn fields<'a>() -> Vec<Field<CallTable<'a>, Row>> {
    let argument = |column: Column, part: fn(Signature) -> Option<ArgumentId>| {
        column.field_in(move |table: &CallTable<'_>, row: &Row| {
            let trace = table.analysis.trace();
            let argument = row.group.rows.iter().find_map(|call| trace.argument(call.operator, part));
            argument.map(|argument| nested_argument(argument, Sequence::List)).into()
        })
    };
    let mut fields = vec![
        columns::OP_NAME.field_in(|table: &CallTable<'_>, row: &Row| {
            table.analysis.trace().name(row.first().operator).into()
        }),
        overlap::NAMES
            .named("overlapping_kernel_names_first")
            .distinguishing()
            .field_in(|table: &CallTable<'_>, row: &Row| table.names(row.first().overlap.0))
            .when(CallTable::with_overlap),
        Field::each(
            Column::text(
                "param: …",
                "Parameter of the performance model, such as M, N, K of a matmul; one column each. Calls are grouped by all of them.",
            ).with_role(Role::Detail).distinguishing(),
            |table: &CallTable<'_>| table.parameters.iter().map(|name| format!("param: {name}")).collect(),
            |_, row: &Row, position| row.group.parameters[position].as_deref().into(),
        ),
        columns::NUM_KERNELS
            .distinguishing()
            .field(|row: &Row| row.first().device_events.len().into())
            .when(CallTable::by_num_kernels),
        columns::IS_RECOMPUTE
            .distinguishing()
            .field_in(|table: &CallTable<'_>, row: &Row| {
                table.analysis.is_recompute(row.first().operator).into()
            })
            .when(CallTable::detects_recompute),
    ];
    fields.extend(work_fields(columns::WORK_OF_FIRST, |row: &Row| &row.figures, gap));
    fields.extend(rate_fields(|row: &Row| &row.figures, gap));
    fields.extend(place_fields(
        [
            columns::PROCESS_NAME.named("process_name_first"),
            columns::PROCESS_LABEL.named("process_label_first"),
            columns::THREAD_NAME.named("thread_name_first"),
        ],
        |row: &Row| row.place,
    ));
    fields.extend(roofline_fields(CallTable::with_architecture, |row: &Row| &row.figures, gap));
    fields.extend(kernel_fields(
        columns::KERNEL_DETAILS.named("kernel_details__summarize_kernel_stats"),
        columns::KERNEL_DETAILS_SHORT,
        |row: &Row| &row.kernels,
    ));
    fields.extend(overlap_fields(
        overlap::DETAILS.named("overlapping_kernels_details__summarize_kernel_stats"),
        overlap::ROUNDED_SHARE,
        |row: &Row| &row.overlaps,
    ));
    let [dims, types, strides, concrete] = columns::ARGUMENTS_OF_FIRST;
    fields.extend([
        argument(dims, |signature| signature.dims),
        argument(types, |signature| signature.types),
        argument(strides, |signature| signature.strides),
        argument(concrete, |signature| signature.concrete),
    ]);
    fields.extend(KERNEL_TIME.fields(|row: &Row| &row.kernel_us));
    fields.extend([
        columns::KERNEL_TIME_SUM
            .described("Sum over calls of the kernel time. A wrapper and the operator inside it each have a row with the same kernels: for sums, use unified_perf_summary.")
            .field_in(|table: &CallTable<'_>, row: &Row| table.analysis.us(row.group.time()).into()),
        columns::NAME_COUNT
            .field(|row: &Row| row.group.rows.len().into()),
        Column::identifier("UID_first", "Index of the first call in the file's event list.")
            .field_in(|table: &CallTable<'_>, row: &Row| {
                table.analysis.trace().events().uid(row.first().operator).into()
            }),
        Column::flag(
            "nested",
            "Whether all calls of the row are nested in other calls of the same sheet, such as aten::native_layer_norm in aten::layer_norm: their kernels also count toward the outer calls, so sums over the sheet must exclude the row.",
        )
        .field(|row: &Row| (row.group.nested == row.group.rows.len()).into()),
        Column::count(
            "nested_count",
            "Number of the row's calls nested in other calls of the same sheet; if an operator calls itself (as one overload of aten::upsample_nearest2d calls another), Kernel Time (µs)_sum counts the inner call's kernels twice.",
        ).with_role(Role::Detail)
        .field(|row: &Row| row.group.nested.into()),
        columns::NOTE.field(|row: &Row| row.note.as_deref().into()),
    ]);
    fields
}
