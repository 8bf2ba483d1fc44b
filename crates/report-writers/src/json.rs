//! JSON: tables as serde writes them, a row a line, and cells as pages have them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, SerializeSeq, SerializeStruct, Serializer};
use serde_json::ser::{Formatter, Serializer as JsonSerializer};
use sheets::{Cell, ColumnKind, Nested, Role, Table, TableColumn, Unit, escaped, float_text, is_obeyed};

/// A table, or the part of it that was asked for, as answers have it: `name`, `key`, `caveats`, `columns`, `rows`,
/// `rows_total`, `rows_returned`, `next`, `sort`, `absent`. Rows are written one by one; none is held in memory.
///
/// Cells are numbers, texts, flags, lists or records. What is missing, and infinities, which JSON has no number for, are
/// `null`, and `absent` says why. Whole numbers that doubles do not hold are hexadecimal text.
#[derive(Clone, Debug)]
pub struct JsonTable<'t> {
    table: Cow<'t, Table>,
    total: usize,
    next: Option<usize>,
    sort: Vec<String>,
}

impl<'t> JsonTable<'t> {
    /// A whole table.
    #[must_use]
    pub fn whole(table: &'t Table) -> Self {
        JsonTable { total: table.height(), table: Cow::Borrowed(table), next: None, sort: Vec::new() }
    }

    /// Some of the rows of a table: of how many, where the next ones begin, and the columns that they are sorted by.
    #[must_use]
    pub fn part(rows: Table, total: usize, next: Option<usize>, sort: Vec<String>) -> Self {
        JsonTable { table: Cow::Owned(rows), total, next, sort }
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The columns that tell its rows apart, and those of another recording by the same values: the names of a row and
    /// what it was called with. None where two rows have the same.
    #[must_use]
    pub fn key(&self) -> Vec<&str> {
        let is_key = |column: &&TableColumn| {
            column.role() == Role::Name
                || ARGUMENTS.contains(&column.name()) && column.kind() == ColumnKind::Nested
        };
        let columns: Vec<&TableColumn> = self.table.columns().iter().filter(is_key).collect();
        let mut seen = HashSet::with_capacity(self.table.height());
        let is_new = |row: usize| {
            let cells: Vec<String> =
                columns.iter().map(|column| column.cell(row).text().into_owned()).collect();
            seen.insert(cells)
        };
        match (0..self.table.height()).all(is_new) {
            true => columns.into_iter().map(TableColumn::name).collect(),
            false => Vec::new(),
        }
    }
}

/// What an operator was called with, in tables of operators.
const ARGUMENTS: [&str; 4] = ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"];

impl Serialize for JsonTable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let table = self.table();
        let columns: Vec<JsonColumn<'_>> = table.columns().iter().map(JsonColumn).collect();
        let caveats: Vec<&str> = table.caveats().iter().map(|caveat| caveat.text.as_str()).collect();
        let absent: Vec<Absent<'_>> = table.columns().iter().flat_map(Absent::of).collect();
        let mut out = serializer.serialize_struct("Table", 10)?;
        out.serialize_field("name", table.name())?;
        out.serialize_field("key", &self.key())?;
        out.serialize_field("caveats", &caveats)?;
        out.serialize_field("columns", &columns)?;
        out.serialize_field("rows", &JsonRows(table))?;
        out.serialize_field("rows_total", &self.total)?;
        out.serialize_field("rows_returned", &table.height())?;
        out.serialize_field("next", &self.next)?;
        out.serialize_field("sort", &self.sort)?;
        out.serialize_field("absent", &absent)?;
        out.end()
    }
}

/// What a column is.
struct JsonColumn<'t>(&'t TableColumn);

impl Serialize for JsonColumn<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let column = self.0;
        let mut out = serializer.serialize_struct("Column", 7)?;
        out.serialize_field("name", column.name())?;
        out.serialize_field("kind", kind_of(column.kind()))?;
        out.serialize_field("unit", &column.kind().unit().map(unit_symbol))?;
        out.serialize_field("aggregate", aggregate_of(column))?;
        out.serialize_field("nullable", &column.cells().any(|cell| is_null(&cell)))?;
        out.serialize_field("description", column.description())?;
        match column.caveats() {
            [] => out.skip_field("caveats")?,
            caveats => {
                let texts: Vec<&str> = caveats.iter().map(|caveat| caveat.text.as_str()).collect();
                out.serialize_field("caveats", &texts)?;
            }
        }
        out.end()
    }
}

