//! Columns that sheets of collectives share.

use trace_ingest::TimeUnit;

use tree_perf::{Column, ColumnKind, Unit};
use tree_perf::FrameBuilder;
use crate::collectives::collective_analysis::CollectiveAnalysis;
use crate::collectives::measurement::Bandwidth;

pub(super) const KIND: Column = Column::new(
    "type",
    ColumnKind::Text,
    "Kind of collective: all-gather, all-reduce, all-to-all, reduce-scatter, collective-permute, or other.",
);
pub(super) const NAME: Column = Column::new(
    "collective_name",
    ColumnKind::Text,
    "Instruction of the program; the kernel where the profile does not say for which instruction it ran.",
);
pub(super) const MODULE: Column =
    Column::new("module", ColumnKind::Text, "Module of the program; empty where the profile does not say.");
pub(super) const PROGRAM: Column =
    Column::new("program_id", ColumnKind::Text, "Id of the program; empty where the profile does not say.");
pub(super) const ALGORITHMIC: Column = Column::new(
    "bandwidth (GiB/s)",
    ColumnKind::Number(Unit::One),
    "Algorithmic bandwidth in GiB/s (2³⁰ bytes): bytes by kind over the time of the fastest device of a group, mean over groups, then over executions. Bytes for data of D per device in a group of n: all-gather 2·D·(n−1), all-reduce and collective-permute 2·D, reduce-scatter D + D/n, all-to-all 2·D·(n−1)/n, other D.",
);
pub(super) const BUS: Column = Column::new(
    "bus_bandwidth (GiB/s)",
    ColumnKind::Number(Unit::One),
    "Algorithmic bandwidth times the share that has to cross a link, in GiB/s: 2(n−1)/n for all-reduce, (n−1)/n for all-gather, reduce-scatter and all-to-all, else 1.",
);
pub(super) const MESSAGE_BUS: Column = Column::new(
    "nccl_tests_busbw (GB/s)",
    ColumnKind::Number(Unit::One),
    "Bus bandwidth as nccl-tests and rccl-tests report it, in GB/s (10⁹ bytes): size of the message (the larger of what a device gives and gets) over the time of the fastest device, times the same share. To compare with the speed of links.",
);
pub(super) const EXPOSED_SHARE: Column = Column::new(
    "exposed (%)",
    ColumnKind::Number(Unit::Percent),
    "Share of total_time_ms in which the device computed nothing, in percent.",
);

/// A time of collectives, which is in ps, in µs.
pub(super) fn us(time: i64) -> f64 {
    TimeUnit::Picoseconds.to_microseconds(time)
}

/// The same in ms.
pub(super) fn ms(time: i64) -> f64 {
    time as f64 / (TimeUnit::Picoseconds.per_microsecond() * 1000) as f64
}

/// Columns that say which collective a row is about, by its index.
pub(super) fn identity(
    frame: &mut FrameBuilder,
    collectives: &CollectiveAnalysis,
    rows: impl Iterator<Item = usize> + Clone,
) {
    let program = |at: usize| &collectives.programs[at];
    frame.text("type", rows.clone().map(|at| Some(collectives.operations[at].kind.name())));
    frame.text("collective_name", rows.clone().map(|at| Some(&collectives.operations[at].name)));
    frame.text("module", rows.clone().map(|at| Some(&program(at).module).filter(|name| !name.is_empty())));
    frame.text("program_id", rows.map(|at| program(at).program.map(|id| id.to_string())));
}

/// The three rates.
pub(super) fn rates(frame: &mut FrameBuilder, rates: impl Iterator<Item = Option<Bandwidth>> + Clone) {
    frame.float(ALGORITHMIC.name, rates.clone().map(|rate| rate.map(|rate| rate.algorithmic)));
    frame.float(BUS.name, rates.clone().map(|rate| rate.map(|rate| rate.bus)));
    frame.float(MESSAGE_BUS.name, rates.map(|rate| rate.map(|rate| rate.message_bus)));
}
