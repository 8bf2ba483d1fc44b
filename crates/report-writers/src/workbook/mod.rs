//! xlsx: one workbook, one sheet per table, charts as native charts.

mod drawing;
mod group_columns;
mod layout;
mod point_labels;
mod scatter;
mod sheet_name;

use std::borrow::Cow;
use std::io::{Cursor, Seek, Write};
use std::path::Path;

use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, FormatAlign, Note, Worksheet, XlsxError};

use crate::cell::{Cell, Cells};
use crate::error::WriteError;
use crate::float_text::float_text;
use crate::report::Report;
use crate::table::Table;
use crate::writer::{Warning, Writer, Written, create_file};

// Limits of the format:
// <https://support.microsoft.com/en-us/office/excel-specifications-and-limits-1672b34d-7043-467e-8e27-269d656771c3>

/// Rows of a sheet below its header row.
const MAX_DATA_ROWS: usize = 1_048_576 - 1;
/// Columns of a sheet.
const MAX_COLUMNS: usize = 16_384;
/// UTF-16 code units of a cell's text.
const MAX_TEXT: usize = 32_767;
/// Level of the file's compression, of 9. Against the usual 6, writing a workbook takes a fifth less time and the file
/// a fourteenth more room.
const COMPRESSION: u8 = 3;
/// Integers up to here are exact in a cell, whose numbers are doubles.
const MAX_EXACT_INTEGER: u128 = 1 << 53;

/// An xlsx workbook with one sheet per table, in order.
///
/// The header row is bold, stays in view, filters its columns and explains each column in a
/// note. Numbers are numbers in the format of their [`CellKind`](crate::CellKind), booleans are
/// booleans, null, NaN and empty text are empty cells. Text is always text, never a formula or a
/// link. Infinities are the texts `inf` and `-inf`; integers beyond 2^53, which a cell would
/// round, are text.
///
/// The same report gives the same bytes: the creation time in the properties is fixed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Workbook;

impl Workbook {
    /// Writes `report` to `output` and says where limits of the format forced a difference.
    ///
    /// # Errors
    ///
    /// When the workbook cannot be assembled or `output` cannot be written.
    pub fn write_to(
        &self,
        report: &Report,
        output: impl Write + Seek + Send,
    ) -> Result<Vec<Warning>, XlsxError> {
        let mut warnings = Vec::new();
        let mut workbook = rust_xlsxwriter::Workbook::new();
        // The earliest time that the format's zip container can hold, so that nothing in the
        // file tells when it was written.
        let created = ExcelDateTime::from_ymd(1980, 1, 1)?;
        workbook
            .set_properties(&DocProperties::new().set_title(report.title()).set_creation_datetime(&created));
        let names = sheet_name::sheet_names(report.tables().iter().map(Table::name));
        let sheets = report.each_table(write_sheet)?;
        for ((table, name), written) in report.tables().iter().zip(&names).zip(sheets) {
            if *name != table.name() {
                warnings.push(Warning::SheetRenamed { table: table.name().to_owned(), sheet: name.clone() });
            }
            let WrittenSheet { mut sheet, widths, warnings: of_sheet } = written;
            warnings.extend(of_sheet);
            sheet.set_name(name)?;
            let rows = sheet_rows(table);
            if let Some(chart) = table.chart() {
                drawing::insert_chart(&mut sheet, table, chart, name, &widths, rows)?;
            }
            if let Some(chart) = table.group_columns() {
                let own = scatter::Source { table, sheet_name: name };
                group_columns::insert(&mut sheet, chart, &own, &widths)?;
            }
            if let Some(chart) = table.scatter() {
                let sheets: Vec<scatter::Source<'_>> = report
                    .tables()
                    .iter()
                    .zip(&names)
                    .map(|(table, sheet_name)| scatter::Source { table, sheet_name })
                    .collect();
                scatter::insert(
                    &mut sheet,
                    chart,
                    &scatter::Source { table, sheet_name: name },
                    &sheets,
                    &widths,
                )?;
            }
            workbook.push_worksheet(sheet);
        }
        workbook.set_zip_compression_level(COMPRESSION);
        workbook.save_to_writer(output)?;
        Ok(warnings)
    }
}

impl Writer for Workbook {
    fn name(&self) -> &'static str {
        "xlsx"
    }

    fn write(&self, report: &Report, destination: &Path) -> Result<Written, WriteError> {
        // Assembled in memory, compressed: what fails from here on is the file.
        let mut content = Cursor::new(Vec::new());
        let warnings = self.write_to(report, &mut content).map_err(|source| WriteError::Workbook {
            path: destination.to_owned(),
            source: Box::new(source),
        })?;
        let mut file = create_file(destination)?;
        file.write_all(content.get_ref())
            .and_then(|()| file.commit())
            .map_err(WriteError::writing(destination))?;
        Ok(Written { paths: vec![destination.to_owned()], warnings })
    }
}

/// Rows of a table that a sheet can hold.
fn sheet_rows(table: &Table) -> usize {
    table.frame().height().min(MAX_DATA_ROWS)
}

/// A sheet with the cells of a table, without a name and charts.
struct WrittenSheet {
    sheet: Worksheet,
    /// Widths of the columns, in characters.
    widths: Vec<f64>,
    warnings: Vec<Warning>,
}

