//! SQLite databases that profilers write, and that nobody vouches for: opening them, their tables, rows of them.
//!
//! A file is opened read-only and as one that nobody changes, so SQLite makes neither a journal nor a shared-memory
//! file beside it.

mod bounded;
#[cfg(feature = "nsys")]
mod pages;
mod rows;

use std::ffi::OsString;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub(crate) use bounded::{Database, Failure};
#[cfg(feature = "nsys")]
pub(crate) use pages::Pages;
#[cfg(feature = "rocprof")]
pub(crate) use rows::quoted;
pub(crate) use rows::{Fault, Record, Refused, columns_of, scan};
#[cfg(feature = "nsys")]
pub(crate) use rows::{PagedTable, PlainTable, Texts, has_rows};

use crate::error::IngestError;
use crate::source::{ReadOptions, file_name};
use crate::warning::Warning;

/// How SQLite databases begin.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Whether a file begins as SQLite databases do.
pub(crate) fn is_database(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Opens a database under the bounds of its length.
pub(crate) fn open(path: &Path, options: &ReadOptions<'_>) -> Result<Database, IngestError> {
    let failed = |source| IngestError::Io { path: path.to_path_buf(), source };
    let opened = match options.memory(path) {
        Some(content) => {
            let bytes = content.map_err(failed)?;
            check_length(path, bytes, bytes.len() as u64)?;
            Database::from_bytes(bytes)
        }
        None => {
            let file = File::open(path).map_err(failed)?;
            let length = file.metadata().map_err(failed)?.len();
            check_length(path, file, length)?;
            Database::open(&uri(path), length)
        }
    };
    opened.map_err(|error| Broken { table: "the file".to_string(), failure: error.into() }.in_file(path))
}

/// What is wrong with a database itself.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) table: String,
    /// What is wrong with it.
    pub(crate) failure: Failure,
}

impl Broken {
    pub(crate) fn in_file(self, path: &Path) -> IngestError {
        let detail = match self.failure {
            Failure::Sqlite(error) => error.to_string(),
            Failure::Refused(reason) => reason,
        };
        IngestError::DamagedDatabase { path: path.to_path_buf(), table: self.table, detail }
    }
}

/// What a name of a database stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// A table with pages of its own.
    Table,
    /// A query.
    View,
    /// A table that a module of SQLite computes.
    Virtual,
}

/// The tables and views of a database.
#[derive(Clone)]
pub(crate) struct Entries {
    /// Sorted by name.
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    name: String,
    kind: EntryKind,
    /// Where its pages begin; 0 of what has none.
    root: u32,
    /// The statement that created it.
    creation: String,
}

impl Entries {
    pub(crate) fn read(database: &Database) -> Result<Entries, Broken> {
        let read = || {
            let mut statement = database.prepare(
                "SELECT name, type = 'view', rootpage, sql FROM sqlite_master
                WHERE type = 'view' OR type = 'table' ORDER BY name",
            )?;
            let rows = statement.query_map([], |row| {
                let root = row.get::<_, Option<u32>>(2)?.unwrap_or(0);
                let kind = match (row.get(1)?, root > 0) {
                    (true, _) => EntryKind::View,
                    (false, true) => EntryKind::Table,
                    (false, false) => EntryKind::Virtual,
                };
                let creation = row.get::<_, Option<String>>(3)?.unwrap_or_default();
                Ok(Entry { name: row.get(0)?, kind, root, creation })
            })?;
            rows.collect::<Result<Vec<_>, _>>().map_err(|error| database.explained(error))
        };
        let entries = read().map_err(|failure| Broken { table: "sqlite_master".to_string(), failure })?;
        Ok(Entries { entries })
    }

