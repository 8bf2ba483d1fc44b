//! The path by the clock on the wall: a walk backwards from the last end, which gives each moment to what the program
//! waited for at that moment.

use trace_ingest::EventId;

use crate::class::PathClass;
use crate::recorded::{LONG_GAP, MOST_TRIED, Recorded, WaitsFor, some};

/// A stretch of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSegment {
    /// When it begins, in the trace's unit from its origin.
    pub start: i64,
    /// When it ends.
    pub end: i64,
    /// What it is.
    pub class: PathClass,
    /// What runs in it; of a gap what comes after it. `None` where nothing of the thread was recorded after it.
    pub event: Option<EventId>,
}

impl PathSegment {
    /// How long it is, in the trace's unit.
    #[must_use]
    pub fn duration(&self) -> i64 {
        self.end - self.start
    }
}

/// Where the walk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At the end of a work.
    Work(u32),
    Thread(u32),
}

/// A stream may start work so long before the work before it ends, in nanoseconds: clocks are read apart.
const CLOCK_JITTER: i64 = 1_000;

impl Recorded<'_> {
    /// The path by the clock on the wall, in order of time. Its stretches follow each other without a gap from the start
    /// of the recording to its end, so that their lengths add up to it.
    #[must_use]
    pub fn wall_path(&self) -> Vec<PathSegment> {
        let mut walk = Walk::new(self);
        if let Some(place) = self.last_place() {
            walk.run(place);
        }
        walk.path.reverse();
        walk.path
    }

    /// What ends last.
    fn last_place(&self) -> Option<Place> {
        let work = (self.works.iter().zip(0..)).max_by_key(|(work, _)| (work.end, work.start));
        let host = self.threads.last_busy(i64::MAX);
        match (work, host) {
            (Some((work, _)), Some((thread, end))) if end > work.end => Some(Place::Thread(thread)),
            (Some((_, position)), _) => Some(Place::Work(position)),
            (None, Some((thread, _))) => Some(Place::Thread(thread)),
            (None, None) => None,
        }
    }
}

struct Walk<'r, 't> {
    recorded: &'r Recorded<'t>,
    long_gap: i64,
    jitter: i64,
    /// Works of each stream by end.
    ends_of_stream: Vec<Vec<(i64, u32)>>,
    /// Works of each device by end; the device of each stream.
    ends_of_device: Vec<Vec<(i64, u32)>>,
    device_of_stream: Vec<u32>,
    /// Works that the walk came through: those of no length would hold it in a circle.
    seen: Vec<bool>,
    time: i64,
    path: Vec<PathSegment>,
}

impl<'r, 't> Walk<'r, 't> {
    fn new(recorded: &'r Recorded<'t>) -> Self {
        let mut devices: Vec<i64> = recorded.streams.iter().map(|stream| stream.device).collect();
        devices.sort_unstable();
        devices.dedup();
        let device_of_stream: Vec<u32> = recorded
            .streams
            .iter()
            .map(|stream| devices.partition_point(|&device| device < stream.device) as u32)
            .collect();
        let mut ends_of_stream = vec![Vec::new(); recorded.streams.len()];
        let mut ends_of_device = vec![Vec::new(); devices.len()];
        for (work, position) in recorded.works.iter().zip(0..) {
            ends_of_stream[work.stream as usize].push((work.end, position));
            ends_of_device[device_of_stream[work.stream as usize] as usize].push((work.end, position));
        }
        ends_of_stream.iter_mut().chain(&mut ends_of_device).for_each(|ends| ends.sort_unstable());
        Walk {
            recorded,
            long_gap: recorded.nanoseconds(LONG_GAP),
            jitter: recorded.nanoseconds(CLOCK_JITTER),
            ends_of_stream,
            ends_of_device,
            device_of_stream,
            seen: vec![false; recorded.works.len()],
            time: recorded.time.end,
            path: Vec::new(),
        }
    }

    /// Gives the time back to a moment to a class.
    fn give(&mut self, start: i64, class: PathClass, event: Option<EventId>) {
        let start = start.max(self.recorded.time.start);
        if start < self.time {
            self.path.push(PathSegment { start, end: self.time, class, event });
            self.time = start;
        }
    }

    fn run(&mut self, first: Place) {
        let mut place = Some(first);
        // What lies behind the last end belongs to the window alone.
        let end = match first {
            Place::Work(work) => self.recorded.works[work as usize].end,
            Place::Thread(_) => self.recorded.threads.last_busy(i64::MAX).map_or(self.time, |(_, end)| end),
        };
        self.give(end, PathClass::HostUntraced, None);
        while let Some(at) = place
            && self.time > self.recorded.time.start
        {
            place = match at {
                Place::Work(work) => self.step_from_work(work),
                Place::Thread(thread) => self.step_on_thread(thread),
            };
        }
        self.give(self.recorded.time.start, PathClass::Unknown, None);
    }

