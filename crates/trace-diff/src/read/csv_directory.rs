//! A directory with one CSV file per table.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use csv::ReaderBuilder;
use gpu_timeline::SortFew;
use sheets::{Cell, Table};

use super::reader::{ReadError, Reader, is_missing};

/// Files of a directory that are looked at.
const MOST_FILES: usize = 4096;

/// Name and path of the tables, by name.
pub(super) fn table_files(directory: &Path) -> Result<Vec<(String, PathBuf)>, ReadError> {
    let failed = |source| ReadError::Io { path: directory.to_path_buf(), source };
    let mut tables = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_csv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        if let (true, Some(name)) = (is_csv, path.file_stem()) {
            tables.push((name.to_string_lossy().into_owned(), path));
        }
        if tables.len() > MOST_FILES {
            let path = directory.to_path_buf();
            return Err(ReadError::TooLarge { path, most: MOST_FILES, what: "CSV files" });
        }
    }
    tables.sort_few();
    Ok(tables)
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Vec<Table>, ReadError> {
    let mut tables = Vec::new();
    for (name, path) in table_files(reader.path)? {
        tables.extend(read_file(reader, &name, &path)?);
    }
    Ok(tables)
}

/// One table; `None` where it is not wanted.
fn read_file(reader: &mut Reader<'_>, name: &str, path: &Path) -> Result<Option<Table>, ReadError> {
    let damaged = |source| ReadError::Csv { path: path.to_path_buf(), source };
    let file = File::open(path).map_err(|source| ReadError::Io { path: path.to_path_buf(), source })?;
    let mut rows = ReaderBuilder::new().from_reader(BufReader::new(file));
    let headers = rows.byte_headers().map_err(damaged)?;
    let headers: Vec<String> = headers.iter().map(|header| unguarded(&text(header)).to_owned()).collect();
    // A file that is empty or a lone line end is a table without columns.
    let headers = if headers.iter().all(String::is_empty) { Vec::new() } else { headers };
    let headers = (reader.names)(name, headers);
    if !(reader.is_wanted)(name, &headers) {
        return Ok(None);
    }
    let mut columns: Vec<(String, Vec<Option<String>>)> =
        headers.into_iter().map(|header| (header, Vec::new())).collect();
    let mut row = csv::ByteRecord::new();
    while rows.read_byte_record(&mut row).map_err(damaged)? {
        reader.spend(columns.len())?;
        for ((_, cells), field) in columns.iter_mut().zip(&row) {
            let text = text(field);
            cells.push((!is_missing(&text)).then(|| unguarded(&text).to_owned()));
        }
    }
    let columns = columns.into_iter().map(|(header, cells)| (header, typed(cells)));
    reader.table(name, columns.collect())
}

fn text(field: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(field)
}

/// The text without the apostrophe that keeps spreadsheet programs from taking it for a formula.
fn unguarded(text: &str) -> &str {
    match text.strip_prefix('\'') {
        Some(rest) if rest.starts_with(['=', '+', '-', '@']) => rest,
        _ => text,
    }
}

/// Cells as what all texts of the column are: flags, whole numbers, numbers, else texts.
fn typed(texts: Vec<Option<String>>) -> Vec<Cell<'static>> {
    let all = |is_kind: &dyn Fn(&str) -> bool| texts.iter().flatten().all(|text| is_kind(text));
    let parse: fn(String) -> Cell<'static> = if all(&|text| matches!(text, "True" | "False")) {
        |text| Cell::Flag(text == "True")
    } else if all(&|text| text.parse::<i64>().is_ok()) {
        |text| text.parse().map_or(Cell::Missing, Cell::Whole)
    } else if all(&|text| text.parse::<f64>().is_ok()) {
        |text| text.parse().map_or(Cell::Missing, Cell::Number)
    } else {
        |text| Cell::from(text)
    };
    texts.into_iter().map(|text| text.map_or(Cell::Missing, parse)).collect()
}
