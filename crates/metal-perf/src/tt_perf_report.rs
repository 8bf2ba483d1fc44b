//! What tt-perf-report 1.4.1 does differently where it is held to be wrong, for comparison
//! ([`MetalOptions::compat`](crate::MetalOptions::compat)).

use sheets::Cell;
use trace_ingest::metal::OpsTable;

use crate::sheets::ops::{CALL_COUNT, INPUT_0_DATATYPE, INPUT_1_DATATYPE, OUTPUT_DATATYPE};

/// How cells of the CSV file are written.
pub(crate) struct CsvCells {
    /// Columns of datatypes that the profiler's file has.
    datatypes: Vec<&'static str>,
    /// Whether call counts are fractions: a column of whole numbers with a gap is one.
    has_fractional_calls: bool,
}

impl CsvCells {
    pub(crate) fn of(table: &OpsTable) -> Self {
        let datatypes = [
            (OUTPUT_DATATYPE, table.has.output_0_datatype),
            (INPUT_0_DATATYPE, table.has.input_0_datatype),
            (INPUT_1_DATATYPE, table.has.input_1_datatype),
        ];
        CsvCells {
            datatypes: datatypes.into_iter().filter(|(_, has)| *has).map(|(column, _)| column.name).collect(),
            has_fractional_calls: table.rows.iter().any(|row| row.global_call_count.is_none()),
        }
    }

    /// A cell of the column of this name.
    pub(crate) fn cell<'r>(&self, column: &str, cell: Cell<'r>) -> Cell<'r> {
        let is_call_count = column == CALL_COUNT.name;
        match cell {
            Cell::Missing if is_call_count || self.datatypes.contains(&column) => "nan".into(),
            Cell::Whole(count) if is_call_count && self.has_fractional_calls => (count as f64).into(),
            cell => cell,
        }
    }
}
