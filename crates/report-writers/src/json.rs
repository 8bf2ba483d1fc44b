//! JSON: tables as serde writes them, a row a line, and cells as pages have them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::Arc;

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde_json::ser::{Formatter, Serializer as JsonSerializer};
use sheets::{
    Absence, Caveat, Cell, ColumnKind, Nested, Role, Table, TableColumn, Unit, escaped, float_text, is_obeyed,
};

/// A table, or the part of it that was asked for, as answers have it: `name`, `title`, `key`, `caveats`, `columns`,
/// `rows`, `rows_total`, `rows_returned`, `next`, `sort`, `absent`. Rows are written one by one; none is held in memory.
///
/// Cells are numbers, texts, flags, lists or records. What is missing, and infinities, which JSON has no number for, are
/// `null`, and `absent` says why. Whole numbers that doubles do not hold are hexadecimal text.
#[derive(Clone, Debug)]
pub struct JsonTable<'t> {
    table: Cow<'t, Table>,
    key: Vec<String>,
    total: usize,
    next: Option<usize>,
    sort: Vec<String>,
}

impl<'t> JsonTable<'t> {
    /// A whole table.
    #[must_use]
    pub fn whole(table: &'t Table) -> Self {
        let key = key_of(table).into_iter().map(str::to_owned).collect();
        JsonTable { key, total: table.height(), table: Cow::Borrowed(table), next: None, sort: Vec::new() }
    }

    /// Some of the rows of a table: of how many, where the next ones begin, and the columns that they are sorted by.
    #[must_use]
    pub fn part(
        whole: &Table,
        rows: Table,
        total: usize,
        next: Option<usize>,
        sort: Vec<String>,
    ) -> JsonTable<'static> {
        let mut key = key_of(whole);
        // A column without a cell tells nothing apart, and a part of the table leaves it out.
        let is_needed = |name: &str| whole.column(name).is_some_and(|column| !column.is_blank());
        key.retain(|name| rows.column(name).is_some() || is_needed(name));
        let is_here = key.iter().all(|name| rows.column(name).is_some());
        let key = if is_here { key.into_iter().map(str::to_owned).collect() } else { Vec::new() };
        JsonTable { table: Cow::Owned(rows), key, total, next, sort }
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The columns that tell the rows of the whole table apart: the names of a row and what it was called with, which find
    /// the same row in another recording, and where that is not enough, where it comes from. None where two rows are alike
    /// in all of these, or where one of these is not among the columns that were asked for.
    #[must_use]
    pub fn key(&self) -> &[String] {
        &self.key
    }
}

fn key_of(table: &Table) -> Vec<&str> {
    let columns = || table.columns().iter();
    let mut key: Vec<&TableColumn> = columns().filter(|column| column.is_key()).collect();
    let mut origins = columns().filter(|column| !column.is_key() && column.role() == Role::Provenance);
    while !are_told_apart(table, &key) {
        match origins.next() {
            Some(origin) => key.push(origin),
            None => return Vec::new(),
        }
    }
    key.into_iter().map(TableColumn::name).collect()
}

/// Whether no two rows have the same cells in these columns.
fn are_told_apart(table: &Table, columns: &[&TableColumn]) -> bool {
    let mut seen = HashSet::with_capacity(table.height());
    (0..table.height()).all(|row| {
        let cells = columns.iter().map(|column| column.cell(row).text().into_owned());
        seen.insert(cells.collect::<Vec<_>>())
    })
}

/// A table of the document.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Table")]
struct TableView<'t> {
    name: &'t str,
    /// Meaning of a row; null if not stated.
    title: Option<&'t str>,
    /// Columns that identify a row of the whole table; empty if their values are not unique together, or if one of them was not selected.
    key: &'t [String],
    /// Caveats of the whole table.
    caveats: Vec<&'t str>,
    columns: Vec<ColumnView<'t>>,
    /// One list of cells per row, in column order.
    #[schemars(with = "Vec<Vec<serde_json::Value>>")]
    rows: JsonRows<'t>,
    /// Number of rows in the whole table.
    rows_total: usize,
    /// Number of rows returned.
    rows_returned: usize,
    /// Where the next rows start; null if these are the last.
    next: Option<usize>,
    /// Columns by which the rows were sorted; only if sorting was requested.
    sort: &'t [String],
    absent: Vec<Absent<'t>>,
}

impl Serialize for JsonTable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let table = self.table();
        let view = TableView {
            name: table.name(),
            title: Some(table.description()).filter(|title| !title.is_empty()),
            key: self.key(),
            caveats: texts(table.caveats()),
            columns: table.columns().iter().map(ColumnView::new).collect(),
            rows: JsonRows(table),
            rows_total: self.total,
            rows_returned: table.height(),
            next: self.next,
            sort: &self.sort,
            absent: table.columns().iter().flat_map(Absent::of).collect(),
        };
        view.serialize(serializer)
    }
}

impl JsonSchema for JsonTable<'_> {
    fn schema_name() -> Cow<'static, str> {
        TableView::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        TableView::json_schema(generator)
    }
}

