//! A sheet as text for tests to read.

use inference_phase::sheets::{PhaseAnalysis, PhaseMethod, phase_sheets};
use sheets::{Cell, Layout, Table};

/// A sheet of the phases, with a method of TraceLens in its layout; `None` when it is left out.
pub(crate) fn sheet(phases: &PhaseAnalysis<'_>, name: &str) -> Option<Table> {
    let sheet = phase_sheets().into_iter().find(|sheet| sheet.name == name).unwrap();
    let is_of_tracelens = matches!(phases.options().method, PhaseMethod::TraceLens(_));
    sheet.table_in(phases, if is_of_tracelens { Layout::Listed } else { Layout::Roles }).unwrap()
}

/// The names of the columns, joined by ` | `.
pub(crate) fn headers(table: &Table) -> String {
    table.columns().iter().map(|column| column.name()).collect::<Vec<_>>().join(" | ")
}

/// The rows of some columns, cells joined by ` | ` as the names are; a missing one is `-`, times have three places.
pub(crate) fn rows(table: &Table, columns: &str) -> Vec<String> {
    let cell = |column: &str, row: usize| match table.column(column).unwrap().cell(row) {
        Cell::Missing => "-".to_owned(),
        Cell::Number(number) => format!("{number:.3}"),
        // As Rust spells it.
        Cell::Flag(flag) => flag.to_string(),
        cell => cell.text().into_owned(),
    };
    (0..table.height())
        .map(|row| columns.split(" | ").map(|column| cell(column, row)).collect::<Vec<_>>().join(" | "))
        .collect()
}

pub(crate) fn numbers(table: &Table, column: &str) -> Vec<f64> {
    let number = |cell| match cell {
        Cell::Number(number) => Some(number),
        _ => None,
    };
    table.column(column).unwrap().cells().filter_map(number).collect()
}

/// Σ of the kernel time of operators, in µs, whichever unit the layout has it in.
pub(crate) fn kernel_time_us(table: &Table) -> f64 {
    match table.layout() {
        Layout::Roles => sum(table, "total_direct_kernel_time_ms") * 1e3,
        Layout::Listed => sum(table, "total_direct_kernel_time_sum"),
    }
}

/// Σ of a column.
pub(crate) fn sum(table: &Table, column: &str) -> f64 {
    numbers(table, column).iter().sum()
}
