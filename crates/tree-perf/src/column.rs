//! What a column means: its name, the kind of its values, and one sentence with unit and formula.

/// Kind of a column's values: decides how it is formatted, not what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// A name.
    Text,
    /// A nested value as a Python literal: shapes, kernel lists.
    Literal,
    /// A whole number.
    Count,
    /// A whole number that identifies something; sums and means of it say nothing.
    Identifier,
    /// `True` or `False`.
    Flag,
    /// A time in microseconds.
    Microseconds,
    /// A time in milliseconds.
    Milliseconds,
    /// A share in percent, 0 to 100.
    Percent,
    /// A size in mebibytes.
    Mebibytes,
    /// A number without unit.
    Ratio,
}

/// A column of a sheet. The description is what the workbook shows on the header, what the command line
/// answers, and what the column reference of this crate is made of.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Header.
    pub name: &'static str,
    /// Kind of the values.
    pub kind: ColumnKind,
    /// One sentence: what it is, in which unit, how it is computed.
    pub description: &'static str,
}

impl Column {
    /// A column.
    #[must_use]
    pub const fn new(name: &'static str, kind: ColumnKind, description: &'static str) -> Self {
        Column { name, kind, description }
    }

    /// The same under another name.
    pub(crate) const fn named(self, name: &'static str) -> Self {
        Column { name, ..self }
    }
}

/// Columns that several sheets share.
pub(crate) mod shared {
    use super::{Column, ColumnKind};

    pub(crate) const OP_NAME: Column = Column::new(
        "name",
        ColumnKind::Text,
        "Operator, as the profiler names it; a runtime call where device work was launched outside any operator.",
    );
    pub(crate) const OP_CATEGORY: Column = Column::new(
        "op category",
        ColumnKind::Text,
        "Kind of work of the operator (GEMM, SDPA_fwd, elementwise …), by its name or else by its first kernel; an extension may say otherwise.",
    );
    pub(crate) const PROCESS_NAME: Column = Column::new(
        "process_name",
        ColumnKind::Text,
        "Process of the calls; Unknown when the trace does not name it.",
    );
    pub(crate) const PROCESS_LABEL: Column = Column::new(
        "process_label",
        ColumnKind::Text,
        "Label of the process; Unknown when the trace does not name it.",
    );
    pub(crate) const THREAD_NAME: Column = Column::new(
        "thread_name",
        ColumnKind::Text,
        "Thread of the calls; Unknown when the trace does not name it.",
    );
    pub(crate) const INPUT_DIMS: Column = Column::new(
        "Input Dims",
        ColumnKind::Literal,
        "Shapes of the inputs; empty when the profiler did not record shapes.",
    );
    pub(crate) const INPUT_TYPE: Column =
        Column::new("Input type", ColumnKind::Literal, "Element types of the inputs.");
    pub(crate) const INPUT_STRIDES: Column =
        Column::new("Input Strides", ColumnKind::Literal, "Strides of the inputs, in elements.");
    pub(crate) const CONCRETE_INPUTS: Column = Column::new(
        "Concrete Inputs",
        ColumnKind::Literal,
        "Values of the inputs that are no tensors, as texts.",
    );
    pub(crate) const NUM_KERNELS: Column = Column::new(
        "num_kernels",
        ColumnKind::Count,
        "Device events of one call; with --group_by_num_kernels only.",
    );
    pub(crate) const PARENT_MODULE: Column = Column::new(
        "parent_module",
        ColumnKind::Text,
        "nn.Module that the operators ran in, without the number of the instance; NA outside of all modules; with --group_by_parent_module only.",
    );
    pub(crate) const CALL_STACK: Column = Column::new(
        "call_stack",
        ColumnKind::Literal,
        "Operator and the nn.Modules around it, from the inside out, of the first call; with --group_by_parent_module only.",
    );
    pub(crate) const IS_RECOMPUTE: Column = Column::new(
        "is_recompute",
        ColumnKind::Flag,
        "Whether the work was done again in the backward pass by activation checkpointing; with --detect_recompute only.",
    );
    pub(crate) const DIRECT_MS: Column = Column::new(
        "total_direct_kernel_time_ms",
        ColumnKind::Milliseconds,
        "Device time in ms of the kernels that the operators launched themselves: per call the union of their spans, summed over calls; communication kernels are left out.",
    );
    pub(crate) const PERCENTAGE: Column = Column::new(
        "Percentage (%)",
        ColumnKind::Percent,
        "Share of the direct kernel time of all operators, those of rows that --topk_ops cuts off included, in percent.",
    );
    pub(crate) const SHARE_OF_KERNEL_TIME: Column = Column::new(
        "Percentage (%)",
        ColumnKind::Percent,
        "Share of the kernel time of all rows, in percent.",
    );
    pub(crate) const CUMULATIVE: Column = Column::new(
        "Cumulative Percentage (%)",
        ColumnKind::Percent,
        "Sum of Percentage (%) over this row and all above it, in percent.",
    );
}
