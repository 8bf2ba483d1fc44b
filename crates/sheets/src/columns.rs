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
    "Device time in ms of the kernels that the operators launched themselves: per call the union of their spans, summed over calls. Communication kernels count; with --parity they are left out.",
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

pub const TIME_TYPE: Column = Column::text(
    "type",
    "What the time is: computation_time (kernels that compute, and fills), exposed_comm_time (communication while nothing computes), exposed_memcpy_time (copies while nothing computes or communicates), busy_time (anything runs), idle_time (nothing runs; with a threshold for micro idle time split into micro_idle_time below it and macro_idle_time from it on), total_time (first start to last end), total_comm_time and total_memcpy_time (all communication, all copies, hidden or not). Computation, exposed communication, exposed copies and idle add up to the total.",
);
pub const TIME_MS: Column = Column::milliseconds(
    "time ms",
    "Length in ms of the union of the spans in question, over all devices of the trace together.",
);
pub const TIME_SHARE: Column = Column::percent("percent", "time ms as a share of total_time, in percent.");
pub const HOST_US: Column = Column::microseconds(
    "host_us",
    "Time in µs of the host in the operators themselves, summed over calls: their durations without those of the operators directly inside them on the same thread.",
).showing(&[Figure::HostTimes])
.with_role(Role::Headline);
pub const EX_UID: Column =
    Column::identifier("ex_UID", "Index in the trace's event list of the first of these calls.");
pub const OPERATION_COUNT: Column = Column::count("operation_count", "Calls of the row.");
pub const DIRECT_US: Statistics = statistics!(
    "total_direct_kernel_time",
    ColumnKind::Number(Unit::Microseconds),
    "the direct kernel time in µs",
    "the union of the spans of the kernels that a call launched itself"
)
.showing(&[Figure::SumsOfDeviceTime]);
pub const DIRECT_US_SUM: Column =
    Column::microseconds("total_direct_kernel_time_sum", "Sum over calls of the direct kernel time in µs.")
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
    Column::microseconds("total_subtree_kernel_time_sum", "Sum over calls of the subtree kernel time in µs.")
        .showing(&[Figure::SumsOfDeviceTime]);
pub const NAME_COUNT: Column = Column::count("name_count", "Calls of the row.");
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
        "Kind of work of the kernel for its operator, as in the operator sheets; empty for kernels without a launch in the trace.",
    )
    .with_role(Role::Detail)
    .distinguishing();
    pub const KERNEL_NAME: Column = Column::text("Kernel name", "Kernel, as the profiler names it.");
    pub const DURATION_COUNT: Column = Column::count("Kernel duration (µs)_count", "Number of kernels.")
        .showing(&[Figure::SumsOfDeviceTime]);
    pub const DURATION_SUM: Column = Column::microseconds(
        "Kernel duration (µs)_sum",
        "Sum of the kernels' durations in µs, overlaps counted twice.",
    )
    .showing(&[Figure::SumsOfDeviceTime])
    .with_role(Role::Headline);
    pub const DURATION_MEAN: Column =
        Column::microseconds("Kernel duration (µs)_mean", "Mean duration in µs.")
            .showing(&[Figure::SumsOfDeviceTime])
            .per("kernel");
    pub const DURATION_MIN: Column =
        Column::microseconds("Kernel duration (µs)_min", "Shortest duration in µs.")
            .showing(&[Figure::ShortKernels, Figure::SumsOfDeviceTime])
            .spread_of(DURATION_MEAN.name)
            .per("kernel");
    pub const DURATION_MAX: Column =
        Column::microseconds("Kernel duration (µs)_max", "Longest duration in µs.")
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
        "Sum of the durations in ms, overlaps counted twice.",
    )
    .with_role(Role::Headline);
    pub const MEAN: Column =
        Column::microseconds("Mean Kernel Time (µs)", "Mean duration in µs.").per("kernel");
    pub const MEDIAN: Column = Column::microseconds("Median Kernel Time (µs)", "Median duration in µs.")
        .spread_of(MEAN.name)
        .per("kernel");
    pub const STD: Column = Column::microseconds(
        "Std Kernel Time (µs)",
        "Standard deviation (of a sample, n − 1) of the durations in µs; empty for a single run.",
    )
    .spread_of(MEAN.name)
    .per("kernel");
    pub const MIN: Column = Column::microseconds("Min Kernel Time (µs)", "Shortest duration in µs.")
        .spread_of(MEAN.name)
        .per("kernel");
    pub const MAX: Column = Column::microseconds("Max Kernel Time (µs)", "Longest duration in µs.")
        .spread_of(MEAN.name)
        .per("kernel");
}

/// HLO operations of a TPU.
pub mod hlo {
    use super::Column;

