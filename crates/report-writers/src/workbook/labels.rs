//! Names for charts that are too long as they stand in the cells.

use std::collections::BTreeMap;

use rust_xlsxwriter::{Worksheet, XlsxError};
use sheets::{Cell, ColumnKind, TableColumn, Unit, escaped};
use unicode_width::UnicodeWidthStr;

use super::cells::{column_number, row_number};
use crate::shorten::{shortened_apart, truncate_middle};

pub(super) const SHEET: &str = "chart_labels";
/// Longer names are shortened: what fits two lines beside the bars.
const LONGEST: usize = 84;

/// A hidden sheet with shortened names. A chart names its bars by cells, and cells of a table hold the whole names.
pub(super) struct ChartLabels {
    name: String,
    sheet: Worksheet,
    columns: usize,
}

/// Cells of the sheet with names: the column, and the rows from the first one on.
pub(super) struct LabelCells<'l> {
    pub(super) sheet_name: &'l str,
    pub(super) column: usize,
    pub(super) rows: Vec<usize>,
    /// Characters of the longest.
    pub(super) longest: usize,
}

impl ChartLabels {
    pub(super) fn new(name: String) -> Self {
        ChartLabels { name, sheet: Worksheet::new(), columns: 0 }
    }

    /// Cells with the names in these rows of a column, in this order, those that come more than once with what
    /// distinguishes them; `None` where all can be shown as they are.
    pub(super) fn add(
        &mut self,
        names: &TableColumn,
        told_by: &[&TableColumn],
        rows: &[usize],
    ) -> Result<Option<LabelCells<'_>>, XlsxError> {
        let texts: Vec<String> = rows.iter().map(|&row| names.cell(row).text().into_owned()).collect();
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        texts.iter().for_each(|text| *count.entry(text).or_default() += 1);
        let repeated: Vec<bool> = texts.iter().map(|text| count[text.as_str()] > 1).collect();
        // What is the same for all of them tells nothing apart.
        let differs = |column: &&&TableColumn| {
            let mut cells = rows.iter().map(|&row| column.cell(row));
            let first = cells.next();
            cells.any(|cell| Some(cell) != first)
        };
        let told_by: Vec<&TableColumn> = told_by.iter().filter(differs).copied().collect();
        let is_told = repeated.contains(&true) && !told_by.is_empty();
        if !is_told && texts.iter().all(|text| text.width() <= LONGEST) {
            return Ok(None);
        }
        // What is behind a name must survive its being shortened.
        let behind: Vec<String> =
            rows.iter().zip(&repeated).map(|(&row, &is)| behind(&told_by, row, is)).collect();
        let room = LONGEST.saturating_sub(behind.iter().map(|text| text.width()).max().unwrap_or(0));
        let short = shortened_apart(texts.iter().map(String::as_str), room.max(LONGEST / 2), true);
        let labels: Vec<String> = texts
            .iter()
            .zip(&behind)
            .map(|(text, behind)| format!("{}{behind}", short[text.as_str()]).trim_start().to_owned())
            .collect();
        let column = self.columns;
        for (row, text) in labels.iter().enumerate() {
            self.sheet.write_string(row_number(row)?, column_number(column)?, &*escaped(text))?;
        }
        self.columns += 1;
        let longest = labels.iter().map(|label| label.width()).max().unwrap_or(0);
        Ok(Some(LabelCells { sheet_name: &self.name, column, rows: (0..rows.len()).collect(), longest }))
    }

    /// The sheet, if a chart needs it.
    pub(super) fn into_sheet(mut self) -> Result<Option<Worksheet>, XlsxError> {
        if self.columns == 0 {
            return Ok(None);
        }
        self.sheet.set_name(&self.name)?.set_hidden(true);
        Ok(Some(self.sheet))
    }
}

/// What distinguishes a row from others of its name: ` (float, 12.5 MiB)`.
fn behind(told_by: &[&TableColumn], row: usize, is_repeated: bool) -> String {
    if !is_repeated {
        return String::new();
    }
    let shown = told_by.iter().filter_map(|column| {
        let text = match column.cell(row) {
            Cell::Missing => return None,
            // As many digits as tell sizes apart.
            Cell::Number(number) => format!("{}", (number * 1e3).round() / 1e3),
            cell => cell.text().into_owned(),
        };
        if column.kind() == ColumnKind::Identifier {
            return Some(format!("{} {text}", column.title()));
        }
        let unit = column.kind().unit().filter(|&unit| unit != Unit::One).map_or("", Unit::symbol);
        Some(format!("{} {unit}", truncate_middle(&text, LONGEST / 3, true)).trim_end().to_owned())
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) }
}
