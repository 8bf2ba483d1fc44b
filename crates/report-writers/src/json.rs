//! JSON: the whole report as one document.

use std::io::{self, Write};
use std::path::Path;

use serde_json::json;

use crate::cell::Cell;
use crate::error::WriteError;
use crate::float_text::float_text;
use crate::literal::Literal;
use crate::report::Report;
use crate::table::{CellKind, Table};
use crate::writer::{Writer, Written, create_file};

/// One JSON document:
///
/// ```json
/// {"title": "…", "tables": {"name": {
///     "columns": [{"name": "…", "description": "…"}],
///     "rows": [["…", 1, null]]}}}
/// ```
///
/// Numbers are numbers. Null and NaN are `null`; infinities, which JSON has no number for, are
/// the texts `"inf"` and `"-inf"`. Cells of [`CellKind::Literal`] become arrays (from tuples and
/// lists), objects (from dicts), numbers, texts, `true`, `false` and `null`; a cell that is not a
/// literal stays its text. Each row is one line, so that documents can be compared line by line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Json;

impl Json {
    /// Writes `report` to `output` row by row; the document is never held in memory.
    ///
    /// # Errors
    ///
    /// When `output` cannot be written.
    pub fn write_to(&self, report: &Report, mut output: impl Write) -> io::Result<()> {
        write!(output, "{{\n  \"title\": {},\n  \"tables\": {{", json!(report.title()))?;
        for (position, table) in report.tables().iter().enumerate() {
            let separator = if position == 0 { "" } else { "," };
            write!(output, "{separator}\n    {}: ", json!(table.name()))?;
            write_table(table, &mut output)?;
        }
        let end = if report.tables().is_empty() { "}\n}\n" } else { "\n  }\n}\n" };
        output.write_all(end.as_bytes())?;
        output.flush()
    }
}

impl Writer for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn write(&self, report: &Report, destination: &Path) -> Result<Written, WriteError> {
        let mut file = create_file(destination)?;
        self.write_to(report, &mut file)
            .and_then(|()| file.commit())
            .map_err(WriteError::writing(destination))?;
        Ok(Written { paths: vec![destination.to_owned()], warnings: Vec::new() })
    }
}

fn write_table(table: &Table, output: &mut impl Write) -> io::Result<()> {
    output.write_all(b"{\n      \"columns\": [")?;
    for (position, (name, format)) in table.headers().zip(table.columns()).enumerate() {
        let separator = if position == 0 { "" } else { "," };
        let (name, description) = (json!(name), json!(format.description));
        write!(output, "{separator}\n        {{\"name\": {name}, \"description\": {description}}}")?;
    }
    let after_columns = if table.columns().is_empty() { "]" } else { "\n      ]" };
    write!(output, "{after_columns},\n      \"rows\": [")?;
    let cells = table.cells();
    for row in 0..table.frame().height() {
        output.write_all(if row == 0 { b"\n        [" } else { b",\n        [" })?;
        for (position, (column, format)) in cells.iter().zip(table.columns()).enumerate() {
            if position > 0 {
                output.write_all(b", ")?;
            }
            write_cell(column.get(row), format.kind, output)?;
        }
        output.write_all(b"]")?;
    }
    output.write_all(if table.frame().height() == 0 { b"]\n    }" } else { b"\n      ]\n    }" })
}

fn write_cell(cell: Cell<'_>, kind: CellKind, output: &mut impl Write) -> io::Result<()> {
    match cell {
        Cell::Null => output.write_all(b"null"),
        Cell::Boolean(value) => write!(output, "{value}"),
        Cell::Integer(value) => write!(output, "{value}"),
        Cell::Float(value) if value.is_infinite() => write!(output, "\"{}\"", float_text(value)),
        Cell::Float(value) if value.is_nan() => output.write_all(b"null"),
        Cell::Float(value) => output.write_all(float_text(value).as_bytes()),
        Cell::Text(text) => {
            let literal = (kind == CellKind::Literal).then(|| Literal::parse(text)).flatten();
            match literal {
                Some(literal) => literal.write_json(output),
                None => Ok(serde_json::to_writer(output, text)?),
            }
        }
    }
}
