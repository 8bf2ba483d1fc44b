//! Framework operations by own time.

use polars::prelude::{DataFrame, PolarsResult};

use super::field::{Cell, Field, columns, field, frame};
use super::summed;
use tree_perf::{Column, ColumnKind, Unit};
use crate::analysis::JaxAnalysis;
use crate::tpu::{FrameworkOpRow, IdleTime, Place, TpuAnalysis, framework_op_stats};
use tree_perf::{ChartShape, Sheet, SheetChart};

const COLUMNS: &[Column] = &columns(&fields());

pub(super) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "framework_op_stats",
    current_name: "framework_op_stats",
    description: "Operations of the framework: the HLO operations that came from each on all tensor cores, and its calls on the host, as the Framework Op Stats tool of the XLA profiler has them; most own time first, the device before the host.",
    columns: COLUMNS,
    chart: Some(SheetChart {
        title: "Framework operations by own time",
        categories: "Operation Name",
        values: "Total self-time (us)",
        axis: "own time (µs)",
        shape: ChartShape::Bars(10),
    }),
    build,
};

fn build(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    summed(analysis, |tpu| frame(&fields(), &rows(tpu)))
}

/// A row with its share of the time in which something ran.
struct Row<'a> {
    row: FrameworkOpRow<'a>,
    busy_ps: u64,
}

fn rows<'a>(tpu: &'a TpuAnalysis) -> Vec<Row<'a>> {
    let rows = framework_op_stats(tpu, IdleTime::Included);
    let busy_ps = |place: Place| -> u64 {
        let busy = rows.iter().filter(|row| row.place == place && !row.is_idle());
        busy.map(|row| row.self_time_ps).sum()
    };
    let (device, host) = (busy_ps(Place::Device), busy_ps(Place::Host));
    let busy = |place| if place == Place::Device { device } else { host };
    rows.into_iter().map(|row| Row { busy_ps: busy(row.place), row }).collect()
}

const fn fields<'a>() -> [Field<Row<'a>>; 18] {
    use ColumnKind::{Count, Number, Text};
    use Unit::{Microseconds, One, Percent};
    [
        field("Rank", Count, "1 for the first.", |row| u64::from(row.row.rank).into()),
        field("Host/device", Text, "Where it ran.", |row| row.row.place.as_str().into()),
        field(
            "Operation Type",
            Text,
            "Type of the operation; Unknown for HLO operations that no framework operation is known of, IDLE for time in which nothing ran.",
            |row| row.row.kind.into(),
        ),
        field(
            "Operation Name",
            Text,
            "Name with its scopes; of HLO operations that no framework operation is known of, theirs.",
            |row| row.row.name.into(),
        ),
        field("#Occurrences", Count, "Most executions of one HLO operation, or calls on the host.", |row| {
            row.row.occurrences.into()
        }),
        field(
            "Total time (us)",
            Number(Microseconds),
            "Time by the clock of the device, of the host on the host, in µs.",
            |row| (row.row.work.time_ps as f64 / 1e6).into(),
        ),
        field("Avg. time (us)", Number(Microseconds), "The time over the occurrences, in µs.", |row| {
            row.row.average_us().into()
        }),
        field(
            "Total self-time (us)",
            Number(Microseconds),
            "The time without that of operations inside, in µs.",
            |row| (row.row.self_time_ps as f64 / 1e6).into(),
        ),
        field("Avg. self-time (us)", Number(Microseconds), "Own time over the occurrences, in µs.", |row| {
            row.row.average_self_us().into()
        }),
        field(
            "Total self-time (%)",
            Number(Percent),
            "Own time as a share of that of all rows of the device, or of the host, idle time included, in percent.",
            |row| (row.row.self_fraction * 100.0).into(),
        ),
        field(
            "Cumulative total self-time (%)",
            Number(Percent),
            "Sum of the shares of this row and those above of the same place, in percent.",
            |row| (row.row.cumulative_fraction * 100.0).into(),
        ),
        field(
            "Total self-time excluding idle (%)",
            Number(Percent),
            "Own time as a share of the time in which something ran there, in percent.",
            |row| {
                let share = row.row.self_time_ps as f64 / row.busy_ps as f64 * 100.0;
                Some(share).filter(|_| row.busy_ps > 0 && !row.row.is_idle()).into()
            },
        ),
        field(
            "Normalized FLOP Rate (GFLOP/s)",
            Number(One),
            "Floating-point operations over the time, weighed by the precision that the peak is stated for, in GFLOP/s.",
            |row| on_device(row, row.row.rates.flop_rate),
        ),
        field(
            "Model FLOP Rate (GFLOP/s)",
            Number(One),
            "Floating-point operations of the model over the time, in GFLOP/s.",
            |row| on_device(row, row.row.rates.model_flop_rate),
        ),
        field(
            "Measured Memory BW (GiB/s)",
            Number(One),
            "Bytes of all memories over the time, in GiB/s (which the XLA profiler labels GBytes/s).",
            |row| on_device(row, row.row.rates.memory_bandwidth),
        ),
        field(
            "Operational Intensity (FLOPs/Byte)",
            Number(One),
            "Floating-point operations per byte.",
            |row| on_device(row, row.row.rates.intensity),
        ),
        field(
            "Bound by",
            Text,
            "Compute or HBM, whichever share of its peak is larger; Unknown when neither is used or no peak is known.",
            |row| row.row.bound_by.as_str().into(),
        ),
        field("Execution mode", Text, "Function: XLA runs whole programs.", |_| "Function".into()),
    ]
}

fn on_device(row: &Row<'_>, figure: f64) -> Cell {
    Some(figure).filter(|_| row.row.place == Place::Device && !row.row.is_idle()).into()
}
