//! The sheets of a report, as data.

use polars::prelude::{DataFrame, PolarsError, PolarsResult};
use sheets::{Table, TableError};

use crate::column::Column;

pub use sheets::{Chart as SheetChart, ChartShape, ScatterPoints};

/// A sheet: a table of a report with everything that is known of it before a trace is read. `A` is what it is made
/// from.
pub struct Sheet<A: 'static> {
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
    pub(crate) build: fn(&A) -> PolarsResult<Option<DataFrame>>,
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

    /// A sheet of the crate `sheets` among these, until all are: what it declares, with a function that makes it.
    pub(crate) fn adapted(
        sheet: &sheets::Sheet<'_, A>,
        build: fn(&A) -> PolarsResult<Option<DataFrame>>,
    ) -> Self {
        let leak = |text: &str| &*Box::leak(text.to_owned().into_boxed_str());
        let name = leak(&sheet.name);
        Sheet {
            name,
            current_name: sheet.reference_name.unwrap_or(name),
            description: leak(&sheet.description),
            columns: sheet.columns.clone().leak(),
            chart: sheet.chart,
            build,
        }
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

/// The table of a sheet of the crate `sheets` as a DataFrame.
pub(crate) fn frame_of(table: Result<Option<Table>, TableError>) -> PolarsResult<Option<DataFrame>> {
    let table = table.map_err(|error| PolarsError::ComputeError(error.to_string().into()))?;
    table.as_ref().map(Table::to_dataframe).transpose()
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
