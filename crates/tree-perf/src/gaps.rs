//! Where the time of each device went, to the last unit: what it worked on, and what the host did while it had nothing to do.
//!
//! A gap ends with some work. Until that work's launch begins, its thread synchronizes, is in another call, or is elsewhere
//! in the program; then it launches; then the work waits in its queue. These parts add up to the gap.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use gpu_timeline::{Activity, Interval, IntervalSet};
use hashbrown::HashMap;
use sheets::numbers::{decimal, duration};
use trace_ingest::{Category, EventId, PerString, RowId, TrackId};
use trace2tree::HostWait;

use crate::analysis::Analysis;
use crate::device::interval;
use crate::notice::Notice;
use crate::options::{BudgetBounds, IterationName, without_numbers};

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
    /// The launch is not in the recording.
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
    /// Work that computes ran.
    pub computation: i64,
    /// Communication ran, and no computation.
    pub exposed_communication: i64,
    /// Copies ran, and nothing else.
    pub exposed_copies: i64,
    /// Nothing ran.
    pub idle: GapParts,
}

/// What the idlest device did nothing for, and its longest gap.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GapFinding {
    /// The device.
    pub device: i64,
    /// The largest part of its idle time.
    pub cause: &'static str,
    /// The share of that part, 0 to 1.
    pub share: f64,
    /// Idle time between its first start and its last end in µs.
    pub idle_us: f64,
    /// That time in µs.
    pub span_us: f64,
    /// Length of its longest gap in µs.
    pub longest_us: f64,
    /// Start of that gap in µs from the beginning of the recording.
    pub longest_at_us: f64,
    /// The call that launched what ends it, and the operator or range around that; `None` where it is not recorded.
    pub call: Option<(String, Option<String>)>,
}

impl fmt::Display for GapFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meanwhile = match self.cause {
            "sync" => "the launching thread waits in calls that synchronize",
            "other calls" => "the launching thread is in other calls of CUDA",
            "launch" => "calls launch",
            "host" => "the launching thread is in the program",
            "queued" => "work is launched and not started",
            _ => "what comes next has no recorded launch",
        };
        write!(
            f,
            "GPU {} is idle for {} of {}, {}% of it while {meanwhile}; the longest gap, {} at {}",
            self.device,
            duration(self.idle_us),
            duration(self.span_us),
            decimal(self.share * 100.0, 1),
            duration(self.longest_us),
            duration(self.longest_at_us),
        )?;
        match &self.call {
            Some((call, Some(around))) => write!(f, ", ends with {call} in {around}"),
            Some((call, None)) => write!(f, ", ends with {call}"),
            None => f.write_str(", ends with work whose launch is not recorded"),
        }
    }
}

/// The iteration that took longest, on the device that was idle most of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LongestIteration {
    /// Name of the iterations.
    pub name: String,
    /// Its number among them.
    pub index: usize,
    /// The device.
    pub device: i64,
    /// How long it took in µs.
    pub wall_us: f64,
    /// What most of the time went to.
    pub part: &'static str,
    /// The share of that part, 0 to 1.
    pub share: f64,
}

impl fmt::Display for LongestIteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "iteration {} of '{}' takes longest, {}: {}% {} on GPU {}",
            self.index,
            self.name,
            duration(self.wall_us),
            decimal(self.share * 100.0, 1),
            self.part,
            self.device
        )
    }
}

/// A device in one of equal parts of its time.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Utilization {
    /// The device.
    pub device: i64,
    /// Number of the part, from 0.
    pub part: usize,
    /// When.
    pub time: Interval,
    /// At least one kernel, copy or fill ran.
    pub busy: i64,
    /// Sum over kernels, copies and fills: those that run at the same time count each.
    pub summed: i64,
}

struct DeviceWork {
    /// Starts of its events, the longest first where several start at once. Those without length are left out: they end no gap.
    starts: Vec<(i64, EventId)>,
    computation: IntervalSet,
    /// Without computation beside it.
    communication: IntervalSet,
    /// Without anything beside them.
    copies: IntervalSet,
    busy: IntervalSet,
}

