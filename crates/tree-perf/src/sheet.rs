//! The sheets of a report, as data.

use std::sync::LazyLock;

use polars::prelude::{DataFrame, PolarsResult};

use crate::analysis::Analysis;
use crate::column::Column;
use crate::sheets;

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

    /// The description of a column of this sheet. The columns of a model's parameters share one.
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        let name = if name.starts_with("param: ") { "param: …" } else { name };
        self.columns.iter().find(|column| column.name == name)
    }
}

/// The sheets of the PyTorch report, in order.
pub fn pytorch_sheets() -> &'static [&'static Sheet] {
    static ALL: LazyLock<Vec<&'static Sheet>> = LazyLock::new(|| {
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
        ];
        let after = [
            &sheets::kernel_summary::SHEET,
            &sheets::short_kernels::HISTOGRAM,
            &sheets::short_kernels::DETAILS,
            &sheets::coll_analysis::SHEET,
        ];
        let families = sheets::rooflines::SHEETS.iter().copied().flatten();
        before.into_iter().chain(families).chain(after).collect()
    });
    &ALL
}
