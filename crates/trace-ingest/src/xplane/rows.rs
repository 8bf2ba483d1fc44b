//! Events of a line: where each lies in time, before its stats are read.

use super::kinds::{KindRole, Kinds};
use super::profile::{AggregatedEvent, KindId};
use super::scan::LineScan;
use super::wire::{Message, Wire};

/// Times and lengths beyond this many picoseconds (26 days) are damage. Sums of a few stay within 64 bits.
const LONGEST_PS: i64 = 1 << 61;

/// The fields that place an event, a bit each: kind, offset, duration.
const PLACED: u32 = 1 << 1 | 1 << 2 | 1 << 3;

/// An event, placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Picoseconds after the earliest timestamp of a line.
    pub(crate) start: i64,
    /// In picoseconds; damage may make it negative.
    pub(crate) duration: i64,
    /// Where its tag stands; `None` for a span that the viewer makes of two events.
    pub(crate) offset: Option<usize>,
    /// How far behind its tag its stats begin at the earliest.
    pub(crate) stats: u32,
    /// In the table of all kinds.
    pub(crate) kind: u32,
    /// Position of the line among the lines of the same thread.
    pub(crate) line: u32,
}

/// What a line's events refer to.
pub(crate) struct LineContext<'a> {
    pub(crate) bytes: &'a [u8],
    /// Position of the line's plane.
    pub(crate) plane: usize,
    pub(crate) line: &'a LineScan,
    /// Position of the line among the lines of the same thread.
    pub(crate) position: u32,
    /// Earliest timestamp of a line, in nanoseconds.
    pub(crate) base_ns: i64,
}

/// Reads where the events of a line lie. Events that stand for several go to `aggregated`.
pub(crate) fn read_rows(
    context: &LineContext<'_>,
    kinds: &mut Kinds,
    rows: &mut Vec<Row>,
    aggregated: &mut Vec<AggregatedEvent>,
) -> Wire<()> {
    let LineContext { bytes, plane, line, position, base_ns } = *context;
    let mut message = Message::new(bytes, line.span.clone(), "XLine");
    // Saturated timestamps are out of range for every event, which is then the one to blame.
    let begin = line.timestamp_ns.saturating_sub(base_ns).saturating_mul(1000);
    while let Some(field) = message.next_field()? {
        if field.number != 4 {
            continue;
        }
        let tag = field.offset;
        let mut event = message.message(field, "XEvent")?;
        let (mut kind, mut offset, mut duration, mut occurrences) = (0, 0i64, 0i64, None);
        let (mut seen, mut stats) = (0, 0);
        while let Some(field) = event.next_field()? {
            let begin = field.offset;
            match field.number {
                1 => kind = event.signed(field)?,
                2 => {
                    offset = event.signed(field)?;
                    occurrences = None;
                }
                3 => duration = event.signed(field)?,
                4 => {
                    event.span(field)?;
                    if stats == 0 {
                        stats = u32::try_from(begin - tag).unwrap_or(0);
                    }
                    if seen == PLACED {
                        // Profilers write fields in order: nothing but stats follows, and these are
                        // read when the event is appended.
                        break;
                    }
                }
                5 => occurrences = Some(event.signed(field)?),
                _ => {}
            }
            seen |= 1u32.checked_shl(field.number).unwrap_or(0);
        }
        let kind = kinds.find(plane, kind);
        if let Some(occurrences) = occurrences {
            let kind = KindId(kind);
            let position = field.offset as u64;
            aggregated.push(AggregatedEvent { kind, occurrences, duration_ps: duration, position });
            continue;
        }
        let start = begin.saturating_add(offset);
        if !(-LONGEST_PS..=LONGEST_PS).contains(&start) || duration > LONGEST_PS {
            return message.refuse(field, "an event lies weeks away from the others");
        }
        rows.push(Row { start, duration, offset: Some(field.offset), stats, kind, line: position });
    }
    Ok(())
}

/// Sorts rows by start, longer ones first, equal ones as they stand in the file.
pub(crate) fn sort_rows(rows: &mut [Row]) {
    let key = |row: &Row| (row.start, std::cmp::Reverse(row.duration));
    if !rows.is_sorted_by_key(key) {
        rows.sort_by_key(key);
    }
}

/// Adds the spans that the viewer makes of a thread pool's two events: from where a worker begins a task to
/// where it ends it. `rows` are those of one line, sorted.
pub(crate) fn add_pool_regions(rows: &mut Vec<Row>, first: usize, kinds: &Kinds) {
    let mut begin: Option<Row> = None;
    for index in first..rows.len() {
        let row = rows[index];
        match kinds.role(row.kind) {
            KindRole::RegionStart => begin = Some(row),
            KindRole::RegionStop => {
                if let Some(begin) = begin.take() {
                    rows.push(Row { duration: row.start - begin.start, offset: None, ..begin });
                }
            }
            _ => {}
        }
    }
}
