//! Why the devices had nothing to run: the waits of streams and devices, by cause and by what they waited for.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use gpu_timeline::{
    Activity, Dependency, DeviceEvent, HostActivity, Interval, SortFew, Wait, WaitCause, busy_time,
    device_waits, lower_median, stream_waits, with_unrecorded,
};
use hashbrown::{HashMap, HashSet};
use sheets::numbers::{decimal, duration};
use trace_ingest::{Category, EventId, PerString, RowId, StringId, Trace, TrackId};
use trace2tree::{HostWait, is_graph_launch};

use crate::IndexMap;
use crate::analysis::Analysis;
use crate::derived::{IdleRow, IdleRows};
use crate::gap_causes::ProfilerWork;

/// The largest cause of the devices' idle time.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct IdleFinding {
    /// The cause.
    pub cause: WaitCause,
    /// Its share in the idle time, 0 to 1.
    pub share: f64,
    /// Idle time in µs between first start and last end, summed over devices.
    pub idle_us: f64,
    /// Time in µs from first start to last end, summed over devices.
    pub span_us: f64,
}

impl fmt::Display for IdleFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.cause {
            WaitCause::Unlinked => "precedes work whose launch is not recorded",
            WaitCause::Host(HostActivity::DataLoader) => {
                "is spent waiting for a launch while the host waits for its data loader"
            }
            WaitCause::Host(HostActivity::Copy) => {
                "is spent waiting for a launch after a copy blocked the host"
            }
            WaitCause::Host(HostActivity::Sync) => {
                "is spent waiting for a launch after the host waited for the device"
            }
            WaitCause::Host(HostActivity::Allocation) => {
                "is spent waiting for a launch while the host allocates or frees memory"
            }
            WaitCause::Host(HostActivity::Initialisation) => {
                "is spent waiting for a launch during one-time initialization"
            }
            WaitCause::Host(HostActivity::Operator) => {
                "is spent waiting for a launch while a host operator launches nothing"
            }
            WaitCause::Host(HostActivity::Profiler) => {
                "is spent waiting for a launch while the profiler blocks the host"
            }
            WaitCause::Host(HostActivity::GraphLaunch) => "is spent waiting for a graph launch",
            WaitCause::Host(HostActivity::Other) => "is spent waiting for a late launch",
            WaitCause::Kernel => "lies in short gaps between launched kernels",
            WaitCause::Dependency(_) => "lies in long gaps before kernels that were already launched",
            WaitCause::NotRecorded => "is not recorded: the device may have been busy",
        };
        write!(
            f,
            "{}% of the idle time {what} ({}): the devices are idle for {} of {} from first start to last end",
            decimal(self.share * 100.0, 1),
            self.cause
                .reason()
                .map_or(self.cause.name().to_owned(), |reason| format!("{}, {reason}", self.cause.name())),
            duration(self.idle_us),
            duration(self.span_us),
        )
    }
}

impl Analysis {
    fn process(&self, event: EventId) -> RowId {
        self.trace().tracks().get(self.trace().events().track(event)).pid
    }

    /// The largest cause of idle time; `None` without idle time, or where the sheets of waits are not asked for
    /// ([`AnalysisOptions::waits`](crate::AnalysisOptions::waits)).
    pub fn idle_finding(&self) -> Option<IdleFinding> {
        let rows = &self.idle_rows()?.per_device;
        let (mut causes, mut devices) = (BTreeMap::new(), BTreeMap::new());
        for row in rows {
            *causes.entry(row.cause).or_insert(0) += row.time;
            devices.insert(row.device, (row.idle, row.span));
        }
        let idle: i64 = devices.values().map(|&(idle, _)| idle).sum();
        let span: i64 = devices.values().map(|&(_, span)| span).sum();
        // Of equal causes the first.
        let (&cause, &time) = causes.iter().max_by_key(|&(cause, time)| (time, Reverse(cause)))?;
        (idle > 0).then(|| IdleFinding {
            cause,
            share: time as f64 / idle as f64,
            idle_us: self.us(idle),
            span_us: self.us(span),
        })
    }

    /// The waits of all device events, those without a launch included; `None` where nobody asked. Computed once.
    pub(crate) fn idle_rows(&self) -> Option<&IdleRows> {
        let rows = || idle_rows(self);
        self.options().waits.then(|| self.derived.idle.get_or_init(rows))
    }
}