fn write_sheet(table: &Table) -> Result<WrittenSheet, XlsxError> {
    let (mut sheet, mut warnings) = (Worksheet::new(), Vec::new());
    let mut cells = table.cells();
    if cells.len() > MAX_COLUMNS {
        warnings.push(Warning::ColumnsCut {
            table: table.name().to_owned(),
            columns: cells.len() - MAX_COLUMNS,
            limit: MAX_COLUMNS,
        });
        cells.truncate(MAX_COLUMNS);
    }
    let rows = sheet_rows(table);
    if rows < table.frame().height() {
        warnings.push(Warning::RowsCut {
            table: table.name().to_owned(),
            rows: table.frame().height() - rows,
            limit: MAX_DATA_ROWS,
        });
    }

    let header_format = Format::new().set_bold().set_align(FormatAlign::Top);
    let mut widths = Vec::with_capacity(cells.len());
    for (position, ((column, header), format)) in
        cells.iter().zip(table.headers()).zip(table.columns()).enumerate()
    {
        let column_number = column_number(position)?;
        sheet.write_string_with_format(0, column_number, cut_text(header).0, &header_format)?;
        if !format.description.is_empty() {
            sheet.insert_note(0, column_number, &header_note(&format.description))?;
        }
        let width = layout::column_width(header, column, format.kind, rows);
        // The format of the column is that of its cells: looking it up cell by cell would cost as much as the cells.
        if let Some(format) = layout::column_format(column, format.kind) {
            sheet.set_column_format(column_number, &format)?;
        }
        sheet.set_column_width(column_number, width)?;
        widths.push(width);
        let cut = write_column(&mut sheet, column_number, column, rows)?;
        if cut > 0 {
            warnings.push(Warning::TextCut {
                table: table.name().to_owned(),
                column: header.to_owned(),
                cells: cut,
                limit: MAX_TEXT,
            });
        }
    }

    sheet.set_landscape().set_print_fit_to_pages(1, 0);
    if let Some(last_column) = cells.len().checked_sub(1) {
        sheet.set_freeze_panes(1, 0)?;
        sheet.set_repeat_rows(0, 0)?;
        sheet.autofilter(0, 0, row_number(rows)?, column_number(last_column)?)?;
    }
    Ok(WrittenSheet { sheet, widths, warnings })
}

/// Writes the cells below the header and returns how many texts were cut.
fn write_column(
    sheet: &mut Worksheet,
    column_number: u16,
    column: &Cells<'_>,
    rows: usize,
) -> Result<usize, XlsxError> {
    let mut cut = 0;
    for row in 0..rows {
        let row_number = row_number(row + 1)?;
        match column.get(row) {
            Cell::Null => {}
            Cell::Boolean(value) => {
                sheet.write_boolean(row_number, column_number, value)?;
            }
            Cell::Integer(value) if value.unsigned_abs() <= MAX_EXACT_INTEGER => {
                sheet.write_number(row_number, column_number, value as f64)?;
            }
            Cell::Integer(value) => {
                sheet.write_string(row_number, column_number, value.to_string())?;
            }
            Cell::Float(value) if value.is_nan() => {}
            Cell::Float(value) if value.is_infinite() => {
                sheet.write_string(row_number, column_number, float_text(value))?;
            }
            Cell::Float(value) => {
                sheet.write_number(row_number, column_number, value)?;
            }
            Cell::Text("") => {}
            Cell::Text(text) => {
                let (text, was_cut) = cut_text(text);
                cut += usize::from(was_cut);
                sheet.write_string(row_number, column_number, text)?;
            }
        }
    }
    Ok(cut)
}

/// The text that fits a cell, ending in `…` if it had to be cut, and whether it was.
fn cut_text(text: &str) -> (Cow<'_, str>, bool) {
    // A text has at most as many UTF-16 units as UTF-8 bytes.
    if text.len() <= MAX_TEXT || text.encode_utf16().count() <= MAX_TEXT {
        return (Cow::Borrowed(text), false);
    }
    let mut units = 0;
    let kept = text.chars().take_while(|c| {
        units += c.len_utf16();
        units < MAX_TEXT
    });
    let mut cut: String = kept.collect();
    cut.push('…');
    (Cow::Owned(cut), true)
}

fn header_note(description: &str) -> Note {
    const CHARACTERS_PER_LINE: usize = 44;
    let lines = description.chars().count().div_ceil(CHARACTERS_PER_LINE) + 1;
    let height = u32::try_from(lines).unwrap_or(u32::MAX).saturating_mul(14).clamp(36, 300);
    Note::new(description).add_author_prefix(false).set_width(260).set_height(height)
}

fn row_number(row: usize) -> Result<u32, XlsxError> {
    u32::try_from(row).map_err(|_| XlsxError::RowColumnLimitError)
}

fn column_number(column: usize) -> Result<u16, XlsxError> {
    u16::try_from(column).map_err(|_| XlsxError::RowColumnLimitError)
}

#[cfg(test)]
mod tests {
    use super::{MAX_TEXT, cut_text};

    #[test]
    fn text_at_the_limit_is_kept_and_beyond_it_is_cut_between_characters() {
        let whole = "x".repeat(MAX_TEXT);
        assert_eq!(cut_text(&whole), (whole.as_str().into(), false));
        // Three bytes but one unit each: the limit counts units.
        let whole = "€".repeat(MAX_TEXT);
        assert!(!cut_text(&whole).1);
        // Two units each: an odd limit falls inside a pair.
        let long = "😀".repeat(MAX_TEXT);
        let (cut, was_cut) = cut_text(&long);
        assert!(was_cut);
        assert_eq!(cut.encode_utf16().count(), MAX_TEXT);
        assert!(cut.ends_with("😀…"));
        let long = "x".repeat(MAX_TEXT + 1);
        let (cut, was_cut) = cut_text(&long);
        assert!(was_cut);
        assert_eq!(cut.chars().count(), MAX_TEXT);
        assert!(cut.ends_with("x…"));
    }
}
