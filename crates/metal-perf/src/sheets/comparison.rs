//! What changed since the run that is compared with.

use polars::prelude::{DataFrame, PolarsResult};
use tree_perf::{Column, ColumnKind, FrameBuilder, Sheet, Unit};

use crate::compare::Comparison;

/// One row per operation of either run.
pub(super) static SHEET: Sheet<Comparison> = Sheet::new(
    "baseline",
    "An operation of this run, of the one that it is compared with (--baseline), or of both; biggest changes first.",
    &[
        Column::new("ID", ColumnKind::Identifier, "ID in this run; empty for operations that are gone."),
        Column::new("baseline ID", ColumnKind::Identifier, "ID in the other run; empty for new operations."),
        Column::new("OP Code", ColumnKind::Text, "Operation with the sizes of what it computes."),
        Column::new(
            "in",
            ColumnKind::Text,
            "both; both, other sizes; new; gone. Operations are matched by name and sizes in the longest common sequence, and between those by name.",
        ),
        Column::new(
            "baseline Device Time",
            ColumnKind::Number(Unit::Microseconds),
            "Time on the device in the other run, in µs.",
        ),
        Column::new(
            "Device Time",
            ColumnKind::Number(Unit::Microseconds),
            "Time on the device in this run, in µs.",
        ),
        Column::new(
            "change",
            ColumnKind::Number(Unit::Microseconds),
            "Device Time − baseline Device Time, in µs; an operation that a run lacks has taken none in it.",
        ),
        Column::new("change %", ColumnKind::Number(Unit::Percent), "change / baseline Device Time × 100."),
    ],
    build,
);

fn build(comparison: &Comparison) -> PolarsResult<Option<DataFrame>> {
    let of = || comparison.deltas.iter();
    let mut frame = FrameBuilder::default();
    frame.integer("ID", of().map(|one| one.now_id.map(Into::into)));
    frame.integer("baseline ID", of().map(|one| one.then_id.map(Into::into)));
    frame.text("OP Code", of().map(|one| Some(&one.label)));
    frame.text("in", of().map(|one| Some(one.kind.as_str())));
    frame.float("baseline Device Time", of().map(|one| one.time_then_us));
    frame.float("Device Time", of().map(|one| one.time_now_us));
    frame.float("change", of().map(|one| one.delta_us));
    frame.float("change %", of().map(|one| one.delta_percent));
    frame.finish().map(Some)
}
