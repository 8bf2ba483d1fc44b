//! Slices as both forms of a trace give them.

use super::arguments::{Arguments, Key};
use crate::string_table::StringId;

/// Largest magnitude of a time, in nanoseconds: the distance of two, and their sum, cannot overflow.
pub(super) const LATEST: i64 = i64::MAX / 4;

/// A slice.
pub(super) struct Slice<'s> {
    /// Its row.
    pub(super) lane: u32,
    /// Its category; of several, all with commas between.
    pub(super) category: StringId,
    /// Its name.
    pub(super) name: StringId,
    /// When it starts, in nanoseconds, where its arguments do not say.
    pub(super) start: Option<i64>,
    /// When it ends, if that is known and its arguments do not say.
    pub(super) end: Option<i64>,
    pub(super) arguments: &'s Arguments<'s>,
}

/// Start and, if it is known, end of a slice: what its arguments say goes before its place in the trace. `None`
/// when neither tells the start, or a time is out of range.
pub(super) fn times(slice: &Slice<'_>) -> Option<(i64, Option<i64>)> {
    let given = |key| slice.arguments.integer::<i64>(key);
    let (begin, end, length) = (given(Key::Begin), given(Key::End), given(Key::Length));
    let (start, end) = match (begin, end, length) {
        (Some(begin), _, Some(length)) => (begin, Some(begin.checked_add(length)?)),
        (Some(begin), Some(end), None) => (begin, Some(end)),
        (None, Some(end), Some(length)) => (end.checked_sub(length)?, Some(end)),
        (begin, ..) => (begin.or(slice.start)?, slice.end),
    };
    let in_range = |time: i64| (-LATEST..=LATEST).contains(&time);
    (in_range(start) && end.is_none_or(in_range)).then_some((start, end))
}
