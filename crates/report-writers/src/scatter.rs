//! What a chart of points on logarithmic axes shows, described by column names.

/// A scatter chart, both axes logarithmic: the rows of its own table are the ends of lines, those of another
/// table are points among the lines. So the chart stands beside a short table, however many points there are.
///
/// Like [`Chart`](crate::Chart) it refers to cells and holds no numbers.
/// [`Table::with_scatter`](crate::Table::with_scatter) checks the column names of its own table,
/// [`Report::new`](crate::Report::new) those of the other. Rows without a positive finite place are not drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct ScatterChart {
    /// The title above the chart.
    pub title: String,
    /// What is drawn from left to right.
    pub x: ScatterAxis,
    /// What is drawn upwards.
    pub y: ScatterAxis,
    /// Column whose cells tell the lines apart.
    pub groups: String,
    /// Column of the lines' names.
    pub names: String,
    /// The points.
    pub points: ScatterPoints,
}

/// An axis of a scatter chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScatterAxis {
    /// Numeric column of the chart's own table.
    pub column: String,
    /// Title, with the unit.
    pub title: String,
}

/// The size of points: spreadsheet programs know one size per series, so that points are sorted into classes.
#[derive(Debug, Clone, PartialEq)]
pub struct ScatterWeights {
    /// Numeric column.
    pub column: String,
    /// The least weights of all classes but the lightest, the largest first.
    pub thresholds: Vec<f64>,
}

impl ScatterWeights {
    /// The class of a weight: 0 is the heaviest.
    pub(crate) fn class(&self, weight: f64) -> usize {
        self.thresholds.iter().position(|&least| weight >= least).unwrap_or(self.thresholds.len())
    }
}

/// Points of a scatter chart: the rows of another table of the same report.
#[derive(Debug, Clone, PartialEq)]
pub struct ScatterPoints {
    /// Name of the other table.
    pub table: String,
    /// Its numeric column of the places from left to right.
    pub x: String,
    /// Its numeric column of the heights.
    pub y: String,
    /// Its column whose cells tell the series apart, a colour each, which is also that of the line of the same
    /// group. Rows of one series should stand together.
    pub groups: String,
    /// Its column whose texts stand beside the heaviest points, as far as there is room.
    pub labels: String,
    /// What the size of a point says.
    pub weights: ScatterWeights,
}

#[cfg(test)]
mod tests {
    use super::ScatterWeights;

    #[test]
    fn a_weight_is_in_the_first_class_that_it_reaches() {
        let weights = ScatterWeights { column: "w".into(), thresholds: vec![10.0, 1.0] };
        for (weight, class) in [(100.0, 0), (10.0, 0), (9.99, 1), (1.0, 1), (0.5, 2), (f64::NAN, 2)] {
            assert_eq!(weights.class(weight), class, "{weight}");
        }
    }
}
