//! Instructions: by kind of work, by kind of name, and one by one with their figures.

use std::collections::BTreeSet;

use operator_sheets::per_iteration;
use sheets::ColumnKind::{Count, Number};
use sheets::Unit::{Microseconds, Milliseconds};
use sheets::columns::{
    CUMULATIVE, DATA_MOVED, FLOPS_PER_BYTE, GFLOPS, KERNEL_DETAILS, KERNEL_DETAILS_SHORT,
    SHARE_OF_KERNEL_TIME,
};
use sheets::names;
use sheets::{Cell, Chart, ChartShape, Column, Excerpt, Field, Role, Sheet, Statistics, shares, statistics};
use trace_ingest::Picoseconds;

use super::call_groups::{
    CATEGORY, CallGroup, INSTRUCTION, OperatorContext, OperatorRow, STEM, call_groups, module_field,
    note_field, rate_fields, roofline_fields, warm_up_fields, work_fields,
};
use super::kernels::{EX_UID, INPUT_DIMS, INPUT_STRIDES, INPUT_TYPE};
use crate::IndexSet;
use crate::analysis::JaxAnalysis;
use crate::operators::{Record, number_tuples, stem, text_list, text_tuple};
use crate::sheet::{gpu_sheet, unless_empty};

const CALLS: Column = Column::new(
    "Count",
    Count,
    "Number of calls: executions of an instruction, each with all kernels it launched.",
);
const DIRECT_MS: Column = Column::new(
    "total_direct_kernel_time_ms",
    Number(Milliseconds),
    "Kernel time: union of kernel spans per call of an instruction, summed over calls on all GPUs.",
)
.with_role(Role::Headline);
const DIRECT_TIME: Statistics = statistics!(
    "total_direct_kernel_time",
    Number(Microseconds),
    "the kernel time in µs",
    "the union of a call's kernel spans"
);

/// The sheets of instructions of all kinds, in order.
pub(super) fn operator_sheets<'a>() -> [Sheet<'a, JaxAnalysis>; 3] {
    [by_category(), by_name(), one_by_one()]
}

/// Calls of a row of a summary.
struct Sum<'a> {
    group: CallGroup<'a>,
    time: Picoseconds,
}

fn sums<'a, K: Eq + std::hash::Hash>(analysis: &'a JaxAnalysis, key: impl Fn(usize) -> K) -> Vec<Sum<'a>> {
    let groups = call_groups(analysis, |call| Some(key(call.operator)));
    groups.into_iter().map(|group| Sum { time: group.time(), group }).collect()
}