/// What the cells of a column are: `text`, `literal`, `flag`, `id`, `count`, `duration`, `size`, `rate`, `share`, `work` or
/// `ratio`.
const fn kind_of(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Text => "text",
        ColumnKind::Nested | ColumnKind::Names => "literal",
        ColumnKind::Flag => "flag",
        ColumnKind::Identifier => "id",
        ColumnKind::Count => "count",
        ColumnKind::Whole(unit) | ColumnKind::Number(unit) => match unit {
            Unit::Nanoseconds | Unit::Microseconds | Unit::Milliseconds => "duration",
            Unit::Bytes | Unit::Kibibytes | Unit::Mebibytes | Unit::Megabytes | Unit::Gigabytes => "size",
            Unit::MegabytesPerSecond
            | Unit::GigabytesPerSecond
            | Unit::GibibytesPerSecond
            | Unit::TerabytesPerSecond
            | Unit::GigaflopsPerSecond
            | Unit::TeraflopsPerSecond
            | Unit::TeraopsPerSecond
            | Unit::Megahertz
            | Unit::Watts => "rate",
            Unit::Flops | Unit::Gigaflops | Unit::Joules => "work",
            Unit::Percent => "share",
            Unit::FlopsPerByte | Unit::One => "ratio",
        },
    }
}

/// The symbol of a unit in ASCII.
const fn unit_symbol(unit: Unit) -> &'static str {
    match unit {
        Unit::Microseconds => "us",
        unit => unit.symbol(),
    }
}

/// What may be done with the cells of a column when rows are joined: `key` (they are what rows are joined by), `sum`, `min`,
/// `max`, or `none`.
fn aggregate_of(column: &TableColumn) -> &'static str {
    let has_word = |word: &str| column.name().split(|c: char| !c.is_alphanumeric()).any(|part| part == word);
    let is_spread = ["mean", "median", "std"].into_iter().any(has_word) || has_word("subtree");
    let is_additive = !is_spread && matches!(kind_of(column.kind()), "count" | "duration" | "size" | "work");
    match () {
        () if column.role() == Role::Name => "key",
        () if has_word("min") => "min",
        () if has_word("max") => "max",
        () if is_additive
            && ["sum", "total", "count", "Count", "calls", "Calls"].into_iter().any(has_word) =>
        {
            "sum"
        }
        () => "none",
    }
}

/// Whether a cell is `null` in JSON.
fn is_null(cell: &Cell<'_>) -> bool {
    match cell {
        Cell::Missing => true,
        Cell::Number(number) => !number.is_finite(),
        _ => false,
    }
}

/// Why cells of a column are `null`.
struct Absent<'t> {
    column: &'t str,
    /// The rows; all of them where `None`.
    rows: Option<Vec<usize>>,
    code: &'static str,
    reason: &'t str,
}

impl<'t> Absent<'t> {
    fn of(column: &'t TableColumn) -> Vec<Self> {
        let rows = |is_so: fn(&Cell<'_>) -> bool| -> Vec<usize> {
            column.cells().enumerate().filter(|(_, cell)| is_so(cell)).map(|(row, _)| row).collect()
        };
        let missing = match column.caveats().iter().find(|caveat| caveat.text.starts_with("Empty")) {
            Some(caveat) => ("not-recorded", caveat.text.as_str()),
            None => ("not-applicable", "the recording does not tell it, or it is no figure of this row"),
        };
        let infinite = ("infinite", "the figure has no bound: it is divided by nothing");
        let of_cells = [
            (rows(|cell| *cell == Cell::Missing), missing),
            (rows(|cell| matches!(cell, Cell::Number(_)) && is_null(cell)), infinite),
        ];
        let all = column.len();
        let of_cells = of_cells.into_iter().filter(|(rows, _)| !rows.is_empty());
        let absent = of_cells.map(|(rows, (code, reason))| Absent {
            column: column.name(),
            rows: (rows.len() < all).then_some(rows),
            code,
            reason,
        });
        absent.collect()
    }
}

impl Serialize for Absent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Absent", 4)?;
        out.serialize_field("column", self.column)?;
        match &self.rows {
            Some(rows) => out.serialize_field("rows", rows)?,
            None => out.serialize_field("rows", "all")?,
        }
        out.serialize_field("code", self.code)?;
        out.serialize_field("reason", self.reason)?;
        out.end()
    }
}

/// The rows of a table.
struct JsonRows<'t>(&'t Table);