    /// Goes through a work and the gap before it.
    fn step_from_work(&mut self, position: u32) -> Option<Place> {
        self.seen[position as usize] = true;
        let work = self.recorded.works[position as usize];
        self.give(work.start, work.class, Some(work.event));
        let start = self.time;

        let in_graph = self.recorded.graph_predecessors.get(position as usize);
        let (mut class, mut found) = (PathClass::GraphDependency, self.latest(in_graph, start));
        if found.is_none() {
            class = PathClass::KernelGap;
            found = self.before_on_stream(position, start).map(|(end, before)| {
                let is_same_replay = self.recorded.works[before as usize].launch == work.launch;
                let all = if is_same_replay { &[][..] } else { self.recorded.whole_of(&before) };
                self.latest(all, start).unwrap_or((end, before))
            });
            let awaited = self.recorded.awaited.get(position as usize).iter();
            let awaited = self.latest(awaited.flat_map(|other| self.recorded.whole_of(other)), start);
            if awaited.map(|(end, _)| end) > found.map(|(end, _)| end) {
                found = awaited;
            }
        }
        let mut found = found.map(|(end, work)| (end, Place::Work(work)));
        if let Some(launch) = some(work.launch) {
            let call = self.recorded.calls[launch];
            // A kernel may start before the call that launches it returns.
            let launched = call.end.min(start);
            if found.is_none_or(|(end, _)| launched > end) {
                (class, found) = (PathClass::LaunchDelay, Some((launched, Place::Thread(call.thread))));
            }
        }
        let after = found.map_or(self.recorded.time.start, |(end, _)| end);
        if start - after > self.long_gap
            && class != PathClass::GraphDependency
            && let Some((end, other)) = self.last_of_other_stream(work.stream, start)
            && end > after
        {
            (class, found) = (PathClass::KernelGap, Some((end, Place::Work(other))));
        }
        let (end, place) = found?;
        self.give(end, class, Some(work.event));
        Some(place)
    }

    /// Of some works the one that ends last, and when; no later than `time`.
    fn latest<'a>(&self, works: impl IntoIterator<Item = &'a u32>, time: i64) -> Option<(i64, u32)> {
        let unseen = works.into_iter().filter(|&&work| !self.seen[work as usize]);
        unseen.map(|&work| (self.recorded.works[work as usize].end.min(time), work)).max()
    }

    /// The work before another on its stream, and its end.
    fn before_on_stream(&self, position: u32, start: i64) -> Option<(i64, u32)> {
        let stream = self.recorded.works[position as usize].stream as usize;
        let stream_works = self.recorded.on_stream.get(stream);
        // That before it in order of start, where their clocks cross only a little.
        let place = stream_works.partition_point(|&other| other < position);
        if let Some(&before) = place.checked_sub(1).and_then(|place| stream_works.get(place)) {
            let end = self.recorded.works[before as usize].end;
            if !self.seen[before as usize] && end - self.jitter <= start {
                return Some((end.min(start), before));
            }
        }
        self.last_ended(&self.ends_of_stream[stream], start, |_| true)
    }

    /// The work of another stream of the device that ends last before a time.
    fn last_of_other_stream(&self, stream: u32, time: i64) -> Option<(i64, u32)> {
        let device = self.device_of_stream[stream as usize] as usize;
        self.last_ended(&self.ends_of_device[device], time, |work| {
            self.recorded.works[work as usize].stream != stream
        })
    }

    /// Of works by their ends, the last that ends no later than a time and was not gone through.
    fn last_ended(
        &self,
        ends: &[(i64, u32)],
        time: i64,
        is_meant: impl Fn(u32) -> bool,
    ) -> Option<(i64, u32)> {
        let before = ends.partition_point(|&(end, _)| end <= time);
        ends[..before]
            .iter()
            .rev()
            .take(MOST_TRIED)
            .copied()
            .find(|&(_, work)| !self.seen[work as usize] && is_meant(work))
    }

    /// Goes through what a thread does just before the time, or through the gap there.
    fn step_on_thread(&mut self, thread: u32) -> Option<Place> {
        let recorded = self.recorded;
        let here = Some(Place::Thread(thread));
        let segments = recorded.threads.of(thread);
        let count = recorded.threads.before(thread, self.time);
        let last = count.checked_sub(1).map(|last| segments[last]);
        if let Some(segment) = last.filter(|segment| segment.end >= self.time) {
            if let Some((end, work)) = self.awaited_by_call(segment.event) {
                self.give(end, PathClass::SyncReturn, Some(segment.event));
                return Some(Place::Work(work));
            }
            let is_call = recorded.trace().events().category(segment.event).is_launch_api();
            let class = if is_call { PathClass::HostRuntime } else { PathClass::HostOperator };
            self.give(segment.start, class, Some(segment.event));
            return here;
        }
        let next = segments.get(count).map(|segment| segment.event);
        let before = last.map_or(recorded.time.start, |segment| segment.end);
        if self.time - before > self.long_gap
            && let Some((other, end)) = recorded.threads.last_busy(self.time)
            && end > before
        {
            self.give(end.min(self.time), PathClass::HostUntraced, next);
            return Some(Place::Thread(other));
        }
        self.give(before, PathClass::HostUntraced, next);
        here
    }

    /// The work that a blocking call waited for, and its end: it ends inside the call.
    fn awaited_by_call(&self, event: EventId) -> Option<(i64, u32)> {
        let recorded = self.recorded;
        let call = recorded.call(event)?;
        let inside = |found: &(i64, u32)| found.0 > call.start;
        let last_of_whole = |work: u32| {
            let whole = recorded.whole_of(&work).iter();
            self.latest(whole.filter(|&&other| recorded.works[other as usize].end <= self.time), self.time)
        };
        match call.waits_for {
            WaitsFor::Work(work) => last_of_whole(work).filter(inside),
            WaitsFor::Stream(stream) => {
                let (_, last) =
                    self.last_ended(&self.ends_of_stream[stream as usize], self.time, |_| true)?;
                last_of_whole(last).filter(inside)
            }
            WaitsFor::Nothing => None,
            WaitsFor::Device(_) | WaitsFor::Unrecorded => {
                call.blocking?;
                let device_ends = self.ends_of_device.iter();
                device_ends.filter_map(|ends| self.last_ended(ends, self.time, |_| true)).max().filter(inside)
            }
        }
    }
}