fn idle_rows(analysis: &Analysis) -> IdleRows {
    let events = analysis.trace().events();
    let short = short_wait(analysis);
    let mut by_device: BTreeMap<Option<i64>, Vec<EventId>> = BTreeMap::new();
    for &event in &analysis.device.ids {
        by_device.entry(events.device(event)).or_default().push(event);
    }
    let blocking = BlockingCalls::new(analysis);
    let mut rows = IdleRows { per_device: Vec::new(), per_stream: Vec::new() };
    for (device, ids) in by_device {
        // The kind of work has no part in why it waited.
        let launched: Vec<DeviceEvent> =
            ids.iter().map(|&event| analysis.device_event(event, Activity::Computation)).collect();
        let mut cause_of = |wait: &Wait| {
            let wait = blocking.cause(analysis, wait, &ids);
            (wait.cause, wait.waited_for.map(|event| events.name(event)))
        };
        let device_idle = with_unrecorded(device_waits(&launched, short), analysis.unrecorded());
        let mut spans: BTreeMap<Option<i64>, Interval> = BTreeMap::new();
        for &DeviceEvent { span, stream, .. } in &launched {
            spans.entry(stream).and_modify(|whole| *whole = whole.hull(span)).or_insert(span);
        }
        let span = spans.values().copied().reduce(Interval::hull).map_or(0, Interval::length);
        rows.per_device.extend(rows_of((device, None), span, &device_idle, &mut cause_of));
        let stream_idle = with_unrecorded(stream_waits(&launched, short), analysis.unrecorded());
        for waits in stream_idle.chunk_by(|a, b| launched[a.event].stream == launched[b.event].stream) {
            let stream = launched[waits[0].event].stream;
            rows.per_stream.extend(rows_of((device, stream), spans[&stream].length(), waits, &mut cause_of));
        }
    }
    rows
}

/// The waits of one stream or device by cause and name, most time first.
fn rows_of(
    (device, stream): (Option<i64>, Option<i64>),
    span: i64,
    waits: &[Wait],
    mut cause_of: impl FnMut(&Wait) -> (WaitCause, Option<StringId>),
) -> Vec<IdleRow> {
    let idle = waits.iter().map(|wait| wait.span.length()).sum();
    let mut rows: IndexMap<(WaitCause, Option<StringId>), IdleRow> = IndexMap::default();
    for wait in waits {
        let (cause, waited_for) = cause_of(wait);
        let new = IdleRow { device, stream, cause, waited_for, waits: 0, time: 0, longest: 0, idle, span };
        let row = rows.entry((cause, waited_for)).or_insert(new);
        row.waits += 1;
        row.time += wait.span.length();
        row.longest = row.longest.max(wait.span.length());
    }
    let mut rows: Vec<IdleRow> = rows.into_values().collect();
    rows.sort_few_by_key(|row| (Reverse(row.time), Reverse(row.waits)));
    rows
}

/// A call that held a thread of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostHold {
    /// The call.
    pub event: EventId,
    /// One of those that hold the host: [`HostActivity::DataLoader`], a copy, a wait for the device, an allocation, a first use.
    pub activity: HostActivity,
}

