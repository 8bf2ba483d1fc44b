//! The sheets of an analysis as text, for tests to read.
#![allow(dead_code)] // each test program uses a part

mod table;

use sheets::{Layout, Sheet};
use tree_perf::{Analysis, all_sheets};

pub(crate) use table::Table;

/// The sheet with this name.
pub(crate) fn sheet<'a>(name: &str) -> Sheet<'a, Analysis> {
    all_sheets().into_iter().find(|sheet| sheet.name == name).unwrap_or_else(|| panic!("no sheet {name}"))
}

impl Table {
    /// Builds a sheet in the layout of its report; `None` when the report leaves it out.
    pub(crate) fn build(analysis: &Analysis, name: &str) -> Option<Table> {
        let layout = if analysis.options().parity { Layout::Reference } else { Layout::Roles };
        sheet(name).table_in(analysis, layout).unwrap().map(|table| Table::new(&table))
    }

    /// Builds a sheet that must be there.
    pub(crate) fn of_sheet(analysis: &Analysis, name: &str) -> Table {
        Table::build(analysis, name).unwrap_or_else(|| panic!("{name} was left out"))
    }
}
