//! A report: titled tables in their order.

use std::collections::HashSet;

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use sheets::{ChartShape, Table, TableError, names_a_file};
use thiserror::Error;

/// Tables that cannot stand in one report.
#[derive(Debug, Error, PartialEq, Eq, miette::Diagnostic)]
#[non_exhaustive]
pub enum ReportError {
    /// Two tables have the same name, upper and lower case not distinguished.
    #[error("the report has two tables named `{name}` (names are case-insensitive)")]
    #[diagnostic(code("report/duplicate-name"), help("rename one"))]
    DuplicateName {
        /// The name of the second table.
        name: String,
    },
    /// A chart draws points from a table that the report lacks.
    #[error("chart `{chart}` of table `{table}` needs table `{points}`, which the report lacks")]
    #[diagnostic(code("report/chart-table"))]
    ChartTable {
        /// The chart's table.
        table: String,
        /// The chart's title.
        chart: &'static str,
        /// The missing table.
        points: &'static str,
    },
    /// A chart draws points from a table that cannot give them.
    #[error(transparent)]
    #[diagnostic(code("report/points"))]
    Points(
        #[from]
        #[diagnostic_source]
        TableError,
    ),
}

/// Tables in the order in which they are written.
#[derive(Debug, Clone)]
pub struct Report {
    title: String,
    tables: Vec<Table>,
    known_names: Vec<String>,
    threads: usize,
}

impl Report {
    /// A report of `tables`.
    ///
    /// # Errors
    ///
    /// When two tables have the same name. Upper and lower case count as the same, because they
    /// do in a workbook's sheet names and on some file systems. When a scatter chart draws points from a table
    /// that is missing, or lacks the columns.
    pub fn new(title: impl Into<String>, tables: Vec<Table>) -> Result<Self, ReportError> {
        let mut seen = HashSet::new();
        for table in &tables {
            if !seen.insert(table.name().to_lowercase()) {
                return Err(ReportError::DuplicateName { name: table.name().to_owned() });
            }
        }
        for table in &tables {
            check_points(table, &tables)?;
        }
        Ok(Self { title: title.into(), tables, known_names: Vec::new(), threads: 1 })
    }

    /// The same report with `table` before the others.
    ///
    /// # Errors
    ///
    /// When a table of this name is there.
    pub fn with_first(self, table: Table) -> Result<Self, ReportError> {
        let Self { title, tables, known_names, threads } = self;
        let tables = std::iter::once(table).chain(tables).collect();
        Ok(Self { known_names, threads, ..Self::new(title, tables)? })
    }

    /// The same report with the names of columns as headers, not their titles.
    #[must_use]
    pub fn keeping_names(mut self) -> Self {
        self.tables = self.tables.into_iter().map(Table::keeping_names).collect();
        self
    }

    /// Names every table that a report of this kind can have, in this run or another.
    ///
    /// A writer of several files uses the names to remove what an earlier run left behind and
    /// this run does not write; it touches no other file. Names that no table can have are ignored.
    #[must_use]
    pub fn with_known_names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.known_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// On how many threads writers may work, one if not said. What they write is the same for any number.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// What `work` makes of every table, in order. The first error counts, whatever threads do.
    pub(crate) fn each_table<R: Send, E: Send>(
        &self,
        work: impl Fn(&Table) -> Result<R, E> + Send + Sync,
    ) -> Result<Vec<R>, E> {
        let threads = self.threads.min(self.tables.len());
        let pool =
            (threads > 1).then(|| ThreadPoolBuilder::new().num_threads(threads).build().ok()).flatten();
        let Some(pool) = pool else { return self.tables.iter().map(work).collect() };
        let made: Vec<Result<R, E>> = pool.install(|| self.tables.par_iter().map(work).collect());
        made.into_iter().collect()
    }

    /// The title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The tables, in order.
    #[must_use]
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The known table names that this report does not hold.
    pub fn absent_names(&self) -> impl Iterator<Item = &str> {
        let held = |name: &str| self.tables.iter().any(|table| table.name().eq_ignore_ascii_case(name));
        self.known_names.iter().map(String::as_str).filter(move |name| names_a_file(name) && !held(name))
    }
}

/// Whether the points of a table's scatter chart can be drawn.
fn check_points(table: &Table, tables: &[Table]) -> Result<(), ReportError> {
    let Some(chart) = table.chart() else { return Ok(()) };
    let ChartShape::Scatter { points, .. } = chart.shape else { return Ok(()) };
    let Some(other) = tables.iter().find(|other| other.name() == points.table) else {
        let (table, points) = (table.name().to_owned(), points.table);
        return Err(ReportError::ChartTable { table, chart: chart.title, points });
    };
    let any = [points.groups, points.labels];
    Ok(other.check_chart_columns(chart.title, &any, &[points.x, points.y, points.weights])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_worked_on_in_order_and_the_first_error_counts() {
        let tables = ["a", "b", "c", "d"].map(|name| Table::new(name, Vec::new()).unwrap());
        let report = Report::new("r", tables.to_vec()).unwrap();
        for threads in [0, 1, 2, 9] {
            let report = report.clone().with_threads(threads);
            let names = report.each_table(|table| Ok::<_, ()>(table.name().to_owned()));
            assert_eq!(names.unwrap(), ["a", "b", "c", "d"], "{threads} threads");
            let failed = report.each_table(|table| match table.name() {
                "a" | "c" => Ok(()),
                name => Err(name.to_owned()),
            });
            assert_eq!(failed.unwrap_err(), "b", "{threads} threads");
        }
    }

    #[test]
    fn table_names_that_differ_only_in_case_are_refused() {
        let table = |name: &str| Table::new(name, Vec::new()).unwrap();
        assert!(Report::new("r", vec![table("GEMM"), table("GEMM_fwd")]).is_ok());
        let error = Report::new("r", vec![table("GEMM"), table("gemm")]).unwrap_err();
        assert!(matches!(error, ReportError::DuplicateName { ref name } if name == "gemm"), "{error}");
    }
}
