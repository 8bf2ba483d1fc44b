//! The sheets of kinds of instructions: matrix multiplications, convolutions, attention and the rest, each with
//! parameters, work, rates and rooflines.

use polars::prelude::{DataFrame, PolarsResult};

use perf_models::hlo::HloKind;

pub(crate) use super::call_groups::CallGroup;
use super::call_groups::{
    append_durations, append_rates, append_roofline, append_warm_up, append_work, call_groups,
};
use super::op_sheets_reference;
use super::operator_columns::{CATEGORY, MODULE, NOTE, STEADY, STEM, WARM_UP};
use super::ops_summary::stem;
use tree_perf::{Column, ColumnKind, Unit};
use tree_perf::FrameBuilder;
use crate::analysis::JaxAnalysis;
use crate::kernel_category::KernelCategory;
use crate::operators::Operator;
use crate::options::JaxFigures;
use crate::record::{number_tuples, text_tuple};
use tree_perf::Sheet;
use operator_sheets::KernelList;
use operator_sheets::columns::{
    COMPUTE_SPEC, DATA_MOVED, FLOPS_PER_BYTE, GFLOPS, KERNEL_DETAILS, KERNEL_TIME, PCT_ROOFLINE,
    ROOFLINE_BOUND, ROOFLINE_TIME, TB_PER_S, TFLOPS_PER_S,
};

/// All columns, in order.
const COLUMNS: &[Column] = &[
    STEM,
    MODULE,
    CATEGORY,
    Column::new(
        "instructions",
        ColumnKind::Count,
        "Instructions of the row: those of one name, numbers aside, with the same operands and work.",
    ),
    Column::new(
        "param: …",
        ColumnKind::Text,
        "A parameter of the model, such as M, N, K of a matrix multiplication; one column per parameter, and calls are grouped by all of them.",
    ),
    GFLOPS.named("GFLOPS_first"),
    DATA_MOVED.named("Data Moved (MB)_first"),
    FLOPS_PER_BYTE.named("FLOPS/Byte_first"),
    TB_PER_S.mean,
    TB_PER_S.median,
    TB_PER_S.std,
    TB_PER_S.min,
    TB_PER_S.max,
    TFLOPS_PER_S.mean,
    TFLOPS_PER_S.median,
    TFLOPS_PER_S.std,
    TFLOPS_PER_S.min,
    TFLOPS_PER_S.max,
    Column::new(
        "process_name_first",
        ColumnKind::Text,
        "GPU of the first call; with --parity always Unknown.",
    ),
    Column::new("process_label_first", ColumnKind::Text, "Always Unknown: profiles have no such label."),
    Column::new("thread_name_first", ColumnKind::Text, "Stream of the first call."),
    COMPUTE_SPEC,
    ROOFLINE_TIME,
    ROOFLINE_BOUND.named("Roofline Bound_first"),
    PCT_ROOFLINE.mean,
    PCT_ROOFLINE.median,
    PCT_ROOFLINE.std,
    PCT_ROOFLINE.min,
    PCT_ROOFLINE.max,
    KERNEL_DETAILS.named("kernel_details__summarize_kernel_stats"),
    Column::new("Input Dims_first", ColumnKind::Nested, "Shapes of the operands of the first call."),
    Column::new("Input type_first", ColumnKind::Nested, "Element types of the same."),
    KERNEL_TIME.mean,
    KERNEL_TIME.median,
    KERNEL_TIME.std,
    KERNEL_TIME.min,
    KERNEL_TIME.max,
    Column::new(
        "Kernel Time (µs)_sum",
        ColumnKind::Number(Unit::Microseconds),
        "Sum over calls of the kernel time in µs.",
    ),
    Column::new("name_count", ColumnKind::Count, "Calls; with --parity kernels."),
    Column::new("UID_first", ColumnKind::Identifier, "UID of the first kernel."),
    WARM_UP,
    STEADY,
    NOTE,
];

/// Which instructions a sheet has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Members {
    /// Those whose kernels are of this category.
    Of(KernelCategory),
    /// Those of no other sheet.
    Rest,
}

macro_rules! sheet {
    ($constant:ident, $name:literal, $members:expr, $description:literal) => {
        #[doc = $description]
        pub(crate) const $constant: Sheet<JaxAnalysis> = Sheet {
            name: $name,
            current_name: $name,
            description: $description,
            columns: COLUMNS,
            chart: None,
            build: |analysis| build(analysis, $members),
        };
    };
}

