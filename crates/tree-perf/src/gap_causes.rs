//! What the time of a device in which it did nothing was spent on.
//!
//! A gap ends with some work. Until that work's launch begins, its thread synchronizes, is in another call, or is elsewhere
//! in the program; then it launches; then the work waits in its queue. These parts add up to the gap.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Sum;
use std::ops::Add;

use gpu_timeline::{Activity, Interval, IntervalSet};
use trace_ingest::{Category, EventId, PerString, RowId, Trace, TrackId};
use trace2tree::{HostWait, TraceTree};

use crate::device::interval;

/// What a gap was spent on, in the trace's unit of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GapParts {
    /// The thread that launches what ends the gap waited in a call that synchronizes: for this device or another one.
    pub sync: i64,
    /// It was in another call of the runtime or driver.
    pub other_calls: i64,
    /// It was in no call: in the program, its framework, its data.
    pub host: i64,
    /// It was in the call that launches.
    pub launch: i64,
    /// Launched and not started: the queue, a dependency, a busy copy engine.
    pub queued: i64,
    /// The launch is not in the recording, or the recording does not tell whether the device worked.
    pub unknown: i64,
}

impl GapParts {
    /// The parts by name, in the order in which ties are decided.
    #[must_use]
    pub fn named(&self) -> [(&'static str, i64); 6] {
        [
            ("sync", self.sync),
            ("other calls", self.other_calls),
            ("launch", self.launch),
            ("host", self.host),
            ("queued", self.queued),
            ("unknown", self.unknown),
        ]
    }

    /// Their sum: the length of the gap.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.named().iter().map(|(_, time)| time).sum()
    }

    /// The largest part.
    #[must_use]
    pub fn cause(&self) -> &'static str {
        let mut largest = ("unknown", 0);
        for part in self.named() {
            if part.1 > largest.1 {
                largest = part;
            }
        }
        largest.0
    }
}

impl Add for GapParts {
    type Output = GapParts;

    fn add(self, other: GapParts) -> GapParts {
        GapParts {
            sync: self.sync + other.sync,
            other_calls: self.other_calls + other.other_calls,
            host: self.host + other.host,
            launch: self.launch + other.launch,
            queued: self.queued + other.queued,
            unknown: self.unknown + other.unknown,
        }
    }
}

impl Sum for GapParts {
    fn sum<I: Iterator<Item = GapParts>>(parts: I) -> GapParts {
        parts.fold(GapParts::default(), Add::add)
    }
}

/// A stretch in which a device had nothing to do.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Gap {
    /// The device.
    pub device: i64,
    /// When.
    pub time: Interval,
    /// What it was spent on.
    pub parts: GapParts,
    /// The work that ended it; `None` where none came.
    pub next: Option<EventId>,
    /// The call that launched that work, if it is in the recording.
    pub call: Option<EventId>,
    /// Of the gap: loading of modules and functions, compilation by the driver, on the thread of that call.
    pub loading: i64,
    /// Of the gap: work of the profiler itself, in the process of that call.
    pub profiler: i64,
}

/// Where a stretch of time of a device went. The parts add up to its length.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TimeBudget {
    /// Name of the iterations; `None` for the whole window.
    pub range: Option<String>,
    /// Number of the iteration among them, from 0.
    pub index: Option<usize>,
    /// The device.
    pub device: i64,
    /// The stretch.
    pub time: Interval,
    /// Whether the host began and ended it: the device may have worked for it earlier or later. Else device work bounds it.
    pub is_host_time: bool,
    /// Whether it is as long as the step is in the sheet `iterations`.
    pub is_step: bool,
    /// Work that computes ran.
    pub computation: i64,
    /// Communication ran, and no computation.
    pub exposed_communication: i64,
    /// Copies ran, and nothing else.
    pub exposed_copies: i64,
    /// Nothing ran.
    pub idle: GapParts,
}

/// What a device worked on.
pub(crate) struct DeviceWork {
    /// Starts of its events, the longest first where several start at once. Those without length are left out: they end no gap.
    pub(crate) starts: Vec<(i64, EventId)>,
    computation: IntervalSet,
    /// Without computation beside it.
    communication: IntervalSet,
    /// Without anything beside them.
    copies: IntervalSet,
    pub(crate) busy: IntervalSet,
}