impl Serialize for JsonRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = (0..self.0.height()).map(|row| JsonRow(self.0.columns(), row));
        serializer.collect_seq(rows)
    }
}

struct JsonRow<'t>(&'t [TableColumn], usize);

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|column| JsonCell(column.cell(self.1))))
    }
}

struct JsonCell<'t>(Cell<'t>);

impl Serialize for JsonCell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            cell if is_null(cell) => serializer.serialize_none(),
            Cell::Missing => serializer.serialize_none(),
            Cell::Flag(flag) => serializer.serialize_bool(*flag),
            Cell::Whole(number) => whole(*number, serializer),
            Cell::Number(number) => serializer.serialize_f64(*number),
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Nested(value) => JsonNested(value).serialize(serializer),
        }
    }
}

/// A whole number, as hexadecimal text where readers with doubles would round it.
fn whole<S: Serializer>(number: i64, serializer: S) -> Result<S::Ok, S::Error> {
    const MOST: i64 = (1 << 53) - 1;
    match (-MOST..=MOST).contains(&number) {
        true => serializer.serialize_i64(number),
        false => serializer.collect_str(&format_args!("{number:#x}")),
    }
}

struct JsonNested<'t>(&'t Nested);

impl Serialize for JsonNested<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Nested::None => serializer.serialize_none(),
            Nested::Flag(flag) => serializer.serialize_bool(*flag),
            Nested::Whole(number) => whole(*number, serializer),
            Nested::Number(number) if number.is_finite() => serializer.serialize_f64(*number),
            Nested::Number(_) => serializer.serialize_none(),
            Nested::Text(text) => serializer.serialize_str(text),
            Nested::List(items) | Nested::Tuple(items) => {
                let mut out = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| out.serialize_element(&JsonNested(item)))?;
                out.end()
            }
            Nested::Names(names) => serializer.collect_seq(names),
            Nested::Record(entries) => {
                let mut out = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(key, value)| out.serialize_entry(key, &JsonNested(value)))?;
                out.end()
            }
        }
    }
}

/// Writes a document in lines that can be compared: members of what is up to four levels deep, such as rows of tables, have
/// a line each, and all below stands in one. What [`escaped`] names is written as escapes, of which JSON requires only
/// some: the document may go to a terminal.
///
/// # Errors
/// When `output` cannot be written.
pub fn write_json(document: &impl Serialize, mut output: impl Write) -> io::Result<()> {
    document.serialize(&mut JsonSerializer::with_formatter(&mut output, Lines::default()))?;
    output.write_all(b"\n")
}

/// How deep members have lines of their own: document, tables, table, rows.
const DEEPEST_LINES: usize = 4;

#[derive(Default)]
struct Lines {
    depth: usize,
    has_members: bool,
}

impl Lines {
    fn begin<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.has_members = false;
        out.write_all(bracket)
    }

    fn member<W: ?Sized + Write>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        let is_line = self.depth <= DEEPEST_LINES;
        out.write_all(match (is_first, is_line) {
            (true, _) => b"",
            (false, true) => b",",
            (false, false) => b", ",
        })?;
        if is_line { self.line(out, self.depth) } else { Ok(()) }
    }

    fn end<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        if self.has_members && self.depth <= DEEPEST_LINES {
            self.line(out, self.depth - 1)?;
        }
        self.depth -= 1;
        self.has_members = true;
        out.write_all(bracket)
    }

    fn line<W: ?Sized + Write>(&self, out: &mut W, depth: usize) -> io::Result<()> {
        out.write_all(b"\n")?;
        (0..depth).try_for_each(|_| out.write_all(b"  "))
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.member(out, is_first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_members = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.member(out, is_first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_members = true;
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, text: &str) -> io::Result<()> {
        write_fragment(text, out)
    }
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
    match escaped(text) {
        Cow::Borrowed(_) => Ok(serde_json::to_writer(output, text)?),
        Cow::Owned(_) => write_fragment(&serde_json::to_string(text)?, output),
    }
}

/// Writes what JSON needs no escapes for, with those that terminals need.
fn write_fragment<W: ?Sized + Write>(text: &str, output: &mut W) -> io::Result<()> {
    match escaped(text) {
        Cow::Borrowed(_) => output.write_all(text.as_bytes()),
        Cow::Owned(_) => text.chars().try_for_each(|c| match is_obeyed(c) {
            // All of them are in the Basic Multilingual Plane.
            true => write!(output, "\\u{:04x}", u32::from(c)),
            false => write!(output, "{c}"),
        }),
    }
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