    /// Names of all tables with pages of their own, sorted.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &str> {
        let tables = self.entries.iter().filter(|entry| entry.kind == EntryKind::Table);
        tables.map(|entry| entry.name.as_str())
    }

    /// What a name stands for.
    pub(crate) fn kind(&self, name: &str) -> Option<EntryKind> {
        self.entry(name).map(|entry| entry.kind)
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|entry| entry.name.as_str().cmp(name)).ok()?;
        self.entries.get(at)
    }

    /// A table that can be read from its pages.
    #[cfg(feature = "nsys")]
    pub(crate) fn plain_table(&self, database: &Database, name: &str) -> Result<Option<PlainTable>, Failure> {
        match self.entry(name).filter(|entry| entry.kind == EntryKind::Table) {
            Some(entry) => PlainTable::new(database, name, entry.root, &entry.creation),
            None => Ok(None),
        }
    }

    /// Whether a name begins so.
    pub(crate) fn has_prefix(&self, prefix: &str) -> bool {
        self.entries.iter().any(|entry| entry.name.starts_with(prefix))
    }

    /// What the database looks like, for messages.
    pub(crate) fn describe(&self) -> String {
        const SHOWN: usize = 8;
        let tables: Vec<&str> = self.tables().filter(|name| !name.starts_with("sqlite_")).collect();
        let kind = if self.has_prefix("CUPTI_ACTIVITY_KIND_") || self.has_prefix("TARGET_INFO_") {
            "an Nsight Systems database"
        } else if self.has_prefix("rocpd_op") && self.has_prefix("rocpd_api") {
            "an rpd tracer database"
        } else {
            "an SQLite database"
        };
        match tables.len() {
            0 => format!("{kind} without tables"),
            1..=SHOWN => format!("{kind} with the tables {}", tables.join(", ")),
            more => format!("{kind} with {more} tables: {}, ...", tables[..SHOWN].join(", ")),
        }
    }
}

/// Refuses files that are shorter than their header says: SQLite would read what is there and stop with an error
/// somewhere, or not at all where the lost pages held records of one kind.
fn check_length(path: &Path, mut file: impl Read, length: u64) -> Result<(), IngestError> {
    let failed = |source| IngestError::Io { path: path.to_path_buf(), source };
    let mut header = [0; 100];
    match file.read_exact(&mut header) {
        Ok(()) if is_database(&header) => {}
        Ok(()) => {
            let detail = "is a compressed SQLite database; decompress it first".to_string();
            return Err(IngestError::Archive { path: path.to_path_buf(), detail });
        }
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => header[16..].fill(0),
        Err(error) => return Err(failed(error)),
    }
    let big_endian =
        |at: usize| header[at..at + 4].iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
    let page_size = match big_endian(14) & 0xffff {
        1 => 65536,
        size => size,
    };
    // The number of pages counts only where it was written together with the last change.
    let is_current = big_endian(24) == big_endian(92);
    let expected = if is_current { big_endian(28) * page_size } else { 0 };
    if length < header.len() as u64 || length < expected {
        return Err(IngestError::Damaged {
            path: path.to_path_buf(),
            format: "SQLite",
            field: "pages".to_string(),
            offset: length,
            detail: format!(
                "the file ends here, but its header says {} bytes",
                expected.max(header.len() as u64)
            ),
        });
    }
    Ok(())
}

/// Changes that were not put into the database yet stand in files beside it. To read them is to write there.
pub(crate) fn unread_journal(path: &Path, options: &ReadOptions<'_>) -> Option<Warning> {
    if options.memory(path).is_some() {
        return None;
    }
    ["-wal", "-journal"].into_iter().find_map(|suffix| {
        let mut name = OsString::from(path);
        name.push(suffix);
        let name = PathBuf::from(name);
        let length = std::fs::metadata(&name).ok()?.len();
        (length > 0).then(|| Warning::UnreadFile {
            name: file_name(&name),
            detail: "it holds the latest changes; end the recording cleanly to merge them".to_string(),
        })
    })
}

/// `file:` address of a database that nobody changes.
fn uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    if path.is_absolute() {
        uri.push_str("//");
    }
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02x}");
        }
    }
    uri + "?mode=ro&immutable=1"
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn addresses_escape_what_has_a_meaning_in_them() {
        assert_eq!(uri(Path::new("/a b/c?d#e%.db")), "file:///a%20b/c%3fd%23e%25.db?mode=ro&immutable=1");
        assert_eq!(uri(Path::new("x.db")), "file:x.db?mode=ro&immutable=1");
    }

    #[test]
    fn views_of_a_database_reach_tables_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let written = Connection::open(&path).unwrap();
        written
            .execute_batch(
                "CREATE TABLE kept (id INTEGER);
                INSERT INTO kept VALUES (7);
                CREATE VIEW plain AS SELECT id FROM kept;
                CREATE VIEW reaching AS SELECT name FROM pragma_table_info('kept');",
            )
            .unwrap();
        drop(written);

        let database = open(&path, &ReadOptions::default()).unwrap();
        let mut plain = database.prepare_scan("SELECT id FROM plain").unwrap();
        let id: i64 = plain.query_row([], |row| row.get(0)).unwrap();
        assert_eq!(id, 7);
        assert!(database.prepare("SELECT name FROM reaching").is_err());
        assert!(database.prepare("INSERT INTO kept VALUES (8)").is_err());
    }
}
