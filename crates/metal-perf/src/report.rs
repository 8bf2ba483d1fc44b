//! The report: from the table of operations to the rows that are shown, with what bounds each.

use hashbrown::HashMap;
use trace_ingest::metal::OpsTable;

use crate::chips::{Chip, UnknownChip};
use crate::counts::Counts;
use crate::derive::{Totals, derive};
use crate::filters::filter;
use crate::hardware::hardware;
use crate::merge::{MergedRow, merge};
use crate::model::{ModelContext, PreviousRow, model_op};
use crate::notice::MetalNotice;
use crate::observations::observe;
use crate::op::{Op, OpKind};
use crate::options::MetalOptions;
use crate::window::window;

/// Operations of one or several files, each with its times, its part of what the chip could do, and what bounds it.
#[derive(Clone, Debug)]
pub struct MetalReport {
    /// What the files hold.
    pub table: OpsTable,
    /// What was asked for.
    pub options: MetalOptions,
    /// The chip that figures are a percentage of.
    pub chip: &'static Chip,
    /// Cores of a device that operations can use, where an operation does not say.
    pub worker_cores: u32,
    /// Rows that are shown, in order.
    pub ops: Vec<Op>,
    /// Sums over [`MetalReport::ops`].
    pub totals: Totals,
    /// Rows of the window between the signposts, before any is filtered out.
    pub window_counts: Counts,
    /// Rows that are shown.
    pub shown_counts: Counts,
    /// What a reader should know about the figures.
    pub notices: Vec<MetalNotice>,
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetalError {
    /// No chip has the name that the user gives.
    #[error(transparent)]
    UnknownChip(#[from] UnknownChip),
    /// No chip has the name that the file gives.
    #[error("the file names its chip, but {0}: name one to compare with (--arch)")]
    UnknownChipInFile(#[source] UnknownChip),
    /// The first ID of the range comes after the last.
    #[error("the range of IDs is reversed: {first} comes after {last}")]
    ReversedIdRange {
        /// The first.
        first: u32,
        /// The last.
        last: u32,
    },
    /// Occurrences count from 1.
    #[error("occurrences of a signpost count from 1: there is no occurrence 0")]
    OccurrenceZero,
}

impl MetalReport {
    /// Makes the report.
    ///
    /// # Errors
    /// If there is no chip to compare with, or the options contradict each other.
    pub fn new(table: OpsTable, options: MetalOptions) -> Result<Self, MetalError> {
        if options.occurrence == Some(0) {
            return Err(MetalError::OccurrenceZero);
        }
        if let Some((first, last)) = options.id_range.and_then(|range| range.reversed()) {
            return Err(MetalError::ReversedIdRange { first, last });
        }
        let mut notices: Vec<MetalNotice> =
            table.warnings.iter().cloned().map(MetalNotice::Reading).collect();
        let (chip, worker_cores) = hardware(&table, &options, &mut notices)?;
        let rows = window(&table, &options, &mut notices);
        let merged = merge(&table, &rows, &options, &mut notices);
        let context = ModelContext { chip, worker_cores, options: &options };
        let mut ops = model_rows(&table, &merged, &context);
        let window_counts = Counts::of(&ops);
        observe(&table, &ops, options.compat, &mut notices);
        filter(&mut ops, &table.rows, &options);
        if ops.is_empty() && !notices.iter().any(MetalNotice::says_nothing_to_report) {
            notices.push(MetalNotice::NothingLeft { of: window_counts.rows() });
        }
        let totals = derive(&mut ops);
        let shown_counts = Counts::of(&ops);
        Ok(MetalReport {
            table,
            options,
            chip,
            worker_cores,
            ops,
            totals,
            window_counts,
            shown_counts,
            notices,
        })
    }
}

/// Models rows in order. A gap says something only if its beginning lies in the window too: the first operation of
/// each device has none.
fn model_rows(table: &OpsTable, merged: &[MergedRow], context: &ModelContext<'_>) -> Vec<Op> {
    let mut last: Option<PreviousRow> = None;
    let mut last_of_device: HashMap<u32, PreviousRow> = HashMap::new();
    let mut ops = Vec::with_capacity(merged.len());
    for row in merged {
        let device = table.rows[row.row as usize].device;
        let previous = match device.filter(|_| !context.options.compat) {
            Some(device) => last_of_device.get(&device).copied(),
            None => last,
        };
        let mut op = model_op(table, row.row, row.duration_ns, previous.as_ref(), context);
        op.merged_rows.clone_from(&row.others);
        if op.kind != OpKind::Signpost {
            let this = PreviousRow { invalid_duration: op.invalid_duration };
            last = Some(this);
            let devices =
                row.others.iter().filter_map(|&other| table.rows[other as usize].device).chain(device);
            last_of_device.extend(devices.map(|device| (device, this)));
        }
        ops.push(op);
    }
    ops
}

#[cfg(test)]
mod tests;
