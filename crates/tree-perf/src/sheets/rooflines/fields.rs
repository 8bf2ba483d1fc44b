//! The columns of a sheet of a family.

use gpu_timeline::Spread;
use operator_sheets::columns::{self, KERNEL_TIME, PCT_ROOFLINE, TB_PER_S, TFLOPS_PER_S, overlap};
use operator_sheets::{Figures, KernelList, nested_argument};
use perf_models::ComputeSpec;
use sheets::{Column, Field};
use trace_ingest::{ArgumentId, Sequence, Signature};

use crate::call_groups::{CallTable, kernel_fields, overlap_fields, place_fields};
use crate::call_overlap::OverlapFigures;

use super::groups::{self, Group};

/// A row of the sheet.
pub(super) struct Row<'a> {
    group: Group,
    /// Id of the names of process and thread of the first call.
    place: u32,
    /// What the figures assume.
    note: Option<&'a str>,
    tb_per_s: Spread,
    tflops_per_s: Spread,
    percent_of_roofline: Spread,
    kernel_us: Spread,
    kernels: KernelList,
    overlaps: OverlapFigures,
}

impl<'a> Row<'a> {
    pub(super) fn new(table: &mut CallTable<'a>, group: Group) -> Self {
        let (analysis, calls) = (table.analysis, group.rows.iter());
        let spread =
            |figure: fn(&Figures) -> Option<f64>| Spread::of(calls.clone().map(|call| figure(&call.figures)));
        let device_events = calls.clone().map(|call| call.device_events.as_slice());
        Row {
            place: table.places.id(analysis.trace().events().track(group.rows[0].operator)),
            note: calls.clone().find_map(|call| call.evaluated(analysis)?.assumption.as_deref()),
            tb_per_s: spread(Figures::tb_per_s),
            tflops_per_s: spread(Figures::tflops_per_s),
            percent_of_roofline: spread(Figures::percent_of_roofline),
            kernel_us: spread(|figures| Some(figures.time_us)),
            kernels: KernelList::of_events(analysis.trace(), device_events),
            overlaps: OverlapFigures::new(analysis, calls.clone().map(|call| &call.overlap.1)),
            group,
        }
    }

    fn first(&self) -> &groups::Row {
        &self.group.rows[0]
    }

    /// A figure of the first call that has it.
    fn figure<T>(&self, value: impl Fn(&Figures) -> Option<T>) -> Option<T> {
        self.group.rows.iter().find_map(|call| value(&call.figures))
    }
}

