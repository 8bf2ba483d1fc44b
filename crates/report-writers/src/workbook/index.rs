//! The list of a workbook's sheets, where there are many.

use rust_xlsxwriter::{Format, Url, Worksheet, XlsxError};
use sheets::{Layout, Table, escaped};

use super::cells::{Source, row_number};

pub(super) const SHEET: &str = "index";
/// Sheets that a workbook shows, the list among them; the others are hidden.
const MOST_SHOWN: usize = 8;
/// Widths in characters of the default font.
const WIDTHS: [f64; 4] = [30.0, 10.0, 100.0, 10.0];

/// Which tables have a sheet that is shown; `None` where all do. The first is, then those that have a chart or are on the
/// first page. The layout of a reference tool has the sheets of that tool and no others.
pub(super) fn shown(tables: &[Table]) -> Option<Vec<bool>> {
    if tables.len() <= MOST_SHOWN || tables.iter().any(|table| table.layout() != Layout::Roles) {
        return None;
    }
    let mut left = MOST_SHOWN - 1;
    let is_shown = |(position, table): (usize, &Table)| {
        let is_worth = position == 0 || table.chart().is_some() || table.excerpt().is_some();
        let is_shown = is_worth && left > 0;
        left -= usize::from(is_shown);
        is_shown
    };
    Some(tables.iter().enumerate().map(is_shown).collect())
}

/// The list: each sheet with a link, its rows and what it is.
pub(super) fn sheet(name: &str, sources: &[Source<'_>], shown: &[bool]) -> Result<Worksheet, XlsxError> {
    let mut sheet = Worksheet::new();
    sheet.set_name(name)?;
    let bold = Format::new().set_bold();
    for ((column, header), width) in (0..).zip(["sheet", "rows", "contents", "shown"]).zip(WIDTHS) {
        sheet.write_string_with_format(0, column, header, &bold)?;
        sheet.set_column_width(column, width)?;
    }
    let wrapped = Format::new().set_text_wrap();
    for (position, (source, &is_shown)) in sources.iter().zip(shown).enumerate() {
        let row = row_number(position + 1)?;
        let link = format!("internal:'{}'!A1", source.sheet_name.replace('\'', "''"));
        sheet.write_url(row, 0, Url::new(link).set_text(&*escaped(source.sheet_name)))?;
        sheet.write_number(row, 1, source.table.height() as f64)?;
        let contents = match source.table.name() {
            name if name == source.sheet_name => source.table.description().to_owned(),
            name => format!("Table {name}. {}", source.table.description()),
        };
        sheet.write_string_with_format(row, 2, &*escaped(&contents), &wrapped)?;
        sheet.write_string(row, 3, if is_shown { "yes" } else { "hidden" })?;
    }
    let note = "To open a hidden sheet in Excel, right-click any tab and choose Unhide.";
    sheet.write_string(row_number(sources.len() + 2)?, 0, note)?;
    sheet.set_freeze_panes(1, 0)?;
    Ok(sheet)
}
