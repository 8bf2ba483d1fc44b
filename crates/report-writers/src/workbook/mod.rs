//! xlsx: one workbook, one sheet per table, charts as native charts.

mod cells;
mod charts;
mod grouped;
mod index;
mod labels;
mod lines;
mod number_format;
mod scatter;
mod waterfall;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::File;
use std::io::{Cursor, Read, Seek, Write};
use std::path::Path;

use rust_xlsxwriter::{
    Chart as NativeChart, Color, ConditionalFormatBlank, ConditionalFormatCell, ConditionalFormatCellRule,
    DataValidation, DocProperties, ExcelDateTime, Format, FormatAlign, Note, ObjectMovement, Worksheet,
    XlsxError,
};
use sheets::{Cell, ChartShape, Layout, Role, Table, TableColumn, Verdict, escaped, is_obeyed};
use unicode_width::UnicodeWidthStr;

use self::cells::{
    MAX_COLUMNS, MAX_DATA_ROWS, MAX_NAME, MAX_TEXT, Source, column_number, row_number, sheet_rows,
};
use self::labels::ChartLabels;
use self::number_format::NumberFormat;
use crate::report::Report;
use crate::writer::{Warning, WriteError, Writer, Written, create_file};

/// Level of the file's compression, of 9. Against 3, writing a workbook takes a quarter less work and the file a quarter
/// more room.
const COMPRESSION: u8 = 1;
/// Integers up to here are exact in a cell, whose numbers are doubles.
const MAX_EXACT_INTEGER: u64 = 1 << 53;
/// UTF-16 code units of the message of a cell.
const MAX_MESSAGE: usize = 255;
/// Column widths in characters of the default font: of names, and of texts that explain them.
const NARROWEST: usize = 8;
const WIDEST: usize = 60;
const WIDEST_DETAIL: usize = 40;
/// Frozen columns take at most this much of a window, so that the others have room to scroll.
const MOST_FROZEN: f64 = 75.0;
/// Points of a line of the header.
const HEADER_LINE: u32 = 15;
/// Behind headers of columns with a caveat: light amber, on which text stays easy to read.
const MARKED: Color = Color::RGB(0xFF_E6_99);
/// Indent of texts beside other columns, about a character.
const TEXT_INDENT: u8 = 1;
/// The filter button that covers the end of a header, in characters.
const FILTER_BUTTON: usize = 3;
/// Pixels of a default row, and of a character and the padding of a column.
const ROW_HEIGHT: u32 = 20;
const CHARACTER_WIDTH: f64 = 7.0;
const COLUMN_PADDING: f64 = 5.0;
/// A table and a chart that are together no wider than this are side by side on one screen.
const SCREEN_WIDTH: f64 = 1620.0;
/// Who wrote a workbook, until somebody else saves it.
const AUTHOR: &str = "tracelens";
/// Bytes of a workbook's properties that are read.
const LONGEST_PROPERTIES: u64 = 1 << 16;

/// An xlsx workbook with one sheet per table, in order. Of many tables the first and those with a chart or on the first
/// page are shown; the others are hidden behind a list of all with links.
///
/// The header row is bold, stays in view with the columns that name the rows, filters its columns and explains each
/// column in a message that appears when its header is selected; the header of a column that is empty or not to be relied
/// on ([`TableColumn::caveats`]) is coloured and says why. Columns whose role is to be folded ([`Role`]) are in
/// collapsed groups, each opened at the column to its left; a table in the layout of a reference tool has no groups and no
/// frozen columns. Cells that are good or bad ([`Verdict`]) are coloured. Numbers are numbers in the format of their kind, with the unit that the header does not say; flags are
/// booleans, what is missing and empty text are empty cells. Text is always text, never a formula or a
/// link, and one line: [`escaped`] writes out what a program would obey. Infinities are the texts `inf` and `-inf`; integers beyond 2^53, which a cell would
/// round, are text.
///
/// The same report gives the same bytes: the creation time in the properties is fixed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Workbook;