pub(super) fn fields<'a>() -> Vec<Field<CallTable<'a>, Row<'a>>> {
    let argument = |column: Column, part: fn(Signature) -> Option<ArgumentId>| {
        column.field_in(move |table: &CallTable<'_>, row: &Row<'_>| {
            let trace = table.analysis.trace();
            let argument = row.group.rows.iter().find_map(|call| trace.argument(call.operator, part));
            argument.map(|argument| nested_argument(argument, Sequence::List)).into()
        })
    };
    let mut fields = vec![
        columns::OP_NAME.field_in(|table: &CallTable<'_>, row: &Row<'_>| {
            table.analysis.trace().name(row.first().operator).into()
        }),
        overlap::NAMES
            .named("overlapping_kernel_names_first")
            .field_in(|table: &CallTable<'_>, row: &Row<'_>| table.names(row.first().overlap.0))
            .when(CallTable::with_overlap),
        Field::each(
            Column::text(
                "param: …",
                "A parameter of the family's model, such as M, N, K of a matrix product; one column per parameter, and calls are grouped by all of them.",
            ),
            |table: &CallTable<'_>| table.parameters.iter().map(|name| format!("param: {name}")).collect(),
            |_, row: &Row<'_>, position| row.group.parameters[position].as_deref().into(),
        ),
        columns::NUM_KERNELS
            .field(|row: &Row<'_>| row.first().device_events.len().into())
            .when(CallTable::by_num_kernels),
        columns::IS_RECOMPUTE
            .field_in(|table: &CallTable<'_>, row: &Row<'_>| {
                table.analysis.is_recompute(row.first().operator).into()
            })
            .when(CallTable::detects_recompute),
        columns::GFLOPS.named("GFLOPS_first").field(|row: &Row<'_>| row.first().figures.gflops().into()),
        columns::DATA_MOVED
            .named("Data Moved (MB)_first")
            .field(|row: &Row<'_>| row.figure(Figures::mebibytes).into()),
        columns::FLOPS_PER_BYTE
            .named("FLOPS/Byte_first")
            .field(|row: &Row<'_>| row.figure(Figures::intensity).into()),
    ];
    fields.extend(TB_PER_S.fields(|row: &Row<'_>| &row.tb_per_s));
    fields.extend(TFLOPS_PER_S.fields(|row: &Row<'_>| &row.tflops_per_s));
    let roofline = [
        columns::ROOFLINE_TIME
            .field(|row: &Row<'_>| row.figure(|figures| Some(figures.roofline?.time_us())).into()),
        columns::ROOFLINE_BOUND
            .named("Roofline Bound_first")
            .field(|row: &Row<'_>| row.figure(|figures| Some(figures.roofline?.bound().to_string())).into()),
    ];
    let roofline = roofline.into_iter().chain(PCT_ROOFLINE.fields(|row: &Row<'_>| &row.percent_of_roofline));
    fields.extend(place_fields(
        [
            columns::PROCESS_NAME.named("process_name_first"),
            columns::PROCESS_LABEL.named("process_label_first"),
            columns::THREAD_NAME.named("thread_name_first"),
        ],
        |row: &Row<'_>| row.place,
    ));
    fields.extend([columns::COMPUTE_SPEC.field(|row: &Row<'_>| {
        row.figure(|figures| figures.spec.as_ref().map(ComputeSpec::to_string)).into()
    })]);
    fields.extend(roofline.map(|field| field.when(CallTable::with_architecture)));
    fields.extend(kernel_fields(
        columns::KERNEL_DETAILS.named("kernel_details__summarize_kernel_stats"),
        columns::KERNEL_DETAILS_SHORT,
        |row: &Row<'_>| &row.kernels,
    ));
    fields.extend(overlap_fields(
        overlap::DETAILS.named("overlapping_kernels_details__summarize_kernel_stats"),
        overlap::ROUNDED_SHARE,
        |row: &Row<'_>| &row.overlaps,
    ));
    fields.extend([
        argument(columns::INPUT_DIMS.named("Input Dims_first"), |signature| signature.dims),
        argument(columns::INPUT_TYPE.named("Input type_first"), |signature| signature.types),
        argument(columns::INPUT_STRIDES.named("Input Strides_first"), |signature| signature.strides),
        argument(columns::CONCRETE_INPUTS.named("Concrete Inputs_first"), |signature| signature.concrete),
    ]);
    fields.extend(KERNEL_TIME.fields(|row: &Row<'_>| &row.kernel_us));
    fields.extend([
        columns::KERNEL_TIME_SUM
            .described("Sum over calls of the kernel time in µs. A wrapper and the operator inside it are rows of their own with the same kernels: do not add rows up, see unified_perf_summary for that.")
            .field_in(|table: &CallTable<'_>, row: &Row<'_>| table.analysis.us(row.group.time()).into()),
        Column::count("name_count", "Calls of the row.")
            .field(|row: &Row<'_>| row.group.rows.len().into()),
        Column::identifier("UID_first", "Index in the trace's event list of the first call.")
            .field_in(|table: &CallTable<'_>, row: &Row<'_>| {
                table.analysis.trace().events().uid(row.first().operator).into()
            }),
        Column::flag(
            "nested",
            "Whether all calls of the row lie inside other calls of the same sheet, such as aten::native_layer_norm inside aten::layer_norm: their kernels are those of the outer calls, and sums over the sheet have to leave the row out.",
        )
        .field(|row: &Row<'_>| (row.group.nested == row.group.rows.len()).into()),
        Column::count(
            "nested_count",
            "Calls of the row that lie inside other calls of the same sheet; where an operator calls itself, such as an overload of aten::upsample_nearest2d by another, Kernel Time (µs)_sum counts the kernels of both.",
        )
        .field(|row: &Row<'_>| row.group.nested.into()),
        columns::NOTE.field(|row: &Row<'_>| row.note.into()),
    ]);
    fields
}
