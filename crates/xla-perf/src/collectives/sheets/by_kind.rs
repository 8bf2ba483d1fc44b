//! Collectives by kind.

use super::{HasCollectives, columns};
use tree_perf::{Column, ColumnKind, Unit};
use ::sheets::percent;
use tree_perf::FrameBuilder;
use crate::collectives::summary::{Distribution, KindSummary};
use tree_perf::{ChartShape, Sheet, SheetChart};

macro_rules! distribution {
    ($figure:literal, $what:literal) => {
        [
            distribution!(@ "avg_", $figure, "Mean of the ", $what),
            distribution!(@ "median_", $figure, "Median of the ", $what),
            distribution!(@ "min_", $figure, "Smallest of the ", $what),
            distribution!(@ "max_", $figure, "Largest of the ", $what),
            distribution!(@ "std_", $figure, "Standard deviation (of the population) of the ", $what),
            distribution!(@ "p25_", $figure, "First quartile of the ", $what),
            distribution!(@ "p75_", $figure, "Third quartile of the ", $what),
        ]
    };
    (@ $aggregate:literal, $figure:literal, $start:literal, $what:literal) => {
        Column::new(concat!($aggregate, $figure), ColumnKind::Number(Unit::One), concat!($start, $what, "; each collective counts once."))
    };
}

const ALGORITHMIC: [Column; 7] = distribution!(
    "bandwidth (GiB/s)",
    "collectives' algorithmic bandwidths in GiB/s, see the sheet collectives"
);
const BUS: [Column; 7] =
    distribution!("bus_bandwidth (GiB/s)", "collectives' bus bandwidths in GiB/s, see the sheet collectives");
const MESSAGE_BUS: [Column; 7] = distribution!(
    "nccl_tests_busbw (GB/s)",
    "collectives' bus bandwidths in GB/s as nccl-tests counts them, see the sheet collectives"
);

const COLUMNS: [Column; 28] = {
    let first = [
        columns::KIND,
        Column::new("num_operations", ColumnKind::Count, "Collectives of the kind that ran."),
        Column::new(
            "total_slices",
            ColumnKind::Count,
            "Their executions, each counted once for all devices.",
        ),
        Column::new(
            "total_measurements",
            ColumnKind::Count,
            "Groups of all executions that have a bandwidth.",
        ),
        Column::new(
            "total_time_ms",
            ColumnKind::Number(Unit::Milliseconds),
            "Sum over devices of the kernels' durations in ms, waiting for other devices included.",
        ),
        columns::EXPOSED_SHARE,
        Column::new(
            "avg_data_size (MiB)",
            ColumnKind::Number(Unit::Mebibytes),
            "Mean over the collectives of the data in MiB that the bandwidth is computed from, see data_bytes in the sheet collectives.",
        ),
    ];
    let mut all = [columns::KIND; 28];
    let mut at = 0;
    while at < 7 {
        all[at] = first[at];
        all[at + 7] = ALGORITHMIC[at];
        all[at + 14] = BUS[at];
        all[at + 21] = MESSAGE_BUS[at];
        at += 1;
    }
    all
};

/// A figure of the collectives of a kind.
type OfKind = fn(&KindSummary) -> Option<Distribution>;

/// One row per kind of collective.
pub(super) const fn sheet<A: HasCollectives>() -> Sheet<A> {
    Sheet {
        name: "collective_types",
        current_name: "collective_types",
        description: "Collectives by kind, the largest mean bandwidth first.",
        columns: &COLUMNS,
        chart: Some(SheetChart {
            title: "Bandwidth by kind of collective",
            categories: "type",
            values: "avg_bandwidth (GiB/s)",
            axis: "algorithmic bandwidth (GiB/s)",
            shape: ChartShape::Bars(6),
        }),
        build: |of| {
            let Some(collectives) = super::collectives(of) else { return Ok(None) };
            let kinds = &collectives.by_kind;
            let mut frame = FrameBuilder::default();
            frame.text("type", kinds.iter().map(|kind| Some(kind.kind.name())));
            frame.integer("num_operations", kinds.iter().map(|kind| Some(kind.operations as i64)));
            frame.integer("total_slices", kinds.iter().map(|kind| Some(kind.slices as i64)));
            frame.integer("total_measurements", kinds.iter().map(|kind| Some(kind.measurements as i64)));
            frame.float("total_time_ms", kinds.iter().map(|kind| Some(columns::ms(kind.total_duration))));
            frame.float("exposed (%)", kinds.iter().map(|kind| percent(kind.exposed, kind.total_duration)));
            frame.float("avg_data_size (MiB)", kinds.iter().map(|kind| kind.mean_data));
            let figures: [(&[Column; 7], OfKind); 3] = [
                (&ALGORITHMIC, |kind| kind.algorithmic),
                (&BUS, |kind| kind.bus),
                (&MESSAGE_BUS, |kind| kind.message_bus),
            ];
            for (columns, figure) in figures {
                let aggregates: [fn(Distribution) -> f64; 7] =
                    [|d| d.mean, |d| d.median, |d| d.min, |d| d.max, |d| d.std, |d| d.p25, |d| d.p75];
                for (column, aggregate) in columns.iter().zip(aggregates) {
                    frame.float(column.name, kinds.iter().map(|kind| figure(kind).map(aggregate)));
                }
            }
            frame.finish().map(Some)
        },
    }
}
