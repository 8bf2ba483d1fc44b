//! Hardware counters by kernel, a column per counter.

use polars::prelude::{DataFrame, PolarsResult};

use super::counter_means::{Counted, CountedKernels};
use super::statistics::{ms, us};
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::rocprof::RocprofAnalysis;
use crate::sheet::Sheet;

pub(super) const NAME: Column = Column::new("name", ColumnKind::Text, "Kernel.");
pub(super) const TARGET: Column = Column::new(
    "target",
    ColumnKind::Text,
    "Target of the GPU, such as gfx942; empty where the format does not say.",
);
pub(super) const DISPATCHES: Column =
    Column::new("Dispatches", ColumnKind::Count, "Dispatches in which any counter was collected.");
pub(super) const KERNEL_TIME: Column = Column::new(
    "Kernel Time (ms)",
    ColumnKind::Number(Unit::Milliseconds),
    "Sum of the durations of these in ms; dispatches whose counters are collected run one by one.",
);
pub(super) const MEAN_KERNEL_TIME: Column = Column::new(
    "Mean Kernel Time (µs)",
    ColumnKind::Number(Unit::Microseconds),
    "Mean duration of these dispatches in µs.",
);

/// One row per kernel and kind of GPU.
pub(in crate::rocprof) const SHEET: Sheet<RocprofAnalysis> = Sheet {
    name: "kernel_counters",
    current_name: "kernel_counters",
    description: "Hardware counters by kernel and kind of GPU, most time first, a column per counter.",
    columns: &[
        NAME,
        TARGET,
        DISPATCHES,
        KERNEL_TIME,
        MEAN_KERNEL_TIME,
        Column::new(
            "counter: …",
            ColumnKind::Number(Unit::One),
            "Value of the counter of that name, summed over its instances: mean over the dispatches that it was collected in.",
        ),
    ],
    chart: None,
    build,
};

/// Appends the columns that tell the rows.
pub(super) fn append_kernels(frame: &mut FrameBuilder, counted: &CountedKernels<'_>) {
    let kernels = &counted.kernels;
    frame.text(NAME.name, kernels.iter().map(|kernel| Some(kernel.name)));
    frame.text(TARGET.name, kernels.iter().map(|kernel| kernel.hardware.target));
    frame.integer(DISPATCHES.name, kernels.iter().map(|kernel| Some(kernel.dispatches)));
    frame.float(KERNEL_TIME.name, kernels.iter().map(|kernel| Some(ms(kernel.time))));
    frame.float(
        MEAN_KERNEL_TIME.name,
        kernels.iter().map(|kernel| Some(us(kernel.time as f64 / kernel.dispatches as f64))),
    );
}

fn build(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    let counted = CountedKernels::of(analysis);
    if counted.kernels.is_empty() {
        return Ok(None);
    }
    let mut frame = FrameBuilder::default();
    append_kernels(&mut frame, &counted);
    for (column, name) in counted.counters.iter().enumerate() {
        let means = counted.kernels.iter().map(|kernel| kernel.counted.get(column).and_then(Counted::mean));
        frame.float(&format!("counter: {name}"), means);
    }
    frame.finish().map(Some)
}
