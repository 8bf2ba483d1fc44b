//! What the report says of rooflines: the rows of `unified_perf_summary`, their sums, their picture.

use perf_models::Architecture;
use report_writers::Report;
use report_writers::roofline_chart::{DrawError, RooflineChart, RooflinePanel, RooflinePoint};
use sheets::Cell;
use tree_perf::Roof;

use crate::numbers::decimal;

/// One row of the sheet.
struct Row {
    name: String,
    calls: f64,
    kernel_time_us: f64,
    /// Of one call.
    roofline_time_us: Option<f64>,
}

/// The rows of the report.
pub(crate) struct Rooflines {
    rows: Vec<Row>,
}

impl Rooflines {
    /// `None` if the report has no operators.
    pub(crate) fn of(report: &Report) -> Option<Self> {
        Self::of_sheet(report, "unified_perf_summary", "Kernel Time (µs)_sum")
    }

    /// The same of the instructions of an XLA profile.
    pub(crate) fn of_instructions(report: &Report) -> Option<Self> {
        Self::of_sheet(report, "ops_all", "total_direct_kernel_time_sum")
    }

    fn of_sheet(report: &Report, sheet: &str, time: &str) -> Option<Self> {
        let table = report.tables().iter().find(|table| table.name() == sheet)?;
        let cell = |row, column| table.column(column).map_or(Cell::Missing, |column| column.cell(row));
        let number = |row, column| match cell(row, column) {
            Cell::Whole(count) => Some(count as f64),
            Cell::Number(number) => Some(number),
            _ => None,
        };
        let rows = (0..table.height()).map(|row| Row {
            name: cell(row, "name").text().into_owned(),
            calls: number(row, "operation_count").unwrap_or_default(),
            kernel_time_us: number(row, time).unwrap_or_default(),
            roofline_time_us: number(row, "Roofline Time (µs)_first"),
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
    pub(crate) fn svg(
        &self,
        title: &str,
        roofs: &[Roof],
        architecture: &Architecture,
    ) -> Result<Option<String>, DrawError> {
        if roofs.is_empty() {
            return Ok(None);
        }
        let panel = |roof: &Roof| RooflinePanel {
            title: match roof.peak == roof.spec {
                true => roof.spec.to_string(),
                false => format!("{} (held against {})", roof.spec, roof.peak),
            },
            peak_tflops: roof.peak_tflops,
            bandwidth_gb_per_s: roof.bandwidth_gb_per_s,
            points: roof.points.iter().map(drawn).collect(),
        };
        let panels: Vec<RooflinePanel> = roofs.iter().map(panel).collect();
        let drawn_us: f64 = panels.iter().flat_map(|panel| &panel.points).map(|point| point.weight).sum();
        let share = drawn_us / self.time_us(|_| true) * 100.0;
        let chart = RooflineChart {
            title: format!("Rooflines of {} · {title}", architecture.name),
            weight_label: "total kernel time".into(),
            footnote: format!(
                "{}% of the kernel time is shown; the rest has no model, no arithmetic, or no stated peak.",
                decimal(share, 1)
            ),
            panels,
        };
        chart.to_svg().map(Some)
    }
}

fn drawn(point: &tree_perf::RooflinePoint) -> RooflinePoint {
    RooflinePoint {
        name: point.name.clone(),
        group: point.category.as_str().to_owned(),
        intensity: point.intensity,
        tflops: point.tflops,
        weight: point.kernel_time_us,
    }
}

/// Percentages of kernel time.
pub(crate) struct Shares {
    /// Of all kernel time: what has a roofline.
    pub(crate) modelled_percent: f64,
    /// Of that: what runs at more than half of its roofline.
    pub(crate) near_percent: f64,
}