impl DeviceWork {
    fn new(analysis: &Analysis, mut work: Vec<(EventId, Activity)>) -> Self {
        let events = analysis.trace().events();
        work.sort_by_key(|&(event, _)| (events.start(event), -events.duration(event), event));
        let of = |activity: Activity| {
            let events = work.iter().filter(|&&(_, other)| other == activity);
            events.map(|&(event, _)| interval(analysis.trace(), event)).collect::<IntervalSet>()
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
    fn idle(&self, window: Interval) -> Vec<Interval> {
        let mut idle = Vec::new();
        let mut from = window.start;
        for busy in self.busy.clipped(window) {
            idle.extend((busy.start > from).then(|| Interval::new(from, busy.start)));
            from = busy.end;
        }
        idle.extend((from < window.end).then(|| Interval::new(from, window.end)));
        idle
    }
}

/// What the gaps of all devices are explained with.
pub(crate) struct GapCauses {
    devices: BTreeMap<i64, DeviceWork>,
    /// By thread: calls that synchronize, and all calls.
    calls: BTreeMap<TrackId, [IntervalSet; 2]>,
    /// By thread: loading; by process: the profiler's own work.
    loading: BTreeMap<TrackId, IntervalSet>,
    profiler: BTreeMap<RowId, IntervalSet>,
}

impl Analysis {
    fn gap_causes(&self) -> &GapCauses {
        self.derived.gap_causes.get_or_init(|| GapCauses::new(self))
    }

    /// The gaps of each device between its first and its last work, by device and start.
    #[must_use]
    pub fn gaps(&self) -> Vec<Gap> {
        let causes = self.gap_causes();
        let of_device = |(&device, work): (&i64, &DeviceWork)| {
            let idle = work.busy.span().map_or_else(Vec::new, |window| work.idle(window));
            idle.into_iter().map(|time| causes.gap(self, device, work, time)).collect::<Vec<_>>()
        };
        causes.devices.iter().flat_map(of_device).collect()
    }

    /// Of the device with the most idle time the largest part of it, and the longest gap; `None` without gaps.
    #[must_use]
    pub fn gap_finding(&self) -> Option<GapFinding> {
        let gaps = self.gaps();
        let idle = |gaps: &&[Gap]| gaps.iter().map(|gap| gap.time.length()).sum::<i64>();
        let of_devices = gaps.chunk_by(|a, b| a.device == b.device);
        // Of equals the first.
        let idlest = of_devices.max_by_key(|gaps| (idle(gaps), Reverse(gaps[0].device)))?;
        let longest = idlest.iter().max_by_key(|gap| (gap.time.length(), Reverse(gap.time.start)))?;
        let parts: GapParts = idlest.iter().map(|gap| gap.parts).sum();
        let cause = parts.cause();
        let part = parts.named().iter().find(|(name, _)| *name == cause).map_or(0, |(_, time)| *time);
        let device = longest.device;
        let span = self.gap_causes().devices.get(&device)?.busy.span()?;
        let call = longest.call.map(|call| {
            let name = |event: EventId| self.trace().name(event).to_owned();
            (name(call), self.tree().parent(call).map(name))
        });
        Some(GapFinding {
            device,
            cause,
            share: part as f64 / parts.total() as f64,
            idle_us: self.us(parts.total()),
            span_us: self.us(span.length()),
            longest_us: self.us(longest.time.length()),
            longest_at_us: self.us(longest.time.start),
            call,
        })
    }

    /// The budget of a device for a stretch of time; `None` where the device has no work at all.
    #[must_use]
    pub fn time_budget(&self, device: i64, time: Interval) -> Option<TimeBudget> {
        let causes = self.gap_causes();
        Some(causes.budget(self, device, causes.devices.get(&device)?, time))
    }

    /// The budget of each device for the whole window, and for each iteration that it works in: those of the ranges that
    /// [`AnalysisOptions::iteration`](crate::AnalysisOptions::iteration) names, else those that were detected.
    #[must_use]
    pub fn time_budgets(&self) -> Vec<TimeBudget> {
        let causes = self.gap_causes();
        let mut budgets = Vec::new();
        for (&device, work) in &causes.devices {
            budgets.extend(work.busy.span().map(|window| causes.budget(self, device, work, window)));
        }
        let launches = Launches::new(self);
        for stretch in self.stretches(causes, &launches) {
            if let Some(time) = self.bounds(&stretch, &launches) {
                budgets.extend(self.budgets_of(&stretch, time));
            }
        }
        budgets
    }

    /// The iteration that took longest of at least two.
    #[must_use]
    pub fn longest_iteration(&self) -> Option<LongestIteration> {
        let launches = Launches::new(self);
        let stretches = self.stretches(self.gap_causes(), &launches);
        if stretches.len() < 2 {
            return None;
        }
        let bounded =
            stretches.iter().filter_map(|stretch| Some((stretch, self.bounds(stretch, &launches)?)));
        // Of equals the first.
        let (longest, time) =
            bounded.max_by_key(|(stretch, time)| (time.length(), Reverse(stretch.index)))?;
        let budgets = self.budgets_of(longest, time);
        let budget = budgets.max_by_key(|budget| (budget.idle.total(), Reverse(budget.device)))?;
        let busy = [
            ("computation", budget.computation),
            ("exposed communication", budget.exposed_communication),
            ("exposed copies", budget.exposed_copies),
            ("idle", budget.idle.total()),
        ];
        let (part, most) = busy.into_iter().rev().max_by_key(|&(_, time)| time)?;
        Some(LongestIteration {
            name: longest.name.clone(),
            index: longest.index,
            device: budget.device,
            wall_us: self.us(time.length()),
            part,
            share: most as f64 / time.length().max(1) as f64,
        })
    }

    /// From when to when a stretch is: on the host, or from the first start to the last end of what it launches, if anything.
    fn bounds(&self, stretch: &Stretch, launches: &Launches) -> Option<Interval> {
        let is_projected = self.options().budget == BudgetBounds::Projected;
        match stretch.track.filter(|_| is_projected) {
            Some(track) => {
                let times = launches.of(track, stretch.host).map(|event| interval(self.trace(), event));
                times.reduce(|a, b| Interval::new(a.start.min(b.start), a.end.max(b.end)))
            }
            None => Some(stretch.host),
        }
    }

    /// The budgets of the devices of a stretch.
    fn budgets_of(&self, stretch: &Stretch, time: Interval) -> impl Iterator<Item = TimeBudget> {
        let causes = self.gap_causes();
        stretch.devices.iter().filter_map(move |&device| {
            let budget = causes.budget(self, device, causes.devices.get(&device)?, time);
            Some(TimeBudget { range: Some(stretch.name.clone()), index: Some(stretch.index), ..budget })
        })
    }

    /// The iterations with the devices that each is about.
    fn stretches(&self, causes: &GapCauses, launches: &Launches) -> Vec<Stretch> {
        if let Some(name) = &self.options().iteration {
            return self.named_ranges(name, launches);
        }
        let Some((level, _)) = self.iterations().steps() else { return Vec::new() };
        let stretch = |(iteration, index): (&iterations::Iteration, usize)| {
            let host = Interval::new(iteration.start, iteration.end);
            let works =
                |(&device, work): (&i64, &DeviceWork)| (work.busy.shared_time(host) > 0).then_some(device);
            let devices = causes.devices.iter().filter_map(works).collect();
            Stretch { name: level.name.clone(), index, track: iteration.track, host, devices }
        };
        level.iterations.iter().zip(level.first..).map(stretch).collect()
    }

    /// The ranges and operators of the host with a name, by start, with the devices that their processes work on.
    fn named_ranges(&self, name: &IterationName, launches: &Launches) -> Vec<Stretch> {
        let (trace, events) = (self.trace(), self.trace().events());
        let ranges = iterations::host_ranges(trace, |text| name.matches(text));
        let stretch = |(index, event): (usize, EventId)| {
            let track = events.track(event);
            let devices = launches.devices.get(&trace.tracks().get(track).pid).cloned().unwrap_or_default();
            let host = interval(trace, event);
            let name = without_numbers(trace.name(event));
            Stretch { name, index, track: Some(track), host, devices }
        };
        ranges.into_iter().enumerate().map(stretch).collect()
    }

    /// That nothing has the name that iterations were to have.
    pub(crate) fn no_range_of_name(&self) -> Option<Notice> {
        let name = self.options().iteration.as_ref()?;
        let is_empty = self.named_ranges(name, &Launches::default()).is_empty();
        is_empty.then(|| Notice::NoRangeOfName { name: name.to_string() })
    }

    /// Each device in equal parts of the time from its first start to its last end; parts without length are left out.
    #[must_use]
    pub fn utilizations(&self, parts: usize) -> Vec<Utilization> {
        let trace = self.trace();
        let mut rows = Vec::new();
        for (&device, work) in &self.gap_causes().devices {
            let Some(span) = work.busy.span() else { continue };
            // In 128 bits: a product of times may need more than 64.
            let bound = |part: usize| {
                let offset = part as i128 * i128::from(span.length()) / parts as i128;
                span.start + offset as i64
            };
            let of_device = rows.len();
            rows.extend((0..parts).map(|part| {
                let time = Interval::new(bound(part), bound(part + 1));
                Utilization { device, part, time, busy: work.busy.shared_time(time), summed: 0 }
            }));
            let rows = &mut rows[of_device..];
            for &(_, event) in &work.starts {
                let time = interval(trace, event);
                let first = rows.partition_point(|row| row.time.end <= time.start);
                for row in rows[first..].iter_mut().take_while(|row| row.time.start < time.end) {
                    row.summed += row.time.shared_time(time);
                }
            }
        }
        rows.retain(|row| !row.time.is_empty());
        rows
    }
}

/// A stretch of time of the host that has a budget.
struct Stretch {
    name: String,
    index: usize,
    track: Option<TrackId>,
    host: Interval,
    devices: Vec<i64>,
}

/// Calls with the device work that they launched.
#[derive(Default)]
struct Launches {
    /// By thread: start and end of the call, and the work, by start.
    of_threads: HashMap<TrackId, Vec<(i64, i64, EventId)>>,
    /// By process: the devices that it launched work on, ascending.
    devices: HashMap<RowId, Vec<i64>>,
}

impl Launches {
    fn new(analysis: &Analysis) -> Self {
        let (trace, events) = (analysis.trace(), analysis.trace().events());
        let mut of_threads: HashMap<TrackId, Vec<(i64, i64, EventId)>> = HashMap::new();
        let mut devices: HashMap<RowId, Vec<i64>> = HashMap::new();
        for (event, _) in analysis.counted_activities() {
            let Some(call) = analysis.tree().recorded_launch(event) else { continue };
            let (track, device) = (events.track(call), events.device(event).unwrap_or(0));
            of_threads.entry(track).or_default().push((events.start(call), events.end(call), event));
            let of_process = devices.entry(trace.tracks().get(track).pid).or_default();
            if let Err(at) = of_process.binary_search(&device) {
                of_process.insert(at, device);
            }
        }
        for calls in of_threads.values_mut() {
            calls.sort_unstable();
        }
        Launches { of_threads, devices }
    }

    /// The work of the calls of a thread that lie in a stretch of time.
    fn of(&self, track: TrackId, time: Interval) -> impl Iterator<Item = EventId> + '_ {
        let calls = self.of_threads.get(&track).map_or(&[][..], Vec::as_slice);
        let first = calls.partition_point(|call| call.0 < time.start);
        let inside = calls[first..].iter().take_while(move |call| call.0 <= time.end);
        inside.filter(move |call| call.1 <= time.end).map(|call| call.2)
    }
}

impl GapCauses {
    fn new(analysis: &Analysis) -> Self {
        let (trace, events) = (analysis.trace(), analysis.trace().events());
        let time = |event: EventId| interval(trace, event);
        let mut work: BTreeMap<i64, Vec<(EventId, Activity)>> = BTreeMap::new();
        for (event, activity) in analysis.counted_activities() {
            work.entry(events.device(event).unwrap_or(0)).or_default().push((event, activity));
        }
        let devices = work.into_iter().map(|(device, work)| (device, DeviceWork::new(analysis, work)));
        let mut synchronizes = PerString::new(trace.strings(), |name| {
            HostWait::of_call(name).is_some_and(|wait| wait.is_synchronization() || wait == HostWait::Copy)
        });
        let mut is_loading = PerString::new(trace.strings(), |name| {
            let name = name.to_ascii_lowercase();
            ["module loading", "function loading", "driver compil"].iter().any(|part| name.contains(part))
        });
        let mut is_full_queue =
            PerString::new(trace.strings(), |name| name.eq_ignore_ascii_case("command buffer full"));
        let mut calls: BTreeMap<TrackId, [Vec<Interval>; 2]> = BTreeMap::new();
        let mut loading: BTreeMap<TrackId, Vec<Interval>> = BTreeMap::new();
        let mut profiler: BTreeMap<RowId, Vec<Interval>> = BTreeMap::new();
        for event in events.ids() {
            let (category, name, track) = (events.category(event), events.name(event), events.track(event));
            if category.is_launch_api() {
                let [sync, all] = calls.entry(track).or_default();
                sync.extend(synchronizes.get(name).then(|| time(event)));
                all.push(time(event));
            } else if category == Category::OVERHEAD && *is_loading.get(name) {
                loading.entry(track).or_default().push(time(event));
            } else if category == Category::OVERHEAD && !*is_full_queue.get(name) {
                profiler.entry(trace.tracks().get(track).pid).or_default().push(time(event));
            }
        }
        let set = |intervals: Vec<Interval>| intervals.into_iter().collect::<IntervalSet>();
        GapCauses {
            devices: devices.collect(),
            calls: calls.into_iter().map(|(track, calls)| (track, calls.map(set))).collect(),
            loading: loading.into_iter().map(|(track, intervals)| (track, set(intervals))).collect(),
            profiler: profiler.into_iter().map(|(process, intervals)| (process, set(intervals))).collect(),
        }
    }

