//! Device and host events in few bytes: each where there is room, else the longest, and how busy the devices were at each
//! moment.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

/// Most events of devices that a page has one by one.
pub(super) const MOST_EXACT: usize = 300_000;
/// Most idle times that a page has one by one.
const MOST_EXACT_IDLE: usize = 50_000;
/// Most host events that a page has.
const MOST_EXACT_HOST: usize = 200_000;
/// Moments of the timeline where events are summed up.
pub(super) const BINS: i64 = 4_096;
/// Events that stand one by one beside the sums.
pub(super) const LONGEST: usize = 2_000;

/// What devices and the threads that launched their work did over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Kinds of work.
    pub categories: Vec<String>,
    /// What events are called, and what they belong to: many events are of one kind.
    pub kinds: Vec<EventKind>,
    /// Streams, queues and threads, from the top.
    pub lanes: Vec<Lane>,
    /// Steps and other spans, above the lanes.
    pub marks: Vec<TimelineMark>,
    /// Values over time, below the streams.
    pub counters: Vec<Counter>,
}

/// What several events have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct EventKind {
    /// Name.
    pub name: String,
    /// Place of the kind of work among the categories.
    pub category: usize,
    /// What launched it, the outermost first, and of an idle time the event that ended it; may be empty.
    pub place: String,
}

/// A stream, queue or thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lane {
    /// Name.
    pub name: String,
    /// What its events are.
    pub kind: LaneKind,
    /// Its events, in any order.
    pub events: Vec<LaneEvent>,
}

/// What a lane shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LaneKind {
    /// What a stream or queue ran.
    #[default]
    Work,
    /// When a device ran nothing; the kinds of its events are the causes.
    Idle,
    /// What a thread of the host did: events inside each other.
    Host,
}

impl Lane {
    /// Whether the launch of an event is recorded.
    fn is_linked(&self) -> bool {
        self.events.iter().any(|event| event.launch.is_some())
    }
}

impl LaneKind {
    /// Most events of lanes of this kind that a page has one by one.
    const fn most_exact(self) -> usize {
        match self {
            LaneKind::Work => MOST_EXACT,
            LaneKind::Idle => MOST_EXACT_IDLE,
            LaneKind::Host => MOST_EXACT_HOST,
        }
    }

    /// How many of the longest a page has, where there are more: nothing sums up the others of a thread.
    const fn longest(self) -> usize {
        match self {
            LaneKind::Work | LaneKind::Idle => LONGEST,
            LaneKind::Host => MOST_EXACT_HOST,
        }
    }
}

/// Which events of the lanes of one kind stand one by one.
struct Exact {
    /// The least duration of the longest; `None` where all events do.
    shortest: Option<i64>,
    /// How many there is room for: events as long as the shortest go as far as that.
    room: usize,
}

impl Exact {
    fn keep(&mut self, event: &LaneEvent) -> bool {
        match self.shortest {
            None => true,
            Some(shortest) if event.duration_ns >= shortest && self.room > 0 => {
                self.room -= 1;
                true
            }
            Some(_) => false,
        }
    }
}

/// An event. Times are whole nanoseconds from the start of the timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneEvent {
    /// Its start.
    pub start_ns: i64,
    /// Its length.
    pub duration_ns: i64,
    /// Place among the kinds.
    pub kind: usize,
    /// What launched it, where that is recorded.
    pub launch: Option<Launch>,
}

/// The launch of a device event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Place of its thread among the lanes of the host.
    pub host: usize,
    /// Its start in nanoseconds.
    pub start_ns: i64,
}

/// A value over time: each stands until the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counter {
    /// What it is, with its unit.
    pub name: String,
    /// When it changes, in nanoseconds, in order.
    pub times_ns: Vec<i64>,
    /// What it changes to.
    pub values: Vec<f64>,
}

impl Counter {
    /// A counter of these values by time; where several share a moment of the picture, the largest is kept.
    #[must_use]
    pub fn new(name: impl Into<String>, mut values: Vec<(i64, f64)>, end_ns: i64) -> Self {
        values.sort_by_key(|&(time, _)| time);
        let width = (end_ns / BINS).max(1);
        let mut counter = Counter { name: name.into(), ..Counter::default() };
        for of_bin in values.chunk_by(|a, b| a.0 / width == b.0 / width) {
            let Some(&(first, _)) = of_bin.first() else { continue };
            let &(last, at_end) = of_bin.last().unwrap_or(&(first, 0.0));
            let largest = of_bin.iter().map(|&(_, value)| value).fold(f64::NEG_INFINITY, f64::max);
            counter.push(first, largest);
            if at_end < largest {
                counter.push(last.max(first + 1), at_end);
            }
        }
        counter
    }

    fn push(&mut self, time: i64, value: f64) {
        if self.values.last() != Some(&value) {
            self.times_ns.push(time);
            self.values.push(value);
        }
    }
}

/// A span of time with a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TimelineMark {
    /// Name.
    pub name: String,
    /// Its start in nanoseconds.
    pub start_ns: i64,
    /// Its end in nanoseconds.
    pub end_ns: i64,
}

impl Timeline {
    fn lanes_of(&self, kind: LaneKind) -> impl Iterator<Item = &Lane> {
        self.lanes.iter().filter(move |lane| lane.kind == kind)
    }

    fn event_count(&self, kind: LaneKind) -> usize {
        self.lanes_of(kind).map(|lane| lane.events.len()).sum()
    }

    /// Whether every event of lanes of this kind is in the page.
    fn is_exact(&self, kind: LaneKind) -> bool {
        self.event_count(kind) <= kind.most_exact()
    }

    fn end(&self) -> i64 {
        let events = self.lanes.iter().flat_map(|lane| &lane.events);
        events.map(|event| event.start_ns + event.duration_ns).max().unwrap_or(0).max(1)
    }