sheet!(
    GEMM,
    "op_gemm",
    Members::Of(KernelCategory::Gemm),
    "Matrix multiplications, alone, fused or by a library: one row per name and parameters, most kernel time first."
);
sheet!(
    ATTENTION_BACKWARD,
    "op_fa_bwd",
    Members::Of(KernelCategory::AttentionBackward),
    "Fused attention, backward: one row per name and parameters, most kernel time first."
);
sheet!(
    ATTENTION_FORWARD,
    "op_fa_fwd",
    Members::Of(KernelCategory::AttentionForward),
    "Fused attention, forward: one row per name and parameters, most kernel time first."
);
sheet!(
    ATTENTION_V3,
    "op_fa_v3",
    Members::Of(KernelCategory::AttentionV3),
    "Fused attention by the third version of AMD's assembly kernels: one row per name and parameters, most kernel time first."
);
sheet!(
    CONVOLUTION,
    "op_conv",
    Members::Of(KernelCategory::Convolution),
    "Convolutions: one row per name and parameters, most kernel time first."
);
sheet!(
    TRANSFORMER_ENGINE,
    "op_te",
    Members::Of(KernelCategory::TransformerEngine),
    "Library calls of Transformer Engine that are neither attention nor matrix multiplications: one row per name and parameters, most kernel time first."
);
sheet!(
    COMMUNICATION,
    "op_communication_rccl_nccl",
    Members::Of(KernelCategory::Communication),
    "Collectives: one row per name and parameters, most kernel time first."
);
sheet!(
    REST,
    "op_xla",
    Members::Rest,
    "Instructions that are in no other sheet of their kind, such as the fusions that XLA generates: one row per name, operands and work, most kernel time first. Not with --parity."
);

fn build(analysis: &JaxAnalysis, members: Members) -> PolarsResult<Option<DataFrame>> {
    if analysis.options().figures == JaxFigures::Reference {
        return match members {
            Members::Of(category) => op_sheets_reference::build(analysis, category),
            Members::Rest => Ok(None),
        };
    }
    let mut groups = operator_groups(analysis);
    groups.retain(|group| sheet_of(group.operator(analysis)) == Some(members));
    if groups.is_empty() { Ok(None) } else { table(analysis, &groups).map(Some) }
}

/// The calls of the rows of all these sheets, most kernel time first.
pub(crate) fn operator_groups(analysis: &JaxAnalysis) -> Vec<CallGroup<'_>> {
    call_groups(analysis, |call| Some(Key::of(&analysis.operators()[call.operator])))
}

/// The sheet of an instruction; `None` for copies and fills. What it is decides before the names of its kernels.
fn sheet_of(operator: &Operator) -> Option<Members> {
    let by_kernels = operator.kernel_category;
    let is = |kind: HloKind| operator.category.as_str() == kind.as_str();
    Some(if ["memcpy", "memset"].contains(&operator.category.as_str()) {
        return None;
    } else if is(HloKind::Gemm) {
        Members::Of(KernelCategory::Gemm)
    } else if is(HloKind::ConvForward) || is(HloKind::ConvBackward) {
        Members::Of(KernelCategory::Convolution)
    } else if is(HloKind::AttentionBackward) {
        Members::Of(KernelCategory::AttentionBackward)
    } else if is(HloKind::AttentionForward) {
        match by_kernels {
            Some(KernelCategory::AttentionV3) => Members::Of(KernelCategory::AttentionV3),
            _ => Members::Of(KernelCategory::AttentionForward),
        }
    } else if is(HloKind::Communication) {
        Members::Of(KernelCategory::Communication)
    } else if by_kernels == Some(KernelCategory::TransformerEngine) {
        Members::Of(KernelCategory::TransformerEngine)
    } else {
        Members::Rest
    })
}

/// What calls of one row have in common.
#[derive(PartialEq, Eq, Hash)]
struct Key<'a> {
    program: Option<crate::operators::Program>,
    stem: &'a str,
    category: &'a str,
    parameters: Vec<String>,
    dims: Option<&'a [Vec<u64>]>,
    types: Option<&'a [String]>,
    /// FLOPs and bytes: fusions with the same operands may do different work.
    work: Option<[Option<u64>; 2]>,
}

