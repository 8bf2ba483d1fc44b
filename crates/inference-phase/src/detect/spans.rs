//! Where the host runs which step, and to which step device events belong.

use hashbrown::HashMap;
use trace_ingest::{EventId, RowId, StringId, Trace, TrackId};

use super::marks::AnnotatedStep;

/// A step's range on one thread; it ends before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: i64,
    pub(super) end: i64,
    /// Index of the step.
    pub(super) step: usize,
}

/// Ranges of all threads, each thread's by start.
#[derive(Debug)]
pub(super) struct Spans {
    by_track: Vec<Vec<Span>>,
}

impl Spans {
    pub(super) fn new(tracks: usize) -> Self {
        Spans { by_track: vec![Vec::new(); tracks] }
    }

    /// The ranges of a thread.
    pub(super) fn of(&self, track: TrackId) -> &[Span] {
        &self.by_track[track.index()]
    }

    /// Adds a range unless it overlaps another of the thread; whether it was added.
    pub(super) fn insert(&mut self, track: TrackId, span: Span) -> bool {
        let spans = &mut self.by_track[track.index()];
        let at = spans.partition_point(|other| other.start < span.start);
        let is_free = at.checked_sub(1).is_none_or(|before| spans[before].end <= span.start)
            && spans.get(at).is_none_or(|after| span.end <= after.start);
        if is_free {
            spans.insert(at, span);
        }
        is_free
    }

    /// The range of a thread that holds a moment.
    pub(super) fn find(&self, track: TrackId, time: i64) -> Option<&Span> {
        let spans = self.of(track);
        let after = spans.partition_point(|span| span.start <= time);
        spans[..after].last().filter(|span| time < span.end)
    }

    /// The last range of a thread that begins no later than a moment.
    pub(super) fn last_before(&self, track: TrackId, time: i64) -> Option<usize> {
        self.of(track).partition_point(|span| span.start <= time).checked_sub(1)
    }

    /// The range at a place of a thread's list, to widen it.
    pub(super) fn widen(&mut self, track: TrackId, at: usize, start: i64, end: i64) -> Option<Span> {
        let spans = &mut self.by_track[track.index()];
        let before = at.checked_sub(1).and_then(|before| spans.get(before)).map_or(i64::MIN, |span| span.end);
        let after = spans.get(at + 1).map_or(i64::MAX, |span| span.start);
        let span = spans.get_mut(at)?;
        span.start = span.start.min(start.max(before));
        span.end = span.end.max(end.min(after));
        Some(*span)
    }
}

/// Ranges out of spans that may nest: the outermost ones, those that overlap cut at the end of the one before. Gives
/// for every outermost range the indices of all spans that begin in it, itself first.
pub(super) fn outermost(spans: &[(i64, i64)]) -> Vec<(i64, i64, Vec<usize>)> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|&at| (spans[at].0, std::cmp::Reverse(spans[at].1)));
    let mut ranges: Vec<(i64, i64, Vec<usize>)> = Vec::new();
    for at in order {
        let (start, end) = spans[at];
        match ranges.last_mut() {
            Some((_, last_end, inside)) if end <= *last_end => inside.push(at),
            Some((_, last_end, _)) => {
                let start = start.max(*last_end);
                ranges.push((start, end, vec![at]));
            }
            None => ranges.push((start, end, vec![at])),
        }
    }
    ranges
}

/// How a step was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Located {
    /// On the step's own thread.
    OnThread(usize),
    /// On another thread, while exactly one step of the process was under way.
    ByTime(usize),
}

/// Looks up steps by thread and time.
pub(super) struct Locator<'s> {
    trace: &'s Trace,
    spans: &'s Spans,
    /// Threads with steps, by process.
    by_process: HashMap<RowId, Vec<TrackId>>,
}

impl<'s> Locator<'s> {
    pub(super) fn new(trace: &'s Trace, spans: &'s Spans) -> Self {
        let mut by_process: HashMap<RowId, Vec<TrackId>> = HashMap::new();
        for track in trace.tracks().ids().filter(|&track| !spans.of(track).is_empty()) {
            by_process.entry(trace.tracks().get(track).pid).or_default().push(track);
        }
        Locator { trace, spans, by_process }
    }

