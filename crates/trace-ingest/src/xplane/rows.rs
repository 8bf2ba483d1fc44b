//! Events of a line: where each lies in time, before its stats are read.

use std::cmp::Reverse;
use std::num::NonZeroUsize;

use super::kinds::{KindRole, Kinds};
use super::profile::{AggregatedEvent, KindId};
use super::scan::LineScan;
use crate::time::Picoseconds;
use crate::wire::{Message, Wire};

/// Times and lengths beyond this many picoseconds (26 days) are damage. Sums of a few stay within 64 bits.
const LONGEST_PS: i64 = 1 << 61;

/// An event, placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Picoseconds after the earliest timestamp of a line.
    pub(crate) start: i64,
    /// In picoseconds; damage may make it negative.
    pub(crate) duration: i64,
    /// Where its tag stands; `None` for a span that the viewer makes of two events.
    pub(crate) offset: Option<NonZeroUsize>,
    /// How far behind its tag its stats begin at the earliest.
    pub(crate) stats: u32,
    /// In the table of all kinds.
    pub(crate) kind: u32,
    /// Position of the line among the lines of the same thread.
    pub(crate) line: u32,
    pub(crate) role: KindRole,
}

/// What was noticed of a line's rows while they were read.
pub(crate) struct Noticed {
    /// Whether they are sorted as [`sort_rows`] does.
    pub(crate) in_order: bool,
    /// Whether workers of a thread pool began or ended tasks.
    pub(crate) pool_tasks: bool,
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
) -> Wire<Noticed> {
    let LineContext { bytes, plane, line, position, base_ns } = *context;
    let mut message = Message::new(bytes, line.span.clone(), "XLine");
    // Saturated timestamps are out of range for every event, which is then the one to blame.
    let begin = line.timestamp_ns.saturating_sub(base_ns).saturating_mul(1000);
    let mut noticed = Noticed { in_order: true, pool_tasks: false };
    let mut last = (i64::MIN, Reverse(i64::MAX));
    while let Some(field) = message.next_field()? {
        if field.number != 4 {
            continue;
        }
        let event = message.message(field, "XEvent")?;
        let Placement { kind, offset, duration, occurrences, stats } = read_placement(event, field.offset)?;
        let kind = kinds.find(plane, kind);
        if let Some(occurrences) = occurrences {
            let kind = KindId(kind);
            let position = field.offset as u64;
            aggregated.push(AggregatedEvent { kind, occurrences, duration: Picoseconds(duration), position });
            continue;
        }
        let start = begin.saturating_add(offset);
        if !(-LONGEST_PS..=LONGEST_PS).contains(&start) || duration > LONGEST_PS {
            return message.refuse(field, "an event is weeks away from the others");
        }
        let role = kinds.role(kind);
        noticed.pool_tasks |= matches!(role, KindRole::RegionStart | KindRole::RegionStop);
        let row = Row {
            start,
            duration,
            offset: NonZeroUsize::new(field.offset),
            stats,
            kind,
            line: position,
            role,
        };
        noticed.in_order &= last <= row.key();
        last = row.key();
        rows.push(row);
    }
    Ok(noticed)
}

/// What places an event.
#[derive(Default)]
struct Placement {
    /// Id of its kind.
    kind: i64,
    /// In picoseconds after the line's timestamp.
    offset: i64,
    /// In picoseconds.
    duration: i64,
    /// How many events it stands for, if it does.
    occurrences: Option<i64>,
    /// How far behind the event's tag its stats begin at the earliest; 0 when it has none.
    stats: u32,
}

/// Reads what places an event whose tag stands at `tag`.
#[inline(always)]
fn read_placement(mut event: Message<'_>, tag: usize) -> Wire<Placement> {
    let mut placement = Placement::default();
    // Profilers write fields in order: then nothing but stats follows, and these are read when the event is
    // appended.
    if let Some(kind) = event.integer_if_next(1) {
        placement.kind = kind as i64;
        if let Some(offset) = event.integer_if_next(2) {
            placement.offset = offset as i64;
            if let Some(duration) = event.integer_if_next(3) {
                placement.duration = duration as i64;
                if let Some(stats) = event.next_delimited(4) {
                    placement.stats = u32::try_from(stats - tag).unwrap_or(0);
                    return Ok(placement);
                }
            }
        }
    }
    while let Some(field) = event.next_field()? {
        match field.number {
            1 => placement.kind = event.signed(field)?,
            2 => {
                placement.offset = event.signed(field)?;
                placement.occurrences = None;
            }
            3 => placement.duration = event.signed(field)?,
            4 => {
                event.span(field)?;
                if placement.stats == 0 {
                    placement.stats = u32::try_from(field.offset - tag).unwrap_or(0);
                }
            }
            5 => placement.occurrences = Some(event.signed(field)?),
            _ => {}
        }
    }
    Ok(placement)
}

impl Row {
    /// Rows are sorted by start, longer ones first.
    #[inline]
    fn key(&self) -> (i64, Reverse<i64>) {
        (self.start, Reverse(self.duration))
    }
}

/// Sorts rows by start, longer ones first, equal ones as they stand in the file.
pub(crate) fn sort_rows(rows: &mut [Row]) {
    rows.sort_by_key(Row::key);
}

/// Adds the spans that the viewer makes of a thread pool's two events: from where a worker begins a task to
/// where it ends it. `rows` are those of one line, sorted.
pub(crate) fn add_pool_regions(rows: &mut Vec<Row>, first: usize) {
    let mut begin: Option<Row> = None;
    for index in first..rows.len() {
        let row = rows[index];
        match row.role {
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