impl<'a> Key<'a> {
    fn of(operator: &'a Operator) -> Self {
        let record = operator.record.as_ref();
        let bits = |figure: &perf_models::Figure| figure.as_ref().ok().map(|value| value.to_bits());
        Key {
            program: operator.program,
            stem: stem(&operator.name),
            category: operator.category.as_str(),
            parameters: parameters(operator).into_iter().map(|(_, value)| value).collect(),
            dims: record.map(|record| record.dims.as_slice()),
            types: record.map(|record| record.types.as_slice()),
            work: operator.work.as_ref().map(|work| [bits(&work.forward.flops), bits(&work.forward.bytes)]),
        }
    }
}

fn parameters(operator: &Operator) -> Vec<(&'static str, String)> {
    let parameters = operator.work.iter().flat_map(|work| &work.parameters);
    parameters.map(|(name, value)| (*name, value.to_string())).collect()
}

fn table(analysis: &JaxAnalysis, groups: &[CallGroup<'_>]) -> PolarsResult<DataFrame> {
    let operators: Vec<&Operator> = groups.iter().map(|group| group.operator(analysis)).collect();
    let parameters: Vec<Vec<(&str, String)>> =
        operators.iter().map(|operator| parameters(operator)).collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in parameters.iter().flatten() {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let mut frame = FrameBuilder::default();
    frame.text("name", operators.iter().map(|operator| Some(stem(&operator.name))));
    let module = |operator: &&Operator| analysis.program_name(operator.program.as_ref()?);
    frame.text("hlo_module", operators.iter().map(module));
    frame.text("op category", operators.iter().map(|operator| Some(operator.category.as_str())));
    let instructions = |group: &CallGroup<'_>| {
        let mut distinct: Vec<usize> = group.calls.iter().map(|call| call.operator).collect();
        distinct.sort_unstable();
        distinct.dedup();
        Some(distinct.len() as i64)
    };
    frame.integer("instructions", groups.iter().map(instructions));
    for name in names {
        let value = |of: &Vec<(&str, String)>| Some(of.iter().find(|(key, _)| *key == name)?.1.clone());
        frame.text(&format!("param: {name}"), parameters.iter().map(value));
    }
    append_work(&mut frame, analysis, groups, "_first");
    append_rates(&mut frame, analysis, groups);
    append_place(
        &mut frame,
        analysis,
        &groups.iter().map(|group| group.calls[0].kernels[0]).collect::<Vec<_>>(),
    );
    append_roofline(&mut frame, analysis, groups);
    let lists: Vec<KernelList> = groups.iter().map(|group| group.kernels(analysis)).collect();
    let details = lists.iter().map(|list| Some(list.details(analysis.trace()).to_string()));
    frame.text("kernel_details__summarize_kernel_stats", details);
    let record = || operators.iter().map(|operator| operator.record.as_ref());
    frame.text("Input Dims_first", record().map(|record| Some(number_tuples(&record?.dims))));
    frame.text("Input type_first", record().map(|record| Some(text_tuple(&record?.types))));
    let durations: Vec<Vec<i64>> = groups.iter().map(CallGroup::times).collect();
    append_durations(&mut frame, analysis, "Kernel Time (µs)", &durations);
    frame.integer("name_count", groups.iter().map(|group| Some(group.calls.len() as i64)));
    frame.integer("UID_first", groups.iter().map(|group| group.uid(analysis)));
    append_warm_up(&mut frame, analysis, groups);
    frame.text("note", operators.iter().map(|operator| operator.note()));
    frame.finish()
}

/// Appends where the first events of rows ran.
fn append_place(frame: &mut FrameBuilder, analysis: &JaxAnalysis, first: &[usize]) {
    let trace = analysis.trace();
    let track = |&at: &usize| trace.events().track(analysis.device_events()[at].event);
    let process = |at: &usize| {
        let name = trace.process(track(at)).name?;
        Some(trace.text(name))
    };
    frame.text("process_name_first", first.iter().map(|at| Some(process(at).unwrap_or("Unknown"))));
    frame.text("process_label_first", first.iter().map(|_| Some("Unknown")));
    frame.text("thread_name_first", first.iter().map(|at| trace.thread_name(track(at))));
}
