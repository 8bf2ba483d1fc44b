//! The roofs of the device and the instructions under them.

use std::sync::LazyLock;

use operator_sheets::{roofline_points_sheet, roofline_sheet};

use crate::jax::analysis::JaxAnalysis;
use crate::sheet::{Sheet, frame_of};

const POINTS_DESCRIPTION: &str = "Instructions that can stand under a roofline, grouped as in the sheets op_gemm to op_xla: those with FLOPs, bytes, time and a peak of the architecture to be held against. By peak, the one with the most kernel time first; below a peak most kernel time first. Left out without an architecture.";

/// Two rows per line of the chart.
pub(in crate::jax) static ROOFS: LazyLock<Sheet<JaxAnalysis>> = LazyLock::new(|| {
    Sheet::adapted(&roofline_sheet(), |analysis| frame_of(roofline_sheet().table(analysis)))
});

/// One row per point of the chart.
pub(in crate::jax) static POINTS: LazyLock<Sheet<JaxAnalysis>> = LazyLock::new(|| {
    Sheet::adapted(&roofline_points_sheet(POINTS_DESCRIPTION), |analysis| {
        frame_of(roofline_points_sheet(POINTS_DESCRIPTION).table(analysis))
    })
});
