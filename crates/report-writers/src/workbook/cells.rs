//! The cells of sheets: how many there can be, and how charts refer to them.

use rust_xlsxwriter::{ChartRange, ChartSeries, XlsxError, utility};
use sheets::{Table, TableColumn};

// Limits of the format:
// <https://support.microsoft.com/en-us/office/excel-specifications-and-limits-1672b34d-7043-467e-8e27-269d656771c3>

/// Rows of a sheet below its header row.
pub(super) const MAX_DATA_ROWS: usize = 1_048_576 - 1;
/// Columns of a sheet.
pub(super) const MAX_COLUMNS: usize = 16_384;
/// UTF-16 code units of a cell's text.
pub(super) const MAX_TEXT: usize = 32_767;
/// UTF-16 code units of a sheet's name.
pub(super) const MAX_NAME: usize = 31;

/// Rows of a table that a sheet can hold.
pub(super) fn sheet_rows(table: &Table) -> usize {
    table.height().min(MAX_DATA_ROWS)
}

pub(super) fn row_number(row: usize) -> Result<u32, XlsxError> {
    u32::try_from(row).map_err(|_| XlsxError::RowColumnLimitError)
}

pub(super) fn column_number(column: usize) -> Result<u16, XlsxError> {
    u16::try_from(column).map_err(|_| XlsxError::RowColumnLimitError)
}

/// A table and its sheet.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) table: &'a Table,
    pub(super) sheet_name: &'a str,
}

/// References to cells, rows and columns counted from zero, the header being row 0.
impl<'a> Source<'a> {
    /// A column of the sheet with its number.
    pub(super) fn column(&self, name: &str) -> Option<(usize, &'a TableColumn)> {
        let columns = self.table.columns().iter().take(MAX_COLUMNS);
        columns.enumerate().find(|(_, column)| column.name() == name)
    }

    pub(super) fn cell(&self, row: usize, column: usize) -> Result<ChartRange, XlsxError> {
        self.cells(column, &[row])
    }

    /// Sets what a series refers to: its name by row and column, its categories and values by column and rows.
    pub(super) fn set_cells(
        &self,
        series: &mut ChartSeries,
        name: (usize, usize),
        categories: (usize, &[usize]),
        values: (usize, &[usize]),
    ) -> Result<(), XlsxError> {
        series.set_name(&self.cell(name.0, name.1)?);
        series.set_categories(&self.cells(categories.0, categories.1)?);
        series.set_values(&self.cells(values.0, values.1)?);
        Ok(())
    }

    /// The cells of `column` in ascending `rows`: one area, or a union of areas such as
    /// `=(Sheet!$A$2:$A$3,Sheet!$A$7:$A$7)`.
    pub(super) fn cells(&self, column: usize, rows: &[usize]) -> Result<ChartRange, XlsxError> {
        cells_of(self.sheet_name, column, rows)
    }
}

/// The same of any sheet.
pub(super) fn cells_of(sheet_name: &str, column: usize, rows: &[usize]) -> Result<ChartRange, XlsxError> {
    let column = column_number(column)?;
    let runs = runs(rows);
    if let &[(first, last)] = runs.as_slice() {
        let (first, last) = (row_number(first)?, row_number(last)?);
        return Ok(ChartRange::new_from_range(sheet_name, first, column, last, column));
    }
    let mut areas = Vec::with_capacity(runs.len());
    for (first, last) in runs {
        let (first, last) = (row_number(first)?, row_number(last)?);
        areas.push(utility::worksheet_range_absolute(sheet_name, first, column, last, column));
    }
    Ok(ChartRange::new_from_string(&format!("=({})", areas.join(","))))
}

/// Groups numbers into runs of consecutive ones, each as its first and last.
fn runs(numbers: &[usize]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if number == *last + 1 => *last = number,
            _ => runs.push((number, number)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn consecutive_numbers_form_one_run() {
        assert_eq!(runs(&[]), []);
        assert_eq!(runs(&[1, 2, 3]), [(1, 3)]);
        assert_eq!(runs(&[1, 2, 4, 7, 8]), [(1, 2), (4, 4), (7, 8)]);
        assert_eq!(runs(&[3, 1]), [(3, 3), (1, 1)]);
    }
}