impl Analysis {
    /// The stretches in which none of the counted device events ran that are meant, by start: they add up to
    /// [`Breakdown::idle`] of [`Analysis::breakdown_of`] these, and those of [`WaitCause::NotRecorded`] to [`Breakdown::unrecorded`]. What they waited for is the
    /// call that held the host, where one did. With them the calls that held threads which launch, those inside another of
    /// their kind left out, by start.
    ///
    /// [`Breakdown::idle`]: gpu_timeline::Breakdown::idle
    /// [`Breakdown::unrecorded`]: gpu_timeline::Breakdown::unrecorded
    pub fn idle_stretches(&self, is_meant: impl Fn(EventId) -> bool) -> (Vec<Wait<EventId>>, Vec<HostHold>) {
        let (tree, events) = (self.tree(), self.trace().events());
        let (ids, launched): (Vec<EventId>, Vec<DeviceEvent>) = self
            .counted_activities()
            .filter(|&(event, _)| is_meant(event))
            .map(|(event, activity)| (event, self.device_event(event, activity)))
            .unzip();
        let blocking = BlockingCalls::new(self);
        let waits = with_unrecorded(device_waits(&launched, short_wait(self)), self.unrecorded()).into_iter();
        let waits = waits.filter(|wait| !wait.span.is_empty());
        let stretches = waits.map(|wait| {
            let wait = blocking.cause(self, &wait, &ids);
            let waited_for = match wait.cause {
                WaitCause::Host(HostActivity::Operator) => wait.waited_for,
                WaitCause::Host(activity) if BLOCKING.contains(&activity) => wait.waited_for,
                _ => None,
            };
            Wait { waited_for, ..wait }
        });
        let stretches: Vec<Wait<EventId>> = stretches.collect();
        let launching: BTreeSet<TrackId> =
            ids.iter().filter_map(|&event| Some(events.track(tree.recorded_launch(event)?))).collect();
        let tracks = blocking.by_track.iter().filter(|(track, _)| launching.contains(track));
        let mut holds: Vec<HostHold> = tracks
            .flat_map(|(_, kinds)| kinds.iter().zip(BLOCKING))
            .flat_map(|(calls, activity)| {
                calls.iter().map(move |call| HostHold { event: call.event, activity })
            })
            .collect();
        // A wait for work that is not recorded says nothing of the host, nor does a call that the profiler held.
        holds.retain(|hold| {
            let time = Interval::between(events.start(hold.event), events.end(hold.event));
            let profiler = blocking.profiler.shared_time(self.process(hold.event), time);
            2 * self.unrecorded().shared_time(time) <= time.length() && 2 * profiler <= time.length()
        });
        // Operators hold the host where a wait names them; calls that do are known already.
        let known: HashSet<EventId> = holds.iter().map(|hold| hold.event).collect();
        let named: BTreeMap<EventId, HostActivity> = stretches
            .iter()
            .filter_map(|wait| match wait.cause {
                WaitCause::Host(activity @ (HostActivity::Operator | HostActivity::Initialisation)) => {
                    Some((wait.waited_for?, activity))
                }
                _ => None,
            })
            .filter(|(event, _)| !known.contains(event))
            .collect();
        holds.extend(named.into_iter().map(|(event, activity)| HostHold { event, activity }));
        holds.sort_by_key(|hold| (events.start(hold.event), hold.event));
        (stretches, holds)
    }
}

/// Up to which length the wait of a launched event is the device's own.
fn short_wait(analysis: &Analysis) -> i64 {
    let unit = analysis.trace().time_unit().per_microsecond() as f64;
    (analysis.options().kernel_wait_threshold_us * unit).round() as i64
}

/// Kinds of calls that hold the host.
const BLOCKING: [HostActivity; 5] = [
    HostActivity::DataLoader,
    HostActivity::Copy,
    HostActivity::Sync,
    HostActivity::Allocation,
    HostActivity::Initialisation,
];
const SYNC: usize = 2;
const ALLOCATION: usize = 3;
const INITIALISATION: usize = 4;

/// Length in µs from which on an operator that launches nothing is what held the host.
const LONG_US: i64 = 1_000;
/// Length in µs from which on a call that usually returns at once is a first use,
const FIRST_USE_US: i64 = 1_000;
/// and how many times the median of the calls of its name that is.
const FIRST_USE_TIMES: i64 = 20;

#[derive(Clone, Copy)]
struct BlockingCall {
    time: Interval,
    event: EventId,
}

/// The calls of each thread that may hold it, by their kind's position in [`BLOCKING`]: without those inside another of the
/// kind, so that starts and ends ascend.
struct BlockingCalls {
    by_track: BTreeMap<TrackId, [Vec<BlockingCall>; BLOCKING.len()]>,
    profiler: ProfilerWork,
    /// Operators without an operator around them, by thread, by start.
    operators: BTreeMap<TrackId, Vec<EventId>>,
}

