//! Tables of a rocpd database, and rows of them.
//!
//! Each run has tables with its id behind their names, and views of the plain names. Releases of the schema differ
//! in columns, so every query asks for those that a table has.

use hashbrown::HashMap;
use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::bounded::{Database, Failure};
use crate::warning::Warning;

/// The tables of a database.
pub(super) struct Schema {
    /// Names, and whether each is a view's, sorted.
    entries: Vec<(String, bool)>,
}

/// What went wrong with the database itself.
#[derive(Debug)]
pub(super) struct Broken {
    /// Table that was read.
    pub(super) table: String,
    /// What is wrong with it.
    pub(super) failure: Failure,
}

/// A field that cannot be read.
pub(super) struct Fault(String);

impl Schema {
    /// Virtual tables are none of a profile's: they have no pages of their own.
    pub(super) fn read(database: &Database) -> Result<Schema, Broken> {
        let read = || {
            let mut statement = database.prepare(
                "SELECT name, type = 'view' FROM sqlite_master
                WHERE type = 'view' OR (type = 'table' AND rootpage > 0) ORDER BY name",
            )?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<Result<Vec<(String, bool)>, _>>().map_err(|error| database.explained(error))
        };
        let broken = |failure| Broken { table: "sqlite_master".to_string(), failure };
        Ok(Schema { entries: read().map_err(broken)? })
    }

    /// Names of all tables.
    pub(super) fn tables(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(|(_, is_view)| !is_view).map(|(name, _)| name.as_str())
    }

    /// The tables that together are `table`: the one of that name, or those of all runs. A view of the plain name is
    /// the last resort, because in a merged database it may show only the run that it was made for.
    pub(super) fn parts(&self, table: &str) -> Vec<&str> {
        let named = |view: bool| {
            let found = self.entries.iter().find(|(name, is_view)| name == table && *is_view == view);
            found.map(|(name, _)| name.as_str())
        };
        let of_run = |name: &str| {
            let id = name.strip_prefix(table).and_then(|rest| rest.strip_prefix('_'));
            id.is_some_and(|id| {
                id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'_')
            })
        };
        if let Some(name) = named(false) {
            return vec![name];
        }
        let parts: Vec<&str> = self.tables().filter(|name| of_run(name)).collect();
        if parts.is_empty() { named(true).into_iter().collect() } else { parts }
    }

    pub(super) fn has(&self, table: &str) -> bool {
        !self.parts(table).is_empty()
    }
}

/// Which of the columns that a reader knows a table has.
pub(super) struct Columns {
    present: Vec<bool>,
}

impl Columns {
    pub(super) fn has(&self, column: usize) -> bool {
        self.present[column]
    }
}

/// Ids of runs, by position. Rows of one run stand together, so the last one is tried first.
#[derive(Default)]
pub(super) struct Runs {
    positions: HashMap<String, u32>,
    last: (String, u32),
}

impl Runs {
    fn position(&mut self, id: &str) -> u32 {
        if self.positions.is_empty() || self.last.0 != id {
            let next = self.positions.len() as u32;
            self.last = (id.to_string(), *self.positions.entry_ref(id).or_insert(next));
        }
        self.last.1
    }
}

/// A row: the columns that were asked for, by position; those that the table lacks are NULL.
pub(super) struct Record<'r> {
    row: &'r Row<'r>,
    names: &'r [&'r str],
    /// Position of the run that it belongs to.
    pub(super) run: u32,
}

