//! The sheets of kinds of instructions: matrix multiplications, convolutions, attention and the rest, each with
//! parameters, work, rates and rooflines.

use hlo_cost::HloKind;
use perf_models::{Figure, XlaKernel};
use sheets::ColumnKind::{Identifier, Text};
use sheets::columns::{
    ARGUMENTS_OF_FIRST, KERNEL_DETAILS, KERNEL_TIME, KERNEL_TIME_SUM, NAME_COUNT, WORK_OF_FIRST,
};
use sheets::{Cell, Column, Field, Role, Sheet};
use trace_ingest::TrackId;

use super::call_groups::{
    CATEGORY, CallGroup, OperatorContext, OperatorRow, STEM, call_groups, module_field, note_field,
    rate_fields, roofline_fields, warm_up_fields, work_fields,
};
use crate::analysis::JaxAnalysis;
use crate::operators::{Operator, Program, number_tuples, stem, text_tuple};

pub(crate) const PROCESS_NAME: Column =
    Column::new("process_name_first", Text, "GPU of the first call; always Unknown with TraceLens figures.")
        .with_role(Role::Provenance);
pub(crate) const PROCESS_LABEL: Column =
    Column::new("process_label_first", Text, "Always Unknown: profiles have no such label.")
        .with_role(Role::Provenance);
pub(crate) const THREAD_NAME: Column =
    Column::new("thread_name_first", Text, "Stream of the first call.").with_role(Role::Provenance);
pub(crate) const DETAILS: Column = KERNEL_DETAILS.named("kernel_details__summarize_kernel_stats");
pub(crate) const DIMS: Column =
    ARGUMENTS_OF_FIRST[0].described("Shapes of the operands of the first call.").distinguishing();
pub(crate) const TYPES: Column =
    ARGUMENTS_OF_FIRST[1].described("Element types of these operands.").distinguishing();
pub(crate) const TIME_SUM: Column = KERNEL_TIME_SUM;
pub(crate) const COUNT: Column = NAME_COUNT.described("Calls; with the figures of TraceLens kernels.");
pub(crate) const UID: Column = Column::new("UID_first", Identifier, "UID of the first kernel.");

/// Which instructions a sheet has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Members {
    /// Those whose kernels are of this category.
    Of(XlaKernel),
    /// Those of no other sheet.
    Rest,
}

/// Name, members, and what these are.
const SHEETS: [(&str, Members, &str); 7] = [
    ("op_gemm", Members::Of(XlaKernel::Gemm), "Matrix multiplications, alone, fused or by a library"),
    ("op_fa_bwd", Members::Of(XlaKernel::AttentionBackward), "Fused attention, backward"),
    ("op_fa_fwd", Members::Of(XlaKernel::AttentionForward), "Fused attention, forward"),
    ("op_fa_v3", Members::Of(XlaKernel::AttentionV3), ATTENTION_V3),
    ("op_conv", Members::Of(XlaKernel::Convolution), "Convolutions"),
    ("op_te", Members::Of(XlaKernel::TransformerEngine), TRANSFORMER_ENGINE),
    ("op_communication_rccl_nccl", Members::Of(XlaKernel::Communication), "Collectives"),
];
const ATTENTION_V3: &str = "Fused attention by the third version of AMD's assembly kernels";
const TRANSFORMER_ENGINE: &str =
    "Library calls of Transformer Engine that are neither attention nor matrix multiplications";
const REST: &str = "Instructions that are in no other sheet of their kind, such as the fusions that XLA generates: one row per name, operands and work, most kernel time first. Left out with the figures of TraceLens, which has no such sheet.";

/// The sheets of kinds of instructions, in order, each with its members.
pub(super) fn op_sheets<'a>() -> impl Iterator<Item = (Members, Sheet<'a, JaxAnalysis>)> {
    let by_category = SHEETS.into_iter().map(|(name, members, what)| {
        (name, members, format!("{what}: one row per name and parameters, most kernel time first."))
    });
    by_category.chain([("op_xla", Members::Rest, REST.to_owned())]).map(|(name, members, description)| {
        (members, Sheet::with_context(name, description, fields(), move |analysis| rows(analysis, members)))
    })
}

