//! Tenstorrent's tt-metal profiler: `ops_perf_results_*.csv`, a row per operation. Several files, one for each host
//! of a run, are put one below the other.

mod cells;
mod columns;
mod joined;
mod ops_table;
mod row;

use std::path::PathBuf;

pub use columns::is_ops_csv;
pub use ops_table::{
    CsvFormat, Dim, OpRow, OpType, OpsFile, OpsTable, OpsWarning, OptionalColumns, SubDevice, Tensor,
};

pub(crate) use joined::FORMAT;
use joined::{HEAD, Joined};

use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::open::detect;
use crate::source::{self, ReadOptions};

/// Reads CSV files of operations, plain or compressed, in the order in which they are named.
///
/// The devices of a file are numbered behind those of the file before: device `d` of file `f` (from 0) becomes
/// `d + f·N`, where every file that names devices has to name as many, `N`.
///
/// # Errors
/// When a file cannot be read, is empty or no ops CSV, lacks a column that no report can do without, or names
/// another number of devices than the one before. Faults of single rows and cells are in [`OpsTable::warnings`].
pub fn read_ops(paths: &[PathBuf], options: &ReadOptions<'_>) -> Result<OpsTable, IngestError> {
    let mut joined = Joined::default();
    for path in paths {
        let source = source::open(path, options)?;
        // Of a table that is not recognized the header says more.
        if let Err(error @ IngestError::OtherKind { .. }) =
            detect(&[RecordingKind::TenstorrentOps], path, &source.head, options)
        {
            return Err(error);
        }
        joined.add_source(path, source)?;
    }
    Ok(joined.finish())
}

/// Reads texts that are in memory already, not compressed, as [`read_ops`] reads files.
///
/// # Errors
/// Those of [`read_ops`].
pub fn ops_from_bytes(files: Vec<(PathBuf, Vec<u8>)>) -> Result<OpsTable, IngestError> {
    let mut joined = Joined::default();
    for (path, text) in files {
        if text.is_empty() {
            return Err(IngestError::Empty { path });
        }
        joined.add(&path, &text[..text.len().min(HEAD)], &text[..])?;
    }
    Ok(joined.finish())
}
