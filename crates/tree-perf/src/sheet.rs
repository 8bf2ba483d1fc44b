//! The sheets of a report, as data.

use std::sync::LazyLock;

use polars::prelude::{DataFrame, PolarsResult};

use crate::analysis::Analysis;
use crate::column::Column;
use crate::options::ReportLayout;
use crate::sheets;

/// A sheet: a table of a report with everything that is known of it before a trace is read. `A` is what it is made
/// from.
pub struct Sheet<A: 'static = Analysis> {
    /// Name in the report.
    pub name: &'static str,
    /// Name that the reference tool gives it at present; the same as `name` where they agree.
    pub current_name: &'static str,
    /// What one row is, in one sentence.
    pub description: &'static str,
    /// All columns that it may have, in order.
    pub columns: &'static [Column],
    /// Picture that goes with it.
    pub chart: Option<SheetChart>,
    /// Makes the table; `None` when there is nothing to show and the sheet is left out.
    #[doc(hidden)]
    pub build: fn(&A) -> PolarsResult<Option<DataFrame>>,
}

/// What a sheet's chart shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SheetChart {
    /// Title.
    pub title: &'static str,
    /// Column that names the bars or lines.
    pub categories: &'static str,
    /// Column of the values.
    pub values: &'static str,
    /// Title of the value axis, with its unit.
    pub axis: &'static str,
    /// Form of the chart.
    pub shape: ChartShape,
}

/// Form of a chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChartShape {
    /// One bar made of the rows with these names, end to end.
    Stacked(&'static [&'static str]),
    /// A bar per row, this many from the top.
    Bars(usize),
    /// A column per row, from left to right; says what the rows are, with the unit.
    Columns(&'static str),
    /// Lines whose ends are the rows, the values upwards, and points among them; both axes logarithmic.
    Scatter {
        /// Column of the places from left to right.
        x: &'static str,
        /// Title of that axis, with its unit.
        x_axis: &'static str,
        /// Column whose cells tell the lines apart.
        groups: &'static str,
        /// The points.
        points: ScatterPoints,
    },
    /// A column per row, from left to right, in the colour of the row's group.
    Grouped {
        /// What the rows are, with the unit.
        title: &'static str,
        /// Column whose cells tell the groups apart.
        groups: &'static str,
        /// Its texts in the order of the colours.
        order: &'static [&'static str],
        /// Columns of whole numbers whose values above 0 stand above the columns that have room, joined by `+`.
        labels: &'static [&'static str],
        /// This many rows from the top.
        rows: usize,
    },
}

/// Points of a scatter chart: the rows of another sheet that is there whenever the chart's is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScatterPoints {
    /// Name of the other sheet.
    pub sheet: &'static str,
    /// Column of the places from left to right.
    pub x: &'static str,
    /// Column of the heights.
    pub y: &'static str,
    /// Column whose cells tell the series apart; a series has the colour of the line of its group.
    pub groups: &'static str,
    /// Column that names the points.
    pub labels: &'static str,
    /// Column that gives the size of a point.
    pub weights: &'static str,
    /// The least weights of all sizes but the smallest, the largest first.
    pub thresholds: &'static [f64],
}

impl<A> Sheet<A> {
    /// A sheet of another crate's analysis, with one name in all reports and no picture.
    pub const fn new(
        name: &'static str,
        description: &'static str,
        columns: &'static [Column],
        build: fn(&A) -> PolarsResult<Option<DataFrame>>,
    ) -> Self {
        Sheet { name, current_name: name, description, columns, chart: None, build }
    }

    /// The same with a picture.
    #[must_use]
    pub const fn with_chart(self, chart: SheetChart) -> Self {
        Sheet { chart: Some(chart), ..self }
    }

    /// Makes the table of a trace; `None` when there is nothing to show and the sheet is left out.
    ///
    /// # Errors
    /// When polars refuses the columns, which is a fault of this crate.
    pub fn build(&self, analysis: &A) -> PolarsResult<Option<DataFrame>> {
        (self.build)(analysis)
    }

    /// The description of a column of this sheet. The columns of a model's parameters share one, as do those of
    /// hardware counters.
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        column_of(self.columns, name)
    }
}

/// The description of a column among those that a sheet may have.
pub(crate) fn column_of(columns: &'static [Column], name: &str) -> Option<&'static Column> {
    let name = match name.split_once(": ") {
        Some(("param", _)) => "param: …",
        Some(("counter", _)) => "counter: …",
        _ => name,
    };
    columns.iter().find(|column| column.name == name)
}

/// The sheets of the PyTorch report, in order.
pub fn pytorch_sheets() -> &'static [&'static Sheet] {
    static ALL: LazyLock<Vec<&'static Sheet>> = LazyLock::new(|| sheets_of(ReportLayout::Standard));
    &ALL
}

/// The sheets of the report of an inference engine's trace, in order: those of the PyTorch report, but
/// normalizations have another name.
pub fn inference_sheets() -> &'static [&'static Sheet] {
    static ALL: LazyLock<Vec<&'static Sheet>> = LazyLock::new(|| sheets_of(ReportLayout::Inference));
    &ALL
}

/// The sheets of all reports, each once, those with the same columns together.
pub fn all_sheets() -> &'static [&'static Sheet] {
    static ALL: LazyLock<Vec<&'static Sheet>> = LazyLock::new(|| {
        let mut all = pytorch_sheets().to_vec();
        for (position, sheet) in inference_sheets().iter().enumerate() {
            if !all.iter().any(|known| known.name == sheet.name) {
                all.insert(position, sheet);
            }
        }
        all
    });
    &ALL
}

fn sheets_of(layout: ReportLayout) -> Vec<&'static Sheet> {
    let before = [
        &sheets::gpu_timeline::SHEET,
        &sheets::gpu_timeline::PER_DEVICE,
        &sheets::ops_summary_by_category::SHEET,
        &sheets::ops_summary::SHEET,
        &sheets::ops_all::SHEET,
        &sheets::ops_all::WITH_OVERLAP,
        &sheets::unified_perf_summary::SHEET,
        &sheets::unified_perf_summary::WITH_OVERLAP,
        &sheets::coverage::SHEET,
        &sheets::roofline::SHEET,
        &sheets::roofline_points::SHEET,
    ];
    let after = [
        &sheets::kernel_summary::SHEET,
        &sheets::short_kernels::HISTOGRAM,
        &sheets::short_kernels::DETAILS,
        &sheets::coll_analysis::SHEET,
    ];
    let families = sheets::rooflines::sheets(layout).into_iter().flatten();
    before.into_iter().chain(families).chain(after).collect()
}
