//! Columns that more than one crate refers to: those of operators, of the timeline, of kernels. Any other column is defined
//! where its sheet is made. Each constant is documented by the description of its column.
#![allow(missing_docs)]

use crate::{Column, ColumnKind, Figure, Role, Statistics, Unit, statistics};

/// What kernel times of modelled operators are.
const KERNEL_TIMES: &[Figure] = &[Figure::Unified, Figure::SumsOfDeviceTime];

pub const TB_PER_S: Statistics = statistics!(
    "TB/s",
    ColumnKind::Number(Unit::TerabytesPerSecond),
    "the achieved bandwidth",
    "bytes / kernel time, in TB/s (10¹² bytes)"
)
.showing(&[Figure::Unified, Figure::SumsOfDeviceTime, Figure::Flops]);
pub const TFLOPS_PER_S: Statistics = statistics!(
    "TFLOPS/s",
    ColumnKind::Number(Unit::TeraflopsPerSecond),
    "the achieved rate",
    "floating-point operations / kernel time, in TFLOP/s. For the backward pass of a modeled operator, kernel time is that of all device events below its autograd nodes"
)
.showing(&[Figure::Unified, Figure::SumsOfDeviceTime, Figure::Flops]);
pub const PCT_ROOFLINE: Statistics = statistics!(
    "Pct Roofline",
    ColumnKind::Number(Unit::Percent),
    "roofline time / kernel time",
    "above 100, data came from a cache (see the note), or the model, the recorded arguments or the architecture is wrong"
)
.showing(&[Figure::Unified, Figure::SumsOfDeviceTime, Figure::Rooflines]);
pub const KERNEL_TIME: Statistics = statistics!(
    "Kernel Time (µs)",
    ColumnKind::Number(Unit::Microseconds),
    "the kernel time in µs",
    "the union of a call's device event spans (in backward sheets, of the events below the call's backward operators)"
)
.showing(KERNEL_TIMES);
pub const KERNEL_TIME_SUM: Column =
    Column::microseconds("Kernel Time (µs)_sum", "Kernel time in µs, summed over calls.")
        .with_role(Role::Headline)
        .showing(KERNEL_TIMES);

pub const GFLOPS: Column = Column::new(
    "GFLOPS",
    ColumnKind::Number(Unit::Gigaflops),
    "Floating-point operations per call, in GFLOP (10⁹); a multiply-add counts as two.",
)
.per("call")
.showing(&[Figure::Flops]);
pub const DATA_MOVED: Column = Column::new(
    "Data Moved (MB)",
    ColumnKind::Number(Unit::Mebibytes),
    "Minimum bytes moved by one call (every input and output once), divided by 1024².",
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
    "Reference peak: matrix or vector unit and precision; empty if none is stated for the element types.",
)
.with_role(Role::Detail);
pub const ROOFLINE_TIME: Column = Column::microseconds(
    "Roofline Time (µs)_first",
    "Minimum time on the architecture: floating-point operations / peak rate or bytes / peak bandwidth, whichever is larger; omitted without an architecture.",
)
.per("call").showing(&[Figure::Rooflines]);
pub const ROOFLINE_BOUND: Column = Column::text(
    "Roofline Bound",
    "COMPUTE_BOUND if the operations at peak rate take at least as long as the bytes at peak bandwidth, else MEMORY_BOUND; BANDWIDTH_ONLY if the architecture has no peak for the arithmetic, so only the memory time is known; LINK_BOUND for copies to or from the host or another device; omitted without an architecture.",
).with_role(Role::Detail);
pub const KERNEL_DETAILS: Column = Column::nested(
    "kernel_details_summary",
    "Device events of a call by position, with count, total, mean, median, population standard deviation, minimum and maximum over calls in µs; excludes calls with a different number of device events than the first.",
);
pub const KERNEL_DETAILS_SHORT: Column = Column::nested(
    "trunc_kernel_details",
    "Abridged: names cut to 64 characters, the stream, and the mean rounded to 0.01 µs.",
);
pub const NOTE: Column = Column::text(
    "note",
    "Assumptions about unrecorded facts, and the reference peak if not obvious; empty if none.",
)
.with_role(Role::Detail);

