//! Instructions with their times and figures.

use polars::prelude::{DataFrame, PolarsResult};

use super::call_groups::{
    CallGroup, append_durations, append_rates, append_roofline, append_warm_up, append_work, call_groups,
};
use super::columns::{CUMULATIVE, EX_UID, INPUT_DIMS, INPUT_STRIDES, INPUT_TYPE, PERCENTAGE};
use super::of_gpus;
use super::operator_columns::{CATEGORY, INSTRUCTION, MODULE, NOTE, OP_NAME, SOURCE, STEADY, WARM_UP};
use tree_perf::{Column, ColumnKind, Unit};
use tree_perf::FrameBuilder;
use crate::analysis::JaxAnalysis;
use crate::operators::Operator;
use crate::record::{Record, number_tuples, text_tuple};
use tree_perf::Sheet;
use operator_sheets::KernelList;
use operator_sheets::columns::{
    COMPUTE_SPEC, DATA_MOVED, FLOPS_PER_BYTE, GFLOPS, KERNEL_DETAILS, KERNEL_DETAILS_SHORT, PCT_ROOFLINE,
    ROOFLINE_BOUND, ROOFLINE_TIME, TB_PER_S, TFLOPS_PER_S,
};

/// One row per instruction of a program.
pub(crate) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "ops_all",
    current_name: "ops_all",
    description: "Instructions with times, work and rates: one row per instruction of a program, most kernel time first. The time of an instruction is that of all its kernels together, and its work is counted once.",
    columns: &[
        INSTRUCTION,
        MODULE,
        Column::new("program_id", ColumnKind::Text, "Id of that program in the profile."),
        CATEGORY,
        INPUT_DIMS,
        INPUT_TYPE,
        INPUT_STRIDES,
        Column::new("Output", ColumnKind::Text, "Shape of the result."),
        Column::new(
            "custom_call_target",
            ColumnKind::Text,
            "Library call of the instruction; empty where it makes none.",
        ),
        OP_NAME,
        SOURCE,
        Column::new("operation_count", ColumnKind::Count, "Calls, of all GPUs."),
        Column::new("gpus", ColumnKind::Count, "GPUs that ran it."),
        Column::new("num_kernels", ColumnKind::Count, "Kernels of the first call."),
        WARM_UP,
        Column::new(
            "total_direct_kernel_time_mean",
            ColumnKind::Number(Unit::Microseconds),
            "Mean over calls of the kernel time in µs: the union of the spans of a call's kernels.",
        ),
        Column::new(
            "total_direct_kernel_time_median",
            ColumnKind::Number(Unit::Microseconds),
            "Median over calls of the same.",
        ),
        Column::new(
            "total_direct_kernel_time_std",
            ColumnKind::Number(Unit::Microseconds),
            "Standard deviation (of a sample, n − 1) over calls of the same; empty for one call.",
        ),
        Column::new(
            "total_direct_kernel_time_min",
            ColumnKind::Number(Unit::Microseconds),
            "Smallest over calls of the same.",
        ),
        Column::new(
            "total_direct_kernel_time_max",
            ColumnKind::Number(Unit::Microseconds),
            "Largest over calls of the same.",
        ),
        Column::new(
            "total_direct_kernel_time_sum",
            ColumnKind::Number(Unit::Microseconds),
            "Sum over calls of the same.",
        ),
        STEADY,
        GFLOPS,
        DATA_MOVED,
        FLOPS_PER_BYTE,
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
        COMPUTE_SPEC,
        ROOFLINE_TIME,
        ROOFLINE_BOUND.named("Roofline Bound_first"),
        PCT_ROOFLINE.mean,
        PCT_ROOFLINE.median,
        PCT_ROOFLINE.std,
        PCT_ROOFLINE.min,
        PCT_ROOFLINE.max,
        EX_UID,
        KERNEL_DETAILS,
        KERNEL_DETAILS_SHORT,
        PERCENTAGE,
        CUMULATIVE,
        NOTE,
    ],
    chart: None,
    build: |analysis| of_gpus(analysis, build),
};

fn build(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    let groups = call_groups(analysis, |call| Some(call.operator));
    let operators: Vec<&Operator> = groups.iter().map(|group| group.operator(analysis)).collect();
    let of_record = |text: fn(&Record) -> Option<String>| {
        operators.iter().map(move |operator| text(operator.record.as_ref()?)).collect::<Vec<_>>()
    };
    let filled = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let mut frame = FrameBuilder::default();
    frame.text("name", operators.iter().map(|operator| Some(&operator.name)));
    let program = || operators.iter().map(|operator| operator.program.as_ref());
    frame.text("hlo_module", program().map(|program| analysis.program_name(program?)));
    frame.text("program_id", program().map(|program| Some(program?.id?.to_string())));
    frame.text("op category", operators.iter().map(|operator| Some(operator.category.as_str())));
    frame.text("Input Dims", of_record(|record| Some(number_tuples(&record.dims))));
    frame.text("Input type", of_record(|record| Some(text_tuple(&record.types))));
    frame.text("Input Strides", of_record(|record| Some(number_tuples(&record.strides))));
    frame.text("Output", of_record(|record| Some(record.output.clone())));
    let record = || operators.iter().map(|operator| operator.record.as_ref());
    frame.text("custom_call_target", record().map(|record| filled(&record?.custom_call_target)));
    frame.text("op_name", record().map(|record| filled(&record?.op_name)));
    frame.text("source", record().map(|record| filled(&record?.source)));
    frame.integer("operation_count", groups.iter().map(|group| Some(group.calls.len() as i64)));
    frame.integer("gpus", groups.iter().map(|group| Some(gpus(analysis, group))));
    frame.integer("num_kernels", groups.iter().map(|group| Some(group.calls[0].kernels.len() as i64)));
    let durations: Vec<Vec<i64>> = groups.iter().map(CallGroup::times).collect();
    append_durations(&mut frame, analysis, "total_direct_kernel_time", &durations);
    append_warm_up(&mut frame, analysis, &groups);
    append_work(&mut frame, analysis, &groups, "");
    append_rates(&mut frame, analysis, &groups);
    append_roofline(&mut frame, analysis, &groups);
    frame.integer("ex_UID", groups.iter().map(|group| group.uid(analysis)));
    let lists: Vec<KernelList> = groups.iter().map(|group| group.kernels(analysis)).collect();
    frame.text(
        "kernel_details_summary",
        lists.iter().map(|list| Some(list.details(analysis.trace()).to_string())),
    );
    frame.text(
        "trunc_kernel_details",
        lists.iter().map(|list| list.shortened(analysis.trace()).map(|list| list.to_string())),
    );
    frame.shares(durations.iter().map(|durations| durations.iter().sum()));
    frame.text("note", operators.iter().map(|operator| operator.note()));
    frame.finish().map(Some)
}

/// GPUs that ran a call of the row.
fn gpus(analysis: &JaxAnalysis, group: &CallGroup<'_>) -> i64 {
    let of_call = group.calls.iter().filter_map(|call| call.kernels.first());
    let mut gpus: Vec<usize> = of_call.map(|&at| analysis.device_events()[at].gpu).collect();
    gpus.sort_unstable();
    gpus.dedup();
    gpus.len() as i64
}
