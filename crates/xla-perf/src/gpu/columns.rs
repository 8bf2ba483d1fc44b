//! Columns that sheets of a GPU profile share.

use tree_perf::{Column, ColumnKind, Unit};

pub(super) const KERNEL: Column = Column::new("name", ColumnKind::Text, "Kernel.");
pub(super) const KERNEL_CATEGORY: Column = Column::new(
    "op category",
    ColumnKind::Text,
    "Kind of kernel by the names of its instruction and its own: GEMM, FA BWD, FA FWD, FA V3 (attention), Conv, TE (helpers of Transformer Engine), Communication rccl/nccl, or Uncategorized Events/XLA for all others.",
);
pub(super) const UID: Column = Column::new(
    "UID",
    ColumnKind::Identifier,
    "Index of the kernel among the events of the profiler's trace viewer.",
);
pub(super) const EX_UID: Column =
    Column::new("ex_UID", ColumnKind::Identifier, "UID of the first kernel of the row.");
pub(super) const INPUT_DIMS: Column = Column::new(
    "Input Dims",
    ColumnKind::Nested,
    "Shapes of the instruction's operands that are no scalars, of a tuple that of its first array; empty where the profile does not embed the instruction.",
);
pub(super) const INPUT_TYPE: Column =
    Column::new("Input type", ColumnKind::Nested, "Element types of the same.");
pub(super) const INPUT_STRIDES: Column = Column::new(
    "Input Strides",
    ColumnKind::Nested,
    "Distances of neighbours along each dimension of the same, in elements, by the layout of the HLO; with --parity always ().",
);
pub(super) const CONCRETE_INPUTS: Column = Column::new(
    "Concrete Inputs",
    ColumnKind::Nested,
    "Always (): HLO has no arguments that are no tensors. With --parity, of Transformer Engine's attention the shape of the operand behind query, key and value.",
);
pub(super) const PERCENTAGE: Column = Column::new(
    "Percentage (%)",
    ColumnKind::Number(Unit::Percent),
    "Share of the kernel time of all rows, in percent.",
);
pub(super) const CUMULATIVE: Column = Column::new(
    "Cumulative Percentage (%)",
    ColumnKind::Number(Unit::Percent),
    "Sum of Percentage (%) over this row and all above it, in percent.",
);
pub(super) const DIRECT_MS: Column = Column::new(
    "total_direct_kernel_time_ms",
    ColumnKind::Number(Unit::Milliseconds),
    "Sum of the durations of the row's kernels, in ms.",
);
pub(super) const MS_PER_GPU: Column = Column::new(
    "time ms per gpu",
    ColumnKind::Number(Unit::Milliseconds),
    "The sum over the number of GPUs that ran any kernel of the sheet, in ms.",
);
pub(super) const COUNT: Column = Column::new("Count", ColumnKind::Count, "Kernels.");
