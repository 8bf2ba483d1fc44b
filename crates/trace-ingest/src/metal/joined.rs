//! The files of a run, one below the other.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ::csv::{ByteRecord, Position, Reader, ReaderBuilder};

use super::columns::{Columns, Header, is_ops_csv};
use super::ops_table::{OpRow, OpsFile, OpsTable, OpsWarning};
use super::row::RowReader;
use crate::csv_limits::{LimitedRows, is_too_long, read_header, read_row};
use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::format::{Certainty, Format};
use crate::recording::Recording;
use crate::source::{TextSource, is_damage};
use crate::warning::Warning;

/// How much of a text is looked at to say what it is, in bytes.
pub(super) const HEAD: usize = 64 << 10;

pub(crate) const FORMAT: Format = Format {
    name: "Tenstorrent ops CSV",
    kind: RecordingKind::TenstorrentOps,
    probe: |head| Certainty::certain_if(is_ops_csv(head)),
    read: |path, source, _| {
        let mut joined = Joined::default();
        joined.add_source(path, source)?;
        Ok(Recording::TenstorrentOps(Box::new(joined.finish())))
    },
};

/// What is known of the rows of a file.
struct Shape {
    /// Number of columns.
    width: usize,
    /// By how many lines the CSV reader is behind.
    lag: u64,
}

/// The files so far.
#[derive(Default)]
pub(super) struct Joined {
    table: OpsTable,
    /// All columns of the files so far; says of which form they are.
    header: Header,
    /// Columns that each file lacks, of those that are used.
    lacking: Vec<Vec<&'static str>>,
    /// The first file that names devices, and how many.
    devices: Option<(PathBuf, u32)>,
    /// Records so far, with those that were left out.
    records: u64,
    /// Cells read as blank, by name of the column, in the order in which they were met.
    unusable: Vec<(String, u64)>,
}

impl Joined {
    pub(super) fn add_source(&mut self, path: &Path, source: TextSource<'_>) -> Result<(), IngestError> {
        self.table.warnings.extend(source.warnings.iter().map(|fault| OpsWarning::Source {
            path: path.to_path_buf(),
            detail: fault.to_string(),
            loses_rows: matches!(fault, Warning::Truncated { .. } | Warning::DamagedCompression { .. }),
        }));
        source.expansion.end(path, self.add(path, &source.head, source.text))
    }

    /// Appends a file whose text begins with `head`.
    pub(super) fn add(&mut self, path: &Path, head: &[u8], text: impl Read) -> Result<(), IngestError> {
        let text = LimitedRows::new(text);
        let mut reader = ReaderBuilder::new().flexible(true).buffer_capacity(HEAD).from_reader(text);
        let header = Header::new(&read_header(path, &mut reader)?);
        if header.names.iter().all(String::is_empty) {
            return Err(IngestError::Empty { path: path.to_path_buf() });
        }
        header.require_columns(path, head)?;
        let columns = Columns::new(&header);
        columns.add_to(&mut self.table.has);
        self.lacking.push(columns.lacking().collect());
        let mut rows = RowReader::new(columns, header.names.len());

        let first_row = self.table.rows.len();
        // Of lines that end in "\r\n" the CSV reader leaves "\n" to the next record, and its line is one too low.
        let lag = u64::from(memchr::memchr(b'\n', head).is_some_and(|end| head[..end].ends_with(b"\r")));
        self.read_rows(path, &mut reader, &mut rows, Shape { width: header.names.len(), lag })?;
        for (position, count) in rows.unusable() {
            let name = &header.names[position];
            match self.unusable.iter_mut().find(|(other, _)| other == name) {
                Some((_, sum)) => *sum += count,
                None => self.unusable.push((name.clone(), count)),
            }
        }
        for name in header.names {
            if self.header.position(&name).is_none() {
                self.header.names.push(name);
            }
        }
        self.number_devices(path, first_row)
    }

