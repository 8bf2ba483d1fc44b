//! Tables of a rocpd database, and rows of them.
//!
//! Each run has tables with its id behind their names, and views of the plain names. Releases of the schema differ
//! in columns, so every query asks for those that a table has.

use std::ops::Deref;

use hashbrown::HashMap;
use rusqlite::types::ValueRef;

use crate::sqlite::{self, Broken, Database, Entries, EntryKind, Fault, Refused, columns_of, quoted, scan};
use crate::warning::Warning;

/// The tables of a database.
pub(super) struct Schema {
    pub(super) entries: Entries,
}

impl Schema {
    /// Virtual tables are none of a profile's: they have no pages of their own.
    pub(super) fn new(entries: Entries) -> Schema {
        Schema { entries }
    }

    /// The tables that together are `table`: the one of that name, or those of all runs. A view of the plain name is
    /// the last resort, because in a merged database it may show only the run that it was made for.
    pub(super) fn parts<'s>(&'s self, table: &'s str) -> Vec<&'s str> {
        let is_run_table = |name: &str| {
            let id = name.strip_prefix(table).and_then(|rest| rest.strip_prefix('_'));
            id.is_some_and(|id| {
                id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'_')
            })
        };
        let kind = self.entries.kind(table);
        if kind == Some(EntryKind::Table) {
            return vec![table];
        }
        let parts: Vec<&str> = self.entries.tables().filter(|name| is_run_table(name)).collect();
        if parts.is_empty() && kind == Some(EntryKind::View) { vec![table] } else { parts }
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

/// A row of a run.
pub(super) struct Record<'r> {
    fields: &'r sqlite::Record<'r>,
    /// Position of the run that it belongs to.
    pub(super) run: u32,
}

impl<'r> Deref for Record<'r> {
    type Target = sqlite::Record<'r>;

    fn deref(&self) -> &sqlite::Record<'r> {
        self.fields
    }
}

/// Reads `columns` of every row of `table`, all of its `parts`. Rows that `read` refuses are counted in a warning.
pub(super) fn rows(
    database: &Database,
    parts: &[String],
    runs: &mut Runs,
    warnings: &mut Vec<Warning>,
    table: &str,
    columns: &[&str],
    read: &mut dyn FnMut(&Record<'_>, &Columns) -> Result<(), Fault>,
) -> Result<(), Broken> {
    let broken = |failure| Broken { table: table.to_string(), failure };
    let mut refused = Refused::default();
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
        let mut read_row = |fields: &sqlite::Record<'_>| {
            let run = match fields.lead() {
                ValueRef::Text(id) => runs.position(&String::from_utf8_lossy(id)),
                _ => runs.position(""),
            };
            read(&Record { fields, run }, &known)
        };
        scan(database, part, &present, Some(&run), columns, &mut refused, &mut read_row).map_err(broken)?;
    }
    warnings.extend(refused.warning(table));
    Ok(())
}