impl DeviceWork {
    fn new(trace: &Trace, mut work: Vec<(EventId, Activity)>) -> Self {
        let events = trace.events();
        work.sort_by_key(|&(event, _)| (events.start(event), -events.duration(event), event));
        let of = |activity: Activity| {
            let events = work.iter().filter(|&&(_, other)| other == activity);
            events.map(|&(event, _)| interval(trace, event)).collect::<IntervalSet>()
        };
        let computation = of(Activity::Computation);
        let communication = of(Activity::Communication).subtract(&computation);
        let working = computation.union(&communication);
        let copies = of(Activity::Memcpy).subtract(&working);
        DeviceWork {
            starts: work
                .iter()
                .filter(|&&(event, _)| events.duration(event) > 0)
                .map(|&(event, _)| (events.start(event), event))
                .collect(),
            busy: working.union(&copies),
            computation,
            communication,
            copies,
        }
    }

    /// The stretches without work in a window.
    pub(crate) fn idle(&self, window: Interval) -> Vec<Interval> {
        let mut idle = Vec::new();
        let mut from = window.start;
        for busy in self.busy.clipped(window) {
            idle.extend((busy.start > from).then(|| Interval::between(from, busy.start)));
            from = busy.end;
        }
        idle.extend((from < window.end).then(|| Interval::between(from, window.end)));
        idle
    }
}

/// What the gaps of all devices are explained with.
pub(crate) struct GapCauses {
    pub(crate) devices: BTreeMap<i64, DeviceWork>,
    /// By thread: calls that synchronize, and all calls.
    calls: BTreeMap<TrackId, [IntervalSet; 2]>,
    /// By thread: loading.
    loading: BTreeMap<TrackId, IntervalSet>,
    profiler: ProfilerWork,
    /// Time in which devices may have worked without a record.
    unrecorded: IntervalSet,
}

/// When the profiler itself worked.
pub(crate) struct ProfilerWork {
    by_process: BTreeMap<RowId, IntervalSet>,
    /// Of processes without any call, as which recorders show themselves: it held all the others.
    recorder_work: IntervalSet,
}

impl ProfilerWork {
    pub(crate) fn new(trace: &Trace) -> Self {
        let events = trace.events();
        let process = |event: EventId| trace.tracks().get(events.track(event)).pid;
        let mut is_other = PerString::new(trace.strings(), |name| is_loading(name) || is_full_queue(name));
        let mut by_process: BTreeMap<RowId, Vec<Interval>> = BTreeMap::new();
        let overhead = events.ids().filter(|&event| events.category(event) == Category::OVERHEAD);
        for event in overhead.filter(|&event| !*is_other.get(events.name(event))) {
            by_process.entry(process(event)).or_default().push(interval(trace, event));
        }
        if by_process.is_empty() {
            return ProfilerWork { by_process: BTreeMap::new(), recorder_work: IntervalSet::EMPTY };
        }
        let calls = events.ids().filter(|&event| events.category(event).is_launch_api());
        let calling: BTreeSet<RowId> = calls.map(process).collect();
        let (own, recorder_work): (BTreeMap<_, _>, BTreeMap<_, _>) =
            by_process.into_iter().partition(|(process, _)| calling.contains(process));
        ProfilerWork {
            by_process: own
                .into_iter()
                .map(|(process, spans)| (process, spans.into_iter().collect()))
                .collect(),
            recorder_work: recorder_work.into_values().flatten().collect(),
        }
    }

    /// Time of a stretch in which it held a process.
    pub(crate) fn shared_time(&self, process: RowId, time: Interval) -> i64 {
        let own = self.by_process.get(&process).map_or(0, |own| own.shared_time(time));
        (own + self.recorder_work.shared_time(time)).min(time.length())
    }
}

/// Whether overhead is the loading of modules and functions, or compilation by the driver.
fn is_loading(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["module loading", "function loading", "driver compil"].iter().any(|part| name.contains(part))
}

/// Whether overhead is a wait for room in the device's queue.
fn is_full_queue(name: &str) -> bool {
    name.eq_ignore_ascii_case("command buffer full")
}

