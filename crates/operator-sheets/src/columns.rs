//! Columns of operators: what they are called, their work, rates and times, and what ran beside them. Each constant is
//! documented by the description of its column.
#![allow(missing_docs)]

use sheets::{Column, ColumnKind, Figure, Role, Statistics, Unit, statistics};

/// What kernel times of modelled operators are.
const KERNEL_TIMES: &[Figure] = &[Figure::Unified, Figure::SumsOfDeviceTime];

pub const TB_PER_S: Statistics = statistics!(
    "TB/s",
    ColumnKind::Number(Unit::TerabytesPerSecond),
    "the achieved bandwidth",
    "bytes over kernel time, in units of 1e12 bytes per second"
)
.showing(&[Figure::Unified, Figure::SumsOfDeviceTime, Figure::Flops]);
pub const TFLOPS_PER_S: Statistics = statistics!(
    "TFLOPS/s",
    ColumnKind::Number(Unit::TeraflopsPerSecond),
    "the achieved rate",
    "floating-point operations over kernel time, in units of 1e12 per second. For the backward of a modelled operator, over the time of all device events below its autograd nodes"
)
.showing(&[Figure::Unified, Figure::SumsOfDeviceTime, Figure::Flops]);
pub const PCT_ROOFLINE: Statistics = statistics!(
    "Pct Roofline",
    ColumnKind::Number(Unit::Percent),
    "roofline time over kernel time, in percent",
    "above 100 the data came from a cache (see the note), or the model, the recorded arguments or the architecture is wrong"
)
.showing(&[Figure::Unified, Figure::SumsOfDeviceTime, Figure::Rooflines]);
pub const KERNEL_TIME: Statistics = statistics!(
    "Kernel Time (µs)",
    ColumnKind::Number(Unit::Microseconds),
    "the kernel time in µs",
    "the union of the spans of the device events of a call (in sheets of backward work, of those below its backward operators)"
)
.showing(KERNEL_TIMES);
pub const KERNEL_TIME_SUM: Column =
    Column::microseconds("Kernel Time (µs)_sum", "Sum over calls of the kernel time in µs.")
        .with_role(Role::Headline)
        .showing(KERNEL_TIMES);

pub const GFLOPS: Column = Column::new(
    "GFLOPS",
    ColumnKind::Number(Unit::Gigaflops),
    "Floating-point operations of one call in units of 1e9; a multiply-add counts as two.",
)
.per("call")
.showing(&[Figure::Flops]);
pub const DATA_MOVED: Column = Column::new(
    "Data Moved (MB)",
    ColumnKind::Number(Unit::Mebibytes),
    "Bytes that one call has to move at least (every input and output once), divided by 1024².",
)
.per("call")
.showing(&[Figure::Flops]);
pub const FLOPS_PER_BYTE: Column = Column::new(
    "FLOPS/Byte",
    ColumnKind::Number(Unit::FlopsPerByte),
    "Arithmetic intensity: floating-point operations per byte.",
)
.showing(&[Figure::Flops]);
/// The same of the first call of a row.
pub const WORK_OF_FIRST: [Column; 3] = [
    GFLOPS.named("GFLOPS_first"),
    DATA_MOVED.named("Data Moved (MB)_first"),
    FLOPS_PER_BYTE.named("FLOPS/Byte_first"),
];
pub const COMPUTE_SPEC: Column = Column::text(
    "Compute Spec",
    "Peak that the work is held against: matrix or vector unit and precision; empty where none is stated for the element types.",
).with_role(Role::Detail);
pub const ROOFLINE_TIME: Column = Column::microseconds(
    "Roofline Time (µs)_first",
    "Least time in µs that the work takes on the architecture: the larger of floating-point operations over peak rate and bytes over peak bandwidth; left out without an architecture.",
)
.per("call").showing(&[Figure::Rooflines]);
pub const ROOFLINE_BOUND: Column = Column::text(
    "Roofline Bound",
    "COMPUTE_BOUND when the work takes at least as long at the peak rate as its bytes at the peak bandwidth, else MEMORY_BOUND; BANDWIDTH_ONLY where the architecture states no peak for the arithmetic, so that only the time of the bytes is known; LINK_BOUND for copies to or from the host or another device; left out without an architecture.",
).with_role(Role::Detail);
pub const KERNEL_DETAILS: Column = Column::nested(
    "kernel_details_summary",
    "Device events of a call, position by position, with count, total, mean, median, standard deviation (of a population, n), minimum and maximum over calls in µs; calls with another number of device events than the first do not count.",
);
pub const KERNEL_DETAILS_SHORT: Column = Column::nested(
    "trunc_kernel_details",
    "The same with names cut at 64 characters, stream and mean to 0.01 µs.",
);
pub const NOTE: Column = Column::text(
    "note",
    "What the figures assume because the trace does not record it, and what the work is held against where that is not plain; empty where there is nothing to say.",
).with_role(Role::Detail);

