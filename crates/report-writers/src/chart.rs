//! What a chart shows, described by column names; each writer that can draw decides how.

/// The shape of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartKind {
    /// Horizontal bars side by side, first row on top.
    Bar,
    /// Horizontal bars whose series are stacked end to end.
    StackedBar,
    /// Vertical columns.
    Column,
}

/// What becomes one series (one colour) of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SeriesFrom {
    /// Each value column is a series, each row a category. The usual chart.
    #[default]
    Columns,
    /// Each row is a series named by its category cell, each value column a category: with
    /// [`ChartKind::StackedBar`] and one value column, the rows are the parts of one bar.
    Rows,
}

/// A chart of some columns and rows of its own table.
///
/// The chart refers to the table's cells; it holds no numbers. [`Table::with_chart`] checks the
/// column names.
///
/// [`Table::with_chart`]: crate::Table::with_chart
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The shape.
    pub kind: ChartKind,
    /// The title above the chart.
    pub title: String,
    /// Name of the column whose cells name the rows.
    pub categories: String,
    /// Names of the numeric columns that are drawn.
    pub values: Vec<String>,
    /// Title of the value axis, with the unit: `time (ms)`. Empty: no title.
    pub value_axis: String,
    /// Title below the columns of a [`ChartKind::Column`] chart. Empty: no title. Bars have none: their names
    /// say what they are.
    pub category_axis: String,
    /// At most this many rows, from the top (after `only_rows`); `None`: all of them.
    pub max_rows: Option<usize>,
    /// Only the rows whose category cell has one of these texts; `None`: all rows.
    pub only_rows: Option<Vec<String>>,
    /// Whether columns or rows become the series.
    pub series: SeriesFrom,
}

impl Chart {
    /// A chart of `values` by `categories` over all rows, with the columns as series.
    pub fn new<V>(
        kind: ChartKind,
        title: impl Into<String>,
        categories: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self
    where
        V: Into<String>,
    {
        Self {
            kind,
            title: title.into(),
            categories: categories.into(),
            values: values.into_iter().map(Into::into).collect(),
            value_axis: String::new(),
            category_axis: String::new(),
            max_rows: None,
            only_rows: None,
            series: SeriesFrom::Columns,
        }
    }

    /// Sets the title of the value axis; name the unit in it.
    #[must_use]
    pub fn with_value_axis(mut self, title: impl Into<String>) -> Self {
        self.value_axis = title.into();
        self
    }

    /// Sets the title below columns.
    #[must_use]
    pub fn with_category_axis(mut self, title: impl Into<String>) -> Self {
        self.category_axis = title.into();
        self
    }

    /// Draws only the first `rows` rows.
    #[must_use]
    pub fn with_max_rows(mut self, rows: usize) -> Self {
        self.max_rows = Some(rows);
        self
    }

    /// Draws only the rows whose category cell is one of `categories`.
    #[must_use]
    pub fn with_only_rows<C: Into<String>>(mut self, categories: impl IntoIterator<Item = C>) -> Self {
        self.only_rows = Some(categories.into_iter().map(Into::into).collect());
        self
    }

    /// Sets what becomes a series.
    #[must_use]
    pub fn with_series_from(mut self, series: SeriesFrom) -> Self {
        self.series = series;
        self
    }
}