/// Reads `columns` of every row of `table`, all of its `parts`. Rows that `read` refuses are counted in a warning.
pub(super) fn rows(
    database: &Database,
    parts: &[String],
    runs: &mut Runs,
    warnings: &mut Vec<Warning>,
    table: &str,
    columns: &[&str],
    mut read: impl FnMut(&Record<'_>, &Columns) -> Result<(), Fault>,
) -> Result<(), Broken> {
    let broken = |failure| Broken { table: table.to_string(), failure };
    let said = |error| broken(database.explained(error));
    let mut refused = 0;
    let mut first = None;
    for part in parts {
        let present = columns_of(database, part).map_err(broken)?;
        let has = |column: &str| present.iter().any(|name| name == column);
        let known = Columns { present: columns.iter().map(|column| has(column)).collect() };
        // A table without the id of its run belongs to the one in its name.
        let run = match part.strip_prefix(table) {
            _ if has("guid") => "\"guid\"".to_string(),
            Some(suffix) => quoted(&suffix.trim_start_matches('_').replace('_', "-"), '\''),
            None => "''".to_string(),
        };
        let wanted: Vec<String> = columns
            .iter()
            .map(|column| if has(column) { quoted(column, '"') } else { "NULL".to_string() })
            .collect();
        let query = format!("SELECT {run}, {} FROM {}", wanted.join(", "), quoted(part, '"'));
        let mut statement = database.prepare_scan(&query).map_err(broken)?;
        let mut found = statement.query([]).map_err(said)?;
        while let Some(row) = found.next().map_err(said)? {
            database.count(row, columns.len()).map_err(broken)?;
            let run = match row.get_ref(0).map_err(said)? {
                ValueRef::Text(id) => runs.position(&String::from_utf8_lossy(id)),
                _ => runs.position(""),
            };
            if let Err(Fault(detail)) = read(&Record { row, names: columns, run }, &known) {
                refused += 1;
                first.get_or_insert(detail);
            }
        }
    }
    if let Some(detail) = first {
        warnings.push(Warning::MalformedRecords { list: table.to_string(), count: refused, detail });
    }
    Ok(())
}

fn columns_of(database: &Database, table: &str) -> Result<Vec<String>, Failure> {
    let mut statement = database.prepare(&format!("PRAGMA table_info({})", quoted(table, '"')))?;
    let names = statement.query_map([], |row| row.get(1))?;
    names.collect::<Result<_, _>>().map_err(|error| database.explained(error))
}

fn quoted(text: &str, quote: char) -> String {
    let doubled = [quote, quote].iter().collect::<String>();
    format!("{quote}{}{quote}", text.replace(quote, &doubled))
}

impl<'r> Record<'r> {
    fn value(&self, column: usize) -> ValueRef<'r> {
        // The query has as many columns as were asked for.
        self.row.get_ref(column + 1).unwrap_or(ValueRef::Null)
    }

    /// A whole number, or `None` for NULL.
    pub(super) fn integer(&self, column: usize) -> Result<Option<i64>, Fault> {
        match self.value(column) {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(value) => Ok(Some(value)),
            ValueRef::Real(value) if value.fract() == 0.0 && value.abs() < 9.0e15 => Ok(Some(value as i64)),
            ValueRef::Text(text) => {
                let text = std::str::from_utf8(text).unwrap_or_default().trim();
                // Numbers without a sign that need 64 bits are stored with one.
                let value = text.parse().or_else(|_| text.parse::<u64>().map(|value| value as i64));
                value.map(Some).map_err(|_| self.fault(column, text))
            }
            other => Err(self.fault(column, &format!("{:?}", other.data_type()))),
        }
    }

    /// A whole number that has to be there.
    pub(super) fn required(&self, column: usize) -> Result<i64, Fault> {
        self.integer(column)?.ok_or_else(|| self.fault(column, "NULL"))
    }

    /// A whole number of 64 bits without sign, which the database stores with one; 0 for NULL.
    pub(super) fn unsigned(&self, column: usize) -> Result<u64, Fault> {
        Ok(self.integer(column)?.unwrap_or(0) as u64)
    }

    /// A size of at most 32 bits.
    pub(super) fn size(&self, column: usize, default: u32) -> Result<u32, Fault> {
        match self.integer(column)? {
            Some(value) => u32::try_from(value).map_err(|_| self.fault(column, &value.to_string())),
            None => Ok(default),
        }
    }

    /// A number that has to be there.
    pub(super) fn float(&self, column: usize) -> Result<f64, Fault> {
        match self.value(column) {
            ValueRef::Real(value) => Ok(value),
            ValueRef::Integer(value) => Ok(value as f64),
            other => Err(self.fault(column, &format!("{:?}", other.data_type()))),
        }
    }

    /// Bytes of a text, or `None` for NULL.
    pub(super) fn text(&self, column: usize) -> Option<&'r [u8]> {
        match self.value(column) {
            ValueRef::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn fault(&self, column: usize, found: &str) -> Fault {
        Fault(format!("{} is {found}", self.names[column]))
    }
}
