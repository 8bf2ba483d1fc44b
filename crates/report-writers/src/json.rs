//! JSON: the whole report as one document.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use sheets::{Caveat, Cell, Nested, Table, escaped, float_text, is_obeyed};

use crate::report::Report;
use crate::writer::{WriteError, Writer, Written, create_file};

/// One JSON document:
///
/// ```json
/// {"title": "…", "tables": {"name": {
///     "caveats": ["…"],
///     "columns": [{"name": "…", "description": "…", "caveats": ["…"]}],
///     "rows": [["…", 1, null]]}}}
/// ```
///
/// `caveats` say why a table or column is empty or cannot be relied on; where there are none, the key is absent.
/// Numbers are numbers, and missing ones are `null`; infinities, which JSON has no number for, are
/// the texts `"inf"` and `"-inf"`. Control characters and those that turn the order of text
/// are escaped. Lists and tuples are arrays, records are objects. Each row is
/// one line, so that documents can be compared line by line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Json;

impl Json {
    /// Writes `report` to `output` row by row; the document is never held in memory.
    ///
    /// # Errors
    ///
    /// When `output` cannot be written.
    pub fn write_to(&self, report: &Report, mut output: impl Write) -> io::Result<()> {
        output.write_all(b"{\n  \"title\": ")?;
        write_text(report.title(), &mut output)?;
        output.write_all(b",\n  \"tables\": {")?;
        for (position, table) in report.tables().iter().enumerate() {
            output.write_all(if position == 0 { b"\n    " } else { b",\n    " })?;
            write_text(table.name(), &mut output)?;
            output.write_all(b": ")?;
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

    fn extension(&self) -> Option<&'static str> {
        Some("json")
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
    output.write_all(b"{")?;
    if !table.caveats().is_empty() {
        output.write_all(b"\n      ")?;
        write_caveats(table.caveats(), output)?;
        output.write_all(b",")?;
    }
    output.write_all(b"\n      \"columns\": [")?;
    for (position, column) in table.columns().iter().enumerate() {
        output.write_all(if position == 0 { b"\n        " } else { b",\n        " })?;
        output.write_all(b"{\"name\": ")?;
        write_text(column.name(), output)?;
        output.write_all(b", \"description\": ")?;
        write_text(column.description(), output)?;
        if !column.caveats().is_empty() {
            output.write_all(b", ")?;
            write_caveats(column.caveats(), output)?;
        }
        output.write_all(b"}")?;
    }
    let after_columns = if table.columns().is_empty() { "]" } else { "\n      ]" };
    write!(output, "{after_columns},\n      \"rows\": [")?;
    for row in 0..table.height() {
        output.write_all(if row == 0 { b"\n        [" } else { b",\n        [" })?;
        for (position, column) in table.columns().iter().enumerate() {
            if position > 0 {
                output.write_all(b", ")?;
            }
            write_cell(&column.cell(row), output)?;
        }
        output.write_all(b"]")?;
    }
    output.write_all(if table.height() == 0 { b"]\n    }" } else { b"\n      ]\n    }" })
}

fn write_caveats(caveats: &[Arc<Caveat>], output: &mut impl Write) -> io::Result<()> {
    output.write_all(b"\"caveats\": [")?;
    for (position, caveat) in caveats.iter().enumerate() {
        output.write_all(if position > 0 { b", " } else { b"" })?;
        write_text(&caveat.text, output)?;
    }
    output.write_all(b"]")
}

pub(crate) fn write_cell(cell: &Cell<'_>, output: &mut impl Write) -> io::Result<()> {
    match cell {
        Cell::Missing => output.write_all(b"null"),
        Cell::Flag(value) => write!(output, "{value}"),
        Cell::Whole(value) => write!(output, "{value}"),
        Cell::Number(value) => write_number(*value, output),
        Cell::Text(text) => write_text(text, output),
        Cell::Nested(value) => write_nested(value, output),
    }
}

/// Writes a text as a JSON string. What [`escaped`] names is written as escapes, of which JSON requires only some: the
/// document may go to a terminal.
pub(crate) fn write_text(text: &str, output: &mut impl Write) -> io::Result<()> {
    let Cow::Owned(_) = escaped(text) else { return Ok(serde_json::to_writer(output, text)?) };
    let json = serde_json::to_string(text)?;
    json.chars().try_for_each(|c| match is_obeyed(c) {
        // All of them are in the Basic Multilingual Plane.
        true => write!(output, "\\u{:04x}", u32::from(c)),
        false => write!(output, "{c}"),
    })
}

fn write_number(value: f64, output: &mut impl Write) -> io::Result<()> {
    match value {
        value if value.is_nan() => output.write_all(b"null"),
        value if value.is_infinite() => write!(output, "\"{}\"", float_text(value)),
        value => output.write_all(float_text(value).as_bytes()),
    }
}

fn write_nested(value: &Nested, output: &mut impl Write) -> io::Result<()> {
    match value {
        Nested::None => output.write_all(b"null"),
        Nested::Flag(value) => write!(output, "{value}"),
        Nested::Whole(value) => write!(output, "{value}"),
        Nested::Number(value) => write_number(*value, output),
        Nested::Text(text) => write_text(text, output),
        Nested::List(items) | Nested::Tuple(items) => {
            output.write_all(b"[")?;
            for (position, item) in items.iter().enumerate() {
                output.write_all(if position > 0 { b", " } else { b"" })?;
                write_nested(item, output)?;
            }
            output.write_all(b"]")
        }
        Nested::Names(names) => {
            output.write_all(b"[")?;
            for (position, name) in names.iter().enumerate() {
                output.write_all(if position > 0 { b", " } else { b"" })?;
                write_text(name, output)?;
            }
            output.write_all(b"]")
        }
        Nested::Record(entries) => {
            output.write_all(b"{")?;
            for (position, (key, value)) in entries.iter().enumerate() {
                output.write_all(if position > 0 { b", " } else { b"" })?;
                write_text(key, output)?;
                output.write_all(b": ")?;
                write_nested(value, output)?;
            }
            output.write_all(b"}")
        }
    }
}