pub const OP_NAME: Column = Column::text(
    "name",
    "Operator, as named by the profiler; a runtime call for device work launched outside any operator.",
);
pub const OP_CATEGORY: Column = Column::text(
    "op category",
    "Category (GEMM, SDPA_fwd, elementwise …) by operator name, else by the first kernel; extensions may override it.",
);
pub const PROCESS_NAME: Column =
    Column::text("process_name", "Process of the calls; Unknown if not recorded.")
        .with_role(Role::Provenance);
pub const PROCESS_LABEL: Column =
    Column::text("process_label", "Label of the process; Unknown if not recorded.")
        .with_role(Role::Provenance);
pub const THREAD_NAME: Column =
    Column::text("thread_name", "Thread of the calls; Unknown if not recorded.").with_role(Role::Provenance);
pub const INPUT_DIMS: Column =
    Column::nested("Input Dims", "Shapes of the inputs; empty if not recorded.").with_role(Role::Detail);
pub const INPUT_TYPE: Column =
    Column::nested("Input type", "Element types of the inputs.").with_role(Role::Detail);
pub const INPUT_STRIDES: Column = Column::nested("Input Strides", "Strides of the inputs, in elements.");
pub const CONCRETE_INPUTS: Column =
    Column::nested("Concrete Inputs", "Values of non-tensor inputs, as text.");
pub const NUM_KERNELS: Column =
    Column::count("num_kernels", "Number of device events per call; present if calls are grouped by it.")
        .per("call")
        .showing(KERNEL_TIMES);
pub const PARENT_MODULE: Column = Column::text(
    "parent_module",
    "Enclosing nn.Module, without its instance number; NA outside all modules; present if calls are grouped by module.",
).showing(&[Figure::Modules]);
pub const CALL_STACK: Column = Column::nested(
    "call_stack",
    "Operator and enclosing nn.Modules of the first call, innermost first; present if calls are grouped by module.",
).showing(&[Figure::CallStacks]);
pub const IS_RECOMPUTE: Column = Column::flag(
    "is_recompute",
    "Whether activation checkpointing recomputed the work in the backward pass; present if recomputation is detected.",
).with_role(Role::Name);
pub const DIRECT_MS: Column = Column::milliseconds(
    "total_direct_kernel_time_ms",
    "Device time of kernels launched by the operators themselves: union of their spans per call, summed over calls. Includes communication kernels, except with --parity.",
).with_role(Role::Headline).showing(&[Figure::SumsOfDeviceTime]);
pub const PERCENTAGE: Column = Column::percent(
    "Percentage (%)",
    "Share of the direct kernel time of all operators, including rows beyond the row limit.",
)
.with_role(Role::Headline)
.showing(&[Figure::SumsOfDeviceTime]);
pub const SHARE_OF_KERNEL_TIME: Column =
    Column::percent("Percentage (%)", "Share of the kernel time of all rows.")
        .with_role(Role::Headline)
        .showing(&[Figure::SumsOfDeviceTime]);
pub const CUMULATIVE: Column = Column::percent("Cumulative Percentage (%)", "Running sum of Percentage (%).")
    .with_role(Role::Headline)
    .showing(&[Figure::SumsOfDeviceTime]);

