//! What runs on each host thread at any time: the innermost operator or call.

use std::cmp::Reverse;
use std::ops::Range;

use trace_ingest::EventId;
use trace2tree::TraceTree;

use crate::lists::Lists;

/// A stretch of a thread in which one event is the innermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) event: EventId,
}

/// The stretches of all threads. Those of a thread ascend and do not overlap.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadSegments {
    segments: Vec<Segment>,
    /// By thread, which is the position of its track.
    thread_ranges: Vec<Range<u32>>,
    /// Threads that have any.
    pub(crate) threads: Vec<u32>,
    /// Ends, the latest of all that start so early, and its thread; by start.
    latest: Vec<(i64, i64, u32)>,
}

impl ThreadSegments {
    /// Those of the operators and calls of a tree that are chosen. Python frames are not looked at.
    pub(crate) fn new(tree: &TraceTree, is_chosen: impl Fn(EventId) -> bool) -> Self {
        let trace = tree.trace();
        let events = trace.events();
        let hosts: Vec<(u32, u32)> = tree
            .host_events()
            .iter()
            .filter(|&&event| events.category(event) != trace_ingest::Category::PYTHON_FUNCTION)
            .filter(|&&event| events.duration(event) > 0 && is_chosen(event))
            .map(|&event| (events.track(event).index() as u32, event.0))
            .collect();
        let by_thread = Lists::group(trace.tracks().len(), &hosts);
        let mut found = ThreadSegments { thread_ranges: vec![0..0; trace.tracks().len()], ..Self::default() };
        let mut own: Vec<Segment> = Vec::new();
        for thread in 0..trace.tracks().len() {
            own.clear();
            own.extend(by_thread.get(thread).iter().map(|&row| EventId(row)).map(|event| Segment {
                start: events.start(event),
                end: events.end(event),
                event,
            }));
            if own.is_empty() {
                continue;
            }
            // The tree lists the events of one thread in order, or nearly, so the stable sort finds long runs.
            own.sort_by_key(|event| (event.start, Reverse(event.end), event.event));
            let first = found.segments.len() as u32;
            found.cut(own.iter().copied());
            found.thread_ranges[thread] = first..found.segments.len() as u32;
            found.threads.push(thread as u32);
        }
        found.index();
        found
    }

    /// Appends the stretches of the events of a thread, callers before callees.
    fn cut(&mut self, events: impl Iterator<Item = Segment>) {
        let mut open: Vec<Segment> = Vec::new();
        let mut cursor = i64::MIN;
        for event in events {
            self.close(&mut open, &mut cursor, event.start);
            if let Some(top) = open.last() {
                self.push(Segment { start: cursor, end: event.start, event: top.event });
            }
            cursor = event.start;
            open.push(event);
        }
        self.close(&mut open, &mut cursor, i64::MAX);
    }

    /// Ends what is over at a time.
    fn close(&mut self, open: &mut Vec<Segment>, cursor: &mut i64, time: i64) {
        while let Some(&top) = open.last()
            && top.end <= time
        {
            self.push(Segment { start: *cursor, end: top.end, event: top.event });
            *cursor = (*cursor).max(top.end);
            open.pop();
        }
    }

    fn push(&mut self, segment: Segment) {
        if segment.start < segment.end {
            self.segments.push(segment);
        }
    }

    fn index(&mut self) {
        let mut all: Vec<(i64, i64, u32)> = Vec::with_capacity(self.segments.len());
        for &thread in &self.threads {
            all.extend(self.of(thread).iter().map(|segment| (segment.start, segment.end, thread)));
        }
        // A run per thread, which the stable sort merges.
        all.sort();
        let mut best: Option<(i64, u32)> = None;
        for (_, end, thread) in &mut all {
            match best {
                Some((latest, of)) if latest >= *end => (*end, *thread) = (latest, of),
                _ => best = Some((*end, *thread)),
            }
        }
        self.latest = all;
    }

    /// The stretches of a thread.
    pub(crate) fn of(&self, thread: u32) -> &[Segment] {
        let range = self.thread_ranges.get(thread as usize).cloned().unwrap_or(0..0);
        &self.segments[range.start as usize..range.end as usize]
    }

    /// How many stretches of a thread start before a time; the last of them is the one just before it.
    pub(crate) fn before(&self, thread: u32, time: i64) -> usize {
        self.of(thread).partition_point(|segment| segment.start < time)
    }

    /// Of all stretches that start before a time: the thread of the one that ends last, and that end.
    pub(crate) fn last_busy(&self, time: i64) -> Option<(u32, i64)> {
        let before = self.latest.partition_point(|&(start, ..)| start < time);
        self.latest.get(before.checked_sub(1)?).map(|&(_, end, thread)| (thread, end))
    }

    /// First start and last end.
    pub(crate) fn extent(&self) -> Option<(i64, i64)> {
        let start = self.latest.first()?.0;
        Some((start, self.latest.last()?.1))
    }
}
