//! What the report says of rooflines: the rows of `unified_perf_summary`, their sums, their picture.

use perf_models::{Architecture, ComputeSpec, Roofline};
use report_writers::Report;
use report_writers::roofline_chart::{DrawError, RooflineChart, RooflinePanel, RooflinePoint};

use crate::numbers::decimal;

/// One row of the sheet.
struct Row {
    name: String,
    category: String,
    calls: f64,
    kernel_time_us: f64,
    /// Of one call.
    roofline_time_us: Option<f64>,
    /// Of one call.
    gflops: Option<f64>,
    intensity: Option<f64>,
    tflops_per_s: Option<f64>,
    spec: Option<ComputeSpec>,
}

/// The rows of the report.
pub(crate) struct Rooflines {
    rows: Vec<Row>,
}

impl Rooflines {
    /// `None` if the report has no operators.
    pub(crate) fn of(report: &Report) -> Option<Self> {
        let frame = report.tables().iter().find(|table| table.name() == "unified_perf_summary")?.frame();
        let text = |row: usize, name: &str| Some(frame.column(name).ok()?.str().ok()?.get(row)?.to_string());
        let float = |row: usize, name: &str| frame.column(name).ok()?.f64().ok()?.get(row);
        let count = |row: usize, name: &str| frame.column(name).ok()?.i64().ok()?.get(row);
        let rows = (0..frame.height()).map(|row| Row {
            name: text(row, "name").unwrap_or_default(),
            category: text(row, "op category").unwrap_or_default(),
            calls: count(row, "operation_count").unwrap_or_default() as f64,
            kernel_time_us: float(row, "Kernel Time (µs)_sum").unwrap_or_default(),
            roofline_time_us: float(row, "Roofline Time (µs)_first"),
            gflops: float(row, "GFLOPS"),
            intensity: float(row, "FLOPS/Byte"),
            tflops_per_s: float(row, "TFLOPS/s_mean"),
            spec: text(row, "Compute Spec").and_then(|spec| spec.parse().ok()),
        });
        Some(Rooflines { rows: rows.collect() })
    }

    fn time_us(&self, wanted: impl Fn(&Row) -> bool) -> f64 {
        self.rows.iter().filter(|row| wanted(row)).map(|row| row.kernel_time_us).sum()
    }

    /// How much of the kernel time has a roofline, and how much of that comes near it.
    pub(crate) fn shares(&self) -> Option<Shares> {
        let all = self.time_us(|_| true);
        let modelled = self.time_us(|row| row.roofline_time_us.is_some());
        let near = self.time_us(|row| {
            row.roofline_time_us.is_some_and(|roofline| roofline * row.calls > row.kernel_time_us / 2.0)
        });
        (modelled > 0.0).then(|| Shares {
            modelled_percent: modelled / all * 100.0,
            near_percent: near / modelled * 100.0,
        })
    }

    /// Time in µs beyond the roofline, by operator, the most first.
    pub(crate) fn losses(&self) -> Vec<(&str, f64)> {
        let mut losses: Vec<(&str, f64)> = Vec::new();
        for row in &self.rows {
            let Some(roofline) = row.roofline_time_us else { continue };
            // A row that beats its roofline (its data came from a cache) makes up for no other one.
            let lost = (row.kernel_time_us - roofline * row.calls).max(0.0);
            match losses.iter_mut().find(|(name, _)| *name == row.name) {
                Some((_, sum)) => *sum += lost,
                None => losses.push((&row.name, lost)),
            }
        }
        losses.retain(|(_, lost)| *lost > 0.0);
        losses.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        losses
    }

    /// The picture, or `None` when no row can be drawn.
    pub(crate) fn svg(&self, title: &str, architecture: &Architecture) -> Result<Option<String>, DrawError> {
        let mut panels: Vec<(ComputeSpec, RooflinePanel)> = Vec::new();
        let mut drawn_us = 0.0;
        for row in &self.rows {
            let (Some(spec), Some(intensity), Some(tflops)) = (row.spec, row.intensity, row.tflops_per_s)
            else {
                continue;
            };
            let has_place = intensity > 0.0 && tflops > 0.0 && row.gflops.is_some();
            let Some(peak) = peak_of(spec, architecture).filter(|_| has_place) else { continue };
            drawn_us += row.kernel_time_us;
            let point = RooflinePoint {
                name: row.name.clone(),
                group: row.category.clone(),
                intensity,
                tflops,
                weight: row.kernel_time_us,
            };
            match panels.iter_mut().find(|(known, _)| *known == spec) {
                Some((_, panel)) => panel.points.push(point),
                None => panels.push((
                    spec,
                    RooflinePanel {
                        title: match peak == spec {
                            true => spec.to_string(),
                            false => format!("{spec} (held against {peak})"),
                        },
                        peak_tflops: architecture.peak_tflops(peak).unwrap_or_default(),
                        bandwidth_gb_per_s: architecture.memory_bandwidth_gb_per_s,
                        points: vec![point],
                    },
                )),
            }
        }
        if panels.is_empty() {
            return Ok(None);
        }
        let weight = |panel: &RooflinePanel| panel.points.iter().map(|point| point.weight).sum::<f64>();
        panels.sort_by(|a, b| weight(&b.1).total_cmp(&weight(&a.1)).then(a.0.cmp(&b.0)));
        let share = drawn_us / self.time_us(|_| true) * 100.0;
        let chart = RooflineChart {
            title: format!("Rooflines of {} · {title}", architecture.name),
            weight_label: "total kernel time".into(),
            footnote: format!(
                "{}% of the kernel time is shown; the rest has no model, no arithmetic, or no stated peak.",
                decimal(share, 1)
            ),
            panels: panels.into_iter().map(|(_, panel)| panel).collect(),
        };
        chart.to_svg().map(Some)
    }
}

/// Percentages of kernel time.
pub(crate) struct Shares {
    /// Of all kernel time: what has a roofline.
    pub(crate) modelled_percent: f64,
    /// Of that: what runs at more than half of its roofline.
    pub(crate) near_percent: f64,
}

/// The peak that work of this spec is held against.
fn peak_of(spec: ComputeSpec, architecture: &Architecture) -> Option<ComputeSpec> {
    Roofline::new(1.0, 1.0, Some(spec), architecture).ok()?.peak
}