    fn longest(&self, kind: LaneKind) -> Exact {
        if self.is_exact(kind) {
            return Exact { shortest: None, room: 0 };
        }
        let mut all: Vec<i64> =
            self.lanes_of(kind).flat_map(|lane| &lane.events).map(|event| event.duration_ns).collect();
        all.sort_unstable_by_key(|&duration| Reverse(duration));
        let room = kind.longest();
        Exact { shortest: all.get(room - 1).copied(), room }
    }

    /// Which events stand one by one, by lane, each lane's by start.
    fn exact(&self) -> Vec<Vec<LaneEvent>> {
        let [mut work, mut idle, mut host] =
            [LaneKind::Work, LaneKind::Idle, LaneKind::Host].map(|kind| self.longest(kind));
        let of_lane = |lane: &Lane| {
            let exact = match lane.kind {
                LaneKind::Work => &mut work,
                LaneKind::Idle => &mut idle,
                LaneKind::Host => &mut host,
            };
            let mut events: Vec<LaneEvent> =
                lane.events.iter().filter(|event| exact.keep(event)).copied().collect();
            events.sort_by_key(|event| (event.start_ns, Reverse(event.duration_ns), event.kind));
            events
        };
        self.lanes.iter().map(of_lane).collect()
    }

    /// Everything but the events.
    pub(super) fn write_header(&self, out: &mut dyn Write) -> io::Result<()> {
        let used = self.used_kinds();
        let kinds: Vec<&EventKind> = used.iter().map(|&kind| &self.kinds[kind]).collect();
        let lane = |lane: &Lane| {
            let exact = self.is_exact(lane.kind);
            serde_json::json!({"name": lane.name, "kind": lane.kind, "exact": exact, "linked": lane.is_linked()})
        };
        let lanes: Vec<_> = self.lanes.iter().map(lane).collect();
        let header = serde_json::json!({
            "categories": self.categories,
            "kinds": kinds,
            "lanes": lanes,
            "marks": self.marks,
            "counters": self.counters,
            "end_ns": self.end(),
            "events": self.event_count(LaneKind::Work),
            "exact": self.is_exact(LaneKind::Work),
            "bins": BINS,
        });
        Ok(serde_json::to_writer(out, &header)?)
    }

    /// The kinds that events in the page have, in order.
    fn used_kinds(&self) -> Vec<usize> {
        let mut used = vec![false; self.kinds.len()];
        self.exact().iter().flatten().for_each(|event| used[event.kind] = true);
        (0..used.len()).filter(|&kind| used[kind]).collect()
    }

    /// The events: for each lane their number, then all distances of starts, all lengths and all kinds, and where launches
    /// are recorded, for all of them 0 or one more than the place of the launching thread, followed by how long before the
    /// event the launch was (twice that; for a launch after the event one less than twice the distance). Then, for each lane
    /// of a device that is not exact, the number of categories, for each of these its place, the number of bins that it
    /// has time in, and for each of these the distance to the bin before it and the time in nanoseconds. Every number
    /// is unsigned, seven bits a byte, the lowest first; the highest bit says that more follow.
    pub(super) fn write_events(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut places = vec![0; self.kinds.len()];
        for (place, &kind) in self.used_kinds().iter().enumerate() {
            places[kind] = place as u64;
        }
        for (lane, events) in self.lanes.iter().zip(self.exact()) {
            write_number(out, events.len() as u64)?;
            let mut before = 0;
            for event in &events {
                write_number(out, (event.start_ns - before).unsigned_abs())?;
                before = event.start_ns;
            }
            events.iter().try_for_each(|event| write_number(out, event.duration_ns.unsigned_abs()))?;
            events.iter().try_for_each(|event| write_number(out, places[event.kind]))?;
            if lane.is_linked() {
                events.iter().try_for_each(|event| write_launch(out, event))?;
            }
        }
        let width = (self.end() + BINS - 1) / BINS;
        let summed = |lane: &&Lane| lane.kind != LaneKind::Host && !self.is_exact(lane.kind);
        for lane in self.lanes.iter().filter(summed) {
            let bins = self.bins(lane, width);
            write_number(out, bins.len() as u64)?;
            for (category, times) in bins {
                write_number(out, category as u64)?;
                write_number(out, times.len() as u64)?;
                let mut before = 0;
                for (bin, time) in times {
                    write_number(out, (bin - before).unsigned_abs())?;
                    write_number(out, time.unsigned_abs())?;
                    before = bin;
                }
            }
        }
        Ok(())
    }

    /// The time of each category in each bin of a lane.
    fn bins(&self, lane: &Lane, width: i64) -> BTreeMap<usize, BTreeMap<i64, i64>> {
        let mut bins: BTreeMap<usize, BTreeMap<i64, i64>> = BTreeMap::new();
        for event in &lane.events {
            let of_category = bins.entry(self.kinds[event.kind].category).or_default();
            let end = event.start_ns + event.duration_ns;
            let mut from = event.start_ns;
            while from < end {
                let bin = from / width;
                let to = end.min((bin + 1) * width);
                *of_category.entry(bin).or_default() += to - from;
                from = to;
            }
        }
        bins
    }
}

fn write_launch(out: &mut dyn Write, event: &LaneEvent) -> io::Result<()> {
    let Some(launch) = event.launch else { return write_number(out, 0) };
    let distance = event.start_ns - launch.start_ns;
    write_number(out, launch.host as u64 + 1)?;
    write_number(out, 2 * distance.unsigned_abs() - u64::from(distance < 0))
}

fn write_number(out: &mut dyn Write, mut number: u64) -> io::Result<()> {
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            return out.write_all(&[low]);
        }
        out.write_all(&[low | 0x80])?;
    }
}
