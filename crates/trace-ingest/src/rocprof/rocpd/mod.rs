//! rocpd databases: SQLite, `*_results.db`.

mod context;
mod descriptions;
mod records;
mod schema;

use std::path::Path;

use self::context::Context;
use self::schema::Schema;
use super::profile::{Profile, SourceFormat};
use crate::error::IngestError;
use crate::source::ReadOptions;
use crate::sqlite::{self, Broken, Entries};

/// The tables of which a database has to have one.
const TABLES_OF_RECORDS: [&str; 5] = [
    "rocpd_kernel_dispatch",
    "rocpd_memory_copy",
    "rocpd_region",
    "rocpd_memory_allocate",
    "rocpd_info_process",
];

/// Whether a database with these tables is a profile.
#[cfg(feature = "nsys")]
pub(crate) fn is_profile(entries: &Entries) -> bool {
    has_records(&Schema::new(entries.clone()))
}

fn has_records(schema: &Schema) -> bool {
    TABLES_OF_RECORDS.iter().any(|table| schema.has(table))
}

pub(crate) fn read(path: &Path, options: &ReadOptions<'_>) -> Result<Profile, IngestError> {
    let database = sqlite::open(path, options)?;
    let broken = |broken: Broken| broken.in_file(path);
    let schema = Schema::new(Entries::read(&database).map_err(broken)?);
    if !has_records(&schema) {
        return Err(foreign(path, &schema));
    }
    let mut context = Context::new(&database, schema);
    context.builder.profile.source = SourceFormat::Rocpd;
    context.builder.profile.warnings.extend(sqlite::unread_journal(path, options));
    context.read_descriptions().map_err(broken)?;
    context.read_records().map_err(broken)?;
    Ok(context.builder.finish())
}

/// A database of something else.
fn foreign(path: &Path, schema: &Schema) -> IngestError {
    IngestError::NotRocprof {
        path: path.to_path_buf(),
        missing: "missing tables rocpd_kernel_dispatch, rocpd_memory_copy and rocpd_region".to_string(),
        found: schema.entries.describe(),
    }
}
