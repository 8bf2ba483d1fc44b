//! What a chart shows, described by the names of columns; each writer that can draw decides how.

/// The chart of a table. It refers to the table's cells and has no numbers of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chart {
    /// Title.
    pub title: &'static str,
    /// Name of the column that names the bars, columns or lines.
    pub categories: &'static str,
    /// Name of the column of the values.
    pub values: &'static str,
    /// Title of the value axis, with its unit.
    pub axis: &'static str,
    /// Form of the chart.
    pub shape: ChartShape,
    /// Names of columns whose cells distinguish bars of one name, such as the size of a collective; those that the table
    /// lacks do not count.
    pub told_by: &'static [&'static str],
}

/// Form of a chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChartShape {
    /// Bars made of the rows with these names, end to end.
    Stacked {
        /// The names, in order.
        parts: &'static [&'static str],
        /// Name of the column whose cells distinguish the bars; all rows are of one bar without it.
        per: Option<&'static str>,
    },
    /// A bar per row, this many from the top.
    Bars(usize),
    /// A column per row, from left to right; says what the rows are, with the unit.
    Columns(&'static str),
    /// Lines whose ends are the rows, the values upwards, and points among them; both axes logarithmic. Without lines
    /// where the points are the rows themselves.
    Scatter {
        /// Name of the column of the horizontal positions.
        x: &'static str,
        /// Title of that axis, with its unit.
        x_axis: &'static str,
        /// Name of the column whose cells distinguish the lines.
        groups: &'static str,
        /// The points.
        points: ScatterPoints,
    },
    /// Lines through the rows of one name in their order, one for the values and one for each further column, both axes
    /// linear from zero.
    Lines {
        /// Name of the column of the horizontal positions.
        x: &'static str,
        /// Title of that axis, with its unit.
        x_axis: &'static str,
        /// Names of further columns of values.
        also: &'static [&'static str],
        /// Name of a column with numbers in the rows at which something begins: a thin line goes from there down to the
        /// axis.
        borders: Option<&'static str>,
    },
    /// A column per row, from left to right: whole columns for the values, and between them steps from one to the other,
    /// each from where the one before it ends.
    Waterfall {
        /// Name of the column with the lower end of each step.
        base: &'static str,
        /// Name of the column with the heights of steps upwards.
        rise: &'static str,
        /// Name of the column with the heights of steps downwards.
        fall: &'static str,
    },
    /// A column per row, from left to right, in the colour of the row's group.
    Grouped {
        /// What the rows are, with the unit.
        title: &'static str,
        /// Name of the column whose cells distinguish the groups.
        groups: &'static str,
        /// Its texts in the order of the colours.
        order: &'static [&'static str],
        /// Names of columns of whole numbers whose values above 0 stand above the columns that have room, joined by
        /// `+`.
        labels: &'static [&'static str],
        /// This many rows from the top.
        rows: usize,
    },
}

/// Points of a scatter chart: the rows of another table of the report, or of the chart's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScatterPoints {
    /// Name of that table.
    pub table: &'static str,
    /// Name of the column of the horizontal positions.
    pub x: &'static str,
    /// Name of the column of the vertical positions.
    pub y: &'static str,
    /// Name of the column whose cells distinguish the series; a series has the colour of the line of its group.
    pub groups: &'static str,
    /// Name of the column that names the points.
    pub labels: &'static str,
    /// Name of the column that gives the size of a point.
    pub weights: &'static str,
    /// The least weights of all sizes but the smallest, the largest first.
    pub thresholds: &'static [f64],
}

impl Chart {
    /// A chart of `values` by `categories`.
    #[must_use]
    pub const fn new(
        title: &'static str,
        categories: &'static str,
        values: &'static str,
        axis: &'static str,
        shape: ChartShape,
    ) -> Self {
        Chart { title, categories, values, axis, shape, told_by: &[] }
    }

    /// The same chart, whose bars of one name these columns distinguish.
    #[must_use]
    pub const fn told_by(self, columns: &'static [&'static str]) -> Self {
        Chart { told_by: columns, ..self }
    }

    /// Names of the columns of its own table that it needs: those of any kind, and those that have to be numbers.
    #[must_use]
    pub fn columns(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let (mut any, mut numbers) = (vec![self.categories], vec![self.values]);
        match self.shape {
            ChartShape::Stacked { per, .. } => any.extend(per),
            ChartShape::Bars(_) | ChartShape::Columns(_) => {}
            ChartShape::Scatter { x, groups, .. } => {
                any.push(groups);
                numbers.push(x);
            }
            ChartShape::Lines { x, also, borders, .. } => {
                numbers.push(x);
                numbers.extend(also);
                numbers.extend(borders);
            }
            ChartShape::Waterfall { base, rise, fall } => numbers.extend([base, rise, fall]),
            ChartShape::Grouped { groups, labels, .. } => {
                any.push(groups);
                numbers.extend(labels);
            }
        }
        (any, numbers)
    }
}
