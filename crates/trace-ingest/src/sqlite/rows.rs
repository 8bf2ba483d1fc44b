//! Rows of tables, and the values in them.

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::bounded::{Database, Failure};
#[cfg(feature = "nsys")]
use super::pages::{Amount, Pages, Place, Reader, Row as PageRow};
use crate::warning::Warning;

/// A field that cannot be read.
pub(crate) struct Fault(String);

/// Rows with a field that cannot be read.
#[derive(Default)]
pub(crate) struct Refused {
    count: u64,
    /// What is wrong with the first.
    detail: String,
}

impl Refused {
    pub(crate) fn add(&mut self, Fault(detail): Fault) {
        if self.count == 0 {
            self.detail = detail;
        }
        self.count += 1;
    }

    /// Adds rows that come behind these.
    #[cfg(feature = "nsys")]
    fn append(&mut self, later: Refused) {
        match self.count {
            0 => *self = later,
            _ => self.count += later.count,
        }
    }

    /// The warning of these rows, if there are any.
    pub(crate) fn warning(self, table: &str) -> Option<Warning> {
        let Refused { count, detail } = self;
        (count > 0).then(|| Warning::MalformedRecords { list: table.to_string(), count, detail })
    }
}

/// Reads `columns` of every row of a table that has the columns `present`; the others are NULL. `lead` is an expression
/// of the reader's own, which each row has too. Rows that `read` refuses are counted.
pub(crate) fn scan(
    database: &Database,
    table: &str,
    present: &[String],
    lead: Option<&str>,
    columns: &[&str],
    refused: &mut Refused,
    read: &mut dyn FnMut(&Record<'_>) -> Result<(), Fault>,
) -> Result<(), Failure> {
    let said = |error| database.explained(error);
    let wanted = |column: &&str| match present.iter().any(|name| name == column) {
        true => quoted(column, '"'),
        false => "NULL".to_string(),
    };
    let asked: Vec<String> = lead.map(str::to_string).into_iter().chain(columns.iter().map(wanted)).collect();
    let asked = if asked.is_empty() { vec!["NULL".to_string()] } else { asked };
    let query = format!("SELECT {} FROM {}", asked.join(", "), quoted(table, '"'));
    let mut statement = database.prepare_scan(&query)?;
    let mut found = statement.query([]).map_err(said)?;
    let first = usize::from(lead.is_some());
    while let Some(row) = found.next().map_err(said)? {
        let length = |column| match row.get_ref(column) {
            Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => bytes.len() as u64,
            _ => 0,
        };
        database.count(1, (first..asked.len()).map(length).sum())?;
        if let Err(fault) = read(&Record { cells: Cells::Row(row), names: columns, first }) {
            refused.add(fault);
        }
    }
    Ok(())
}

/// Whether a table has a row.
#[cfg(feature = "nsys")]
pub(crate) fn has_rows(database: &Database, table: &str) -> Result<bool, Failure> {
    let mut statement = database.prepare_scan(&format!("SELECT NULL FROM {}", quoted(table, '"')))?;
    let mut found = statement.query([]).map_err(|error| database.explained(error))?;
    let row = found.next().map_err(|error| database.explained(error))?;
    Ok(row.is_some())
}

/// A plain table and the file that it is in.
#[cfg(feature = "nsys")]
pub(crate) struct PagedTable<'d> {
    pub(crate) database: &'d Database,
    pub(crate) pages: &'d Pages,
    pub(crate) table: PlainTable,
    /// Told every few thousand rows how many bytes of pages were read.
    pub(crate) proceed: &'d dyn Fn(u64) -> Result<(), Failure>,
}

#[cfg(feature = "nsys")]
impl PagedTable<'_> {
    /// Reads `columns` of every row from the pages of the table, as [`scan`] does by a query.
    pub(crate) fn scan(
        &self,
        columns: &[&str],
        refused: &mut Refused,
        read: &mut dyn FnMut(&Record<'_>) -> Result<(), Fault>,
    ) -> Result<(), Failure> {
        let read = |row: PageRow<'_>, _: &mut ()| {
            if let Err(fault) = read(&Record::from_page(row, columns)) {
                refused.add(fault);
            }
        };
        self.pages.scan(self.table.root, &self.places(columns), read, |_, amount| self.count(amount))
    }

    /// Has `read` make something of every row on up to `threads` threads, and hands it to `take` in the order of rows.
    pub(crate) fn scan_ahead<T: Default + Send>(
        &self,
        columns: &[&str],
        threads: usize,
        refused: &mut Refused,
        read: impl Fn(&Record<'_>, &mut T) -> Result<(), Fault> + Sync,
        mut take: impl FnMut(&mut T),
    ) -> Result<(), Failure> {
        let read = |row: PageRow<'_>, (part, refused): &mut (T, Refused)| {
            if let Err(fault) = read(&Record::from_page(row, columns), part) {
                refused.add(fault);
            }
        };
        let places = self.places(columns);
        self.pages.scan_ahead(self.table.root, &places, threads, read, |(part, part_refused), amount| {
            self.count(amount)?;
            refused.append(std::mem::take(part_refused));
            take(part);
            Ok(())
        })
    }

    fn places(&self, columns: &[&str]) -> Vec<Place> {
        columns.iter().map(|column| self.table.place(column)).collect()
    }

    fn count(&self, amount: Amount) -> Result<(), Failure> {
        (self.proceed)(amount.pages)?;
        self.database.count(amount.rows, amount.text)
    }
}

