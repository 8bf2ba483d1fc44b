//! Which session an export is of, and which GPUs worked in it, without reading its events.

use std::collections::BTreeSet;
use std::path::Path;

use super::facts::{Export, session_start};
use super::global_id::GlobalId;
use super::gpus::Gpus;
use super::rows::is_collected;
use super::tables::{GRAPH, KERNEL, MEMCPY, MEMSET};
use super::{checked_tables, export_database};
use crate::error::IngestError;
use crate::source::ReadOptions;
use crate::sqlite::Broken;

/// What identifies the session of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Session {
    /// When it began, in nanoseconds since 1970 (UTC), where the export says it.
    pub start: Option<i64>,
    /// Processes that had the GPUs do something, each by the packed number of machine and process.
    pub processes: BTreeSet<u64>,
    /// GPUs that did something, by their numbers on the machine.
    pub gpus: BTreeSet<i64>,
}

impl Session {
    /// Whether both are of one session: it began at the same nanosecond and they have a process in common.
    #[must_use]
    pub fn is_same(&self, other: &Session) -> bool {
        self.start.is_some() && self.start == other.start && !self.processes.is_disjoint(&other.processes)
    }
}

/// Number that the system gave a process of [`Session::processes`].
#[must_use]
pub fn process_id(process: u64) -> i64 {
    GlobalId::from_packed(process).pid()
}

/// The session of an export.
///
/// # Errors
/// When the file cannot be read or is no export of Nsight Systems.
pub fn read_session(path: &Path, options: &ReadOptions<'_>) -> Result<Session, IngestError> {
    let options = &ReadOptions { in_memory: options.in_memory, ..ReadOptions::default() };
    let (database, entries) = export_database(path, options)?;
    let tables = checked_tables(&database, entries, path, options)?;
    let read = || {
        // What is malformed, reading the events tells.
        let mut warnings = Vec::new();
        let gpus = Gpus::read(&tables, &mut warnings)?;
        let export = Export::read(&tables, &mut warnings)?;
        let mut session = Session { start: session_start(&tables, &mut warnings)?, ..Session::default() };
        session.start = session.start.filter(|_| !export.is_normalised);
        for table in [KERNEL, MEMCPY, MEMSET, GRAPH] {
            tables.rows(table, &[], &["start", "end", "deviceId", "globalPid"], |row| {
                let process = GlobalId::from_column(row.integer(3)?);
                if let (Some(start), Some(end), Some(device)) =
                    (row.integer(0)?, row.integer(1)?, row.integer(2)?)
                    && is_collected(start, end)
                    && device >= 0
                {
                    session.gpus.insert(gpus.number(process, device));
                    session.processes.extend(process.map(GlobalId::packed));
                }
                Ok(())
            })?;
        }
        Ok::<_, Broken>(session)
    };
    read().map_err(|broken| broken.in_file(path))
}
