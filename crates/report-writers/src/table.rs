//! A table of a report: a frame, what its columns mean, and at most one chart.

use polars::prelude::{Column, DataFrame};

use crate::cell::{Cell, Cells};
use crate::chart::Chart;
use crate::error::TableError;
use crate::group_columns::GroupColumns;
use crate::scatter::ScatterChart;

/// How the cells of a column are meant, whatever their dtype.
///
/// The kind chooses the number format of a workbook and how JSON reads text; the stored value is
/// never rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// Names and other text, and true/false.
    Text,
    /// Text in Python's literal syntax, such as `((8944, 1024), (1024, 2816))` or
    /// `[{'name': 'x', 'count': 2}]`. JSON turns it into arrays, objects and numbers.
    Literal,
    /// Whole numbers: counts, identifiers.
    Integer,
    /// Numbers shown with a fixed number of decimal places.
    Decimal {
        /// Digits after the decimal point.
        places: u8,
    },
    /// Numbers of no common magnitude: the spreadsheet program chooses the digits.
    Number,
    /// A share that is already scaled to 0..100; two places.
    Percent,
    /// A duration in µs; three places.
    Microseconds,
    /// A duration in ms; three places.
    Milliseconds,
}

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnFormat {
    /// One sentence that includes the unit. It becomes the note on the header cell of a workbook
    /// and the `description` in JSON. Empty: no note.
    pub description: String,
    /// How the cells are meant.
    pub kind: CellKind,
}

impl ColumnFormat {
    /// A column of `kind`, explained by `description`.
    pub fn new(kind: CellKind, description: impl Into<String>) -> Self {
        Self { description: description.into(), kind }
    }
}

/// A named table: a frame, one [`ColumnFormat`] per column in the same order, at most one chart.
#[derive(Debug, Clone)]
pub struct Table {
    name: String,
    frame: DataFrame,
    columns: Vec<ColumnFormat>,
    chart: Option<TableChart>,
}

/// The chart of a table.
#[derive(Debug, Clone)]
enum TableChart {
    Bars(Chart),
    Scatter(ScatterChart),
    GroupColumns(GroupColumns),
}

impl Table {
    /// A table without a chart.
    ///
    /// `name` becomes the sheet name, the CSV file's stem and the JSON key. Columns may be
    /// Boolean, Int32, Int64, UInt32, UInt64, Float64, String or all null, each nullable.
    ///
    /// # Errors
    ///
    /// When `name` cannot name a file, when the number of formats differs from the number of
    /// columns, or when a column has another dtype.
    pub fn new(
        name: impl Into<String>,
        mut frame: DataFrame,
        columns: Vec<ColumnFormat>,
    ) -> Result<Self, TableError> {
        let name = name.into();
        if !names_a_file(&name) {
            return Err(TableError::Name { name });
        }
        if frame.width() != columns.len() {
            return Err(TableError::ColumnCount {
                table: name,
                frame_columns: frame.width(),
                formats: columns.len(),
            });
        }
        if let Some(column) = frame.columns().iter().find(|column| Cells::of(column).is_none()) {
            return Err(TableError::UnsupportedType {
                column: column.name().to_string(),
                dtype: column.dtype().to_string(),
                table: name,
            });
        }
        // One chunk per column makes access by row constant-time.
        frame.rechunk_mut();
        Ok(Self { name, frame, columns, chart: None })
    }

    /// The same table with `chart` instead of what it had.
    ///
    /// # Errors
    ///
    /// When a column that the chart names is missing, or a value column is not numeric.
    pub fn with_chart(mut self, chart: Chart) -> Result<Self, TableError> {
        let values = chart.values.iter().map(String::as_str);
        self.check_chart_columns(&chart.title, [chart.categories.as_str()], values)?;
        self.chart = Some(TableChart::Bars(chart));
        Ok(self)
    }

    /// The same table with `chart` instead of what it had.
    ///
    /// # Errors
    ///
    /// When a column of this table that the chart names is missing, or is not numeric and has to be.
    pub fn with_scatter(mut self, chart: ScatterChart) -> Result<Self, TableError> {
        let numbers = [&chart.x.column, &chart.y.column];
        self.check_chart_columns(
            &chart.title,
            [chart.groups.as_str(), &chart.names],
            numbers.map(String::as_str),
        )?;
        self.chart = Some(TableChart::Scatter(chart));
        Ok(self)
    }

    /// The same table with `chart` instead of what it had.
    ///
    /// # Errors
    ///
    /// When a column that the chart names is missing, or is not numeric and has to be.
    pub fn with_group_columns(mut self, chart: GroupColumns) -> Result<Self, TableError> {
        let numbers = std::iter::once(&chart.values).chain(&chart.labels).map(String::as_str);
        self.check_chart_columns(&chart.title, [chart.categories.as_str(), &chart.groups], numbers)?;
        self.chart = Some(TableChart::GroupColumns(chart));
        Ok(self)
    }

