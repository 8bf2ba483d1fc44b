//! A database that nobody vouches for, and how much work reading it may be.
//!
//! A file of a few KiB can hold views that compute forever, so nothing of it is only trusted to end: what views may
//! do is limited to showing rows of tables, and steps, rows and text are counted against the length of the file.

use std::cell::Cell;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, Statement};

/// Steps of SQLite's machine per byte of the file. A row takes some thirty for the columns that are asked for and has
/// at least six bytes, its place in the page included.
const STEPS_PER_BYTE: u64 = 16;
/// Steps of any file: a fraction of a second.
const LEAST_STEPS: u64 = 5_000_000;
/// How often the steps are looked at.
const STEPS_BETWEEN_LOOKS: i32 = 1000;

/// Time, because one step may handle a long text: so much for any file, and a second more for each of so many bytes.
const LEAST_TIME: Duration = Duration::from_secs(60);
const BYTES_PER_SECOND: u64 = 1 << 20;

/// Bytes of a file for a row at least.
const BYTES_PER_ROW: u64 = 4;
/// Text per byte of the file: each text is read once, and some are named by several rows of a view.
const TEXT_PER_BYTE: u64 = 4;

/// Longest text of any file, in bytes; larger files may have texts of their length.
const SHORT_TEXT: u64 = 1 << 16;
/// Longest text at all, in bytes: the longest are the names of generated kernels.
const LONGEST_TEXT: u64 = 64 << 20;

/// Instructions that keep rows: for sorting, grouping, recursion, joins without an index.
const KEEPING: [&str; 5] = ["OpenEphemeral", "OpenAutoindex", "OpenDup", "SorterOpen", "RowSetAdd"];

/// A database under these bounds.
pub(crate) struct Database {
    connection: Connection,
    /// Length of the file, in bytes.
    length: u64,
    rows_left: Cell<u64>,
    text_left: Cell<u64>,
}

/// What is wrong with a database.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What SQLite said.
    Sqlite(Error),
    /// It exceeds a bound.
    Refused(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Sqlite(error)
    }
}

impl Database {
    /// Opens a file of `length` bytes at an address: it is only read, and its views may not reach virtual tables and
    /// functions.
    pub(crate) fn open(uri: &str, length: u64) -> rusqlite::Result<Database> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Database::bounded(Connection::open_with_flags(Path::new(uri), flags)?, length)
    }

    /// Opens a file that is in memory in the same way.
    pub(crate) fn from_bytes(bytes: &[u8]) -> rusqlite::Result<Database> {
        // A header that names a write-ahead log (version 2 at bytes 18 and 19) wants a file for it; without the log, as files
        // are opened here too, the database is one of version 1.
        let (header, pages) = bytes.split_at(bytes.len().min(20));
        let mut header = header.to_vec();
        header.iter_mut().skip(18).filter(|version| **version == 2).for_each(|version| *version = 1);
        let whole = header.chain(pages);
        let mut connection = Connection::open_in_memory()?;
        connection.deserialize_read_exact("main", whole, bytes.len(), true)?;
        Database::bounded(connection, bytes.len() as u64)
    }

    fn bounded(connection: Connection, length: u64) -> rusqlite::Result<Database> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        let longest = longest_row(length) as i32;
        for (limit, most) in [
            (Limit::SQLITE_LIMIT_LENGTH, longest),
            (Limit::SQLITE_LIMIT_SQL_LENGTH, longest.min(1 << 20)),
            (Limit::SQLITE_LIMIT_COLUMN, 500),
            (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
            (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 500),
            (Limit::SQLITE_LIMIT_VDBE_OP, 1_000_000),
            (Limit::SQLITE_LIMIT_FUNCTION_ARG, 10),
            (Limit::SQLITE_LIMIT_ATTACHED, 0),
            (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
            (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
            (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
        ] {
            connection.set_limit(limit, most)?;
        }
        connection.authorizer(Some(authorize))?;
        connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(watch(length)))?;
        Ok(Database {
            connection,
            length,
            rows_left: Cell::new(length / BYTES_PER_ROW),
            text_left: Cell::new(length.saturating_mul(TEXT_PER_BYTE)),
        })
    }

    /// Prepares a query of the reader's own.
    pub(crate) fn prepare(&self, query: &str) -> Result<Statement<'_>, Failure> {
        self.connection.prepare(query).map_err(|error| self.explained(error))
    }

    /// Prepares a query for the rows of a table or of a view of the file, which may do nothing but show rows.
    pub(crate) fn prepare_scan(&self, query: &str) -> Result<Statement<'_>, Failure> {
        let mut explanation = self.prepare(&format!("EXPLAIN {query}"))?;
        let mut instructions = explanation.query([])?;
        while let Some(instruction) = instructions.next()? {
            let operation: String = instruction.get("opcode")?;
            if KEEPING.contains(&operation.as_str()) {
                return Err(Failure::Refused(
                    "the view sorts, groups or repeats rows; only views of plain table rows are read"
                        .to_string(),
                ));
            }
        }
        self.prepare(query)
    }

    /// Counts rows, and the bytes of the texts in them.
    pub(crate) fn count(&self, rows: u64, text: u64) -> Result<(), Failure> {
        let Some(rows_left) = self.rows_left.get().checked_sub(rows) else {
            return Err(self.refused("more rows than"));
        };
        self.rows_left.set(rows_left);
        let Some(text_left) = self.text_left.get().checked_sub(text) else {
            return Err(self.refused("more text than"));
        };
        self.text_left.set(text_left);
        Ok(())
    }

    /// Bytes that a row may have.
    #[cfg(feature = "nsys")]
    pub(crate) fn longest_row(&self) -> u64 {
        longest_row(self.length)
    }

    fn refused(&self, what: &str) -> Failure {
        Failure::Refused(format!("has {what} a file of {} bytes can hold", self.length))
    }

    /// An error of SQLite, which says no more than "interrupted" of what ended by the bounds.
    pub(crate) fn explained(&self, error: Error) -> Failure {
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Failure::Refused(format!(
                "its views and indexes take more than {} steps and {} s to read, too much for a file of {} bytes",
                most_steps(self.length),
                most_time(self.length).as_secs(),
                self.length
            )),
            _ => Failure::Sqlite(error),
        }
    }
}

/// Bytes of a text, or of a row, of a file of `length` bytes.
fn longest_row(length: u64) -> u64 {
    length.clamp(SHORT_TEXT, LONGEST_TEXT)
}

fn most_steps(length: u64) -> u64 {
    length.saturating_mul(STEPS_PER_BYTE).saturating_add(LEAST_STEPS)
}

fn most_time(length: u64) -> Duration {
    LEAST_TIME + Duration::from_secs(length / BYTES_PER_SECOND)
}

/// Tells SQLite to stop after the steps, or after the time, of a file of `length` bytes.
fn watch(length: u64) -> impl FnMut() -> bool + Send + 'static {
    let mut looks_left = most_steps(length) / STEPS_BETWEEN_LOOKS as u64;
    let until = Instant::now() + most_time(length);
    move || {
        looks_left = looks_left.saturating_sub(1);
        looks_left == 0 || Instant::now() > until
    }
}

/// Rows of tables, and which columns they have; functions can make much of little, and recursion has no end.
fn authorize(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } => Authorization::Allow,
        AuthAction::Pragma { pragma_name: "table_info", .. } => Authorization::Allow,
        _ => Authorization::Deny,
    }
}