/// A table of which each row is a record of all its columns, in their order.
#[cfg(feature = "nsys")]
pub(crate) struct PlainTable {
    root: u32,
    pub(crate) columns: Vec<String>,
    /// The column that is the row's id.
    id: Option<usize>,
}

#[cfg(feature = "nsys")]
impl PlainTable {
    /// A table by its root page and the statement that created it; `None` of what only SQLite can read: tables without row
    /// ids, computed columns, and columns with defaults, which rows from before the column was added do not have.
    pub(crate) fn new(
        database: &Database,
        table: &str,
        root: u32,
        creation: &str,
    ) -> Result<Option<PlainTable>, Failure> {
        let creation = without_comments(creation).to_ascii_uppercase();
        let mut words = creation.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        if words.any(|word| matches!(word, "WITHOUT" | "GENERATED" | "AS" | "DEFAULT" | "VIRTUAL")) {
            return Ok(None);
        }
        let mut statement = database.prepare(&format!("PRAGMA table_info({})", quoted(table, '"')))?;
        let mut rows = statement.query([])?;
        let (mut columns, mut keys) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next().map_err(|error| database.explained(error))? {
            if row.get::<_, i64>("pk")? > 0 {
                keys.push((columns.len(), row.get::<_, String>("type")?));
            }
            columns.push(row.get(1)?);
        }
        let id = match &keys[..] {
            [(place, kind)] if kind.eq_ignore_ascii_case("INTEGER") => Some(*place),
            _ => None,
        };
        Ok(Some(PlainTable { root, columns, id }))
    }

    /// Looks up texts of a column by a key that is the row's id; `None` where it is not.
    pub(crate) fn texts(&self, pages: Pages, key: &str, column: &str) -> Option<Texts> {
        let is_key = self.columns.get(self.id?).is_some_and(|name| name == key);
        (is_key && self.columns.iter().any(|name| name == column))
            .then(|| Texts { root: self.root, reader: Reader::new(pages, &[self.place(column)]) })
    }

    #[cfg(test)]
    pub(super) fn root(&self) -> u32 {
        self.root
    }

    pub(super) fn place(&self, column: &str) -> Place {
        match self.columns.iter().position(|name| name == column) {
            Some(place) if self.id == Some(place) => Place::RowId(place),
            Some(place) => Place::Record(place),
            None => Place::Nowhere,
        }
    }
}

/// Texts of a column of a plain table, each read from the page of its row.
#[cfg(feature = "nsys")]
pub(crate) struct Texts {
    root: u32,
    reader: Reader,
}

#[cfg(feature = "nsys")]
impl Texts {
    /// The text in the row of an id.
    pub(crate) fn find(&mut self, database: &Database, id: i64) -> Result<Option<&[u8]>, Failure> {
        let Some(row) = self.reader.find(self.root, id)? else { return Ok(None) };
        database.count(1, row.text())?;
        match row.value(0) {
            ValueRef::Text(text) => Ok(Some(text)),
            _ => Ok(None),
        }
    }
}

/// SQL without what stands behind `--` in its lines.
#[cfg(feature = "nsys")]
fn without_comments(sql: &str) -> String {
    let code = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
    code.collect::<Vec<_>>().join("\n")
}

/// Names of the columns of a table, those that it computes left out.
pub(crate) fn columns_of(database: &Database, table: &str) -> Result<Vec<String>, Failure> {
    let mut statement = database.prepare(&format!("PRAGMA table_info({})", quoted(table, '"')))?;
    let names = statement.query_map([], |row| row.get(1))?;
    names.collect::<Result<_, _>>().map_err(|error| database.explained(error))
}

