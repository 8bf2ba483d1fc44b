//! Tenstorrent's tt-metal profiler: `ops_perf_results_*.csv`, a row per operation.

mod cells;
mod columns;
mod header;
mod ops_table;
mod read;
mod row;

pub use header::is_ops_csv;
pub use ops_table::{
    CsvFormat, Dim, OpRow, OpType, OpsFile, OpsTable, OpsWarning, OptionalColumns, SubDevice, Tensor,
};
pub use read::{ops_from_bytes, read_ops};