fn fields<'a>() -> Vec<Field<OperatorContext<'a>, OperatorRow<'a>>> {
    let mut fields = vec![
        STEM.field(|row: &OperatorRow<'_>| stem(&row.operator.name).into()),
        module_field(),
        CATEGORY.field(|row: &OperatorRow<'_>| row.operator.category.as_str().into()),
        Column::count(
            "instructions",
            "Instructions of the row: same name, numbers aside, same operands and work.",
        )
        .field(|row: &OperatorRow<'_>| row.group.instructions().into()),
        parameter_field(|row: &OperatorRow<'_>, name| {
            let value = row.operator.parameters().iter().find(|(parameter, _)| *parameter == name);
            value.map(|(_, value)| value.to_string()).into()
        }),
    ];
    fields.extend(work_fields(WORK_OF_FIRST));
    fields.extend(rate_fields());
    fields.extend([
        PROCESS_NAME.field_in(|context: &OperatorContext<'_>, row: &OperatorRow<'_>| {
            let trace = context.analysis.trace();
            let name = trace.process(track(context, row)).name;
            name.map_or("Unknown", |name| trace.text(name)).into()
        }),
        PROCESS_LABEL.field(|_: &OperatorRow<'_>| "Unknown".into()),
        THREAD_NAME.field_in(|context: &OperatorContext<'_>, row: &OperatorRow<'_>| {
            context.analysis.trace().thread_name(track(context, row)).into()
        }),
    ]);
    fields.extend(roofline_fields());
    fields.extend([
        DETAILS.field_in(|context: &OperatorContext<'_>, row: &OperatorRow<'_>| {
            row.kernels.details(context.analysis.trace()).into()
        }),
        DIMS.field(|row: &OperatorRow<'_>| {
            row.operator.record.as_ref().map(|record| number_tuples(&record.dims)).into()
        }),
        TYPES.field(|row: &OperatorRow<'_>| {
            row.operator.record.as_ref().map(|record| text_tuple(&record.types)).into()
        }),
    ]);
    fields.extend(KERNEL_TIME.fields(|row: &OperatorRow<'_>| &row.times));
    fields.extend([
        TIME_SUM.field(|row: &OperatorRow<'_>| row.time.to_microseconds().into()),
        COUNT.field(|row: &OperatorRow<'_>| row.group.calls.len().into()),
        UID.field(|row: &OperatorRow<'_>| row.uid.into()),
    ]);
    fields.extend(warm_up_fields());
    fields.push(note_field());
    fields
}

/// A column for each parameter of the models.
pub(crate) fn parameter_field<'a, R>(
    value: impl for<'r> Fn(&'r R, &'static str) -> Cell<'r> + Send + Sync + 'static,
) -> Field<OperatorContext<'a>, R> {
    Field::each(
        Column::new(
            "param: …",
            Text,
            "A parameter of the model, such as M, N, K of a matrix multiplication; one column per parameter. Calls are grouped by all of them.",
        ).with_role(Role::Detail).distinguishing(),
        |context: &OperatorContext<'_>| {
            context.parameters.iter().map(|name| format!("param: {name}")).collect()
        },
        move |context, row, position| value(row, context.parameters[position]),
    )
}

/// Where the kernel that was launched first ran.
fn track(context: &OperatorContext<'_>, row: &OperatorRow<'_>) -> TrackId {
    let analysis = context.analysis;
    analysis.trace().events().track(analysis.device_events()[row.group.calls[0].kernels[0]].event)
}

fn rows(analysis: &JaxAnalysis, members: Members) -> Option<(OperatorContext<'_>, Vec<OperatorRow<'_>>)> {
    let mut groups = operator_groups(analysis);
    groups.retain(|group| sheet_of(group.operator(analysis)) == Some(members));
    let parameters = groups.iter().flat_map(|group| group.operator(analysis).parameters());
    let parameters = parameters.map(|&(name, _)| name).collect();
    let rows: Vec<_> = groups.into_iter().map(|group| OperatorRow::new(analysis, group)).collect();
    (!rows.is_empty()).then_some((OperatorContext { analysis, parameters }, rows))
}

/// The calls of the rows of all these sheets, most kernel time first.
pub(crate) fn operator_groups(analysis: &JaxAnalysis) -> Vec<CallGroup<'_>> {
    call_groups(analysis, |call| Some(Key::new(&analysis.operators()[call.operator])))
}

/// The sheet of an instruction; `None` for copies and fills. What it is decides before the names of its kernels.
fn sheet_of(operator: &Operator) -> Option<Members> {
    let by_kernels = operator.kernel_category;
    let is = |kind: HloKind| operator.category.as_str() == kind.as_str();
    Some(if ["memcpy", "memset"].contains(&operator.category.as_str()) {
        return None;
    } else if is(HloKind::Gemm) {
        Members::Of(XlaKernel::Gemm)
    } else if is(HloKind::ConvForward) || is(HloKind::ConvBackward) {
        Members::Of(XlaKernel::Convolution)
    } else if is(HloKind::AttentionBackward) {
        Members::Of(XlaKernel::AttentionBackward)
    } else if is(HloKind::AttentionForward) {
        match by_kernels {
            Some(XlaKernel::AttentionV3) => Members::Of(XlaKernel::AttentionV3),
            _ => Members::Of(XlaKernel::AttentionForward),
        }
    } else if is(HloKind::Communication) {
        Members::Of(XlaKernel::Communication)
    } else if by_kernels == Some(XlaKernel::TransformerEngine) {
        Members::Of(XlaKernel::TransformerEngine)
    } else {
        Members::Rest
    })
}

/// What calls of one row have in common.
#[derive(PartialEq, Eq, Hash)]
struct Key<'a> {
    program: Option<Program>,
    stem: &'a str,
    category: &'a str,
    parameters: Vec<String>,
    dims: Option<&'a [Vec<u64>]>,
    types: Option<&'a [String]>,
    /// FLOPs and bytes: fusions with the same operands may do different work.
    work: Option<[Option<u64>; 2]>,
}

impl<'a> Key<'a> {
    fn new(operator: &'a Operator) -> Self {
        let record = operator.record.as_ref();
        let bits = |figure: &Figure| figure.as_ref().ok().map(|value| value.to_bits());
        Key {
            program: operator.program,
            stem: stem(&operator.name),
            category: operator.category.as_str(),
            parameters: operator.parameters().iter().map(|(_, value)| value.to_string()).collect(),
            dims: record.map(|record| record.dims.as_slice()),
            types: record.map(|record| record.types.as_slice()),
            work: operator.work.as_ref().map(|work| [bits(&work.forward.flops), bits(&work.forward.bytes)]),
        }
    }
}