pub const TIME_TYPE: Column = Column::text(
    "type",
    "Kind of time: computation_time (compute kernels and fills), exposed_comm_time (communication without computation), exposed_memcpy_time (copies without computation or communication), busy_time (any activity), idle_time (no activity; with a micro idle threshold, gaps below it are micro_idle_time, others macro_idle_time), total_time (first start to last end), total_comm_time and total_memcpy_time (all communication, all copies, exposed or not). Computation, exposed communication, exposed copies and idle add up to the total.",
);
pub const TIME_MS: Column = Column::milliseconds(
    "time ms",
    "Time of this kind across all devices of the trace, overlaps counted once.",
);
pub const TIME_SHARE: Column = Column::percent("percent", "time ms as a share of total_time.");
pub const HOST_US: Column = Column::microseconds(
    "host_us",
    "Host self time of the operators, summed over calls: their durations minus those of their direct children on the same thread.",
).showing(&[Figure::HostTimes])
.with_role(Role::Headline);
pub const EX_UID: Column =
    Column::identifier("ex_UID", "Index of the first of these calls in the file's event list.");
pub const OPERATION_COUNT: Column = Column::count("operation_count", "Number of calls.");
pub const DIRECT_US: Statistics = statistics!(
    "total_direct_kernel_time",
    ColumnKind::Number(Unit::Microseconds),
    "the direct kernel time in µs",
    "the union of the spans of the kernels that a call launches itself"
)
.showing(&[Figure::SumsOfDeviceTime]);
pub const DIRECT_US_SUM: Column =
    Column::microseconds("total_direct_kernel_time_sum", "Direct kernel time in µs, summed over calls.")
        .with_role(Role::Headline)
        .showing(&[Figure::SumsOfDeviceTime]);
pub const SUBTREE_US: Statistics = statistics!(
    "total_subtree_kernel_time",
    ColumnKind::Number(Unit::Microseconds),
    "the subtree kernel time in µs",
    "the union of the spans of all kernels below a call"
)
.showing(&[Figure::SumsOfDeviceTime]);
pub const SUBTREE_US_SUM: Column =
    Column::microseconds("total_subtree_kernel_time_sum", "Subtree kernel time in µs, summed over calls.")
        .showing(&[Figure::SumsOfDeviceTime]);
pub const NAME_COUNT: Column = Column::count("name_count", "Number of calls.");
/// The arguments of the first call of a row.
pub const ARGUMENTS_OF_FIRST: [Column; 4] = [
    INPUT_DIMS.named("Input Dims_first"),
    INPUT_TYPE.named("Input type_first"),
    INPUT_STRIDES.named("Input Strides_first"),
    CONCRETE_INPUTS.named("Concrete Inputs_first"),
];

/// Kernels of traces, by name.
pub mod kernels {
    use super::{Column, Figure, Role};

    pub const PARENT_CATEGORY: Column = Column::text(
        "Parent op category",
        "Category of the kernel's operator, as in operator sheets; empty for kernels without a launch in the trace.",
    )
    .with_role(Role::Detail)
    .distinguishing();
    pub const KERNEL_NAME: Column = Column::text("Kernel name", "Kernel, as named by the profiler.");
    pub const DURATION_COUNT: Column = Column::count("Kernel duration (µs)_count", "Number of kernels.")
        .showing(&[Figure::SumsOfDeviceTime]);
    pub const DURATION_SUM: Column = Column::microseconds(
        "Kernel duration (µs)_sum",
        "Sum of durations; overlapping kernels each count in full.",
    )
    .showing(&[Figure::SumsOfDeviceTime])
    .with_role(Role::Headline);
    pub const DURATION_MEAN: Column = Column::microseconds("Kernel duration (µs)_mean", "Mean duration.")
        .showing(&[Figure::SumsOfDeviceTime])
        .per("kernel");
    pub const DURATION_MIN: Column = Column::microseconds("Kernel duration (µs)_min", "Shortest duration.")
        .showing(&[Figure::ShortKernels, Figure::SumsOfDeviceTime])
        .spread_of(DURATION_MEAN.name)
        .per("kernel");
    pub const DURATION_MAX: Column = Column::microseconds("Kernel duration (µs)_max", "Longest duration.")
        .showing(&[Figure::SumsOfDeviceTime])
        .spread_of(DURATION_MEAN.name)
        .per("kernel");
}