impl BlockingCalls {
    fn new(analysis: &Analysis) -> Self {
        let (trace, events) = (analysis.trace(), analysis.trace().events());
        let mut kind_of_call = PerString::new(trace.strings(), |name| match HostWait::from_call(name) {
            Some(wait) if wait.is_synchronization() => Some(HostActivity::Sync),
            Some(wait) => wait.is_copy().then_some(HostActivity::Copy),
            None => is_allocation(name).then_some(HostActivity::Allocation),
        });
        let first_uses = FirstUses::new(trace);
        let mut is_data_loader = PerString::new(trace.strings(), names_data_loader);
        // Frames only where the program marks no loader: what is read of a trace with or without them is one figure then.
        let marks_loader = events.ids().any(|event| {
            matches!(events.category(event), Category::CPU_OP | Category::USER_ANNOTATION)
                && *is_data_loader.get(events.name(event))
        });
        let mut by_track: BTreeMap<TrackId, [Vec<BlockingCall>; BLOCKING.len()]> = BTreeMap::new();
        for event in events.ids() {
            let (category, name) = (events.category(event), events.name(event));
            let kind = match category {
                _ if first_uses.contains(event) => Some(HostActivity::Initialisation),
                _ if category.is_launch_api() => *kind_of_call.get(name),
                Category::PYTHON_FUNCTION if marks_loader => None,
                Category::CPU_OP | Category::USER_ANNOTATION | Category::PYTHON_FUNCTION => {
                    is_data_loader.get(name).then_some(HostActivity::DataLoader)
                }
                _ => None,
            };
            let Some(kind) = kind.and_then(|kind| BLOCKING.iter().position(|&known| known == kind)) else {
                continue;
            };
            let time = Interval::between(events.start(event), events.end(event));
            by_track.entry(events.track(event)).or_default()[kind].push(BlockingCall { time, event });
        }
        for calls in by_track.values_mut().flatten() {
            calls.sort_by_key(|call| (call.time.start, Reverse(call.time.end)));
            let mut latest_end = i64::MIN;
            calls.retain(|call| {
                let is_outermost = call.time.end > latest_end;
                latest_end = latest_end.max(call.time.end);
                is_outermost
            });
        }
        let mut operators: BTreeMap<TrackId, Vec<EventId>> = BTreeMap::new();
        for &root in analysis.tree().operator_roots() {
            operators.entry(events.track(root)).or_default().push(root);
        }
        operators.values_mut().for_each(|roots| roots.sort_by_key(|&root| events.start(root)));
        BlockingCalls { by_track, profiler: ProfilerWork::new(trace), operators }
    }

    /// A wait between these events with what the calls of the host say of its cause, and the call or the event that was
    /// waited for.
    fn cause(&self, analysis: &Analysis, wait: &Wait, ids: &[EventId]) -> Wait<EventId> {
        let event = ids[wait.event];
        let launch = analysis.tree().recorded_launch(event);
        let wait = self.cause_by_calls(analysis, wait, event, launch, ids);
        match launch.map(|launch| self.profiler.shared_time(analysis.process(launch), wait.span)) {
            Some(held) if wait.cause.is_late_launch() && held > 0 && 2 * held >= wait.span.length() => {
                Wait { cause: WaitCause::Host(HostActivity::Profiler), waited_for: None, ..wait }
            }
            _ => wait,
        }
    }

    fn cause_by_calls(
        &self,
        analysis: &Analysis,
        wait: &Wait,
        event: EventId,
        launch: Option<EventId>,
        ids: &[EventId],
    ) -> Wait<EventId> {
        if let Some(launch) = launch.filter(|_| wait.cause != WaitCause::Kernel)
            && let Some((activity, call)) = self.covered_by_call(analysis, launch, wait.span)
        {
            return Wait { span: wait.span, event, cause: WaitCause::Host(activity), waited_for: Some(call) };
        }
        let (cause, waited_for) = match (wait.cause, launch) {
            (WaitCause::Host(_), Some(launch)) => {
                let (activity, call) = self.before_launch(analysis, launch, wait.span);
                (WaitCause::Host(activity), Some(call))
            }
            (WaitCause::Dependency(Dependency::Unknown), Some(launch)) => {
                let (dependency, call) = self.during_wait(analysis, launch, wait.span);
                (WaitCause::Dependency(dependency), call)
            }
            (cause, _) => (cause, wait.waited_for.map(|ended| ids[ended])),
        };
        Wait { span: wait.span, event, cause, waited_for }
    }

