//! Stretches of host threads, and whose stretches a call belongs to.

use hashbrown::HashMap;
use trace_ingest::{RowId, Trace, TrackId};

/// A stretch of a host thread, such as an iteration or a step of an engine. It ends before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First moment, in the trace's unit.
    pub start: i64,
    /// First moment after it.
    pub end: i64,
    /// Which one it is among all, for those who made it.
    pub index: usize,
}

/// Stretches of all threads, each thread's by start. Those of one thread do not overlap.
#[derive(Clone, Debug)]
pub struct ThreadSpans {
    by_track: Vec<Vec<Span>>,
}

impl ThreadSpans {
    /// None on any of the threads of a trace.
    #[must_use]
    pub fn new(trace: &Trace) -> Self {
        ThreadSpans { by_track: vec![Vec::new(); trace.tracks().len()] }
    }

    /// The stretches of a thread.
    #[must_use]
    pub fn of(&self, track: TrackId) -> &[Span] {
        &self.by_track[track.index()]
    }

    /// Adds a stretch that begins no earlier than those of the thread so far; the one before it ends there at the latest.
    pub fn push(&mut self, track: TrackId, span: Span) {
        let spans = &mut self.by_track[track.index()];
        if let Some(before) = spans.last_mut() {
            before.end = before.end.min(span.start);
        }
        spans.push(span);
    }

    /// Adds a stretch unless it overlaps another of the thread; whether it was added.
    pub fn insert(&mut self, track: TrackId, span: Span) -> bool {
        let spans = &mut self.by_track[track.index()];
        let at = spans.partition_point(|other| other.start < span.start);
        let is_free = at.checked_sub(1).is_none_or(|before| spans[before].end <= span.start)
            && spans.get(at).is_none_or(|after| span.end <= after.start);
        if is_free {
            spans.insert(at, span);
        }
        is_free
    }

    /// The stretch of a thread that holds a moment.
    #[must_use]
    pub fn find(&self, track: TrackId, time: i64) -> Option<&Span> {
        self.last_before(track, time).map(|at| &self.of(track)[at]).filter(|span| time < span.end)
    }

    /// The place in a thread's list of the last stretch that begins no later than a moment.
    #[must_use]
    pub fn last_before(&self, track: TrackId, time: i64) -> Option<usize> {
        self.of(track).partition_point(|span| span.start <= time).checked_sub(1)
    }

    /// Widens the stretch at a place of a thread's list, into free time only; what it is then.
    pub fn widen(&mut self, track: TrackId, at: usize, start: i64, end: i64) -> Option<Span> {
        let spans = &mut self.by_track[track.index()];
        let before = at.checked_sub(1).and_then(|before| spans.get(before)).map_or(i64::MIN, |span| span.end);
        let after = spans.get(at + 1).map_or(i64::MAX, |span| span.start);
        let span = spans.get_mut(at)?;
        span.start = span.start.min(start.max(before));
        span.end = span.end.max(end.min(after));
        Some(*span)
    }

    /// The threads that have stretches, by process.
    #[must_use]
    pub fn owners(&self, trace: &Trace) -> Owners {
        let mut by_process: HashMap<RowId, Vec<TrackId>> = HashMap::new();
        let all: Vec<TrackId> = trace.tracks().ids().filter(|&track| !self.of(track).is_empty()).collect();
        for &track in &all {
            by_process.entry(trace.tracks().get(track).pid).or_default().push(track);
        }
        Owners { by_process, all }
    }
}

/// Threads that have stretches.
#[derive(Clone, Debug)]
pub struct Owners {
    by_process: HashMap<RowId, Vec<TrackId>>,
    all: Vec<TrackId>,
}

impl Owners {
    /// The threads for whose stretches a thread works: itself where it has some, else those of its process. Empty where
    /// the process has none.
    #[must_use]
    pub fn of(&self, trace: &Trace, track: TrackId) -> &[TrackId] {
        let process_owners =
            self.by_process.get(&trace.tracks().get(track).pid).map_or(&[][..], Vec::as_slice);
        match process_owners.iter().position(|&owner| owner == track) {
            Some(own) => &process_owners[own..=own],
            None => process_owners,
        }
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[TrackId] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use trace_ingest::TraceBuilder;

    use super::*;

    #[test]
    fn stretches_do_not_overlap_and_widen_into_free_time_only() {
        let mut builder = TraceBuilder::new();
        let track = builder.track(1, 1);
        let mut spans = ThreadSpans::new(&builder.finish());
        assert!(spans.insert(track, Span { start: 10, end: 20, index: 0 }));
        assert!(spans.insert(track, Span { start: 30, end: 40, index: 1 }));
        assert!(!spans.insert(track, Span { start: 15, end: 25, index: 2 }));
        assert_eq!(spans.widen(track, 0, 0, 100), Some(Span { start: 0, end: 30, index: 0 }));
        assert_eq!(spans.find(track, 29).map(|span| span.index), Some(0));
        assert_eq!(spans.find(track, 40), None);
        spans.push(track, Span { start: 35, end: 50, index: 2 });
        assert_eq!([34, 35].map(|time| spans.find(track, time).map(|span| span.index)), [Some(1), Some(2)]);
    }

    #[test]
    fn a_thread_works_for_itself_or_for_those_of_its_process() {
        let mut builder = TraceBuilder::new();
        let [main, other, helper, elsewhere] =
            [(1, 1), (1, 2), (1, 3), (2, 1)].map(|(pid, tid)| builder.track(pid, tid));
        let trace = builder.finish();
        let mut spans = ThreadSpans::new(&trace);
        for track in [main, other] {
            spans.insert(track, Span { start: 0, end: 1, index: 0 });
        }
        let owners = spans.owners(&trace);
        assert_eq!(owners.of(&trace, other), [other]);
        assert_eq!(owners.of(&trace, helper), [main, other]);
        assert_eq!((owners.of(&trace, elsewhere).len(), owners.all()), (0, &[main, other][..]));
    }
}