/// Kernels of rocprofv3 profiles, by name.
pub mod rocprof_kernels {
    use super::{Column, ColumnKind, Role, Unit};

    pub const TOTAL: Column = Column::new(
        "Total Kernel Time (ms)",
        ColumnKind::Number(Unit::Milliseconds),
        "Sum of durations; overlapping kernels each count in full.",
    )
    .with_role(Role::Headline);
    pub const MEAN: Column = Column::microseconds("Mean Kernel Time (µs)", "Mean duration.").per("kernel");
    pub const MEDIAN: Column = Column::microseconds("Median Kernel Time (µs)", "Median duration.")
        .spread_of(MEAN.name)
        .per("kernel");
    pub const STD: Column = Column::microseconds(
        "Std Kernel Time (µs)",
        "Sample standard deviation (n − 1) of durations; empty for a single kernel.",
    )
    .spread_of(MEAN.name)
    .per("kernel");
    pub const MIN: Column =
        Column::microseconds("Min Kernel Time (µs)", "Shortest duration.").spread_of(MEAN.name).per("kernel");
    pub const MAX: Column =
        Column::microseconds("Max Kernel Time (µs)", "Longest duration.").spread_of(MEAN.name).per("kernel");
}

/// HLO operations of a TPU.
pub mod hlo {
    use super::Column;

    pub const OP_NAME: Column = Column::text("HLO op name", "Operation name.");
    pub const OCCURRENCES: Column = Column::count("#Occurrences", "Number of executions on all cores.");
    pub const SELF_TIME: Column = Column::microseconds(
        "Total self time (us)",
        "Self time: time of all executions, excluding nested operations.",
    );
}

/// Operations of Tenstorrent's chips, one by one and in groups.
pub mod tenstorrent {
    use super::{Column, Role};

    pub const GROUP: Column = Column::text(
        "Op Code",
        "Group: operation (with buffer and layout of its first input if grouped by memory) or category.",
    );
    pub const TIME_SUM: Column =
        Column::microseconds("Device Time Sum", "Sum of device times in µs; host operations have none.")
            .with_role(Role::Headline);
    pub const COUNT: Column = Column::count("Op Count", "Number of operations.");
    pub const OP: Column =
        Column::text("OP Code", "Operation with its dimensions: M x K x N, then b={…} for the batch.");
    pub const TIME: Column = Column::microseconds(
        "Device Time",
        "Device time in µs; for several devices the longest, for a collective the mean; empty if the profiler's figure is implausible.",
    )
    .with_role(Role::Headline);
}

/// Collectives, of one rank and of a job.
pub mod collectives {
    use super::{Column, ColumnKind, Figure, Role, Unit};

    pub const NAME: Column = Column::text(
        "Collective name",
        "Collective, such as allreduce; for custom kernels, from the kernel name.",
    );
    pub const GROUP: Column = Column::text(
                "Process Group Name",
                "Process group. An unnamed group appears as `all` if the trace names no groups and uses one stream, otherwise as `Unknown_Group`.",
            ).with_role(Role::Detail).distinguishing();
    pub const DURATION_SUM: Column = Column::microseconds(
        "dur_sum",
        "Sum of durations in µs of the kernels (of the host calls where the column `timed` says so), including waits for other ranks.",
    )
    .showing(&[Figure::SumsOfDeviceTime])
    .with_role(Role::Headline);
    pub const MESSAGE_SIZE: Column = Column::new(
        "message size (bytes)",
        ColumnKind::Number(Unit::Bytes),
        "Message size as in nccl-tests: the larger of the rank's input and output.",
    )
    .per("message");
    pub const BUS_BANDWIDTH: Column = Column::new(
        "bus bandwidth (GB/s)",
        ColumnKind::Number(Unit::GigabytesPerSecond),
        "Algorithm bandwidth × correction factor, comparable with link speeds. The factor is 2(n−1)/n for all-reduce, (n−1)/n for all-gather, reduce-scatter and all-to-all, else 1 (nccl-tests, doc/PERFORMANCE.md).",
    )
    .per("collective");
    pub const BUS_BANDWIDTH_MAX: Column = BUS_BANDWIDTH
        .named("bus bandwidth (GB/s)_max")
        .described("Bus bandwidth at the shortest duration, in GB/s: the recorded figure closest to the link bandwidth.")
        .showing(&[Figure::SumsOfDeviceTime]);
}

