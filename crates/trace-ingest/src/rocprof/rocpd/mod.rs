//! rocpd databases: SQLite, `*_results.db`.
//!
//! The file is opened read-only and as one that nobody changes, so SQLite makes neither a journal nor a
//! shared-memory file beside it.

mod bounded;
mod context;
mod descriptions;
mod records;
mod schema;

use std::ffi::OsString;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use self::bounded::{Database, Failure};
use self::context::Context;
use self::schema::{Broken, Schema};
use super::profile::{Profile, SourceFormat};
use crate::error::IngestError;
use crate::source::{file_name, is_standard_input};
use crate::warning::Warning;

/// How SQLite databases begin.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The tables of which a database has to have one.
const TABLES_OF_RECORDS: [&str; 5] = [
    "rocpd_kernel_dispatch",
    "rocpd_memory_copy",
    "rocpd_region",
    "rocpd_memory_allocate",
    "rocpd_info_process",
];

/// Whether a file begins as SQLite databases do.
pub(crate) fn is_database(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Reads a database.
pub(crate) fn read(path: &Path) -> Result<Profile, IngestError> {
    let length = check_length(path)?;
    let broken = |broken: Broken| damaged(path, broken);
    let database = Database::open(&uri(path), length)
        .map_err(|error| broken(Broken { table: "the file".to_string(), failure: error.into() }))?;
    let schema = Schema::read(&database).map_err(broken)?;
    if !TABLES_OF_RECORDS.iter().any(|table| schema.has(table)) {
        return Err(foreign(path, &schema));
    }
    let mut context = Context::new(&database, schema);
    context.builder.profile.source = SourceFormat::Rocpd;
    context.builder.profile.warnings.extend(unread_journal(path));
    context.read_descriptions().map_err(broken)?;
    context.read_records().map_err(broken)?;
    Ok(context.builder.finish())
}

/// Refuses files that are shorter than their header says: SQLite would read what is there and stop with an error
/// somewhere, or not at all where the lost pages held records of one kind. Returns the length, in bytes.
fn check_length(path: &Path) -> Result<u64, IngestError> {
    let failed = |source| IngestError::Io { path: path.to_path_buf(), source };
    if is_standard_input(path) {
        return Err(IngestError::NeedsFile { path: path.to_path_buf(), what: "an SQLite database" });
    }
    let mut file = File::open(path).map_err(failed)?;
    let mut header = [0; 100];
    match file.read_exact(&mut header) {
        Ok(()) if is_database(&header) => {}
        Ok(()) => {
            let detail = "is a compressed rocpd database, which can only be read decompressed".to_string();
            return Err(IngestError::Archive { path: path.to_path_buf(), detail });
        }
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => header[16..].fill(0),
        Err(error) => return Err(failed(error)),
    }
    let length = file.metadata().map_err(failed)?.len();
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
            format: "rocpd (SQLite)",
            field: "pages".to_string(),
            offset: length,
            detail: format!(
                "the file ends here, its header says {} bytes",
                expected.max(header.len() as u64)
            ),
        });
    }
    Ok(length)
}

/// Changes that were not put into the database yet stand in files beside it. To read them is to write there.
fn unread_journal(path: &Path) -> Option<Warning> {
    ["-wal", "-journal"].into_iter().find_map(|suffix| {
        let mut name = OsString::from(path);
        name.push(suffix);
        let name = PathBuf::from(name);
        let length = std::fs::metadata(&name).ok()?.len();
        (length > 0).then(|| Warning::UnreadFile {
            name: file_name(&name),
            detail:
                "it holds the last changes of the database; end the recording properly to have them put in"
                    .to_string(),
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

fn damaged(path: &Path, Broken { table, failure }: Broken) -> IngestError {
    let detail = match failure {
        Failure::Sqlite(error) => error.to_string(),
        Failure::Refused(reason) => reason,
    };
    IngestError::DamagedDatabase { path: path.to_path_buf(), table, detail }
}

/// A database of something else.
fn foreign(path: &Path, schema: &Schema) -> IngestError {
    const SHOWN: usize = 8;
    let tables: Vec<&str> = schema.tables().filter(|name| !name.starts_with("sqlite_")).collect();
    let has = |wanted: &str| tables.iter().any(|name| name.starts_with(wanted));
    let kind = if has("CUPTI_ACTIVITY_KIND_") || has("TARGET_INFO_") {
        "a database of Nsight Systems"
    } else if has("rocpd_op") && has("rocpd_api") {
        "a database of the rpd tracer"
    } else {
        "an SQLite database"
    };
    let found = match tables.len() {
        0 => format!("{kind} without tables"),
        1..=SHOWN => format!("{kind} with the tables {}", tables.join(", ")),
        more => format!("{kind} with {more} tables: {}, ...", tables[..SHOWN].join(", ")),
    };
    IngestError::NotRocprof {
        path: path.to_path_buf(),
        missing: "missing tables rocpd_kernel_dispatch, rocpd_memory_copy and rocpd_region".to_string(),
        found,
    }
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

        let length = check_length(&path).unwrap();
        let database = Database::open(&uri(&path), length).unwrap();
        let mut plain = database.prepare_scan("SELECT id FROM plain").unwrap();
        let id: i64 = plain.query_row([], |row| row.get(0)).unwrap();
        assert_eq!(id, 7);
        assert!(database.prepare("SELECT name FROM reaching").is_err());
        assert!(database.prepare("INSERT INTO kept VALUES (8)").is_err());
    }
}
