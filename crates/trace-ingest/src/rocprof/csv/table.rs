//! A CSV file as rows whose columns are found by name.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ::csv::{ByteRecord, Reader, ReaderBuilder};

use crate::csv_limits::{LimitedRows, is_too_long, read_header, read_row, too_long};
use crate::error::IngestError;
use crate::source::{self, Expansion, ReadOptions, TextSource, file_name, is_damage};
use crate::warning::Warning;

/// A column that a reader wants: the profiler's name of it, in lower case, and other names that it goes by.
pub(super) type Names = &'static [&'static str];

/// Position of a column, if the file has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column(Option<usize>);

impl Column {
    pub(super) fn is_present(self) -> bool {
        self.0.is_some()
    }
}

pub(super) struct Table<'a> {
    path: PathBuf,
    /// Name of the file, for warnings.
    pub(super) name: String,
    reader: Reader<LimitedRows<Box<dyn Read + Send + 'a>>>,
    expansion: Expansion,
    columns: Vec<String>,
    header: String,
    pub(super) warnings: Vec<Warning>,
}

/// What is wrong with a row.
#[derive(Debug)]
pub(super) struct Fault(pub(super) String);

impl<'a> Table<'a> {
    /// Opens a file, plain or compressed, and reads its header.
    pub(super) fn open(path: &Path) -> Result<Self, IngestError> {
        Table::new(path, source::open(path, &ReadOptions::default())?)
    }

    /// Reads the header of an open file.
    pub(super) fn new(path: &Path, source: TextSource<'a>) -> Result<Self, IngestError> {
        let mut reader = ReaderBuilder::new().flexible(true).from_reader(LimitedRows::new(source.text));
        let header = source.expansion.end(path, read_header(path, &mut reader))?;
        Ok(Table {
            path: path.to_path_buf(),
            name: file_name(path),
            reader,
            expansion: source.expansion,
            columns: normalised(&header),
            header: shown(&header),
            warnings: source.warnings,
        })
    }

    /// The first of `names` that the file has.
    pub(super) fn column(&self, names: Names) -> Column {
        Column(names.iter().find_map(|name| self.columns.iter().position(|column| column == name)))
    }

    /// The columns, or an error that names those which are missing, and the header.
    pub(super) fn required<const N: usize>(&self, wanted: [Names; N]) -> Result<[Column; N], IngestError> {
        let columns = wanted.map(|names| self.column(names));
        let missing: Vec<String> = wanted
            .iter()
            .zip(columns)
            .filter(|(_, column)| !column.is_present())
            .filter_map(|(names, _)| names.first().map(|name| title_case(name)))
            .collect();
        if missing.is_empty() {
            return Ok(columns);
        }
        Err(IngestError::NotRocprof {
            path: self.path.clone(),
            missing: format!("missing columns {}", missing.join(", ")),
            found: format!("the header {}", self.header),
        })
    }

    /// Calls `read` with every row. Rows that it refuses, and those with more or fewer fields than the header, are
    /// counted in a warning.
    pub(super) fn rows(
        &mut self,
        mut read: impl FnMut(&Row<'_>) -> Result<(), Fault>,
    ) -> Result<(), IngestError> {
        let mut record = ByteRecord::new();
        let mut refused = 0;
        let mut first = None;
        loop {
            match read_row(&mut self.reader, &mut record) {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) if is_too_long(&self.reader) => {
                    refused += 1;
                    let line = record.position().map_or(0, |position| position.line());
                    let detail = format!("line {line}: {}; the rest was not read", too_long());
                    // Of all faults this is the one that costs the most.
                    first = Some(detail);
                    break;
                }
                Err(error) => {
                    self.broken(error)?;
                    break;
                }
            }
            let outcome = if record.len() == self.columns.len() {
                read(&Row { record: &record, columns: &self.columns })
            } else {
                Err(Fault(format!("{} fields, expected {}", record.len(), self.columns.len())))
            };
            if let Err(Fault(detail)) = outcome {
                refused += 1;
                let line = record.position().map_or(0, |position| position.line());
                first.get_or_insert_with(|| format!("line {line}: {detail}"));
            }
        }
        if let Some(detail) = first {
            let list = self.name.clone();
            self.warnings.push(Warning::MalformedRecords { list, count: refused, detail });
        }
        Ok(())
    }

    /// Damaged compression ends a file; anything else that stops reading ends the run.
    fn broken(&mut self, error: ::csv::Error) -> Result<(), IngestError> {
        self.expansion.end(&self.path, Ok(()))?;
        let detail = error.to_string();
        match error.into_kind() {
            ::csv::ErrorKind::Io(error) if is_damage(error.kind()) => {
                let detail = format!("{}: {error}", self.name);
                self.warnings.push(Warning::DamagedCompression { bytes_read: None, detail });
                Ok(())
            }
            ::csv::ErrorKind::Io(source) => Err(IngestError::Io { path: self.path.clone(), source }),
            _ => Err(IngestError::Io { path: self.path.clone(), source: io::Error::other(detail) }),
        }
    }
}

