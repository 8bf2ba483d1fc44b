//! The roofs of the device as the ends of their lines, with the chart that shows operators under them.

use polars::prelude::{DataFrame, PolarsResult};

use super::roofline_points::POINTS;
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::sheet::{ChartShape, Sheet, SheetChart};
use operator_sheets::Roof;

pub(super) const SPEC: &str = "Compute Spec";
pub(super) const INTENSITY: &str = "FLOPS/Byte";
const HEIGHT: &str = "Attainable TFLOPS/s";
const LABEL: &str = "label";

/// Two rows per line.
#[doc(hidden)]
pub const SHEET: Sheet = Sheet {
    name: "roofline",
    current_name: "roofline",
    description: "The roofs of the chart, each by the two points at its ends: the slope of the memory's bandwidth, and per peak that operators are held against the level from its ridge point to the right. The operators below are the rows of roofline_points. Left out without an architecture.",
    columns: &[
        Column::new(SPEC, ColumnKind::Text, "Unit and precision of the work below; empty for the memory."),
        Column::new(
            "Peak Spec",
            ColumnKind::Text,
            "Peak of the architecture that the work is held against: another than Compute Spec where none is stated for that; empty for the memory.",
        ),
        Column::new(
            LABEL,
            ColumnKind::Text,
            "The line in words: bandwidth in GB/s, or peak rate in TFLOP/s and intensity of the ridge point in FLOP/byte.",
        ),
        Column::new(
            "point",
            ColumnKind::Text,
            "start: left end of the slope; ridge: where a slope meets a level, that of the memory ends at the highest; end: right end of a level.",
        ),
        Column::new(
            INTENSITY,
            ColumnKind::Number(Unit::One),
            "Floating-point operations per byte. That of start and end is a power of ten beyond all rows of roofline_points.",
        ),
        Column::new(
            HEIGHT,
            ColumnKind::Number(Unit::One),
            "Height of the line there in units of 1e12 floating-point operations per second.",
        ),
    ],
    chart: Some(SheetChart {
        title: "Operators under the roofline (marker size: 10 % of kernel time or more, 1 to 10 %, less)",
        categories: LABEL,
        values: HEIGHT,
        axis: "achieved rate (TFLOP/s)",
        shape: ChartShape::Scatter {
            x: INTENSITY,
            x_axis: "arithmetic intensity (FLOP/byte)",
            groups: SPEC,
            points: POINTS,
        },
    }),
    build: |analysis| table(analysis.roofs()),
};

/// The table of these roofs; `None` where there are none.
#[doc(hidden)]
pub fn table(roofs: &[Roof]) -> PolarsResult<Option<DataFrame>> {
    roofs.iter().max_by(by_ridge).map(|highest| build(highest, roofs)).transpose()
}

/// End of a line.
struct LineEnd<'a> {
    roof: Option<&'a Roof>,
    point: &'static str,
    intensity: f64,
    tflops: f64,
}

fn by_ridge(a: &&Roof, b: &&Roof) -> std::cmp::Ordering {
    a.ridge.total_cmp(&b.ridge)
}

fn build(highest: &Roof, roofs: &[Roof]) -> PolarsResult<DataFrame> {
    let intensities = roofs
        .iter()
        .flat_map(|roof| roof.points.iter().map(|point| point.intensity).chain(std::iter::once(roof.ridge)));
    let (least, most) = intensities.fold((f64::INFINITY, 0.0_f64), |(least, most), intensity| {
        (least.min(intensity), most.max(intensity))
    });
    // Room beside the outermost points.
    let (start, end) = (10_f64.powf((least / 1.5).log10().floor()), 10_f64.powf((most * 1.5).log10().ceil()));
    let slope = |point, intensity| LineEnd {
        roof: None,
        point,
        intensity,
        tflops: highest.attainable_tflops(intensity),
    };
    let mut ends = vec![slope("start", start), slope("ridge", highest.ridge)];
    for roof in roofs {
        let level =
            |point, intensity| LineEnd { roof: Some(roof), point, intensity, tflops: roof.peak_tflops };
        ends.extend([level("ridge", roof.ridge), level("end", end)]);
    }

    let mut frame = FrameBuilder::default();
    frame.text(SPEC, ends.iter().map(|end| end.roof.map(|roof| roof.spec.to_string())));
    frame.text("Peak Spec", ends.iter().map(|end| end.roof.map(|roof| roof.peak.to_string())));
    frame.text(LABEL, ends.iter().map(|end| Some(label(end.roof, highest.bandwidth_gb_per_s))));
    frame.text("point", ends.iter().map(|end| Some(end.point)));
    frame.float(INTENSITY, ends.iter().map(|end| Some(end.intensity)));
    frame.float(HEIGHT, ends.iter().map(|end| Some(end.tflops)));
    frame.finish()
}

fn label(roof: Option<&Roof>, bandwidth_gb_per_s: f64) -> String {
    let Some(roof) = roof else {
        return format!("memory: {} GB/s", rounded(bandwidth_gb_per_s));
    };
    let peak = match roof.peak == roof.spec {
        true => String::new(),
        false => format!(" (held against {})", roof.peak),
    };
    let (level, ridge) = (rounded(roof.peak_tflops), rounded(roof.ridge));
    format!("{}{peak}: {level} TFLOP/s, ridge {ridge} FLOP/byte", roof.spec)
}

/// To a tenth, small figures to a thousandth.
fn rounded(figure: f64) -> f64 {
    let scale = if figure < 10.0 { 1e3 } else { 10.0 };
    (figure * scale).round() / scale
}
