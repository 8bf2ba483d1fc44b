//! Kernels one by one, and those that XLA generated.

use polars::prelude::{DataFrame, PolarsResult};

use super::columns::{CONCRETE_INPUTS, INPUT_DIMS, INPUT_STRIDES, INPUT_TYPE, KERNEL, KERNEL_CATEGORY, UID};
use super::kernel_rows::{Arguments, KernelRow, OperatorTexts, kernel_rows};
use super::of_gpus;
use tree_perf::{Column, ColumnKind, Unit};
use tree_perf::FrameBuilder;
use crate::analysis::JaxAnalysis;
use crate::kernel_category::KernelCategory;
use tree_perf::Sheet;

const COLUMNS: &[Column] = &[
    KERNEL,
    UID,
    KERNEL_CATEGORY,
    Column::new(
        "total_direct_kernel_time",
        ColumnKind::Number(Unit::Microseconds),
        "Duration of the kernel in µs.",
    ),
    Column::new(
        "total_subtree_kernel_time",
        ColumnKind::Number(Unit::Microseconds),
        "The same: kernels have nothing below.",
    ),
    Column::new("direct_kernel_count", ColumnKind::Count, "Always 1."),
    Column::new("pid", ColumnKind::Identifier, "The GPU: the id of its plane plus 1."),
    Column::new("tid", ColumnKind::Identifier, "Stream of the GPU."),
    INPUT_DIMS,
    INPUT_TYPE,
    INPUT_STRIDES,
    CONCRETE_INPUTS,
    Column::new(
        "kernel_details",
        ColumnKind::Nested,
        "The kernel with its duration in µs and what the HLO says of its instruction: target of a custom call, shapes of operands and result, operation and source; NA where there is none. With --parity neither result nor operation.",
    ),
    Column::new(
        "GPU_kernel_launch_latency",
        ColumnKind::Number(Unit::Microseconds),
        "Start of the kernel less start of the host's call that launched it, in µs: the time that it waited; empty where the launch is not recorded.",
    ),
    Column::new(
        "total_input_bytes",
        ColumnKind::Count,
        "Bytes of the instruction's operands that are arrays; empty where the profile does not embed it. In df_xla_perf only.",
    ),
];

/// One row per kernel.
pub(crate) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "kernel_launchers",
    current_name: "kernel_launchers",
    description: "Kernels one by one, by UID; with --kernel_metadata_keyword_filters those that a keyword keeps.",
    columns: COLUMNS,
    chart: None,
    build: |analysis| {
        of_gpus(analysis, |analysis| table(analysis, &kernel_rows(analysis)).finish().map(Some))
    },
};

/// The kernels that XLA generated.
pub(crate) const XLA: Sheet<JaxAnalysis> = Sheet {
    name: "df_xla_perf",
    current_name: "df_xla_perf",
    description: "The kernels of kernel_launchers that no library brings: those of category Uncategorized Events/XLA.",
    columns: COLUMNS,
    chart: None,
    build: |analysis| of_gpus(analysis, build_xla),
};

fn build_xla(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    let mut rows = kernel_rows(analysis);
    rows.retain(|row| row.category == KernelCategory::Uncategorized);
    let mut frame = table(analysis, &rows);
    let bytes = |row: &KernelRow<'_>| {
        let record = analysis.operators()[row.event.operator].record.as_ref()?;
        Some(record.operand_bytes as i64)
    };
    frame.integer("total_input_bytes", rows.iter().map(bytes));
    frame.finish().map(Some)
}

fn table(analysis: &JaxAnalysis, rows: &[KernelRow<'_>]) -> FrameBuilder {
    let texts = OperatorTexts::of(analysis);
    let events = analysis.trace().events();
    let us = |row: &KernelRow<'_>| Some(analysis.us(row.time));
    let mut frame = FrameBuilder::default();
    frame.text("name", rows.iter().map(|row| Some(row.name)));
    frame.integer("UID", rows.iter().map(|row| Some(i64::from(events.uid(row.event.event)))));
    frame.text("op category", rows.iter().map(|row| Some(row.category.as_str())));
    frame.float("total_direct_kernel_time", rows.iter().map(us));
    frame.float("total_subtree_kernel_time", rows.iter().map(us));
    frame.integer("direct_kernel_count", rows.iter().map(|_| Some(1)));
    frame.integer("pid", rows.iter().map(|row| Some(row.event.pid)));
    frame.integer("tid", rows.iter().map(|row| Some(row.event.stream)));
    let arguments = |row: &KernelRow<'_>| &texts.arguments[row.event.operator];
    append_arguments(&mut frame, &rows.iter().map(arguments).collect::<Vec<_>>());
    frame.text("kernel_details", rows.iter().map(|row| Some(texts.kernel(analysis, row))));
    let latency = |row: &KernelRow<'_>| {
        Some(analysis.us(events.start(row.event.event) - events.start(row.event.launch?)))
    };
    frame.float("GPU_kernel_launch_latency", rows.iter().map(latency));
    frame
}

/// Appends the columns of arguments.
pub(super) fn append_arguments(frame: &mut FrameBuilder, arguments: &[&Arguments]) {
    frame.text("Input Dims", arguments.iter().map(|of| of.dims.as_ref()));
    frame.text("Input type", arguments.iter().map(|of| of.types.as_ref()));
    frame.text("Input Strides", arguments.iter().map(|of| of.strides.as_ref()));
    frame.text("Concrete Inputs", arguments.iter().map(|of| of.concrete.as_ref()));
}
