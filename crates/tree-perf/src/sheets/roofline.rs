//! The roofs of the device and the operators under them.

use std::sync::LazyLock;

use operator_sheets::{roofline_points_sheet, roofline_sheet};

use crate::sheet::{Sheet, frame_of};

const POINTS_DESCRIPTION: &str = "The rows of unified_perf_summary that can stand under a roofline: those with FLOPs, bytes, time and a peak of the architecture to be held against. By peak, the one with the most kernel time first; below a peak most kernel time first. Left out without an architecture.";

/// Two rows per line of the chart.
pub(crate) static ROOFS: LazyLock<Sheet> = LazyLock::new(|| {
    Sheet::adapted(&roofline_sheet(), |analysis| frame_of(roofline_sheet().table(analysis)))
});

/// One row per point of the chart.
pub(crate) static POINTS: LazyLock<Sheet> = LazyLock::new(|| {
    Sheet::adapted(&roofline_points_sheet(POINTS_DESCRIPTION), |analysis| {
        frame_of(roofline_points_sheet(POINTS_DESCRIPTION).table(analysis))
    })
});
