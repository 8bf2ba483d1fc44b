//! Reports of small traces for tests, with times in microseconds.

pub(crate) use testdata::trace::{Fixture, Input, Kernel};
use tree_perf::{Analysis, AnalysisOptions};

use crate::common::Table;

pub(crate) trait Analysed: Sized {
    fn analyse(self, options: AnalysisOptions) -> Analysis;

    /// A sheet of the trace with default options.
    fn table(self, sheet: &str) -> Table {
        self.table_with(sheet, AnalysisOptions::default())
    }

    /// A sheet of the trace; panics when the report leaves it out.
    fn table_with(self, sheet: &str, options: AnalysisOptions) -> Table {
        Table::of_sheet(&self.analyse(options), sheet)
    }
}

impl Analysed for Fixture {
    fn analyse(self, options: AnalysisOptions) -> Analysis {
        Analysis::new(self.finish(), options)
    }
}
