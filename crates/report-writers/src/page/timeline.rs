//! Device events in few bytes: each where there is room, else how busy each moment was, and the longest events.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

/// Most events of devices that a page has one by one.
pub(super) const MOST_EXACT: usize = 300_000;
/// Most idle times that a page has one by one.
const MOST_EXACT_IDLE: usize = 50_000;
/// Moments of the timeline where events are summed up.
pub(super) const BINS: i64 = 4_096;
/// Events that stand one by one beside the sums.
pub(super) const LONGEST: usize = 2_000;

/// What devices did over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Kinds of work.
    pub categories: Vec<String>,
    /// What events are called, and what they belong to: many events are of one kind.
    pub kinds: Vec<EventKind>,
    /// Streams or queues, from the top.
    pub lanes: Vec<Lane>,
    /// Steps and other spans, above the lanes.
    pub marks: Vec<TimelineMark>,
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

/// A stream or queue.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaneKind {
    /// What a stream or queue ran.
    #[default]
    Work,
    /// When a device ran nothing; the kinds of its events are the causes.
    Idle,
}

impl LaneKind {
    /// Most events of lanes of this kind that a page has one by one.
    const fn most_exact(self) -> usize {
        match self {
            LaneKind::Work => MOST_EXACT,
            LaneKind::Idle => MOST_EXACT_IDLE,
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
        Exact { shortest: all.get(LONGEST - 1).copied(), room: LONGEST }
    }

    /// Which events stand one by one, by lane, each lane's by start.
    fn exact(&self) -> Vec<Vec<LaneEvent>> {
        let (mut work, mut idle) = (self.longest(LaneKind::Work), self.longest(LaneKind::Idle));
        let of_lane = |lane: &Lane| {
            let exact = match lane.kind {
                LaneKind::Work => &mut work,
                LaneKind::Idle => &mut idle,
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
            let is_idle = lane.kind == LaneKind::Idle;
            serde_json::json!({"name": lane.name, "idle": is_idle, "exact": self.is_exact(lane.kind)})
        };
        let lanes: Vec<_> = self.lanes.iter().map(lane).collect();
        let header = serde_json::json!({
            "categories": self.categories,
            "kinds": kinds,
            "lanes": lanes,
            "marks": self.marks,
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

    /// The events: for each lane their number, then all distances of starts, all lengths and all kinds. Then, for each
    /// lane that is not exact, the number of categories, for each of these its place, the number of bins that it
    /// has time in, and for each of these the distance to the bin before it and the time in nanoseconds. Every number
    /// is unsigned, seven bits a byte, the lowest first; the highest bit says that more follow.
    pub(super) fn write_events(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut places = vec![0; self.kinds.len()];
        for (place, &kind) in self.used_kinds().iter().enumerate() {
            places[kind] = place as u64;
        }
        for events in self.exact() {
            write_number(out, events.len() as u64)?;
            let mut before = 0;
            for event in &events {
                write_number(out, (event.start_ns - before).unsigned_abs())?;
                before = event.start_ns;
            }
            events.iter().try_for_each(|event| write_number(out, event.duration_ns.unsigned_abs()))?;
            events.iter().try_for_each(|event| write_number(out, places[event.kind]))?;
        }
        let width = (self.end() + BINS - 1) / BINS;
        for lane in self.lanes.iter().filter(|lane| !self.is_exact(lane.kind)) {
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
