//! Columns that sheets of instructions share.

use tree_perf::{Column, ColumnKind, Unit};

pub(super) const INSTRUCTION: Column = Column::new(
    "name",
    ColumnKind::Text,
    "HLO instruction; the kernel, copy or fill where no instruction is named.",
);
pub(super) const STEM: Column = Column::new(
    "name",
    ColumnKind::Text,
    "HLO instruction without the number at its end, so that instances of one kind are one row; the kernel, copy or fill where no instruction is named.",
);
pub(super) const MODULE: Column = Column::new(
    "hlo_module",
    ColumnKind::Text,
    "Compiled program of the instruction; empty where none is named.",
);
pub(super) const CATEGORY: Column = Column::new(
    "op category",
    ColumnKind::Text,
    "Kind of work of the instruction by its opcode, the library call, or what its fusion holds: GEMM, CONV_fwd, SDPA_fwd, reduce, elementwise, data_movement, communication …; memcpy, memset and, by the kernel's name, others where the profile does not embed the instruction.",
);
pub(super) const SOURCE: Column = Column::new(
    "source",
    ColumnKind::Text,
    "Source file and line that the instruction comes from; empty where the program does not say.",
);
pub(super) const OP_NAME: Column = Column::new(
    "op_name",
    ColumnKind::Text,
    "Operation of the framework with its scopes, such as jit(f)/jit(main)/dot_general; of a fusion that of its result.",
);
pub(super) const DIRECT_MS: Column = Column::new(
    "total_direct_kernel_time_ms",
    ColumnKind::Number(Unit::Milliseconds),
    "Kernel time in ms: per call of an instruction the union of the spans of all its kernels, summed over calls of all GPUs.",
);
pub(super) const CALLS: Column = Column::new(
    "Count",
    ColumnKind::Count,
    "Calls: executions of an instruction, each with all kernels that it launched.",
);
pub(super) const WARM_UP: Column = Column::new(
    "warm_up_count",
    ColumnKind::Count,
    "Calls in executions of the program that count as warm-up, see steps.",
);
pub(super) const STEADY: Column = Column::new(
    "Steady Kernel Time (µs)_mean",
    ColumnKind::Number(Unit::Microseconds),
    "Mean kernel time in µs of the calls that are not in warm-up executions.",
);
pub(super) const NOTE: Column = Column::new(
    "note",
    ColumnKind::Text,
    "What the figures assume, or why there are none; empty where nothing is to be said.",
);