    /// The calls of a kind on a thread that run during a stretch of time, or at its start.
    fn during(&self, track: TrackId, kind: usize, time: Interval) -> &[BlockingCall] {
        let calls = self.by_track.get(&track).map_or(&[][..], |kinds| &kinds[kind]);
        let from = calls.partition_point(|call| call.time.end <= time.start);
        let until = calls.partition_point(|call| call.time.start <= time.start.max(time.end - 1));
        calls.get(from..until).unwrap_or_default()
    }

    /// The call that allocates or uses something for the first time and takes at least half of a wait, on the thread of the
    /// launch and no later than it.
    fn covered_by_call(
        &self,
        analysis: &Analysis,
        launch: EventId,
        wait: Interval,
    ) -> Option<(HostActivity, EventId)> {
        let events = analysis.trace().events();
        let time = Interval::between(wait.start, events.end(launch).clamp(wait.start, wait.end));
        [ALLOCATION, INITIALISATION].into_iter().find_map(|kind| {
            let calls = self.during(events.track(launch), kind, time);
            let taken = busy_time(calls.iter().map(|call| call.time.intersection(time)), &mut Vec::new());
            let longest = calls.iter().max_by_key(|call| call.time.shared_time(time))?;
            (2 * taken >= wait.length()).then_some((BLOCKING[kind], longest.event))
        })
    }

    /// What the host did between the end of the stream's work and a late launch. A kind of call that takes at least half of
    /// that time counts, data loaders first; else a call that ran when the stream ran dry: the host could launch nothing
    /// meanwhile. With it the call, or the operator that launched.
    fn before_launch(&self, analysis: &Analysis, launch: EventId, wait: Interval) -> (HostActivity, EventId) {
        let events = analysis.trace().events();
        let dry = wait.start;
        let time = Interval::between(dry, events.start(launch).clamp(dry, wait.end));
        let mut held: Option<(i64, HostActivity, EventId)> = None;
        for (kind, activity) in BLOCKING.into_iter().enumerate() {
            let calls = self.during(events.track(launch), kind, time);
            let taken = busy_time(calls.iter().map(|call| call.time.intersection(time)), &mut Vec::new());
            let longest = calls.iter().max_by_key(|call| call.time.shared_time(time));
            if let Some(longest) = longest.filter(|_| 2 * taken >= time.length()) {
                return (activity, longest.event);
            }
            // Of calls inside each other the outermost.
            if let Some(call) = calls.first().filter(|call| call.time.start <= dry)
                && activity != HostActivity::DataLoader
                && held.is_none_or(|(start, ..)| call.time.start < start)
            {
                held = Some((call.time.start, activity, call.event));
            }
        }
        match held {
            Some((_, activity, call)) => (activity, call),
            None => match self.operator_of(analysis, events.track(launch), time) {
                Some(operator) if is_first_use(analysis, operator) => {
                    (HostActivity::Initialisation, operator)
                }
                Some(operator) => (HostActivity::Operator, operator),
                None if is_graph_launch(analysis.trace().name(launch)) => (HostActivity::GraphLaunch, launch),
                None => (HostActivity::Other, analysis.tree().operator(launch).unwrap_or(launch)),
            },
        }
    }

    /// The innermost operator that takes at least half of a stretch of a thread in which it launches nothing, where that is
    /// long: what is shorter is the host's usual pace.
    fn operator_of(&self, analysis: &Analysis, track: TrackId, time: Interval) -> Option<EventId> {
        let (tree, events) = (analysis.tree(), analysis.trace().events());
        if time.length() < LONG_US * analysis.trace().time_unit().per_microsecond() {
            return None;
        }
        let takes_most = |&event: &EventId| {
            let own = Interval::between(events.start(event), events.end(event));
            2 * own.shared_time(time) >= time.length()
        };
        // Events beside each other on one thread follow each other, so that only the last ones reach into the stretch.
        let longest = |siblings: &[EventId]| {
            let until = siblings.partition_point(|&event| events.start(event) < time.end);
            let reaching =
                siblings[..until].iter().rev().take_while(|&&event| events.end(event) > time.start);
            let mut operators = reaching.filter(|&&event| events.category(event) == Category::CPU_OP);
            operators.find(|&event| takes_most(event)).copied()
        };
        let mut innermost = longest(self.operators.get(&track)?)?;
        while let Some(operator) = longest(tree.children(innermost)) {
            innermost = operator;
        }
        Some(innermost)
    }