    fn budget(&self, analysis: &Analysis, device: i64, work: &DeviceWork, time: Interval) -> TimeBudget {
        let idle = work.idle(time).into_iter().map(|gap| self.gap(analysis, device, work, gap).parts);
        let budget = TimeBudget {
            range: None,
            index: None,
            device,
            time,
            computation: work.computation.shared_time(time),
            exposed_communication: work.communication.shared_time(time),
            exposed_copies: work.copies.shared_time(time),
            idle: idle.sum(),
        };
        debug_assert_eq!(budget.total(), time.length());
        budget
    }

    fn gap(&self, analysis: &Analysis, device: i64, work: &DeviceWork, time: Interval) -> Gap {
        let (trace, events) = (analysis.trace(), analysis.trace().events());
        let next = work.starts.partition_point(|&(start, _)| start < time.end);
        let next = work.starts.get(next).map(|&(_, event)| event);
        let call = next.and_then(|next| analysis.tree().recorded_launch(next));
        let Some(launch) = call else {
            let parts = GapParts { unknown: time.length(), ..GapParts::default() };
            return Gap { device, time, parts, next, call, loading: 0, profiler: 0 };
        };
        let track = events.track(launch);
        let clipped = |start: i64, end: i64| {
            let start = start.clamp(time.start, time.end);
            Interval::new(start, end.clamp(start, time.end))
        };
        let (begins, ends) = (events.start(launch), events.end(launch));
        let before = clipped(time.start, begins);
        let [sync, all] = self
            .calls
            .get(&track)
            .map_or([0, 0], |[sync, all]| [sync.shared_time(before), all.shared_time(before)]);
        let parts = GapParts {
            sync,
            other_calls: all - sync,
            host: before.length() - all,
            launch: clipped(begins, ends).length(),
            queued: clipped(ends, time.end).length(),
            unknown: 0,
        };
        let process = trace.tracks().get(track).pid;
        let of = |set: Option<&IntervalSet>| set.map_or(0, |set| set.shared_time(time));
        let (loading, profiler) = (of(self.loading.get(&track)), of(self.profiler.get(&process)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_equal_but_for_their_numbers() {
        for (name, expected) in [
            ("step 17", "step #"),
            ("aten::is_nonzero", "aten::is_nonzero"),
            ("ProfilerStep#3", "ProfilerStep#"),
            ("ProfilerStep#", "ProfilerStep#"),
            ("[Executor] _forward_step 17: 2 ctx reqs", "[Executor] _forward_step #: # ctx reqs"),
            ("", ""),
        ] {
            assert_eq!(without_numbers(name), expected);
        }
    }
}