fn texts(caveats: &[Arc<Caveat>]) -> Vec<&str> {
    caveats.iter().map(|caveat| caveat.text.as_str()).collect()
}

/// A column.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Column")]
struct ColumnView<'t> {
    name: &'t str,
    /// `text`, `literal`, `flag`, `id`, `count`, `duration`, `size`, `rate`, `share`, `work` or `ratio`.
    kind: &'static str,
    /// Unit of the cells; null if they are not quantities.
    unit: Option<&'static str>,
    /// What the figure refers to, if not the whole row: `call` for the mean and the spread over the row's calls, and
    /// for the FLOPs of one call.
    per: Option<&'static str>,
    /// How to combine cells when rows are merged: `key`, `sum`, `min`, `max` or `none`.
    aggregate: &'static str,
    /// Whether some cells are null.
    nullable: bool,
    description: &'t str,
    /// Caveats of the column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    caveats: Vec<&'t str>,
}

impl<'t> ColumnView<'t> {
    fn new(column: &'t TableColumn) -> Self {
        ColumnView {
            name: column.name(),
            kind: kind_of(column.kind()),
            unit: column.kind().unit().map(unit_symbol),
            per: column.per(),
            aggregate: aggregate_of(column),
            nullable: column.cells().any(|cell| is_null(&cell)),
            description: column.description(),
            caveats: texts(column.caveats()),
        }
    }
}

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

/// By the role of a column and the words of its name: what no word says is `none`. The figure of one of what a row stands
/// for, and what holds that of other rows, are no sums.
pub(crate) fn aggregate_of(column: &TableColumn) -> &'static str {
    let has_word = |word: &str| column.name().split(|c: char| !c.is_alphanumeric()).any(|part| part == word);
    let is_shared = column.overlaps() || has_word("subtree");
    let is_additive = column.per().is_none()
        && !is_shared
        && matches!(kind_of(column.kind()), "count" | "duration" | "size" | "work");
    match () {
        () if column.is_key() => "key",
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

/// Why cells of a column are null.
#[derive(Serialize, JsonSchema)]
struct Absent<'t> {
    column: &'t str,
    rows: AbsentRows,
    /// `no-model`, `no-formula`, `arguments`, `data-type`, `undefined`, `not-recorded`, `not-applicable` or `infinite`.
    code: &'static str,
    reason: &'t str,
}

/// `"all"`, or row indices.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum AbsentRows {
    All(AllRows),
    At(Vec<usize>),
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum AllRows {
    All,
}

impl<'t> Absent<'t> {
    fn of(column: &'t TableColumn) -> Vec<Self> {
        let missing = match column.caveats().iter().find(|caveat| caveat.text.starts_with("Empty")) {
            Some(caveat) => ("not-recorded", caveat.text.as_str()),
            None => ("not-applicable", "not recorded, or not applicable to this row"),
        };
        let infinite = ("infinite", "unbounded: division by zero");
        let mut absences: IndexMap<(&'static str, &'t str), Vec<usize>> = IndexMap::new();
        for (row, cell) in column.cells().enumerate() {
            let why = match cell {
                Cell::Missing => match column.absence(row) {
                    Some(Absence { code, reason }) => (code.name(), reason.as_ref()),
                    None => missing,
                },
                Cell::Number(_) if is_null(&cell) => infinite,
                _ => continue,
            };
            absences.entry(why).or_default().push(row);
        }
        let all = column.len();
        let absent = absences.into_iter().map(|((code, reason), rows)| Absent {
            column: column.name(),
            rows: if rows.len() < all { AbsentRows::At(rows) } else { AbsentRows::All(AllRows::All) },
            code,
            reason,
        });
        absent.collect()
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
        serialize_cell(&self.0, serializer)
    }
}

fn serialize_cell<S: Serializer>(cell: &Cell<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    match cell {
        Cell::Missing => serializer.serialize_none(),
        Cell::Flag(flag) => serializer.serialize_bool(*flag),
        Cell::Whole(number) => whole(*number, serializer),
        Cell::Number(number) if number.is_finite() => serializer.serialize_f64(*number),
        Cell::Number(_) => serializer.serialize_none(),
        Cell::Text(text) => serializer.serialize_str(text),
        Cell::Nested(value) => JsonNested(value).serialize(serializer),
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

/// A cell as pages have it: infinities are the texts that people read.
pub(crate) struct PageCell<'t>(pub(crate) Cell<'t>);

impl Serialize for PageCell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Cell::Number(number) if number.is_infinite() => serializer.serialize_str(&float_text(*number)),
            cell => serialize_cell(cell, serializer),
        }
    }
}

/// Writes a value as a line of JSON, with escapes for what terminals need.
///
/// # Errors
/// When it cannot be written.
pub fn write_json_line(output: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    struct Line;

    impl Formatter for Line {
        fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, text: &str) -> io::Result<()> {
            write_fragment(text, out)
        }
    }

    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *output, Line))?;
    output.write_all(b"\n")
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
