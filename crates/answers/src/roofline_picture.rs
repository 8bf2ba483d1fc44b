//! Operators under the rooflines of the device, as a picture.

use operator_sheets::{Roof, Rooflines};
use perf_models::Architecture;
use report_writers::DrawError;
use report_writers::roofline_chart::{RooflineChart, RooflinePanel, RooflinePoint};

use crate::notice::NothingToDraw;
use crate::numbers::decimal;

/// The picture, or why there is none.
pub(crate) fn svg(
    analysis: &impl Rooflines,
    architecture: Option<&Architecture>,
    title: &str,
) -> Result<Result<String, NothingToDraw>, DrawError> {
    let Some(architecture) = architecture else { return Ok(Err(NothingToDraw::NoArchitecture)) };
    let roofs = analysis.roofs();
    if roofs.is_empty() {
        return Ok(Err(NothingToDraw::under(architecture)));
    }
    let drawn: i64 = roofs.iter().flat_map(|roof| &roof.points).map(|point| point.time).sum();
    let share = drawn as f64 / analysis.kernel_time() as f64 * 100.0;
    let chart = RooflineChart {
        title: format!("Rooflines of {} · {} · {title}", architecture.name, architecture.peaks_in_words()),
        weight_label: "total kernel time".into(),
        footnote: format!(
            "{}% of the kernel time is shown; the rest has no model, no arithmetic, or no stated peak.",
            decimal(share, 1)
        ),
        panels: roofs.iter().map(panel).collect(),
    };
    chart.to_svg().map(Ok)
}

fn panel(roof: &Roof) -> RooflinePanel {
    let points = roof.points.iter().map(|point| RooflinePoint {
        name: point.name.clone(),
        group: point.category.as_str().to_owned(),
        intensity: point.intensity,
        tflops: point.tflops,
        weight: point.kernel_time_us,
    });
    RooflinePanel {
        title: match roof.peak == roof.spec {
            true => roof.spec.to_string(),
            false => format!("{} (held against {})", roof.spec, roof.peak),
        },
        peak_tflops: roof.peak_tflops,
        bandwidth_gb_per_s: roof.bandwidth_gb_per_s,
        points: points.collect(),
    }
}