/// Ranks of a job, and what their collectives took.
pub mod job {
    use super::{Column, Role};

    pub const WAITING: Column = Column::milliseconds(
                "waiting (ms)",
                "Time in collectives until the last rank entered: the part of communication (ms) that a faster link would not shorten.",
            )
            .with_role(Role::Headline);
    pub const EXCHANGE: Column = Column::milliseconds(
        "exchange (ms)",
        "Sum over collectives of the shortest duration on any rank: the exchange itself.",
    )
    .with_role(Role::Headline);
    pub const BUSY: Column = Column::milliseconds("busy (ms)", "Device busy time.");
    pub const COMPUTATION: Column = Column::milliseconds("computation (ms)", "Computation time.");
    pub const COMMUNICATION: Column =
        Column::milliseconds("communication (ms)", "Communication time, including waits.");
    pub const EXPOSED_COMMUNICATION: Column =
        Column::milliseconds("exposed communication (ms)", "Communication time without computation.");
    pub const IDLE: Column = Column::milliseconds("idle (ms)", "Device idle time.");
}

pub const WAITED_FOR: Column = Column::text(
    "waited_for",
    "What the device waited for: a host call or operator, or an event of another stream; for host_wait with reason other, the operator that launched late, or the launching call if no operator encloses it.",
);

/// What ran beside a call on other streams; in sheets of overlap only.
pub mod overlap {
    use super::{Column, ColumnKind, Figure, Role, Statistics, Unit, statistics};

    pub const NAMES: Column = Column::nested(
        "overlapping_kernel_names",
        "Kernels of other operators that ran concurrently on another stream for at least 1 µs, in order of start time; empty if none; in overlap sheets only.",
    ).with_role(Role::Detail);
    pub const DETAILS: Column = Column::nested(
        "overlapping_kernels_details_summary",
        "Overlapping kernels, with the mean share of the call's run time that each overlaps, and their durations over calls in µs; in overlap sheets only.",
    );
    pub const DETAILS_SHORT: Column = Column::nested(
        "trunc_overlapping_kernels_details",
        "Abridged: names cut to 64 characters, the stream, and the mean rounded to 0.01 µs; in overlap sheets only.",
    );
    pub const SHARE: Statistics = statistics!(
        "overlap_pct",
        ColumnKind::Number(Unit::One),
        "the overlap",
        "the overlapped times of the call's kernels, summed and divided by the union of their spans; 1 is full overlap, and more is possible if the call's own kernels overlap"
    )
    .showing(&[Figure::Unified, Figure::Overlap, Figure::SumsOfDeviceTime]);
    /// To hundredths.
    pub const ROUNDED_SHARE: Statistics = Statistics {
        std: SHARE.std.described(
            "Sample standard deviation (n − 1) of the overlap across calls, rounded to 0.01; 0 for one call.",
        ),
        ..SHARE
    };
}

pub const ITERATION_DURATION: Column = Column::milliseconds(
    "duration (ms)",
    "From the end of the previous iteration's device work to the end of this iteration's. Durations do not overlap and add up to the span of the timeline; idle time counts toward the iteration that the device waits for. The first iteration begins when the host starts it (see lead), unless the device was busy with earlier work. Time before the host starts an iteration is excluded if earlier device work is missing from the recording or the previous iteration had none. For an iteration without device work, its duration on the host.",
).with_role(Role::Headline);