    /// What a launched event waited for, where no other stream tells.
    fn during_wait(
        &self,
        analysis: &Analysis,
        launch: EventId,
        wait: Interval,
    ) -> (Dependency, Option<EventId>) {
        let events = analysis.trace().events();
        // A call that launches and returns early does not explain why its work begins late.
        if events.end(launch) > wait.start && 2 * (events.end(launch) - wait.start) >= wait.length() {
            let dependency = match analysis.trace().name(launch) {
                text if is_graph_launch(text) => Dependency::GraphLaunch,
                text if HostWait::from_call(text).is_some_and(HostWait::is_copy) => Dependency::Copy,
                _ => Dependency::Launch,
            };
            return (dependency, Some(launch));
        }
        let calls = self.during(events.track(launch), SYNC, wait);
        match calls.iter().rev().find(|call| call.time.end <= wait.end) {
            Some(call) => (Dependency::Sync, Some(call.event)),
            None => (Dependency::Unknown, None),
        }
    }
}

/// Whether a range of the program, an operator or a Python frame takes the next batch from where data are read.
fn names_data_loader(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "dataloader",
        "data_loader",
        "data loader",
        "data_loading",
        "load_data",
        "load_batch",
        "get_batch",
        "next_batch",
        "fetch_batch",
        "data_fetch",
        "torch/utils/data/",
    ];
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|part| name.contains(part))
}

/// Whether an operator is the first of its name, and took far longer than the others.
fn is_first_use(analysis: &Analysis, operator: EventId) -> bool {
    let events = analysis.trace().events();
    let alike = analysis.tree().find_by_name_id(events.name(operator));
    let others = alike.iter().filter(|&&other| other != operator);
    let is_first = others.clone().all(|&other| events.start(other) >= events.start(operator));
    let usual = lower_median(others.map(|&other| events.duration(other)));
    is_first && usual.is_some_and(|usual| events.duration(operator) >= FIRST_USE_TIMES.saturating_mul(usual))
}

/// Whether a call of the runtime or driver allocates or frees memory.
fn is_allocation(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is = |word: &str| name.contains(word);
    (is("malloc") || is("free") || is("alloc")) && !is("memcpy") && !is("memset")
}

/// Calls that took long because something was used for the first time.
struct FirstUses(HashSet<EventId>);

impl FirstUses {
    fn new(trace: &Trace) -> Self {
        let events = trace.events();
        let long = FIRST_USE_US * trace.time_unit().per_microsecond();
        let mut returns_at_once = PerString::new(trace.strings(), |name| {
            HostWait::from_call(name).is_none() && !is_allocation(name)
        });
        let is_call = |event: &EventId| events.category(*event).is_launch_api();
        let long_calls: Vec<EventId> = events
            .ids()
            .filter(|event| events.duration(*event) >= long && is_call(event))
            .filter(|&event| *returns_at_once.get(events.name(event)))
            .collect();
        let mut durations: HashMap<StringId, Vec<i64>> =
            long_calls.iter().map(|&event| (events.name(event), Vec::new())).collect();
        if durations.is_empty() {
            return FirstUses(HashSet::new());
        }
        let mut firsts: HashMap<StringId, EventId> = HashMap::new();
        for event in events.ids().filter(is_call) {
            let name = events.name(event);
            if let Some(durations) = durations.get_mut(&name) {
                durations.push(events.duration(event));
                let first = firsts.entry(name).or_insert(event);
                if (events.start(event), event) < (events.start(*first), *first) {
                    *first = event;
                }
            }
        }
        let medians: HashMap<StringId, i64> = durations
            .into_iter()
            .filter_map(|(name, durations)| Some((name, lower_median(durations)?)))
            .collect();
        let is_first_use = |&event: &EventId| {
            let name = events.name(event);
            let usual = medians.get(&name).copied().unwrap_or(0);
            firsts.get(&name) == Some(&event)
                || events.duration(event) >= FIRST_USE_TIMES.saturating_mul(usual)
        };
        FirstUses(long_calls.into_iter().filter(is_first_use).collect())
    }

    fn contains(&self, event: EventId) -> bool {
        !self.0.is_empty() && self.0.contains(&event)
    }
}
