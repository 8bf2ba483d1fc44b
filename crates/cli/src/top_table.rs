//! Tables of a summary on the terminal: where most of the time went.

use std::fmt::Write;

use report_writers::Report;
use report_writers::terminal::{Style, TextColumn, table};
use sheets::Cell;

use crate::numbers::{decimal, grouped};

/// Time by kind of operator.
pub(crate) const CATEGORIES: TopTable = TopTable {
    sheet: "ops_summary_by_category",
    headers: ["category", "calls", "kernel ms", "%"],
    columns: ["op category", "Count", "total_direct_kernel_time_ms", "Percentage (%)"],
    rows: 6,
};

/// Time by operation; `called` says what the program's operations are: operators, instructions.
pub(crate) const fn operations(called: &'static str) -> TopTable {
    TopTable {
        sheet: "ops_summary",
        headers: [called, "calls", "kernel ms", "%"],
        columns: ["name", "Count", "total_direct_kernel_time_ms", "Percentage (%)"],
        rows: 10,
    }
}

/// The first rows of a sheet: a name, a count, a time, a percentage.
pub(crate) struct TopTable {
    /// Documented name of the sheet.
    pub(crate) sheet: &'static str,
    pub(crate) headers: [&'static str; 4],
    /// Columns of the sheet.
    pub(crate) columns: [&'static str; 4],
    pub(crate) rows: usize,
}

impl TopTable {
    /// Adds the table if the report has the sheet.
    pub(crate) fn write(&self, out: &mut String, report: &Report, style: Style) {
        let Some(sheet) = report.tables().iter().find(|table| table.name() == self.sheet) else { return };
        let [name_column, count, time, percent] = self.columns;
        let cell = |column, row| sheet.column(column).map_or(Cell::Missing, |column| column.cell(row));
        let text = |row| {
            let (name, module) = (cell(name_column, row), cell("parent_module", row));
            // Rows of one name are told apart by it.
            match module.text().strip_prefix("nn.Module: ") {
                Some(module) => format!("{} in {module}", name.text()),
                None => name.text().into_owned(),
            }
        };
        let integer = |row| match cell(count, row) {
            Cell::Whole(count) => grouped(count.unsigned_abs().into()),
            _ => String::new(),
        };
        let float = |column, row, places| match cell(column, row) {
            Cell::Number(number) => decimal(number, places),
            _ => String::new(),
        };
        let [name, calls, time_header, share] = self.headers;
        let columns = [
            TextColumn::left(name, |&row: &usize| text(row)),
            TextColumn::right(calls, |&row: &usize| integer(row)),
            TextColumn::right(time_header, |&row: &usize| float(time, row, 3)),
            TextColumn::right(share, |&row: &usize| float(percent, row, 1)),
        ];
        let rows: Vec<usize> = (0..sheet.height().min(self.rows)).collect();
        out.push('\n');
        out.push_str(&table(&columns, &rows, style));
        if sheet.height() > self.rows {
            let _ = writeln!(
                out,
                "{} and {} more",
                if style.unicode { "…" } else { "..." },
                sheet.height() - self.rows
            );
        }
    }
}
