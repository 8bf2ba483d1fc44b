//! The part of a sheet that a summary shows: its first rows in a few columns.

use crate::column::Column;

/// The first rows of a table in some of its columns, under headers short enough for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// How many rows, at most.
    pub rows: usize,
    /// Header and name of each column, in order.
    pub columns: Vec<(&'static str, &'static str)>,
    /// Header and name of the columns that stand behind the first where rows that are alike in the first differ in them.
    pub told_by: Vec<(&'static str, &'static str)>,
}

impl Excerpt {
    /// So many rows in these columns, each under a header. A column that the table lacks under the options of a report
    /// is left out there.
    #[must_use]
    pub fn new<const N: usize>(rows: usize, columns: [(&'static str, Column); N]) -> Self {
        Excerpt { rows, columns: named(columns), told_by: Vec::new() }
    }

    /// The same excerpt, whose rows with the same first column these columns tell apart.
    #[must_use]
    pub fn told_by<const N: usize>(self, columns: [(&'static str, Column); N]) -> Self {
        Excerpt { told_by: named(columns), ..self }
    }
}

fn named<const N: usize>(columns: [(&'static str, Column); N]) -> Vec<(&'static str, &'static str)> {
    columns.map(|(header, column)| (header, column.name)).to_vec()
}