    /// Whether the table has the columns that a chart names, numeric ones where it draws numbers.
    pub(crate) fn check_chart_columns<'a>(
        &self,
        chart: &str,
        any: impl IntoIterator<Item = &'a str>,
        numbers: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), TableError> {
        let not_found = |column: &str| TableError::ChartColumn {
            table: self.name.clone(),
            chart: chart.to_owned(),
            column: column.to_owned(),
        };
        for name in any {
            self.frame.column(name).map_err(|_| not_found(name))?;
        }
        for name in numbers {
            let column = self.frame.column(name).map_err(|_| not_found(name))?;
            if !Cells::of(column).is_some_and(|cells| cells.is_numeric()) {
                return Err(TableError::ChartValues {
                    table: self.name.clone(),
                    chart: chart.to_owned(),
                    column: name.to_owned(),
                    dtype: column.dtype().to_string(),
                });
            }
        }
        Ok(())
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The data.
    #[must_use]
    pub fn frame(&self) -> &DataFrame {
        &self.frame
    }

    /// What the columns hold, in the frame's order.
    #[must_use]
    pub fn columns(&self) -> &[ColumnFormat] {
        &self.columns
    }

    /// The chart of bars, if there is one.
    #[must_use]
    pub fn chart(&self) -> Option<&Chart> {
        match &self.chart {
            Some(TableChart::Bars(chart)) => Some(chart),
            _ => None,
        }
    }

    /// The scatter chart, if there is one.
    #[must_use]
    pub fn scatter(&self) -> Option<&ScatterChart> {
        match &self.chart {
            Some(TableChart::Scatter(chart)) => Some(chart),
            _ => None,
        }
    }

    /// The chart of columns coloured by group, if there is one.
    #[must_use]
    pub fn group_columns(&self) -> Option<&GroupColumns> {
        match &self.chart {
            Some(TableChart::GroupColumns(chart)) => Some(chart),
            _ => None,
        }
    }

    /// The columns as cells, in order.
    pub(crate) fn cells(&self) -> Vec<Cells<'_>> {
        // `new` refused every column that has no cells.
        self.frame.columns().iter().map(|column| Cells::of(column).unwrap_or(Cells::AllNull)).collect()
    }

    /// The column names, in order.
    pub(crate) fn headers(&self) -> impl Iterator<Item = &str> {
        self.frame.columns().iter().map(|column: &Column| column.name().as_str())
    }

    /// The rows that `chart` draws, in order.
    pub(crate) fn chart_rows(&self, chart: &Chart) -> Vec<usize> {
        let Some(categories) = self.frame.column(&chart.categories).ok().and_then(Cells::of) else {
            return Vec::new();
        };
        let wanted = |row: &usize| match (&chart.only_rows, categories.get(*row)) {
            (None, _) => true,
            (Some(names), Cell::Text(text)) => names.iter().any(|name| name == text),
            (Some(_), _) => false,
        };
        (0..self.frame.height()).filter(wanted).take(chart.max_rows.unwrap_or(usize::MAX)).collect()
    }
}

/// Whether `name` is a plain file stem on every common file system.
pub(crate) fn names_a_file(name: &str) -> bool {
    let reserved = |c: char| c.is_control() || r#"/\:*?"<>|"#.contains(c);
    !name.is_empty()
        && !name.contains(reserved)
        && !name.starts_with([' ', '.'])
        && !name.ends_with([' ', '.'])
        // ".csv" must still fit a 255-byte file name.
        && name.len() <= 250
}

#[cfg(test)]
mod tests {
    use polars::prelude::{DataType, df};

    use super::*;
    use crate::chart::ChartKind;

    fn text() -> ColumnFormat {
        ColumnFormat::new(CellKind::Text, "")
    }

    #[test]
    fn names_that_cannot_be_files_are_refused() {
        for name in ["", "a/b", "..", "a\nb", "what?", " x", "x."] {
            let made = Table::new(name, DataFrame::empty(), Vec::new());
            assert!(matches!(made, Err(TableError::Name { .. })), "{name:?}");
        }
        for name in ["gpu_timeline", "BinaryElementwise_fwd", "µ-bench (2)"] {
            assert!(Table::new(name, DataFrame::empty(), Vec::new()).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn each_column_needs_a_format() {
        let frame = df!("a" => [1i64], "b" => ["x"]).unwrap();
        let error = Table::new("t", frame, vec![text()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "table `t` has 2 columns but 1 column formats; give one format per column, in order"
        );
    }

    #[test]
    fn dtypes_without_a_cell_form_are_refused() {
        let frame = df!("a" => [1.0f64]).unwrap();
        let narrow = frame.columns()[0].cast(&DataType::Float32).unwrap();
        let frame = DataFrame::new_infer_height(vec![narrow]).unwrap();
        let error = Table::new("t", frame, vec![text()]).unwrap_err();
        assert!(matches!(error, TableError::UnsupportedType { ref column, .. } if column == "a"), "{error}");
    }

    #[test]
    fn charts_must_name_numeric_columns_of_the_table() {
        let table = || {
            let frame = df!("name" => ["x"], "ms" => [1.0f64]).unwrap();
            Table::new("t", frame, vec![text(), text()]).unwrap()
        };
        let chart = |categories: &str, value: &str| Chart::new(ChartKind::Bar, "c", categories, [value]);
        assert!(table().with_chart(chart("name", "ms")).is_ok());
        assert!(matches!(table().with_chart(chart("nome", "ms")), Err(TableError::ChartColumn { .. })));
        assert!(matches!(table().with_chart(chart("name", "us")), Err(TableError::ChartColumn { .. })));
        assert!(matches!(table().with_chart(chart("ms", "name")), Err(TableError::ChartValues { .. })));
    }

    #[test]
    fn chart_rows_are_filtered_then_limited() {
        let frame = df!("name" => ["a", "b", "c", "d"], "ms" => [1.0f64, 2.0, 3.0, 4.0]).unwrap();
        let table = Table::new("t", frame, vec![text(), text()]).unwrap();
        let chart = Chart::new(ChartKind::Bar, "c", "name", ["ms"]);
        assert_eq!(table.chart_rows(&chart), [0, 1, 2, 3]);
        assert_eq!(table.chart_rows(&chart.clone().with_max_rows(2)), [0, 1]);
        let some = chart.with_only_rows(["b", "d", "c", "z"]);
        assert_eq!(table.chart_rows(&some), [1, 2, 3]);
        assert_eq!(table.chart_rows(&some.with_max_rows(2)), [1, 2]);
    }
}
