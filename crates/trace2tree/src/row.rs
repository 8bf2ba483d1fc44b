//! Rows of events in columns of 32 bits.

use trace_ingest::EventId;

/// "No event" in columns of event rows.
pub(crate) const NONE: u32 = u32::MAX;

/// The event of a row in a column.
#[inline]
pub(crate) fn some(row: u32) -> Option<EventId> {
    (row != NONE).then_some(EventId(row))
}
