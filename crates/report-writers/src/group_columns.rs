//! What a chart of a column per row shows whose colours are groups, described by column names.

/// Vertical columns, one per row of the chart's own table, from left to right in their order; the colour of each says to
/// which group its row belongs.
///
/// Like [`Chart`](crate::Chart) it refers to cells and holds no numbers, and
/// [`Table::with_group_columns`](crate::Table::with_group_columns) checks the column names. Colours and labels belong to
/// places: sort the table, and they stay where they were.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupColumns {
    /// The title above the chart. Where not all rows are drawn it says so.
    pub title: String,
    /// Column whose cells name the rows.
    pub categories: String,
    /// Title below the columns. Empty: no title.
    pub category_axis: String,
    /// Numeric column of the heights.
    pub values: String,
    /// Title of the value axis, with the unit. Empty: no title.
    pub value_axis: String,
    /// Column whose cells tell the groups apart.
    pub groups: String,
    /// Texts of that column in the order of the colours, of which there are four; other texts follow in the order of
    /// the rows.
    pub group_order: Vec<String>,
    /// Integer columns whose numbers above 0, joined by `+`, stand above the columns that have room.
    pub labels: Vec<String>,
    /// At most this many rows, from the top.
    pub max_rows: usize,
}