/// A name or text as SQL has it.
pub(crate) fn quoted(text: &str, quote: char) -> String {
    let doubled = [quote, quote].iter().collect::<String>();
    format!("{quote}{}{quote}", text.replace(quote, &doubled))
}

/// A row: the columns that were asked for, by position.
pub(crate) struct Record<'r> {
    cells: Cells<'r>,
    names: &'r [&'r str],
    /// Where the columns begin.
    first: usize,
}

/// Where the values of a row are.
#[derive(Clone, Copy)]
enum Cells<'r> {
    Row(&'r Row<'r>),
    #[cfg(feature = "nsys")]
    Page(PageRow<'r>),
}

impl<'r> Cells<'r> {
    #[inline]
    fn get(self, at: usize) -> ValueRef<'r> {
        // There are as many as were asked for.
        match self {
            Cells::Row(row) => row.get_ref(at).unwrap_or(ValueRef::Null),
            #[cfg(feature = "nsys")]
            Cells::Page(row) => row.value(at),
        }
    }
}

impl<'r> Record<'r> {
    #[cfg(feature = "nsys")]
    fn from_page(row: PageRow<'r>, names: &'r [&'r str]) -> Record<'r> {
        Record { cells: Cells::Page(row), names, first: 0 }
    }

    #[inline]
    fn value(&self, column: usize) -> ValueRef<'r> {
        self.cells.get(self.first + column)
    }

    /// The value of the reader's own expression.
    pub(crate) fn lead(&self) -> ValueRef<'r> {
        self.cells.get(0)
    }

    /// A whole number, or `None` for NULL.
    #[inline(always)]
    pub(crate) fn integer(&self, column: usize) -> Result<Option<i64>, Fault> {
        let found = match self.cells {
            #[cfg(feature = "nsys")]
            Cells::Page(row) => row.integer(self.first + column),
            Cells::Row(_) => match self.value(column) {
                ValueRef::Null => Ok(None),
                ValueRef::Integer(value) => Ok(Some(value)),
                other => Err(other),
            },
        };
        found.or_else(|other| self.written_otherwise(column, other).map(Some))
    }

    /// A whole number that the database has as something else.
    #[cold]
    fn written_otherwise(&self, column: usize, value: ValueRef<'_>) -> Result<i64, Fault> {
        match value {
            ValueRef::Real(value) if value.fract() == 0.0 && value.abs() < 9.0e15 => Ok(value as i64),
            ValueRef::Text(text) => {
                let text = std::str::from_utf8(text).unwrap_or_default().trim();
                // Numbers without a sign that need 64 bits are stored with one.
                let value = text.parse().or_else(|_| text.parse::<u64>().map(|value| value as i64));
                value.map_err(|_| self.fault(column, text))
            }
            other => Err(self.fault(column, &format!("{:?}", other.data_type()))),
        }
    }

    /// A whole number that has to be there.
    #[inline]
    pub(crate) fn required(&self, column: usize) -> Result<i64, Fault> {
        self.integer(column)?.ok_or_else(|| self.fault(column, "NULL"))
    }

    /// A whole number of 64 bits without sign, which the database stores with one; 0 for NULL.
    pub(crate) fn unsigned(&self, column: usize) -> Result<u64, Fault> {
        Ok(self.integer(column)?.unwrap_or(0) as u64)
    }

    /// A size of at most 32 bits.
    #[inline]
    pub(crate) fn size(&self, column: usize, default: u32) -> Result<u32, Fault> {
        match self.integer(column)? {
            Some(value) => u32::try_from(value).map_err(|_| self.fault(column, &value.to_string())),
            None => Ok(default),
        }
    }

    /// A number that has to be there.
    pub(crate) fn float(&self, column: usize) -> Result<f64, Fault> {
        match self.value(column) {
            ValueRef::Real(value) => Ok(value),
            ValueRef::Integer(value) => Ok(value as f64),
            other => Err(self.fault(column, &format!("{:?}", other.data_type()))),
        }
    }

    /// Bytes of a text, or `None` for NULL.
    #[inline]
    pub(crate) fn text(&self, column: usize) -> Option<&'r [u8]> {
        match self.value(column) {
            ValueRef::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Bytes of a text or of a binary value, or `None` for NULL.
    #[cfg(feature = "nsys")]
    pub(crate) fn bytes(&self, column: usize) -> Option<&'r [u8]> {
        match self.value(column) {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }

    #[cold]
    pub(crate) fn fault(&self, column: usize, found: &str) -> Fault {
        Fault(format!("{} is {found}", self.names[column]))
    }
}