/// Names of columns in lower case, with underscores.
pub(super) fn normalised(header: &ByteRecord) -> Vec<String> {
    header
        .iter()
        .map(|name| {
            let name = String::from_utf8_lossy(name);
            let name = name.trim_start_matches('\u{feff}').trim().trim_matches('"');
            name.to_ascii_lowercase().replace([' ', '-'], "_")
        })
        .collect()
}

/// A header for a message, cut when it is long.
fn shown(header: &ByteRecord) -> String {
    let names: Vec<String> = header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let text = names.join(", ");
    match text.char_indices().nth(300) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text,
    }
}

/// `start_timestamp` as the profiler writes it: `Start_Timestamp`.
fn title_case(name: &str) -> String {
    let mut upper = true;
    name.chars()
        .map(|letter| {
            let written = if upper { letter.to_ascii_uppercase() } else { letter };
            upper = letter == '_';
            written
        })
        .collect()
}

pub(super) struct Row<'r> {
    record: &'r ByteRecord,
    columns: &'r [String],
}

impl<'r> Row<'r> {
    /// Content of a column; empty when the file has no such column.
    pub(super) fn bytes(&self, column: Column) -> &'r [u8] {
        column.0.and_then(|column| self.record.get(column)).unwrap_or_default().trim_ascii()
    }

    /// A whole number, or `None` where there is none.
    pub(super) fn integer(&self, column: Column) -> Result<Option<i64>, Fault> {
        let wide = self.wide(column)?;
        wide.map(|value| i64::try_from(value).map_err(|_| self.fault(column))).transpose()
    }

    /// A number of nanoseconds that has to be there.
    pub(super) fn time(&self, column: Column) -> Result<i64, Fault> {
        self.integer(column)?.ok_or_else(|| self.fault(column))
    }

    /// A whole number that is not negative, or `None` where there is none. `0x` begins a hexadecimal number.
    pub(super) fn unsigned(&self, column: Column) -> Result<Option<u64>, Fault> {
        let wide = self.wide(column)?;
        wide.map(|value| u64::try_from(value).map_err(|_| self.fault(column))).transpose()
    }

    /// A size of at most 32 bits.
    pub(super) fn size(&self, column: Column, default: u32) -> Result<u32, Fault> {
        match self.unsigned(column)? {
            Some(value) => u32::try_from(value).map_err(|_| self.fault(column)),
            None => Ok(default),
        }
    }

    /// A number that has to be there.
    pub(super) fn float(&self, column: Column) -> Result<f64, Fault> {
        std::str::from_utf8(self.bytes(column))
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| self.fault(column))
    }

    fn wide(&self, column: Column) -> Result<Option<i128>, Fault> {
        let bytes = self.bytes(column);
        if bytes.is_empty() {
            return Ok(None);
        }
        number(bytes).map(Some).ok_or_else(|| self.fault(column))
    }

    fn fault(&self, column: Column) -> Fault {
        let name = column.0.and_then(|column| self.columns.get(column)).map_or("?", String::as_str);
        let text = String::from_utf8_lossy(self.bytes(column));
        Fault(format!("{} is {text:?}", title_case(name)))
    }
}

/// A whole number as the profiler or a spreadsheet writes it: `12`, `-1`, `0x1f`, `12.0`.
fn number(text: &[u8]) -> Option<i128> {
    // Nearly all are plain digits; 18 of them fit without a check.
    if text.len() <= 18 && text.iter().all(u8::is_ascii_digit) {
        return Some(i128::from(text.iter().fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0'))));
    }
    let text = std::str::from_utf8(text).ok()?;
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).ok().map(i128::from);
    }
    text.parse().ok().or_else(|| {
        let value: f64 = text.parse().ok()?;
        (value.fract() == 0.0 && value.abs() < 9.0e15).then_some(value as i128)
    })
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for (text, expected) in [
            ("12", Some(12)),
            ("-1", Some(-1)),
            ("0x00007f0000000010", Some(0x7f00_0000_0010)),
            ("12.0", Some(12)),
            ("18446744073709551615", Some(u64::MAX.into())),
            ("12.5", None),
            ("1e400", None),
            ("abc", None),
        ] {
            assert_eq!(number(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn headers_are_compared_without_case_blanks_and_dashes() {
        let header = ByteRecord::from(vec!["\u{feff}Start Timestamp", "End-Timestamp", " KIND "]);
        assert_eq!(normalised(&header), ["start_timestamp", "end_timestamp", "kind"]);
        assert_eq!(title_case("start_timestamp"), "Start_Timestamp");
    }
}
