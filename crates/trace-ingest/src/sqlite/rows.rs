//! Rows of tables, and the values in them.

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::bounded::{Database, Failure};
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
    fn add(&mut self, Fault(detail): Fault) {
        if self.count == 0 {
            self.detail = detail;
        }
        self.count += 1;
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
    mut read: impl FnMut(&Record<'_>) -> Result<(), Fault>,
) -> Result<(), Failure> {
    let said = |error| database.explained(error);
    let wanted = |column: &&str| match present.iter().any(|name| name == column) {
        true => quoted(column, '"'),
        false => "NULL".to_string(),
    };
    let asked: Vec<String> = lead.map(str::to_string).into_iter().chain(columns.iter().map(wanted)).collect();
    let query = format!("SELECT {} FROM {}", asked.join(", "), quoted(table, '"'));
    let mut statement = database.prepare_scan(&query)?;
    let mut found = statement.query([]).map_err(said)?;
    let first = usize::from(lead.is_some());
    while let Some(row) = found.next().map_err(said)? {
        database.count(row, first..asked.len())?;
        if let Err(fault) = read(&Record { row, names: columns, first }) {
            refused.add(fault);
        }
    }
    Ok(())
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
    row: &'r Row<'r>,
    names: &'r [&'r str],
    /// Where the columns begin.
    first: usize,
}

impl<'r> Record<'r> {
    fn value(&self, column: usize) -> ValueRef<'r> {
        // The query has as many columns as were asked for.
        self.row.get_ref(self.first + column).unwrap_or(ValueRef::Null)
    }

    /// The value of the reader's own expression.
    pub(crate) fn lead(&self) -> ValueRef<'r> {
        self.row.get_ref(0).unwrap_or(ValueRef::Null)
    }

    /// A whole number, or `None` for NULL.
    pub(crate) fn integer(&self, column: usize) -> Result<Option<i64>, Fault> {
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
    pub(crate) fn required(&self, column: usize) -> Result<i64, Fault> {
        self.integer(column)?.ok_or_else(|| self.fault(column, "NULL"))
    }

    /// A whole number of 64 bits without sign, which the database stores with one; 0 for NULL.
    pub(crate) fn unsigned(&self, column: usize) -> Result<u64, Fault> {
        Ok(self.integer(column)?.unwrap_or(0) as u64)
    }

    /// A size of at most 32 bits.
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

    pub(crate) fn fault(&self, column: usize, found: &str) -> Fault {
        Fault(format!("{} is {found}", self.names[column]))
    }
}
