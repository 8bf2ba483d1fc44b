//! Why the devices had nothing to run: the waits of streams and devices, by cause and by what they waited for.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use gpu_timeline::{
    Activity, Dependency, DeviceEvent, HostActivity, Interval, SortFew, Wait, WaitCause, busy_time,
    device_waits, stream_waits,
};
use sheets::numbers::{decimal, duration};
use trace_ingest::{Category, EventId, PerString, StringId, TrackId};
use trace2tree::{HostWait, is_graph_launch};

use crate::IndexMap;
use crate::analysis::Analysis;
use crate::derived::{IdleRow, IdleRows};

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
            WaitCause::Unlinked => "ends with work whose launch is not recorded",
            WaitCause::Host(HostActivity::DataLoader) => {
                "waits for a launch while the host waits for its data loader"
            }
            WaitCause::Host(HostActivity::Copy) => "waits for a launch after the host was held by a copy",
            WaitCause::Host(HostActivity::Sync) => "waits for a launch after the host waited for the device",
            WaitCause::Host(HostActivity::GraphLaunch) => "waits for the launch of a graph",
            WaitCause::Host(HostActivity::Other) => "waits for a late launch",
            WaitCause::Kernel => "lies in short gaps between launched kernels",
            WaitCause::Dependency(_) => "lies in long gaps before kernels that were launched in time",
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
    /// The largest cause of idle time; `None` without idle time, or where the sheets of waits are not asked for
    /// ([`AnalysisOptions::waits`](crate::AnalysisOptions::waits)).
    pub fn idle_finding(&self) -> Option<IdleFinding> {
        let rows = &self.idle_rows()?.of_devices;
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
    let mut rows = IdleRows { of_devices: Vec::new(), of_streams: Vec::new() };
    for (device, ids) in by_device {
        // The kind of work has no part in why it waited.
        let launched: Vec<DeviceEvent> =
            ids.iter().map(|&event| analysis.device_event(event, Activity::Computation)).collect();
        let mut cause_of = |wait: &Wait| {
            let wait = blocking.cause(analysis, wait, &ids);
            (wait.cause, wait.waited_for.map(|event| events.name(event)))
        };
        let of_device = device_waits(&launched, short);
        let around = |a: Interval, b: Interval| Interval::new(a.start.min(b.start), a.end.max(b.end));
        let mut spans: BTreeMap<Option<i64>, Interval> = BTreeMap::new();
        for &DeviceEvent { span, stream, .. } in &launched {
            spans.entry(stream).and_modify(|whole| *whole = around(*whole, span)).or_insert(span);
        }
        let span = spans.values().copied().reduce(around).map_or(0, Interval::length);
        rows.of_devices.extend(rows_of((device, None), span, &of_device, &mut cause_of));
        let of_streams = stream_waits(&launched, short);
        for waits in of_streams.chunk_by(|a, b| launched[a.event].stream == launched[b.event].stream) {
            let stream = launched[waits[0].event].stream;
            rows.of_streams.extend(rows_of((device, stream), spans[&stream].length(), waits, &mut cause_of));
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
    /// [`HostActivity::DataLoader`], [`HostActivity::Copy`] or [`HostActivity::Sync`].
    pub activity: HostActivity,
}

impl Analysis {
    /// The stretches in which no counted device event ran, by start: they add up to [`Breakdown::idle`] of
    /// [`Analysis::timeline`]. What they waited for is the call that held the host, where one did. With them the calls that
    /// held threads which launch, those inside another of their kind left out, by start.
    ///
    /// [`Breakdown::idle`]: gpu_timeline::Breakdown::idle
    pub fn idle_stretches(&self) -> (Vec<Wait<EventId>>, Vec<HostHold>) {
        let (tree, events) = (self.tree(), self.trace().events());
        let (ids, launched): (Vec<EventId>, Vec<DeviceEvent>) = self
            .counted_activities()
            .map(|(event, activity)| (event, self.device_event(event, activity)))
            .unzip();
        let blocking = BlockingCalls::new(self);
        let waits =
            device_waits(&launched, short_wait(self)).into_iter().filter(|wait| !wait.span.is_empty());
        let stretches = waits.map(|wait| {
            let wait = blocking.cause(self, &wait, &ids);
            let waited_for = match wait.cause {
                WaitCause::Host(activity) if BLOCKING.contains(&activity) => wait.waited_for,
                _ => None,
            };
            Wait { waited_for, ..wait }
        });
        let stretches = stretches.collect();
        let launching: std::collections::BTreeSet<TrackId> =
            ids.iter().filter_map(|&event| Some(events.track(tree.recorded_launch(event)?))).collect();
        let tracks = blocking.by_track.iter().filter(|(track, _)| launching.contains(track));
        let mut holds: Vec<HostHold> = tracks
            .flat_map(|(_, kinds)| kinds.iter().zip(BLOCKING))
            .flat_map(|(calls, activity)| {
                calls.iter().map(move |call| HostHold { event: call.event, activity })
            })
            .collect();
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
const BLOCKING: [HostActivity; 3] = [HostActivity::DataLoader, HostActivity::Copy, HostActivity::Sync];
const SYNC: usize = 2;

#[derive(Clone, Copy)]
struct BlockingCall {
    time: Interval,
    event: EventId,
}

/// The calls of each thread that may hold it, by their kind's position in [`BLOCKING`]: without those inside another of the
/// kind, so that starts and ends ascend.
struct BlockingCalls {
    by_track: BTreeMap<TrackId, [Vec<BlockingCall>; BLOCKING.len()]>,
}

impl BlockingCalls {
    fn new(analysis: &Analysis) -> Self {
        let (trace, events) = (analysis.trace(), analysis.trace().events());
        let mut kind_of_call = PerString::new(trace.strings(), |name| match HostWait::of_call(name)? {
            wait if wait.is_synchronization() => Some(HostActivity::Sync),
            wait => wait.is_copy().then_some(HostActivity::Copy),
        });
        let mut is_data_loader = PerString::new(trace.strings(), |name| {
            name.contains("DataLoader") || name.contains("dataloader.py")
        });
        let mut by_track: BTreeMap<TrackId, [Vec<BlockingCall>; BLOCKING.len()]> = BTreeMap::new();
        for event in events.ids() {
            let (category, name) = (events.category(event), events.name(event));
            let kind = match category {
                _ if category.is_launch_api() => *kind_of_call.get(name),
                Category::CPU_OP | Category::USER_ANNOTATION | Category::PYTHON_FUNCTION => {
                    is_data_loader.get(name).then_some(HostActivity::DataLoader)
                }
                _ => None,
            };
            let Some(kind) = kind.and_then(|kind| BLOCKING.iter().position(|&known| known == kind)) else {
                continue;
            };
            let time = Interval::new(events.start(event), events.end(event));
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
        BlockingCalls { by_track }
    }

    /// A wait between these events with what the calls of the host say of its cause, and the call or the event that was
    /// waited for.
    fn cause(&self, analysis: &Analysis, wait: &Wait, ids: &[EventId]) -> Wait<EventId> {
        let event = ids[wait.event];
        let (cause, waited_for) = match (wait.cause, analysis.tree().recorded_launch(event)) {
            (WaitCause::Host(_), Some(launch)) => {
                let (activity, call) = self.before_launch(analysis, launch, wait.span.start);
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

    /// What the host did between the end of the stream's work and a late launch. A kind of call that takes at least half of
    /// that time counts, data loaders first; else a call that ran when the stream ran dry: the host could launch nothing
    /// meanwhile. With it the call, or the operator that launched.
    fn before_launch(&self, analysis: &Analysis, launch: EventId, dry: i64) -> (HostActivity, EventId) {
        let events = analysis.trace().events();
        let time = Interval::new(dry, events.start(launch));
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
            None if is_graph_launch(analysis.trace().name(launch)) => (HostActivity::GraphLaunch, launch),
            None => (HostActivity::Other, analysis.tree().operator(launch).unwrap_or(launch)),
        }
    }

    /// What a launched event waited for, where no other stream tells.
    fn during_wait(
        &self,
        analysis: &Analysis,
        launch: EventId,
        wait: Interval,
    ) -> (Dependency, Option<EventId>) {
        let events = analysis.trace().events();
        if events.end(launch) > wait.start {
            let dependency = match analysis.trace().name(launch) {
                text if is_graph_launch(text) => Dependency::GraphLaunch,
                text if HostWait::of_call(text).is_some_and(HostWait::is_copy) => Dependency::Copy,
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
