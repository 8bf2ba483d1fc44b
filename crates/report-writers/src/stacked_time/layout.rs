//! Where the segments of a bar stand.

use super::{Arrangement, StackedBar, StackedSegment};

/// Share of its bar from which a segment says what it is.
pub(super) const LABELLED: f64 = 0.02;

/// A segment in its place. Pixels, downwards from the top of the bar.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) segment: &'a StackedSegment,
    /// Which shade of its category's colour: 0 for the longest.
    pub(super) shade: usize,
    /// Share of its bar, 0 to 1.
    pub(super) share: f64,
    pub(super) top: i32,
    pub(super) bottom: i32,
}

/// The segments from the bottom up in a bar of `height` pixels, without those that have no time. They fill it.
pub(super) fn place(bar: &StackedBar, arrangement: Arrangement, height: i32) -> Vec<Placed<'_>> {
    let mut segments: Vec<&StackedSegment> = bar.segments.iter().filter(|one| one.is_drawn()).collect();
    // Ties by name: the order of the input does not show.
    segments.sort_by(|a, b| b.time_us.total_cmp(&a.time_us).then_with(|| a.name.cmp(&b.name)));
    if arrangement == Arrangement::ByCategory {
        segments.sort_by_key(|segment| segment.category);
    }
    let total = bar.total();
    let mut seen = Vec::new();
    let mut below = 0.0;
    let y = |time: f64| height - (time / total * f64::from(height)).round() as i32;
    segments
        .into_iter()
        .map(|segment| {
            let bottom = y(below);
            below += segment.time_us;
            let shade = seen.iter().filter(|category| **category == segment.category).count();
            seen.push(segment.category);
            let top = y(below).max(0);
            Placed { segment, shade, share: segment.time_us / total, top, bottom }
        })
        .collect()
}