impl GapCauses {
    /// Of the device events that count.
    pub(crate) fn new(
        trace: &Trace,
        counted: impl Iterator<Item = (EventId, Activity)>,
        unrecorded: IntervalSet,
    ) -> Self {
        let events = trace.events();
        let time = |event: EventId| interval(trace, event);
        let mut work: BTreeMap<i64, Vec<(EventId, Activity)>> = BTreeMap::new();
        for (event, activity) in counted {
            work.entry(events.device(event).unwrap_or(0)).or_default().push((event, activity));
        }
        let devices = work.into_iter().map(|(device, work)| (device, DeviceWork::new(trace, work)));
        let mut synchronizes = PerString::new(trace.strings(), |name| {
            HostWait::from_call(name).is_some_and(|wait| wait.is_synchronization() || wait == HostWait::Copy)
        });
        let mut is_loading = PerString::new(trace.strings(), is_loading);
        let mut calls: BTreeMap<TrackId, [Vec<Interval>; 2]> = BTreeMap::new();
        let mut loading: BTreeMap<TrackId, Vec<Interval>> = BTreeMap::new();
        for event in events.ids() {
            let (category, name, track) = (events.category(event), events.name(event), events.track(event));
            if category.is_launch_api() {
                let [sync, all] = calls.entry(track).or_default();
                sync.extend(synchronizes.get(name).then(|| time(event)));
                all.push(time(event));
            } else if category == Category::OVERHEAD && *is_loading.get(name) {
                loading.entry(track).or_default().push(time(event));
            }
        }
        let set = |intervals: Vec<Interval>| intervals.into_iter().collect::<IntervalSet>();
        GapCauses {
            devices: devices.collect(),
            calls: calls.into_iter().map(|(track, calls)| (track, calls.map(set))).collect(),
            loading: loading.into_iter().map(|(track, intervals)| (track, set(intervals))).collect(),
            profiler: ProfilerWork::new(trace),
            unrecorded,
        }
    }

    pub(crate) fn budget(
        &self,
        tree: &TraceTree,
        device: i64,
        work: &DeviceWork,
        time: Interval,
    ) -> TimeBudget {
        let idle = work.idle(time).into_iter().map(|gap| self.gap(tree, device, work, gap).parts);
        let budget = TimeBudget {
            range: None,
            index: None,
            device,
            time,
            is_host_time: false,
            is_step: false,
            computation: work.computation.shared_time(time),
            exposed_communication: work.communication.shared_time(time),
            exposed_copies: work.copies.shared_time(time),
            idle: idle.sum(),
        };
        debug_assert_eq!(budget.total(), time.length());
        budget
    }

    pub(crate) fn gap(&self, tree: &TraceTree, device: i64, work: &DeviceWork, time: Interval) -> Gap {
        let (trace, events) = (tree.trace(), tree.trace().events());
        let next = work.starts.partition_point(|&(start, _)| start < time.end);
        let next = work.starts.get(next).map(|&(_, event)| event);
        let call = next.and_then(|next| tree.recorded_launch(next));
        let Some(launch) = call else {
            let parts = GapParts { unknown: time.length(), ..GapParts::default() };
            return Gap { device, time, parts, next, call, loading: 0, profiler: 0 };
        };
        let track = events.track(launch);
        let (begins, ends) = (events.start(launch), events.end(launch));
        // What the thread of the launch did in a stretch of the gap.
        let meanwhile = |time: Interval| {
            let clipped = |start: i64, end: i64| {
                let start = start.clamp(time.start, time.end);
                Interval::between(start, end.clamp(start, time.end))
            };
            let before = clipped(time.start, begins);
            let [sync, all] = self
                .calls
                .get(&track)
                .map_or([0, 0], |[sync, all]| [sync.shared_time(before), all.shared_time(before)]);
            GapParts {
                sync,
                other_calls: all - sync,
                host: before.length() - all,
                launch: clipped(begins, ends).length(),
                queued: clipped(ends, time.end).length(),
                unknown: 0,
            }
        };
        let (mut parts, mut from) = (GapParts::default(), time.start);
        for missing in self.unrecorded.clipped(time) {
            let unknown = GapParts { unknown: missing.length(), ..GapParts::default() };
            parts = parts + meanwhile(Interval::between(from, missing.start)) + unknown;
            from = missing.end;
        }
        parts = parts + meanwhile(Interval::between(from, time.end));
        let process = trace.tracks().get(track).pid;
        let loading = self.loading.get(&track).map_or(0, |loading| loading.shared_time(time));
        let profiler = self.profiler.shared_time(process, time);
        Gap { device, time, parts, next, call, loading, profiler }
    }
}

impl TimeBudget {
    /// The sum of all parts: the length of the stretch.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.computation + self.exposed_communication + self.exposed_copies + self.idle.total()
    }
}
