//! Columns of work, rates and times that the unified table and the sheets of operator families share.

use crate::column::{Column, ColumnKind};

/// The statistics over calls of one figure, a column each.
pub(crate) struct Statistics {
    pub(crate) mean: Column,
    pub(crate) median: Column,
    pub(crate) std: Column,
    pub(crate) min: Column,
    pub(crate) max: Column,
}

/// Columns of a figure: the beginning of their names, their kind, what the figure is called, and its
/// definition, which the mean tells.
macro_rules! statistics {
    ($column:literal, $kind:ident, $figure:literal, $definition:literal) => {
        Statistics {
            mean: Column::new(
                concat!($column, "_mean"),
                ColumnKind::$kind,
                concat!("Mean over calls of ", $figure, ": ", $definition, "."),
            ),
            median: Column::new(
                concat!($column, "_median"),
                ColumnKind::$kind,
                concat!("Median over calls of ", $figure, "."),
            ),
            std: Column::new(
                concat!($column, "_std"),
                ColumnKind::$kind,
                concat!(
                    "Standard deviation (of a sample, n − 1) over calls of ",
                    $figure,
                    "; empty for one call."
                ),
            ),
            min: Column::new(
                concat!($column, "_min"),
                ColumnKind::$kind,
                concat!("Smallest value over calls of ", $figure, "."),
            ),
            max: Column::new(
                concat!($column, "_max"),
                ColumnKind::$kind,
                concat!("Largest value over calls of ", $figure, "."),
            ),
        }
    };
}

pub(crate) const TB_PER_S: Statistics = statistics!(
    "TB/s",
    Ratio,
    "the achieved bandwidth",
    "bytes over kernel time, in units of 1e12 bytes per second"
);
pub(crate) const TFLOPS_PER_S: Statistics = statistics!(
    "TFLOPS/s",
    Ratio,
    "the achieved rate",
    "floating-point operations over kernel time, in units of 1e12 per second. For the backward of a modelled operator, over the time of all device events below its autograd nodes"
);
pub(crate) const PCT_ROOFLINE: Statistics = statistics!(
    "Pct Roofline",
    Percent,
    "roofline time over kernel time, in percent",
    "above 100 the model, the recorded arguments or the architecture is wrong"
);
pub(crate) const KERNEL_TIME: Statistics = statistics!(
    "Kernel Time (µs)",
    Microseconds,
    "the kernel time in µs",
    "the union of the spans of the device events of a call (in sheets of backward work, of those below its backward operators)"
);

pub(crate) const GFLOPS: Column = Column::new(
    "GFLOPS",
    ColumnKind::Ratio,
    "Floating-point operations of one call in units of 1e9; a multiply-add counts as two.",
);
pub(crate) const DATA_MOVED: Column = Column::new(
    "Data Moved (MB)",
    ColumnKind::Mebibytes,
    "Bytes that one call has to move at least (every input and output once), divided by 1024².",
);
pub(crate) const FLOPS_PER_BYTE: Column =
    Column::new("FLOPS/Byte", ColumnKind::Ratio, "Arithmetic intensity: floating-point operations per byte.");
pub(crate) const COMPUTE_SPEC: Column = Column::new(
    "Compute Spec",
    ColumnKind::Text,
    "Peak that the work is held against: matrix or vector unit and precision; empty where none is stated for the element types.",
);
pub(crate) const ROOFLINE_TIME: Column = Column::new(
    "Roofline Time (µs)_first",
    ColumnKind::Microseconds,
    "Least time in µs that the work takes on the architecture: the larger of floating-point operations over peak rate and bytes over peak bandwidth; left out without an architecture.",
);
pub(crate) const ROOFLINE_BOUND: Column = Column::new(
    "Roofline Bound",
    ColumnKind::Text,
    "COMPUTE_BOUND when the work takes at least as long at the peak rate as its bytes at the peak bandwidth, else MEMORY_BOUND; left out without an architecture.",
);
pub(crate) const KERNEL_DETAILS: Column = Column::new(
    "kernel_details_summary",
    ColumnKind::Literal,
    "Device events of a call, position by position, with count, total, mean, median, standard deviation (of a population, n), minimum and maximum over calls in µs; calls with another number of device events than the first do not count.",
);
pub(crate) const KERNEL_DETAILS_SHORT: Column = Column::new(
    "trunc_kernel_details",
    ColumnKind::Literal,
    "The same with names cut at 64 characters, stream and mean to 0.01 µs.",
);
pub(crate) const NOTE: Column = Column::new(
    "note",
    ColumnKind::Text,
    "What the figures assume because the trace does not record it; empty where nothing is assumed.",
);

/// What ran beside a call on other streams; in sheets of overlap only.
pub(crate) mod overlap {
    use super::{Column, ColumnKind, Statistics};

    pub(crate) const NAMES: Column = Column::new(
        "overlapping_kernel_names",
        ColumnKind::Literal,
        "Kernels of other operators that ran at the same time on another stream for at least 1 µs, by start; empty when there are none; in sheets of overlap only.",
    );
    pub(crate) const DETAILS: Column = Column::new(
        "overlapping_kernels_details_summary",
        ColumnKind::Literal,
        "Overlapping kernels with the mean share of the call's run time that each ran beside, and their durations over calls in µs; in sheets of overlap only.",
    );
    pub(crate) const DETAILS_SHORT: Column = Column::new(
        "trunc_overlapping_kernels_details",
        ColumnKind::Literal,
        "The same with names cut at 64 characters, stream and mean to 0.01 µs; in sheets of overlap only.",
    );
    /// To hundredths.
    pub(crate) const SHARE: Statistics = Statistics {
        mean: Column::new(
            "overlap_pct_mean",
            ColumnKind::Ratio,
            "Mean over calls of the overlap: for each kernel the time that something ran beside it, summed and divided by the union of the call's kernels; to 0.01. 1 is full overlap, and kernels of a call that overlap each other can exceed it.",
        ),
        median: Column::new(
            "overlap_pct_median",
            ColumnKind::Ratio,
            "Median over calls of the overlap, to 0.01.",
        ),
        std: Column::new(
            "overlap_pct_std",
            ColumnKind::Ratio,
            "Standard deviation (of a sample, n − 1) over calls of the overlap, to 0.01; 0 for one call.",
        ),
        min: Column::new("overlap_pct_min", ColumnKind::Ratio, "Smallest overlap of a call."),
        max: Column::new("overlap_pct_max", ColumnKind::Ratio, "Largest overlap of a call."),
    };
}
