//! An xlsx workbook with one sheet per table.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use calamine::{DataRef, Reader as _, Xlsx};
use sheets::{Cell, Table};
use zip::ZipArchive;

use super::reader::{ReadError, Reader, is_missing};

/// Parts of the archive, sheets, and bytes of all parts together once they are inflated.
const MOST_PARTS: usize = 8192;
const MOST_SHEETS: usize = 1024;
const MOST_BYTES: u64 = 1 << 29;

/// Whether a zip archive has the parts of a workbook.
pub(super) fn is_workbook(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let Ok(archive) = ZipArchive::new(BufReader::new(file)) else { return false };
    archive.file_names().flatten().any(|name| name.eq_ignore_ascii_case("xl/workbook.xml"))
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Vec<Table>, ReadError> {
    let file = || File::open(reader.path).map(BufReader::new).map_err(|source| reader.io(source));
    check_parts(reader, file()?)?;
    let mut workbook = Xlsx::new(file()?).map_err(|error| damaged(reader, &error))?;
    let names = workbook.sheet_names();
    if names.len() > MOST_SHEETS {
        return Err(reader.too_large(MOST_SHEETS, "sheets"));
    }
    let mut tables = Vec::new();
    for name in names {
        tables.extend(read_sheet(reader, &mut workbook, &name)?);
    }
    Ok(tables)
}

fn damaged(reader: &Reader<'_>, error: &dyn std::fmt::Display) -> ReadError {
    ReadError::Workbook { path: reader.path.to_path_buf(), detail: error.to_string() }
}

/// Inflates every part once without keeping it: what an archive says of their sizes may be a lie.
fn check_parts(reader: &Reader<'_>, file: impl Read + Seek) -> Result<(), ReadError> {
    let mut archive = ZipArchive::new(file).map_err(|error| damaged(reader, &error))?;
    if archive.len() > MOST_PARTS {
        return Err(reader.too_large(MOST_PARTS, "parts"));
    }
    let mut left = MOST_BYTES;
    for part in 0..archive.len() {
        let part = archive.by_index(part).map_err(|error| damaged(reader, &error))?;
        let is_strings =
            part.name().is_ok_and(|name| name.to_ascii_lowercase().ends_with("sharedstrings.xml"));
        let mut part = part.take(left + 1);
        let mut strings = Vec::new();
        let read = match is_strings {
            true => part.read_to_end(&mut strings).map(|read| read as u64),
            false => io::copy(&mut part, &mut io::sink()),
        };
        let read = read.map_err(|error| damaged(reader, &error))?;
        left = left.checked_sub(read).ok_or_else(|| reader.too_large(MOST_BYTES as usize, "bytes"))?;
        if declares_more_than_it_has(&strings) {
            return Err(damaged(reader, &"its string table declares more strings than it has bytes"));
        }
    }
    Ok(())
}

/// Whether the list of texts declares so many that making room for them would take all memory.
fn declares_more_than_it_has(strings: &[u8]) -> bool {
    const DECLARATION: &[u8] = b"uniqueCount";
    let declarations = strings.windows(DECLARATION.len()).enumerate();
    declarations.filter(|(_, window)| *window == DECLARATION).any(|(at, _)| {
        let value = &strings[at + DECLARATION.len()..];
        let digits =
            value.iter().skip_while(|byte| !byte.is_ascii_digit()).take_while(|byte| byte.is_ascii_digit());
        let declared = digits
            .fold(0_usize, |sum, digit| sum.saturating_mul(10).saturating_add(usize::from(digit - b'0')));
        declared > strings.len()
    })
}

type Columns = Vec<(String, Vec<Cell<'static>>)>;

/// The columns of a table without their cells; `None` where it is not wanted.
fn empty_columns(reader: &Reader<'_>, name: &str, headers: Vec<String>) -> Option<Columns> {
    let names = (reader.names)(name, headers);
    (reader.is_wanted)(name, &names).then(|| names.into_iter().map(|name| (name, Vec::new())).collect())
}

/// One table, whose first row are its headers; `None` where it is not wanted or no sheet of cells.
fn read_sheet<F: Read + Seek>(
    reader: &mut Reader<'_>,
    workbook: &mut Xlsx<F>,
    name: &str,
) -> Result<Option<Table>, ReadError> {
    let mut cells = match workbook.worksheet_cells_reader(name) {
        Ok(cells) => cells,
        // A sheet that is a chart.
        Err(calamine::XlsxError::NotAWorksheet(_)) => return Ok(None),
        Err(error) => return Err(damaged(reader, &error)),
    };
    let mut headers: Vec<String> = Vec::new();
    let mut columns: Option<Columns> = None;
    let mut current_row = 0;
    let mut height = 0;
    while let Some(cell) = cells.next_cell().map_err(|error| damaged(reader, &error))? {
        let (row, position) = cell.get_position();
        let position = position as usize;
        if row == 0 {
            // Headers without a gap; what stands beyond one is no table's.
            if position == headers.len() && columns.is_none() {
                headers.push(value(cell.get_value()).text().into_owned());
            }
            continue;
        }
        let columns = match &mut columns {
            Some(columns) => columns,
            None => match empty_columns(reader, name, std::mem::take(&mut headers)) {
                Some(empty) => columns.insert(empty),
                None => return Ok(None),
            },
        };
        if row < current_row {
            return Err(damaged(reader, &format_args!("the rows of sheet `{name}` are out of order")));
        }
        if row > current_row {
            current_row = row;
            reader.spend(columns.len())?;
            columns.iter_mut().for_each(|(_, cells)| cells.resize(height, Cell::Missing));
            height += 1;
        }
        if let Some((_, cells)) = columns.get_mut(position) {
            cells.resize(height - 1, Cell::Missing);
            cells.push(value(cell.get_value()));
        }
    }
    let Some(mut columns) = columns.or_else(|| empty_columns(reader, name, headers)) else { return Ok(None) };
    columns.iter_mut().for_each(|(_, cells)| cells.resize(height, Cell::Missing));
    let columns = columns.into_iter().map(|(header, cells)| (header, whole_where_all_are(cells)));
    reader.table(name, columns.collect())
}

/// A cell; of a formula the value that it had when the workbook was written.
fn value(cell: &DataRef<'_>) -> Cell<'static> {
    let text = |text: &str| if is_missing(text) { Cell::Missing } else { Cell::from(text.to_owned()) };
    match cell {
        DataRef::Int(value) => Cell::Whole(*value),
        DataRef::Float(value) => Cell::Number(*value),
        DataRef::Bool(value) => Cell::Flag(*value),
        DataRef::String(value) | DataRef::DateTimeIso(value) | DataRef::DurationIso(value) => text(value),
        DataRef::SharedString(value) => text(value),
        DataRef::DateTime(value) => Cell::Number(value.as_f64()),
        DataRef::Error(_) | DataRef::Empty => Cell::Missing,
    }
}

/// Workbooks have one kind of number: a column in which all are whole is one of whole numbers.
fn whole_where_all_are(cells: Vec<Cell<'static>>) -> Vec<Cell<'static>> {
    const MOST_EXACT: f64 = 9_007_199_254_740_992.0;
    let is_whole = |cell: &Cell<'_>| match cell {
        Cell::Number(value) => value.fract() == 0.0 && value.abs() <= MOST_EXACT,
        _ => true,
    };
    if !cells.iter().all(is_whole) {
        return cells;
    }
    let whole = |cell| match cell {
        Cell::Number(value) => Cell::Whole(value as i64),
        cell => cell,
    };
    cells.into_iter().map(whole).collect()
}