    pub const OP_NAME: Column = Column::text("HLO op name", "Name of the operation.");
    pub const OCCURRENCES: Column = Column::count("#Occurrences", "Executions on all cores.");
    pub const SELF_TIME: Column = Column::microseconds(
        "Total self time (us)",
        "Time of all executions without that of operations inside them, in µs.",
    );
}

/// Operations of Tenstorrent's chips, one by one and in groups.
pub mod tenstorrent {
    use super::{Column, Role};

    pub const GROUP: Column = Column::text(
        "Op Code",
        "The group: operation, when grouped by memory followed by buffer and layout of its first input; or category.",
    );
    pub const TIME_SUM: Column = Column::microseconds(
        "Device Time Sum",
        "Sum of the times on the device, in µs; operations of the host have none.",
    )
    .with_role(Role::Headline);
    pub const COUNT: Column = Column::count("Op Count", "How many operations.");
    pub const OP: Column = Column::text(
        "OP Code",
        "Operation with the sizes of what it computes: M x K x N, behind b={…} the batch.",
    );
    pub const TIME: Column = Column::microseconds(
        "Device Time",
        "Time on the device in µs; of an operation on several devices the longest, of a collective their mean; empty where the profiler's figure cannot be right.",
    )
    .with_role(Role::Headline);
}

/// Collectives, of one rank and of a job.
pub mod collectives {
    use super::{Column, ColumnKind, Figure, Role, Unit};

    pub const NAME: Column =
        Column::text("Collective name", "Collective, such as allreduce; for custom kernels by their name.");
    pub const GROUP: Column = Column::text(
                "Process Group Name",
                "Process group; where the trace names none, all if it names none anywhere and uses one stream, else Unknown_Group.",
            ).with_role(Role::Detail).distinguishing();
    pub const DURATION_SUM: Column = Column::microseconds(
        "dur_sum",
        "Sum of the durations in µs, of kernels or of what timed says, waiting for other ranks included.",
    )
    .showing(&[Figure::SumsOfDeviceTime])
    .with_role(Role::Headline);
    pub const MESSAGE_SIZE: Column = Column::new(
        "message size (bytes)",
        ColumnKind::Number(Unit::Bytes),
        "Size of the message as nccl-tests counts it, in bytes: the larger of what the rank gives and what it gets.",
    )
    .per("message");
    pub const BUS_BANDWIDTH: Column = Column::new(
        "bus bandwidth (GB/s)",
        ColumnKind::Number(Unit::GigabytesPerSecond),
        "Algorithm bandwidth times the share that has to cross a link, in GB/s, to compare with the speed of links: 2(n−1)/n for all-reduce, (n−1)/n for all-gather, reduce-scatter and all-to-all, else 1 (nccl-tests, doc/PERFORMANCE.md).",
    )
    .per("collective");
    pub const BUS_BANDWIDTH_MAX: Column = BUS_BANDWIDTH
        .named("bus bandwidth (GB/s)_max")
        .described("The same over the shortest duration, in GB/s: the closest recorded figure to the link bandwidth.")
        .showing(&[Figure::SumsOfDeviceTime]);
}

/// Ranks of a job, and what their collectives took.
pub mod job {
    use super::{Column, Role};

    pub const WAITING: Column = Column::milliseconds(
                "waiting (ms)",
                "Time in ms in collectives until the last rank entered: part of communication (ms) that no faster link would shorten.",
            )
            .with_role(Role::Headline);
    pub const EXCHANGE: Column = Column::milliseconds(
                "exchange (ms)",
                "Sum over the collectives of the shortest duration on a rank, in ms: the time of the exchange itself.",
            )
            .with_role(Role::Headline);
    pub const BUSY: Column =
        Column::milliseconds("busy (ms)", "Time in ms in which the device did something.");
    pub const COMPUTATION: Column =
        Column::milliseconds("computation (ms)", "Time in ms in which the device computed.");
    pub const COMMUNICATION: Column = Column::milliseconds(
        "communication (ms)",
        "Time in ms in which the device communicated, waiting included.",
    );
    pub const EXPOSED_COMMUNICATION: Column = Column::milliseconds(
        "exposed communication (ms)",
        "Time in ms in which the device communicated and did not compute.",
    );
    pub const IDLE: Column = Column::milliseconds("idle (ms)", "Time in ms in which the device did nothing.");
}

pub const WAITED_FOR: Column = Column::text(
    "waited_for",
    "Name of the call of the host or the event of the other stream; of host_wait with reason other the operator, else the call, that launched late.",
);

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
            "Sample standard deviation (n − 1) of the overlap over calls, to 0.01; 0 for one call.",
        ),
        ..SHARE
    };
}
