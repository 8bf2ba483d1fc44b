//! Copies between tensor cores and the memory of the host.

use polars::prelude::{DataFrame, PolarsResult};

use super::field::{Field, columns, field, frame};
use super::summed;
use tree_perf::{Column, ColumnKind, Unit};
use crate::analysis::JaxAnalysis;
use crate::tpu::{HostOffloadRow, host_offload, transfers};
use tree_perf::Sheet;

const COLUMNS: &[Column] = &columns(&fields());

pub(super) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "host_offload",
    current_name: "host_offload",
    description: "Asynchronous copies between each tensor core and the memory of the host, by direction.",
    columns: COLUMNS,
    chart: None,
    build,
};

fn build(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    summed(analysis, |tpu| frame(&fields(), &host_offload(&transfers(tpu).0)))
}

const fn fields() -> [Field<HostOffloadRow>; 7] {
    use ColumnKind::{Count, Identifier, Number, Text};
    use Unit::{Microseconds, One};
    [
        field("Core", Identifier, "Number of the device.", |row| u64::from(row.core).into()),
        field("Direction", Text, "host to device or device to host.", |row| row.direction.as_str().into()),
        field("Count", Count, "Copies.", |row| row.count.into()),
        field("GB", Number(One), "Bytes of all copies, in 10⁹.", |row| (row.bytes as f64 / 1e9).into()),
        field("Busy (us)", Number(Microseconds), "Time in which at least one was in flight, in µs.", |row| {
            (row.busy_ps as f64 / 1e6).into()
        }),
        field("Exposed (us)", Number(Microseconds), "Time that the core waited for them, in µs.", |row| {
            (row.exposed_ps as f64 / 1e6).into()
        }),
        field(
            "Bandwidth (GB/s)",
            Number(One),
            "Bytes over the busy time, in GB/s. Copies of both directions share a link and one counts from its start although it may wait for others, so the link can be faster.",
            |row| row.bandwidth().into(),
        ),
    ]
}