fn sum_fields<'a>() -> impl Iterator<Item = Field<&'a JaxAnalysis, Sum<'a>>> {
    let fields = [
        CALLS.field(|row: &Sum<'_>| row.group.calls.len().into()),
        Column::count("num_kernels", "Number of kernels in these calls.").field(|row: &Sum<'_>| {
            row.group.calls.iter().map(|call| call.kernels.len()).sum::<usize>().into()
        }),
        DIRECT_MS.field(|row: &Sum<'_>| row.time.to_milliseconds().into()),
        per_iteration(&[], |row: &Sum<'_>| row.time.0 as f64),
    ];
    fields.into_iter().chain(shares(SHARE_OF_KERNEL_TIME, CUMULATIVE, |row: &Sum<'_>| row.time.0))
}

fn by_category<'a>() -> Sheet<'a, JaxAnalysis> {
    let category = CATEGORY.field_in(|analysis: &&JaxAnalysis, row: &Sum<'_>| {
        row.group.operator(analysis).category.as_str().into()
    });
    gpu_sheet(
        names::OPS_SUMMARY_BY_CATEGORY,
        "Kernel time by kind of work of the instructions, most time first; including copies and fills.",
        std::iter::once(category).chain(sum_fields()),
        |analysis: &'a JaxAnalysis| {
            sums(analysis, |operator| analysis.operators()[operator].category.as_str())
        },
    )
    .with_chart(Chart::new(
        "Kernel time by kind of work",
        CATEGORY.name,
        DIRECT_MS.name,
        "kernel time (ms)",
        ChartShape::Bars(16),
    ))
    .with_excerpt(excerpt(6, "category", CATEGORY))
}

/// One row per name without number.
fn by_name<'a>() -> Sheet<'a, JaxAnalysis> {
    let fields = [
        STEM.field_in(|analysis: &&JaxAnalysis, row: &Sum<'_>| row.group.name(analysis).into()),
        Column::names("Categories", "Categories of these instructions, in alphabetical order.").field_in(
            |analysis: &&JaxAnalysis, row: &Sum<'_>| {
                let call_categories = row.group.calls.iter();
                let call_categories =
                    call_categories.map(|call| analysis.operators()[call.operator].category.as_str());
                text_list(call_categories.collect::<BTreeSet<_>>()).into()
            },
        ),
        Column::count("instructions", "Number of instructions with this name, ignoring numbers.")
            .field(|row: &Sum<'_>| row.group.instructions().into()),
    ];
    gpu_sheet(
        names::OPS_SUMMARY,
        "Kernel time by kind of instruction, most time first; including copies and fills.",
        fields.into_iter().chain(sum_fields()),
        |analysis: &'a JaxAnalysis| sums(analysis, |operator| stem(&analysis.operators()[operator].name)),
    )
    .with_chart(Chart::new(
        "Kernel time by kind of instruction",
        STEM.name,
        DIRECT_MS.name,
        "kernel time (ms)",
        ChartShape::Bars(15),
    ))
    .with_excerpt(excerpt(10, "instruction", STEM))
}

fn excerpt(rows: usize, header: &'static str, name: Column) -> Excerpt {
    Excerpt::new(
        rows,
        [
            (header, name),
            ("calls", CALLS),
            ("kernel ms", DIRECT_MS),
            ("% of kernel time", SHARE_OF_KERNEL_TIME),
        ],
    )
}

/// One row per instruction of a program.
fn one_by_one<'a>() -> Sheet<'a, JaxAnalysis> {
    let mut fields = vec![
        INSTRUCTION.field(|row: &OperatorRow<'_>| row.operator.name.as_str().into()),
        module_field(),
        Column::text("program_id", "Program ID in the profile.").with_role(Role::Provenance).field(|row: &OperatorRow<'_>| {
            row.operator.program.and_then(|program| program.id).map(|id| id.to_string()).into()
        }),
        CATEGORY.field(|row: &OperatorRow<'_>| row.operator.category.as_str().into()),
        INPUT_DIMS.distinguishing().field(|row: &OperatorRow<'_>| record(row, |record| number_tuples(&record.dims).into())),
        INPUT_TYPE.distinguishing().field(|row: &OperatorRow<'_>| record(row, |record| text_tuple(&record.types).into())),
        INPUT_STRIDES.distinguishing().field(|row: &OperatorRow<'_>| record(row, |record| number_tuples(&record.strides).into())),
        Column::text("Output", "Shape of the result.").with_role(Role::Detail).field(|row: &OperatorRow<'_>| record(row, |record| record.output.as_str().into())),
        Column::text("custom_call_target", "Library call of the instruction; empty if none.").with_role(Role::Detail).field(|row: &OperatorRow<'_>| {
            record(row, |record| unless_empty(&record.custom_call_target))
        }),
        Column::text("op_name", "Framework operation with its scopes, such as jit(f)/jit(main)/dot_general; for a fusion, from its result.").with_role(Role::Detail).field(|row: &OperatorRow<'_>| record(row, |record| unless_empty(&record.op_name))),
        Column::text("source", "Source file and line of the instruction; empty if not recorded.").with_role(Role::Detail).field(|row: &OperatorRow<'_>| record(row, |record| unless_empty(&record.source))),
        Column::count("operation_count", "Number of calls on all GPUs.").field(|row: &OperatorRow<'_>| row.group.calls.len().into()),
        Column::count("gpus", "Number of GPUs that ran the instruction.").field_in(|context: &OperatorContext<'_>, row: &OperatorRow<'_>| gpus(context.analysis, &row.group).into()),
        Column::count("num_kernels", "Number of kernels in the first call.").per("call").field(|row: &OperatorRow<'_>| row.group.calls[0].kernels.len().into()),
    ];
    fields.extend(DIRECT_TIME.fields(|row: &OperatorRow<'_>| &row.times));
    fields.push(
        Column::microseconds("total_direct_kernel_time_sum", "Kernel time in µs, summed over calls.")
            .with_role(Role::Headline)
            .field(|row: &OperatorRow<'_>| row.time.to_microseconds().into()),
    );
    fields.extend(warm_up_fields());
    fields.extend(work_fields([GFLOPS, DATA_MOVED, FLOPS_PER_BYTE]));
    fields.extend(rate_fields());
    fields.extend(roofline_fields());
    fields.extend([
        EX_UID.field(|row: &OperatorRow<'_>| row.uid.into()),
        KERNEL_DETAILS.field_in(|context: &OperatorContext<'_>, row: &OperatorRow<'_>| {
            row.kernels.details(context.analysis.trace()).into()
        }),
        KERNEL_DETAILS_SHORT.field_in(|context: &OperatorContext<'_>, row: &OperatorRow<'_>| {
            row.kernels.shortened(context.analysis.trace()).into()
        }),
    ]);
    fields.extend(shares(SHARE_OF_KERNEL_TIME, CUMULATIVE, |row: &OperatorRow<'_>| row.time.0));
    fields.push(note_field());
    Sheet::with_context(
        names::OPS_ALL,
        "Instructions with times, work and rates: one row per instruction of a program, most kernel time first. An instruction's time covers all its kernels; its work counts once.",
        fields,
        |analysis: &'a JaxAnalysis| {
            let rows = call_groups(analysis, |call| Some(call.operator));
            let rows = rows.into_iter().map(|group| OperatorRow::new(analysis, group)).collect();
            let context = OperatorContext { analysis, parameters: IndexSet::default() };
            (!analysis.gpus().is_empty()).then_some((context, rows))
        },
    )
}

/// What the HLO says of the row's instruction, where the profile embeds it.
fn record<'r>(row: &'r OperatorRow<'_>, cell: impl FnOnce(&'r Record) -> Cell<'r>) -> Cell<'r> {
    row.operator.record.as_ref().map_or(Cell::Missing, cell)
}

/// GPUs that ran a call of the row.
fn gpus(analysis: &JaxAnalysis, group: &CallGroup<'_>) -> usize {
    let first = group.calls.iter().filter_map(|call| call.kernels.first());
    first.map(|&at| analysis.device_events()[at].gpu).collect::<BTreeSet<_>>().len()
}