impl Workbook {
    /// Whether the file is a workbook that this writer wrote and nobody has saved since.
    #[must_use]
    pub fn is_own(path: &Path) -> bool {
        let properties = || -> Option<String> {
            let mut archive = zip::ZipArchive::new(File::open(path).ok()?).ok()?;
            let mut text = String::new();
            archive
                .by_name("docProps/core.xml")
                .ok()?
                .take(LONGEST_PROPERTIES)
                .read_to_string(&mut text)
                .ok()?;
            Some(text)
        };
        let last = format!("<cp:lastModifiedBy>{AUTHOR}</cp:lastModifiedBy>");
        properties().is_some_and(|text| text.contains(&last))
    }

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
        workbook.set_properties(
            &DocProperties::new()
                .set_title(report.title())
                .set_author(AUTHOR)
                .set_creation_datetime(&created),
        );
        let tables = report.tables().iter().map(Table::name);
        let mut names = sheet_names(tables.chain([labels::SHEET, index::SHEET]));
        let index = names.pop().unwrap_or_default();
        let mut labels = ChartLabels::new(names.pop().unwrap_or_default());
        let shown = index::shown(report.tables());
        let sources: Vec<Source<'_>> = report
            .tables()
            .iter()
            .zip(&names)
            .map(|(table, sheet_name)| Source { table, sheet_name })
            .collect();
        let sheets = report.each_table(write_sheet)?;
        for (position, (&source, written)) in sources.iter().zip(sheets).enumerate() {
            let Source { table, sheet_name } = source;
            // The index has the whole names.
            if shown.is_none() && sheet_name != table.name() {
                let (table, sheet) = (table.name().to_owned(), sheet_name.to_owned());
                warnings.push(Warning::SheetRenamed { table, sheet });
            }
            let WrittenSheet { mut sheet, widths, warnings: of_sheet } = written;
            warnings.extend(of_sheet);
            sheet.set_name(sheet_name)?;
            insert_chart(&mut sheet, source, &sources, &widths, &mut labels)?;
            if let Some(shown) = &shown {
                sheet.set_hidden(!shown[position]);
            }
            workbook.push_worksheet(sheet);
            if let (Some(shown), 0) = (&shown, position) {
                workbook.push_worksheet(index::sheet(&index, &sources, shown)?);
            }
        }
        if let Some(sheet) = labels.into_sheet()? {
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

    fn extension(&self) -> Option<&'static str> {
        Some("xlsx")
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

/// A sheet with the cells of a table, without a name and charts.
struct WrittenSheet {
    sheet: Worksheet,
    /// Widths of the columns, in characters; 0 of those that are folded away.
    widths: Vec<f64>,
    warnings: Vec<Warning>,
}

fn write_sheet(table: &Table) -> Result<WrittenSheet, XlsxError> {
    let (mut sheet, mut warnings) = (Worksheet::new(), Vec::new());
    let columns = &table.columns()[..table.columns().len().min(MAX_COLUMNS)];
    if columns.len() < table.columns().len() {
        warnings.push(Warning::ColumnsCut {
            table: table.name().to_owned(),
            columns: table.columns().len() - MAX_COLUMNS,
            limit: MAX_COLUMNS,
        });
    }
    let rows = sheet_rows(table);
    if rows < table.height() {
        warnings.push(Warning::RowsCut {
            table: table.name().to_owned(),
            rows: table.height() - rows,
            limit: MAX_DATA_ROWS,
        });
    }

    let header_format = Format::new().set_bold().set_align(FormatAlign::Top).set_text_wrap();
    let marked_format = header_format.clone().set_background_color(MARKED);
    let mut widths = Vec::with_capacity(columns.len());
    let mut header_lines = 1;
    let described = table.headers().into_iter().zip(table.explanations());
    for (position, (column, (header, description))) in columns.iter().zip(described).enumerate() {
        let column_number = column_number(position)?;
        let of_table = if position == 0 { table.caveats() } else { &[] };
        let caveats = of_table.iter().chain(column.caveats()).map(|caveat| caveat.text.as_str());
        let explanation: Vec<&str> =
            [&*description].into_iter().filter(|text| !text.is_empty()).chain(caveats).collect();
        let is_marked = explanation.len() > usize::from(!description.is_empty());
        let format = if is_marked { &marked_format } else { &header_format };
        sheet.write_string_with_format(0, column_number, cut_text(&escaped(&header)).0, format)?;
        explain_header(&mut sheet, column_number, &explanation.join(" "))?;
        // The format of the column is that of its cells: looking it up cell by cell would cost as much as the cells.
        let format = NumberFormat::new(column, &header);
        let look = match &format {
            Some(format) => Format::new().set_num_format(format.code()),
            // Numbers end where the next column begins: a text there stands a little away from them.
            None if position > 0 => Format::new().set_indent(TEXT_INDENT),
            None => Format::new(),
        };
        sheet.set_column_format(column_number, &look)?;
        let WrittenColumn { widest, cut } =
            write_column(&mut sheet, column_number, column, format.as_ref(), rows)?;
        let (header_width, lines) = header_size(&header);
        header_lines = header_lines.max(lines);
        let width = column_width(header_width, widest, column.role());
        sheet.set_column_width(column_number, width)?;
        widths.push(width);
        if let (Some(verdict), true) = (column.verdict(), rows > 0) {
            colour_verdicts(&mut sheet, column_number, rows, verdict)?;
        }
        if cut > 0 {
            warnings.push(Warning::TextCut {
                table: table.name().to_owned(),
                column: header.into_owned(),
                cells: cut,
                limit: MAX_TEXT,
            });
        }
    }

    sheet.set_landscape().set_print_fit_to_pages(1, 0);
    sheet.set_row_height(0, header_lines * HEADER_LINE)?;
    if let Some(last_column) = columns.len().checked_sub(1) {
        let mut frozen = 0;
        if table.layout() == Layout::Roles {
            frozen = frozen_columns(columns, &widths);
            fold(&mut sheet, columns, &mut widths)?;
        }
        sheet.set_freeze_panes(1, column_number(frozen)?)?;
        // Below the header, whose message would cover the first cells.
        sheet.set_selection(1, 0, 1, 0)?;
        sheet.set_repeat_rows(0, 0)?;
        sheet.autofilter(0, 0, row_number(rows)?, column_number(last_column)?)?;
    }
    Ok(WrittenSheet { sheet, widths, warnings })
}

/// Puts the chart of a table, if it has one, beside or below its cells. A chart without rows or values is nothing to
/// look at and is left out. `sheets` are all of the workbook.
fn insert_chart(
    sheet: &mut Worksheet,
    own: Source<'_>,
    sheets: &[Source<'_>],
    widths: &[f64],
    labels: &mut ChartLabels,
) -> Result<(), XlsxError> {
    let Some(chart) = own.table.chart() else { return Ok(()) };
    let drawn = match chart.shape {
        ChartShape::Stacked { parts, per: Some(per) } => charts::stacked_per(chart, own, parts, per)?,
        ChartShape::Stacked { .. } | ChartShape::Bars(_) | ChartShape::Columns(_) => {
            charts::bars(chart, own, labels)?
        }
        ChartShape::Scatter { .. } => scatter::draw(chart, own, sheets)?,
        ChartShape::Lines { .. } => lines::draw(chart, own)?,
        ChartShape::Grouped { .. } => grouped::draw(chart, own)?,
        ChartShape::Waterfall { .. } => waterfall::draw(chart, own)?,
    };
    match drawn {
        Some((native, width)) => place(sheet, native, width, widths, sheet_rows(own.table)),
        None => Ok(()),
    }
}

/// Puts a chart beside the cells where the screen has room for both, else below them.
fn place(
    sheet: &mut Worksheet,
    mut native: NativeChart,
    chart_width: u32,
    widths: &[f64],
    rows: usize,
) -> Result<(), XlsxError> {
    let beside_column = widths.len() + 1;
    let below_row = rows + 2;
    let table_width: f64 = widths
        .iter()
        .filter(|&&width| width > 0.0)
        .map(|width| width * CHARACTER_WIDTH + COLUMN_PADDING)
        .sum();
    let table_height = f64::from(row_number(rows)?) * f64::from(ROW_HEIGHT);
    let beside = table_width + f64::from(chart_width) <= SCREEN_WIDTH || table_width <= table_height;
    // A filter hides rows; a chart beside them must not shrink with them.
    let has_folded = widths.contains(&0.0);
    native.set_object_movement(match has_folded {
        // Columns that are unfolded push it to the right.
        true => ObjectMovement::MoveButDontSizeWithCells,
        false => ObjectMovement::DontMoveOrSizeWithCells,
    });
    if beside {
        sheet.insert_chart(1, column_number(beside_column)?, &native)?;
    } else {
        native.set_object_movement(ObjectMovement::MoveButDontSizeWithCells);
        sheet.insert_chart(row_number(below_row)?, 0, &native)?;
    }
    Ok(())
}

/// How many columns stay in view: the first ones that name the rows, as far as they leave room for others.
fn frozen_columns(columns: &[TableColumn], widths: &[f64]) -> usize {
    let mut used = 0.0;
    let names = columns.iter().zip(widths).take_while(|(column, width)| {
        used += *width;
        column.role() == Role::Name && used <= MOST_FROZEN
    });
    // With all columns frozen there would be nothing to scroll.
    names.count().min(columns.len() - 1)
}

/// Puts neighbouring columns that are to be folded into collapsed groups, opened at the column to their left, and sets
/// their widths to 0.
fn fold(sheet: &mut Worksheet, columns: &[TableColumn], widths: &mut [f64]) -> Result<(), XlsxError> {
    sheet.group_symbols_to_left(true);
    let mut first = 0;
    for alike in columns.chunk_by(|a, b| a.role().is_folded() == b.role().is_folded()) {
        let last = first + alike.len() - 1;
        // A group at the very left has no column at which it could be opened.
        if first > 0 && alike[0].role().is_folded() {
            sheet.group_columns_collapsed(column_number(first)?, column_number(last)?)?;
            widths[first..=last].fill(0.0);
        }
        first = last + 1;
    }
    Ok(())
}

/// Backgrounds of cells that are good and bad; dark text can be read on both.
const GOOD: u32 = 0xD5_EBD5;
const BAD: u32 = 0xF6_D5D5;

/// Colours the good and the bad cells of a column, whatever they are changed to.
fn colour_verdicts(
    sheet: &mut Worksheet,
    column: u16,
    rows: usize,
    verdict: Verdict,
) -> Result<(), XlsxError> {
    let (limit, above, below) = match verdict {
        Verdict::LessIsBetter => (0.0, BAD, GOOD),
        Verdict::AboveOneIsBetter => (1.0, GOOD, BAD),
    };
    // Programs take empty cells for zero.
    let blanks = ConditionalFormatBlank::new().set_stop_if_true(true);
    sheet.add_conditional_format(1, column, row_number(rows)?, column, &blanks)?;
    for (rule, color) in [
        (ConditionalFormatCellRule::GreaterThan(limit), above),
        (ConditionalFormatCellRule::LessThan(limit), below),
    ] {
        let format = Format::new().set_background_color(color);
        let condition = ConditionalFormatCell::new().set_rule(rule).set_format(format);
        sheet.add_conditional_format(1, column, row_number(rows)?, column, &condition)?;
    }
    Ok(())
}

#[derive(Default)]
struct WrittenColumn {
    /// Characters of the widest cell.
    widest: usize,
    /// Texts that were cut.
    cut: usize,
}

/// Writes the cells below the header.
fn write_column(
    sheet: &mut Worksheet,
    column_number: u16,
    column: &TableColumn,
    format: Option<&NumberFormat>,
    rows: usize,
) -> Result<WrittenColumn, XlsxError> {
    let mut written = WrittenColumn::default();
    let number_width = |value| format.map_or(0, |format| format.width(value));
    for row in 0..rows {
        let cell = column.cell(row);
        let row_number = row_number(row + 1)?;
        let width = match &cell {
            Cell::Missing => continue,
            Cell::Flag(value) => {
                sheet.write_boolean(row_number, column_number, *value)?;
                5
            }
            Cell::Whole(value) if value.unsigned_abs() <= MAX_EXACT_INTEGER => {
                sheet.write_number(row_number, column_number, *value as f64)?;
                number_width(*value as f64)
            }
            Cell::Number(value) if value.is_finite() => {
                sheet.write_number(row_number, column_number, *value)?;
                number_width(*value)
            }
            Cell::Whole(_) | Cell::Number(_) | Cell::Text(_) | Cell::Nested(_) => {
                let text = cell.text();
                if text.is_empty() {
                    continue;
                }
                let text = escaped(&text);
                let (shown, was_cut) = cut_text(&text);
                written.cut += usize::from(was_cut);
                sheet.write_string(row_number, column_number, shown)?;
                // Four bytes a character at most: what is surely too wide is not measured.
                if text.len() > 4 * WIDEST { WIDEST } else { text.width() }
            }
        };
        written.widest = written.widest.max(width);
    }
    Ok(written)
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

/// The width, in characters, in which a header and cells of up to `widest` can be read: no number turns into `####`,
/// long text is cut by its neighbour.
fn column_width(header: usize, widest: usize, role: Role) -> f64 {
    let most = if role == Role::Name { WIDEST } else { WIDEST_DETAIL.max(header) };
    // At most 60, so exact.
    header.max(widest + 1).clamp(NARROWEST, most.clamp(NARROWEST, WIDEST)) as f64
}

/// Characters that a header takes with the filter's button, and its lines: of several words in two, where that is
/// narrower.
fn header_size(header: &str) -> (usize, u32) {
    let in_one = header.width() + FILTER_BUTTON;
    let breaks = header.match_indices(' ').map(|(at, _)| {
        let (first, second) = header.split_at(at);
        (first.width() + 1).max(second.trim_start().width() + FILTER_BUTTON)
    });
    match breaks.min() {
        Some(in_two) if in_two < in_one && in_one > NARROWEST => (in_two, 2),
        _ => (in_one, 1),
    }
}

/// A name per sheet, which the format accepts: at most 31 characters, seven of them forbidden, unique without regard to
/// case. The table's own name wherever it is allowed.
fn sheet_names<'a>(tables: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = HashSet::new();
    tables
        .map(|table| {
            let allowed: String =
                table.chars().map(|c| if r"[]:*?/\".contains(c) { '_' } else { c }).collect();
            // An apostrophe at either end is forbidden too: it would end the name in a formula.
            let allowed = allowed.trim_matches('\'');
            let mut name = shorten(if allowed.is_empty() { "_" } else { allowed }, MAX_NAME);
            let mut copy = 2;
            while !taken.insert(name.to_lowercase()) {
                let suffix = format!("~{copy}");
                name = shorten(allowed, MAX_NAME - suffix.len()) + &suffix;
                copy += 1;
            }
            name
        })
        .collect()
}

/// The longest start of `name` of at most `units` UTF-16 code units.
fn shorten(name: &str, units: usize) -> String {
    let mut used = 0;
    let kept = name.chars().take_while(|c| {
        used += c.len_utf16();
        used <= units
    });
    let kept: String = kept.collect();
    kept.trim_end_matches('\'').to_owned()
}

/// Says at a header what its column means: as a message that appears when the cell is selected. Notes would cost nearly
/// half of the time of writing a workbook, because each brings a drawing of its own, and every sheet two more parts in the
/// file; only a description that is too long for a message is one.
fn explain_header(sheet: &mut Worksheet, column_number: u16, description: &str) -> Result<(), XlsxError> {
    if description.is_empty() {
        return Ok(());
    }
    if description.encode_utf16().count() > MAX_MESSAGE {
        sheet.insert_note(0, column_number, &header_note(description))?;
        return Ok(());
    }
    let shown = description.replace(is_obeyed, " ");
    let message = DataValidation::new().allow_any_value().set_input_message(shown)?;
    sheet.add_data_validation(0, column_number, 0, column_number, &message)?;
    Ok(())
}

fn header_note(description: &str) -> Note {
    const CHARACTERS_PER_LINE: usize = 44;
    let lines = description.chars().count().div_ceil(CHARACTERS_PER_LINE) + 1;
    let height = u32::try_from(lines).unwrap_or(u32::MAX).saturating_mul(14).clamp(36, 300);
    Note::new(description).add_author_prefix(false).set_width(260).set_height(height)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn widths_stay_within_the_limits() {
        let width = |header: &str, widest| column_width(header_size(header).0, widest, Role::Name);
        assert_eq!(width("id", 0), 8.0);
        assert_eq!(width("id", 30), 31.0);
        assert_eq!(width("mean_duration_us", 0), 19.0);
        assert_eq!(width(&"x".repeat(300), 0), 60.0);
        assert_eq!(column_width(5, 500, Role::Detail), 40.0);
        // A header that is wider is not cut.
        assert_eq!(column_width(50, 5, Role::Provenance), 50.0);
    }

    #[test]
    fn headers_of_several_words_take_two_lines() {
        assert_eq!(header_size("Cumulative Percentage (%)"), (17, 2));
        assert_eq!(header_size("total_direct_kernel_time_ms"), (30, 1));
        assert_eq!(header_size("in"), (5, 1));
    }

    #[test]
    fn allowed_names_are_kept_and_others_changed_without_collisions() {
        let cases: &[(&[&str], &[&str])] = &[
            (&["gpu_timeline", "GEMM"], &["gpu_timeline", "GEMM"]),
            (&["unified_perf_summary_kl_overlap"], &["unified_perf_summary_kl_overlap"]),
            (&["a[1]", "a_1_"], &["a_1_", "a_1_~2"]),
            (&["'quoted'"], &["quoted"]),
            (
                &["unified_perf_summary_kl_overlap_fwd", "Unified_perf_summary_kl_overlap_bwd"],
                &["unified_perf_summary_kl_overlap", "Unified_perf_summary_kl_overl~2"],
            ),
            (&["😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀"], &["😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀"]),
        ];
        for (tables, sheets) in cases {
            assert_eq!(&sheet_names(tables.iter().copied()), sheets);
        }
    }
}
