//! NVIDIA Nsight Systems: the databases that `nsys export --type sqlite` makes of a recording, read into a [`Trace`].
//!
//! An export has a table per kind of event, and only those that have rows. Reading goes over each once. Threads take what
//! rows of the large tables say from the pages of the file (`rows`), another one makes events of it (`events`). A text is
//! loaded when an event first refers to it (`strings`), so that those to which none does, such as the program's environment
//! and output, are never loaded.

mod diagnostics;
mod enumerations;
mod events;
mod facts;
mod global_id;
mod gpus;
mod nccl;
mod nvtx_text;
mod payload;
mod references;
mod rows;
mod session;
mod strings;
mod tables;

use std::path::Path;

use self::events::Conversion;
use self::references::References;
pub use self::session::{Session, process_id, read_session};
use self::strings::Strings;
use self::tables::Tables;
use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::format::{Certainty, Format};
use crate::recording::Recording;
use crate::source::ReadOptions;
use crate::sqlite::{self, Broken, Database, Entries};
use crate::trace::Trace;

/// Of all databases; those of other programs are refused by their tables. SQLite opens the file itself.
pub(crate) const FORMAT: Format = Format {
    name: "Nsight Systems export",
    kind: RecordingKind::Nsys,
    probe: |head| Certainty::certain_if(sqlite::is_database(head)),
    read: |path, _, options| read(path, options).map(|trace| Recording::Trace(Box::new(trace))),
};

/// Whether a database is an export: it says so, or has the table of strings and one of events.
pub(crate) fn is_export(database: &Database, entries: &Entries) -> Result<bool, Broken> {
    const EVENTS: [&str; 7] = [
        "CUPTI_ACTIVITY_KIND_",
        "CUDA_GPU_",
        "NVTX_EVENTS",
        "OSRT_API",
        "MPI_",
        "GPU_METRICS",
        "TARGET_INFO_",
    ];
    let has_strings = entries.has_prefix(tables::STRINGS);
    if has_strings && EVENTS.iter().any(|prefix| entries.has_prefix(prefix)) {
        return Ok(true);
    }
    let tables = Tables::new(database, entries.clone(), &ReadOptions::default())?;
    Ok(facts::Export::read(&tables, &mut Vec::new())?.is_nsight_systems)
}

fn export_database(path: &Path, options: &ReadOptions<'_>) -> Result<(Database, Entries), IngestError> {
    let database = sqlite::open(path, options)?;
    let entries = Entries::read(&database).map_err(|broken| broken.in_file(path))?;
    match is_export(&database, &entries).map_err(|broken| broken.in_file(path))? {
        true => Ok((database, entries)),
        false => Err(IngestError::UnknownFormat {
            path: path.to_path_buf(),
            found: entries.describe(),
            expected: format!("{} ({})", FORMAT.kind, FORMAT.kind.files()),
        }),
    }
}

/// The tables of an export, none of which may be anything else.
fn checked_tables<'d>(
    database: &'d Database,
    entries: Entries,
    path: &Path,
    options: &ReadOptions<'d>,
) -> Result<Tables<'d>, IngestError> {
    let mut tables = Tables::new(database, entries, options).map_err(|broken| broken.in_file(path))?;
    if options.memory(path).is_none() {
        let failed = |source| IngestError::Io { path: path.to_path_buf(), source };
        tables = tables.with_pages(path).map_err(failed)?;
    }
    tables.check_kinds().map_err(|broken| broken.in_file(path))?;
    Ok(tables)
}

fn read(path: &Path, options: &ReadOptions<'_>) -> Result<Trace, IngestError> {
    let (database, entries) = export_database(path, options)?;
    let tables = checked_tables(&database, entries, path, options)?;
    let broken = |broken: Broken| broken.in_file(path);

    let mut trace = Trace::default();
    trace.warnings.extend(sqlite::unread_journal(path, options));
    let messages = diagnostics::read(&tables, &mut trace.warnings).map_err(broken)?;
    let references = References::read(&tables, &mut trace.warnings).map_err(broken)?;
    let strings = Strings::open(&tables, &mut trace.warnings).map_err(broken)?;
    let mut conversion = Conversion::new(&tables, &references, strings, trace);
    conversion.read_events().map_err(broken)?;
    let mut trace = conversion.finish();
    if trace.events.is_empty() {
        let unread = tables.unread().map_err(broken)?;
        let faults: Vec<String> = trace.warnings.iter().chain(&unread).map(ToString::to_string).collect();
        return Err(IngestError::NothingRecorded { path: path.to_path_buf(), faults });
    }
    if trace.entries == u32::MAX {
        return Err(IngestError::TooManyEvents { path: path.to_path_buf(), limit: u32::MAX });
    }
    facts::read(&tables, &mut trace).map_err(broken)?;
    trace.warnings.extend(messages);
    trace.rebase();
    Ok(trace)
}