pub const OP_NAME: Column = Column::text(
    "name",
    "Operator, as the profiler names it; a runtime call where device work was launched outside any operator.",
);
pub const OP_CATEGORY: Column = Column::text(
    "op category",
    "Kind of work of the operator (GEMM, SDPA_fwd, elementwise …), by its name or else by its first kernel; an extension may say otherwise.",
);
pub const PROCESS_NAME: Column =
    Column::text("process_name", "Process of the calls; Unknown when the trace does not name it.")
        .with_role(Role::Provenance);
pub const PROCESS_LABEL: Column =
    Column::text("process_label", "Label of the process; Unknown when the trace does not name it.")
        .with_role(Role::Provenance);
pub const THREAD_NAME: Column =
    Column::text("thread_name", "Thread of the calls; Unknown when the trace does not name it.")
        .with_role(Role::Provenance);
pub const INPUT_DIMS: Column =
    Column::nested("Input Dims", "Shapes of the inputs; empty when the profiler did not record shapes.")
        .with_role(Role::Detail);
pub const INPUT_TYPE: Column =
    Column::nested("Input type", "Element types of the inputs.").with_role(Role::Detail);
pub const INPUT_STRIDES: Column = Column::nested("Input Strides", "Strides of the inputs, in elements.");
pub const CONCRETE_INPUTS: Column =
    Column::nested("Concrete Inputs", "Values of the inputs that are no tensors, as texts.");
pub const NUM_KERNELS: Column =
    Column::count("num_kernels", "Device events of one call; present when calls are grouped by it.")
        .per("call")
        .showing(KERNEL_TIMES);
pub const PARENT_MODULE: Column = Column::text(
    "parent_module",
    "nn.Module that the operators ran in, without the number of the instance; NA outside of all modules; present when calls are grouped by module.",
).showing(&[Figure::Modules]);
pub const CALL_STACK: Column = Column::nested(
    "call_stack",
    "Operator and the nn.Modules around it, from the inside out, of the first call; present when calls are grouped by module.",
).showing(&[Figure::CallStacks]);
pub const IS_RECOMPUTE: Column = Column::flag(
    "is_recompute",
    "Whether activation checkpointing repeated the work in the backward pass; present when recomputed work is detected.",
).with_role(Role::Name);
pub const DIRECT_MS: Column = Column::milliseconds(
    "total_direct_kernel_time_ms",
    "Device time in ms of the kernels that the operators launched themselves: per call the union of their spans, summed over calls; communication kernels are left out.",
).with_role(Role::Headline).showing(&[Figure::SumsOfDeviceTime]);
pub const PERCENTAGE: Column = Column::percent(
    "Percentage (%)",
    "Share of the direct kernel time of all operators, those of rows beyond the limit of rows included, in percent.",
).with_role(Role::Headline).showing(&[Figure::SumsOfDeviceTime]);
pub const SHARE_OF_KERNEL_TIME: Column =
    Column::percent("Percentage (%)", "Share of the kernel time of all rows, in percent.")
        .with_role(Role::Headline)
        .showing(&[Figure::SumsOfDeviceTime]);
pub const CUMULATIVE: Column = Column::percent(
    "Cumulative Percentage (%)",
    "Sum of Percentage (%) over this row and all above it, in percent.",
)
.with_role(Role::Headline)
.showing(&[Figure::SumsOfDeviceTime]);

/// What ran beside a call on other streams; in sheets of overlap only.
pub mod overlap {
    use super::{Column, ColumnKind, Figure, Role, Statistics, Unit, statistics};

    pub const NAMES: Column = Column::nested(
        "overlapping_kernel_names",
        "Kernels of other operators that ran at the same time on another stream for at least 1 µs, by start; empty when there are none; in sheets of overlap only.",
    ).with_role(Role::Detail);
    pub const DETAILS: Column = Column::nested(
        "overlapping_kernels_details_summary",
        "Overlapping kernels with the mean share of the call's run time that each ran beside, and their durations over calls in µs; in sheets of overlap only.",
    );
    pub const DETAILS_SHORT: Column = Column::nested(
        "trunc_overlapping_kernels_details",
        "The same with names cut at 64 characters, stream and mean to 0.01 µs; in sheets of overlap only.",
    );
    pub const SHARE: Statistics = statistics!(
        "overlap_pct",
        ColumnKind::Number(Unit::One),
        "the overlap",
        "for each kernel the time that something ran beside it, summed and divided by the union of the call's kernels; 1 is full overlap, and kernels of a call that overlap each other can exceed it"
    )
    .showing(&[Figure::Unified, Figure::Overlap, Figure::SumsOfDeviceTime]);
    /// To hundredths.
    pub const ROUNDED_SHARE: Statistics = Statistics {
        std: SHARE.std.described(
            "Standard deviation (of a sample, n − 1) over calls of the overlap, to 0.01; 0 for one call.",
        ),
        ..SHARE
    };
}