    fn read_rows(
        &mut self,
        path: &Path,
        reader: &mut Reader<LimitedRows<impl Read>>,
        rows: &mut RowReader,
        Shape { width, lag }: Shape,
    ) -> Result<(), IngestError> {
        let table = &mut self.table;
        let file = table.files.len() as u32;
        let mut record = ByteRecord::new();
        let mut malformed = 0;
        let mut first_malformed = None;
        loop {
            match read_row(reader, &mut record) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    let source = io::Error::from(error);
                    if !is_damage(source.kind()) && !is_too_long(reader) {
                        return Err(IngestError::Io { path: path.to_path_buf(), source });
                    }
                    let detail = format!("is truncated; all rows before the damage were read: {source}");
                    let path = path.to_path_buf();
                    table.warnings.push(OpsWarning::Source { path, detail, loses_rows: true });
                    break;
                }
            }
            // An operation is named by the line it would have in a spreadsheet: the header is line 1.
            let id = self.records + 2;
            self.records += 1;
            if record.len() != width {
                malformed += 1;
                first_malformed.get_or_insert_with(|| {
                    let first = record.position().map_or(0, Position::line);
                    let lines = reader.position().line().saturating_sub(first);
                    (first + lag, width_fault(record.len(), width, lines))
                });
                continue;
            }
            let (Ok(id), Ok(_)) = (u32::try_from(id), u32::try_from(table.tensors.len() + 2 * width)) else {
                return Err(IngestError::TooManyEvents { path: path.to_path_buf(), limit: u32::MAX });
            };
            let row = rows.read(&record, &mut table.strings, &mut table.tensors);
            table.rows.push(OpRow { id, file, ..row });
        }
        if let Some((first_line, detail)) = first_malformed {
            let path = path.to_path_buf();
            table.warnings.push(OpsWarning::MalformedRows { path, count: malformed, first_line, detail });
        }
        Ok(())
    }

    /// Gives the devices of the rows from `first_row` their numbers among those of all files.
    fn number_devices(&mut self, path: &Path, first_row: usize) -> Result<(), IngestError> {
        let table = &mut self.table;
        let rows = &mut table.rows[first_row..];
        let devices = rows.iter().filter_map(|row| row.device).max().map(|largest| largest + 1);
        match (devices, &self.devices) {
            (None, _) => table.warnings.push(OpsWarning::NoDevices { path: path.to_path_buf() }),
            (Some(devices), None) => self.devices = Some((path.to_path_buf(), devices)),
            (Some(devices), Some((first, expected))) if devices != *expected => {
                return Err(IngestError::DifferentDevices {
                    path: path.to_path_buf(),
                    devices,
                    first: first.clone(),
                    expected: *expected,
                });
            }
            (Some(_), Some(_)) => {}
        }
        let file = table.files.len() as u32;
        for row in rows {
            row.device = row.device.and_then(|device| file.checked_mul(devices?)?.checked_add(device));
        }
        let rows = first_row as u32..table.rows.len() as u32;
        table.files.push(OpsFile { path: path.to_path_buf(), rows, devices });
        Ok(())
    }

    pub(super) fn finish(self) -> OpsTable {
        let mut table = self.table;
        table.format = self.header.format();
        for (file, lacking) in table.files.iter().zip(&self.lacking) {
            // What no file has is no difference.
            let columns: Vec<String> = lacking
                .iter()
                .filter(|name| self.header.position(name).is_some())
                .map(ToString::to_string)
                .collect();
            if !columns.is_empty() {
                table.warnings.push(OpsWarning::DifferentColumns { path: file.path.clone(), columns });
            }
        }
        let unusable = self.unusable.into_iter();
        table.warnings.extend(unusable.map(|(column, count)| OpsWarning::UnusableCells { column, count }));
        table
    }
}

/// What is wrong with a record of `found` fields. One of several lines probably lacks a quotation mark.
fn width_fault(found: usize, width: usize, lines: u64) -> String {
    match lines {
        0 | 1 => format!("{found} fields, expected {width}"),
        _ => {
            format!("{found} fields, expected {width}, over {lines} lines; a quotation mark may be missing")
        }
    }
}
