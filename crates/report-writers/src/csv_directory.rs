//! CSV: one file per table in a directory.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use csv::{QuoteStyle, Terminator, WriterBuilder};
use sheets::{Cell, Table, escaped, write_float};

use crate::report::Report;
use crate::writer::{WriteError, Writer, Written, create_file};

/// One `<table>.csv` per table in a directory.
///
/// Headers are those of [`Table::headers`]. UTF-8, comma, `\n`, quotes only where needed. Null and NaN are empty, booleans `True` and
/// `False`, floats the fewest digits that read back exactly (`60.0`, `1.123046875e-05`,
/// `1e+16`), infinities `inf`. A table without rows is its header; one without columns is a
/// single `\n`. Text that a spreadsheet program would take for a formula, because it begins with
/// `=`, `+`, `-` or `@` and is no number, gets an apostrophe in front. A row is one line: line breaks and all that
/// [`escaped`] names are written out. Other text is written as it is.
///
/// Files in the directory that are named like a table of [`Report::with_known_names`] but not
/// written this time are removed, so that a directory never mixes two runs. Nothing else is
/// touched. No file is replaced or removed before all tables are written.
#[derive(Debug, Clone, Copy, Default)]
pub struct CsvDirectory;

impl CsvDirectory {
    /// Writes one table to `output`.
    pub fn write_table(&self, table: &Table, output: impl Write) -> io::Result<()> {
        let mut output = WriterBuilder::new()
            .quote_style(QuoteStyle::Necessary)
            .terminator(Terminator::Any(b'\n'))
            .from_writer(output);
        if table.columns().is_empty() {
            let mut output = output.into_inner().map_err(|failed| io::Error::other(failed.to_string()))?;
            output.write_all(b"\n")?;
            return output.flush();
        }
        output.write_record(table.headers().iter().map(|header| guarded(&escaped(header)).into_owned()))?;
        let mut number = String::new();
        for row in 0..table.height() {
            for column in table.columns() {
                match column.cell(row) {
                    Cell::Whole(value) => {
                        number.clear();
                        // Writing to a String cannot fail.
                        let _ = write!(number, "{value}");
                        output.write_field(&number)?;
                    }
                    Cell::Number(value) => {
                        number.clear();
                        let _ = write_float(&mut number, value);
                        output.write_field(&number)?;
                    }
                    cell => output.write_field(&*guarded(&escaped(&cell.text())))?,
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

    fn extension(&self) -> Option<&'static str> {
        None
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

/// `text` so that a spreadsheet program that opens it from a CSV file shows it and does not calculate it: one that
/// begins with `=`, `+`, `-` or `@` gets an apostrophe in front, by which these programs know text. Numbers and a
/// sign alone are no formulas and stay as they are.
fn guarded(text: &str) -> Cow<'_, str> {
    let begins_formula = text.starts_with(['=', '+', '-', '@']) && text.len() > 1;
    if begins_formula && text.parse::<f64>().is_err() {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_get_an_apostrophe_and_all_else_stays() {
        for formula in ["=1+1", "+A1", "-A1", "@SUM(A1)", "=", "-1-1", "=cmd|' /C calc'!A0"] {
            let expected = if formula.len() > 1 { format!("'{formula}") } else { formula.to_string() };
            assert_eq!(guarded(formula), expected);
        }
        for text in ["", "-", "+", "-1", "-1.5e-7", "+3", "-inf", "aten::mm", "a=b", "'=1", " =1", "(1, -1)"]
        {
            assert_eq!(guarded(text), text);
        }
    }
}