    /// The step of a call on this thread at this time.
    pub(super) fn locate(&self, track: TrackId, time: i64) -> Option<Located> {
        if let Some(span) = self.spans.find(track, time) {
            return Some(Located::OnThread(span.step));
        }
        // A thread with steps of its own made the call outside of them.
        if !self.spans.of(track).is_empty() {
            return None;
        }
        let engines = self.by_process.get(&self.trace.tracks().get(track).pid)?;
        let mut active = engines.iter().filter_map(|&engine| self.spans.find(engine, time));
        let only = active.next()?;
        active.next().is_none().then_some(Located::ByTime(only.step))
    }
}

/// Ranges of steps on the device, as the profiler copies them from the host's annotations around what these launched.
pub(super) struct DeviceRanges {
    by_track: HashMap<TrackId, Vec<(i64, i64, usize)>>,
}

impl DeviceRanges {
    /// Pairs ranges with the host's steps by name: of equally many in order, else each with the last that began before
    /// it. A range without partner gets a step of its own from `add`.
    pub(super) fn new(
        trace: &Trace,
        ranges: Vec<(TrackId, AnnotatedStep)>,
        host: &[(EventId, usize)],
        mut add: impl FnMut(&AnnotatedStep) -> usize,
    ) -> Self {
        let events = trace.events();
        let mut host_by_name: HashMap<StringId, Vec<(i64, usize)>> = HashMap::new();
        for &(annotation, step) in host {
            host_by_name.entry(events.name(annotation)).or_default().push((events.start(annotation), step));
        }
        for steps in host_by_name.values_mut() {
            steps.sort_unstable();
        }
        let mut total: HashMap<(TrackId, StringId), usize> = HashMap::new();
        for (track, range) in &ranges {
            *total.entry((*track, name(trace, range))).or_default() += 1;
        }
        let mut seen: HashMap<(TrackId, StringId), usize> = HashMap::new();
        let mut by_track: HashMap<TrackId, Vec<(i64, i64, usize)>> = HashMap::new();
        for (track, range) in ranges {
            let name = name(trace, &range);
            let place = seen.entry((track, name)).or_default();
            let steps = host_by_name.get(&name).map(Vec::as_slice).unwrap_or_default();
            let partner = if total.get(&(track, name)) == Some(&steps.len()) {
                steps.get(*place)
            } else {
                steps[..steps.partition_point(|&(start, _)| start <= range.start)].last()
            };
            *place += 1;
            let step = partner.map_or_else(|| add(&range), |&(_, step)| step);
            by_track.entry(track).or_default().push((range.start, range.end, step));
        }
        DeviceRanges { by_track }
    }

    pub(super) fn find(&self, track: TrackId, time: i64) -> Option<usize> {
        let ranges = self.by_track.get(&track)?;
        let after = ranges.partition_point(|&(start, ..)| start <= time);
        ranges[..after].last().filter(|&&(_, end, _)| time < end).map(|&(.., step)| step)
    }
}

fn name(trace: &Trace, range: &AnnotatedStep) -> StringId {
    range.annotations.first().map_or(StringId::EMPTY, |&annotation| trace.events().name(annotation))
}

#[cfg(test)]
mod spans_tests {
    use super::*;
    use trace_ingest::TraceBuilder;

    #[test]
    fn the_outermost_of_nested_spans_are_the_ranges() {
        let found = outermost(&[(10, 20), (0, 50), (12, 15), (60, 70), (65, 80)]);
        assert_eq!(found, [(0, 50, vec![1, 0, 2]), (60, 70, vec![3]), (70, 80, vec![4])]);
    }

    #[test]
    fn ranges_do_not_overlap_and_widen_into_free_time_only() {
        let track = TraceBuilder::new().track(1, 1);
        let mut spans = Spans::new(1);
        assert!(spans.insert(track, Span { start: 10, end: 20, step: 0 }));
        assert!(spans.insert(track, Span { start: 30, end: 40, step: 1 }));
        assert!(!spans.insert(track, Span { start: 15, end: 25, step: 2 }));
        assert_eq!(spans.widen(track, 0, 0, 100), Some(Span { start: 0, end: 30, step: 0 }));
        assert_eq!(spans.find(track, 29).map(|span| span.step), Some(0));
        assert_eq!(spans.find(track, 40), None);
    }
}
