//! CSV: one file per table in a directory.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use csv::{QuoteStyle, Terminator, WriterBuilder};

use crate::cell::Cell;
use crate::error::WriteError;
use crate::float_text::float_text;
use crate::formula_guard::guarded;
use crate::report::Report;
use crate::table::Table;
use crate::writer::{Writer, Written, create_file};

/// One `<table>.csv` per table in a directory.
///
/// UTF-8, comma, `\n`, quotes only where needed. Null and NaN are empty, booleans `True` and
/// `False`, floats the fewest digits that read back exactly (`60.0`, `1.123046875e-05`,
/// `1e+16`), infinities `inf`. A table without rows is its header; one without columns is a
/// single `\n`. Text that a spreadsheet program would take for a formula, because it begins with
/// `=`, `+`, `-` or `@` and is no number, gets an apostrophe in front; other text is written as it is.
///
/// Files in the directory that are named like a table of [`Report::with_known_names`] but not
/// written this time are removed, so that a directory never mixes two runs. Nothing else is
/// touched. No file is replaced or removed before all tables are written.
#[derive(Debug, Clone, Copy, Default)]
pub struct CsvDirectory;

impl CsvDirectory {
    /// Writes one table to `output`.
    ///
    /// # Errors
    ///
    /// When `output` cannot be written.
    pub fn write_table(&self, table: &Table, output: impl Write) -> io::Result<()> {
        let mut output = WriterBuilder::new()
            .quote_style(QuoteStyle::Necessary)
            .terminator(Terminator::Any(b'\n'))
            .from_writer(output);
        let cells = table.cells();
        if cells.is_empty() {
            let mut output = output.into_inner().map_err(|failed| io::Error::other(failed.to_string()))?;
            output.write_all(b"\n")?;
            return output.flush();
        }
        output.write_record(table.headers().map(|name| guarded(name).into_owned()))?;
        for row in 0..table.frame().height() {
            for column in &cells {
                match column.get(row) {
                    Cell::Null => output.write_field("")?,
                    Cell::Boolean(true) => output.write_field("True")?,
                    Cell::Boolean(false) => output.write_field("False")?,
                    Cell::Integer(value) => output.write_field(value.to_string())?,
                    Cell::Float(value) if value.is_nan() => output.write_field("")?,
                    Cell::Float(value) => output.write_field(float_text(value))?,
                    Cell::Text(text) => output.write_field(&*guarded(text))?,
                }
            }
            output.write_record(None::<&[u8]>)?;
        }
        output.flush()
    }
}

impl Writer for CsvDirectory {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn write(&self, report: &Report, destination: &Path) -> Result<Written, WriteError> {
        fs::create_dir_all(destination)
            .map_err(|source| WriteError::CreateDirectory { path: destination.to_owned(), source })?;
        let finished = report.each_table(|table| {
            let path = destination.join(format!("{}.csv", table.name()));
            let mut file = create_file(&path)?;
            let outcome = self.write_table(table, &mut file).and_then(|()| file.finish());
            Ok((outcome.map_err(WriteError::writing(&path))?, path))
        })?;
        // From here on nothing needs room.
        let mut written = Written::default();
        for (file, path) in finished {
            file.commit().map_err(WriteError::writing(&path))?;
            written.paths.push(path);
        }
        for name in report.absent_names() {
            let path = destination.join(format!("{name}.csv"));
            match fs::remove_file(&path) {
                Ok(()) => {}
                Err(source) if source.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(WriteError::RemoveStale { path, source }),
            }
        }
        Ok(written)
    }
}
