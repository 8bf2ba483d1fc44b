//! The sheets of a report, as data.

use polars::prelude::{DataFrame, PolarsResult};

use crate::analysis::Analysis;
use crate::column::Column;

/// A sheet: a table of a report with everything that is known of it before a trace is read.
pub struct Sheet {
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
    pub(crate) build: fn(&Analysis) -> PolarsResult<Option<DataFrame>>,
}

/// What a sheet's chart shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SheetChart {
    /// Title.
    pub title: &'static str,
    /// Column that names the bars.
    pub categories: &'static str,
    /// Column of the values.
    pub values: &'static str,
    /// Title of the value axis, with its unit.
    pub axis: &'static str,
    /// Form of the chart.
    pub shape: ChartShape,
}

/// Form of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartShape {
    /// One bar made of the rows with these names, end to end.
    Stacked(&'static [&'static str]),
    /// A bar per row, this many from the top.
    Bars(usize),
}

impl Sheet {
    /// Makes the table of a trace; `None` when there is nothing to show and the sheet is left out.
    ///
    /// # Errors
    /// When polars refuses the columns, which is a fault of this crate.
    pub fn build(&self, analysis: &Analysis) -> PolarsResult<Option<DataFrame>> {
        (self.build)(analysis)
    }

    /// The description of a column of this sheet.
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// The sheets of the PyTorch report, in order.
pub const PYTORCH_SHEETS: &[&Sheet] = &[
    &crate::sheets::gpu_timeline::SHEET,
    &crate::sheets::gpu_timeline::PER_DEVICE,
    &crate::sheets::ops_summary_by_category::SHEET,
    &crate::sheets::ops_summary::SHEET,
    &crate::sheets::ops_all::SHEET,
    &crate::sheets::ops_all::WITH_OVERLAP,
    &crate::sheets::kernel_summary::SHEET,
    &crate::sheets::short_kernels::HISTOGRAM,
    &crate::sheets::short_kernels::DETAILS,
    &crate::sheets::coll_analysis::SHEET,
];
